//! The turn: one message in, one verdict out.

use super::answering::entitled;
use super::{Turn, about_context, about_item, at_present, interpret, slotting};
use crate::domain::canonical::Digest;
use crate::domain::context::{BlockedOn, ContextRecord, State};
use crate::domain::event::{About, Event, LastQuestion, StreamKey};
use crate::domain::id::{ContextId, ConversationId, CorrelationId, ItemId, PrincipalId};
use crate::domain::item::{ItemState, MAX_PROMPTS, PendingItem, VoidReason};
use crate::domain::lexicon::Reading;
use crate::domain::lifecycle::Status;
use crate::domain::message::{Direction, MessageEvent, MessageKind, MessageRecord, message_key};
use crate::domain::operation::Answer;
use crate::domain::refusal::Refusal;
use crate::domain::time::Timestamp;
use crate::domain::verdict::{Next, Reason, Verdict, VerdictCode};
use crate::domain::world::is_live;

impl Turn<'_, '_> {
    pub(super) fn ingest(&mut self, message: &MessageEvent) -> Result<Answer, Refusal> {
        let key = message_key(&self.world.tenant_key, &message.channel, &message.message_id);
        if self.world.erased_messages.contains(&key) {
            // Delivered once more. Nothing is known of it any more, and nothing may come of it.
            let verdict = Verdict::plain(VerdictCode::Ignored, Reason::Erased, Next::Nothing);
            return Ok(Answer::Turn { reading: Reading::Other, item: None, context: None, verdict, duplicate: true });
        }
        if let Some(earlier) = self.world.messages.get(&key) {
            if !earlier.body_digest.same(&message.body_digest) {
                return Err(Refusal::MessageIdReused);
            }
            let (verdict, context_id) = (earlier.verdict.clone(), earlier.context_id.clone());
            let reading = earlier.reading.clone();
            self.expire_conversations(message);
            return Ok(self.turn_answer(message, reading, verdict, context_id.as_ref(), true));
        }
        let extensions = slotting::stored_extensions(self.rules, &self.world.tenant_key, &message.extensions)?;
        let message = &MessageEvent { extensions, ..message.clone() };
        self.expire_conversations(message);
        match message.direction {
            Direction::Outbound => self.register(message, key),
            Direction::Inbound => Ok(self.receive(message, key)),
        }
    }

    /// Expires what is due here and in the conversation of an item that the message names.
    fn expire_conversations(&mut self, message: &MessageEvent) {
        self.expire_due(&message.conversation_id);
        let elsewhere: Vec<ConversationId> = self
            .world
            .items
            .values()
            .filter(|item| item.conversation_id != message.conversation_id && names(message, item))
            .map(|item| item.conversation_id.clone())
            .collect();
        for conversation_id in elsewhere {
            self.expire_due(&conversation_id);
        }
    }

    fn receive(&mut self, message: &MessageEvent, key: Digest) -> Answer {
        let read = interpret(self.world, message, self.rules, self.now);
        let verdict = self.unless_withdrawn(message, key, read.verdict);
        let verdict = self.unless_handed_over(message, verdict);
        if message.kind == MessageKind::System {
            self.identity_news(message);
        }
        let context = self.context_for(message, &verdict);
        let passed_by = self.passed_by(message, &verdict);
        let expires_at = context.as_ref().map(|context| self.after_activity(context, verdict.code));
        let context_id = context.map(|context| context.context_id);
        let event = Event::MessageReceived {
            message: self.kept(message, key, read.reading.clone(), verdict.clone(), context_id.clone()),
            expires_at,
            passed_by: passed_by.clone(),
            withdraws: self.withdraws_unknown(message),
        };
        self.record_message(message, context_id.as_ref(), event);
        self.answer_item(message, &verdict, read.option, &read.taken_back);
        self.remember_objections(message, &read.stopped_before);
        if let Some(item_id) = passed_by {
            self.give_up(&item_id);
        }
        self.turn_answer(message, read.reading, verdict, context_id.as_ref(), false)
    }

    /// A yes binds to nothing for certain that its sender deleted or edited before it arrived here, or that arrived after
    /// words against it which were sent later.
    fn unless_withdrawn(&self, message: &MessageEvent, key: Digest, verdict: Verdict) -> Verdict {
        let starts = matches!(verdict.code, VerdictCode::Confirmed | VerdictCode::Selected | VerdictCode::Approved);
        let conversation = self.world.conversations.get(&message.conversation_id);
        let withdrawn = conversation.is_some_and(|conversation| conversation.withdrawn.contains(&key));
        let item = verdict.item_id.as_ref().and_then(|id| self.world.items.get(id));
        // Of a message from the future nobody knows when it was sent: words against it count as the later ones.
        // What is tolerated of clocks lets a yes count; it lets no yes count against a stop.
        let is_timed = message.sent_at <= self.now;
        let sent_at = if is_timed { message.sent_at } else { Timestamp::from_micros(i64::MIN) };
        let stopped = item.is_some_and(|item| item.was_stopped_after(&message.actor_id, sent_at));
        match &verdict.item_id {
            Some(item_id) if starts && (withdrawn || stopped) => {
                Verdict::about(VerdictCode::Ambiguous, Reason::TakenBack, Next::AskAgain, item_id)
            }
            _ => verdict,
        }
    }

    /// In a context that waits for an operator the handler stays silent, whatever the message means. An approver's answer to an
    /// item of another context is still acted upon there.
    fn unless_handed_over(&self, message: &MessageEvent, verdict: Verdict) -> Verdict {
        let Some(context) = self.world.open_context(&message.conversation_id, &message.actor_id) else {
            return verdict;
        };
        let handed_over = matches!(context.state, State::Blocked { on: BlockedOn::Operator, .. });
        let item = verdict.item_id.as_ref().and_then(|id| self.world.items.get(id));
        let elsewhere = item.is_some_and(|item| item.context_id != context.context_id);
        if handed_over && !(elsewhere && verdict.code.is_acceptance()) {
            return Verdict { next: Next::LeaveToOperator, ..verdict };
        }
        verdict
    }

    /// The dedupe key of the message that this one deletes or edits, if that one has not arrived yet.
    fn withdraws_unknown(&self, message: &MessageEvent) -> Option<Digest> {
        let key = message_key(&self.world.tenant_key, &message.channel, message.withdrawn_id()?);
        let conversation = self.world.conversations.get(&message.conversation_id);
        let is_known = conversation.is_some_and(|conversation| conversation.withdrawn.contains(&key));
        (!is_known && !self.world.messages.contains_key(&key)).then_some(key)
    }

    /// What the message says against answering an item that is still open.
    fn remember_objections(&mut self, message: &MessageEvent, item_ids: &[ItemId]) {
        for item_id in item_ids {
            let Some(item) = self.world.items.get(item_id).filter(|item| item.is_open()).cloned() else { continue };
            let about = About { message_ids: vec![message.message_id.clone()], ..about_item(&item) };
            let event = Event::ItemObjected {
                item_id: item_id.clone(),
                actor_id: message.actor_id.clone(),
                sent_at: message.sent_at,
            };
            self.record_in(&item.conversation_id, about, event);
        }
    }

    fn record_message(&mut self, message: &MessageEvent, context_id: Option<&ContextId>, event: Event) {
        let about = About {
            actor_id: Some(message.actor_id.clone()),
            context_id: context_id.cloned(),
            message_ids: vec![message.message_id.clone()],
            correlation_id: message.correlation_id.clone(),
            ..About::default()
        };
        self.record_in(&message.conversation_id, about, event);
    }

    /// The actor's open context; an ordinary message opens one where there is none. Nothing is inherited.
    fn context_for(&mut self, message: &MessageEvent, verdict: &Verdict) -> Option<ContextRecord> {
        if let Some(context) = self.world.open_context(&message.conversation_id, &message.actor_id) {
            return Some(context.clone());
        }
        if verdict.code != VerdictCode::NotAnAnswer {
            return None;
        }
        let (actor, cause) = (message.actor_id.clone(), message.message_id.as_str().to_owned());
        let context = self.new_context(message.conversation_id.clone(), actor, cause, message.correlation_id.clone());
        self.record_context(&context);
        Some(context)
    }

    /// A fresh record with empty slots under the rules in force.
    pub(super) fn new_context(
        &mut self,
        conversation_id: ConversationId,
        actor_id: PrincipalId,
        cause: String,
        correlation_id: Option<CorrelationId>,
    ) -> ContextRecord {
        let rules = &self.rules.policy.pack().context;
        let absolute = rules.max_lifetime_seconds.map(|seconds| self.now.plus_seconds(seconds));
        let deadline = self.now.plus_seconds(rules.ttl_seconds);
        ContextRecord {
            context_id: self.ids.context(),
            tenant_id: self.world.tenant_id.clone(),
            conversation_id,
            actor_id,
            state: State::Active,
            created_at: self.now,
            updated_at: self.now,
            expires_at: absolute.map_or(deadline, |last| last.min(deadline)),
            absolute_expires_at: absolute,
            ttl_seconds: rules.ttl_seconds,
            slots: std::collections::BTreeMap::new(),
            own_question: None,
            trace: crate::domain::context::Trace { last_message_id: cause, last_command_id: None, correlation_id },
            revision: 1,
            policy: self.rules.policy.reference().clone(),
            extensions: serde_json::Map::new(),
        }
    }

    pub(super) fn record_context(&mut self, context: &ContextRecord) {
        let event = Event::ContextCreated { context: context.clone() };
        self.record_in(&context.conversation_id, about_context(context), event);
    }

    /// Ordinary messages and accepted answers slide the deadline; anything unsure leaves it alone, and a blocked
    /// context waits for its own timeout.
    fn after_activity(&self, context: &ContextRecord, code: VerdictCode) -> Timestamp {
        let counts = code == VerdictCode::NotAnAnswer || code.is_acceptance();
        match context.state.status() {
            Status::Active | Status::Pending if counts => {
                context.extended(self.now, self.rules.policy.pack().context.ttl_seconds)
            }
            Status::Active | Status::Pending | Status::Blocked | Status::Expired | Status::Closed => context.expires_at,
        }
    }

    fn passed_by(&self, message: &MessageEvent, verdict: &Verdict) -> Option<ItemId> {
        let ordinary = verdict.code == VerdictCode::NotAnAnswer;
        let context = self.world.open_context(&message.conversation_id, &message.actor_id)?;
        context.question().filter(|_| ordinary).cloned()
    }

    /// Policy may give a question up after so many messages that were no answer.
    fn give_up(&mut self, item_id: &ItemId) {
        let limit = self.rules.policy.pack().context.void_question_after_unrelated_messages;
        let Some(item) = self.world.items.get(item_id).cloned() else { return };
        if limit.is_some_and(|limit| item.unrelated_messages >= limit) {
            self.settle(&item, ItemState::voided(self.now, VoidReason::Unanswered));
        }
    }

    /// News about the person: the epoch rises, and what was asked of the earlier identity is void.
    fn identity_news(&mut self, message: &MessageEvent) {
        let principal = self.changed_identity(&message.actor_id, message.system.as_ref());
        let about = About {
            actor_id: Some(message.actor_id.clone()),
            message_ids: vec![message.message_id.clone()],
            ..About::default()
        };
        let event = Event::PrincipalChanged { principal, identity_changed: true };
        self.record(StreamKey::Principal(message.actor_id.clone()), about, event);
        let asked = |item: &&PendingItem| {
            item.actor_id == message.actor_id && item.conversation_id == message.conversation_id && is_live(&item.state)
        };
        let items: Vec<PendingItem> = self.world.items.values().filter(asked).cloned().collect();
        for item in items {
            self.settle(&item, ItemState::voided(self.now, VoidReason::IdentityChanged));
        }
    }

    /// Registers an outbound message before it is sent. From now on it is the question heard last, if it asks one.
    fn register(&mut self, message: &MessageEvent, key: Digest) -> Result<Answer, Refusal> {
        let question = match &message.prompt_for {
            Some(item_id) => {
                let item = self.world.items.get(item_id).ok_or(Refusal::ItemNotFound)?;
                if !item.is_open() {
                    return Err(Refusal::ItemNotOpen { state: item.state_word().to_owned() });
                }
                if item.conversation_id != message.conversation_id {
                    return Err(Refusal::ItemNotFound);
                }
                if item.prompts.len() >= MAX_PROMPTS {
                    return Err(Refusal::TooManyPrompts);
                }
                Some(LastQuestion::Item(item_id.clone()))
            }
            None => message.expects_reply.then_some(LastQuestion::Other),
        };
        let reason = match &question {
            Some(LastQuestion::Item(_)) => Reason::PromptRegistered,
            Some(LastQuestion::Other) => Reason::QuestionRegistered,
            None => Reason::StatementRegistered,
        };
        let mut verdict = Verdict::plain(VerdictCode::Registered, reason, Next::Send);
        verdict.item_id.clone_from(&message.prompt_for);
        let context_id =
            self.world.open_context(&message.conversation_id, &message.actor_id).map(|c| c.context_id.clone());
        let record = self.kept(message, key, Reading::Other, verdict.clone(), context_id.clone());
        let awaits_reply = question == Some(LastQuestion::Other) && context_id.is_some();
        let event = Event::MessageRegistered { message: record, question, awaits_reply };
        self.record_message(message, context_id.as_ref(), event);
        Ok(self.turn_answer(message, Reading::Other, verdict, context_id.as_ref(), false))
    }

    /// Whether the item is this actor's business: asked of it here, put again here, or its to approve.
    fn concerns(&self, item: &PendingItem, message: &MessageEvent) -> bool {
        message.direction == Direction::Outbound
            || (item.actor_id == message.actor_id && item.conversation_id == message.conversation_id)
            || entitled(self.world, item, &message.actor_id).is_some()
    }

    /// The answer: the verdict with its item and context as they stand now.
    fn turn_answer(
        &self,
        message: &MessageEvent,
        reading: Reading,
        verdict: Verdict,
        context_id: Option<&ContextId>,
        duplicate: bool,
    ) -> Answer {
        let item = verdict.item_id.as_ref().and_then(|id| self.world.items.get(id));
        let shown = |item: &&PendingItem| !verdict.is_about_stranger() && self.concerns(item, message);
        let context = context_id
            .and_then(|id| self.world.contexts.get(id))
            .or_else(|| self.world.open_context(&message.conversation_id, &message.actor_id));
        Answer::Turn {
            reading,
            item: item.filter(shown).map(|item| Box::new(at_present(self.world, item))),
            context: context.cloned().map(Box::new),
            verdict,
            duplicate,
        }
    }

    /// What is kept of a message, and for how long.
    fn kept(
        &self,
        message: &MessageEvent,
        key: Digest,
        reading: Reading,
        verdict: Verdict,
        context_id: Option<ContextId>,
    ) -> MessageRecord {
        let days = self.rules.policy.pack().retention.message_days;
        MessageRecord {
            message_key: key,
            message_id: message.message_id.clone(),
            channel: message.channel.clone(),
            conversation_id: message.conversation_id.clone(),
            actor_id: message.actor_id.clone(),
            direction: message.direction,
            kind: message.kind,
            sent_at: message.sent_at,
            received_at: self.now,
            keep_until: self.now.plus_seconds(days.saturating_mul(24 * 60 * 60)),
            body_digest: message.body_digest,
            content_digest: message.content_digest,
            content_salt: message.content_salt,
            reading,
            verdict,
            context_id,
            extensions: message.extensions.clone(),
        }
    }
}

/// Whether a message names an item: by its nonce, by its prompt, by asking it again, or by deleting or editing the
/// message that answered it.
fn names(message: &MessageEvent, item: &PendingItem) -> bool {
    let tapped = message.button_id.as_deref().and_then(crate::domain::prompt::read_button_id);
    tapped.is_some_and(|button| button.nonce_digest.same(&item.nonce_digest))
        || message.reply_to.as_ref().is_some_and(|id| item.was_prompted_by(id))
        || message.prompt_for.as_ref() == Some(&item.item_id)
        || message.withdrawn_id().is_some_and(|id| item.was_granted_by(id))
}
