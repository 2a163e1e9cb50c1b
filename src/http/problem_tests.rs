//! Every refusal and every service error has a status, a code and a line in `openapi.yaml`.

use std::collections::BTreeSet;

use super::*;
use crate::domain::command::{ExecutionState, Outcome};
use crate::domain::id::{ContextId, FactUid, ItemId, SpaceId};
use crate::domain::lifecycle::{LifecycleEvent, Status};
use crate::domain::prompt::PromptError;
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::state_layer::assembly::PackRefusal;

/// What a caller wrote, and nobody else is told.
const CANARY: &str = "CANARY";

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
        Refusal::QuestionPending { item_id: item_id.clone() },
        Refusal::RevisionMismatch { revision: 3 },
        Refusal::Slot { slot: "x_a".to_owned(), problem: SlotError::Unknown },
        Refusal::Extension { name: CANARY.to_owned(), problem: SlotError::Refused },
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
        Refusal::AlreadyBound { execution: ExecutionState::Unknown, report_by: now },
        Refusal::CommandBound { execution: ExecutionState::Reported, outcome: Outcome::Succeeded },
        Refusal::IdempotencyKeyBound { execution: ExecutionState::Unknown, outcome: Outcome::InProgress },
        Refusal::CommandErased,
        Refusal::CommandAskedElsewhere { item_id: item_id.clone(), state: "open".to_owned() },
        Refusal::ExecutionNotUnknown { execution: ExecutionState::Executing, report_by: now },
        Refusal::AlreadyTakenOver,
        Refusal::UnknownAttempt,
        Refusal::CommandConflict,
        Refusal::AttemptIdReused,
        Refusal::TooManyResults,
        Refusal::NotForAgents,
        Refusal::LimitExceeded { limit: text() },
    ]
}

fn space_refusals() -> Vec<SpaceRefusal> {
    let text = || CANARY.to_owned();
    let uid = FactUid::parse("fct_018bcfe568007707870707070707070f").unwrap();
    let space = SpaceId::new("space-1").unwrap();
    vec![
        SpaceRefusal::FactNotFound,
        SpaceRefusal::SpaceNotFound,
        SpaceRefusal::PartitionFixed { memory: "user".to_owned() },
        SpaceRefusal::SpaceRevisionMismatch { revision: 3 },
        SpaceRefusal::SupersessionCycle { index: 2 },
        SpaceRefusal::DependencyCycle { index: 2 },
        SpaceRefusal::PointerToNothing { index: 2, name: text() },
        SpaceRefusal::AlreadySuperseded { index: 2, by: uid },
        SpaceRefusal::NarrowerDependency { index: 2, space },
        SpaceRefusal::AuthorityExceeded { index: 2, claimed: text(), held: "guest".to_owned() },
        SpaceRefusal::MaturityTooLow {
            index: 2,
            abstraction: "strategy".to_owned(),
            maturity: "junior".to_owned(),
            needed: "master".to_owned(),
        },
        SpaceRefusal::PeopleDoNotCreate,
        SpaceRefusal::NotForAgents,
        SpaceRefusal::FactTooLarge { index: 2, member: "value".to_owned(), limit: 9 },
        SpaceRefusal::FactInvalid { index: 2, member: "scope_id".to_owned(), problem: "is missing".to_owned() },
        SpaceRefusal::FactDeleted,
        SpaceRefusal::PackOutdated,
        SpaceRefusal::NothingToRestore,
        SpaceRefusal::IdentityFixed,
        SpaceRefusal::EntryTooLarge { member: "content".to_owned(), limit: 9 },
        SpaceRefusal::EntryInvalid { member: "expires_at".to_owned(), problem: "lies in the past".to_owned() },
        SpaceRefusal::EntryNotFound { what: "signal".to_owned() },
        SpaceRefusal::SpaceFull { what: "facts".to_owned() },
        SpaceRefusal::WriteTooLarge { what: "dependencies".to_owned(), limit: 9 },
    ]
}

fn pack_refusals() -> Vec<PackRefusal> {
    vec![
        PackRefusal::BudgetTooSmall { required: 77 },
        PackRefusal::CannotExclude { name: CANARY.to_owned() },
        PackRefusal::CannotInclude { name: CANARY.to_owned() },
    ]
}

fn service_errors() -> Vec<ServiceError> {
    vec![
        ServiceError::Unauthenticated,
        ServiceError::MissingScope(Scope::ContextRead),
        ServiceError::NotFound("record"),
        ServiceError::OtherViewer,
        ServiceError::NotPermitted,
        ServiceError::DetailNotAllowed,
        ServiceError::Busy { retry_after_seconds: 1 },
        ServiceError::ClockBehind { seconds: 90_000 },
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
fn the_samples_hold_every_refusal_of_the_state_layer() {
    let source = include_str!("../state_layer/refusal.rs");
    let sampled: BTreeSet<String> = space_refusals().iter().map(SpaceRefusal::code).collect();
    assert_eq!(sampled.len(), source.matches("#[error(").count());
    let source = include_str!("../state_layer/assembly/mod.rs").split("pub enum PackRefusal").nth(1).unwrap();
    let enumeration = source.split("\n}").next().unwrap();
    let codes: BTreeSet<_> = pack_refusals().into_iter().map(|refusal| Problem::from(refusal).code).collect();
    assert_eq!(codes.len(), enumeration.matches("#[error(").count());
}

#[test]
fn refusals_of_the_state_layer_are_the_callers_to_act_on_say_where_and_repeat_nothing() {
    let expected: &[(u16, &[&str])] = &[
        (404, &["fact_not_found", "space_not_found", "entry_not_found"]),
        (403, &["authority_exceeded", "maturity_too_low", "people_do_not_create", "not_for_agents"]),
        (
            409,
            &[
                "partition_fixed",
                "already_superseded",
                "fact_deleted",
                "pack_outdated",
                "nothing_to_restore",
                "identity_fixed",
            ],
        ),
        (409, &["space_full"]),
        (412, &["space_revision_mismatch"]),
        (422, &["supersession_cycle", "dependency_cycle", "pointer_to_nothing", "narrower_dependency"]),
        (422, &["fact_too_large", "fact_invalid", "entry_too_large", "entry_invalid", "write_too_large"]),
        (422, &["budget_too_small", "cannot_exclude", "cannot_include"]),
    ];
    let mut expected: BTreeSet<(u16, String)> =
        expected.iter().flat_map(|(status, codes)| codes.iter().map(|code| (*status, (*code).to_owned()))).collect();
    let problems = space_refusals().into_iter().map(Problem::from);
    for problem in problems.chain(pack_refusals().into_iter().map(Problem::from)) {
        let value = problem.to_value(None);
        assert!(expected.remove(&(problem.status.as_u16(), problem.code.to_string())), "{value:#}");
        assert!(!value.to_string().contains(CANARY), "{value:#}");
        if problem.detail.contains("facts[2]") {
            let pointer = &problem.errors.first().unwrap_or_else(|| panic!("{value:#}")).pointer;
            assert!(pointer.starts_with("/facts/2"), "{value:#}");
        }
    }
    assert!(expected.is_empty(), "{expected:?}");
}

#[test]
fn every_code_is_documented_and_every_status_is_the_callers_to_act_on() {
    let listed = listed_codes();
    let refused = refusals().into_iter().map(Problem::from);
    let refused = refused.chain(space_refusals().into_iter().map(Problem::from));
    let refused = refused.chain(pack_refusals().into_iter().map(Problem::from));
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
        include_str!("v1/spaces/mod.rs"),
        include_str!("v1/spaces/reading.rs"),
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
