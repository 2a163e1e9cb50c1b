//! The decision: operation and state in, events and answer out.
//!
//! Everything here runs under the stream's lock. A decision applies its own events as it goes, so after it the
//! world is exactly what folding [`Decision::events`] over the earlier world gives.

mod answering;
mod approving;
mod asking;
mod bare;
mod binding;
mod expiring;
mod granting;
mod ingesting;
mod interpreting;
mod items;
mod moving;
mod needs;
mod registering;
mod resulting;
mod slotting;
mod taking_back;
mod taking_over;

use super::context::ContextRecord;
use super::event::{About, Event, Recorded, StreamKey};
use super::id::{ContextId, ConversationId, Ids, ItemId};
use super::item::PendingItem;
use super::lexicon::Lexicon;
use super::lifecycle::Status;
use super::operation::{Answer, Operation};
use super::policy::PolicyView;
use super::refusal::Refusal;
use super::time::Timestamp;
use super::world::World;

pub use answering::at_present;
pub use asking::{fingerprint_of, slot_copy};
pub use interpreting::{Interpretation, interpret};
pub use resulting::result_copy;

/// The rules in force for one tenant.
#[derive(Debug)]
pub struct Rules<'a> {
    pub policy: PolicyView<'a>,
    /// What reads as a yes or a no there.
    pub lexicon: &'a Lexicon,
}

/// What was decided. A refusal can carry events too: a mismatch or a double spend is evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What happened, in order.
    pub events: Vec<Recorded>,
    /// The answer, or why not.
    pub result: Result<Answer, Refusal>,
}

/// Decides one operation.
///
/// `world` must hold what [`Operation::needs`] names, loaded under the lock; `now` must have been read under the
/// lock and be no earlier than the stream's last entry.
pub fn decide(
    world: &mut World,
    operation: &Operation,
    rules: &Rules<'_>,
    now: Timestamp,
    ids: &mut Ids<'_>,
) -> Decision {
    let mut turn = Turn { world, rules, now, ids, events: Vec::new() };
    let result = match operation {
        Operation::Ingest(message) => turn.ingest(message),
        Operation::OpenContext(request) => turn.open_context(request),
        Operation::ChangeSlots(request) => turn.change_slots(request),
        Operation::Transition(request) => turn.move_context(request),
        Operation::Ask(request) => turn.ask(request),
        Operation::AttachPrompt(request) => turn.attach_prompt(request),
        Operation::Cancel(request) => turn.cancel(request),
        Operation::DecideApproval(request) => turn.decide_approval(request),
        Operation::Bind(request) => turn.bind(request),
        Operation::TakeOver(request) => turn.take_over(request),
        Operation::RecordResult(request) => turn.record_result(request),
        Operation::PutPrincipal(request) => turn.put_principal(request),
        Operation::Sweep(request) => {
            turn.expire_due(&request.conversation_id);
            Ok(Answer::Done)
        }
        Operation::RecordRead(request) => {
            turn.record(
                StreamKey::Access(request.reader.clone()),
                About::default(),
                Event::ReadRecorded { read: request.read.clone() },
            );
            Ok(Answer::Done)
        }
    };
    Decision { events: turn.events, result }
}

/// One decision in the making.
pub(super) struct Turn<'a, 'i> {
    world: &'a mut World,
    rules: &'a Rules<'a>,
    now: Timestamp,
    ids: &'a mut Ids<'i>,
    events: Vec<Recorded>,
}

impl Turn<'_, '_> {
    fn record(&mut self, stream: StreamKey, about: About, event: Event) {
        self.world.apply(self.now, &event);
        self.events.push(Recorded { stream, about, event });
    }

    /// Records an event of a conversation.
    fn record_in(&mut self, conversation_id: &ConversationId, about: About, event: Event) {
        let about = About { conversation_id: Some(conversation_id.clone()), ..about };
        self.record(StreamKey::Conversation(conversation_id.clone()), about, event);
    }

    /// The context of a request, with everything due in its conversation written down first.
    fn context(&mut self, context_id: &ContextId) -> Result<ContextRecord, Refusal> {
        let conversation_id = match self.world.contexts.get(context_id) {
            Some(context) => context.conversation_id.clone(),
            None => return Err(Refusal::ContextNotFound),
        };
        self.expire_due(&conversation_id);
        self.world.contexts.get(context_id).cloned().ok_or(Refusal::ContextNotFound)
    }

    /// The item of a request, with everything due in its conversation written down first.
    fn item(&mut self, item_id: &ItemId) -> Result<PendingItem, Refusal> {
        let conversation_id = match self.world.items.get(item_id) {
            Some(item) => item.conversation_id.clone(),
            None => return Err(Refusal::ItemNotFound),
        };
        self.expire_due(&conversation_id);
        self.world.items.get(item_id).cloned().ok_or(Refusal::ItemNotFound)
    }

    fn context_answer(&self, context_id: &ContextId) -> Result<Answer, Refusal> {
        let context = self.world.contexts.get(context_id).ok_or(Refusal::ContextNotFound)?;
        let question = context.question().and_then(|id| self.world.items.get(id));
        Ok(Answer::Context { context: Box::new(context.clone()), question: question.cloned().map(Box::new) })
    }

    fn item_answer(&self, item_id: &ItemId) -> Result<Answer, Refusal> {
        let item = self.world.items.get(item_id).ok_or(Refusal::ItemNotFound)?;
        let effective_deadline = self.world.effective_deadline(item);
        Ok(Answer::Item { effective_deadline, item: Box::new(at_present(self.world, item)) })
    }
}

/// A context that may be used for interpretation and execution: the expiry invariant (RFC VII.C).
fn usable(context: &ContextRecord) -> Result<(), Refusal> {
    match context.state.status() {
        Status::Active | Status::Pending => Ok(()),
        Status::Blocked => Err(Refusal::ContextBlocked),
        Status::Expired => Err(Refusal::ContextExpired),
        Status::Closed => Err(Refusal::ContextClosed),
    }
}

/// What an event about a context is about.
fn about_context(context: &ContextRecord) -> About {
    About {
        actor_id: Some(context.actor_id.clone()),
        context_id: Some(context.context_id.clone()),
        correlation_id: context.trace.correlation_id.clone(),
        ..About::default()
    }
}

/// What an event about an item is about.
fn about_item(item: &PendingItem) -> About {
    About {
        actor_id: Some(item.actor_id.clone()),
        context_id: Some(item.context_id.clone()),
        command_id: item.command().map(|command| command.command_id.clone()),
        correlation_id: item.correlation_id.clone(),
        message_ids: item.prompts.iter().filter_map(|prompt| prompt.message_id.clone()).collect(),
        ..About::default()
    }
}
