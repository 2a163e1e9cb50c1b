//! What lists can be asked for, and how they are cut into pages.

use crate::domain::id::{
    ArtifactId, CommandId, ContextId, ConversationId, CorrelationId, FactUid, PersonId, PrincipalId, RoleName, SpaceId,
};
use crate::domain::lifecycle::Status;
use crate::domain::principal::Alias;
use crate::domain::time::Timestamp;

pub const MAX_PAGE: u32 = 200;

/// Where a page begins: after the record with this sort key. Opaque to callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The record's time, in microseconds, where the list is sorted by time; 0 otherwise.
    pub micros: i64,
    pub id: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Where the next page begins, if there is one.
    pub next: Option<Position>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContextQuery {
    pub conversation_id: Option<ConversationId>,
    pub actor_id: Option<PrincipalId>,
    /// In this status as of `now`: a record whose time is over is expired, written down or not.
    pub status: Option<Status>,
    /// The present, for `status`.
    pub now: Option<Timestamp>,
    /// Where the page begins.
    pub after: Option<Position>,
    /// At most so many; capped at [`MAX_PAGE`].
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ApprovalQuery {
    /// Only open ones, as of `now`.
    pub open_only: bool,
    pub conversation_id: Option<ConversationId>,
    pub now: Option<Timestamp>,
    /// Where the page begins.
    pub after: Option<Position>,
    /// At most so many.
    pub limit: u32,
}

/// Which commands that were bound and not reported on, by when they are or become unknown, oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UnreportedQuery {
    pub conversation_id: Option<ConversationId>,
    pub context_id: Option<ContextId>,
    pub command_id: Option<CommandId>,
    /// Only those that are unknown at this instant already.
    pub unknown_at: Option<Timestamp>,
    /// Only those whose owner has time to report after this instant.
    pub executing_at: Option<Timestamp>,
    /// Where the page begins.
    pub after: Option<Position>,
    /// At most so many.
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrincipalQuery {
    pub principal_id: Option<PrincipalId>,
    /// Those of this person.
    pub person_id: Option<PersonId>,
    /// Those that hold this role.
    pub role: Option<RoleName>,
    /// Those with this external name in force.
    pub alias: Option<Alias>,
    /// Where the page begins.
    pub after: Option<Position>,
    /// At most so many.
    pub limit: u32,
}

/// Which log entries (EQRP-like).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EvidenceQuery {
    pub artifact_id: Option<ArtifactId>,
    pub command_id: Option<CommandId>,
    /// With this correlation id.
    pub correlation_id: Option<CorrelationId>,
    pub conversation_id: Option<ConversationId>,
    pub context_id: Option<ContextId>,
    /// Of this fact space.
    pub space_id: Option<SpaceId>,
    pub fact_uid: Option<FactUid>,
    pub kind: Option<String>,
    /// From this instant on.
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// Where the page begins.
    pub after: Option<Position>,
    /// At most so many.
    pub limit: u32,
}
