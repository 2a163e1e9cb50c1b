//! What is remembered of messages beyond the messages themselves: which question was heard last, whose answer the caller waits for,
//! what was deleted before it arrived.

use super::World;
use crate::domain::canonical::Digest;
use crate::domain::context::OwnQuestion;
use crate::domain::event::LastQuestion;
use crate::domain::id::{ConversationId, ItemId};
use crate::domain::message::MessageRecord;
use crate::domain::time::Timestamp;
use crate::domain::verdict::Reason;

/// How many messages a conversation remembers that were deleted or edited before they arrived. Channels deliver a message
/// and its deletion seconds apart, in either order.
pub const MAX_WITHDRAWN: usize = 32;

impl World {
    pub(super) fn remember_withdrawn(&mut self, conversation_id: &ConversationId, key: Digest) {
        self.touched.conversations.insert(conversation_id.clone());
        let withdrawn = &mut self.conversations.entry(conversation_id.clone()).or_default().withdrawn;
        withdrawn.push(key);
        let excess = withdrawn.len().saturating_sub(MAX_WITHDRAWN);
        withdrawn.drain(..excess);
    }

    /// Nobody is shown the question with the context, so its revision stays.
    pub(super) fn await_reply(&mut self, message: &MessageRecord, at: Timestamp) {
        let context = message.context_id.as_ref().and_then(|id| self.contexts.get_mut(id));
        let Some(context) = context else { return };
        context.own_question = Some(OwnQuestion { message_id: message.message_id.clone(), asked_at: at });
        self.touched.contexts.insert(context.context_id.clone());
    }

    /// A request of the person's own comes between the question heard last and a bare answer to it.
    pub(super) fn hear_request(&mut self, message: &MessageRecord, passed_by: &ItemId) {
        let heard = self.conversations.get(&message.conversation_id).and_then(|heard| heard.last_question.as_ref());
        let is_between = heard == Some(&LastQuestion::Item(passed_by.clone()));
        if is_between && message.verdict.reason == Reason::NewRequest {
            self.hear(&message.conversation_id, LastQuestion::Other);
        }
    }

    pub(super) fn hear(&mut self, conversation_id: &ConversationId, question: LastQuestion) {
        self.touched.conversations.insert(conversation_id.clone());
        self.conversations.entry(conversation_id.clone()).or_default().last_question = Some(question);
    }
}
