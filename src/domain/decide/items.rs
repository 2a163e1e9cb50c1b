//! What happens to an item after it was asked: its prompt is sent, it is answered, it is withdrawn.

use super::answering::is_enough;
use super::{Turn, about_item};
use crate::domain::event::{About, Event, LastQuestion};
use crate::domain::id::{Channel, ItemId, MessageId, PrincipalId};
use crate::domain::item::{ApprovalDecision, ItemState, PendingItem, Prompt, Question, VoidReason};
use crate::domain::message::{Direction, MessageEvent};
use crate::domain::operation::{Answer, AttachPrompt, Cancel};
use crate::domain::refusal::Refusal;
use crate::domain::slots::ACTIVE_TARGET;
use crate::domain::time::Timestamp;
use crate::domain::verdict::{Reason, Verdict, VerdictCode};
use crate::domain::world::is_live;

impl Turn<'_, '_> {
    /// Does to the item what the verdict says, and voids the answers that the message takes back.
    pub(super) fn answer_item(
        &mut self,
        message: &MessageEvent,
        verdict: &Verdict,
        option: Option<u32>,
        taken_back: &[ItemId],
    ) {
        let Some(item) = verdict.item_id.as_ref().and_then(|id| self.world.items.get(id)).cloned() else { return };
        let by_message = Some(message.message_id.clone());
        match verdict.code {
            VerdictCode::Confirmed => {
                let state = ItemState::Granted { at: self.now, by_message, bind_by: self.bind_by(&item) };
                self.settle(&item, state);
            }
            VerdictCode::Declined | VerdictCode::Rejected
                if matches!(verdict.reason, Reason::TakenBack | Reason::Postponed) =>
            {
                self.take_back(taken_back, by_message.as_ref());
            }
            VerdictCode::Declined | VerdictCode::Rejected => {
                self.settle(&item, ItemState::Refused { at: self.now, by_message, revoked: !item.is_open() });
            }
            VerdictCode::Selected => self.select(&item, option, by_message),
            VerdictCode::Approved => {
                if let Some(decision) = self.decision_of(&message.actor_id, by_message) {
                    self.approve(&item, decision);
                }
            }
            VerdictCode::Ambiguous if verdict.reason == Reason::NotEntitled => {
                let event =
                    Event::DecisionRefused { item_id: item.item_id.clone(), approver_id: message.actor_id.clone() };
                let about = About { message_ids: vec![message.message_id.clone()], ..about_item(&item) };
                self.record_in(&item.conversation_id, about, event);
            }
            VerdictCode::Ambiguous
            | VerdictCode::Expired
            | VerdictCode::AlreadyDecided
            | VerdictCode::Superseded
            | VerdictCode::NotAnAnswer
            | VerdictCode::Ignored
            | VerdictCode::Registered => {}
        }
    }

    fn take_back(&mut self, item_ids: &[ItemId], by_message: Option<&MessageId>) {
        let items: Vec<PendingItem> = item_ids.iter().filter_map(|id| self.world.items.get(id)).cloned().collect();
        for item in items {
            let (at, by_message) = (self.now, by_message.cloned());
            self.settle(&item, ItemState::Voided { at, reason: VoidReason::TakenBack, by_message });
        }
    }

    /// Until when a fresh grant can be bound: policy's window, inside the context's life.
    fn bind_by(&self, item: &PendingItem) -> Timestamp {
        let window = item.command().map_or(0, |command| command.rules.bind_within_seconds);
        let deadline = self.now.plus_seconds(window);
        self.world.contexts.get(&item.context_id).map_or(deadline, |context| context.expires_at.min(deadline))
    }

    fn select(&mut self, item: &PendingItem, option: Option<u32>, by_message: Option<MessageId>) {
        let Question::Disambiguation { options, .. } = &item.question else { return };
        let Some(option) = option else { return };
        let index = usize::try_from(option).unwrap_or(0).saturating_sub(1);
        let Some(choice) = options.get(index) else { return };
        let target = choice.target.clone();
        self.settle(item, ItemState::Selected { at: self.now, by_message, option });
        let changes = std::collections::BTreeMap::from([(ACTIVE_TARGET.to_owned(), target)]);
        self.write_slots(&item.context_id, changes, None);
    }

    /// The decision of an entitled approver, as it stands on the approval.
    pub(super) fn decision_of(
        &self,
        approver_id: &PrincipalId,
        message_id: Option<MessageId>,
    ) -> Option<ApprovalDecision> {
        let approver = self.world.principals.get(approver_id)?;
        Some(ApprovalDecision {
            approver_id: approver_id.clone(),
            person_id: approver.person_id.clone(),
            identity_epoch: approver.identity_epoch,
            message_id,
            at: self.now,
        })
    }

    /// Adds an approval; the one that completes the number grants the item until its own deadline.
    pub(super) fn approve(&mut self, item: &PendingItem, decision: ApprovalDecision) {
        let Question::Approval { approvals, rule, .. } = &item.question else { return };
        let given: Vec<ApprovalDecision> = approvals.iter().cloned().chain([decision.clone()]).collect();
        if is_enough(self.world, item, &given, rule) {
            let deadline = self.world.effective_deadline(item);
            // Granted before, by people of whom too few count by now: the time that was issued then does not move.
            let bind_by = match &item.state {
                ItemState::Granted { bind_by, .. } => deadline.min(*bind_by),
                _ => deadline,
            };
            let state = ItemState::Granted { at: self.now, by_message: decision.message_id.clone(), bind_by };
            self.settle_with(item, state, Some(decision));
        } else {
            let about = About { message_ids: decision.message_id.clone().into_iter().collect(), ..about_item(item) };
            self.record_in(
                &item.conversation_id,
                about,
                Event::ApprovalGiven { item_id: item.item_id.clone(), decision },
            );
        }
    }

    /// Attaches the channel's message id to the newest prompt. The same id again changes nothing; an approval may be
    /// put to several approvers, so it takes several. A tap may be faster than the caller: a question that was answered
    /// meanwhile takes the id as well.
    pub(super) fn attach_prompt(&mut self, request: &AttachPrompt) -> Result<Answer, Refusal> {
        let item = self.item(&request.item_id)?;
        if item.was_prompted_by(&request.message_id) {
            return self.item_answer(&request.item_id);
        }
        // One message asks one question: a quote of it could mean either otherwise.
        let other_message = self.world.messages.get(&request.message_key).is_some_and(|message| {
            message.direction == Direction::Inbound || message.verdict.item_id.as_ref() != Some(&request.item_id)
        });
        if other_message || self.world.item_by_prompt(&request.message_id).is_some() {
            return Err(Refusal::PromptAlreadyAttached);
        }
        let ended = still_open(&item);
        let registered_at = item.last_prompt().map_or(item.asked_at, |prompt| prompt.registered_at);
        let waiting = item.last_prompt().is_some_and(|prompt| prompt.message_id.is_none());
        if !waiting && ended.is_ok() && !matches!(item.question, Question::Approval { .. }) {
            return Err(Refusal::PromptAlreadyAttached);
        }
        if !waiting && item.prompts.len() >= crate::domain::item::MAX_PROMPTS {
            return Err(ended.err().unwrap_or(Refusal::TooManyPrompts));
        }
        // The channel stamps whole seconds, so a prompt may seem to precede its registration by less than one.
        let is_possible = |at: &Timestamp| at.whole_seconds() >= registered_at.whole_seconds() && *at <= self.now;
        if ended.is_ok() && request.sent_at.is_some_and(|at| !is_possible(&at)) {
            return Err(Refusal::PromptTimeImpossible);
        }
        // Of a card that does not count any more it matters that it was seen: at the latest now.
        let sent_at = request.sent_at.filter(is_possible).unwrap_or(self.now);
        let heard = self.is_heard_now(&item, sent_at);
        let prompt = Prompt {
            message_id: Some(request.message_id.clone()),
            channel: Some(request.channel.clone()).filter(|channel| *channel != Channel::default()),
            sent_at: Some(sent_at),
            registered_at,
        };
        let about = About { message_ids: vec![request.message_id.clone()], ..about_item(&item) };
        self.record_in(
            &item.conversation_id,
            about,
            Event::PromptAttached { item_id: request.item_id.clone(), prompt, heard },
        );
        // Of a question that has ended it is known now that somebody saw it: a yes may be meant for it.
        match ended {
            Ok(()) | Err(Refusal::AlreadyDecided { .. }) => self.item_answer(&request.item_id),
            Err(over) => Err(over),
        }
    }

    /// Whether a prompt that was sent at this time becomes the question heard last: questions may reach the person in another
    /// order than the one in which they were asked for. An approval's prompt is shown to others.
    fn is_heard_now(&self, item: &PendingItem, sent_at: Timestamp) -> bool {
        let heard = self.world.conversations.get(&item.conversation_id).and_then(|known| known.last_question.as_ref());
        let Some(LastQuestion::Item(heard)) = heard else { return false };
        let shown = self.world.items.get(heard).and_then(|other| other.last_prompt()?.sent_at);
        *heard != item.item_id
            && !matches!(item.question, Question::Approval { .. })
            && shown.is_none_or(|shown| shown <= sent_at)
    }

    /// Withdraws an open question or a grant that was not spent. Withdrawing twice is no error.
    pub(super) fn cancel(&mut self, request: &Cancel) -> Result<Answer, Refusal> {
        let item = self.item(&request.item_id)?;
        let withdrawn = matches!(item.state, ItemState::Voided { reason: VoidReason::Cancelled, .. });
        if !withdrawn {
            if !is_live(&item.state) {
                return Err(Refusal::ItemNotOpen { state: item.state_word().to_owned() });
            }
            self.settle(&item, ItemState::voided(self.now, VoidReason::Cancelled));
        }
        self.item_answer(&request.item_id)
    }
}

/// An open item, or the refusal that says how it ended.
pub(super) fn still_open(item: &PendingItem) -> Result<(), Refusal> {
    match &item.state {
        ItemState::Open => Ok(()),
        ItemState::Expired { .. } => Err(Refusal::ItemExpired),
        ItemState::Voided { reason: VoidReason::IdentityChanged, .. } => Err(Refusal::IdentityChanged),
        ItemState::Voided { reason, .. } => Err(Refusal::ItemVoided { reason: reason.as_str().to_owned() }),
        ItemState::Granted { .. }
        | ItemState::Refused { .. }
        | ItemState::Selected { .. }
        | ItemState::Spent { .. } => Err(Refusal::AlreadyDecided { state: item.state_word().to_owned() }),
    }
}
