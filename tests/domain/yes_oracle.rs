//! What the design says of each cell, written from its section 5 and not from the code. Where several conditions
//! fail at once the design gives no order, so each of their reasons is right.

use cscp::domain::message::MessageKind;
use cscp::domain::verdict::{Reason, VerdictCode};

use crate::yes_cells::{Cell, Content, History, Item, Moment, Quote, Say, Sent, Tap, Who};

/// Verdicts that are right for a cell.
pub(crate) type Right = Vec<(VerdictCode, Reason)>;

/// What an answer asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Accept,
    Refuse,
    Choose { exists: bool },
}

fn one(code: VerdictCode, reason: Reason) -> Right {
    vec![(code, reason)]
}

fn unsure(reasons: &[Reason]) -> Right {
    reasons.iter().map(|reason| (VerdictCode::Ambiguous, *reason)).collect()
}

/// A yes or a no, and nobody was asked: an ordinary message that says so.
fn courtesy() -> Right {
    one(VerdictCode::NotAnAnswer, Reason::NothingPending)
}

fn ordinary() -> Right {
    one(VerdictCode::NotAnAnswer, Reason::OrdinaryMessage)
}

impl Cell {
    fn is_choice(&self) -> bool {
        matches!(self.item, Item::Choice | Item::NamedChoice)
    }

    /// Open at the moment it is looked at.
    fn is_open(&self) -> bool {
        self.item != Item::None && !self.moment.is_over() && !self.identity_changed
    }

    fn quotes_us(&self) -> bool {
        self.item != Item::None && matches!(self.quote, Quote::Newest | Quote::Older)
    }

    /// The question is open and was put to the sender here. An approval is asked of others.
    fn is_mine(&self) -> bool {
        self.is_open() && self.who == Who::Ana && self.item != Item::Approval
    }

    /// It follows a question of the caller's own that Ana was asked last, and whose context has not ended.
    fn answers_own_question(&self, say: Say) -> bool {
        // Without an item nothing is put again.
        let none = self.item == Item::None;
        let asked_last = self.history == History::OtherSince || (none && self.history == History::OtherThenAgain);
        let in_time = none || !self.moment.is_over() || !self.context_over();
        let follows = matches!(self.sent, Sent::Now | Sent::Future) && !self.forwarded && self.who == Who::Ana;
        let reads = is_polar(say) || say == Say::Qualified || self.is_mine() && self.act(say).is_some();
        asked_last && in_time && follows && reads
    }

    /// At this moment the context's time is over too.
    fn context_over(&self) -> bool {
        self.context_first || self.item == Item::Approval || self.moment == Moment::Later
    }

    /// What words ask of the item.
    fn act(&self, say: Say) -> Option<Act> {
        match say {
            Say::Yes => Some(Act::Accept),
            Say::No => Some(Act::Refuse),
            Say::Number | Say::Title => self.is_choice().then_some(Act::Choose { exists: true }),
            Say::Qualified | Say::Ordinary | Say::Nothing => None,
        }
    }
}

fn is_polar(say: Say) -> bool {
    matches!(say, Say::Yes | Say::No)
}

pub(crate) fn expected(cell: &Cell) -> Right {
    match cell.content {
        Content::Text(say) => words(cell, say),
        // A button with an id of its own is somebody else's, whatever it quotes.
        Content::Tap(_, Tap::Foreign) if cell.quotes_us() => unsure(&[Reason::ForeignButton]),
        Content::Tap(_, Tap::Foreign) => one(VerdictCode::NotAnAnswer, Reason::ForeignButton),
        Content::Tap(_, tap) => tapped(cell, tap),
        Content::Voice(say, sure) => {
            // What was spoken answers nothing that it would not answer if it were typed.
            let typed = words(cell, say);
            let unheard = if cell.loose { Reason::LowConfidence } else { Reason::KindNotAccepted };
            let refused = |(code, reason)| match code {
                VerdictCode::NotAnAnswer => (code, reason),
                _ => (VerdictCode::Ambiguous, unheard),
            };
            if cell.loose && sure { typed } else { typed.into_iter().map(refused).collect() }
        }
        Content::Reaction(Say::Nothing) => one(VerdictCode::Ignored, Reason::ReactionRemoved),
        Content::Reaction(_) if !cell.loose => one(VerdictCode::Ignored, Reason::ReactionsOff),
        Content::Reaction(say) if cell.quotes_us() => words(cell, say),
        Content::Reaction(_) => one(VerdictCode::Ignored, Reason::QuotesOtherMessage),
        Content::Media(MessageKind::System, _) => one(VerdictCode::Ignored, Reason::IdentityNews),
        Content::Media(MessageKind::Edit, _) => one(VerdictCode::Ignored, Reason::EditRecorded),
        Content::Media(MessageKind::Revoke, _) => one(VerdictCode::Ignored, Reason::RevokeRecorded),
        Content::Media(MessageKind::Unsupported, _) => one(VerdictCode::NotAnAnswer, Reason::UnsupportedKind),
        Content::Media(_, say) => {
            let addressed = cell.quotes_us() || cell.is_mine();
            let reads = say == Say::Qualified || cell.act(say).is_some();
            if addressed && reads { unsure(&[Reason::KindNotAccepted]) } else { ordinary() }
        }
    }
}

fn tapped(cell: &Cell, tap: Tap) -> Right {
    if cell.item == Item::None {
        return unsure(&[Reason::NothingPending]);
    }
    let act = match tap {
        Tap::Accept | Tap::Foreign => Act::Accept,
        Tap::Refuse => Act::Refuse,
        Tap::First => Act::Choose { exists: cell.is_choice() },
        Tap::OutOfRange => Act::Choose { exists: false },
    };
    let strength = if cell.quotes_us() { Reason::NonceAndQuote } else { Reason::Nonce };
    named(cell, act, strength)
}

fn words(cell: &Cell, say: Say) -> Right {
    let reads = is_polar(say) || cell.is_mine() && cell.act(say).is_some();
    match cell.quote {
        Quote::None if cell.answers_own_question(say) => one(VerdictCode::NotAnAnswer, Reason::AnswersOtherQuestion),
        Quote::None => bare(cell, say),
        Quote::Newest | Quote::Older if cell.quotes_us() => match cell.act(say) {
            Some(act) => named(cell, act, Reason::Quote),
            None if say == Say::Qualified => {
                let mut right = unsure(&wrong_person(cell));
                right.extend(unsure(&[Reason::QualifiedAnswer]));
                right
            }
            None => ordinary(),
        },
        _ if reads && cell.is_mine() => unsure(&[Reason::QuotesOtherMessage]),
        _ if reads => courtesy(),
        _ => ordinary(),
    }
}

/// At every strength: this actor, this conversation (approvals: an entitled person), not forwarded.
fn wrong_person(cell: &Cell) -> Vec<Reason> {
    let mut why = Vec::new();
    if cell.forwarded {
        why.push(Reason::Forwarded);
    }
    match (cell.item, cell.who) {
        (Item::Approval, Who::Boss) | (_, Who::Ana) if cell.item != Item::Approval || cell.who == Who::Boss => {}
        (Item::Approval, _) => why.push(Reason::NotEntitled),
        (_, Who::AnaElsewhere | Who::Boss) => why.push(Reason::OtherConversation),
        _ => why.push(Reason::OtherActor),
    }
    why
}

/// Why it is over, if it is: its own deadline, its context's, or the identity it was asked of.
fn over(cell: &Cell) -> Right {
    let mut right = Vec::new();
    if cell.moment.is_over() {
        let context_first = cell.context_first || cell.item == Item::Approval;
        let reason = if context_first { Reason::ContextExpired } else { Reason::QuestionExpired };
        right.push((VerdictCode::Expired, reason));
    }
    if cell.identity_changed {
        right.push((VerdictCode::Superseded, Reason::IdentityChanged));
    }
    right
}

fn named(cell: &Cell, act: Act, strength: Reason) -> Right {
    let wrong = wrong_person(cell);
    if !wrong.is_empty() {
        return unsure(&wrong);
    }
    let over = over(cell);
    if !over.is_empty() {
        return over;
    }
    match (cell.is_choice(), act) {
        (true, Act::Choose { exists: true }) => one(VerdictCode::Selected, strength),
        (_, Act::Choose { .. }) => unsure(&[Reason::NoSuchOption]),
        (true, Act::Accept | Act::Refuse) => unsure(&[Reason::OptionExpected]),
        (false, Act::Accept) if cell.item == Item::Approval => one(VerdictCode::Approved, strength),
        (false, Act::Refuse) if cell.item == Item::Approval => one(VerdictCode::Rejected, strength),
        (false, Act::Accept) => one(VerdictCode::Confirmed, strength),
        (false, Act::Refuse) => one(VerdictCode::Declined, strength),
    }
}

fn bare(cell: &Cell, say: Say) -> Right {
    if !cell.is_mine() {
        return bare_without_question(cell, say);
    }
    if say == Say::Qualified {
        return unsure(&[Reason::QualifiedAnswer]);
    }
    let Some(act) = cell.act(say) else { return ordinary() };
    let mut why = Vec::new();
    let fails: [(bool, Reason); 7] = [
        (cell.forwarded, Reason::Forwarded),
        (matches!(cell.item, Item::Strict | Item::NamedChoice), Reason::BareAnswerNotAllowed),
        (cell.is_choice() && is_polar(say), Reason::OptionExpected),
        (cell.history == History::OtherSince, Reason::OtherQuestionSince),
        (matches!(cell.history, History::Unattached | History::AgainUnattached), Reason::PromptNotSent),
        (cell.sent == Sent::Future, Reason::SentInFuture),
        (matches!(cell.sent, Sent::Before | Sent::SameSecondEarlier), Reason::PredatesQuestion),
    ];
    why.extend(fails.iter().filter(|(fails, _)| *fails).map(|(_, reason)| *reason));
    if why.is_empty() { named(cell, act, Reason::Bare) } else { unsure(&why) }
}

/// Nothing that was asked of the sender is open here. An answer to the question heard last, if that was the sender's and its time
/// is over, is late; anything else that says yes or no is a courtesy.
fn bare_without_question(cell: &Cell, say: Say) -> Right {
    // An approval that is put again in this conversation is heard here, whoever it is asked of.
    let approval = cell.item == Item::Approval;
    let heard_here = !approval || cell.history.has_older_prompt();
    let heard_last =
        cell.item != Item::None && heard_here && cell.history != History::OtherSince && cell.who == Who::Ana;
    let late = heard_last && cell.moment.is_over() && cell.act(say).is_some();
    match (late, is_polar(say)) {
        // An identity that changed as well leaves nothing to be late for.
        (true, true) if cell.identity_changed => over(cell).into_iter().chain(courtesy()).collect(),
        (true, false) if cell.identity_changed => over(cell).into_iter().chain(ordinary()).collect(),
        (true, _) => over(cell),
        // A question to somebody else is open here. An approval that is asked elsewhere is none of theirs.
        (false, true) if cell.is_open() && heard_here && (cell.who == Who::Eve || approval && cell.who == Who::Ana) => {
            unsure(&[Reason::OtherActor])
        }
        // Whether Eve's turn looks at what Ana's changed identity was asked is nobody's promise.
        (false, true) if cell.identity_changed && cell.who == Who::Eve => {
            unsure(&[Reason::OtherActor]).into_iter().chain(courtesy()).collect()
        }
        (false, true) => courtesy(),
        (false, false) => ordinary(),
    }
}
