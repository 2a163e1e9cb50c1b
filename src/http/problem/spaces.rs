//! Problems of the state layer.

use std::borrow::Cow;

use axum::http::StatusCode;
use serde_json::json;

use super::{FieldError, Problem};
use crate::state_layer::assembly::PackRefusal;
use crate::state_layer::refusal::SpaceRefusal;

impl From<SpaceRefusal> for Problem {
    fn from(refusal: SpaceRefusal) -> Self {
        let mut problem = Self::new(status_of(&refusal), "", detail_of(&refusal));
        problem.code = Cow::Owned(refusal.code());
        describe(&refusal, &mut problem);
        problem
    }
}

/// What to do, without names from the request.
fn detail_of(refusal: &SpaceRefusal) -> String {
    match refusal {
        SpaceRefusal::PointerToNothing { index, .. } => format!(
            "facts[{index}] names a fact that is not in this space; write that one first, or leave require_targets out"
        ),
        SpaceRefusal::AuthorityExceeded { index, .. } => {
            format!("facts[{index}] claims more authority than its writer holds; claim at most what `held` says")
        }
        other => other.to_string(),
    }
}

fn status_of(refusal: &SpaceRefusal) -> StatusCode {
    match refusal {
        SpaceRefusal::FactNotFound | SpaceRefusal::SpaceNotFound | SpaceRefusal::EntryNotFound { .. } => {
            StatusCode::NOT_FOUND
        }
        SpaceRefusal::PartitionFixed { .. }
        | SpaceRefusal::AlreadySuperseded { .. }
        | SpaceRefusal::FactDeleted
        | SpaceRefusal::PackOutdated
        | SpaceRefusal::NothingToRestore
        | SpaceRefusal::IdentityFixed
        | SpaceRefusal::SpaceFull { .. } => StatusCode::CONFLICT,
        SpaceRefusal::SpaceRevisionMismatch { .. } => StatusCode::PRECONDITION_FAILED,
        SpaceRefusal::AuthorityExceeded { .. }
        | SpaceRefusal::MaturityTooLow { .. }
        | SpaceRefusal::PeopleDoNotCreate
        | SpaceRefusal::NotForAgents => StatusCode::FORBIDDEN,
        SpaceRefusal::SupersessionCycle { .. }
        | SpaceRefusal::DependencyCycle { .. }
        | SpaceRefusal::PointerToNothing { .. }
        | SpaceRefusal::NarrowerDependency { .. }
        | SpaceRefusal::FactTooLarge { .. }
        | SpaceRefusal::FactInvalid { .. }
        | SpaceRefusal::WriteTooLarge { .. }
        | SpaceRefusal::EntryTooLarge { .. }
        | SpaceRefusal::EntryInvalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

/// Adds the members that only some refusals have.
fn describe(refusal: &SpaceRefusal, problem: &mut Problem) {
    let mut at = |index: usize, member: &str, why: String| {
        // Nested members are separated by dots.
        let member = member.replace('.', "/");
        let member = if member.is_empty() { String::new() } else { format!("/{member}") };
        problem.errors.push(FieldError { pointer: format!("/facts/{index}{member}"), problem: why });
    };
    let pointer = |member: &str| format!("/{member}");
    match refusal {
        SpaceRefusal::SupersessionCycle { index } => at(*index, "supersedes", "leads back to this fact".to_owned()),
        SpaceRefusal::DependencyCycle { index } => at(*index, "depends_on", "leads back to this fact".to_owned()),
        SpaceRefusal::PointerToNothing { index, .. } => at(*index, "", "names a fact that does not exist".to_owned()),
        SpaceRefusal::NarrowerDependency { index, .. } => at(*index, "depends_on", "is narrower".to_owned()),
        SpaceRefusal::FactTooLarge { index, member, limit } => at(*index, member, format!("must be at most {limit}")),
        SpaceRefusal::FactInvalid { index, member, problem } => at(*index, member, problem.clone()),
        SpaceRefusal::AlreadySuperseded { index, by } => {
            at(*index, "supersedes", "was replaced already".to_owned());
            problem.members.insert("superseded_by".to_owned(), json!(by));
        }
        SpaceRefusal::SpaceRevisionMismatch { revision } => {
            problem.members.insert("revision".to_owned(), json!(revision));
        }
        SpaceRefusal::AuthorityExceeded { index, held, .. } => {
            at(*index, "source/authority", "is above the writer's authority".to_owned());
            problem.members.insert("held".to_owned(), json!(held));
        }
        SpaceRefusal::MaturityTooLow { index, needed, .. } => {
            at(*index, "abstraction", format!("needs a writer who is {needed}"));
            problem.members.insert("needed".to_owned(), json!(needed));
        }
        SpaceRefusal::EntryTooLarge { member, limit } => {
            problem.errors.push(FieldError { pointer: pointer(member), problem: format!("must be at most {limit}") });
        }
        SpaceRefusal::EntryInvalid { member, problem: why } => {
            problem.errors.push(FieldError { pointer: pointer(member), problem: why.clone() });
        }
        SpaceRefusal::SpaceFull { what } => drop(problem.members.insert("limit".to_owned(), json!(what))),
        SpaceRefusal::WriteTooLarge { limit, .. } => drop(problem.members.insert("limit".to_owned(), json!(limit))),
        SpaceRefusal::FactNotFound
        | SpaceRefusal::SpaceNotFound
        | SpaceRefusal::EntryNotFound { .. }
        | SpaceRefusal::PartitionFixed { .. }
        | SpaceRefusal::FactDeleted
        | SpaceRefusal::PackOutdated
        | SpaceRefusal::NothingToRestore
        | SpaceRefusal::IdentityFixed
        | SpaceRefusal::PeopleDoNotCreate
        | SpaceRefusal::NotForAgents => {}
    }
}

impl From<PackRefusal> for Problem {
    fn from(refusal: PackRefusal) -> Self {
        // Names from the request are not repeated.
        let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
        match &refusal {
            PackRefusal::BudgetTooSmall { required } => {
                Self::new(unprocessable, "budget_too_small", refusal.to_string()).member("required", *required)
            }
            PackRefusal::CannotExclude { .. } => {
                Self::new(unprocessable, "cannot_exclude", "must be in the pack: it cannot be excluded")
            }
            PackRefusal::CannotInclude { .. } => {
                Self::new(unprocessable, "cannot_include", "names no fact that may be shown to this viewer")
            }
        }
    }
}
