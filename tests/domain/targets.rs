//! S7: any change of the target, of the name or of the key voids the yes, but for fields that policy lets change.

use cscp::domain::fingerprint::fingerprint;
use cscp::domain::item::Question;
use cscp::domain::operation::{Answer, AskWhat, Target};
use cscp::domain::policy::{Confirmation, SafetyClass};
use serde_json::{Value, json};

use crate::harness::Stage;
use crate::house::{Pack, book_ignoring, book_of, house_pack};
use crate::operations::{Asked, ask, bind, op, spec, target};

/// Confirms `agreed` by button and binds `bound`, with every field material: `bound`, or the code of the refusal.
fn outcome(name: &str, agreed: &Value, bound: &Value) -> String {
    outcome_ignoring(name, &[], agreed, bound)
}

/// The same where policy lets these fields change.
fn outcome_ignoring(name: &str, immaterial: &[&str], agreed: &Value, bound: &Value) -> String {
    let mut stage = Stage::new(Pack::House);
    if !immaterial.is_empty() {
        stage.book = Some(book_ignoring(name, immaterial, "ignoring"));
    }
    let context_id = stage.greet();
    let asked = stage.prompted(ask(&context_id, AskWhat::Confirmation(spec("c-1", name, agreed.clone()))));
    stage.wait(2);
    let tap = stage.tap(&asked.yes()).op();
    stage.done(&tap);
    let decision = stage.decide(&op(bind(&context_id, spec("c-1", name, bound.clone()), "a-1")));
    decision.result.map_or_else(|refusal| refusal.code(), |_| "bound".to_owned())
}

#[test]
fn brl_confirmed_and_usd_bound_is_another_command() {
    let agreed = json!({"order_id": "o-1", "amount": "82000", "payee": "p-1", "currency": "BRL"});
    let mut bound = agreed.clone();
    bound["currency"] = json!("USD");
    for name in ["refund.issue", "payment.send"] {
        assert_eq!(outcome(name, &agreed, &agreed), "bound", "{name}");
        assert_eq!(outcome(name, &agreed, &bound), "target_mismatch", "{name}");
    }
}

/// A command of each class that the pack lists.
const NAMES: [&str; 4] = ["order.status", "address.update", "order.cancel", "payment.send"];

/// What becomes of a field: its value at asking and at binding, and whether that is a change.
const FATES: [(&str, Option<&str>, Option<&str>, bool); 8] = [
    ("kept", Some(r#""x""#), Some(r#""x""#), false),
    ("changed", Some(r#""x""#), Some(r#""y""#), true),
    ("of another type", Some(r#""1""#), Some("1"), true),
    ("removed", Some(r#""x""#), None, true),
    ("added", None, Some(r#""x""#), true),
    ("null for missing", None, Some("null"), true),
    ("missing for null", Some("null"), None, true),
    ("grown", Some(r#"{"a": [1]}"#), Some(r#"{"a": [1], "b": {}}"#), true),
];

#[test]
fn every_change_of_a_field_counts_unless_policy_lists_it() {
    // Where the field stands, what policy lists, and whether it may change.
    let places: [(&str, &[&str], bool); 9] = [
        ("/memo", &[], false),
        ("/memo", &["memo"], true),
        ("/memo", &["note", "memos", "memo.x", "payee.memo"], false),
        ("/payee/memo", &[], false),
        ("/payee/memo", &["memo"], false),
        ("/payee/memo", &["payee.memo"], true),
        ("/payee/memo", &["payee"], true),
        ("/lines/0/memo", &["lines.memo"], false),
        ("/lines/0/memo", &["memo", "lines.memo"], false),
    ];
    let with = |pointer: &str, value: Option<&str>| {
        let mut target = json!({"amount": "82000", "payee": {"iban": "X1"}, "lines": [{"sku": "s-1"}]});
        let (holder, name) = pointer.rsplit_once('/').unwrap();
        if let Some(value) = value {
            target.pointer_mut(holder).unwrap()[name] = serde_json::from_str(value).unwrap();
        }
        target
    };
    let mut cells = 0;
    for name in NAMES {
        for (pointer, listed, may_change) in places {
            for (fate, at_asking, at_binding, is_change) in FATES {
                let (agreed, bound) = (with(pointer, at_asking), with(pointer, at_binding));
                let expected = if is_change && !may_change { "target_mismatch" } else { "bound" };
                let told = outcome_ignoring(name, listed, &agreed, &bound);
                assert_eq!(told, expected, "{name}: {pointer} {fate} with {listed:?} listed");
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 4 * 9 * 8);
}

#[test]
fn every_change_of_a_material_field_is_another_command() {
    let agreed = json!({"amount": "82000", "payee": "Jos\u{e9}", "note": "rent"});
    let others = [
        ("amount", json!("820000")),
        ("amount", json!("82000 ")),
        ("amount", json!("082000")),
        ("amount", json!("82000.00")),
        ("amount", json!("8200")),
        ("amount", json!(82_000)),
        ("amount", json!(82_000.5)),
        ("amount", json!(["82000"])),
        ("amount", json!({"value": "82000"})),
        ("amount", json!(true)),
        ("amount", Value::Null),
        ("payee", json!("Jose\u{301}")),
        ("payee", json!("JOS\u{c9}")),
        ("payee", json!("Jos\u{e9}\u{200b}")),
        ("payee", json!("")),
    ];
    for (field, value) in others {
        let mut bound = agreed.clone();
        bound[field] = value;
        assert_eq!(outcome("payment.send", &agreed, &bound), "target_mismatch", "{bound}");
    }
    for field in ["amount", "payee"] {
        let mut bound = agreed.clone();
        bound.as_object_mut().unwrap().remove(field);
        assert_eq!(outcome("payment.send", &agreed, &bound), "target_mismatch", "without {field}");
    }
    for bound in [json!(null), json!("82000"), json!([agreed])] {
        assert_eq!(outcome("payment.send", &agreed, &bound), "target_mismatch", "{bound}");
    }
}

#[test]
fn the_order_of_members_is_no_change() {
    let agreed = json!({"amount": "82000", "payee": "p-1", "note": "rent"});
    let bound = json!({"payee": "p-1", "note": "rent", "amount": "82000"});
    assert_eq!(outcome("payment.send", &agreed, &bound), "bound");
}

/// Turns the fingerprint of a question into one of an earlier version: over these members alone, if any are listed.
fn as_stored_earlier(stage: &mut Stage, question: &Asked, listed: &[&str]) {
    let item = stage.world.items.get_mut(&question.id).unwrap();
    let Question::Confirmation { command } = &mut item.question else { panic!("no confirmation") };
    command.rules.material_fields = listed.iter().map(|name| (*name).to_owned()).collect();
    if !listed.is_empty() {
        let covered = listed.iter().map(|name| ((*name).to_owned(), target()[*name].clone())).collect();
        let print = fingerprint(&command.fingerprint.key, &command.name, &command.idempotency_key, &covered);
        command.fingerprint.value = print;
    }
    let item = item.clone();
    stage.shadow.items.insert(item.item_id.clone(), item);
}

#[test]
fn a_yes_of_an_earlier_version_to_a_list_of_fields_has_to_be_asked_for_anew() {
    let only = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), target()[*name].clone())).collect();
    for (listed, bound, code) in [
        (&["order_id"][..], target(), "confirmation_required"),
        // Exactly the members that were listed: their fingerprint is the one that was stored.
        (&["order_id"], only(&["order_id"]), "confirmation_required"),
        (&["amount", "payee"], only(&["amount", "payee"]), "confirmation_required"),
        // Nothing was listed, so all of the target was covered.
        (&[], target(), "bound"),
        (&[], only(&["order_id"]), "target_mismatch"),
    ] {
        let mut stage = Stage::new(Pack::House);
        let context_id = stage.greet();
        let asked = stage.confirmed(&context_id, "c-1", "order.cancel");
        as_stored_earlier(&mut stage, &asked, listed);
        let decision = stage.decide(&op(bind(&context_id, spec("c-1", "order.cancel", bound.clone()), "a-1")));
        let told = decision.result.map_or_else(|refusal| refusal.code(), |_| "bound".to_owned());
        assert_eq!(told, code, "{listed:?} {bound}");
    }
}

#[test]
fn a_command_that_an_earlier_version_bound_to_a_list_of_fields_is_not_handed_out_again() {
    for (listed, expected) in [(&["order_id"][..], "command_conflict"), (&[], "bound")] {
        let mut stage = Stage::new(Pack::House);
        let context_id = stage.greet();
        stage.confirmed(&context_id, "c-1", "order.cancel");
        let again = op(bind(&context_id, spec("c-1", "order.cancel", json!({"order_id": "o-1"})), "a-1"));
        let first = op(bind(&context_id, spec("c-1", "order.cancel", target()), "a-1"));
        stage.done(&first);
        let command = stage.world.commands.values_mut().next().unwrap();
        command.material_fields = listed.iter().map(|name| (*name).to_owned()).collect();
        let covered = if listed.is_empty() { target() } else { json!({"order_id": "o-1"}) };
        let print = fingerprint(&command.fingerprint.key, &command.name, &command.idempotency_key, &covered);
        command.fingerprint.value = print;
        let command = command.clone();
        stage.shadow.commands.insert(command.command_id.clone(), command);
        let mut told = |operation| stage.decide(operation).result.map_or_else(|no| no.code(), |_| "bound".to_owned());
        assert_eq!(told(&first), expected, "{listed:?}");
        assert_eq!(told(&again), "command_conflict", "{listed:?}");
    }
}

#[test]
fn a_repetition_is_held_against_what_was_let_change_when_it_was_bound() {
    let mut stage = Stage::new(Pack::House);
    stage.book = Some(book_ignoring("order.cancel", &["note"], "mild"));
    let context_id = stage.greet();
    stage.confirmed(&context_id, "c-1", "order.cancel");
    let with = |name: &str, value: &str| {
        let mut target = target();
        target[name] = json!(value);
        op(bind(&context_id, spec("c-1", "order.cancel", target), "a-1"))
    };
    stage.done(&with("note", "one"));
    stage.book = None;
    assert!(matches!(stage.done(&with("note", "two")), Answer::Bound { replayed: true, .. }));
    assert_eq!(stage.refused(&with("memo", "two")).code(), "command_conflict");
}

#[test]
fn a_fingerprint_handed_in_does_not_repeat_a_target_in_clear() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    stage.confirmed(&context_id, "c-1", "address.update");
    stage.done(&op(bind(&context_id, spec("c-1", "address.update", target()), "a-1")));
    let mut echo = spec("c-1", "address.update", target());
    echo.target = Target::Asserted(stage.world.commands.values().next().unwrap().fingerprint.value.clone());
    assert_eq!(stage.refused(&op(bind(&context_id, echo, "a-1"))).code(), "command_conflict");
}

#[test]
fn without_a_list_everything_is_material() {
    let agreed = json!({"a": "1", "b": {"c": [1, 2]}});
    assert_eq!(outcome("unheard.of", &agreed, &agreed), "bound");
    for bound in [
        json!({"a": "1", "b": {"c": [2, 1]}}),
        json!({"a": "1", "b": {"c": [1, 2]}, "d": null}),
        json!({"a": "1"}),
        json!({"a": 1, "b": {"c": [1, 2]}}),
        json!({"a": "1", "b": {"c": ["1", 2]}}),
    ] {
        assert_eq!(outcome("unheard.of", &agreed, &bound), "target_mismatch", "{bound}");
    }
}

#[test]
fn a_digest_of_the_callers_own_is_for_mild_classes_only() {
    for (name, raised, code) in [
        ("order.status", None, "bound"),
        ("address.update", None, "bound"),
        ("address.update", Some(SafetyClass::S2), "fingerprint_not_accepted"),
        ("order.cancel", None, "fingerprint_not_accepted"),
        ("payment.send", None, "fingerprint_not_accepted"),
    ] {
        let mut stage = Stage::new(Pack::House);
        let context_id = stage.greet();
        let mut command = spec("c-1", name, Value::Null);
        command.target = Target::Asserted("sha256:mine".to_owned());
        command.raised_class = raised;
        let request = ask(&context_id, AskWhat::Confirmation(command.clone()));
        let asked = stage.decide(&cscp::domain::operation::Operation::Ask(Box::new(request))).result;
        let got = match asked {
            Err(refusal) => refusal.code(),
            Ok(cscp::domain::operation::Answer::Asked { button_ids, .. }) => {
                let tap = stage.tap(&button_ids[0]).op();
                stage.done(&tap);
                let mut other = command.clone();
                other.target = Target::Asserted("sha256:other".to_owned());
                let refusal = stage.refused(&op(bind(&context_id, other, "a-0")));
                assert_eq!(refusal.code(), "target_mismatch");
                stage.done(&op(bind(&context_id, command, "a-1")));
                "bound".to_owned()
            }
            Ok(other) => panic!("not asked: {other:?}"),
        };
        assert_eq!(got, code, "{name} {raised:?}");
    }
}

#[test]
fn a_target_is_needed_where_somebody_has_to_agree_or_something_changes() {
    for (name, raised, code) in [
        ("order.status", None, "asked"),
        ("order.status", Some(SafetyClass::S1), "target_required"),
        ("address.update", None, "target_required"),
        ("order.cancel", None, "target_required"),
        ("payment.send", None, "target_required"),
        // Of class S0, and somebody has to approve it.
        ("wire.only", None, "target_required"),
    ] {
        let mut stage = Stage::new(Pack::House);
        if raised.is_some() {
            // A class that changes something, where nobody has to be asked.
            let mut pack = house_pack();
            pack.classes.s1.confirmation = Confirmation::None;
            stage.book = Some(book_of(pack, "nobody-asked"));
        }
        let context_id = stage.greet();
        let mut command = spec("c-1", name, Value::Null);
        command.target = Target::Missing;
        command.raised_class = raised;
        let request = ask(&context_id, AskWhat::Confirmation(command));
        let decision = stage.decide(&cscp::domain::operation::Operation::Ask(Box::new(request)));
        let told = decision.result.map_or_else(|refusal| refusal.code(), |_| "asked".to_owned());
        assert_eq!(told, code, "{name} {raised:?}");
    }
}

#[test]
fn a_target_that_comes_after_the_question_was_never_agreed_to() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let mut without = spec("c-1", "order.status", Value::Null);
    without.target = Target::Missing;
    let asked = stage.prompted(ask(&context_id, AskWhat::Confirmation(without.clone())));
    stage.wait(2);
    let tap = stage.tap(&asked.yes()).op();
    stage.done(&tap);
    let with = op(bind(&context_id, spec("c-1", "order.status", target()), "a-1"));
    assert_eq!(stage.refused(&with).code(), "target_mismatch");
    stage.done(&op(bind(&context_id, without, "a-1")));
}

#[test]
fn changing_the_active_target_voids_what_was_asked_and_granted() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let granted = stage.confirmed(&context_id, "c-1", "order.cancel");
    let open = stage.confirm(&context_id, "c-2", "order.cancel");
    let same = stage.slots(&context_id, &json!({"active_intent": "order.cancel"}));
    stage.done(&same);
    assert!(stage.item(&open.id).is_open(), "an intent is not a target");
    let other = stage.slots(&context_id, &json!({"active_target": "o-2"}));
    stage.done(&other);
    for id in [&granted.id, &open.id] {
        assert_eq!(stage.item(id).state_word(), "voided");
    }
}
