//! S7: any change of a material field, of the name or of the key voids the yes.

use cscp::domain::operation::{AskWhat, Target};
use cscp::domain::policy::SafetyClass;
use serde_json::{Value, json};

use crate::harness::Stage;
use crate::house::Pack;
use crate::operations::{ask, bind, op, spec};

/// Confirms `agreed` by button and binds `bound`: `bound`, or the code of the refusal.
fn outcome(name: &str, agreed: &Value, bound: &Value) -> String {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.prompted(ask(&context_id, AskWhat::Confirmation(spec("c-1", name, agreed.clone()))));
    stage.wait(2);
    let tap = stage.tap(&asked.yes()).op();
    stage.done(&tap);
    let decision = stage.decide(&op(bind(&context_id, spec("c-1", name, bound.clone()), "a-1")));
    decision.result.map_or_else(|refusal| refusal.code(), |_| "bound".to_owned())
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
fn what_is_not_material_may_change() {
    let agreed = json!({"amount": "82000", "payee": "p-1", "note": "rent"});
    for bound in [
        json!({"payee": "p-1", "note": "rent", "amount": "82000"}),
        json!({"amount": "82000", "payee": "p-1"}),
        json!({"amount": "82000", "payee": "p-1", "note": "food", "more": [1, 2]}),
    ] {
        assert_eq!(outcome("payment.send", &agreed, &bound), "bound", "{bound}");
    }
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
fn a_target_is_needed_where_something_is_material() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    for (name, code) in [("payment.send", "target_required"), ("address.update", "target_required")] {
        let mut command = spec("c-1", name, Value::Null);
        command.target = Target::Missing;
        let request = ask(&context_id, AskWhat::Confirmation(command));
        let refusal = stage.refused(&cscp::domain::operation::Operation::Ask(Box::new(request)));
        assert_eq!(refusal.code(), code);
    }
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
