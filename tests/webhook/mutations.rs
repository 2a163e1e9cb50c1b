//! Payloads broken at random: nothing panics, nothing is a 5xx, and what was seen adds up.

use axum::http::StatusCode;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::fixtures::{own, real};
use crate::normalisation::elements;

/// What a node may become instead.
fn replacement() -> impl Strategy<Value = Option<Value>> {
    prop::sample::select(vec![
        None,
        Some(Value::Null),
        Some(json!("")),
        Some(json!("x\u{0}\u{202e}é")),
        Some(json!("9".repeat(400))),
        Some(json!(0)),
        Some(json!(-1)),
        Some(json!(u64::MAX)),
        Some(json!(1e300)),
        Some(json!(true)),
        Some(json!([])),
        Some(json!({})),
        Some(json!([[], {}, null, "text"])),
        Some(json!({ "id": { "id": [] }, "type": "interactive", "body": 7 })),
    ])
}

/// Every place in a document, as JSON pointers.
fn places(value: &Value, here: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let place = format!("{here}/{}", name.replace('~', "~0").replace('/', "~1"));
                places(member, &place, out);
                out.push(place);
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                let place = format!("{here}/{index}");
                places(element, &place, out);
                out.push(place);
            }
        }
        _ => {}
    }
}

fn mutate(document: &mut Value, choice: prop::sample::Index, with: Option<Value>) {
    let mut all = Vec::new();
    places(document, "", &mut all);
    if all.is_empty() {
        return;
    }
    let place = choice.get(&all);
    let (parent, name) = place.rsplit_once('/').unwrap();
    match (document.pointer_mut(parent).unwrap(), with) {
        (Value::Object(members), None) => {
            members.remove(&name.replace("~1", "/").replace("~0", "~"));
        }
        (Value::Array(elements), None) => {
            elements.remove(name.parse().unwrap());
        }
        (_, Some(value)) => *document.pointer_mut(place).unwrap() = value,
        (_, None) => {}
    }
}

#[test]
fn broken_payloads_are_accounted_for() {
    let mut documents: Vec<Value> =
        own().iter().filter_map(|fixture| serde_json::from_slice(&fixture.body).ok()).collect();
    documents.extend(real().into_iter().map(|(_, payload)| payload));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let bench = runtime.block_on(Bench::new());
    let changes = prop::collection::vec((any::<prop::sample::Index>(), replacement()), 1..6);
    let config = ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(which in any::<prop::sample::Index>(), changes in changes)| {
        let mut document = which.get(&documents).clone();
        for (choice, with) in changes {
            mutate(&mut document, choice, with);
        }
        let answered = runtime.block_on(bench.deliver(document.to_string().as_bytes()));
        prop_assert_eq!(answered.status, StatusCode::OK);
        prop_assert!(answered.adds_up(), "{}", answered.receipt());
        let read = matches!(document["object"].as_str(), None | Some("whatsapp_business_account"));
        let other_fields = answered.count("other_fields") > 0;
        prop_assert!(!read || other_fields || answered.count("seen") >= elements(&document) as u64);
    });
}

#[test]
fn broken_bytes_are_a_bad_request_at_worst() {
    let bodies: Vec<Vec<u8>> = own().into_iter().map(|fixture| fixture.body).collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let bench = runtime.block_on(Bench::new());
    let config = ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte: u8, cut: bool)| {
        let mut body = which.get(&bodies).clone();
        let at = at.index(body.len());
        if cut { body.truncate(at) } else { body[at] = byte }
        let answered = runtime.block_on(bench.deliver(&body));
        prop_assert!(matches!(answered.status, StatusCode::OK | StatusCode::BAD_REQUEST));
        prop_assert!(answered.status != StatusCode::OK || answered.adds_up());
    });
}
