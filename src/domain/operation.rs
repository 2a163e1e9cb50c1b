//! Operations: everything that can be asked of the domain, as plain data, and what it answers.
//!
//! The word *command* belongs to CCP (what the engine executes); what is decided here is an *operation*.

mod needs;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::canonical::Digest;
use super::command::{CommandRecord, Outcome};
use super::context::{BlockedOn, CloseReason, ContextRecord};
use super::event::ReadRecord;
use super::frame::CitedPack;
use super::id::{
    AttemptId, Channel, CommandId, CommandName, ContextId, ConversationId, CorrelationId, IdempotencyKey, ItemId,
    MessageId, PersonId, PrincipalId, RoleName,
};
use super::item::PendingItem;
use super::lexicon::Reading;
use super::message::MessageEvent;
use super::policy::SafetyClass;
use super::principal::{Alias, Maturity, Principal, PrincipalKind};
use super::prompt::ShownPrompt;
use super::slots::Slots;
use super::time::Timestamp;
use super::verdict::Verdict;

pub use needs::{ItemRef, Needs};

/// Which kind of credential speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialKind {
    Handler,
    /// A person who operates.
    Operator,
    /// A person who audits.
    Auditor,
    /// A program that proposes.
    Agent,
    /// Whoever administers the tenant.
    Admin,
}

/// What the command's target is known by.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// In clear: used, not stored.
    Clear(Value),
    /// A digest of the caller's own making.
    Asserted(String),
    Missing,
}

/// A command as it is proposed or bound.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandSpec {
    /// CCP `command_id`.
    pub command_id: CommandId,
    pub name: CommandName,
    pub idempotency_key: IdempotencyKey,
    /// The class the caller wants at least.
    pub raised_class: Option<SafetyClass>,
    /// What it is done to.
    pub target: Target,
}

/// What is to be asked.
#[derive(Debug, Clone, PartialEq)]
pub enum AskWhat {
    Confirmation(CommandSpec),
    Approval(CommandSpec),
    /// A choice: title and target of each option, in the order shown.
    Disambiguation(Vec<(String, Value)>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    pub context_id: ContextId,
    pub what: AskWhat,
    /// As it will be shown.
    pub prompt: ShownPrompt,
    /// Void an open question first.
    pub supersede: bool,
    /// A shorter window than policy's, in seconds.
    pub ttl_seconds: Option<u32>,
    /// The caller's correlation id.
    pub correlation_id: Option<CorrelationId>,
}

/// Open a context without an inbound message.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenContext {
    pub conversation_id: ConversationId,
    pub actor_id: PrincipalId,
    /// The outbound message or the request that caused it.
    pub cause: String,
    pub slots: Slots,
    /// The caller's correlation id.
    pub correlation_id: Option<CorrelationId>,
    pub extensions: Map<String, Value>,
}

/// Set or unset slots (RFC 7396).
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeSlots {
    pub context_id: ContextId,
    pub patch: Map<String, Value>,
    /// The revision it was read at.
    pub if_revision: u64,
    pub credential: CredentialKind,
}

/// What a caller may ask of the lifecycle directly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Block(BlockedOn),
    Unblock,
    Close(CloseReason),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    pub context_id: ContextId,
    pub to: Move,
    /// The revision it was read at, if the caller cares.
    pub if_revision: Option<u64>,
}

/// Attach the channel's id to the newest prompt of an item.
#[derive(Debug, Clone, PartialEq)]
pub struct AttachPrompt {
    pub item_id: ItemId,
    pub message_id: MessageId,
    /// The channel account in which the id is unique.
    pub channel: Channel,
    /// The dedupe key of that id: a message that is known as something else is no prompt.
    pub message_key: Digest,
    /// When it was sent; the present if not said.
    pub sent_at: Option<Timestamp>,
}

/// Withdraw a question, or a grant that was not spent.
#[derive(Debug, Clone, PartialEq)]
pub struct Cancel {
    pub item_id: ItemId,
}

/// An authenticated decision on an approval.
#[derive(Debug, Clone, PartialEq)]
pub struct DecideApproval {
    pub item_id: ItemId,
    pub approver_id: PrincipalId,
    pub approve: bool,
}

/// The command envelope, which is not stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Envelope {
    /// In clear: canonicalised and hashed here.
    Clear(Value),
    Digest(String),
}

/// Bind a command: may it run, now, exactly so?
#[derive(Debug, Clone, PartialEq)]
pub struct Bind {
    pub context_id: ContextId,
    pub attempt_id: AttemptId,
    pub command: CommandSpec,
    pub envelope: Envelope,
    /// The messages that shaped it, with their dedupe keys.
    pub message_ids: Vec<(MessageId, Digest)>,
    /// The saved context pack it was formed from. Packs never change, so it is looked up before the lock is held.
    pub context_pack: Option<CitedPack>,
    /// The caller's correlation id.
    pub correlation_id: Option<CorrelationId>,
}

/// Take over the execution of a bound command whose owner did not report (it died, or lost its network).
#[derive(Debug, Clone, PartialEq)]
pub struct TakeOver {
    /// Which try: the one that will execute from now on.
    pub attempt_id: AttemptId,
    /// The attempt that owns the execution until now.
    pub replaces: AttemptId,
    /// The command, as it was bound.
    pub command: CommandSpec,
    /// Its envelope, as it was bound.
    pub envelope: Envelope,
}

/// Report how a command stands.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordResult {
    pub command_id: CommandId,
    /// The attempt that reports, if it is one.
    pub attempt_id: Option<AttemptId>,
    pub status: String,
    pub outcome: Outcome,
    pub summary: Option<String>,
    /// It waits for something: block the context.
    pub waiting_on: Option<BlockedOn>,
    /// Close the context when the command has ended.
    pub close_context: bool,
}

/// Register or change a principal.
#[derive(Debug, Clone, PartialEq)]
pub struct PutPrincipal {
    pub principal_id: PrincipalId,
    pub kind: PrincipalKind,
    pub roles: Vec<RoleName>,
    /// The person behind it.
    pub person_id: Option<PersonId>,
    /// Its external names, all of them.
    pub aliases: Vec<Alias>,
    /// How far it has come as a writer of capability memory.
    pub maturity: Option<Maturity>,
    pub locale: Option<String>,
    /// The revision it was read at, if the caller cares.
    pub if_revision: Option<u64>,
}

/// Write down what is due in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    pub conversation_id: ConversationId,
}

/// Write down that somebody looked.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordRead {
    pub reader: String,
    pub read: ReadRecord,
}

/// Everything that can be asked of the domain.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    Ingest(Box<MessageEvent>),
    OpenContext(OpenContext),
    ChangeSlots(ChangeSlots),
    Transition(Transition),
    Ask(Box<Ask>),
    AttachPrompt(AttachPrompt),
    Cancel(Cancel),
    DecideApproval(DecideApproval),
    Bind(Box<Bind>),
    TakeOver(Box<TakeOver>),
    RecordResult(RecordResult),
    PutPrincipal(PutPrincipal),
    Sweep(Sweep),
    RecordRead(RecordRead),
}

/// What an operation answers when it was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    Turn {
        /// How its words were read. Answers that earlier versions kept for repetitions do not say it.
        #[serde(default)]
        reading: Reading,
        verdict: Verdict,
        /// The item that the verdict is about, as it stands now.
        item: Option<Box<PendingItem>>,
        /// The context, as it stands now.
        context: Option<Box<ContextRecord>>,
        /// Whether this message was answered before.
        duplicate: bool,
    },
    /// To everything that changes a context.
    Context {
        /// As it stands now.
        context: Box<ContextRecord>,
        question: Option<Box<PendingItem>>,
    },
    Asked {
        item: Box<PendingItem>,
        /// From when no answer counts.
        effective_deadline: Timestamp,
        /// The nonce, shown once.
        nonce: String,
        /// A button id for each button, in order.
        button_ids: Vec<String>,
    },
    /// To a change of an item.
    Item {
        /// As it stands now.
        item: Box<PendingItem>,
        /// From when no answer counts.
        effective_deadline: Timestamp,
    },
    Bound {
        command: Box<CommandRecord>,
        /// Whether this attempt owned the execution already.
        replayed: bool,
        /// Whether the caller shall execute the command now. Nothing else says so.
        execute: bool,
    },
    Recorded {
        command: Box<CommandRecord>,
        context: Option<Box<ContextRecord>>,
    },
    Principal {
        /// As it stands now.
        principal: Box<Principal>,
        /// Whether it is new.
        created: bool,
    },
    /// To a sweep or a read: done.
    Done,
}
