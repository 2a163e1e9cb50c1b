//! Signals, working items, tasks, packs and erasure.

use cscp::domain::disposal::ErasedRange;
use cscp::domain::id::{FactUid, Ids};
use cscp::state_layer::assembly::{ContextPack, TokenSummary};
use cscp::state_layer::authority::Viewer;
use cscp::state_layer::event::SpaceEvent;
use cscp::state_layer::fact::{Cause, FactScope, Standing};
use cscp::state_layer::operation::{NewFact, SpaceAction, SpaceAnswer};
use cscp::state_layer::refusal::SpaceRefusal;
use cscp::state_layer::space::{Signal, Touched, WorkingItem};
use serde_json::json;

use crate::ledger_support::{Counting, World, at, new_fact};

fn signal(value: &str, seconds: i64) -> SpaceAction {
    SpaceAction::SetSignal(Signal {
        key: "weather".to_owned(),
        value: json!(value),
        observed_at: at(seconds),
        stale_at: None,
        former: vec!["made up".to_owned()],
    })
}

fn item(key: &str, task: Option<&str>, promote_as: Option<&str>) -> WorkingItem {
    WorkingItem {
        key: key.to_owned(),
        item_type: "context".to_owned(),
        content: json!(format!("about {key}")),
        priority: 0,
        task_id: task.map(str::to_owned),
        promote_as: promote_as.map(str::to_owned),
        created_at: at(0),
        expires_at: None,
    }
}

#[test]
fn an_older_signal_is_kept_out_and_former_values_are_carried() {
    let mut world = World::new();
    world.done(signal("rain", 10));
    let SpaceAnswer::Signal { signal: kept, accepted } = world.done(signal("snow", 5)) else { panic!("signal") };
    assert!(!accepted && kept.value == json!("rain") && kept.former.is_empty());
    for (seconds, value) in [(11, "sun"), (12, "fog"), (13, "sun")] {
        world.done(signal(value, seconds));
    }
    assert_eq!(world.space.signals["weather"].former, ["fog", "rain"], "what is said again is no former value");
    for number in 0..20 {
        world.done(signal(&format!("wind {number}"), 20 + number));
    }
    assert_eq!(world.space.signals["weather"].former.len(), 8);
    world.done(SpaceAction::RemoveSignal("weather".to_owned()));
    assert!(world.space.signals.is_empty());
    assert!(world.act(SpaceAction::RemoveSignal("weather".to_owned())).events.is_empty());
}

#[test]
fn working_items_end() {
    let mut world = World::new();
    let SpaceAnswer::Item { item: kept } = world.done(SpaceAction::SetItem(item("a", None, None))) else {
        panic!("item")
    };
    assert_eq!(kept.expires_at, Some(at(60)), "the default of the rules");
    world.done(SpaceAction::RemoveItem("a".to_owned()));
    assert!(world.space.items.is_empty());
}

#[test]
fn a_closed_task_leaves_what_is_reusable() {
    let mut world = World::new();
    for (key, task, promote_as) in
        [("a", Some("t"), Some("lesson")), ("b", Some("t"), None), ("c", Some("t"), None), ("d", Some("u"), None)]
    {
        world.done(SpaceAction::SetItem(item(key, task, promote_as)));
    }
    let scoped =
        NewFact { scope: Some(FactScope::Task), scope_id: Some("t".to_owned()), ..new_fact("note", "for now") };
    let scoped = world.write_one(scoped);
    let close = SpaceAction::CloseTask { task_id: "t".to_owned(), promote: vec!["b".to_owned()] };
    let SpaceAnswer::Closed { promoted, dropped, effects } = world.done(close) else { panic!("closed") };
    assert_eq!((promoted, dropped), (vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]));
    assert_eq!((effects.created.len(), effects.superseded), (2, vec![scoped.uid.clone()]));
    assert!(matches!(world.all()[&scoped.uid].standing, Standing::Superseded { cause: Cause::ScopeEnded, .. }));
    let standing = world.standing();
    assert_eq!(standing, [("b".to_owned(), "about b".to_owned()), ("lesson".to_owned(), "about a".to_owned())]);
    assert!(world.all().values().filter(|fact| fact.is_valid()).all(|fact| fact.source.kind == "working_set"));
    assert_eq!(world.space.items.keys().collect::<Vec<_>>(), ["d"]);
    // What is stated later for an earlier time of the task ended with it.
    let late = NewFact {
        at: Some(at(-5)),
        scope: Some(FactScope::Task),
        scope_id: Some("t".to_owned()),
        ..new_fact("x", "y")
    };
    assert!(!world.write_one(late).is_valid());
}

#[test]
fn packs_are_kept_and_spaces_erased() {
    let pack = ContextPack {
        context: "x".to_owned(),
        segments: Vec::new(),
        facts_included: Vec::new(),
        omitted: Vec::new(),
        token_summary: TokenSummary { budget: 10, used: 1, remaining: 9, facts: 0 },
        pack_hash: "h".to_owned(),
        estimator_id: "e".to_owned(),
    };
    let save = |shown: &[FactUid]| SpaceAction::SavePack {
        viewer: Viewer::default(),
        as_of: at(1),
        wider: Vec::new(),
        pack: Box::new(ContextPack { facts_included: shown.to_vec(), ..pack.clone() }),
    };
    let mut world = World::new();
    assert_eq!(world.refused(save(&[])), SpaceRefusal::SpaceNotFound);
    let shown = world.write_one(new_fact("a", "1")).uid;
    world.done(save(std::slice::from_ref(&shown)));
    // Assembled before, and kept after: what it shows must not come back.
    world.done(SpaceAction::Delete { uid: shown.clone(), reason: "asked".to_owned() });
    assert_eq!(world.refused(save(&[shown])), SpaceRefusal::PackOutdated);
    assert_eq!(
        world.refused(save(&[FactUid::parse(&format!("fct_{}", "0".repeat(32))).unwrap()])),
        SpaceRefusal::PackOutdated
    );
    let SpaceAnswer::Pack { pack } = world.done(save(&[])) else { panic!("pack") };
    assert!(world.space.touched.packs.contains(&pack.pack_id));
    world.done(SpaceAction::Erase);
    let record = world.space.record.clone().unwrap();
    assert!(record.is_going() && world.space.touched == Touched { space: true, ..Touched::default() }, "{record:?}");
    // Nothing is decided in it any more.
    assert_eq!(world.refused(SpaceAction::Erase), SpaceRefusal::SpaceNotFound);
    assert_eq!(world.refused(SpaceAction::Write(vec![new_fact("a", "2")])), SpaceRefusal::SpaceNotFound);
    let stream_id = Ids::new(at(9), &mut Counting(7)).stream();
    let payloads = ErasedRange { stream_id, first: 1, last: 9 };
    world.space.apply(at(9), &SpaceEvent::SpaceErasureCompleted { space_id: record.space_id.clone(), payloads });
    assert!(world.space.facts.is_empty() && world.space.record.is_none() && world.space.touched.erased);
    world.space.touched = Touched::default();
    // Earlier versions erased everything at once.
    world.write_one(new_fact("a", "1"));
    world.space.apply(at(9), &SpaceEvent::SpaceErased { space_id: record.space_id, facts: 1, going: None });
    assert!(world.space.facts.is_empty() && world.space.record.is_none() && world.space.touched.erased);
}
