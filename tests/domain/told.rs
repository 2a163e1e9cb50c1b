//! What a literal handler is told to do next: what was said, what it could be about, and whether it quotes that.

use cscp::domain::context::BlockedOn;
use cscp::domain::id::ContextId;
use cscp::domain::operation::Move;
use cscp::domain::verdict::{Next, Reason, VerdictCode};

use crate::harness::Stage;
use crate::house::Pack;
use crate::operations::{Asked, bind, cancel, moving, op, spec, target};

/// What the conversation has behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// Not even a message.
    Silence,
    /// An ordinary message.
    Greeting,
    /// A question that a bare answer answers.
    Mild,
    /// A question that takes a button or a quote.
    Strict,
    /// A question whose time is over.
    Expired,
    Declined,
    Bound,
    Cancelled,
    TakenBack,
    /// An approval that is asked of others, elsewhere.
    Approval,
    /// A person has taken over.
    Operator,
    /// A question was answered with yes, and then a person took over.
    OperatorAfterYes,
    /// It waits for something outside, with nobody behind it.
    External,
    /// A question of the handler's own, and nothing else.
    Own,
    /// One that was asked after a question that takes a bare answer.
    OwnAfterMild,
    /// One that was asked after a question that takes a button or a quote.
    OwnAfterStrict,
    /// One that was answered.
    OwnAnswered,
    /// One after which a question of ours was asked that takes a bare answer.
    MildAfterOwn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    Nothing,
    Prompt,
    OwnQuestion,
    AnotherMessage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Yes,
    No,
    Qualified,
    Ordinary,
}

const BEHIND: [Behind; 18] = [
    Behind::Silence,
    Behind::Greeting,
    Behind::Mild,
    Behind::Strict,
    Behind::Expired,
    Behind::Declined,
    Behind::Bound,
    Behind::Cancelled,
    Behind::TakenBack,
    Behind::Approval,
    Behind::Operator,
    Behind::OperatorAfterYes,
    Behind::External,
    Behind::Own,
    Behind::OwnAfterMild,
    Behind::OwnAfterStrict,
    Behind::OwnAnswered,
    Behind::MildAfterOwn,
];

/// What people say, and how it reads.
const TEXTS: [(&str, Says); 13] = [
    ("ok", Says::Yes),
    ("👍", Says::Yes),
    ("sim", Says::Yes),
    ("yes", Says::Yes),
    ("não", Says::No),
    ("no", Says::No),
    ("cancel", Says::No),
    ("Cancelar", Says::No),
    ("quero cancelar", Says::No),
    ("yes but later", Says::Qualified),
    ("sim, mas amanhã", Says::Qualified),
    ("where is my parcel", Says::Ordinary),
    ("obrigada!", Says::Ordinary),
];

type Told = (VerdictCode, Reason, Next);

const ORDINARY: Told = (VerdictCode::NotAnAnswer, Reason::OrdinaryMessage, Next::Route);
const OWN: Told = (VerdictCode::NotAnAnswer, Reason::AnswersOtherQuestion, Next::Route);
const COURTESY: Told = (VerdictCode::NotAnAnswer, Reason::NothingPending, Next::Route);

fn unsure(reason: Reason, next: Next) -> Told {
    (VerdictCode::Ambiguous, reason, next)
}

impl Behind {
    fn is_open(self) -> bool {
        matches!(self, Self::Mild | Self::MildAfterOwn | Self::Strict | Self::OwnAfterMild | Self::OwnAfterStrict)
    }

    /// What an answer that quotes the question is told where it has ended.
    fn ended(self) -> Option<Told> {
        Some(match self {
            Self::Expired => (VerdictCode::Expired, Reason::QuestionExpired, Next::AskAnew),
            Self::Declined => (VerdictCode::AlreadyDecided, Reason::AlreadyRefused, Next::TellDecision),
            Self::Bound => (VerdictCode::AlreadyDecided, Reason::AlreadySpent, Next::TellDecision),
            Self::Cancelled => (VerdictCode::Superseded, Reason::Cancelled, Next::AskAnew),
            Self::TakenBack => (VerdictCode::Superseded, Reason::TakenBack, Next::AskAnew),
            _ => return None,
        })
    }

    fn has_own(self) -> bool {
        self.is_after_own() || matches!(self, Self::OwnAnswered | Self::MildAfterOwn)
    }

    /// The handler's own question was heard last and waits for its answer.
    fn is_after_own(self) -> bool {
        matches!(self, Self::Own | Self::OwnAfterMild | Self::OwnAfterStrict)
    }

    fn has_prompt(self) -> bool {
        self.is_open() || self.ended().is_some()
    }
}

fn told(behind: Behind, says: Says, quote: Quote) -> Told {
    if matches!(behind, Behind::Operator | Behind::OperatorAfterYes) {
        let (code, reason, _) = told(Behind::Greeting, says, quote);
        return (code, reason, Next::LeaveToOperator);
    }
    let polar = matches!(says, Says::Yes | Says::No);
    let follows_own = behind.is_after_own() && quote == Quote::Nothing;
    match (says, quote) {
        (Says::Yes | Says::No | Says::Qualified, _) if follows_own || quote == Quote::OwnQuestion => OWN,
        (Says::Qualified, Quote::Prompt) => {
            unsure(Reason::QualifiedAnswer, if behind.is_open() { Next::AskAgain } else { Next::AskAnew })
        }
        (Says::Qualified, Quote::Nothing) if behind.is_open() => unsure(Reason::QualifiedAnswer, Next::AskAgain),
        (Says::Ordinary | Says::Qualified, _) => ORDINARY,
        (_, Quote::AnotherMessage) if behind.is_open() => unsure(Reason::QuotesOtherMessage, Next::AskWhatIsMeant),
        (_, Quote::AnotherMessage) => COURTESY,
        (_, Quote::Prompt) if !behind.is_open() => behind.ended().unwrap(),
        (_, Quote::Nothing) if matches!(behind, Behind::Expired | Behind::TakenBack) => behind.ended().unwrap(),
        (_, Quote::Nothing) if behind == Behind::Strict => unsure(Reason::BareAnswerNotAllowed, Next::AskAgain),
        (_, Quote::Nothing) if !behind.is_open() => COURTESY,
        (says, quote) => {
            assert!(polar && behind.is_open());
            let reason = if quote == Quote::Prompt { Reason::Quote } else { Reason::Bare };
            match says {
                Says::Yes => (VerdictCode::Confirmed, reason, Next::BindCommand),
                _ => (VerdictCode::Declined, reason, Next::AcknowledgeRefusal),
            }
        }
    }
}

fn stage(behind: Behind) -> (Stage, Option<Asked>) {
    let mut stage = Stage::new(Pack::House);
    stage.put("boss", &["approver"], Some("p-boss"));
    if behind == Behind::Silence {
        return (stage, None);
    }
    let context_id = stage.greet();
    let asked = asked(&mut stage, &context_id, behind);
    stage.wait(2);
    (stage, asked)
}

fn asked(stage: &mut Stage, context_id: &ContextId, behind: Behind) -> Option<Asked> {
    let name = if matches!(behind, Behind::Mild | Behind::OwnAfterMild | Behind::MildAfterOwn) {
        "address.update"
    } else {
        "refund.issue"
    };
    match behind {
        Behind::Silence | Behind::Greeting => return None,
        Behind::Operator | Behind::OperatorAfterYes | Behind::External => {
            if behind == Behind::OperatorAfterYes {
                stage.confirmed(context_id, "c-1", name);
            }
            let on = if behind == Behind::External { BlockedOn::External } else { BlockedOn::Operator };
            stage.done(&moving(context_id, Move::Block(on)));
            return None;
        }
        Behind::Own | Behind::OwnAnswered => {
            ask_own(stage);
            if behind == Behind::OwnAnswered {
                let yes = stage.text("sim").op();
                stage.done(&yes);
            }
            return None;
        }
        Behind::Approval => {
            stage.approval(context_id, "c-wire", "wire.send");
            return None;
        }
        _ => {}
    }
    if behind == Behind::MildAfterOwn {
        ask_own(stage);
        stage.wait(2);
    }
    let asked = stage.confirm(context_id, "c-1", name);
    stage.wait(2);
    let mut say = |button: String| {
        let tap = stage.tap(&button).op();
        stage.done(&tap);
    };
    match behind {
        Behind::Declined => say(asked.no()),
        Behind::Bound => {
            say(asked.yes());
            stage.done(&op(bind(context_id, spec("c-1", name, target()), "a-1")));
        }
        Behind::TakenBack => {
            say(asked.yes());
            say(asked.no());
        }
        Behind::Cancelled => drop(stage.done(&cancel(&asked.id))),
        Behind::Expired => drop(stage.wait(600)),
        Behind::OwnAfterMild | Behind::OwnAfterStrict => ask_own(stage),
        _ => {}
    }
    Some(asked)
}

/// As a handler asks under an id of its own.
fn ask_own(stage: &mut Stage) {
    let mut own = stage.outbound(None);
    own.0.message_id = crate::messages::message_id("own.question");
    stage.done(&own.op());
}

#[test]
fn a_literal_handler_is_told_what_to_do() {
    let mut cells = 0;
    for behind in BEHIND {
        for (text, says) in TEXTS {
            for quote in [Quote::Nothing, Quote::Prompt, Quote::OwnQuestion, Quote::AnotherMessage] {
                let exists = match quote {
                    Quote::Prompt => behind.has_prompt(),
                    Quote::OwnQuestion => behind.has_own(),
                    Quote::Nothing | Quote::AnotherMessage => true,
                };
                if !exists {
                    continue;
                }
                let (mut stage, asked) = stage(behind);
                let message = stage.text(text);
                let message = match quote {
                    Quote::Nothing => message,
                    Quote::Prompt => message.quoting(&asked.as_ref().unwrap().prompt),
                    Quote::OwnQuestion => message.quoting("own.question"),
                    Quote::AnotherMessage => message.quoting("wamid.another"),
                };
                let verdict = stage.verdict(&message.op());
                let got = (verdict.code, verdict.reason, verdict.next);
                assert_eq!(got, told(behind, says, quote), "{behind:?} {text:?} {quote:?}");
                let named = verdict.question_message_id.as_ref().map(cscp::domain::id::MessageId::as_str);
                assert_eq!(named, (got == OWN).then_some("own.question"), "{behind:?} {text:?} {quote:?}");
                // Whoever writes has a context from the first message on, whatever it says.
                let ana = crate::messages::principal(crate::messages::ANA);
                let open = stage.world.open_context(&crate::messages::conversation(crate::messages::HERE), &ana);
                assert!(open.is_some(), "{behind:?} {text:?} {quote:?}");
                cells += 1;
            }
        }
    }
    println!("what a literal handler is told: {cells} cells");
}
