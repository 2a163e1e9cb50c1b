//! What stops a yes that waits to be bound: every cell against what the promise says, written out once more.
//!
//! The promise: between yes and bind, a no, a call-off or a "wait" of the one who said yes takes it back, whatever kind
//! of message carries it, and so does the deletion or edit of the yes. Whoever else writes stops nothing, and so does
//! what names another question.

use cscp::domain::id::ContextId;
use cscp::domain::item::{ItemState, VoidReason};
use cscp::domain::message::MessageKind;
use cscp::domain::operation::Operation;
use cscp::domain::verdict::{Reason, Verdict, VerdictCode};

use crate::harness::Stage;
use crate::house::Pack;
use crate::messages::Message;
use crate::operations::{Asked, ask, bind, op, options, spec, target};

/// What else is open when the message comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    /// A question that a bare no answers.
    MildQuestion,
    /// A question that takes a button or a quote.
    StrictQuestion,
    /// A choice between options.
    Choice,
    /// An approval asked of others.
    Approval,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    No,
    NoAndMore,
    CallOff,
    Wait,
    Yes,
    Courtesy,
    Ordinary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text(Says),
    /// A voice note of which the transcript is unsure.
    Voice(Says),
    Caption(Says),
    Reaction(Says),
    /// A button of the caller's own with this label.
    ForeignTap(Says),
    /// The no of the confirmation itself.
    OurNo,
    DeletesYes,
    EditsYes,
    DeletesOther,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Giver,
    SomebodyElse,
    GiverElsewhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    Nothing,
    Prompt,
    AnotherMessage,
    OpenQuestion,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    beside: Beside,
    form: Form,
    who: Who,
    quote: Quote,
    forwarded: bool,
    /// Whether the time to bind is over.
    over: bool,
}

const BESIDES: [Beside; 5] =
    [Beside::Nothing, Beside::MildQuestion, Beside::StrictQuestion, Beside::Choice, Beside::Approval];
const WORDS: [Says; 7] =
    [Says::No, Says::NoAndMore, Says::CallOff, Says::Wait, Says::Yes, Says::Courtesy, Says::Ordinary];
const PEOPLE: [Who; 3] = [Who::Giver, Who::SomebodyElse, Who::GiverElsewhere];
const QUOTES: [Quote; 4] = [Quote::Nothing, Quote::Prompt, Quote::AnotherMessage, Quote::OpenQuestion];

fn forms() -> Vec<Form> {
    let worded = WORDS.into_iter().flat_map(|says| {
        [Form::Text(says), Form::Voice(says), Form::Caption(says), Form::Reaction(says), Form::ForeignTap(says)]
    });
    worded.chain([Form::OurNo, Form::DeletesYes, Form::EditsYes, Form::DeletesOther]).collect()
}

impl Says {
    fn text(self) -> &'static str {
        match self {
            Self::No => "não",
            Self::NoAndMore => "não, espera aí que eu errei",
            Self::CallOff => "mudei de ideia",
            Self::Wait => "wait",
            Self::Yes => "sim",
            Self::Courtesy => "obrigado!",
            Self::Ordinary => "a que horas vocês abrem amanhã de manhã",
        }
    }

    fn emoji(self) -> &'static str {
        match self {
            Self::No | Self::NoAndMore => "👎",
            Self::CallOff | Self::Wait => "✋",
            Self::Yes | Self::Courtesy | Self::Ordinary => "👍",
        }
    }

    fn stops(self) -> bool {
        matches!(self, Self::No | Self::NoAndMore | Self::CallOff | Self::Wait)
    }
}

impl Cell {
    /// The promise.
    fn stops(self) -> bool {
        // Nobody else has the no button of the question, wherever it is tapped.
        let own_button = self.form == Form::OurNo && self.who == Who::GiverElsewhere;
        if self.over || (self.who != Who::Giver && !own_button) {
            return false;
        }
        let says = match self.form {
            Form::OurNo | Form::DeletesYes | Form::EditsYes => return true,
            Form::DeletesOther => return false,
            Form::Text(says)
            | Form::Voice(says)
            | Form::Caption(says)
            | Form::Reaction(says)
            | Form::ForeignTap(says) => says,
        };
        // A plain no that the open question takes is its answer, and stops nothing else.
        let taken = match self.beside {
            Beside::MildQuestion => matches!(self.quote, Quote::Nothing | Quote::OpenQuestion),
            Beside::StrictQuestion => self.quote == Quote::OpenQuestion,
            Beside::Nothing | Beside::Choice | Beside::Approval => false,
        };
        let answers_another = taken && self.form == Form::Text(Says::No) && !self.forwarded;
        says.stops() && !answers_another
    }
}

struct Base {
    stage: Stage,
    context_id: ContextId,
    given: Asked,
    yes: String,
    beside: Option<Asked>,
}

fn base(beside: Beside, over: bool) -> Base {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let given = stage.confirm(&context_id, "c-given", "order.cancel");
    stage.wait(2);
    let yes = stage.tap(&given.yes());
    let yes_id = yes.0.message_id.to_string();
    stage.done(&yes.op());
    let open = match beside {
        Beside::Nothing => None,
        Beside::MildQuestion => Some(stage.confirm(&context_id, "c-mild", "address.update")),
        Beside::StrictQuestion => Some(stage.confirm(&context_id, "c-strict", "order.cancel")),
        Beside::Choice => Some(stage.prompted(ask(&context_id, options()))),
        Beside::Approval => Some(stage.approval(&context_id, "c-wire", "wire.send")),
    };
    stage.wait(if over { 70 } else { 2 });
    Base { stage, context_id, given, yes: yes_id, beside: open }
}

fn message(base: &mut Base, cell: Cell) -> Message {
    let stage = &mut base.stage;
    let mut message = match cell.form {
        Form::Text(says) => stage.text(says.text()),
        Form::Voice(says) => stage.voice(says.text(), 0.1),
        Form::Caption(says) => {
            let mut message = stage.message(MessageKind::Image);
            message.0.text = Some(says.text().to_owned());
            message
        }
        Form::Reaction(says) => {
            let mut message = stage.message(MessageKind::Reaction);
            message.0.text = Some(says.emoji().to_owned());
            message
        }
        Form::ForeignTap(says) => {
            let mut message = stage.tap("menu:other");
            message.0.text = Some(says.text().to_owned());
            message
        }
        Form::OurNo => stage.tap(&base.given.no()),
        Form::DeletesYes | Form::DeletesOther => stage.message(MessageKind::Revoke),
        Form::EditsYes => stage.message(MessageKind::Edit),
    };
    message = match cell.who {
        Who::Giver => message,
        Who::SomebodyElse => message.of("eve"),
        Who::GiverElsewhere => message.in_conversation("conv-3"),
    };
    message.0.forwarded = cell.forwarded;
    match cell.form {
        Form::DeletesYes | Form::EditsYes => message.quoting(&base.yes),
        Form::DeletesOther => message.quoting("wamid.other"),
        _ => match (cell.quote, &base.beside) {
            (Quote::Nothing, _) | (Quote::OpenQuestion, None) => message,
            (Quote::Prompt, _) => message.quoting(&base.given.prompt),
            (Quote::AnotherMessage, _) => message.quoting("wamid.another"),
            (Quote::OpenQuestion, Some(open)) => message.quoting(&open.prompt),
        },
    }
}

fn check(mut base: Base, cell: Cell) {
    let written = message(&mut base, cell).op();
    let before = base.beside.as_ref().map(|open| base.stage.item(&open.id).state.clone());
    let verdict: Verdict = base.stage.verdict(&written);
    let state = base.stage.item(&base.given.id).state.clone();
    let stopped = matches!(state, ItemState::Voided { reason: VoidReason::TakenBack, .. });
    assert_eq!(stopped, cell.stops(), "{cell:?}: {verdict:?}, {state:?}");
    let told = matches!(verdict.reason, Reason::TakenBack | Reason::Postponed) && verdict.code == VerdictCode::Declined;
    assert_eq!(told, stopped, "{cell:?}: {verdict:?}");
    if stopped {
        assert_eq!(verdict.item_id.as_ref(), Some(&base.given.id), "{cell:?}");
        let after = base.beside.as_ref().map(|open| base.stage.item(&open.id).state.clone());
        assert_eq!(before, after, "what stops the one leaves the other open: {cell:?}");
        let binding: Operation = op(bind(&base.context_id, spec("c-given", "order.cancel", target()), "a-1"));
        assert_eq!(base.stage.refused(&binding).code(), "confirmation_required", "{cell:?}");
    }
}

#[test]
fn what_stops_a_yes_and_what_does_not() {
    let mut cells = 0_u32;
    for beside in BESIDES {
        for over in [false, true] {
            for form in forms() {
                for who in PEOPLE {
                    for quote in QUOTES {
                        for forwarded in [false, true] {
                            let cell = Cell { beside, form, who, quote, forwarded, over };
                            check(base(beside, over), cell);
                            cells += 1;
                        }
                    }
                }
            }
        }
    }
    println!("what stops a yes: {cells} cells");
}

/// Every yes that waits is stopped by words that name none, and the newest is named.
#[test]
fn words_that_name_no_question_stop_every_yes_that_waits() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let first = stage.confirmed(&context_id, "c-1", "order.cancel");
    let second = stage.confirmed(&context_id, "c-2", "address.update");
    stage.wait(1);
    let no = stage.text("não, para tudo").op();
    let verdict = stage.verdict(&no);
    assert_eq!((verdict.reason, verdict.item_id.as_ref()), (Reason::TakenBack, Some(&second.id)));
    for asked in [first, second] {
        assert!(matches!(stage.item(&asked.id).state, ItemState::Voided { reason: VoidReason::TakenBack, .. }));
    }
}

/// A reaction that said yes is taken away: where reactions answer, that is a deletion.
#[test]
fn a_reaction_that_is_taken_away_stops_its_yes() {
    let mut stage = Stage::new(Pack::Loose);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-1", "address.update");
    stage.wait(2);
    let mut reaction = |text: &str| {
        let mut message = stage.message(MessageKind::Reaction).quoting(&asked.prompt);
        message.0.text = Some(text.to_owned());
        stage.verdict(&message.op())
    };
    assert_eq!(reaction("👍").code, VerdictCode::Confirmed);
    let gone = reaction("");
    assert_eq!((gone.code, gone.reason), (VerdictCode::Declined, Reason::TakenBack));
}
