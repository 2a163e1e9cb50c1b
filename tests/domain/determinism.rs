//! S17: the same operations, times and bytes give the same events, frames and hashes.

use cscp::domain::canonical::{Purpose, canonical, hash};
use cscp::domain::command::Outcome;
use cscp::domain::message::IdentityChange;
use cscp::domain::operation::Operation;
use serde_json::json;

use crate::harness::Stage;
use crate::house::Pack;
use crate::operations::{BLOCK, CLOSE, approve, ask, bind, moving, op, options, result, spec, target};

/// A bit of everything.
fn scenario(seed: u64) -> Stage {
    let mut stage = Stage::seeded(Pack::House, seed);
    stage.put("boss", &["approver"], Some("p-boss"));
    let context_id = stage.greet();
    let change = stage.slots(&context_id, &json!({"active_intent": "wire.send", "x_note": {"a": [1, 2.5, "ç"]}}));
    stage.done(&change);
    let choice = stage.prompted(ask(&context_id, options()));
    stage.wait(3);
    let pick = stage.text("2").op();
    stage.done(&pick);
    stage.confirmed(&context_id, "c-1", "wire.send");
    let approval = stage.approval(&context_id, "c-1", "wire.send");
    stage.done(&approve(&approval.id, "boss", true));
    stage.done(&op(bind(&context_id, spec("c-1", "wire.send", target()), "a-1")));
    stage.refused(&op(bind(&context_id, spec("c-1", "wire.send", target()), "a-2")));
    stage.done(&moving(&context_id, BLOCK));
    stage.done(&Operation::RecordResult(result("c-1", Outcome::Succeeded, None)));
    let late = stage.tap(&choice.option(1)).op();
    stage.done(&late);
    let news = stage.news(IdentityChange::UserChangedNumber).op();
    stage.done(&news);
    stage.done(&moving(&context_id, CLOSE));
    stage
}

/// One hash over the canonical form of everything that was recorded.
fn log_hash(stage: &Stage) -> String {
    let lines: Vec<_> = stage
        .log
        .iter()
        .map(|(at, recorded)| json!({"at": at, "stream": recorded.stream, "about": recorded.about, "event": recorded.event}))
        .collect();
    hash(Purpose::Payload, &[&canonical(&lines)]).to_hex()
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let (one, two) = (scenario(5), scenario(5));
    assert_eq!(log_hash(&one), log_hash(&two));
    assert!(one.world == two.world);
    let frames = |stage: &Stage| stage.world.frames.values().map(|f| f.context_hash.clone()).collect::<Vec<_>>();
    assert_eq!(frames(&one), frames(&two));
    assert_eq!(frames(&one).len(), 1);
    let other = scenario(6);
    assert_ne!(log_hash(&one), log_hash(&other), "other ids, other hashes");
    assert_eq!(one.log.len(), other.log.len(), "other ids, the same events");
}

/// Changes only when what is recorded changes; then old logs need a reading of their own.
#[test]
fn the_recorded_form_has_not_changed() {
    assert_eq!(log_hash(&scenario(5)), GOLDEN);
}

const GOLDEN: &str = "3570377ed7bd98e15f04cf09a07faaf98a91f79769fc27f43b4ea178ef96d9e6";

#[test]
fn a_log_that_was_written_and_read_gives_the_same_world() {
    let stage = scenario(5);
    let mut world = crate::harness::empty_world();
    for (at, recorded) in &stage.log {
        let text = serde_json::to_string(&recorded.event).unwrap();
        let event = serde_json::from_str(&text).unwrap();
        assert!(event == recorded.event, "{text}");
        world.apply(*at, &event);
    }
    assert!(world == stage.world);
}
