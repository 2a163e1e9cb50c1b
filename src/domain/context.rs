//! The context record (RFC-WF-0034 VI.A) and how its expiry is read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::id::{
    CommandId, ContextId, ConversationId, CorrelationId, ItemId, ItemKind, MessageId, PrincipalId, TenantId,
};
use super::lifecycle::Status;
use super::policy::PolicyRef;
use super::slots::Slots;
use super::time::Timestamp;

/// What a blocked context waits for (RFC VII.A).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockedOn {
    External,
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
    Policy,
}

/// What a pending context waits for: at most one question that was put to its actor (a confirmation or a choice), at
/// most one approval that was asked of others, and never nothing. RFC VI.B has a slot for each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "OpenItemsForm", into = "OpenItemsForm")]
pub struct OpenItems {
    question: Option<ItemId>,
    approval: Option<ItemId>,
}

impl OpenItems {
    /// One open item, in the place of its kind.
    #[must_use]
    pub fn one(item_id: ItemId) -> Self {
        match item_id.kind() {
            ItemKind::Approval => Self { question: None, approval: Some(item_id) },
            ItemKind::Confirmation | ItemKind::Disambiguation => Self { question: Some(item_id), approval: None },
        }
    }

    /// The question that was put to the context's actor.
    #[must_use]
    pub fn question(&self) -> Option<&ItemId> {
        self.question.as_ref()
    }

    /// The approval that was asked of others.
    #[must_use]
    pub fn approval(&self) -> Option<&ItemId> {
        self.approval.as_ref()
    }

    /// The open item whose place an item of this kind would take.
    #[must_use]
    pub fn in_place_of(&self, kind: ItemKind) -> Option<&ItemId> {
        match kind {
            ItemKind::Approval => self.approval(),
            ItemKind::Confirmation | ItemKind::Disambiguation => self.question(),
        }
    }

    /// Every open item, the actor's question first.
    pub fn iter(&self) -> impl Iterator<Item = &ItemId> {
        self.question.iter().chain(&self.approval)
    }

    /// The same with one item more, which takes the place of its kind.
    #[must_use]
    pub fn and(&self, item_id: ItemId) -> Self {
        let added = Self::one(item_id);
        Self { question: added.question.or(self.question.clone()), approval: added.approval.or(self.approval.clone()) }
    }

    /// What is left without one item; `None` if nothing is.
    #[must_use]
    pub fn without(&self, item_id: &ItemId) -> Option<Self> {
        let rest = Self {
            question: self.question.clone().filter(|id| id != item_id),
            approval: self.approval.clone().filter(|id| id != item_id),
        };
        (rest.question.is_some() || rest.approval.is_some()).then_some(rest)
    }
}

/// How [`OpenItems`] is stored.
#[derive(Serialize, Deserialize)]
struct OpenItemsForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question: Option<ItemId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approval: Option<ItemId>,
}

impl TryFrom<OpenItemsForm> for OpenItems {
    type Error = &'static str;

    fn try_from(form: OpenItemsForm) -> Result<Self, Self::Error> {
        // Before approvals had a place of their own, an open one was stored as the question.
        let mut items = form.question.into_iter().chain(form.approval);
        let first = items.next().ok_or("a pending context has an open item")?;
        Ok(items.fold(Self::one(first), |open, item_id| open.and(item_id)))
    }
}

impl From<OpenItems> for OpenItemsForm {
    fn from(open: OpenItems) -> Self {
        Self { question: open.question, approval: open.approval }
    }
}

/// The status of a record with what exists in that status and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum State {
    Active,
    /// A question to the actor is open, an approval asked of others, or one of each.
    Pending(OpenItems),
    /// Waiting, with no open question.
    Blocked {
        on: BlockedOn,
        since: Timestamp,
        /// The command whose result blocked it; that command's end unblocks it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_command: Option<CommandId>,
    },
    Expired {
        /// When that was made durable.
        at: Timestamp,
    },
    Closed {
        at: Timestamp,
        reason: CloseReason,
    },
}

impl State {
    /// The RFC's word for it.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Active => Status::Active,
            Self::Pending(_) => Status::Pending,
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

/// A question of the caller's own that waits for this actor's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnQuestion {
    /// The outbound message, as it was registered.
    pub message_id: MessageId,
    pub asked_at: Timestamp,
}

/// The record for one (tenant, conversation, actor).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextRecord {
    pub context_id: ContextId,
    pub tenant_id: TenantId,
    pub conversation_id: ConversationId,
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
    pub slots: Slots,
    pub trace: Trace,
    /// The last question of the caller's own that was registered for this actor and has not been answered. It is outstanding
    /// while the conversation has heard no other question since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_question: Option<OwnQuestion>,
    /// Counts changes; the `ETag`.
    pub revision: u64,
    /// The pack in force when it was opened.
    pub policy: PolicyRef,
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

    /// What is open, if anything is.
    #[must_use]
    pub fn open_items(&self) -> Option<&OpenItems> {
        match &self.state {
            State::Pending(open) => Some(open),
            State::Active | State::Blocked { .. } | State::Expired { .. } | State::Closed { .. } => None,
        }
    }

    /// The open question that was put to the actor, if there is one.
    #[must_use]
    pub fn question(&self) -> Option<&ItemId> {
        self.open_items().and_then(OpenItems::question)
    }

    /// The open approval that was asked of others, if there is one.
    #[must_use]
    pub fn approval(&self) -> Option<&ItemId> {
        self.open_items().and_then(OpenItems::approval)
    }
}
