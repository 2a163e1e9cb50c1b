//! Events: what happened. Every event becomes one entry of the evidence log, and state is their fold.

mod evidence_type;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::canonical::Digest;
use super::command::{CommandRecord, CommandResult};
use super::context::{ContextRecord, State};
use super::frame::{ContextFrame, FrameRef};
use super::id::{
    AttemptId, CommandId, ContextId, ConversationId, CorrelationId, FactUid, ItemId, MessageId, PackId, PrincipalId,
    ReadingId, SpaceId,
};
use super::item::{ApprovalDecision, ItemState, PendingItem, Prompt};
use super::lifecycle::{LifecycleEvent, Status};
use super::message::MessageRecord;
use super::principal::Principal;
use super::slots::Slots;
use super::time::Timestamp;

pub use evidence_type::{Evidence, stream_kind};

/// One lock and one hash chain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", content = "key", rename_all = "snake_case")]
pub enum StreamKey {
    /// All that is decided under one lock for a conversation.
    Conversation(ConversationId),
    /// A principal's registration and identity.
    Principal(PrincipalId),
    /// What one reader has looked at; keyed by principal id, or by key id for a key without one.
    Access(String),
    /// All that is decided under one lock for a fact space.
    FactSpace(SpaceId),
    /// What was erased and why, and what is held: one a tenant.
    Disposal,
}

impl StreamKey {
    /// The stream's kind, as stored.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Conversation(_) => "conversation",
            Self::Principal(_) => "principal",
            Self::Access(_) => "access",
            Self::FactSpace(_) => "fact_space",
            Self::Disposal => "disposal",
        }
    }

    /// The stream's key within its kind. Personal: never in a header, a log line or a URL.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Conversation(id) => id.as_str(),
            Self::Principal(id) => id.as_str(),
            Self::Access(reader) => reader,
            Self::FactSpace(id) => id.as_str(),
            Self::Disposal => "disposal",
        }
    }
}

/// The question that a conversation heard last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "item_id", rename_all = "snake_case")]
pub enum LastQuestion {
    Item(ItemId),
    /// One of the caller's own.
    Other,
}

/// Why a binding was refused, as evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BindRefusal {
    /// The target is not the one that was agreed to.
    TargetMismatch,
    /// Another attempt holds the binding.
    AlreadyBound,
    /// The same attempt came with another envelope.
    CommandConflict,
    /// Its idempotency key belongs to another command.
    IdempotencyKeyTaken,
    /// It was bound before, and erased since.
    CommandErased,
    /// Its attempt belongs to another command.
    AttemptReused,
    /// No confirmation that counts.
    ConfirmationRequired,
    /// The confirmation's time is over.
    ConfirmationExpired,
    /// No approval that counts.
    ApprovalRequired,
    /// The approval's time is over.
    ApprovalExpired,
    /// The identity of one who agreed has changed since.
    IdentityChanged,
    /// A take-over: the owner still has time to report, or has reported.
    ExecutionNotUnknown,
    /// A take-over: the attempt that it names does not own the execution.
    AlreadyTakenOver,
}

/// What was read, for the reader's access stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadRecord {
    /// The operation, such as `ooc.show_active_context`.
    pub operation: String,
    pub key_id: String,
    /// The principal in whose name it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewer_id: Option<PrincipalId>,
    /// How much was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The conversation looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// The context looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    /// The command looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_id: Option<CommandId>,
    /// The fact space looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_id: Option<SpaceId>,
    /// The kept context pack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack_id: Option<PackId>,
    /// The records that were shown, by their ids or keys; of many the first ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// Where there were more than are listed: a digest over all of them, under the tenant's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids_digest: Option<String>,
    /// Whether it was refused.
    pub refused: bool,
    /// How many records were shown.
    pub records: u32,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives the field by reference")]
fn is_yes(value: &bool) -> bool {
    *value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives the field by reference")]
fn is_no(value: &bool) -> bool {
    !*value
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "events are made, folded and written one by one, never kept in bulk")]
pub enum Event {
    /// A context was opened.
    ContextCreated { context: ContextRecord },
    /// A context changed its state.
    ContextTransitioned {
        context_id: ContextId,
        from: Status,
        on: LifecycleEvent,
        /// To, with what belongs to it.
        to: State,
        /// Its deadline from now on.
        expires_at: Timestamp,
    },
    /// Slots were set or unset.
    ContextSlotsChanged {
        context_id: ContextId,
        /// New values in their stored form; null unsets.
        changes: Slots,
        /// What caused it, for the trace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
    },
    /// An inbound message was read and answered.
    MessageReceived {
        /// The message without its words, with its verdict.
        message: MessageRecord,
        /// The deadline of its context, if it is in one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
        /// The open question that it passed by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        passed_by: Option<ItemId>,
        /// The dedupe key of a message that it deletes or edits and that has not arrived yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        withdraws: Option<Digest>,
    },
    /// An outbound message was registered before it was sent.
    MessageRegistered {
        /// The message without its words.
        message: MessageRecord,
        /// The question that it asks, if it asks one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<LastQuestion>,
        /// Whether it is a question of the caller's own that waits for an answer in the message's context.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        awaits_reply: bool,
    },
    /// A question was asked.
    ItemAsked {
        item: PendingItem,
        /// Its copy in the context's slots, where policy stores one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<Value>,
        /// Whether the context's actor hears it. An approval is asked of others, in another place.
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        heard: bool,
    },
    /// The channel's id of a prompt became known.
    PromptAttached {
        item_id: ItemId,
        prompt: Prompt,
        /// Whether the conversation's actor has seen it after every other question: it is the question heard last.
        #[serde(default, skip_serializing_if = "is_no")]
        heard: bool,
    },
    /// One of several approvals was given; more are needed.
    ApprovalGiven { item_id: ItemId, decision: ApprovalDecision },
    /// Somebody who may answer an open item said "wait" or the like: an earlier yes that arrives later does not count.
    ItemObjected {
        item_id: ItemId,
        actor_id: PrincipalId,
        /// When it was sent.
        sent_at: Timestamp,
    },
    /// An item reached another state.
    ItemSettled {
        item_id: ItemId,
        /// The approval that completed it, if it is an approval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<ApprovalDecision>,
        /// Its state from now on.
        #[serde(flatten)]
        state: ItemState,
    },
    /// Somebody without the right tried to decide.
    DecisionRefused { item_id: ItemId, approver_id: PrincipalId },
    /// A context was frozen for a command.
    FrameCaptured {
        frame: ContextFrame,
        /// The salt of its hash.
        salt: Digest,
        context_hash: String,
    },
    /// A command was bound.
    CommandBound { command: CommandRecord },
    /// Another attempt took the execution of a bound command over.
    CommandTakenOver {
        command_id: CommandId,
        /// Who owned the execution until now.
        replaces: AttemptId,
        /// Who owns it from now on.
        attempt_id: AttemptId,
        /// Until when the new owner has to report.
        report_by: Timestamp,
        /// The context that the command was bound with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_ref: Option<FrameRef>,
    },
    /// A binding or a take-over was refused.
    CommandRefused { context_id: ContextId, command_id: CommandId, attempt_id: AttemptId, reason: BindRefusal },
    /// A command's status was reported.
    ResultRecorded {
        command_id: CommandId,
        result: CommandResult,
        /// The context that the command was bound with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_ref: Option<FrameRef>,
        /// Its copy in the context's slots, where policy stores one and the context is open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slot: Option<Value>,
    },
    /// A principal was registered or changed.
    PrincipalChanged {
        /// The record from now on.
        principal: Principal,
        /// Whether its identity changed: what was asked of it before is void.
        identity_changed: bool,
    },
    /// An operator or auditor looked at something.
    ReadRecorded { read: ReadRecord },
}

/// What an event is about: what an auditor can search by (RFC IX).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct About {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<PrincipalId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    /// The messages that led to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub message_ids: Vec<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_id: Option<CommandId>,
    /// The caller's correlation id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_id: Option<SpaceId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact_uid: Option<FactUid>,
    /// The reading of an utterance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading_id: Option<ReadingId>,
}

impl About {
    /// By what it is found when a fact is deleted: the fact, or the reading that it was made of.
    #[must_use]
    pub fn of_fact(&self) -> Option<&str> {
        self.fact_uid.as_ref().map(FactUid::as_str).or_else(|| self.reading_id.as_ref().map(ReadingId::as_str))
    }
}

/// An event with the stream it belongs to and what it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded<E = Event> {
    /// Which chain it extends.
    pub stream: StreamKey,
    /// What it is about.
    pub about: About,
    pub event: E,
}
