//! Refusals of the state layer. Each has a stable code and a sentence that tells what to do.

use serde::{Deserialize, Serialize};

use crate::domain::id::{FactUid, SpaceId};

/// Why an operation was refused. Never carries a fact's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "space_code", rename_all = "snake_case")]
pub enum SpaceRefusal {
    #[error("there is no such fact in this space")]
    FactNotFound,
    #[error("there is no such fact space; describe it or write a fact to it first")]
    SpaceNotFound,
    #[error("this space is {memory} memory since it was made; use another space")]
    PartitionFixed { memory: String },
    #[error("the record has changed since it was read; read it again and repeat the change")]
    SpaceRevisionMismatch { revision: u64 },
    #[error("facts[{index}] names itself among what it replaces, directly or through others; remove the circle")]
    SupersessionCycle { index: usize },
    #[error("facts[{index}] depends on itself, directly or through others; remove the circle")]
    DependencyCycle { index: usize },
    #[error(
        "facts[{index}] names {name}, which is no fact of this space; write it first, or leave require_targets out"
    )]
    PointerToNothing { index: usize, name: String },
    #[error("facts[{index}] replaces a fact that {by} has replaced already; read it, and replace that one")]
    AlreadySuperseded { index: usize, by: FactUid },
    #[error("facts[{index}] depends on a narrower partition; only the same or a wider one is allowed")]
    NarrowerDependency { index: usize, space: SpaceId },
    #[error("facts[{index}] claims the authority {claimed}, and its writer holds {held}")]
    AuthorityExceeded { index: usize, claimed: String, held: String },
    #[error("facts[{index}] is a {abstraction}, and its writer is {maturity}; a {needed} may write it")]
    MaturityTooLow { index: usize, abstraction: String, maturity: String, needed: String },
    #[error("people correct and delete facts and do not create them; let the agent that heard it write it")]
    PeopleDoNotCreate,
    #[error("an agent's credential writes facts and supersedes them; it may not do this")]
    NotForAgents,
    #[error("facts[{index}].{member} is too large: at most {limit}")]
    FactTooLarge { index: usize, member: String, limit: usize },
    #[error("facts[{index}].{member} is not usable: {problem}")]
    FactInvalid { index: usize, member: String, problem: String },
    #[error(
        "this write has too many {what}: at most {limit} at once; write it in parts (a task that closes: give some items another task_id)"
    )]
    WriteTooLarge { what: String, limit: usize },
    #[error("the fact was deleted; what is gone cannot be restored")]
    FactDeleted,
    #[error("a fact that the pack shows was deleted while it was assembled; ask again, with another idempotency key")]
    PackOutdated,
    #[error("the fact stands and nothing contests it")]
    NothingToRestore,
    #[error("a space serves one person; this one serves another, so use another space")]
    IdentityFixed,
    #[error("{member} is too large: at most {limit}")]
    EntryTooLarge { member: String, limit: usize },
    #[error("{member} is not usable: {problem}")]
    EntryInvalid { member: String, problem: String },
    #[error("there is no such {what} in this space")]
    EntryNotFound { what: String },
    #[error("this space holds as many {what} as it may")]
    SpaceFull { what: String },
}

impl SpaceRefusal {
    /// The stable code: the variant's name in snake case.
    #[must_use]
    pub fn code(&self) -> String {
        let tagged = serde_json::to_value(self).ok();
        let code = tagged.as_ref().and_then(|value| value.get("space_code")).and_then(|code| code.as_str());
        code.unwrap_or("refused").to_owned()
    }
}
