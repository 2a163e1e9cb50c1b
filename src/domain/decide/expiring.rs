//! What is due: deadlines become durable the moment anybody looks under the lock (RFC-WF-0034 VII.C).

use super::{Turn, about_context, about_item};
use crate::domain::context::{ContextRecord, State};
use crate::domain::event::Event;
use crate::domain::id::{ContextId, ConversationId, ItemId};
use crate::domain::item::{ItemState, PendingItem, VoidReason};
use crate::domain::lifecycle::{LifecycleEvent, Status, transition};
use crate::domain::refusal::Refusal;
use crate::domain::time::Timestamp;
use crate::domain::world::is_live;

impl Turn<'_, '_> {
    /// Expires every context and question of a conversation whose deadline has come. At the deadline it is over.
    pub(super) fn expire_due(&mut self, conversation_id: &ConversationId) {
        let due: Vec<ContextRecord> = self
            .world
            .contexts
            .values()
            .filter(|c| c.conversation_id == *conversation_id && c.is_due(self.now))
            .cloned()
            .collect();
        for context in due {
            self.transit(
                &context.context_id,
                LifecycleEvent::DeadlineReached,
                State::Expired { at: self.now },
                context.expires_at,
            );
            self.end_items(&context.context_id, |item| match item.state {
                ItemState::Open => ItemState::Expired { at: item.expires_at.min(context.expires_at) },
                _ => ItemState::voided(context.expires_at, VoidReason::ContextExpired),
            });
        }
        let in_conversation = |item: &&PendingItem| item.conversation_id == *conversation_id && is_live(&item.state);
        let live: Vec<PendingItem> = self.world.items.values().filter(in_conversation).cloned().collect();
        for item in live {
            if self.world.identity_epoch(&item.actor_id) != item.identity_epoch && self.knows(&item) {
                self.settle(&item, ItemState::voided(self.now, VoidReason::IdentityChanged));
            } else if item.is_open() && self.now >= item.expires_at {
                self.settle(&item, ItemState::Expired { at: item.expires_at });
            }
        }
    }

    /// Whether the principal asked has been loaded; an identity that was not looked at proves nothing.
    fn knows(&self, item: &PendingItem) -> bool {
        self.world.principals.contains_key(&item.actor_id)
    }

    /// Gives an item another state and lets its context follow: active and pending mirror the open question.
    pub(super) fn settle(&mut self, item: &PendingItem, state: ItemState) {
        self.settle_with(item, state, None);
    }

    /// As [`Turn::settle`], with the approval that completed it.
    pub(super) fn settle_with(
        &mut self,
        item: &PendingItem,
        state: ItemState,
        decision: Option<crate::domain::item::ApprovalDecision>,
    ) {
        let was_open = item.is_open();
        let mut about = about_item(item);
        if let Some(message_id) = answered_by(&state)
            && !about.message_ids.contains(message_id)
        {
            about.message_ids.push(message_id.clone());
        }
        let event = Event::ItemSettled { item_id: item.item_id.clone(), decision, state };
        self.record_in(&item.conversation_id, about, event);
        if was_open {
            self.question_ended(&item.context_id, &item.item_id);
        }
    }

    fn question_ended(&mut self, context_id: &ContextId, item_id: &ItemId) {
        let Some(context) = self.world.contexts.get(context_id) else { return };
        let (expires_at, open) = (context.expires_at, context.open_items());
        let Some(open) = open.filter(|open| open.iter().any(|id| id == item_id)) else { return };
        match open.without(item_id) {
            Some(rest) => {
                self.transit(context_id, LifecycleEvent::QuestionRemoved, State::Pending(rest), expires_at);
            }
            None => self.transit(context_id, LifecycleEvent::QuestionEnded, State::Active, expires_at),
        }
    }

    /// Ends every open question and unspent grant of a context.
    pub(super) fn end_items(&mut self, context_id: &ContextId, state: impl Fn(&PendingItem) -> ItemState) {
        let live = |item: &&PendingItem| item.context_id == *context_id && is_live(&item.state);
        let items: Vec<PendingItem> = self.world.items.values().filter(live).cloned().collect();
        for item in items {
            let state = state(&item);
            self.settle(&item, state);
        }
    }

    /// Moves a context along a row of the lifecycle table; a row that does not exist changes nothing.
    pub(super) fn try_transit(
        &mut self,
        context_id: &ContextId,
        on: LifecycleEvent,
        to: State,
        expires_at: Timestamp,
    ) -> Result<(), Refusal> {
        let context = self.world.contexts.get(context_id).cloned().ok_or(Refusal::ContextNotFound)?;
        let from = context.state.status();
        let allowed: Status = transition(from, on)?;
        debug_assert_eq!(allowed, to.status(), "the table and the new state agree");
        let event = Event::ContextTransitioned { context_id: context_id.clone(), from, on, to, expires_at };
        self.record_in(&context.conversation_id, about_context(&context), event);
        Ok(())
    }

    /// As [`Turn::try_transit`], where the caller has made sure that the row exists.
    fn transit(&mut self, context_id: &ContextId, on: LifecycleEvent, to: State, expires_at: Timestamp) {
        let moved = self.try_transit(context_id, on, to, expires_at);
        debug_assert!(moved.is_ok(), "the caller knows the row: {moved:?}");
    }
}

fn answered_by(state: &ItemState) -> Option<&crate::domain::id::MessageId> {
    match state {
        ItemState::Granted { by_message, .. }
        | ItemState::Refused { by_message, .. }
        | ItemState::Selected { by_message, .. }
        | ItemState::Spent { by_message, .. }
        | ItemState::Voided { by_message, .. } => by_message.as_ref(),
        ItemState::Open | ItemState::Expired { .. } => None,
    }
}
