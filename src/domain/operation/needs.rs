//! What an operation names before it is decided: what is to be locked and loaded.

use crate::domain::canonical::Digest;
use crate::domain::event::StreamKey;
use crate::domain::id::{AttemptId, CommandId, ContextId, IdempotencyKey, ItemId, MessageId, PrincipalId};

/// How a pending item is named before it is known which conversation it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemRef {
    Id(ItemId),
    /// By a button's nonce.
    Nonce(Digest),
    /// By a quoted prompt.
    Prompt(MessageId),
    /// By the message whose verdict was about it, named by its dedupe key.
    AnsweredBy(Digest),
}

/// What has to be locked and loaded before an operation is decided.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Streams known by key: locked.
    pub streams: Vec<StreamKey>,
    /// A context whose conversation is locked too.
    pub context: Option<ContextId>,
    /// Items whose conversations are locked too.
    pub items: Vec<ItemRef>,
    /// Items that are only looked at, to tell whether two names mean one thing.
    pub seen: Vec<ItemRef>,
    /// A command to load, by id; its conversation is locked too where `lock_command` says so.
    pub command: Option<CommandId>,
    /// Whether the command names the conversation to lock.
    pub lock_command: bool,
    /// A command to load by its idempotency key.
    pub idempotency_key: Option<IdempotencyKey>,
    /// The names of a command ([`crate::domain::command::names`]): locked, and looked up among those of erased commands.
    pub names: Vec<Digest>,
    /// An attempt to look up: which command it was made for.
    pub attempt: Option<AttemptId>,
    /// Messages to load, by dedupe key.
    pub messages: Vec<Digest>,
    pub principals: Vec<PrincipalId>,
}
