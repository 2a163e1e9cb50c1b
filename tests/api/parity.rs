//! The contract and the readers of bodies say the same. For each body, limits, words, and which members there are and have
//! to be, are read from `openapi.yaml` and tried at the server: what the contract allows is not complained about, and what
//! it does not allow is, at its place. Names come from both sides: a complaint lists what the reader knows.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::client::{Got, document};
use crate::probes::{Expected, Probe, Probes, component_name};
use crate::stage::{Scene, Stage};

/// What one member may be depends on another one, which a schema does not say and a description does: the operation, the
/// place, and why the server complains of what the schema alone allows.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("moveContext", "/on", "block needs it"),
    ("askConfirmation", "/prompt/text", "fewer fit above buttons"),
    ("askApproval", "/prompt/text", "fewer fit above buttons"),
    ("askConfirmation", "/prompt/buttons/2/action", "only the first two go without"),
    ("askApproval", "/prompt/buttons/2/action", "only the first two go without"),
    ("bindCommand", "/message_ids", "only messages of this conversation"),
    ("bindCommand", "/message_ids/0", "only messages of this conversation"),
    ("bindCommand", "/envelope", "this or its digest"),
    ("takeOverCommand", "/envelope", "this or its digest"),
    ("putFactSpace", "/partition/organization", "belongs to this memory"),
    ("putFactSpace", "/partition/capability", "belongs to this memory"),
    ("writeFacts", "/facts/0/abstraction", "capability memory needs one"),
    ("queryMemories", "/user_id", "a key that speaks for anyone says for whom"),
    ("queryOoc", "/query", "only queries that there are, in any spelling"),
];

/// The exception that this is.
fn excuse(operation: &str, probe: &Probe) -> Option<usize> {
    let taken = matches!(probe.expected, Expected::Taken);
    ELSEWHERE.iter().position(|(of, pointer, _)| taken && *of == operation && *pointer == probe.pointer)
}

/// Operations, with the schema of their bodies.
fn operations() -> Vec<(&'static str, &'static str, &'static Value)> {
    let mut found = Vec::new();
    for methods in document()["paths"].as_object().unwrap().values() {
        for (method, operation) in methods.as_object().unwrap() {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            // A merge patch may be anything.
            if schema.is_object() && schema["$ref"] != "#/components/schemas/SlotPatch" {
                found.push((method.as_str(), operation["operationId"].as_str().unwrap(), schema));
            }
        }
    }
    found
}

/// What the server complains of: places, and what it says of each.
fn complaints(got: &Got) -> Vec<(String, String)> {
    let refused = [400, 413, 422].contains(&got.status);
    let errors = got.body["errors"].as_array().filter(|_| refused).into_iter().flatten();
    let text = |error: &Value, member: &str| error[member].as_str().unwrap().to_owned();
    errors.map(|error| (text(error, "pointer"), text(error, "problem"))).collect()
}

/// The names that a complaint lists.
fn listed(problem: &str) -> BTreeSet<String> {
    problem.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// What is wrong with an answer.
fn fault(probe: &Probe, got: &Got) -> Option<String> {
    let at = |pointer: &str| pointer == probe.pointer || pointer.starts_with(&format!("{}/", probe.pointer));
    let complaint = complaints(got).into_iter().find(|(pointer, _)| at(pointer));
    match (&probe.expected, complaint) {
        (Expected::Taken, Some((_, problem))) => Some(format!("the contract allows it, the server says: {problem}")),
        (Expected::Refused | Expected::Names(_) | Expected::SomeOf(_), None) => {
            Some(format!("the contract does not allow it, the server says nothing of it: {} {}", got.status, got.body))
        }
        (Expected::Names(names), Some((_, problem))) if *names != listed(&problem) => {
            Some(format!("the contract has {names:?}, the server says: {problem}"))
        }
        (Expected::SomeOf(names), Some((_, problem)))
            if listed(&problem).is_empty() || !listed(&problem).is_subset(names) =>
        {
            Some(format!("the contract has {names:?}, the server says: {problem}"))
        }
        _ => None,
    }
}

async fn played(scene: &Scene, method: &str, body: &Value) -> Got {
    scene.client.ask(&method.to_uppercase(), &scene.path).fresh_key().json(body).send().await
}

fn short(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| value.to_string().chars().take(60).collect())
}

/// The properties of everything that a body can hold.
fn reachable(schema: &'static Value, found: &mut BTreeSet<String>) {
    let inner = |word: &str| schema[word].as_array().into_iter().flatten();
    let below = inner("anyOf").chain(inner("oneOf")).chain([&schema["items"]]);
    below.filter(|schema| schema.is_object()).for_each(|schema| reachable(schema, found));
    if let Some(reference) = schema["$ref"].as_str() {
        reachable(document().pointer(reference.trim_start_matches('#')).unwrap(), found);
    }
    for (member, property) in schema["properties"].as_object().into_iter().flat_map(Map::iter) {
        if found.insert(format!("{}.{member}", component_name(schema).unwrap())) {
            reachable(property, found);
        }
    }
}

#[tokio::test]
async fn the_contract_and_the_readers_of_bodies_say_the_same() {
    let stage = Stage::new().await;
    let (mut faults, mut met, mut wanted) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let (mut tried, mut excused) = (BTreeSet::new(), BTreeSet::new());
    for (method, operation, schema) in operations() {
        reachable(schema, &mut wanted);
        for variant in 0..stage.scenes(operation).await.len() {
            let mut scene = stage.scenes(operation).await.swap_remove(variant);
            let mut probes = Probes::default();
            probes.of(schema, &scene.body, "");
            met.append(&mut probes.met);
            for probe in probes.probes {
                if !tried.insert((operation, probe.pointer.clone(), probe.value.clone().map(|value| value.to_string())))
                {
                    continue;
                }
                let got = played(&scene, method, &probe.applied_to(&scene.body)).await;
                if got.status < 300 {
                    scene = stage.scenes(operation).await.swap_remove(variant);
                }
                if let Some(fault) = fault(&probe, &got) {
                    if let Some(at) = excuse(operation, &probe) {
                        excused.insert(at);
                        continue;
                    }
                    let value = short(probe.value.as_ref());
                    faults.push(format!("{operation} {} = {value}: {fault:.300}", probe.pointer));
                }
            }
        }
    }
    let unmet: Vec<&String> = wanted.difference(&met).collect();
    assert!(unmet.is_empty(), "no body in tests/api/stage.rs has {unmet:#?}");
    assert!(tried.len() > 1_500, "{} requests", tried.len());
    assert!(faults.is_empty(), "{} of {}\n{}", faults.len(), tried.len(), faults.join("\n"));
    let idle: Vec<_> = (0..ELSEWHERE.len()).filter(|at| !excused.contains(at)).map(|at| ELSEWHERE[at]).collect();
    assert!(idle.is_empty(), "nothing needs these any more: {idle:?}");
}
