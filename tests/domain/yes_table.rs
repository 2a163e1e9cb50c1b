//! Which yes counts: every cell of the cross product against the oracle.

use cscp::domain::id::ItemId;
use cscp::domain::item::ItemState;
use cscp::domain::message::{IdentityChange, MessageKind, Transcript};
use cscp::domain::operation::{Answer, AskWhat, Operation};
use cscp::domain::time::Timestamp;
use cscp::domain::verdict::Verdict;

use crate::harness::{SECOND, Stage};
use crate::house::Pack;
use crate::operations::{Asked, ask, attach, options, spec, target};
use crate::yes_cells::{
    Cell, Content, HISTORIES, History, ITEMS, Item, MOMENTS, Moment, PEOPLE, QUOTES, Quote, SENT, Say, Sent, Tap, Who,
    contents,
};
use crate::yes_oracle::expected;

/// A world with a question in it, and what a person could send back.
struct Base {
    stage: Stage,
    asked: Option<Asked>,
    newest: Option<String>,
    older: Option<String>,
    prompted_at: Timestamp,
}

fn what(item: Item) -> AskWhat {
    match item {
        Item::Mild => AskWhat::Confirmation(spec("c-1", "address.update", target())),
        Item::None | Item::Strict => AskWhat::Confirmation(spec("c-1", "order.cancel", target())),
        Item::Approval => AskWhat::Approval(spec("c-1", "wire.send", target())),
        Item::Choice | Item::NamedChoice => options(),
    }
}

fn base(cell: &Cell) -> Base {
    let mut stage = Stage::new(if cell.context_first { Pack::Brief } else { Pack::House });
    stage.put("boss", &["approver"], Some("p-boss"));
    let context_id = stage.greet();
    stage.wait(5);
    let mut base = Base { prompted_at: stage.at(), stage, asked: None, newest: None, older: None };
    if cell.item != Item::None {
        if cell.item == Item::NamedChoice {
            base.stage.pack = Pack::Named;
        }
        base.asked = Some(base.stage.asked(ask(&context_id, what(cell.item))));
    }
    send(&mut base, cell.history);
    if cell.identity_changed {
        let news = base.stage.news(IdentityChange::UserChangedNumber).in_conversation("conv-9").op();
        base.stage.done(&news);
    }
    base.stage.wait(10);
    if let Some(asked) = &base.asked {
        let deadline = base.stage.world.effective_deadline(base.stage.item(&asked.id)).as_micros();
        match cell.moment {
            Moment::Inside => {}
            Moment::JustBefore => base.stage.now = deadline - 1,
            Moment::At => base.stage.now = deadline,
            Moment::Later => base.stage.now = deadline + 86_400 * SECOND,
        }
    }
    base
}

fn send(base: &mut Base, history: History) {
    let id = base.asked.as_ref().map(|asked| asked.id.clone());
    if history != History::Unattached
        && let Some(id) = &id
    {
        base.stage.done(&attach(id, "prompt.first"));
        base.newest = Some("prompt.first".to_owned());
    }
    base.stage.wait(2);
    if matches!(history, History::OtherSince | History::OtherThenAgain) {
        let other = base.stage.outbound(None).op();
        base.stage.done(&other);
        base.stage.wait(2);
    }
    let Some(id) = id.filter(|_| history.has_older_prompt()) else { return };
    let again = base.stage.outbound(Some(&id)).op();
    base.stage.done(&again);
    base.older = base.newest.take();
    base.prompted_at = base.stage.at();
    if history != History::AgainUnattached {
        base.stage.done(&attach(&id, "prompt.second"));
        base.newest = Some("prompt.second".to_owned());
    }
}

fn words(say: Say) -> &'static str {
    match say {
        Say::Yes => "Sim!",
        Say::No => "não",
        Say::Number => "2",
        Say::Title => "red  ORDER",
        Say::Qualified => "yes but later",
        Say::Ordinary => "where is my parcel",
        Say::Nothing => "",
    }
}

fn operation(base: &mut Base, cell: &Cell) -> Operation {
    let stage = &mut base.stage;
    let nonce = base.asked.as_ref().map_or_else(|| "A".repeat(43), |asked| asked.nonce.clone());
    let mut message = match cell.content {
        Content::Text(say) => stage.text(words(say)),
        Content::Tap(kind, tap) => {
            let mut message = stage.message(kind);
            // The label that was shown with the id.
            message.0.text = Some(if tap == Tap::Refuse { "No" } else { "Yes" }.to_owned());
            message.0.button_id = Some(match tap {
                Tap::Accept => format!("cscp1.y.{nonce}"),
                Tap::Refuse => format!("cscp1.n.{nonce}"),
                Tap::First => format!("cscp1.1.{nonce}"),
                Tap::OutOfRange => format!("cscp1.9.{nonce}"),
                Tap::Foreign => "menu:yes".to_owned(),
            });
            message
        }
        Content::Voice(say, sure) => {
            let mut message = stage.message(MessageKind::Audio);
            let confidence = if sure { 0.9 } else { 0.899 };
            message.0.transcript = Some(Transcript { text: words(say).to_owned(), confidence });
            message
        }
        Content::Reaction(say) => {
            let mut message = stage.message(MessageKind::Reaction);
            let emoji = match say {
                Say::Yes => "👍",
                Say::No => "👎",
                Say::Nothing => "",
                _ => "😂",
            };
            message.0.text = Some(emoji.to_owned());
            message
        }
        Content::Media(kind, say) => {
            let mut message = stage.message(kind);
            message.0.text = Some(words(say).to_owned());
            message
        }
    };
    message.0.sent_at = match cell.sent {
        Sent::Before => Timestamp::from_micros(base.prompted_at.as_micros() - SECOND),
        Sent::SameSecondEarlier => Timestamp::from_micros(base.prompted_at.whole_seconds() * SECOND + 1),
        Sent::SameSecond => Timestamp::from_micros(base.prompted_at.whole_seconds() * SECOND),
        Sent::After => Timestamp::from_micros((base.prompted_at.whole_seconds() + 1) * SECOND),
        Sent::Now => base.stage.at(),
        Sent::Future => Timestamp::from_micros(base.stage.now + 2 * SECOND + 1),
    };
    message = match cell.who {
        Who::Ana => message,
        Who::AnaElsewhere => message.in_conversation("conv-3"),
        Who::Eve => message.of("eve"),
        Who::Boss => message.of("boss").in_conversation("conv-2"),
    };
    message = match cell.quote {
        Quote::None => message,
        Quote::Newest => message.quoting(base.newest.as_deref().unwrap_or("wamid.unknown")),
        Quote::Older => message.quoting(base.older.as_deref().unwrap_or("wamid.unknown")),
        Quote::Other => message.quoting("wamid.other"),
    };
    message.0.forwarded = cell.forwarded;
    message.op()
}

fn has_answer(stage: &Stage, id: &ItemId) -> bool {
    let partly = matches!(&stage.item(id).question,
        cscp::domain::item::Question::Approval { approvals, .. } if !approvals.is_empty());
    let now = &stage.item(id).state;
    partly || matches!(now, ItemState::Granted { .. } | ItemState::Refused { .. } | ItemState::Selected { .. })
}

/// Decides the cell and holds verdict and effects against the oracle.
fn decide(base: &Base, cell: &Cell, again: bool) {
    let mut base = Base {
        stage: base.stage.clone(),
        asked: base.asked.clone(),
        newest: base.newest.clone(),
        older: base.older.clone(),
        prompted_at: base.prompted_at,
    };
    if cell.loose {
        base.stage.pack = Pack::Loose;
    }
    let operation = operation(&mut base, cell);
    let verdict: Verdict = base.stage.verdict(&operation);
    let right = expected(cell);
    assert!(
        right.contains(&(verdict.code, verdict.reason)),
        "{cell:?}\n  got {:?}/{:?}\n  the design: {right:?}",
        verdict.code,
        verdict.reason
    );
    if let Some(asked) = &base.asked {
        assert_eq!(has_answer(&base.stage, &asked.id), verdict.code.is_acceptance(), "{cell:?}: {verdict:?}");
        let accepted = verdict.code.is_acceptance().then_some(&asked.id);
        assert!(accepted.is_none_or(|id| verdict.item_id.as_ref() == Some(id)), "{cell:?}: {verdict:?}");
    }
    if again {
        // A duplicate, even after its time, gets the first verdict; the stage checks that nothing moves.
        base.stage.wait(1);
        let Answer::Turn { verdict: second, duplicate, .. } = base.stage.done(&operation) else { panic!("no turn") };
        assert!(duplicate && second == verdict, "{cell:?}");
    }
}

/// Every message of one world.
fn messages(base: &Base, first: &Cell, cells: &mut u64) {
    for who in PEOPLE {
        for sent in SENT {
            for quote in QUOTES {
                let exists = match quote {
                    Quote::Newest => base.newest.is_some(),
                    Quote::Older => base.older.is_some(),
                    Quote::None | Quote::Other => true,
                };
                for (content, loose) in contents() {
                    for forwarded in [false, true] {
                        *cells += u64::from(exists);
                        if exists && cells.is_multiple_of(THINNING) {
                            let cell = Cell { loose, who, sent, quote, content, forwarded, ..*first };
                            decide(base, &cell, cells.is_multiple_of(3 * THINNING));
                        }
                    }
                }
            }
        }
    }
}

/// Of so many cells one is decided in an ordinary run; a prime, so that every pair of values occurs.
const THINNING: u64 = 7;

fn table(context_first: bool, identity_changed: bool) {
    let mut cells = 0;
    for item in ITEMS {
        for history in HISTORIES {
            assert!(history.has_newest_prompt() || history != History::Again);
            for moment in MOMENTS {
                let first = Cell {
                    item,
                    history,
                    context_first,
                    moment,
                    identity_changed,
                    loose: false,
                    who: Who::Ana,
                    sent: Sent::After,
                    quote: Quote::None,
                    content: Content::Text(Say::Yes),
                    forwarded: false,
                };
                messages(&base(&first), &first, &mut cells);
            }
        }
    }
    println!("which yes counts: {} of {cells} cells decided", cells / THINNING);
}

#[test]
fn which_yes_counts_where_the_question_ends_first() {
    table(false, false);
}

#[test]
fn which_yes_counts_where_the_context_ends_first() {
    table(true, false);
}

#[test]
fn which_yes_counts_after_the_identity_changed() {
    table(false, true);
    table(true, true);
}
