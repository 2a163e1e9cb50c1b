//! What one decision may look at, and how events change it. Live and replay use the same [`World::apply`].

mod hearing;
mod people;
mod touched;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::canonical::Digest;
use super::command::{CommandRecord, CommandResult, Execution, ReplacedAttempt, names};
use super::context::ContextRecord;
use super::event::{Event, LastQuestion};
use super::frame::ContextFrame;
use super::id::{
    AttemptId, CommandId, ContextFrameId, ContextId, ConversationId, IdempotencyKey, ItemId, MessageId, PrincipalId,
    TenantId,
};
use super::item::{ApprovalDecision, ItemState, PendingItem, Prompt, Question};
use super::message::MessageRecord;
use super::principal::Principal;
use super::slots;
use super::time::Timestamp;

pub use hearing::MAX_WITHDRAWN;
pub use touched::Touched;

/// What a conversation remembers beyond its contexts and items.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Conversation {
    /// The question heard last, whoever asked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_question: Option<LastQuestion>,
    /// Dedupe keys of messages that were deleted or edited before they arrived here, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<Digest>,
}

/// A frame with the salt of its hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredFrame {
    pub frame: ContextFrame,
    pub salt: Digest,
    /// The hash as it went on the wire.
    pub context_hash: String,
}

/// The state of one tenant, as far as it was loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    pub tenant_id: TenantId,
    /// The tenant's own key for dedupe rows and stored digests.
    pub tenant_key: Digest,
    pub conversations: BTreeMap<ConversationId, Conversation>,
    /// Context records: the open ones of each conversation and those named.
    pub contexts: BTreeMap<ContextId, ContextRecord>,
    /// Pending items: open ones, named ones, and the last one asked in each conversation.
    pub items: BTreeMap<ItemId, PendingItem>,
    /// Commands named by id or idempotency key.
    pub commands: BTreeMap<CommandId, CommandRecord>,
    /// Names of commands that were bound and erased since, see [`super::command::names`].
    pub spent_names: BTreeSet<Digest>,
    /// Attempts named, and the command that each was made for.
    pub attempts: BTreeMap<AttemptId, CommandId>,
    /// Messages named, by dedupe key.
    pub messages: BTreeMap<Digest, MessageRecord>,
    /// Messages named that were erased: only their dedupe key is left.
    pub erased_messages: BTreeSet<Digest>,
    /// Principals named or referred to; where people are counted, also whoever may be the same person as one of them.
    pub principals: BTreeMap<PrincipalId, Principal>,
    /// Whether there are too many of those to look at them all. Then nobody is known to be another person.
    pub people_unknown: bool,
    /// Frames captured since loading.
    pub frames: BTreeMap<ContextFrameId, StoredFrame>,
    /// What has changed since loading.
    pub touched: Touched,
}

impl World {
    #[must_use]
    pub fn new(tenant_id: TenantId, tenant_key: Digest) -> Self {
        Self {
            tenant_id,
            tenant_key,
            conversations: BTreeMap::new(),
            contexts: BTreeMap::new(),
            items: BTreeMap::new(),
            commands: BTreeMap::new(),
            spent_names: BTreeSet::new(),
            attempts: BTreeMap::new(),
            messages: BTreeMap::new(),
            erased_messages: BTreeSet::new(),
            principals: BTreeMap::new(),
            people_unknown: false,
            frames: BTreeMap::new(),
            touched: Touched::default(),
        }
    }

    /// The open context of an actor in a conversation; at most one exists.
    #[must_use]
    pub fn open_context(&self, conversation_id: &ConversationId, actor_id: &PrincipalId) -> Option<&ContextRecord> {
        self.contexts.values().find(|context| {
            context.state.status().is_open()
                && context.conversation_id == *conversation_id
                && context.actor_id == *actor_id
        })
    }

    /// A principal's identity epoch; 0 for one that nobody has registered.
    #[must_use]
    pub fn identity_epoch(&self, principal_id: &PrincipalId) -> u64 {
        self.principals.get(principal_id).map_or(0, |principal| principal.identity_epoch)
    }

    /// Whether a command with this id or this idempotency key was bound before and has been erased since.
    #[must_use]
    pub fn was_bound_and_erased(&self, command_id: &CommandId, idempotency_key: &IdempotencyKey) -> bool {
        !self.spent_names.is_empty()
            && names(&self.tenant_key, command_id, idempotency_key).iter().any(|name| self.spent_names.contains(name))
    }

    /// The item that a button's nonce names.
    #[must_use]
    pub fn item_by_nonce(&self, nonce_digest: &Digest) -> Option<&PendingItem> {
        self.items.values().find(|item| item.nonce_digest.same(nonce_digest))
    }

    /// The item that a quoted prompt names.
    #[must_use]
    pub fn item_by_prompt(&self, message_id: &MessageId) -> Option<&PendingItem> {
        self.items.values().find(|item| item.was_prompted_by(message_id))
    }

    /// From when an item no longer takes an answer: its own deadline, or its context's if that comes first.
    #[must_use]
    pub fn effective_deadline(&self, item: &PendingItem) -> Timestamp {
        self.contexts.get(&item.context_id).map_or(item.expires_at, |context| item.expires_at.min(context.expires_at))
    }

    /// Folds one event into the state.
    pub fn apply(&mut self, at: Timestamp, event: &Event) {
        match event {
            Event::ContextCreated { context } => {
                self.touched.contexts.insert(context.context_id.clone());
                self.contexts.insert(context.context_id.clone(), context.clone());
            }
            Event::ContextTransitioned { context_id, to, expires_at, .. } => {
                self.change_context(context_id, at, |context| {
                    context.state = to.clone();
                    context.expires_at = *expires_at;
                });
            }
            Event::ContextSlotsChanged { context_id, changes, cause } => {
                self.change_context(context_id, at, |context| {
                    set_slots(&mut context.slots, changes);
                    if let Some(cause) = cause {
                        context.trace.last_message_id.clone_from(cause);
                    }
                });
            }
            Event::MessageReceived { message, expires_at, passed_by, withdraws } => {
                self.apply_message(message, *expires_at, passed_by.as_ref(), at);
                if let Some(key) = withdraws {
                    self.remember_withdrawn(&message.conversation_id, *key);
                }
            }
            Event::MessageRegistered { message, question, awaits_reply } => {
                self.apply_registered(message, question.as_ref(), at);
                if *awaits_reply {
                    self.await_reply(message, at);
                }
            }
            Event::ItemAsked { item, slot, heard } => self.apply_asked(item, slot.as_ref(), *heard, at),
            Event::PromptAttached { item_id, prompt, heard } => self.apply_prompt(item_id, prompt, *heard),
            Event::ApprovalGiven { item_id, decision } => {
                self.change_item(item_id, |item| add_approval(item, decision));
            }
            Event::ItemObjected { item_id, actor_id, sent_at } => {
                self.change_item(item_id, |item| item.remember_stopped(actor_id, *sent_at));
            }
            Event::ItemSettled { item_id, state, decision } => {
                self.apply_settled(item_id, state, decision.as_ref(), at);
            }
            Event::FrameCaptured { frame, salt, context_hash } => {
                let stored = StoredFrame { frame: frame.clone(), salt: *salt, context_hash: context_hash.clone() };
                self.touched.frames.insert(frame.context_frame_id.clone());
                self.frames.insert(frame.context_frame_id.clone(), stored);
            }
            Event::CommandBound { command } => {
                self.change_context(&command.context_id, at, |context| {
                    context.trace.last_command_id = Some(command.command_id.clone());
                });
                self.keep_command(command);
            }
            Event::CommandTakenOver { command_id, replaces, attempt_id, report_by, .. } => {
                self.apply_taken_over(command_id, replaces, attempt_id, *report_by, at);
            }
            Event::ResultRecorded { command_id, result, slot, .. } => {
                self.apply_result(command_id, result, slot.as_ref(), at);
            }
            Event::PrincipalChanged { principal, .. } => {
                self.touched.principals.insert(principal.principal_id.clone());
                self.principals.insert(principal.principal_id.clone(), principal.clone());
            }
            Event::CommandRefused { .. } | Event::DecisionRefused { .. } | Event::ReadRecorded { .. } => {}
        }
    }

    fn keep_command(&mut self, command: &CommandRecord) {
        self.touched.commands.insert(command.command_id.clone());
        self.touched.new_commands.insert(command.command_id.clone());
        self.touched.attempts.insert(command.attempt_id.clone());
        // What earlier versions bound with an attempt that had another command already changes nothing about the first.
        self.attempts.entry(command.attempt_id.clone()).or_insert_with(|| command.command_id.clone());
        self.commands.insert(command.command_id.clone(), command.clone());
    }

    fn apply_prompt(&mut self, item_id: &ItemId, prompt: &Prompt, heard: bool) {
        let conversation_id = self.items.get(item_id).map(|item| item.conversation_id.clone());
        if let Some(conversation_id) = conversation_id.filter(|_| heard) {
            self.hear(&conversation_id, LastQuestion::Item(item_id.clone()));
        }
        self.change_item(item_id, |item| match item.prompts.last_mut() {
            Some(last) if last.message_id.is_none() => *last = prompt.clone(),
            Some(_) | None => item.prompts.push(prompt.clone()),
        });
        if let Some(message_id) = &prompt.message_id {
            self.touched.prompts.insert(message_id.clone(), item_id.clone());
        }
    }

    fn apply_asked(&mut self, item: &PendingItem, slot: Option<&Value>, heard: bool, at: Timestamp) {
        if heard {
            self.hear(&item.conversation_id, LastQuestion::Item(item.item_id.clone()));
        }
        if let Some(copy) = slot {
            self.change_context(&item.context_id, at, |context| {
                context.slots.insert(slots::pending_slot(item.kind()).to_owned(), copy.clone());
            });
        }
        self.touched.items.insert(item.item_id.clone());
        self.touched.new_items.insert(item.item_id.clone());
        self.items.insert(item.item_id.clone(), item.clone());
    }

    fn apply_settled(
        &mut self,
        item_id: &ItemId,
        state: &ItemState,
        decision: Option<&ApprovalDecision>,
        at: Timestamp,
    ) {
        self.change_item(item_id, |item| {
            if let Some(decision) = decision {
                add_approval(item, decision);
            }
            item.state = state.clone();
        });
        let name = slots::pending_slot(item_id.kind());
        let context_id = self.items.get(item_id).map(|item| item.context_id.clone());
        // The slot may hold the copy of a newer question by now.
        let shows_it = |copy: &Value| copy.get("item_id").and_then(Value::as_str) == Some(item_id.as_str());
        let holder = context_id
            .filter(|id| self.contexts.get(id).is_some_and(|context| context.slots.get(name).is_some_and(shows_it)));
        if let Some(context_id) = holder {
            self.change_context(&context_id, at, |context| {
                context.slots.remove(name);
            });
        }
    }

    fn apply_result(&mut self, command_id: &CommandId, result: &CommandResult, slot: Option<&Value>, at: Timestamp) {
        let Some(command) = self.commands.get_mut(command_id) else { return };
        command.results.push(result.clone());
        let context_id = command.context_id.clone();
        self.touched.commands.insert(command_id.clone());
        if let Some(copy) = slot {
            self.change_context(&context_id, at, |context| {
                context.slots.insert(slots::LAST_RESULT.to_owned(), copy.clone());
            });
        }
    }

    fn apply_taken_over(
        &mut self,
        command_id: &CommandId,
        replaces: &AttemptId,
        attempt_id: &AttemptId,
        report_by: Timestamp,
        at: Timestamp,
    ) {
        let Some(command) = self.commands.get_mut(command_id) else { return };
        let mut owners = std::mem::take(&mut command.execution.replaced);
        owners.push(ReplacedAttempt { attempt_id: replaces.clone(), replaced_at: at });
        command.execution = Execution { since: at, report_by, results_before: command.results.len(), replaced: owners };
        command.attempt_id = attempt_id.clone();
        self.attempts.entry(attempt_id.clone()).or_insert_with(|| command_id.clone());
        self.touched.attempts.insert(attempt_id.clone());
        self.touched.commands.insert(command_id.clone());
    }

    fn apply_message(
        &mut self,
        message: &MessageRecord,
        expires_at: Option<Timestamp>,
        passed_by: Option<&ItemId>,
        at: Timestamp,
    ) {
        if let (Some(context_id), Some(expires_at)) = (&message.context_id, expires_at) {
            self.change_context(context_id, at, |context| {
                context.expires_at = expires_at;
                message.message_id.as_str().clone_into(&mut context.trace.last_message_id);
                let answered = message.verdict.question_message_id.as_ref();
                context.own_question.take_if(|own| answered == Some(&own.message_id));
            });
        }
        if let Some(item_id) = passed_by {
            self.hear_request(message, item_id);
            self.change_item(item_id, |item| item.unrelated_messages = item.unrelated_messages.saturating_add(1));
        }
        self.keep_message(message);
    }

    fn apply_registered(&mut self, message: &MessageRecord, question: Option<&LastQuestion>, at: Timestamp) {
        if let Some(question) = question {
            self.hear(&message.conversation_id, question.clone());
            if let LastQuestion::Item(item_id) = question {
                let again = Prompt { message_id: None, channel: None, sent_at: None, registered_at: at };
                self.change_item(item_id, |item| item.prompts.push(again));
            }
        }
        self.keep_message(message);
    }

    fn keep_message(&mut self, message: &MessageRecord) {
        self.touched.messages.insert(message.message_key);
        self.messages.insert(message.message_key, message.clone());
    }

    fn change_context(&mut self, context_id: &ContextId, at: Timestamp, change: impl FnOnce(&mut ContextRecord)) {
        if let Some(context) = self.contexts.get_mut(context_id) {
            change(context);
            context.updated_at = at;
            context.revision += 1;
            self.touched.contexts.insert(context_id.clone());
        }
    }

    fn change_item(&mut self, item_id: &ItemId, change: impl FnOnce(&mut PendingItem)) {
        if let Some(item) = self.items.get_mut(item_id) {
            change(item);
            self.touched.items.insert(item_id.clone());
        }
    }
}

fn add_approval(item: &mut PendingItem, decision: &ApprovalDecision) {
    if let Question::Approval { approvals, .. } = &mut item.question {
        approvals.push(decision.clone());
    }
}

fn set_slots(current: &mut slots::Slots, changes: &slots::Slots) {
    for (name, value) in changes {
        if value.is_null() {
            current.remove(name);
        } else {
            current.insert(name.clone(), value.clone());
        }
    }
}

/// Whether an item in this state may still be spent or answered: what voiding has to reach.
#[must_use]
pub fn is_live(state: &ItemState) -> bool {
    matches!(state, ItemState::Open | ItemState::Granted { .. })
}
