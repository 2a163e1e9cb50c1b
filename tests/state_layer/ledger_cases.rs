//! The ledger case by case: pointers, keys, authority, scope, dependencies, rulings.

use cscp::domain::id::{FactUid, RulingId};
use cscp::state_layer::fact::{Cause, Dependency, Fact, FactScope, MAX_FORMER, Pointer, Standing};
use cscp::state_layer::ledger::Ledger;
use cscp::state_layer::{Ruling, Statement, Verdict};

use crate::ledger_support::{at, fact, label, ledger_rules, pointer, uid};

fn fold(facts: Vec<Fact>) -> Ledger {
    Ledger::fold(facts.into_iter().map(Statement::Fact).collect(), &ledger_rules())
}

fn by(source: &str, person: &str, mut fact: Fact) -> Fact {
    fact.source.authority = (!source.is_empty()).then(|| source.to_owned());
    fact.source.identity = (!person.is_empty()).then(|| person.to_owned());
    fact
}

fn replacing(name: &str, mut fact: Fact) -> Fact {
    fact.supersedes = pointer(name);
    fact
}

fn based_on(names: &[&str], mut fact: Fact) -> Fact {
    let on = |name: &&str| Dependency { pointer: Pointer((*name).to_owned()), space: None, uid: None, inferred: false };
    fact.depends_on = names.iter().map(on).collect();
    fact
}

/// Numbers of the facts that stand.
fn standing(ledger: &Ledger) -> Vec<u64> {
    (1..=20).filter(|number| ledger.facts.get(&uid(*number)).is_some_and(Fact::is_valid)).collect()
}

fn fallen(ledger: &Ledger, number: u64) -> (Cause, Option<FactUid>) {
    match &ledger.facts[&uid(number)].standing {
        Standing::Superseded { cause, by, .. } => (*cause, by.clone()),
        Standing::Valid => panic!("{number} stands"),
    }
}

fn ruled(verdict: Verdict, seconds: i64) -> Statement {
    let number = format!("rul_{seconds:032x}");
    Statement::Ruling(Ruling {
        ruling_id: RulingId::parse(&number).unwrap(),
        verdict,
        reason: "a person said so".to_owned(),
        at: at(seconds),
        recorded_at: at(0),
    })
}

#[test]
fn names_are_tried_as_uid_label_and_key_and_lead_to_what_stands() {
    let mut labelled = fact(2, "other", "b", 2);
    labelled.label = label("address");
    let base = vec![fact(1, "address", "a", 1), labelled, fact(3, "x", "c", 3)];
    let with = |name: &str| {
        let mut facts = base.clone();
        facts.push(replacing(name, fact(4, "new", "d", 4)));
        standing(&fold(facts))
    };
    assert_eq!(with(uid(3).as_str()), [1, 2, 4]);
    assert_eq!(with("address"), [1, 3, 4], "the label first");
    assert_eq!(with("x"), [1, 2, 4]);
    assert_eq!(with("nothing"), [1, 2, 3, 4], "a name that points to nothing waits");
    // What no longer stands is followed to what stands in its place.
    let chain = vec![
        fact(1, "a", "1", 1),
        replacing("a", fact(2, "b", "2", 2)),
        replacing("b", fact(3, "c", "3", 3)),
        replacing("a", fact(4, "d", "4", 4)),
    ];
    let ledger = fold(chain);
    assert_eq!(standing(&ledger), [4]);
    assert_eq!(fallen(&ledger, 3), (Cause::Pointer, Some(uid(4))));
    let former: Vec<&str> = ledger.facts[&uid(4)].former.iter().map(|former| former.text.as_str()).collect();
    assert_eq!(former, ["3", "2", "1"], "newest first");
}

#[test]
fn a_target_that_arrives_late_with_an_earlier_time_is_replaced() {
    let ledger = fold(vec![replacing("a", fact(2, "b", "2", 2)), fact(1, "a", "1", 1)]);
    assert_eq!(standing(&ledger), [2]);
    let ledger = fold(vec![replacing("a", fact(2, "b", "2", 2)), fact(1, "a", "1", 3)]);
    assert_eq!(standing(&ledger), [1, 2], "a later one is not what was meant");
    for (first, second) in [(1, 2), (2, 1)] {
        let ledger = fold(vec![replacing("a", fact(first, "b", "2", 1)), fact(second, "a", "1", 1)]);
        assert_eq!(standing(&ledger), [first], "of one time: the target comes first");
    }
}

#[test]
fn of_one_key_the_newer_stands_unless_scope_or_authority_forbids() {
    type Case = (&'static str, Fact, Fact, &'static [u64], Option<Cause>);
    let scoped = |scope: FactScope, id: Option<&str>, mut fact: Fact| {
        fact.scope = scope;
        fact.scope_id = id.map(str::to_owned);
        fact
    };
    let (old, new) = (fact(1, "k", "old", 1), fact(2, "k", "new", 2));
    let cases: Vec<Case> = vec![
        ("plain", old.clone(), new.clone(), &[2], Some(Cause::SameKey)),
        ("higher later", by("guest", "", old.clone()), by("CFO", "", new.clone()), &[2], Some(Cause::Authority)),
        ("lower later", by("CFO", "", old.clone()), new.clone(), &[1], Some(Cause::Authority)),
        ("equal others", by("VP", "Ana", old.clone()), by("VP", "Bia", new.clone()), &[1, 2], None),
        ("equal same", by("VP", "Ana", old.clone()), by("VP", " ana", new.clone()), &[2], Some(Cause::SameKey)),
        ("equal unknown", by("VP", "Ana", old.clone()), by("VP", "", new.clone()), &[2], Some(Cause::SameKey)),
        ("hypothetical", old.clone(), scoped(FactScope::Hypothetical, None, new.clone()), &[1, 2], None),
        (
            "other task",
            scoped(FactScope::Task, Some("a"), old.clone()),
            scoped(FactScope::Task, Some("b"), new.clone()),
            &[1, 2],
            None,
        ),
        (
            "same task",
            scoped(FactScope::Task, Some("a"), old.clone()),
            scoped(FactScope::Task, Some("a"), new.clone()),
            &[2],
            Some(Cause::SameKey),
        ),
        (
            "a draft that names a global one",
            old.clone(),
            replacing("k", scoped(FactScope::Draft, None, new.clone())),
            &[1, 2],
            None,
        ),
        (
            "a global one that names a draft",
            scoped(FactScope::Draft, None, old.clone()),
            replacing("k", new.clone()),
            &[2],
            Some(Cause::Pointer),
        ),
        (
            "named by lower",
            by("policy", "", old.clone()),
            by("guest", "", replacing("k", new.clone())),
            &[1],
            Some(Cause::Authority),
        ),
        ("named by unsaid", by("policy", "", old.clone()), replacing("k", new.clone()), &[2], Some(Cause::Pointer)),
        ("tagged", fact(1, "k", "[CFO] old", 1), fact(2, "k", "[MANAGER] new", 2), &[1], Some(Cause::Authority)),
        (
            "time-sensitive",
            by("CFO", "", fact(1, "stock_price", "1", 1)),
            fact(2, "stock_price", "2", 2),
            &[2],
            Some(Cause::Temporal),
        ),
    ];
    for (name, old, new, expected, cause) in cases {
        let ledger = fold(vec![new, old]);
        assert_eq!(standing(&ledger), expected, "{name}");
        let down = [1, 2].into_iter().find(|number| !expected.contains(number));
        assert_eq!(down.map(|number| fallen(&ledger, number).0), cause, "{name}");
        let contested = ledger.facts.values().filter(|fact| !fact.contested.is_empty()).count();
        assert_eq!(contested, if name == "equal others" { 2 } else { 0 }, "{name}");
    }
}

#[test]
fn a_later_word_of_whoever_outranks_both_settles_equals() {
    let ledger = fold(vec![
        by("VP", "Ana", fact(1, "k", "a", 1)),
        by("VP", "Bia", fact(2, "k", "b", 2)),
        by("CEO", "Caio", fact(3, "k", "c", 3)),
    ]);
    assert_eq!(standing(&ledger), [3]);
    assert!(ledger.facts[&uid(3)].contested.is_empty());
}

#[test]
fn marked_instructions_are_settled_by_rank_delegation_and_person() {
    let cases: &[(&str, &str, &[u64], usize)] = &[
        (
            "[MANAGER] Mike (IT Manager): buy the servers",
            "[C_LEVEL] Carol (CEO): no servers are bought till May",
            &[2],
            0,
        ),
        ("[CFO] Ana: discounts stay below 10%", "[MANAGER] Rui: a discount of 20% for this one", &[1], 0),
        ("[VP] Ana (VP Sales): ship to Lisbon first", "[VP] Rui (VP Ops): ship to Porto first", &[1, 2], 2),
        (
            "[VP] Ana (VP Sales): Manager Rui can approve discounts up to 20%",
            "[MANAGER] Rui (Manager): discount of 15% for Acme",
            &[1, 2],
            0,
        ),
        (
            "[VP] Ana (VP Sales): Manager Rui can approve discounts up to 20%",
            "[MANAGER] Rui (Manager): discount of 25% for Acme",
            &[1],
            0,
        ),
        (
            "[VP] Ana (VP Sales): Rui can approve discounts up to 20%",
            "[MANAGER] Bia (Lead): discount of 15% for Acme",
            &[1],
            0,
        ),
        (
            "[VP] Ana (VP Sales): Rui can approve discounts",
            "[VP] Ana (VP Sales): I revoke that, discounts need my approval",
            &[2],
            0,
        ),
        ("[VP] Ana (VP): approve the Acme order", "[VP] Ana (VP): approve the Beta order", &[1, 2], 0),
        ("[MANAGER] Rui (Manager): order lunch", "[CEO] Ana (CEO): revenue grew", &[1, 2], 0),
        ("buy the servers", "no servers are bought", &[1, 2], 0),
        (
            "[DIRETORA] Ana (Diretora): Rui pode aprovar descontos de até 20%",
            "[GERENTE] Rui (Gerente): desconto de 15% para a Acme",
            &[1, 2],
            0,
        ),
    ];
    for (one, other, expected, contested) in cases {
        let ledger = fold(vec![fact(1, "instruction_a", one, 1), fact(2, "instruction_b", other, 2)]);
        assert_eq!(standing(&ledger), *expected, "{one} / {other}");
        assert_eq!(
            ledger.facts.values().filter(|fact| !fact.contested.is_empty()).count(),
            *contested,
            "{one} / {other}"
        );
        let apart = fold(vec![fact(1, "x", one, 1), fact(2, "y", other, 2)]);
        assert_eq!(standing(&apart), [1, 2], "keys that are no siblings");
    }
}

#[test]
fn what_was_derived_is_reviewed_while_a_base_is_down() {
    let facts = vec![
        fact(1, "price", "$100", 1),
        based_on(&["price"], fact(2, "quote", "fifty units", 2)),
        based_on(&["quote"], fact(3, "forecast_note", "we grow", 3)),
        fact(4, "price", "$150", 4),
    ];
    let ledger = fold(facts.clone());
    for number in [2, 3] {
        let review = ledger.facts[&uid(number)].review.as_ref().unwrap();
        assert_eq!((review.bases.as_slice(), review.since), ([uid(1)].as_slice(), at(4)));
    }
    // Rewritten, it is settled; what hangs on the old one hangs in the air.
    let mut rewritten = facts.clone();
    rewritten.push(based_on(&["price"], fact(5, "quote", "sixty units", 5)));
    let ledger = fold(rewritten);
    assert!(ledger.facts[&uid(5)].review.is_none() && ledger.facts[&uid(2)].review.is_none());
    assert_eq!(ledger.facts[&uid(3)].review.as_ref().unwrap().bases, [uid(2)]);
    // The base is put back.
    let mut statements: Vec<Statement> = facts.into_iter().map(Statement::Fact).collect();
    statements.push(ruled(Verdict::Restored { uid: uid(1) }, 6));
    let ledger = Ledger::fold(statements, &ledger_rules());
    assert_eq!(standing(&ledger), [1, 2, 3]);
    assert!(ledger.facts.values().all(|fact| fact.review.is_none()));
    assert_eq!(fallen(&ledger, 4), (Cause::Restored, Some(uid(1))));
}

#[test]
fn bases_are_found_where_a_text_quotes_them_or_follows_from_them() {
    let found = |base: &str, key: &str, text: &str| {
        let ledger = fold(vec![fact(1, "base", base, 1), fact(2, key, text, 2)]);
        ledger.facts[&uid(2)].depends_on.iter().any(|found| found.uid == Some(uid(1)) && found.inferred)
    };
    let yes = [
        ("the venue holds 80 people", "note", "Since the venue holds 80 people we invite 70"),
        ("O frete custa R$ 40", "nota", "Como o frete custa R$ 40, o total fica em R$ 240"),
        ("R$ 40 de frete", "calculated_total", "R$ 200 + R$ 40 de frete = R$ 240"),
        ("12 boxes a run", "estimated_load", "60 boxes in 5 runs"),
        ("Ready on March 3", "derived_plan", "Tests begin March 4"),
        ("Call at 3pm Friday", "conclusion", "Leave at 2pm on Friday"),
    ];
    for (base, key, text) in yes {
        assert!(found(base, key, text), "{base} / {text}");
    }
    let no = [
        ("the venue holds 80 people", "note", "The venue is nice and 80 people came"),
        ("$100 per unit", "other_price", "$100 per box"),
        ("Ready on March 3", "plan", "Tests begin March 4"),
        ("net 30", "terms", "net 30 for all"),
        ("12 boxes a day", "estimated_cost", "paint and brushes"),
    ];
    for (base, key, text) in no {
        assert!(!found(base, key, text), "{base} / {text}");
    }
}

#[test]
fn a_conclusion_that_is_called_invalid_is_under_review() {
    let ledger = fold(vec![
        fact(1, "price", "$100", 1),
        based_on(&["price"], fact(2, "quote", "fifty units", 2)),
        fact(3, "price", "$150", 3),
        replacing("quote", fact(4, "quote_v2", "[INVALIDATED - it was wrong] Original conclusion: fifty units", 4)),
    ]);
    assert_eq!(standing(&ledger), [3, 4]);
    assert_eq!(ledger.facts[&uid(4)].review.as_ref().unwrap().bases, [uid(1)]);
}

#[test]
fn a_dependency_that_waits_takes_what_comes() {
    let ledger =
        fold(vec![based_on(&["rate"], fact(1, "plan", "x", 1)), fact(2, "rate", "5%", 2), fact(3, "rate", "6%", 3)]);
    assert_eq!(ledger.facts[&uid(1)].depends_on[0].uid, Some(uid(2)));
    assert!(ledger.facts[&uid(1)].review.is_some());
}

#[test]
fn deleting_forgets_the_value_everywhere_and_keeps_the_chain() {
    let facts = [fact(1, "k", "secret", 1), fact(2, "k", "public", 2)];
    let mut statements: Vec<Statement> = facts.into_iter().map(Statement::Fact).collect();
    statements.push(ruled(Verdict::Deleted { uid: uid(1) }, 3));
    let ledger = Ledger::fold(statements, &ledger_rules());
    assert_eq!(fallen(&ledger, 1), (Cause::Deleted, Some(uid(2))));
    assert!(!format!("{ledger:?}").contains("secret\""), "{ledger:?}");
    assert_eq!(standing(&ledger), [2]);
}

#[test]
fn a_scope_ends_with_what_was_stated_for_it() {
    let mut task = fact(1, "k", "for the task", 1);
    (task.scope, task.scope_id) = (FactScope::Task, Some("t".to_owned()));
    let statements = vec![
        Statement::Fact(task),
        Statement::Fact(fact(2, "k", "for all", 2)),
        ruled(Verdict::ScopeEnded { scope_id: "t".to_owned() }, 3),
    ];
    let ledger = Ledger::fold(statements, &ledger_rules());
    assert_eq!((standing(&ledger), fallen(&ledger, 1)), (vec![2], (Cause::ScopeEnded, None)));
}

#[test]
fn former_values_are_bounded() {
    let long = "é".repeat(5000);
    let facts: Vec<Fact> = (1..=20)
        .map(|number| {
            let value = format!("{number} {long}");
            fact(number, "k", &value, i64::try_from(number).unwrap())
        })
        .collect();
    let ledger = fold(facts);
    let former = &ledger.facts[&uid(20)].former;
    assert_eq!(former.len(), MAX_FORMER);
    assert!(former.iter().all(|former| former.text.len() <= 2048) && former[0].text.starts_with("19 "));
}

#[test]
fn ten_thousand_statements_fold_without_looking_at_each_other() {
    // Of one key, of many keys, of one label, all to one name: none of it may be quadratic.
    let shapes: [fn(u64) -> Fact; 4] = [
        |number| fact(number, "k", "v", i64::try_from(number).unwrap()),
        |number| {
            fact(
                number,
                &format!("key_{}_{number}", number % 7),
                "the price is $100 per unit",
                i64::try_from(number).unwrap(),
            )
        },
        |number| replacing("first", fact(number, &format!("k{number}"), "v", i64::try_from(number).unwrap())),
        |number| {
            let mut fact = fact(number, &format!("k{number}"), "So $30 is left of $50 and $20", 0);
            fact.label = label("W");
            fact
        },
    ];
    let size = if cfg!(debug_assertions) { 1_000 } else { 10_000 };
    for (which, shape) in shapes.iter().enumerate() {
        let mut statements: Vec<Statement> = (1..=size).map(|number| Statement::Fact(shape(number))).collect();
        statements.push(Statement::Fact(fact(0, "first", "v", 0)));
        let started = std::time::Instant::now();
        let ledger = Ledger::fold(statements, &ledger_rules());
        println!("shape {which}: {} facts in {:?}", ledger.facts.len(), started.elapsed());
    }
    let mut ledger = Ledger::of(
        (1..=1000)
            .map(|number| (uid(number), fact(number, &format!("k{number}"), "the price is $100 per unit", 1)))
            .collect(),
    );
    let started = std::time::Instant::now();
    let rebuilt = Ledger::of(ledger.facts.clone());
    println!("index of 1000: {:?} ({})", started.elapsed(), rebuilt.facts.len());
    let started = std::time::Instant::now();
    ledger.step(
        Statement::Fact(replacing("k7", fact(2000, "k2000", "Quoted 5 units at $100 per unit = $500", 5))),
        &ledger_rules(),
    );
    println!("step: {:?}", started.elapsed());
}
