//! What takes a given answer back before it is bound.
//!
//! Stopping is easier than starting: a yes counts under narrow conditions, while a no, a call-off or a "wait" stops what
//! waits to be bound whatever kind of message carries it, quoted or not, forwarded or not. A false alarm costs one more
//! question; a miss does what somebody no longer wants.

use super::interpreting::Reader;
use crate::domain::id::{ItemId, MessageId};
use crate::domain::item::{ItemState, PendingItem, Question};
use crate::domain::lexicon::{Reading, Withdrawal};
use crate::domain::message::MessageKind;
use crate::domain::prompt::{ButtonAction, read_button_id};
use crate::domain::verdict::{Next, Reason, Verdict, VerdictCode};

/// A verdict and the items whose answers it takes back.
type TakenBack = (Verdict, Vec<ItemId>);

impl Reader<'_> {
    /// What the message takes back, the newest first; none if it takes nothing back.
    pub(super) fn taken_back(&self, text: &str, reading: &Reading) -> Option<TakenBack> {
        match self.message.kind {
            MessageKind::System | MessageKind::Unsupported => None,
            MessageKind::Revoke => self.by_withdrawn_message(),
            MessageKind::Edit => self.by_withdrawn_message().or_else(|| self.by_bare_words(text, reading)),
            // A button with an id answers the question that it belongs to, whatever its label says.
            MessageKind::Interactive | MessageKind::Button
                if self.message.button_id.as_deref().is_some_and(|id| id != text) =>
            {
                self.by_our_no()
            }
            MessageKind::Reaction if text.is_empty() => self.by_removed_reaction(),
            MessageKind::Text
            | MessageKind::Reaction
            | MessageKind::Interactive
            | MessageKind::Button
            | MessageKind::Audio
            | MessageKind::Image
            | MessageKind::Video
            | MessageKind::Document
            | MessageKind::Sticker
            | MessageKind::Location
            | MessageKind::Contacts
            | MessageKind::Order
            | MessageKind::Flow => self.by_words(text, reading),
        }
    }

    /// The message that gave the answer was deleted or edited by whoever wrote it.
    fn by_withdrawn_message(&self) -> Option<TakenBack> {
        let id = self.message.withdrawn_id()?;
        let given = |item: &&PendingItem| {
            let counts = item.is_open() || self.waits_to_be_bound(item);
            counts && item.was_granted_by(id) && self.gave(item, Some(id))
        };
        taking_back(self.world.items.values().filter(given).collect(), Reason::TakenBack)
    }

    /// The no button of the question that was answered with yes. What else the tap quotes does not matter.
    fn by_our_no(&self) -> Option<TakenBack> {
        let button = self.message.button_id.as_deref().and_then(read_button_id)?;
        let item = self.world.item_by_nonce(&button.nonce_digest)?;
        let takes = button.action == ButtonAction::Refuse
            && matches!(item.question, Question::Confirmation { .. })
            && self.waits_to_be_bound(item)
            && self.gave(item, None);
        taking_back(takes.then_some(item).into_iter().collect(), Reason::TakenBack)
    }

    /// A reaction that may have said yes was removed.
    fn by_removed_reaction(&self) -> Option<TakenBack> {
        let item = self.quoted().filter(|_| self.rules.policy.pack().answers.reactions)?;
        let waits = self.waits_to_be_bound(item) && self.gave(item, None);
        taking_back(waits.then_some(item).into_iter().collect(), Reason::TakenBack)
    }

    fn by_words(&self, text: &str, reading: &Reading) -> Option<TakenBack> {
        let Some(item) = self.quoted() else { return self.by_bare_words(text, reading) };
        let reason = self.withdrawal(text)?;
        // A plain no to an approval rejects it, for which the approver needs to be entitled and nothing more.
        let rejects = matches!((&item.question, reading), (Question::Approval { .. }, Reading::Negative { .. }));
        let takes = self.waits_to_be_bound(item) && self.gave(item, None) && !rejects;
        taking_back(takes.then_some(item).into_iter().collect(), reason)
    }

    /// Words that name no question stop everything that this person agreed to here and that waits to be bound. A plain
    /// no that answers the open question is its answer and stops nothing else.
    fn by_bare_words(&self, text: &str, reading: &Reading) -> Option<TakenBack> {
        let reason = self.withdrawal(text)?;
        if matches!(reading, Reading::Negative { .. }) && self.verdict(text, reading).0.code == VerdictCode::Declined {
            return None;
        }
        let given = |item: &&PendingItem| {
            matches!(item.question, Question::Confirmation { .. })
                && self.waits_to_be_bound(item)
                && self.gave(item, None)
        };
        taking_back(self.world.items.values().filter(given).collect(), reason)
    }

    fn withdrawal(&self, text: &str) -> Option<Reason> {
        match self.rules.lexicon.withdrawal(text)? {
            Withdrawal::Refusal | Withdrawal::CallOff => Some(Reason::TakenBack),
            Withdrawal::Hesitation => Some(Reason::Postponed),
        }
    }

    fn waits_to_be_bound(&self, item: &PendingItem) -> bool {
        matches!(item.state, ItemState::Granted { bind_by, .. } if self.now < bind_by)
    }

    /// Whether the writer of this message gave the answer: by that message, if one is named.
    fn gave(&self, item: &PendingItem, by: Option<&MessageId>) -> bool {
        let writer = &self.message.actor_id;
        match &item.question {
            Question::Approval { approvals, .. } => approvals
                .iter()
                .any(|given| given.approver_id == *writer && (by.is_none() || given.message_id.as_ref() == by)),
            Question::Confirmation { .. } | Question::Disambiguation { .. } => {
                item.actor_id == *writer && item.conversation_id == self.message.conversation_id
            }
        }
    }
}

/// The verdict about the newest of these items, which takes them all back.
fn taking_back(mut items: Vec<&PendingItem>, reason: Reason) -> Option<TakenBack> {
    items.sort_by_key(|item| std::cmp::Reverse((item.asked_at, &item.item_id)));
    let newest = items.first()?;
    let code = match newest.question {
        Question::Approval { .. } => VerdictCode::Rejected,
        Question::Confirmation { .. } | Question::Disambiguation { .. } => VerdictCode::Declined,
    };
    let next = if reason == Reason::Postponed { Next::AcknowledgeWait } else { Next::AcknowledgeRefusal };
    let verdict = Verdict::about(code, reason, next, &newest.item_id);
    Some((verdict, items.iter().map(|item| item.item_id.clone()).collect()))
}
