//! Which rows a decision has changed or made.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::canonical::Digest;
use crate::domain::id::{
    AttemptId, CommandId, ContextFrameId, ContextId, ConversationId, ItemId, MessageId, PrincipalId,
};

/// What events have changed, so that storage writes those rows and no others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    pub conversations: BTreeSet<ConversationId>,
    pub contexts: BTreeSet<ContextId>,
    pub items: BTreeSet<ItemId>,
    /// Pending items among them that were not there before.
    pub new_items: BTreeSet<ItemId>,
    /// Messages that have become prompts, with the items that they asked.
    pub prompts: BTreeMap<MessageId, ItemId>,
    pub commands: BTreeSet<CommandId>,
    /// Commands among them that were not there before.
    pub new_commands: BTreeSet<CommandId>,
    /// Attempts that have bound a command.
    pub attempts: BTreeSet<AttemptId>,
    /// Messages, by dedupe key. A message is never changed, so all of them are new.
    pub messages: BTreeSet<Digest>,
    pub principals: BTreeSet<PrincipalId>,
    /// Frames. A frame is never changed, so all of them are new.
    pub frames: BTreeSet<ContextFrameId>,
}
