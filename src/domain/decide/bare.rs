//! Answers that name nothing: the conditions under which they count, and what they are where nothing was asked.

use super::answering::entitled;
use super::interpreting::{Judged, Reader, is_polar, nobody_knows, option_of, ordinary, too_late, unsure};
use crate::domain::event::LastQuestion;
use crate::domain::id::MessageId;
use crate::domain::item::{ItemState, PendingItem, Question, VoidReason};
use crate::domain::lexicon::{Naming, Reading};
use crate::domain::message::message_key;
use crate::domain::prompt::ButtonAction;
use crate::domain::time::Timestamp;
use crate::domain::verdict::{Next, Reason, Verdict, VerdictCode};

impl Reader<'_> {
    pub(super) fn bare(&self, text: &str, reading: &Reading) -> Judged {
        let question = self.question();
        let qualified = matches!(reading, Reading::Qualified { .. });
        match question {
            Some(item) if matches!(self.naming, Some(Naming::Unclear(_))) => unsure(Reason::NamesCommand, item),
            Some(item) if self.begins_request(item, text, reading) => ordinary(Reason::NewRequest),
            Some(item) if qualified => unsure(Reason::QualifiedAnswer, item),
            Some(item) => match self.meant(item, text, reading) {
                Some(action) => self.bare_answer(item, action),
                None => ordinary(Reason::OrdinaryMessage),
            },
            None if is_polar(reading) => self.bare_without_question(),
            None => self.late_choice(text).unwrap_or_else(|| ordinary(Reason::OrdinaryMessage)),
        }
    }

    /// A bare answer counts only when every condition holds; the first that fails is the reason.
    fn bare_answer(&self, item: &PendingItem, action: ButtonAction) -> Judged {
        match self.bare_obstacle(item, action) {
            Some(reason) => unsure(reason, item),
            None => self.named(item, action, Reason::Bare),
        }
    }

    fn bare_obstacle(&self, item: &PendingItem, action: ButtonAction) -> Option<Reason> {
        if self.message.forwarded {
            return Some(Reason::Forwarded);
        }
        let allowed = match &item.question {
            Question::Approval { .. } => false,
            Question::Disambiguation { bare_answers, .. } => {
                if !matches!(action, ButtonAction::Choose(_)) {
                    return Some(Reason::OptionExpected);
                }
                *bare_answers && self.rules.policy.pack().answers.disambiguation_bare
            }
            Question::Confirmation { command } => {
                let today = self.rules.policy.command(command.name.as_str(), Some(command.rules.class));
                command.rules.bare_answers && today.bare_answers
            }
        };
        if !allowed {
            return Some(Reason::BareAnswerNotAllowed);
        }
        self.wrong_moment(item)
    }

    fn wrong_moment(&self, item: &PendingItem) -> Option<Reason> {
        let heard = self.world.conversations.get(&self.message.conversation_id).and_then(|c| c.last_question.as_ref());
        if heard != Some(&LastQuestion::Item(item.item_id.clone())) {
            return Some(Reason::OtherQuestionSince);
        }
        let Some(prompted_at) = item.last_prompt().and_then(|prompt| prompt.sent_at) else {
            return Some(Reason::PromptNotSent);
        };
        let tolerance = self.rules.policy.pack().answers.future_tolerance_seconds;
        if self.message.sent_at > self.now.plus_seconds(tolerance) {
            return Some(Reason::SentInFuture);
        }
        (!self.may_follow(prompted_at)).then_some(Reason::PredatesQuestion)
    }

    /// A yes, a no or the like that quotes or follows a question of the caller's own: it answers that one and nothing of ours,
    /// whatever else is open.
    pub(super) fn answers_own(&self, text: &str, reading: &Reading) -> Option<Judged> {
        if self.message.forwarded || (*reading == Reading::Other && !self.picks(text)) {
            return None;
        }
        let asked = match &self.message.reply_to {
            Some(quoted) => self.own_question_quoted(quoted)?,
            None => self.own_question_outstanding()?,
        };
        let verdict = Verdict::plain(VerdictCode::NotAnAnswer, Reason::AnswersOtherQuestion, Next::Route);
        Some((Verdict { question_message_id: Some(asked.clone()), ..verdict }, None))
    }

    fn own_question_quoted(&self, quoted: &MessageId) -> Option<&MessageId> {
        let key = message_key(&self.world.tenant_key, &self.message.channel, quoted);
        let asked = self.world.messages.get(&key)?;
        let to_sender =
            asked.conversation_id == self.message.conversation_id && asked.actor_id == self.message.actor_id;
        (to_sender && asked.verdict.reason == Reason::QuestionRegistered).then_some(&asked.message_id)
    }

    /// The caller's own question that the conversation heard last, if it was put to this actor and not answered yet, and the
    /// message was not sent before it.
    fn own_question_outstanding(&self) -> Option<&MessageId> {
        let heard = self.world.conversations.get(&self.message.conversation_id)?.last_question.as_ref();
        let context = self.world.open_context(&self.message.conversation_id, &self.message.actor_id)?;
        let own = context.own_question.as_ref().filter(|_| heard == Some(&LastQuestion::Other))?;
        let follows = self.message.sent_at.whole_seconds() >= own.asked_at.whole_seconds();
        follows.then_some(&own.message_id)
    }

    /// Whether the message may have been written after a question that was sent at `prompted_at` and registered as sent before
    /// the message arrived. WhatsApp stamps whole seconds: of such a stamp in the second of the question nobody can say which
    /// came first, and the order of arrival counts. A finer stamp says it.
    fn may_follow(&self, prompted_at: Timestamp) -> bool {
        let said_at = self.message.sent_at;
        let same_second = said_at.whole_seconds() == prompted_at.whole_seconds();
        said_at >= prompted_at || (same_second && said_at.is_whole_second())
    }

    /// A yes or a no while nothing is open for this actor.
    fn bare_without_question(&self) -> Judged {
        let Some(last) = self.last_asked() else { return self.nothing_asked() };
        match &last.state {
            ItemState::Expired { .. } | ItemState::Voided { reason: VoidReason::ContextExpired, .. } => {
                too_late(self.world, last)
            }
            // The yes was taken back: another one starts anew.
            ItemState::Voided { reason: VoidReason::TakenBack, .. } => {
                let anew = Verdict::about(VerdictCode::Superseded, Reason::TakenBack, Next::AskAnew, &last.item_id);
                (anew, None)
            }
            _ => self.nothing_asked(),
        }
    }

    /// A number or a title for a choice whose time is over.
    fn late_choice(&self, text: &str) -> Option<Judged> {
        let last = self.last_asked()?;
        let over = matches!(last.state, ItemState::Expired { .. }) && option_of(last, text, self.rules).is_some();
        over.then(|| too_late(self.world, last))
    }

    /// The question that this conversation heard last, if it was put to this actor.
    fn last_asked(&self) -> Option<&PendingItem> {
        match self.world.conversations.get(&self.message.conversation_id)?.last_question.as_ref()? {
            LastQuestion::Item(id) => self.world.items.get(id).filter(|item| item.actor_id == self.message.actor_id),
            LastQuestion::Other => None,
        }
    }

    /// A yes or a no of somebody who was asked nothing: a courtesy, or what the caller's own talk is about. While a question
    /// to somebody else is open here it may be meant for that one. An approval is such a question for whoever may give it, and
    /// for everybody where it was heard last; as long as it is asked elsewhere, the customer's "ok" is not about it.
    fn nothing_asked(&self) -> Judged {
        let conversation_id = &self.message.conversation_id;
        let last = self.world.conversations.get(conversation_id).and_then(|heard| heard.last_question.as_ref());
        let heard_here = |item: &PendingItem| match &item.question {
            Question::Approval { .. } => {
                last == Some(&LastQuestion::Item(item.item_id.clone()))
                    || entitled(self.world, item, &self.message.actor_id).is_some()
            }
            Question::Confirmation { .. } | Question::Disambiguation { .. } => true,
        };
        let here = |item: &PendingItem| item.is_open() && item.conversation_id == *conversation_id && heard_here(item);
        if self.world.items.values().any(here) {
            nobody_knows(Reason::OtherActor)
        } else {
            ordinary(Reason::NothingPending)
        }
    }
}
