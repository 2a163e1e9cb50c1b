//! The context record (RFC-WF-0034 VI.A) and how its expiry is read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::id::{CommandId, ContextId, ConversationId, CorrelationId, ItemId, PrincipalId, TenantId};
use super::lifecycle::Status;
use super::policy::PolicyRef;
use super::slots::Slots;
use super::time::Timestamp;

/// What a blocked context waits for (RFC VII.A).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockedOn {
    /// Completion outside.
    External,
    /// An operator's action.
    Operator,
}

/// Why a context was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// The caller finished the conversation.
    Finished,
    /// A command's result ended it.
    CommandEnded,
    /// Policy says so.
    Policy,
}

/// The status of a record with what exists in that status and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum State {
    /// Usable, nothing asked.
    Active,
    /// Exactly one question is open.
    Pending {
        /// That question.
        question: ItemId,
    },
    /// Waiting, with no open question.
    Blocked {
        /// For what.
        on: BlockedOn,
        /// Since when.
        since: Timestamp,
        /// The command whose result blocked it; that command's end unblocks it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_command: Option<CommandId>,
    },
    /// Over by time.
    Expired {
        /// When that was made durable.
        at: Timestamp,
    },
    /// Over by decision.
    Closed {
        /// When.
        at: Timestamp,
        /// Why.
        reason: CloseReason,
    },
}

impl State {
    /// The RFC's word for it.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Active => Status::Active,
            Self::Pending { .. } => Status::Pending,
            Self::Blocked { .. } => Status::Blocked,
            Self::Expired { .. } => Status::Expired,
            Self::Closed { .. } => Status::Closed,
        }
    }
}

/// What ties a record to messages and commands (RFC VI.A `trace`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The last message that touched the context; for one opened without a message, the id of what caused it.
    pub last_message_id: String,
    /// The last command bound in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_command_id: Option<CommandId>,
    /// The caller's correlation id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
}

/// The record for one (tenant, conversation, actor).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextRecord {
    /// Unique.
    pub context_id: ContextId,
    /// Whose.
    pub tenant_id: TenantId,
    /// In which conversation.
    pub conversation_id: ConversationId,
    /// Of which principal.
    pub actor_id: PrincipalId,
    /// Status and what belongs to it.
    #[serde(flatten)]
    pub state: State,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// From this instant on it is expired, whether or not that has been written down.
    pub expires_at: Timestamp,
    /// What a later extension never passes; issued at creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absolute_expires_at: Option<Timestamp>,
    /// The sliding TTL issued at creation, in seconds: a later policy may shorten it, never lengthen it.
    pub ttl_seconds: u32,
    /// Key and value.
    pub slots: Slots,
    /// Messages and commands.
    pub trace: Trace,
    /// Counts changes; the `ETag`.
    pub revision: u64,
    /// The pack in force when it was opened.
    pub policy: PolicyRef,
    /// Round-trips, influences nothing.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
}

impl ContextRecord {
    /// Whether its time is over: at the deadline it is.
    #[must_use]
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.state.status().is_open() && now >= self.expires_at
    }

    /// The status as of `now`: expiry is a predicate on every read, not an event that has to happen first.
    #[must_use]
    pub fn status_at(&self, now: Timestamp) -> Status {
        if self.is_due(now) { Status::Expired } else { self.state.status() }
    }

    /// The deadline that activity at `now` would give, never earlier than the one issued.
    #[must_use]
    pub fn extended(&self, now: Timestamp, policy_ttl_seconds: u32) -> Timestamp {
        let sliding = now.plus_seconds(self.ttl_seconds.min(policy_ttl_seconds));
        self.expires_at.max(self.within_lifetime(sliding))
    }

    /// `deadline`, or the absolute maximum if that comes first.
    #[must_use]
    pub fn within_lifetime(&self, deadline: Timestamp) -> Timestamp {
        self.absolute_expires_at.map_or(deadline, |last| last.min(deadline))
    }

    /// The open question, if there is one.
    #[must_use]
    pub fn question(&self) -> Option<&ItemId> {
        match &self.state {
            State::Pending { question } => Some(question),
            State::Active | State::Blocked { .. } | State::Expired { .. } | State::Closed { .. } => None,
        }
    }
}
