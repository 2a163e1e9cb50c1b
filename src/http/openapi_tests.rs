//! The router and `openapi.yaml` say the same: the same operations, the same scopes, the same need for a key; and so do the
//! types with words of their own. Bodies are compared at a running server, in `tests/api/parity.rs`.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::v1;
use crate::domain::command::{ExecutionState, Outcome};
use crate::domain::context::{BlockedOn, CloseReason};
use crate::domain::item::VoidReason;
use crate::domain::lexicon::Withdrawal;
use crate::domain::lifecycle::Status;
use crate::domain::message::{Direction, MessageKind};
use crate::domain::policy::{DetailLevel, Profile, SafetyClass};
use crate::domain::principal::{AliasKind, Maturity, PrincipalKind};
use crate::domain::verdict::{Next, Reason, VerdictCode};
use crate::state_layer::assembly::{Estimator, Omission};
use crate::state_layer::fact::{Abstraction, Cause, ConstraintType, FactScope, MemoryType};
use crate::state_layer::language::terms::Language;
use crate::state_layer::reading::Stance;

fn document() -> Value {
    serde_saphyr::from_str(include_str!("../../openapi.yaml")).unwrap()
}

/// What one operation demands, as either side states it.
#[derive(Debug, PartialEq)]
struct Demands {
    scope: Option<String>,
    key: bool,
}

fn written() -> BTreeMap<(String, String), Demands> {
    let document = document();
    let mut found = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let refers = |name: &str| {
                operation["parameters"].as_array().is_some_and(|parameters| {
                    parameters.iter().any(|p| p["$ref"] == format!("#/components/parameters/{name}"))
                })
            };
            let demands = Demands {
                scope: operation["security"][0]["bearer"][0].as_str().map(str::to_owned),
                key: refers("IdempotencyKey"),
            };
            found.insert((method.to_uppercase(), path.clone()), demands);
        }
    }
    found
}

#[test]
fn router_and_document_agree_both_ways() {
    let routed: BTreeMap<_, _> = v1::routes()
        .iter()
        .map(|route| {
            let endpoint = route.endpoint();
            let scope = endpoint.scopes.first().map(|scope| scope.as_str().to_owned());
            // A contract has no name for a parameter that holds slashes.
            let place = (endpoint.method.to_owned(), endpoint.path.replace("{*", "{"));
            (place, Demands { scope, key: endpoint.needs_key })
        })
        .collect();
    assert_eq!(routed, written());
}

/// The words that a type reads: a complaint about any other lists them.
fn words<T: DeserializeOwned>() -> BTreeSet<String> {
    let complaint = serde_json::from_value::<T>(json!("no such word")).err().unwrap().to_string();
    let listed = complaint.rsplit_once(", expected ").unwrap().1.split('`').skip(1).step_by(2);
    listed.map(str::to_owned).collect()
}

/// Enums of the contract, and the words of the types that answer with them.
fn typed() -> BTreeMap<&'static str, BTreeSet<String>> {
    BTreeMap::from([
        ("Abstraction", words::<Abstraction>()),
        ("AliasKind", words::<AliasKind>()),
        ("BlockedOn", words::<BlockedOn>()),
        ("CloseReason", words::<CloseReason>()),
        ("ConstraintType", words::<ConstraintType>()),
        // Whoever is shown nothing is refused, and gets no answer that could say so.
        ("DetailLevel", words::<DetailLevel>().into_iter().filter(|word| word != "none").collect()),
        ("Direction", words::<Direction>()),
        ("Estimator", words::<Estimator>()),
        ("ExecutionState", words::<ExecutionState>()),
        ("FactCause", words::<Cause>()),
        ("FactScope", words::<FactScope>()),
        ("Maturity", words::<Maturity>()),
        ("MemoryType", words::<MemoryType>()),
        ("MessageKind", words::<MessageKind>()),
        ("NextStep", words::<Next>()),
        ("OmissionReason", words::<Omission>()),
        ("Outcome", words::<Outcome>()),
        ("PolicyProfile", words::<Profile>()),
        ("PrincipalKind", words::<PrincipalKind>()),
        ("ReadingLanguage", words::<Language>()),
        ("SafetyClass", words::<SafetyClass>()),
        ("Stance", words::<Stance>()),
        ("Status", words::<Status>()),
        ("TakesBack", words::<Withdrawal>()),
        ("VerdictCode", words::<VerdictCode>()),
        ("VerdictReason", words::<Reason>()),
        ("VoidReason", words::<VoidReason>()),
    ])
}

/// Enums of the contract whose words are only written and never read, and the file that writes them, as a text or as the
/// name of a variant. A word that is written and not in the contract fails where answers are held against it.
const WRITTEN: &[(&str, &str)] = &[
    ("AccessKind", include_str!("v1/spaces/view.rs")),
    ("ApprovalState", include_str!("../domain/item.rs")),
    ("ClockState", include_str!("v1/public.rs")),
    ("CommandFate", include_str!("../service/explanation/mod.rs")),
    ("ConfirmationState", include_str!("../domain/item.rs")),
    ("DisambiguationState", include_str!("../domain/item.rs")),
    ("ErasureObstacle", include_str!("v1/privacy.rs")),
    ("ErasureState", include_str!("../service/privacy/receipt.rs")),
    ("Language", include_str!("../service/wording/mod.rs")),
    ("LogReason", include_str!("../service/transparency/mod.rs")),
    ("LogState", include_str!("v1/public.rs")),
    ("NamesCommand", include_str!("v1/policies.rs")),
    ("OocQueryName", include_str!("../service/ooc/query.rs")),
    ("PackSection", include_str!("../state_layer/assembly/admit.rs")),
    ("Polarity", include_str!("../domain/lexicon/mod.rs")),
    ("PartitionKind", include_str!("../state_layer/space.rs")),
    ("PolicyOrigin", include_str!("../service/policies/mod.rs")),
    ("ReadBy", include_str!("../domain/lexicon/explaining.rs")),
    ("ReadinessStatus", include_str!("v1/public.rs")),
    ("RedactionLevel", include_str!("../service/access.rs")),
    ("RollbackProtection", include_str!("../service/transparency/guard.rs")),
    ("StorageState", include_str!("v1/public.rs")),
];

/// Enums of bodies, of which `tests/api/parity.rs` asks the server; the codes of problems are in `problem_tests.rs`.
const ASKED: &[&str] =
    &["ButtonAction", "DecisionWord", "OpenExecutionState", "Payloads", "TransitionAction", "ProblemCode"];

/// `beside_database` as a variant: `BesideDatabase`.
fn variant(word: &str) -> String {
    let mut name = String::new();
    for part in word.split([' ', '_']) {
        let (first, rest) = part.split_at(1);
        name.extend([first.to_uppercase().as_str(), rest]);
    }
    name
}

#[test]
fn the_words_of_the_contract_are_those_of_the_types() {
    let document = document();
    let typed = typed();
    let mut faults = Vec::new();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let Some(listed) = schema["enum"].as_array() else { continue };
        let listed: BTreeSet<String> = listed.iter().map(|word| word.as_str().unwrap().to_owned()).collect();
        if let Some(words) = typed.get(name.as_str()) {
            let apart: Vec<_> = listed.symmetric_difference(words).collect();
            faults.extend((!apart.is_empty()).then(|| format!("{name}: on one side only: {apart:?}")));
        } else if let Some((_, source)) = WRITTEN.iter().find(|(of, _)| of == name) {
            let written = |word: &String| source.contains(&format!("\"{word}\"")) || source.contains(&variant(word));
            let unwritten: Vec<_> = listed.iter().filter(|word| !written(word)).collect();
            faults.extend((!unwritten.is_empty()).then(|| format!("{name}: nothing writes {unwritten:?}")));
        } else if !ASKED.contains(&name.as_str()) {
            faults.push(format!("{name}: say in typed() or WRITTEN whose words these are"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
