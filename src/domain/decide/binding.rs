//! Binding: may this command run, now, exactly so? (RFC-WF-0034 VIII)
//!
//! What policy demands was given by the right person, is unspent, in time, and says the same command, key and
//! target. Then it is spent, the context is frozen, and nobody else gets the same answer.

use super::asking::recomputed;
use super::granting::{Grants, items_of};
use super::{Turn, about_context, fingerprint_of, usable};
use crate::domain::canonical::{Digest, Purpose, canonical, keyed};
use crate::domain::command::{CommandRecord, Execution};
use crate::domain::context::ContextRecord;
use crate::domain::event::{About, BindRefusal, Event};
use crate::domain::frame::{ContextFrame, FRAME_VERSION};
use crate::domain::id::{ItemId, MessageId};
use crate::domain::item::{ItemState, PendingItem, TargetFingerprint, VoidReason};
use crate::domain::operation::{Answer, Bind, CommandSpec, Envelope};
use crate::domain::policy::CommandRules;
use crate::domain::refusal::Refusal;
use crate::domain::world::is_live;

impl Turn<'_, '_> {
    pub(super) fn bind(&mut self, request: &Bind) -> Result<Answer, Refusal> {
        let context = self.context(&request.context_id)?;
        if let Some(bound) = self.world.commands.get(&request.command.command_id).cloned() {
            return self.bind_again(&context, request, &bound);
        }
        let key_taken =
            self.world.commands.values().any(|command| command.idempotency_key == request.command.idempotency_key);
        if key_taken {
            return self.refuse(&context, request, BindRefusal::IdempotencyKeyTaken, Refusal::CommandConflict);
        }
        if self.world.was_bound_and_erased(&request.command.command_id, &request.command.idempotency_key) {
            return self.refuse(&context, request, BindRefusal::CommandErased, Refusal::CommandErased);
        }
        if self.world.attempts.get(&request.attempt_id).is_some_and(|of| *of != request.command.command_id) {
            return self.refuse(&context, request, BindRefusal::AttemptReused, Refusal::AttemptIdReused);
        }
        usable(&context)?;
        let message_ids = self.known_messages(&context, request)?;
        let rules = self.rules_for(request);
        let grants = match self.grants(request, &context, &rules) {
            Ok(grants) => grants,
            Err((reason, refusal)) => return self.refuse(&context, request, reason, refusal),
        };
        let fingerprint = self.own_fingerprint(request, &grants, &rules)?;
        Ok(self.spend(&context, request, rules, &grants, fingerprint, message_ids))
    }

    fn refuse(
        &mut self,
        context: &ContextRecord,
        request: &Bind,
        reason: BindRefusal,
        refusal: Refusal,
    ) -> Result<Answer, Refusal> {
        let about = About {
            command_id: Some(request.command.command_id.clone()),
            correlation_id: request.correlation_id.clone().or_else(|| context.trace.correlation_id.clone()),
            message_ids: request.message_ids.iter().map(|(id, _)| id.clone()).collect(),
            ..about_context(context)
        };
        let event = Event::CommandRefused {
            context_id: context.context_id.clone(),
            command_id: request.command.command_id.clone(),
            attempt_id: request.attempt_id.clone(),
            reason,
        };
        self.record_in(&context.conversation_id, about, event);
        Err(refusal)
    }

    /// The same attempt with the same content replays; everything else is a double spend or a conflict.
    fn bind_again(
        &mut self,
        context: &ContextRecord,
        request: &Bind,
        bound: &CommandRecord,
    ) -> Result<Answer, Refusal> {
        if bound.attempt_id != request.attempt_id {
            let (execution, report_by) = (bound.execution_state(self.now), bound.execution.report_by);
            let refusal = Refusal::AlreadyBound { execution, report_by };
            return self.refuse(context, request, BindRefusal::AlreadyBound, refusal);
        }
        let same = bound.context_id == request.context_id
            && bound.context_pack == request.context_pack
            && Self::says_the_same(&request.command, &request.envelope, bound);
        if !same {
            return self.refuse(context, request, BindRefusal::CommandConflict, Refusal::CommandConflict);
        }
        Ok(self.bound_answer(bound, &request.attempt_id, true))
    }

    /// Whether a command and its envelope are what was bound.
    pub(super) fn says_the_same(command: &CommandSpec, envelope: &Envelope, bound: &CommandRecord) -> bool {
        bound.name == command.name
            && bound.idempotency_key == command.idempotency_key
            && bound.envelope_digest.same(&envelope_digest(&bound.fingerprint.key, envelope))
            && same_target(command, bound)
    }

    /// The messages that shaped the command must be messages of this conversation.
    fn known_messages(&self, context: &ContextRecord, request: &Bind) -> Result<Vec<MessageId>, Refusal> {
        let known =
            |key: &Digest| self.world.messages.get(key).is_some_and(|m| m.conversation_id == context.conversation_id);
        match request.message_ids.iter().position(|(_, key)| !known(key)) {
            Some(index) => Err(Refusal::UnknownMessage { index }),
            None => Ok(request.message_ids.iter().map(|(id, _)| id.clone()).collect()),
        }
    }

    /// The stricter of what policy demands now and what it demanded when this command's questions were asked.
    fn rules_for(&self, request: &Bind) -> CommandRules {
        let today = self.rules.policy.command(request.command.name.as_str(), request.command.raised_class);
        // Wherever it was asked: a question in another context raised the class of this command as well.
        let command_id = &request.command.command_id;
        let asked = self.world.items.values().filter_map(PendingItem::command);
        asked
            .filter(|command| command.command_id == *command_id)
            .filter(|command| command.name == request.command.name)
            .fold(today, |rules, command| rules.stricter(&command.rules))
    }

    /// The fingerprint kept with the command: the confirmation's own, or a fresh one where none was asked.
    fn own_fingerprint(
        &mut self,
        request: &Bind,
        grants: &Grants,
        rules: &CommandRules,
    ) -> Result<TargetFingerprint, Refusal> {
        if let Some(command) = grants.spent() {
            return Ok(command.fingerprint.clone());
        }
        let key = self.ids.secret();
        let (value, origin) = fingerprint_of(&key, &request.command, rules)?;
        Ok(TargetFingerprint { value, origin, key })
    }

    fn spend(
        &mut self,
        context: &ContextRecord,
        request: &Bind,
        rules: CommandRules,
        grants: &Grants,
        fingerprint: TargetFingerprint,
        mut message_ids: Vec<MessageId>,
    ) -> Answer {
        for item in [&grants.confirmation, &grants.approval].into_iter().flatten() {
            let by_message = match &item.state {
                ItemState::Granted { by_message, .. } => by_message.clone(),
                _ => None,
            };
            if let Some(answer) = by_message.as_ref().filter(|id| !message_ids.contains(id)) {
                message_ids.push(answer.clone());
            }
            self.settle(item, ItemState::Spent { at: self.now, by_message, attempt_id: request.attempt_id.clone() });
        }
        let message_ids = self.messages_or_the_last(context, message_ids);
        self.end_the_rest(context, request);
        let confirmation_id = grants.confirmation.as_ref().map(|item| item.item_id.clone());
        let approval_id = grants.approval.as_ref().map(|item| item.item_id.clone());
        let asked_under = grants.spent().map_or(&rules, |command| &command.rules);
        let immaterial_fields = asked_under.immaterial_fields.clone();
        let (frame, context_hash) =
            self.freeze(context, request, &message_ids, (confirmation_id.clone(), approval_id.clone()), &rules);
        let command = CommandRecord {
            command_id: request.command.command_id.clone(),
            name: request.command.name.clone(),
            class: rules.class,
            idempotency_key: request.command.idempotency_key.clone(),
            attempt_id: request.attempt_id.clone(),
            execution: Execution {
                since: self.now,
                report_by: self.now.plus_seconds(rules.report_within_seconds),
                ..Execution::default()
            },
            context_id: context.context_id.clone(),
            conversation_id: context.conversation_id.clone(),
            actor_id: context.actor_id.clone(),
            message_ids,
            envelope_digest: envelope_digest(&fingerprint.key, &request.envelope),
            fingerprint,
            immaterial_fields,
            material_fields: Vec::new(),
            confirmation_id,
            approval_id,
            context_pack: request.context_pack.clone(),
            context_frame_id: frame.context_frame_id.clone(),
            context_hash,
            context_expires_at: frame.expires_at,
            correlation_id: frame.correlation_id.clone(),
            bound_at: self.now,
            results: Vec::new(),
            policy: rules.policy,
        };
        let event = Event::CommandBound { command: command.clone() };
        self.record_in(&context.conversation_id, about_command(&command), event);
        self.bound_answer(&command, &request.attempt_id, false)
    }

    /// The messages that led to the command, as evidence (RFC VIII.A): those that the caller named and those that
    /// answered, or, where there are none, what touched the context last.
    fn messages_or_the_last(&self, context: &ContextRecord, message_ids: Vec<MessageId>) -> Vec<MessageId> {
        if !message_ids.is_empty() {
            return message_ids;
        }
        let context = self.world.contexts.get(&context.context_id).unwrap_or(context);
        MessageId::new(context.trace.last_message_id.clone()).into_iter().collect()
    }

    /// Whatever else is open or granted for this command has nothing left to decide.
    fn end_the_rest(&mut self, context: &ContextRecord, request: &Bind) {
        let rest = items_of(self.world, context, request).filter(|item| is_live(&item.state));
        let rest: Vec<PendingItem> = rest.cloned().collect();
        for item in rest {
            self.settle(&item, ItemState::voided(self.now, VoidReason::CommandEnded));
        }
    }

    /// Snapshot-on-execute (RFC VIII.A): the context as it stands, with the messages that led here.
    fn freeze(
        &mut self,
        context: &ContextRecord,
        request: &Bind,
        message_ids: &[MessageId],
        spent: (Option<ItemId>, Option<ItemId>),
        rules: &CommandRules,
    ) -> (ContextFrame, String) {
        let context = self.world.contexts.get(&context.context_id).unwrap_or(context).clone();
        let frame = ContextFrame {
            v: FRAME_VERSION,
            context_frame_id: self.ids.frame(),
            context_id: context.context_id.clone(),
            tenant_id: context.tenant_id.clone(),
            conversation_id: context.conversation_id.clone(),
            actor_id: context.actor_id.clone(),
            status: context.state.status(),
            revision: context.revision,
            slots: context.slots.clone(),
            message_ids: message_ids.to_vec(),
            command_id: request.command.command_id.clone(),
            context_pack: request.context_pack.clone(),
            confirmation_id: spent.0,
            approval_id: spent.1,
            correlation_id: request.correlation_id.clone().or_else(|| context.trace.correlation_id.clone()),
            expires_at: context.expires_at,
            created_at: self.now,
            policy: rules.policy.clone(),
        };
        let salt = self.ids.secret();
        let context_hash = frame.context_hash(&salt);
        let about = About {
            command_id: Some(request.command.command_id.clone()),
            message_ids: message_ids.to_vec(),
            correlation_id: frame.correlation_id.clone(),
            ..about_context(&context)
        };
        let event = Event::FrameCaptured { frame: frame.clone(), salt, context_hash: context_hash.clone() };
        self.record_in(&context.conversation_id, about, event);
        (frame, context_hash)
    }
}

/// Whether a repetition has the target that was bound. Held against what was recorded then: stricter rules of today do
/// not turn a repetition into a conflict. A fingerprint over a list of fields alone cannot tell, so it never says yes.
fn same_target(command: &CommandSpec, bound: &CommandRecord) -> bool {
    let made = recomputed(&bound.fingerprint.key, command, &bound.immaterial_fields);
    !bound.covers_a_list_only() && made == (bound.fingerprint.value.clone(), bound.fingerprint.origin)
}

fn envelope_digest(key: &Digest, envelope: &Envelope) -> Digest {
    match envelope {
        Envelope::Clear(value) => keyed(key, Purpose::Envelope, &canonical(value)),
        Envelope::Digest(digest) => keyed(key, Purpose::Envelope, digest.as_bytes()),
    }
}

/// What an event about a bound command is about.
pub(super) fn about_command(command: &CommandRecord) -> About {
    About {
        actor_id: Some(command.actor_id.clone()),
        context_id: Some(command.context_id.clone()),
        command_id: Some(command.command_id.clone()),
        correlation_id: command.correlation_id.clone(),
        message_ids: command.message_ids.clone(),
        ..About::default()
    }
}
