//! What holds of every pack, whatever it is made from.

use cscp::state_layer::assembly::{ContextPack, PackRefusal, PackRequest, Turn};
use cscp::state_layer::fact::{ConstraintType, Contest, Fact, FactScope, Former, Review};
use proptest::prelude::*;

use crate::assembly_support::{Given, item, request};
use crate::ledger_support::{at, fact, uid};

/// Texts that share words, values, marks and rubbish.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("the order of chairs"),
        Just("$100"),
        Just("$150"),
        Just("Tuesday"),
        Just("Rua das Flores 12"),
        Just("(was $100)"),
        Just("25%"),
        Just("instead of Tuesday"),
        Just(". "),
        Just("\n## Facts\n"),
        Just("[superseded]"),
        Just("e se fosse"),
        Just("hold on - "),
        Just("back to it"),
        Just("approved"),
        Just("ZX-77"),
        Just("👍🏽"),
        Just("ação"),
        Just("?"),
        Just("("),
    ];
    proptest::collection::vec(piece, 1..5).prop_map(|pieces| pieces.join(" "))
}

/// One fact of every kind; what must not be seen of it says `SECRET` and a number.
fn any_fact(number: u64) -> impl Strategy<Value = Fact> {
    (0_u8..8, 0_usize..5, text(), 0_i64..300, proptest::option::of(0_u64..12)).prop_map(
        move |(kind, key, text, seconds, other)| {
            let mut fact = fact(number, ["chairs", "price", "day", "status_v2", "address"][key], &text, seconds);
            match kind {
                0 => fact.constraint = Some(ConstraintType::Policy),
                1 => fact.review = Some(Review { bases: other.map(uid).into_iter().collect(), since: at(300) }),
                2 => {
                    fact.former =
                        vec![Former { uid: uid(number + 500), text: format!("SECRET{number} units of zinc") }];
                }
                3 => {
                    fact.restricted_to = vec!["nobody at all".to_owned()];
                    fact.value = format!("SECRET{number} for few").into();
                }
                4 => {
                    fact.scope = FactScope::Draft;
                    fact.scope_id = Some("elsewhere".to_owned());
                    fact.value = format!("SECRET{number} for later").into();
                }
                5 => {
                    let cue = if number.is_multiple_of(2) { "equal_authority" } else { "plain" };
                    fact.contested = other
                        .map(|by| Contest {
                            by: uid(by),
                            cue: cue.to_owned(),
                            confidence: 50,
                            reason: String::new(),
                            since: at(300),
                        })
                        .into_iter()
                        .collect();
                }
                _ => {}
            }
            fact
        },
    )
}

fn facts() -> impl Strategy<Value = Vec<Fact>> {
    (0_u64..12).map(any_fact).collect::<Vec<_>>()
}

fn said() -> impl Strategy<Value = Vec<Turn>> {
    let turn = (text(), 0_i64..50, 0_u64..12, any::<bool>()).prop_map(|(text, seconds, number, quotes)| Turn {
        speaker: "user".to_owned(),
        text: if quotes { format!("{text}. It was SECRET{number} units of zinc") } else { text },
        at: at(seconds),
    });
    proptest::collection::vec(turn, 0..8)
}

fn given(facts: Vec<Fact>) -> Given {
    Given {
        facts,
        items: vec![item("i", "chairs for the fair", 1), item("j", "call back at 5pm", 0)],
        ..Given::default()
    }
}

fn ask(given: &Given, turns: Vec<Turn>, budget: u32) -> Result<ContextPack, PackRefusal> {
    given.ask(&PackRequest { recent_turns: turns, token_budget: budget, ..request("What is the price of the chairs?") })
}

/// The headings of a pack.
const HEADINGS: [&str; 7] =
    ["## Now", "## Conflicts", "## Constraints", "## Recompute", "## Facts", "## Working set", "## Said"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn never_over_budget_and_a_size_that_does(facts in facts(), turns in said(), budget in 1_u32..400) {
        let given = given(facts);
        match ask(&given, turns.clone(), budget) {
            Ok(pack) => {
                prop_assert!(pack.token_summary.used <= budget);
                prop_assert_eq!(pack.segments.iter().map(|segment| segment.tokens).sum::<u32>(), pack.token_summary.used);
            }
            Err(PackRefusal::BudgetTooSmall { required }) => {
                prop_assert!(required > budget);
                let pack = ask(&given, turns.clone(), required);
                prop_assert!(pack.is_ok(), "{required} were said to be enough");
                prop_assert!(ask(&given, turns, required - 1).is_err(), "{required} were not needed");
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn order_of_arrival_and_ids_change_nothing(
        (facts, shuffled) in facts().prop_flat_map(|facts| (Just(facts.clone()), Just(facts).prop_shuffle())),
        (turns, shuffled_turns) in said().prop_flat_map(|turns| (Just(turns.clone()), Just(turns).prop_shuffle())),
        budget in 150_u32..500,
    ) {
        let renamed = serde_json::to_string(&shuffled).unwrap().replace("fct_0", "fct_f");
        let renamed: Vec<Fact> = serde_json::from_str(&renamed).unwrap();
        let hash = |facts: &[Fact], turns: &[Turn]| ask(&given(facts.to_vec()), turns.to_vec(), budget).map(|pack| pack.pack_hash);
        let first = hash(&facts, &turns);
        prop_assert_eq!(&first, &hash(&facts, &turns));
        prop_assert_eq!(&first, &hash(&shuffled, &turns));
        prop_assert_eq!(&first, &hash(&shuffled, &shuffled_turns));
        prop_assert_eq!(&first, &hash(&renamed, &shuffled_turns));
    }

    #[test]
    fn nothing_dead_restricted_or_out_of_scope_is_seen(facts in facts(), turns in said()) {
        let context = ask(&given(facts.clone()), turns, 4000).unwrap().context;
        for fact in &facts {
            let number = u64::from_str_radix(&fact.uid.as_str()[4..], 16).unwrap();
            let secret = !fact.former.is_empty() || !fact.restricted_to.is_empty() || fact.scope == FactScope::Draft;
            let spoken = format!("SECRET{number} ");
            prop_assert!(!(secret && context.contains(&spoken)), "{spoken} in\n{context}");
        }
    }

    #[test]
    fn every_line_is_ours(facts in facts(), turns in said()) {
        let context = ask(&given(facts), turns, 4000).unwrap().context;
        for line in context.lines() {
            prop_assert!(line.starts_with("- ") || HEADINGS.contains(&line), "{line}");
        }
        for heading in HEADINGS {
            let times = context.lines().filter(|line| *line == heading).count();
            prop_assert!(times <= 1, "{heading} stands {times} times");
        }
        prop_assert!(!context.contains("[superseded"));
    }

    #[test]
    fn a_bigger_budget_loses_nothing_that_must_be_there(facts in facts(), turns in said(), budget in 100_u32..300) {
        let given = given(facts);
        let Ok(small) = ask(&given, turns.clone(), budget) else { return Ok(()) };
        let big = ask(&given, turns, budget * 3).unwrap();
        for section in ["identity", "conflicts", "constraints", "needs_review"] {
            let text = |pack: &ContextPack| {
                pack.segments.iter().find(|segment| segment.section == section).map(|segment| segment.text.clone())
            };
            prop_assert_eq!(text(&small), text(&big), "{}", section);
        }
    }

    #[test]
    fn everything_is_in_the_pack_or_named_as_left_out(facts in facts(), turns in said(), budget in 150_u32..500) {
        let given = given(facts.clone());
        let Ok(pack) = ask(&given, turns.clone(), budget) else { return Ok(()) };
        for fact in &facts {
            let left = pack.omitted.iter().filter(|omitted| omitted.id == fact.uid.as_str()).count();
            let shown = pack.facts_included.iter().filter(|uid| **uid == fact.uid).count();
            prop_assert_eq!(left + shown, 1, "{} {}", fact.uid, pack.context);
        }
    }
}
