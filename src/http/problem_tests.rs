//! Every refusal and every service error has a status, a code and a line in `openapi.yaml`.

use std::collections::BTreeSet;

use super::*;
use crate::domain::id::{ContextId, ItemId};
use crate::domain::lifecycle::{LifecycleEvent, Status};
use crate::domain::prompt::PromptError;
use crate::domain::time::Timestamp;
use crate::storage::Scope;

fn refusals() -> Vec<Refusal> {
    let now = Timestamp::from_micros(0);
    let text = || "x".to_owned();
    let context_id = ContextId::parse("ctx_018bcfe568007707870707070707070f").unwrap();
    let item_id = ItemId::parse("cnf_018bcfe568007707870707070707070f").unwrap();
    vec![
        Refusal::ContextNotFound,
        Refusal::ItemNotFound,
        Refusal::CommandNotFound,
        Refusal::ContextAlreadyOpen { context_id },
        Refusal::ContextExpired,
        Refusal::ContextClosed,
        Refusal::ContextBlocked,
        Refusal::InvalidTransition { from: Status::Closed, event: LifecycleEvent::Block, reason: text() },
        Refusal::QuestionPending { item_id },
        Refusal::RevisionMismatch { revision: 3 },
        Refusal::Slot { slot: "x_a".to_owned(), problem: SlotError::Unknown },
        Refusal::MessageIdReused,
        Refusal::IdempotencyKeyReused,
        Refusal::UnknownMessage { index: 0 },
        Refusal::Prompt(PromptError { field: "/text".to_owned(), problem: text() }),
        Refusal::TargetRequired { class: text() },
        Refusal::TargetFieldMissing { field: text() },
        Refusal::FingerprintNotAccepted,
        Refusal::OptionsAmbiguous,
        Refusal::ApprovalNotNeeded,
        Refusal::ItemNotOpen { state: text() },
        Refusal::PromptAlreadyAttached,
        Refusal::TooManyPrompts,
        Refusal::PromptTimeImpossible,
        Refusal::IdentityChanged,
        Refusal::ApproverNotEntitled,
        Refusal::AlreadyDecided { state: text() },
        Refusal::ItemExpired,
        Refusal::ItemVoided { reason: text() },
        Refusal::ConfirmationRequired,
        Refusal::ConfirmationExpired { bind_by: now },
        Refusal::ApprovalRequired { role: text() },
        Refusal::ApprovalExpired { bind_by: now },
        Refusal::TargetMismatch,
        Refusal::AlreadyBound,
        Refusal::CommandConflict,
        Refusal::TooManyResults,
        Refusal::NotForAgents,
        Refusal::LimitExceeded { limit: text() },
    ]
}

fn service_errors() -> Vec<ServiceError> {
    vec![
        ServiceError::Unauthenticated,
        ServiceError::MissingScope(Scope::ContextRead),
        ServiceError::NotFound("record"),
        ServiceError::DetailNotAllowed,
        ServiceError::Busy { retry_after_seconds: 1 },
        ServiceError::Unavailable,
        ServiceError::Internal,
    ]
}

fn listed_codes() -> BTreeSet<String> {
    let document: Value = serde_saphyr::from_str(include_str!("../../openapi.yaml")).unwrap();
    let codes = document["components"]["schemas"]["ProblemCode"]["enum"].as_array().unwrap();
    codes.iter().map(|code| code.as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_sample_holds_every_refusal() {
    let source = include_str!("../domain/refusal.rs");
    let variants = source.matches("#[error(").count();
    let sampled: BTreeSet<String> = refusals().iter().map(Refusal::code).collect();
    assert_eq!(sampled.len(), variants);
}

#[test]
fn every_code_is_documented_and_every_status_is_the_callers_to_act_on() {
    let listed = listed_codes();
    let refused = refusals().into_iter().map(Problem::from);
    for problem in refused.chain(service_errors().into_iter().map(Problem::from)) {
        assert!(listed.contains(problem.code.as_ref()), "{} is not in openapi.yaml", problem.code);
        assert!(!problem.detail.is_empty());
        let value = problem.to_value(Some("req-1"));
        assert_eq!(value["type"], format!("urn:cscp:problem:{}", problem.code));
        assert_eq!(value["status"], problem.status.as_u16());
    }
    assert!(refusals().into_iter().all(|refusal| status_of(&refusal).is_client_error()));
}

#[test]
fn codes_of_the_wire_itself_are_documented_too() {
    let listed = listed_codes();
    let sources = [
        include_str!("body.rs"),
        include_str!("extract.rs"),
        include_str!("headers.rs"),
        include_str!("observe.rs"),
        include_str!("paging.rs"),
        include_str!("rates.rs"),
        include_str!("v1/decisions.rs"),
        include_str!("v1/ooc.rs"),
    ];
    for source in sources {
        let source = source.split("#[cfg(test)]").next().unwrap();
        let made = source.match_indices("Problem::new(").chain(source.match_indices("Problem::field("));
        for (at, _) in made {
            let code = source[at..].split('"').nth(1).unwrap();
            assert!(listed.contains(code), "{code} is not in openapi.yaml");
        }
    }
    for code in ["unknown_field", "missing_field", "wrong_type", "invalid_value", "malformed_json", "duplicate_key"] {
        assert!(listed.contains(code));
    }
}

#[test]
fn a_slot_name_that_may_be_somebodys_number_is_not_repeated() {
    let refused = |slot: &str| {
        let refusal = Refusal::Slot { slot: slot.to_owned(), problem: SlotError::Unknown };
        Problem::from(refusal).to_value(None).to_string()
    };
    assert!(refused("colour").contains("colour"));
    assert!(!refused("5511999990000").contains("5511999990000"));
}
