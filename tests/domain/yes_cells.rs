//! The dimensions of "which yes counts".

use cscp::domain::message::MessageKind;

/// The one question, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    None,
    /// A confirmation that a bare yes may give.
    Mild,
    /// A confirmation that needs a button or a quote.
    Strict,
    Approval,
    /// A choice that a bare number may make.
    Choice,
    /// A choice that needs a button or a quote.
    NamedChoice,
}

/// What was sent since it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum History {
    /// Not even its prompt.
    Unattached,
    Attached,
    /// Then a question of the caller's own.
    OtherSince,
    /// Then another question, then this one again.
    OtherThenAgain,
    /// Then this one again.
    Again,
    /// Then this one again, not attached yet.
    AgainUnattached,
}

impl History {
    pub(crate) fn has_older_prompt(self) -> bool {
        matches!(self, Self::OtherThenAgain | Self::Again | Self::AgainUnattached)
    }

    pub(crate) fn has_newest_prompt(self) -> bool {
        !matches!(self, Self::Unattached | Self::AgainUnattached)
    }
}

/// When the message is received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Inside,
    /// One microsecond before the deadline.
    JustBefore,
    /// At the deadline.
    At,
    /// A day after.
    Later,
}

impl Moment {
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Self::At | Self::Later)
    }
}

/// Who writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// The one asked.
    Ana,
    /// The one asked, in another conversation.
    AnaElsewhere,
    /// Somebody else in the same conversation.
    Eve,
    /// An entitled approver, in another conversation.
    Boss,
}

/// When it says that it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Before,
    /// In the second of the question, with a fraction that shows it to be earlier.
    SameSecondEarlier,
    /// The second of the question, stamped as WhatsApp does.
    SameSecond,
    /// In the second that follows the prompt's.
    After,
    /// As it arrives.
    Now,
    Future,
}

/// What it quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quote {
    None,
    Newest,
    Older,
    Other,
}

/// What it says, once read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Say {
    Yes,
    No,
    /// The number of an option.
    Number,
    /// The title of an option.
    Title,
    /// "Yes, but…"
    Qualified,
    /// Nothing of the kind.
    Ordinary,
    /// A reaction taken away.
    Nothing,
}

/// A tapped button.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tap {
    Accept,
    Refuse,
    First,
    OutOfRange,
    Foreign,
}

/// What the message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Text(Say),
    Tap(MessageKind, Tap),
    /// A voice note, and whether its transcript is sure enough.
    Voice(Say, bool),
    Reaction(Say),
    /// Any other kind, with this caption.
    Media(MessageKind, Say),
}

/// One cell.
#[expect(clippy::struct_excessive_bools, reason = "each is a dimension of the table")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) item: Item,
    pub(crate) history: History,
    /// Whether the context's deadline comes before the item's own.
    pub(crate) context_first: bool,
    pub(crate) moment: Moment,
    pub(crate) identity_changed: bool,
    /// Whether voice and reactions answer.
    pub(crate) loose: bool,
    pub(crate) who: Who,
    pub(crate) sent: Sent,
    pub(crate) quote: Quote,
    pub(crate) content: Content,
    pub(crate) forwarded: bool,
}

pub(crate) const ITEMS: [Item; 6] =
    [Item::None, Item::Mild, Item::Strict, Item::Approval, Item::Choice, Item::NamedChoice];
pub(crate) const HISTORIES: [History; 6] = [
    History::Unattached,
    History::Attached,
    History::OtherSince,
    History::OtherThenAgain,
    History::Again,
    History::AgainUnattached,
];
pub(crate) const MOMENTS: [Moment; 4] = [Moment::Inside, Moment::JustBefore, Moment::At, Moment::Later];
pub(crate) const PEOPLE: [Who; 4] = [Who::Ana, Who::AnaElsewhere, Who::Eve, Who::Boss];
pub(crate) const SENT: [Sent; 6] =
    [Sent::Before, Sent::SameSecondEarlier, Sent::SameSecond, Sent::After, Sent::Now, Sent::Future];
pub(crate) const QUOTES: [Quote; 4] = [Quote::None, Quote::Newest, Quote::Older, Quote::Other];

/// Every content with whether voice and reactions answer.
pub(crate) fn contents() -> Vec<(Content, bool)> {
    let mut all = Vec::new();
    for say in [Say::Yes, Say::No, Say::Number, Say::Title, Say::Qualified, Say::Ordinary] {
        all.push((Content::Text(say), false));
    }
    for kind in [MessageKind::Interactive, MessageKind::Button] {
        for tap in [Tap::Accept, Tap::Refuse, Tap::First, Tap::OutOfRange, Tap::Foreign] {
            all.push((Content::Tap(kind, tap), false));
        }
    }
    for loose in [false, true] {
        for say in [Say::Yes, Say::Number, Say::Qualified, Say::Ordinary] {
            all.extend([(Content::Voice(say, false), loose), (Content::Voice(say, true), loose)]);
        }
        for say in [Say::Yes, Say::No, Say::Ordinary, Say::Nothing] {
            all.push((Content::Reaction(say), loose));
        }
    }
    let answers = [MessageKind::Text, MessageKind::Interactive, MessageKind::Button];
    let told = [MessageKind::Audio, MessageKind::Reaction];
    for kind in MessageKind::ALL.into_iter().filter(|kind| !answers.contains(kind) && !told.contains(kind)) {
        all.push((Content::Media(kind, Say::Yes), false));
    }
    all.extend([
        (Content::Media(MessageKind::Image, Say::Number), false),
        (Content::Media(MessageKind::Document, Say::Qualified), false),
        (Content::Media(MessageKind::Location, Say::Ordinary), false),
    ]);
    all
}
