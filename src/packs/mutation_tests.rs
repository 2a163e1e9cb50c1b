//! The schema and the types agree, and no pack makes the reader panic.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::text::Document;
use super::{read_pack, schema, shipped};
use crate::domain::policy::PolicyPack;

fn documents() -> Vec<Value> {
    let read = |(_, text): &(&str, &str)| serde_saphyr::from_str(text).unwrap();
    shipped::PACKS.iter().map(read).collect()
}

/// Pointers to every value of the document.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, inner)| pointers(inner, &format!("{at}/{name}"), all));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, inner)| pointers(inner, &format!("{at}/{n}"), all));
        }
        _ => {}
    }
}

fn all_pointers(value: &Value) -> Vec<String> {
    let mut all = Vec::new();
    pointers(value, "", &mut all);
    all
}

fn types_take(document: &Value) -> bool {
    serde_json::from_value::<PolicyPack>(document.clone()).is_ok()
}

#[test]
fn shipped_packs_fit_schema_and_types() {
    for document in documents() {
        assert_eq!(schema::check(&document), []);
        let pack: PolicyPack = serde_json::from_value(document.clone()).unwrap();
        let again: PolicyPack = serde_json::from_value(serde_json::to_value(&pack).unwrap()).unwrap();
        assert_eq!(pack, again);
        assert_eq!(schema::check(&serde_json::to_value(&pack).unwrap()), []);
    }
}

#[test]
fn an_unknown_member_is_refused_by_schema_and_types_everywhere() {
    let open = ["/slots/storage", "/slots/shapes", "/redaction", "/ooc/roles"];
    for document in documents() {
        for pointer in all_pointers(&document) {
            let mut changed = document.clone();
            let Some(Value::Object(members)) = changed.pointer_mut(&pointer) else {
                continue;
            };
            members.insert("zzz".to_owned(), json!({}));
            assert!(!schema::check(&changed).is_empty(), "{pointer}");
            assert!(!types_take(&changed) || open.contains(&pointer.as_str()), "{pointer}");
        }
    }
}

#[test]
fn what_may_be_left_out_is_the_same_for_schema_and_types() {
    for document in documents() {
        for pointer in all_pointers(&document) {
            let Some((parent, name)) = pointer.rsplit_once('/') else {
                continue;
            };
            let mut changed = document.clone();
            let Some(Value::Object(members)) = changed.pointer_mut(parent) else {
                continue;
            };
            members.remove(name);
            assert_eq!(schema::check(&changed).is_empty(), types_take(&changed), "{pointer}");
        }
    }
}

fn odd_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-2i64..700).prop_map(Value::from),
        any::<f64>().prop_map(|n| json!(n)),
        (0.0..1.5f64).prop_map(|n| json!(n)),
        prop::sample::select(vec![
            "",
            "none",
            "required",
            "S0",
            "S1",
            "S2",
            "S3",
            "stored",
            "derived",
            "digest",
            "refuse",
            "hide",
            "any",
            "string",
            "full",
            "x_a",
            "(?=a)",
            "^a{1,9}$",
            "1.0.0",
            "order.cancel",
            "orders",
        ])
        .prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!({"role": "approver", "required": 1})),
        Just(json!([[], {}])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn mutated_packs_never_panic_and_never_divide_schema_and_types(
        which in 0usize..3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), odd_value()), 1..4),
    ) {
        let mut document = documents().swap_remove(which);
        for (index, value) in changes {
            let all = all_pointers(&document);
            let at = index.get(&all);
            if let Some(place) = document.pointer_mut(at) {
                *place = value;
            }
        }
        let text = document.to_string();
        // As the reader sees it: `-0.0` and `1800.0` are whole numbers to the schema, and the reader makes them so.
        let document = Document::read("m.json", &text).unwrap().value;
        let fits = schema::check(&document).is_empty();
        prop_assert!(!fits || types_take(&document), "{text}");
        match read_pack("m.json", &text) {
            Ok(pack) => prop_assert!(fits && pack.reference().hash.len() == 71),
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for error in errors {
                    prop_assert!(!error.problem.is_empty() && !error.instead.is_empty());
                    prop_assert!(!error.problem.contains("cannot be read"), "{error}");
                }
            }
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(?s).{0,200}", at in 0usize..2_000) {
        let basic = shipped::PACKS[0].1;
        let at = (0..=at).rev().find(|at| basic.is_char_boundary(*at)).unwrap_or(0);
        let mixed = format!("{}{text}{}", &basic[..at], &basic[at..]);
        std::hint::black_box(read_pack("m.yaml", &mixed).is_ok());
        std::hint::black_box(read_pack("m.json", &text).is_ok());
    }
}
