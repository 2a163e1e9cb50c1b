//! Problems of the state layer.

use std::borrow::Cow;

use axum::http::StatusCode;
use serde_json::json;

use super::{FieldError, Problem};
use crate::state_layer::assembly::PackRefusal;
use crate::state_layer::refusal::SpaceRefusal;

impl From<SpaceRefusal> for Problem {
    fn from(refusal: SpaceRefusal) -> Self {
        let mut problem = Self::new(status_of(&refusal), "", refusal.to_string());
        problem.code = Cow::Owned(refusal.code());
        describe(&refusal, &mut problem);
        problem
    }
}

fn status_of(refusal: &SpaceRefusal) -> StatusCode {
    match refusal {
        SpaceRefusal::FactNotFound | SpaceRefusal::SpaceNotFound => StatusCode::NOT_FOUND,
        SpaceRefusal::PartitionFixed { .. }
        | SpaceRefusal::AlreadySuperseded { .. }
        | SpaceRefusal::FactDeleted
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
        | SpaceRefusal::EntryTooLarge { .. }
        | SpaceRefusal::EntryInvalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

/// The members that a refusal has beyond the common ones.
fn describe(refusal: &SpaceRefusal, problem: &mut Problem) {
    let mut at = |index: usize, member: &str, why: String| {
        problem.errors.push(FieldError { pointer: format!("/facts/{index}/{member}"), problem: why });
    };
    let pointer = |member: &str| format!("/{member}");
    match refusal {
        SpaceRefusal::SupersessionCycle { index } => at(*index, "supersedes", "leads back to this fact".to_owned()),
        SpaceRefusal::DependencyCycle { index } => at(*index, "depends_on", "leads back to this fact".to_owned()),
        SpaceRefusal::PointerToNothing { index, .. } => at(*index, "supersedes", "names no fact".to_owned()),
        SpaceRefusal::NarrowerDependency { index, .. } => at(*index, "depends_on", "is narrower".to_owned()),
        SpaceRefusal::FactTooLarge { index, member, limit } => at(*index, member, format!("must be at most {limit}")),
        SpaceRefusal::FactInvalid { index, member, problem } => at(*index, member, problem.clone()),
        SpaceRefusal::AlreadySuperseded { by, .. } => {
            drop(problem.members.insert("superseded_by".to_owned(), json!(by)))
        }
        SpaceRefusal::SpaceRevisionMismatch { revision } => {
            problem.members.insert("revision".to_owned(), json!(revision));
        }
        SpaceRefusal::AuthorityExceeded { held, .. } => drop(problem.members.insert("held".to_owned(), json!(held))),
        SpaceRefusal::MaturityTooLow { needed, .. } => drop(problem.members.insert("needed".to_owned(), json!(needed))),
        SpaceRefusal::EntryTooLarge { member, limit } => {
            problem.errors.push(FieldError { pointer: pointer(member), problem: format!("must be at most {limit}") });
        }
        SpaceRefusal::EntryInvalid { member, problem: why } => {
            problem.errors.push(FieldError { pointer: pointer(member), problem: why.clone() });
        }
        SpaceRefusal::SpaceFull { what } => drop(problem.members.insert("limit".to_owned(), json!(what))),
        SpaceRefusal::FactNotFound
        | SpaceRefusal::SpaceNotFound
        | SpaceRefusal::PartitionFixed { .. }
        | SpaceRefusal::FactDeleted
        | SpaceRefusal::NothingToRestore
        | SpaceRefusal::IdentityFixed
        | SpaceRefusal::PeopleDoNotCreate
        | SpaceRefusal::NotForAgents => {}
    }
}

impl From<PackRefusal> for Problem {
    fn from(refusal: PackRefusal) -> Self {
        let detail = refusal.to_string();
        let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
        match refusal {
            PackRefusal::BudgetTooSmall { required } => {
                Self::new(unprocessable, "budget_too_small", detail).member("required", required)
            }
            PackRefusal::CannotExclude { .. } => Self::new(unprocessable, "cannot_exclude", detail),
            PackRefusal::CannotInclude { .. } => Self::new(unprocessable, "cannot_include", detail),
        }
    }
}
