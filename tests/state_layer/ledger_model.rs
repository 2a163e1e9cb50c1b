//! The ledger under random statements: what must hold whatever is said, in whatever order it arrives.

use std::collections::{BTreeMap, BTreeSet};

use cscp::domain::canonical::Digest;
use cscp::domain::id::{FactUid, ReadingId, RulingId};
use cscp::domain::time::Timestamp;
use cscp::state_layer::fact::{Dependency, Fact, FactScope, Pointer, Standing};
use cscp::state_layer::ledger::Ledger;
use cscp::state_layer::operation::{NamedDependency, NewFact, SpaceAction, SpaceAnswer};
use cscp::state_layer::reading::{Utterance, read};
use cscp::state_layer::{Ruling, Statement, Verdict};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use crate::ledger_invariants::check;
use crate::ledger_support::{World, at, fact, label, ledger_rules, new_fact, uid};

const KEYS: [&str; 6] = ["deadline", "budget", "instruction_a", "instruction_b", "stock_price", "derived_total"];
const VALUES: [&str; 10] = [
    "Friday",
    "June 10",
    "$50,000",
    "$80,000",
    "[VP] Vera (VP Sales): discount is at most 15%",
    "[MANAGER] Mark (Sales Manager): give a 25% discount",
    "[VP] Victor (VP Product): discount is at most 10%",
    "So $30,000 is left of $80,000 and $50,000 is spent",
    "[INVALIDATED - it was wrong] Original conclusion: $30,000",
    "the deadline is Friday and no later",
];
const UTTERANCES: [&str; 6] = [
    "Actually, the deadline is Thursday, not Friday.",
    "The budget was cut to $40,000.",
    "The deadline moved to June 12.",
    "What if the budget were $10?",
    "Cancel the deadline.",
    "No, go back to Friday for the deadline.",
];

#[derive(Debug, Clone)]
pub(crate) enum Said {
    Fact {
        key: usize,
        value: usize,
        labelled: bool,
        source: usize,
        scope: usize,
        supersedes: Option<usize>,
        base: Option<usize>,
    },
    Heard(usize),
    Ruled {
        of: usize,
        verdict: u8,
    },
}

pub(crate) fn said() -> impl Strategy<Value = (i64, Said)> {
    let fact = (
        (0..KEYS.len(), 0..VALUES.len(), any::<bool>(), 0..6_usize),
        (
            prop_oneof![4 => Just(0_usize), 1 => 1..4_usize],
            prop::option::weighted(0.3, 0..8_usize),
            prop::option::weighted(0.3, 0..8_usize),
        ),
    )
        .prop_map(|((key, value, labelled, source), (scope, supersedes, base))| Said::Fact {
            key,
            value,
            labelled,
            source,
            scope,
            supersedes,
            base,
        });
    let said = prop_oneof![
        8 => fact,
        2 => (0..UTTERANCES.len()).prop_map(Said::Heard),
        1 => (0..12_usize, 0..3_u8).prop_map(|(of, verdict)| Said::Ruled { of, verdict }),
    ];
    (0..8_i64, said)
}

const NAMES: [&str; 8] = ["deadline", "budget", "instruction_a", "L0", "L1", "L2", "nothing", "stock_price"];

fn scoped(scope: usize) -> (FactScope, Option<String>) {
    match scope {
        1 => (FactScope::Hypothetical, None),
        2 => (FactScope::Task, Some("t1".to_owned())),
        3 => (FactScope::Draft, None),
        _ => (FactScope::Global, None),
    }
}

fn sourced(fact: &mut cscp::state_layer::fact::Source, source: usize) {
    let (identity, authority) = match source {
        1 => (Some("Ana"), Some("manager")),
        2 => (Some("Bia"), Some("manager")),
        3 => (None, Some("CFO")),
        4 => (None, Some("guest")),
        5 => (Some("Ana"), Some("VP")),
        _ => (None, None),
    };
    fact.identity = identity.map(str::to_owned);
    fact.authority = authority.map(str::to_owned);
}

fn statement(number: usize, seconds: i64, said: &Said) -> Statement {
    salted(number, seconds, said, 0)
}

/// The same with other random ids for each salt.
fn salted(number: usize, seconds: i64, said: &Said, salt: u64) -> Statement {
    let shuffled = |number: u64| (number + 1 + salt * 7919).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8;
    let random = u64::try_from(number).unwrap();
    match said {
        Said::Fact { key, value, labelled, source, scope, supersedes, base } => {
            // Random ids must not matter, so they do not follow the order of anything.
            let mut fact = fact(1000 - 7 * random % 97, KEYS[*key], VALUES[*value], seconds);
            fact.uid = uid(shuffled(random));
            fact.label = labelled.then(|| label(&format!("L{}", number % 3))).flatten();
            (fact.scope, fact.scope_id) = scoped(*scope);
            sourced(&mut fact.source, *source);
            fact.supersedes = supersedes.map(|name| Pointer(NAMES[name].to_owned()));
            fact.depends_on = base
                .map(|name| Dependency {
                    pointer: Pointer(NAMES[name].to_owned()),
                    space: None,
                    uid: None,
                    inferred: false,
                })
                .into_iter()
                .collect();
            // Two facts of one content and one time differ in nothing but their random ids: which of them stands
            // cannot be told, so the model does not make them.
            fact.source.turn_index = Some(random);
            Statement::Fact(fact)
        }
        Said::Heard(which) => {
            let words = UTTERANCES[*which].to_owned();
            let utterance = Utterance { speaker: "user".to_owned(), text: words, at: at(seconds), authority: None };
            Statement::Reading(read(
                &utterance,
                ReadingId::parse(&format!("rdg_{:032x}", shuffled(random))).unwrap(),
                at(0),
                Digest::from_bytes([7; 32]),
            ))
        }
        Said::Ruled { of, verdict } => Statement::Ruling(Ruling {
            ruling_id: RulingId::parse(&format!("rul_{random:032x}")).unwrap(),
            verdict: match verdict {
                0 => Verdict::Restored { uid: uid(shuffled(u64::try_from(*of).unwrap())) },
                1 => Verdict::Deleted { uid: uid(shuffled(u64::try_from(*of).unwrap())) },
                _ => Verdict::ScopeEnded { scope_id: "t1".to_owned() },
            },
            reason: format!("because {number}"),
            // A decision gives every ruling a time of its own.
            at: Timestamp::from_micros(at(seconds).as_micros() + 1 + i64::try_from(number).unwrap()),
            recorded_at: at(0),
        }),
    }
}

fn statements(said: &[(i64, Said)]) -> Vec<Statement> {
    said.iter().enumerate().map(|(number, (seconds, said))| statement(number, *seconds, said)).collect()
}

/// What a fact says and how it stands, without ids.
fn content(fact: &Fact) -> String {
    let cause = match &fact.standing {
        Standing::Valid => None,
        Standing::Superseded { cause, since, .. } => Some((*cause, *since)),
    };
    let former: Vec<&str> = fact.former.iter().map(|former| former.text.as_str()).collect();
    let (contested, review) = (fact.contested.len(), fact.review.as_ref().map(|review| review.bases.len()));
    format!("{} {:?} {} {cause:?} {contested} {review:?} {former:?}", fact.key, fact.source, fact.text())
}

/// The facts that stand, and those that a statement names, with what replaced them.
fn needed(facts: &BTreeMap<FactUid, Fact>, statement: &Statement) -> BTreeMap<FactUid, Fact> {
    let mut names: Vec<&str> = Vec::new();
    if let Statement::Fact(fact) = statement {
        names.extend(fact.supersedes.iter().map(|pointer| pointer.0.as_str()));
        names.extend(fact.depends_on.iter().map(|base| base.pointer.0.as_str()));
    }
    let mut kept: BTreeMap<FactUid, Fact> =
        facts.iter().filter(|(_, fact)| fact.is_valid()).map(|(uid, fact)| (uid.clone(), fact.clone())).collect();
    for name in names {
        let labelled = |fact: &&Fact| fact.label.as_ref().is_some_and(|label| label.as_str() == name);
        let past = || facts.values().filter(|fact| !fact.is_valid());
        let mut open: Vec<FactUid> = Vec::new();
        for named in [past().filter(|fact| fact.key == name).collect::<Vec<_>>(), past().filter(labelled).collect()] {
            let newest = named.iter().map(|fact| fact.at).max();
            open.extend(named.iter().filter(|fact| Some(fact.at) == newest).map(|fact| fact.uid.clone()));
        }
        while let Some(uid) = open.pop() {
            if let Standing::Superseded { by: Some(by), .. } = &facts[&uid].standing {
                open.push(by.clone());
            }
            kept.insert(uid.clone(), facts[&uid].clone());
        }
    }
    kept
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_arrival_does_not_matter(
        said in prop::collection::vec(said(), 1..24),
        seed in any::<u64>(),
    ) {
        let sorted = Ledger::fold(statements(&said), &ledger_rules());
        check(&sorted.facts);
        let mut other = statements(&said);
        let mut state = seed | 1;
        for index in (1..other.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            other.swap(index, usize::try_from(state >> 33).unwrap() % (index + 1));
        }
        prop_assert_eq!(sorted.facts, Ledger::fold(other, &ledger_rules()).facts);
    }

    #[test]
    fn random_ids_do_not_matter(said in prop::collection::vec(said(), 1..24), salt in 1_u64..1_000_000) {
        let told = |salt: u64| {
            let said = said.iter().enumerate().map(|(number, (seconds, said))| salted(number, *seconds, said, salt));
            let mut told: Vec<String> = Ledger::fold(said.collect(), &ledger_rules()).facts.values().map(content).collect();
            told.sort();
            told
        };
        prop_assert_eq!(told(0), told(salt));
    }

    #[test]
    fn a_step_needs_only_what_stands_and_what_is_named(said in prop::collection::vec(said(), 1..24)) {
        // Distinct times: with these, steps in order are the fold.
        let mut said: Vec<(i64, Said)> = said;
        said.sort_by_key(|(seconds, _)| *seconds);
        for (number, said) in said.iter_mut().enumerate() {
            said.0 = i64::try_from(number).unwrap();
        }
        let mut facts: BTreeMap<FactUid, Fact> = BTreeMap::new();
        for statement in statements(&said) {
            let rulings = matches!(&statement, Statement::Ruling(_));
            let mut ledger = Ledger::of(if rulings { facts.clone() } else { needed(&facts, &statement) });
            ledger.step(statement, &ledger_rules());
            facts.extend(ledger.facts);
            check(&facts);
        }
        prop_assert_eq!(&facts, &Ledger::fold(statements(&said), &ledger_rules()).facts);
    }

}

proptest! {
    // Whole spaces are decided on step by step, which takes longer.
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn spaces_agree_however_they_are_loaded(said in prop::collection::vec(said(), 1..16), untimed in any::<bool>()) {
        let (mut whole, mut sparse) = (World::new(), World::sparse());
        for (number, (seconds, said)) in said.iter().enumerate() {
            let action = action(number, (!untimed).then_some(*seconds), said, &whole);
            let (one, other) = (whole.act(action.clone()), sparse.act(action));
            prop_assert_eq!(one.result, other.result);
            check(whole.all());
        }
        prop_assert_eq!(whole.all(), sparse.all());
    }

    #[test]
    fn a_space_is_the_fold_of_what_was_said_to_it(said in prop::collection::vec(said(), 1..16)) {
        let mut world = World::new();
        for (number, (seconds, said)) in said.iter().enumerate() {
            let said_once = !matches!(said, Said::Ruled { verdict: 1, .. });
            if said_once {
                let _ = world.act(action(number, Some(*seconds), said, &world));
            }
        }
        let space = &world.space;
        let written = space.facts.values().filter(|fact| fact.reading_id.is_none()).map(|fact| Statement::Fact(fact.as_written()));
        let all = written
            .chain(space.readings.values().cloned().map(Statement::Reading))
            .chain(space.rulings.values().cloned().map(Statement::Ruling));
        let mut folded = Ledger::fold(all.collect(), &ledger_rules()).facts;
        for (uid, fact) in &mut folded {
            fact.history.clone_from(&space.facts[uid].history);
        }
        prop_assert_eq!(&space.facts, &folded);
    }

    #[test]
    fn what_is_deleted_brings_nothing_back(said in prop::collection::vec(said(), 1..16), late in said()) {
        let mut world = World::new();
        for (number, (seconds, said)) in said.iter().enumerate() {
            let _ = world.act(action(number, Some(*seconds), said, &world));
        }
        let fallen: Vec<FactUid> = world.all().values().filter(|fact| !fact.is_valid()).map(|fact| fact.uid.clone()).collect();
        // About something of its own, at the beginning of everything.
        let mut own = new_fact("nobody_else_has_this_key", "and nobody says this");
        own.at = Some(at(-100 - late.0));
        world.write_one(own);
        for uid in fallen {
            prop_assert!(!world.all().get(&uid).is_some_and(Fact::is_valid));
        }
    }
}

/// The same things said to a space.
pub(crate) fn action(number: usize, seconds: Option<i64>, said: &Said, world: &World) -> SpaceAction {
    match statement(number, seconds.unwrap_or(0), said) {
        Statement::Fact(fact) => {
            let pointed = |pointer: Pointer| {
                // Names only go back in the list of keys, so that no circles are refused.
                let place = |name: &str| KEYS.iter().position(|key| *key == name);
                (place(&pointer.0) < place(&fact.key)).then_some(pointer)
            };
            SpaceAction::Write(vec![NewFact {
                label: fact.label.clone(),
                value: fact.value.clone(),
                source: fact.source.clone(),
                at: seconds.map(at),
                scope: Some(fact.scope),
                scope_id: fact.scope_id.clone(),
                supersedes: fact.supersedes.clone().and_then(pointed),
                depends_on: fact
                    .depends_on
                    .iter()
                    .filter_map(|base| pointed(base.pointer.clone()))
                    .map(|pointer| NamedDependency { pointer, space: None })
                    .collect(),
                ..new_fact(&fact.key, "")
            }])
        }
        Statement::Reading(mut reading) => {
            if seconds.is_none() {
                reading.recorded_at = reading.at;
            }
            SpaceAction::Observe(reading)
        }
        Statement::Ruling(ruling) => {
            let known: Vec<FactUid> = world.all().keys().cloned().collect();
            let uid = known.get(number % known.len().max(1)).cloned().unwrap_or_else(|| uid(1));
            let reason = ruling.reason;
            match ruling.verdict {
                Verdict::Restored { .. } => SpaceAction::Restore { uid, reason },
                Verdict::Deleted { .. } => SpaceAction::Delete { uid, reason },
                Verdict::ScopeEnded { scope_id } => SpaceAction::CloseTask { task_id: scope_id, promote: Vec::new() },
            }
        }
    }
}

#[test]
fn the_model_says_everything() {
    // A model that never contests, restores or reviews would prove nothing.
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = prop::collection::vec(said(), 24..32);
    for _ in 0..60 {
        let tree = strategy.new_tree(&mut runner).unwrap();
        let mut world = World::new();
        for (number, (seconds, said)) in tree.current().iter().enumerate() {
            if let Ok(SpaceAnswer::Facts { effects, .. } | SpaceAnswer::Observed { effects, .. }) =
                world.act(action(number, Some(*seconds), said, &world)).result
            {
                let seen_now = [
                    ("superseded", !effects.superseded.is_empty()),
                    ("contested", !effects.contested.is_empty()),
                    ("needs_review", !effects.needs_review.is_empty()),
                    ("restored", !effects.restored.is_empty()),
                    ("created", !effects.created.is_empty()),
                    ("unresolved", !effects.unresolved.is_empty()),
                ];
                seen.extend(seen_now.iter().filter(|(_, is)| *is).map(|(what, _)| *what));
            }
        }
        for fact in world.all().values() {
            if let Standing::Superseded { cause, .. } = &fact.standing {
                seen.insert(match cause {
                    cscp::state_layer::fact::Cause::Pointer => "by pointer",
                    cscp::state_layer::fact::Cause::SameKey => "by key",
                    cscp::state_layer::fact::Cause::Authority => "by authority",
                    cscp::state_layer::fact::Cause::Temporal => "by time",
                    cscp::state_layer::fact::Cause::Observation => "by observation",
                    cscp::state_layer::fact::Cause::ScopeEnded => "by its scope's end",
                    cscp::state_layer::fact::Cause::Deleted => "by deletion",
                    cscp::state_layer::fact::Cause::Restored => "by restoration",
                });
            }
        }
    }
    assert_eq!(seen.len(), 14, "{seen:?}");
}
