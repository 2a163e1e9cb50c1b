//! Writing and observing: what is answered, what is kept, and how a space begins.

use cscp::domain::canonical::Digest;
use cscp::domain::id::Ids;
use cscp::domain::time::Timestamp;
use cscp::state_layer::event::SpaceEvent;
use cscp::state_layer::fact::{Cause, FactScope, Pointer, Standing};
use cscp::state_layer::operation::{NamedDependency, NewFact, SpaceAction, SpaceAnswer};
use cscp::state_layer::reading::{Utterance, read};
use cscp::state_layer::space::Partition;

use crate::ledger_support::{World, at, label, new_fact, pointer};

fn hear(world: &mut World, text: &str) -> SpaceAnswer {
    let utterance = Utterance { speaker: "user".to_owned(), text: text.to_owned(), at: world.now, authority: None };
    let id = Ids::new(world.now, &mut world.entropy).reading();
    world.done(SpaceAction::Observe(read(&utterance, id, world.now, Digest::from_bytes([7; 32]))))
}

#[test]
fn the_first_fact_makes_the_space() {
    let mut world = World::new();
    let decision = world.act(SpaceAction::Write(vec![new_fact("a", "1")]));
    let types: Vec<&str> = decision.events.iter().map(SpaceEvent::evidence_type).collect();
    assert_eq!(types, ["fact_space.described", "fact.written"]);
    let record = world.space.record.as_ref().unwrap();
    assert_eq!(
        (&record.partition, record.revision, record.newest),
        (&Partition::User { owner_id: None }, 1, Some(at(0)))
    );
}

#[test]
fn found_a_fact_dated_years_ahead_hid_what_was_written_after_it() {
    let mut world = World::new();
    let years = at(0).as_micros() + 400 * 86_400_000_000;
    let ahead = world.write_one(NewFact { at: Some(Timestamp::from_micros(years)), ..new_fact("a", "later") });
    assert_eq!(world.write_one(new_fact("b", "now")).at, world.now);
    let heard = hear(&mut world, "Actually b is tomorrow, not now.");
    let SpaceAnswer::Observed { reading, .. } = heard else { panic!("{heard:?}") };
    assert_eq!(reading.at, world.now);
    // A ruling about it comes after it all the same.
    world.done(SpaceAction::Delete { uid: ahead.uid.clone(), reason: "wrong".to_owned() });
    assert!(world.all()[&ahead.uid].is_deleted());
}

#[test]
fn what_is_given_no_time_comes_after_what_is_there() {
    let mut world = World::new();
    let (facts, _) = world.write(vec![new_fact("a", "1"), new_fact("a", "2"), new_fact("a", "3")]);
    let micros: Vec<i64> = facts.iter().map(|fact| fact.at.as_micros() - at(0).as_micros()).collect();
    assert_eq!(micros, [0, 1, 2]);
    assert_eq!(world.standing(), [("a".to_owned(), "3".to_owned())]);
    world.write_one(NewFact { at: Some(at(100)), ..new_fact("b", "x") });
    assert_eq!(world.write_one(new_fact("a", "4")).at.as_micros(), at(100).as_micros() + 1);
}

#[test]
fn a_write_tells_what_it_did() {
    let mut world = World::sparse();
    let old = world.write_one(new_fact("price", "$100"));
    let quote = world.write_one(NewFact {
        depends_on: vec![NamedDependency { pointer: Pointer("price".to_owned()), space: None }],
        ..new_fact("quote", "fifty units")
    });
    let (new, effects) = world.write(vec![
        NewFact {
            supersedes: pointer(old.uid.as_str()),
            reason: Some("supplier wrote".to_owned()),
            ..new_fact("price_v2", "$150")
        },
        NewFact { supersedes: pointer("unheard"), ..new_fact("other", "x") },
    ]);
    assert_eq!(effects.superseded, std::slice::from_ref(&old.uid));
    assert_eq!(effects.needs_review, std::slice::from_ref(&quote.uid));
    assert_eq!(effects.unresolved, [Pointer("unheard".to_owned())]);
    assert!(effects.reasons.contains(&(old.uid.clone(), "supplier wrote".to_owned())));
    assert_eq!(new[0].superseded, std::slice::from_ref(&old.uid));
    let old = &world.all()[&old.uid];
    assert!(
        matches!(&old.standing, Standing::Superseded { cause: Cause::Pointer, by: Some(by), .. } if *by == new[0].uid)
    );
    assert_eq!(old.history.last().unwrap().reason, "supplier wrote");
}

#[test]
fn the_specifications_vectors_hold() {
    // 1: basic supersession.
    let mut world = World::sparse();
    world.write_one(new_fact("status_v1", "approved"));
    world.write_one(NewFact { supersedes: pointer("status_v1"), ..new_fact("status_v2", "cancelled") });
    assert_eq!(world.standing(), [("status_v2".to_owned(), "cancelled".to_owned())]);
    // 2: repetition does not make it true.
    let mut world = World::sparse();
    world.write_one(new_fact("order_v1", "approved"));
    for _ in 0..3 {
        world.now = world.now.plus_seconds(30);
        hear(&mut world, "The order is approved, great news!");
    }
    world.now = world.now.plus_seconds(30);
    world.write_one(NewFact { supersedes: pointer("order_v1"), ..new_fact("order_v2", "cancelled") });
    assert_eq!(world.standing(), [("order_v2".to_owned(), "cancelled".to_owned())]);
    // 3: an intern's word does not supersede policy.
    let mut world = World::sparse();
    let mut policy = new_fact("discount_policy", "max 15%");
    (policy.source.kind, policy.source.authority) = ("policy".to_owned(), Some("executive".to_owned()));
    world.write_one(policy);
    world.now = world.now.plus_seconds(30);
    hear(&mut world, "Let's offer 25%");
    let mut intern = new_fact("discount_policy", "25%");
    intern.source.authority = Some("intern".to_owned());
    let (facts, effects) = world.write(vec![intern]);
    assert!(!facts[0].is_valid() && effects.superseded.is_empty() && effects.reasons.len() == 1);
    assert_eq!(world.standing(), [("discount_policy".to_owned(), "max 15%".to_owned())]);
}

#[test]
fn an_utterance_makes_a_fact_and_is_not_kept() {
    let mut world = World::sparse();
    world.write_one(new_fact("report_deadline", "Friday"));
    world.now = world.now.plus_seconds(60);
    let SpaceAnswer::Observed { effects, facts, reading } =
        hear(&mut world, "Actually, the report deadline is Thursday, not Friday.")
    else {
        panic!("observed")
    };
    assert_eq!((effects.created.len(), effects.superseded.len(), facts.len()), (1, 1, 1), "{reading:?}");
    assert_eq!(facts[0].reading_id.as_ref(), Some(&reading.reading_id));
    assert_eq!(facts[0].former[0].text, "Friday");
    let kept = format!("{:?}", world.kept.readings);
    assert!(!kept.contains("Actually"), "{kept}");
    let SpaceAnswer::Observed { effects, .. } = hear(&mut world, "Good morning!") else { panic!("observed") };
    assert_eq!(effects, cscp::state_layer::operation::Effects::default());
    assert_eq!(world.kept.readings.len(), 1, "what claims nothing is not kept");
}

#[test]
fn a_late_fact_is_folded_in_where_it_belongs() {
    let mut world = World::sparse();
    world.write_one(NewFact { at: Some(at(10)), ..new_fact("a", "newer") });
    let (facts, effects) = world.write(vec![NewFact { at: Some(at(5)), ..new_fact("a", "older") }]);
    assert!(!facts[0].is_valid());
    assert_eq!(effects.superseded, []);
    assert_eq!(world.standing(), [("a".to_owned(), "newer".to_owned())]);
    // A waiting name finds its fact.
    let waiting = world.write_one(NewFact { at: Some(at(20)), supersedes: pointer("b"), ..new_fact("c", "x") });
    let (facts, _) = world.write(vec![NewFact { at: Some(at(15)), label: label("b"), ..new_fact("d", "y") }]);
    assert!(!facts[0].is_valid());
    assert_eq!(world.all()[&waiting.uid].superseded, [facts[0].uid.clone()]);
}

#[test]
fn a_fact_from_an_utterance_goes_when_a_late_one_takes_its_ground() {
    let mut world = World::sparse();
    world.write_one(NewFact { at: Some(at(0)), ..new_fact("report_deadline", "Friday") });
    world.now = at(60);
    hear(&mut world, "Actually, the report deadline is Thursday, not Friday.");
    assert_eq!(world.all().len(), 2);
    // It turns out that the deadline had been dropped before.
    let dropped =
        NewFact { at: Some(at(30)), supersedes: pointer("report_deadline"), ..new_fact("outcome", "no report at all") };
    let decision = world.act(SpaceAction::Write(vec![dropped]));
    assert!(decision.events.iter().any(|event| event.evidence_type() == "fact.unmade"), "{decision:#?}");
    assert_eq!(world.all().len(), 2);
}

#[test]
fn a_late_statement_unmakes_nothing_whose_history_went_by_retention() {
    for (said, reading_went) in [
        ("Sorry, make it Thursday instead of Friday.", false),
        ("Sorry, make it Thursday instead of Friday.", true),
        ("Actually, the report deadline is Thursday, not Friday.", false),
        ("Actually, the report deadline is Thursday, not Friday.", true),
    ] {
        let mut world = World::sparse();
        let friday = world.write_one(NewFact { at: Some(at(0)), ..new_fact("report_deadline", "Friday") });
        world.now = at(60);
        hear(&mut world, said);
        let thursday = ("report_deadline".to_owned(), "Thursday".to_owned());
        assert_eq!(world.standing(), std::slice::from_ref(&thursday));
        world.kept.facts.remove(&friday.uid);
        if reading_went {
            world.kept.readings.clear();
        }
        let blue = ("colour".to_owned(), "blue".to_owned());
        for late in [new_fact("colour", "blue"), new_fact("report_deadline", "Monday")] {
            world.write_one(NewFact { at: Some(at(-50)), ..late });
            let expected = [blue.clone(), thursday.clone()];
            assert_eq!(world.standing(), expected, "{said}, without the reading: {reading_went}");
        }
    }
}

#[test]
fn marks_and_words_classify_what_the_writer_left_open() {
    let mut world = World::new();
    let fact = world.write_one(new_fact("salary", "[RESTRICTED: pay data restricted to HR] Ana earns $5,000"));
    assert_eq!(fact.restricted_to, ["HR"]);
    let fact = world.write_one(new_fact("idea", "What if we moved to Porto?"));
    assert_eq!(fact.scope, FactScope::Hypothetical);
    let fact = world.write_one(new_fact("rule", "Discounts must not exceed 15%"));
    assert!(fact.constraint.is_some());
}

#[test]
fn restoring_and_deleting_answer_with_the_fact() {
    let mut world = World::sparse();
    let old = world.write_one(new_fact("a", "1"));
    let new = world.write_one(new_fact("a", "2"));
    let SpaceAnswer::Facts { facts, effects } =
        world.done(SpaceAction::Restore { uid: old.uid.clone(), reason: "it was right".to_owned() })
    else {
        panic!("facts")
    };
    assert!(facts[0].is_valid());
    assert_eq!((effects.restored, effects.superseded), (vec![old.uid.clone()], vec![new.uid.clone()]));
    assert_eq!(facts[0].former[0].uid, new.uid, "what stepped back must not come back");
    let decision = world.act(SpaceAction::Delete { uid: old.uid.clone(), reason: "wrong person".to_owned() });
    let types: Vec<&str> = decision.events.iter().map(SpaceEvent::evidence_type).collect();
    assert!(types.contains(&"fact.ruled") && types.contains(&"fact.deleted"), "{types:?}");
    assert!(world.all()[&old.uid].value.is_null() && world.standing().is_empty());
    // What came before it in time does not bring it back, nor what it replaced.
    world.write_one(NewFact { at: Some(at(-50)), ..new_fact("b", "unrelated") });
    assert_eq!(world.standing(), [("b".to_owned(), "unrelated".to_owned())]);
}
