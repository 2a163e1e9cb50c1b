//! What a message means here: which "yes" counts, and for what (RFC-WF-0034 VIII.B, VII.C).
//!
//! Four strengths bind an answer to a question: our nonce with the prompt quoted, our nonce, text quoting the
//! prompt, and a bare answer under all of its conditions. Nothing is ever "the oldest first".

use std::borrow::Cow;

use super::Rules;
use super::answering::{Named, judge_approval, judge_named};
use crate::domain::id::ItemId;
use crate::domain::item::{PendingItem, Question};
use crate::domain::lexicon::{Lexicon, Naming, Reading, has_hidden, is_plain, normalise};
use crate::domain::message::{MessageEvent, MessageKind};
use crate::domain::prompt::{ButtonAction, read_button_id};
use crate::domain::time::Timestamp;
use crate::domain::verdict::{Next, Reason, Verdict, VerdictCode};
use crate::domain::world::World;

/// How a message was read and what follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpretation {
    /// How its words were read.
    pub reading: Reading,
    pub verdict: Verdict,
    /// The option chosen, counted from 1; with [`VerdictCode::Selected`].
    pub option: Option<u32>,
    /// The given answers that it takes back before they are bound, the newest first.
    pub taken_back: Vec<ItemId>,
    /// The open items that it would have stopped if their yes had come before it.
    pub stopped_before: Vec<ItemId>,
}

/// What an inbound message means, in a world where everything due has been written down.
#[must_use]
pub fn interpret(world: &World, message: &MessageEvent, rules: &Rules<'_>, now: Timestamp) -> Interpretation {
    let text = words_of(message);
    let mut reader = Reader { world, message, rules, now, lexicon: lexicon_of(message, rules), naming: None };
    reader.naming = reader.addressed().and_then(|item| reader.naming(item, &text));
    let reading = reader.naming.as_ref().map_or_else(|| reader.lexicon.read(&text), |naming| naming.reading().clone());
    let stopped_before = reader.stopped_before(&text, &reading);
    if let Some((verdict, taken_back)) = reader.taken_back(&text, &reading) {
        return Interpretation { reading, verdict, option: None, taken_back, stopped_before };
    }
    let (verdict, option) = reader.verdict(&text, &reading);
    Interpretation { reading, verdict, option, taken_back: Vec::new(), stopped_before }
}

/// What reads the message as an answer. A label of ours was checked against every language, and is read by every one.
fn lexicon_of<'a>(message: &MessageEvent, rules: &Rules<'a>) -> &'a Lexicon {
    match message.kind {
        MessageKind::Interactive | MessageKind::Button => rules.lexicon,
        _ => rules.lexicon.for_locale(message.locale.as_deref()),
    }
}

/// The words of a message. What was typed to a voice note is read with what was spoken: it is an answer only if both are.
fn words_of(message: &MessageEvent) -> Cow<'_, str> {
    let typed = message.text.as_deref().unwrap_or("");
    match &message.transcript {
        Some(transcript) if message.kind == MessageKind::Audio && typed.trim().is_empty() => (&*transcript.text).into(),
        Some(transcript) if message.kind == MessageKind::Audio => format!("{}\n{typed}", transcript.text).into(),
        _ => typed.into(),
    }
}

pub(super) struct Reader<'a> {
    pub(super) world: &'a World,
    pub(super) message: &'a MessageEvent,
    pub(super) rules: &'a Rules<'a>,
    pub(super) now: Timestamp,
    /// What reads the message as an answer.
    pub(super) lexicon: &'a Lexicon,
    /// What its words say about the command of the question that it is addressed to, if they name that command.
    pub(super) naming: Option<Naming>,
}

/// A verdict and the option it chooses.
pub(super) type Judged = (Verdict, Option<u32>);

fn plain(code: VerdictCode, reason: Reason, next: Next) -> Judged {
    (Verdict::plain(code, reason, next), None)
}

pub(super) fn ordinary(reason: Reason) -> Judged {
    plain(VerdictCode::NotAnAnswer, reason, Next::Route)
}

fn ignored(reason: Reason) -> Judged {
    plain(VerdictCode::Ignored, reason, Next::Nothing)
}

/// An answer that binds to nothing for certain, about the question it might have meant.
pub(super) fn unsure(reason: Reason, item: &PendingItem) -> Judged {
    let next = match reason {
        // The question is somebody else's: it must not be put to whoever wrote this.
        Reason::OtherActor | Reason::OtherConversation => Next::AskWhatIsMeant,
        _ if item.is_open() => Next::AskAgain,
        _ => Next::AskAnew,
    };
    (Verdict::about(VerdictCode::Ambiguous, reason, next, &item.item_id), None)
}

/// An answer to something, and nobody knows to what.
pub(super) fn nobody_knows(reason: Reason) -> Judged {
    plain(VerdictCode::Ambiguous, reason, Next::AskWhatIsMeant)
}

impl Reader<'_> {
    pub(super) fn verdict(&self, text: &str, reading: &Reading) -> Judged {
        match self.message.kind {
            MessageKind::Text => self.text(text, reading),
            MessageKind::Interactive | MessageKind::Button => self.tap(text, reading),
            MessageKind::Audio => self.voice(text, reading),
            MessageKind::Reaction => self.reaction(text, reading),
            MessageKind::Image
            | MessageKind::Video
            | MessageKind::Document
            | MessageKind::Sticker
            | MessageKind::Location
            | MessageKind::Contacts
            | MessageKind::Order
            | MessageKind::Flow => self.media(text, reading),
            MessageKind::System => ignored(Reason::IdentityNews),
            MessageKind::Edit => ignored(Reason::EditRecorded),
            MessageKind::Revoke => ignored(Reason::RevokeRecorded),
            MessageKind::Unsupported => ordinary(Reason::UnsupportedKind),
        }
    }

    pub(super) fn quoted(&self) -> Option<&PendingItem> {
        let id = self.message.reply_to.as_ref()?;
        self.world.item_by_prompt(id).filter(|item| item.was_prompted_in(&self.message.channel, id))
    }

    /// The question whose command the words may name: that of the tapped button, the quoted one, or the open one.
    fn addressed(&self) -> Option<&PendingItem> {
        let tapped = self.message.button_id.as_deref().and_then(read_button_id);
        let tapped = tapped.and_then(|button| self.world.item_by_nonce(&button.nonce_digest));
        tapped.or_else(|| self.quoted()).or_else(|| self.question())
    }

    /// What the text says about the command of an item, if it names it.
    pub(super) fn naming(&self, item: &PendingItem, text: &str) -> Option<Naming> {
        self.lexicon.read_naming(text, &self.rules.policy.says(item.command()?.name.as_str()))
    }

    fn names_only(&self) -> bool {
        matches!(self.naming, Some(Naming::Unclear(_)))
    }

    /// Whether the text is a request of its own rather than an answer to what is asked.
    pub(super) fn begins_request(&self, item: &PendingItem, text: &str, reading: &Reading) -> bool {
        self.naming.is_none() && self.meant(item, text, reading).is_none() && self.rules.lexicon.begins_request(text)
    }

    /// The open question put to this actor in this conversation.
    pub(super) fn question(&self) -> Option<&PendingItem> {
        let context = self.world.open_context(&self.message.conversation_id, &self.message.actor_id)?;
        self.world.items.get(context.question()?)
    }

    fn tap(&self, text: &str, reading: &Reading) -> Judged {
        let Some(button) = self.message.button_id.as_deref().and_then(read_button_id) else {
            return self.foreign_tap(text, reading);
        };
        let Some(item) = self.world.item_by_nonce(&button.nonce_digest) else {
            // One of our buttons, of a question that was erased since: it answers something.
            return nobody_knows(Reason::NothingPending);
        };
        if self.quoted().is_some_and(|other| other.item_id != item.item_id) {
            // It names two questions, hence neither for certain.
            return unsure(Reason::QuotesOtherMessage, item);
        }
        let against = match button.action {
            ButtonAction::Accept => {
                let is_no = matches!(reading, Reading::Negative { .. });
                is_no || has_hidden(text) || self.rules.lexicon.is_no_label_of_yes(text)
            }
            ButtonAction::Refuse => {
                let names_only = self.names_only() && !self.rules.lexicon.is_no_label_of_yes(text);
                matches!(reading, Reading::Affirmative { .. }) || names_only
            }
            ButtonAction::Choose(_) => has_hidden(text),
        };
        if against {
            // The label that was tapped does not say what its id says: somebody mixed them up.
            return unsure(Reason::QualifiedAnswer, item);
        }
        let quoted = self.message.reply_to.as_ref().is_some_and(|id| item.was_prompted_by(id));
        let strength = if quoted { Reason::NonceAndQuote } else { Reason::Nonce };
        self.named(item, button.action, strength)
    }

    /// A tap that does not carry our id. A client that cannot tap sends the label alone, as a quoted reply; a button
    /// with an id of its own belongs to somebody else's question, whatever it quotes.
    fn foreign_tap(&self, text: &str, reading: &Reading) -> Judged {
        let label_alone = self.message.button_id.as_deref().is_none_or(|id| id == text);
        match self.quoted() {
            Some(_) if label_alone => self.text(text, reading),
            Some(_) => nobody_knows(Reason::ForeignButton),
            None => ordinary(Reason::ForeignButton),
        }
    }

    fn text(&self, text: &str, reading: &Reading) -> Judged {
        if let Some(item) = self.quoted() {
            return self.quoting(item, text, reading);
        }
        if let Some(answers) = self.answers_own(text, reading) {
            return answers;
        }
        if self.message.reply_to.is_none() {
            return self.bare(text, reading);
        }
        // Only what is open could be meant instead of what is quoted.
        match self.question() {
            Some(_) if is_polar(reading) || self.picks(text) => nobody_knows(Reason::QuotesOtherMessage),
            None if is_polar(reading) => ordinary(Reason::NothingPending),
            Some(_) | None => ordinary(Reason::OrdinaryMessage),
        }
    }

    fn quoting(&self, item: &PendingItem, text: &str, reading: &Reading) -> Judged {
        if self.names_only() {
            return unsure(Reason::NamesCommand, item);
        }
        if self.begins_request(item, text, reading) {
            return ordinary(Reason::NewRequest);
        }
        if matches!(reading, Reading::Qualified { .. }) {
            return unsure(Reason::QualifiedAnswer, item);
        }
        match self.meant(item, text, reading) {
            Some(action) => self.named(item, action, Reason::Quote),
            None => ordinary(Reason::OrdinaryMessage),
        }
    }

    /// What was spoken answers nothing that the same words would not answer if they were typed.
    fn voice(&self, text: &str, reading: &Reading) -> Judged {
        let Some(transcript) = &self.message.transcript else { return ordinary(Reason::OrdinaryMessage) };
        let heard = self.text(text, reading);
        let voice = &self.rules.policy.pack().answers.voice;
        let reason = match voice.accepted {
            _ if heard.0.code == VerdictCode::NotAnAnswer => return heard,
            true if transcript.confidence >= voice.min_confidence => return heard,
            true => Reason::LowConfidence,
            false => Reason::KindNotAccepted,
        };
        let addressed = self.quoted().or_else(|| self.question());
        addressed.map_or_else(|| nobody_knows(reason), |item| unsure(reason, item))
    }

    fn reaction(&self, text: &str, reading: &Reading) -> Judged {
        if text.is_empty() {
            return ignored(Reason::ReactionRemoved);
        }
        if !self.rules.policy.pack().answers.reactions {
            return ignored(Reason::ReactionsOff);
        }
        match self.quoted() {
            Some(item) => self.quoting(item, text, reading),
            None => ignored(Reason::QuotesOtherMessage),
        }
    }

    /// Pictures, places, forms and the like are never answers, whatever their caption says.
    fn media(&self, text: &str, reading: &Reading) -> Judged {
        match self.quoted().or_else(|| self.question()) {
            Some(item) if self.resembles(item, text, reading) => unsure(Reason::KindNotAccepted, item),
            _ => ordinary(Reason::OrdinaryMessage),
        }
    }

    /// What a text asks of an item, if it asks anything of it.
    pub(super) fn meant(&self, item: &PendingItem, text: &str, reading: &Reading) -> Option<ButtonAction> {
        match (reading, &item.question) {
            (Reading::Affirmative { .. }, _) => Some(ButtonAction::Accept),
            (Reading::Negative { .. }, _) => Some(ButtonAction::Refuse),
            (_, Question::Disambiguation { .. }) => option_of(item, text, self.rules).map(ButtonAction::Choose),
            (_, Question::Confirmation { .. } | Question::Approval { .. }) => None,
        }
    }

    /// Whether a text reads as an answer to an item, plain or qualified.
    fn resembles(&self, item: &PendingItem, text: &str, reading: &Reading) -> bool {
        matches!(reading, Reading::Qualified { .. }) || self.meant(item, text, reading).is_some()
    }

    /// Whether a text picks an option of the open question.
    pub(super) fn picks(&self, text: &str) -> bool {
        self.question().is_some_and(|item| option_of(item, text, self.rules).is_some())
    }

    pub(super) fn named(&self, item: &PendingItem, action: ButtonAction, strength: Reason) -> Judged {
        if self.message.forwarded {
            return unsure(Reason::Forwarded, item);
        }
        let named = Named { world: self.world, item, action, strength, now: self.now };
        match item.question {
            Question::Approval { .. } => (judge_approval(&named, &self.message.actor_id), None),
            Question::Confirmation { .. } | Question::Disambiguation { .. } => {
                if item.conversation_id != self.message.conversation_id {
                    return unsure(Reason::OtherConversation, item);
                }
                if item.actor_id != self.message.actor_id {
                    return unsure(Reason::OtherActor, item);
                }
                judge_named(&named)
            }
        }
    }
}

pub(super) fn is_polar(reading: &Reading) -> bool {
    matches!(reading, Reading::Affirmative { .. } | Reading::Negative { .. })
}

/// The verdict about an item whose time is over.
pub(super) fn too_late(world: &World, item: &PendingItem) -> Judged {
    let context_over =
        world.contexts.get(&item.context_id).is_some_and(|context| context.expires_at <= item.expires_at);
    let reason = if context_over { Reason::ContextExpired } else { Reason::QuestionExpired };
    (Verdict::about(VerdictCode::Expired, reason, Next::AskAnew, &item.item_id), None)
}

/// The option that a whole text picks: its number, or its title as shown.
pub(super) fn option_of(item: &PendingItem, text: &str, rules: &Rules<'_>) -> Option<u8> {
    let Question::Disambiguation { options, title_key, unclear_numbers, .. } = &item.question else { return None };
    // "Conta corrente?" asks, and "~conta corrente~" takes back.
    if !is_plain(text) {
        return None;
    }
    let digest = super::asking::title_digest(title_key, &normalise(text));
    let by_title = options
        .iter()
        .position(|option| option.title_digest.same(&digest))
        .and_then(|index| u32::try_from(index + 1).ok());
    let by_number = || rules.lexicon.read_option(text).filter(|number| !unclear_numbers.contains(number));
    let number = by_title.or_else(by_number)?;
    u8::try_from(number).ok().filter(|number| usize::from(*number) <= options.len() && *number > 0)
}
