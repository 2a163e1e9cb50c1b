//! What takes a given answer back before it is bound.
//!
//! Stopping is easier than starting: a yes counts under narrow conditions, while a no, a call-off or a "wait" stops what
//! waits to be bound whatever kind of message carries it, quoted or not, forwarded or not. A false alarm costs one more
//! question; a miss does what somebody no longer wants.

use super::interpreting::Reader;
use crate::domain::id::{ItemId, MessageId};
use crate::domain::item::{ItemState, PendingItem, Question};
use crate::domain::lexicon::{Naming, Reading, Withdrawal};
use crate::domain::message::MessageKind;
use crate::domain::prompt::{ButtonAction, read_button_id};
use crate::domain::verdict::{Next, Reason, Verdict, VerdictCode};

/// A verdict and the items whose answers it takes back.
type TakenBack = (Verdict, Vec<ItemId>);

impl Reader<'_> {
    /// What the message takes back, the newest first; none if it takes nothing back.
    pub(super) fn taken_back(&self, text: &str, reading: &Reading) -> Option<TakenBack> {
        match self.message.kind {
            MessageKind::System => None,
            MessageKind::Revoke if self.message.reply_to.is_none() => self.everything_given(Reason::TakenBack),
            MessageKind::Revoke => self.by_withdrawn_message(),
            MessageKind::Edit => self.by_withdrawn_message().or_else(|| self.by_words(text, reading)),
            MessageKind::Interactive | MessageKind::Button if self.taps_our_other_button() => None,
            MessageKind::Interactive | MessageKind::Button => self.by_our_no().or_else(|| self.by_words(text, reading)),
            MessageKind::Reaction if self.is_other_reaction(reading) => {
                self.by_removed_reaction().or_else(|| self.by_words(text, reading))
            }
            MessageKind::Text
            | MessageKind::Reaction
            | MessageKind::Audio
            | MessageKind::Image
            | MessageKind::Video
            | MessageKind::Document
            | MessageKind::Sticker
            | MessageKind::Location
            | MessageKind::Contacts
            | MessageKind::Order
            | MessageKind::Flow
            | MessageKind::Unsupported => self.by_words(text, reading),
        }
    }

    /// The open items that this message would have stopped if their yes had come before it: a yes that was sent earlier
    /// and arrives later binds to nothing for certain.
    pub(super) fn stopped_before(&self, text: &str, reading: &Reading) -> Vec<ItemId> {
        let reacts = self.message.kind == MessageKind::Reaction;
        // Another reaction takes the place of the one that its writer has put on the same message before.
        let replaces = reacts && !text.is_empty() && self.is_other_reaction(reading);
        let against = match self.message.kind {
            MessageKind::System => false,
            MessageKind::Revoke => self.message.reply_to.is_none(),
            MessageKind::Interactive | MessageKind::Button if self.taps_our_other_button() => false,
            _ => (reacts && text.is_empty()) || self.withdrawal(text).is_some(),
        };
        if !against && !replaces {
            return Vec::new();
        }
        let quoted = self.quoted().map(|item| &item.item_id);
        let meant = |item: &&PendingItem| match &item.question {
            _ if !against && quoted != Some(&item.item_id) => false,
            _ if self.speaks_for(item, text) => false,
            Question::Approval { .. } => quoted == Some(&item.item_id),
            Question::Confirmation { .. } | Question::Disambiguation { .. } => self.gave(item, None),
        };
        self.world.items.values().filter(|item| item.is_open()).filter(meant).map(|item| item.item_id.clone()).collect()
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

    /// The no button of the question that was answered with yes. What else the tap quotes, and where it comes from, does not
    /// matter: nobody else has that button.
    fn by_our_no(&self) -> Option<TakenBack> {
        let button = self.message.button_id.as_deref().and_then(read_button_id)?;
        let item = self.world.item_by_nonce(&button.nonce_digest)?;
        let takes = button.action == ButtonAction::Refuse
            && matches!(item.question, Question::Confirmation { .. })
            && self.waits_to_be_bound(item)
            && item.actor_id == self.message.actor_id;
        taking_back(takes.then_some(item).into_iter().collect(), Reason::TakenBack)
    }

    /// A button of ours that says yes or chooses: what it says is decided by its id. Its label may well be "cancel the order".
    fn taps_our_other_button(&self) -> bool {
        let button = self.message.button_id.as_deref().and_then(read_button_id);
        let own = button.filter(|button| button.action != ButtonAction::Refuse);
        own.is_some_and(|button| self.world.item_by_nonce(&button.nonce_digest).is_some())
    }

    /// Whether a reaction is no yes: there is one a message, so it takes the place of a yes, or takes it away.
    fn is_other_reaction(&self, reading: &Reading) -> bool {
        self.rules.policy.pack().answers.reactions && !matches!(reading, Reading::Affirmative { .. })
    }

    /// A reaction that may have said yes is gone.
    fn by_removed_reaction(&self) -> Option<TakenBack> {
        let item = self.quoted()?;
        let waits = self.waits_to_be_bound(item) && self.gave(item, None);
        let said_no = matches!(item.question, Question::Approval { .. }) && !self.is_removal();
        taking_back((waits && !said_no).then_some(item).into_iter().collect(), Reason::TakenBack)
    }

    fn is_removal(&self) -> bool {
        self.message.text.as_deref().unwrap_or("").is_empty()
    }

    /// Words stop what they quote, or else everything that this person agreed to here and that waits to be bound,
    /// whatever else they quote. A plain no that answers another question is its answer, and stops nothing else.
    fn by_words(&self, text: &str, reading: &Reading) -> Option<TakenBack> {
        let reason = self.withdrawal(text)?;
        if matches!(self.naming, Some(Naming::Yes(_))) {
            return None;
        }
        // A no that calls everything off is about more than the open question, which it leaves open.
        let answers = self.verdict(text, reading).0.code.is_acceptance();
        if answers && !self.rules.lexicon.calls_everything_off(text) {
            return None;
        }
        let own = self.message.reply_to.as_ref();
        let named = self.world.items.values().filter(|item| {
            let quoted =
                own.is_some_and(|id| item.was_prompted_in(&self.message.channel, id) || item.was_granted_by(id));
            quoted && self.was_given(item) && !self.repeats_yes(item, text)
        });
        taking_back(named.collect(), reason)
            .or_else(|| self.everything_given_but(reason, |item| self.repeats_yes(item, text)))
    }

    /// Whether words that name the command say nothing against doing it.
    fn speaks_for(&self, item: &PendingItem, text: &str) -> bool {
        matches!(self.naming(item, text), Some(Naming::Yes(_) | Naming::Unclear(_)))
    }

    /// Whether words that take back elsewhere are a yes to the command of this item: "yes, cancel it".
    fn repeats_yes(&self, item: &PendingItem, text: &str) -> bool {
        matches!(self.naming(item, text), Some(Naming::Yes(_)))
    }

    /// Everything that this person agreed to in this conversation.
    fn everything_given(&self, reason: Reason) -> Option<TakenBack> {
        self.everything_given_but(reason, |_| false)
    }

    fn everything_given_but(&self, reason: Reason, stays: impl Fn(&PendingItem) -> bool) -> Option<TakenBack> {
        let here = |item: &&PendingItem| {
            item.conversation_id == self.message.conversation_id && self.was_given(item) && !stays(item)
        };
        taking_back(self.world.items.values().filter(here).collect(), reason)
    }

    /// Whether an answer of this writer stands: a yes that waits to be bound, or one of several approvals.
    fn was_given(&self, item: &PendingItem) -> bool {
        let stands = match &item.question {
            Question::Confirmation { .. } => self.waits_to_be_bound(item),
            Question::Approval { .. } => item.is_open() || self.waits_to_be_bound(item),
            Question::Disambiguation { .. } => false,
        };
        stands && self.gave(item, None)
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
