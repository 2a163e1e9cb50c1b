//! Opening a context without a message, and moving one on request.

use super::{Turn, slotting};
use crate::domain::context::{BlockedOn, CloseReason, ContextRecord, State};
use crate::domain::id::{CommandId, ContextId};
use crate::domain::item::{ItemState, VoidReason};
use crate::domain::lifecycle::LifecycleEvent;
use crate::domain::operation::{Answer, CredentialKind, Move, OpenContext, Transition};
use crate::domain::refusal::Refusal;

impl Turn<'_, '_> {
    pub(super) fn open_context(&mut self, request: &OpenContext) -> Result<Answer, Refusal> {
        self.expire_due(&request.conversation_id);
        if let Some(open) = self.world.open_context(&request.conversation_id, &request.actor_id) {
            return Err(Refusal::ContextAlreadyOpen { context_id: open.context_id.clone() });
        }
        let extensions = slotting::stored_extensions(self.rules, &self.world.tenant_key, &request.extensions)?;
        let patch = request.slots.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let (conversation_id, actor_id) = (request.conversation_id.clone(), request.actor_id.clone());
        let mut context =
            self.new_context(conversation_id, actor_id, request.cause.clone(), request.correlation_id.clone());
        let stored =
            slotting::stored_form(self.rules, &self.world.tenant_key, &context.slots, &patch, CredentialKind::Handler)?;
        context.slots = stored.into_iter().filter(|(_, value)| !value.is_null()).collect();
        context.extensions = extensions;
        self.record_context(&context);
        self.context_answer(&context.context_id)
    }

    pub(super) fn move_context(&mut self, request: &Transition) -> Result<Answer, Refusal> {
        let context = self.context(&request.context_id)?;
        if request.if_revision.is_some_and(|revision| revision != context.revision) {
            return Err(Refusal::RevisionMismatch { revision: context.revision });
        }
        match request.to {
            Move::Block(on) => self.block(&context, on, None)?,
            Move::Unblock => self.unblock(&context)?,
            Move::Close(reason) => self.close(&context, reason)?,
        }
        self.context_answer(&request.context_id)
    }

    /// Blocks a context: what was open is void, and the deadline becomes the blocked timeout.
    pub(super) fn block(
        &mut self,
        context: &ContextRecord,
        on: BlockedOn,
        by_command: Option<CommandId>,
    ) -> Result<(), Refusal> {
        let timeout = self.rules.policy.pack().context.blocked_timeout_seconds;
        let expires_at = context.within_lifetime(self.now.plus_seconds(timeout));
        let to = State::Blocked { on, since: self.now, by_command };
        self.try_transit(&context.context_id, LifecycleEvent::Block, to, expires_at)?;
        self.void_items(&context.context_id, VoidReason::ContextBlocked);
        Ok(())
    }

    /// Unblocks a context; from now on its ordinary time to live counts again.
    pub(super) fn unblock(&mut self, context: &ContextRecord) -> Result<(), Refusal> {
        let ttl = self.rules.policy.pack().context.ttl_seconds.min(context.ttl_seconds);
        let expires_at = context.within_lifetime(self.now.plus_seconds(ttl));
        self.try_transit(&context.context_id, LifecycleEvent::Unblock, State::Active, expires_at)
    }

    /// Closes a context: what was open is void.
    pub(super) fn close(&mut self, context: &ContextRecord, reason: CloseReason) -> Result<(), Refusal> {
        let to = State::Closed { at: self.now, reason };
        self.try_transit(&context.context_id, LifecycleEvent::Close, to, context.expires_at)?;
        self.void_items(&context.context_id, VoidReason::ContextClosed);
        Ok(())
    }

    /// Voids every open question and unspent grant of a context.
    pub(super) fn void_items(&mut self, context_id: &ContextId, reason: VoidReason) {
        let at = self.now;
        self.end_items(context_id, |_| ItemState::voided(at, reason));
    }
}
