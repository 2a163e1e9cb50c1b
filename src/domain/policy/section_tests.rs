//! Each section of a pack refuses what would weaken it.

use serde_json::json;

use super::select_tests::{pack, scope};
use super::{PolicyBook, SlotRefusal, SlotStorage};

#[test]
fn slots_are_stored_shown_and_shaped_as_the_pack_says() {
    let changes = [
        ("/slots/storage", json!({"x_cart": "digest", "x_note": "refuse", "default_extension": "digest"})),
        (
            "/slots/shapes",
            json!({
                "active_target": {"type": "string", "max_bytes": 12, "pattern": "^[a-z]+$"},
                "x_cart": {"type": "object", "max_bytes": 10},
            }),
        ),
        ("/redaction", json!({"active_intent": "none", "extensions": "mask"})),
    ];
    let loaded = pack("all", &json!([{}]), &changes);
    let slots = &loaded.pack().slots;
    assert_eq!(slots.storage_of("active_target"), SlotStorage::Stored);
    assert_eq!(slots.storage_of("x_other"), SlotStorage::Digest);
    assert_eq!(slots.storage_of("x_pending_disambiguation"), SlotStorage::Stored);
    let redaction = &loaded.pack().redaction;
    assert_eq!(redaction.method_for("active_target"), super::RedactionMethod::Hide);
    assert_eq!(redaction.method_for("x_other"), super::RedactionMethod::Mask);
    assert_eq!(redaction.method_for("x_pending_disambiguation"), super::RedactionMethod::Hide);

    let book = PolicyBook::new(vec![loaded]).unwrap();
    let view = book.view(&scope("a", "b", None));
    assert_eq!(view.check_slot("x_note", &json!("a")), Err(SlotRefusal::Refused));
    assert_eq!(view.check_slot("active_target", &json!("abc")), Ok(()));
    assert_eq!(view.check_slot("active_target", &json!("a1")), Err(SlotRefusal::PatternMismatch));
    assert_eq!(view.check_slot("active_target", &json!("abcdefghijk")), Err(SlotRefusal::TooLong(12)));
    assert_eq!(view.check_slot("active_target", &json!({})).unwrap_err().to_string(), "the value must be a string");
    assert_eq!(view.check_slot("x_cart", &json!({"a": 12})), Ok(()));
    assert_eq!(view.check_slot("x_cart", &json!([])).unwrap_err().to_string(), "the value must be an object");
    assert_eq!(view.check_slot("work_item_id", &json!([1])), Ok(()));
}

#[test]
fn detail_is_the_best_role_below_the_ceiling() {
    let loaded = pack("all", &json!([{}]), &[]);
    let ooc = &loaded.pack().ooc;
    assert_eq!(ooc.detail_for(["observer"]), super::DetailLevel::Summary);
    assert_eq!(ooc.detail_for(["observer", "supervisor"]), super::DetailLevel::Standard);
    assert_eq!(ooc.detail_for(["stranger"]), super::DetailLevel::None);
    assert_eq!(ooc.detail_for([]), super::DetailLevel::None);
}
