//! What was found from outside, as cases of their classes.

use cscp::domain::command::Outcome;
use cscp::domain::id::AttemptId;
use cscp::domain::item::{ItemState, VoidReason};
use cscp::domain::operation::{Answer, AskWhat, Operation, RecordResult};
use cscp::domain::policy::SafetyClass;
use cscp::domain::time::Timestamp;
use cscp::domain::verdict::{Reason, VerdictCode};
use serde_json::json;

use crate::harness::{SECOND, Stage, expect};
use crate::house::Pack;
use crate::messages::message_id;
use crate::operations::{ask, attach, bind, cancel, op, result, spec, take_over, target};

fn at(stage: &Stage, seconds: i64) -> Timestamp {
    Timestamp::from_micros(stage.now + seconds * SECOND)
}

/// A command that was bound by the first attempt and taken over by the second one.
fn taken_over() -> Stage {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let command = || spec("c-1", "order.status", target());
    stage.done(&op(bind(&context_id, command(), "first")));
    stage.wait(301);
    stage.done(&take_over(command(), "second", "first"));
    stage
}

/// A stop that was sent after the yes and arrives before it.
#[test]
fn a_stop_counts_in_whatever_order_it_arrives() {
    for words in ["espera", "wait", "mudei de ideia", "errei, não era esse", "no, it should be 100"] {
        for quotes in [false, true] {
            let mut stage = Stage::new(Pack::House);
            let context_id = stage.greet();
            let asked = stage.confirm(&context_id, "c-1", "order.cancel");
            stage.wait(5);
            let (earlier, later) = (at(&stage, -3), at(&stage, -1));
            let mut stop = stage.text(words).sent(later);
            if quotes {
                stop = stop.quoting(&asked.prompt);
            }
            stage.done(&stop.op());
            let yes = stage.tap(&asked.yes()).sent(earlier).op();
            expect(&stage.verdict(&yes), VerdictCode::Ambiguous, Reason::TakenBack);
            assert!(stage.item(&asked.id).is_open());
            // A yes that was sent after the stop counts.
            stage.wait(2);
            let yes = stage.tap(&asked.yes()).op();
            assert_eq!(stage.verdict(&yes).code, VerdictCode::Confirmed, "{words}");
        }
    }
}

/// One of two who approve takes it back while the other one has not answered.
#[test]
fn a_partial_approval_is_taken_back() {
    for (words, own) in [("wait", false), ("no", true), ("mudei de ideia", true)] {
        let mut stage = Stage::new(Pack::House);
        stage.put("boss", &["approver"], Some("p-boss"));
        stage.put("chief", &["approver"], Some("p-chief"));
        let context_id = stage.greet();
        let asked = stage.approval(&context_id, "c-1", "wire.big");
        stage.wait(2);
        let tap = stage.tap(&asked.yes()).of("boss").in_conversation("conv-b");
        let given = tap.0.message_id.to_string();
        assert_eq!(stage.verdict(&tap.op()).code, VerdictCode::Approved);
        stage.wait(2);
        let quoted = if own { given } else { asked.prompt.clone() };
        let stop = stage.text(words).of("boss").in_conversation("conv-b").quoting(&quoted).op();
        assert_eq!(stage.verdict(&stop).code, VerdictCode::Rejected, "{words}");
        assert!(!stage.item(&asked.id).is_open(), "{words}");
    }
}

/// A question raised the class of its command; in another context it is raised all the same.
#[test]
fn a_raised_class_counts_in_every_context() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let mut raised = spec("c-1", "order.status", target());
    raised.raised_class = Some(SafetyClass::S3);
    let asked = stage.prompted(ask(&context_id, AskWhat::Confirmation(raised)));
    stage.wait(2);
    let no = stage.tap(&asked.no()).op();
    assert_eq!(stage.verdict(&no).code, VerdictCode::Declined);
    let hello = stage.text("hello there").in_conversation("conv-2").op();
    let Answer::Turn { context: Some(other), .. } = stage.done(&hello) else { panic!("no context") };
    let elsewhere = bind(&other.context_id, spec("c-1", "order.status", target()), "a-1");
    assert_eq!(stage.refused(&op(elsewhere)).code(), "confirmation_required");
}

/// What a replaced attempt says late does not end the time of the one who owns the execution.
#[test]
fn a_replaced_attempt_ends_nobodys_time() {
    let mut stage = taken_over();
    let command = || spec("c-1", "order.status", target());
    let attempt = |name: &str| Some(AttemptId::new(name).unwrap());
    let mut late = result("c-1", Outcome::Unknown, None);
    late.attempt_id = attempt("first");
    stage.done(&Operation::RecordResult(late));
    assert_eq!(stage.refused(&take_over(command(), "third", "second")).code(), "execution_not_unknown");
    // Neither does somebody who names no attempt; the owner itself may give up.
    stage.done(&Operation::RecordResult(result("c-1", Outcome::Unknown, None)));
    assert_eq!(stage.refused(&take_over(command(), "third", "second")).code(), "execution_not_unknown");
    let mut own = result("c-1", Outcome::Unknown, None);
    own.attempt_id = attempt("second");
    stage.done(&Operation::RecordResult(own));
    let Answer::Bound { execute: true, .. } = stage.done(&take_over(command(), "third", "second")) else {
        panic!("not taken over")
    };
}

/// The end of a command is recorded however often it was reported on before.
#[test]
fn the_end_is_always_recorded() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    stage.done(&op(bind(&context_id, spec("c-1", "order.status", target()), "first")));
    for _ in 0..64 {
        stage.done(&Operation::RecordResult(result("c-1", Outcome::InProgress, None)));
    }
    let more = Operation::RecordResult(result("c-1", Outcome::InProgress, None));
    assert_eq!(stage.refused(&more).code(), "too_many_results");
    stage.done(&Operation::RecordResult(result("c-1", Outcome::Succeeded, None)));
    assert_eq!(
        stage.refused(&Operation::RecordResult(result("c-1", Outcome::Failed, None))).code(),
        "too_many_results"
    );
    let taken = stage.refused(&take_over(spec("c-1", "order.status", target()), "second", "first"));
    assert_eq!(taken.code(), "execution_not_unknown");
}

/// A prompt of one channel is not what somebody quotes in another one.
#[test]
fn a_quote_counts_in_the_channel_of_its_prompt() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-1", "order.cancel");
    stage.wait(2);
    let mut yes = stage.text("yes").quoting(&asked.prompt);
    yes.0.channel = cscp::domain::id::Channel::new("line-2").unwrap();
    assert_eq!(stage.verdict(&yes.op()).code, VerdictCode::Ambiguous);
    assert!(stage.item(&asked.id).is_open());
}

/// A deletion that does not say of what.
#[test]
fn a_deletion_without_a_reference_stops_what_waits() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirmed(&context_id, "c-1", "order.cancel");
    let deletion = stage.message(cscp::domain::message::MessageKind::Revoke).op();
    expect(&stage.verdict(&deletion), VerdictCode::Declined, Reason::TakenBack);
    assert!(matches!(stage.item(&asked.id).state, ItemState::Voided { reason: VoidReason::TakenBack, .. }));
}

/// A number that stands in the title of another option picks nothing; the title and the button do.
#[test]
fn a_number_in_another_title_picks_nothing() {
    for (titles, typed) in [
        (["3 parcelas", "2 parcelas", "12 parcelas"], "3"),
        (["Mesa 3", "Mesa 1", "Mesa 2"], "3"),
        (["2x R$ 50", "1x R$ 100", "outra"], "1"),
        (["Pedido 2", "Pedido 1", "outro"], "opção 2"),
    ] {
        let mut stage = Stage::new(Pack::House);
        let context_id = stage.greet();
        let options = titles.map(|title| (title.to_owned(), json!(title))).to_vec();
        let asked = stage.prompted(ask(&context_id, AskWhat::Disambiguation(options)));
        stage.wait(2);
        let number = stage.text(typed).op();
        assert_ne!(stage.verdict(&number).code, VerdictCode::Selected, "{typed} of {titles:?}");
        let title = stage.text(titles[0]).op();
        assert_eq!(stage.verdict(&title).code, VerdictCode::Selected, "{titles:?}");
        assert!(!stage.item(&asked.id).is_open());
    }
    // Where the titles count as the places do, a number is clear.
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let options = ["1x", "2x", "3x"].map(|title| (title.to_owned(), json!(title))).to_vec();
    stage.prompted(ask(&context_id, AskWhat::Disambiguation(options)));
    stage.wait(2);
    let number = stage.text("2").op();
    assert_eq!(stage.verdict(&number).code, VerdictCode::Selected);
}

/// Two questions reach the person in another order than the one in which they were asked for: the card that was seen last may
/// be the one that does not count any more.
#[test]
fn a_bare_yes_is_about_the_card_that_was_seen_last() {
    // Whether the first question is replaced, and whether its card was sent after the second one's.
    for (replaced, sent_last) in [(true, true), (true, false), (false, true)] {
        let mut stage = Stage::new(Pack::House);
        let context_id = stage.greet();
        let first = stage.asked(ask(&context_id, AskWhat::Confirmation(spec("c-1", "address.update", target()))));
        let second = if replaced {
            let mut ask = ask(&context_id, AskWhat::Confirmation(spec("c-2", "address.update", target())));
            ask.supersede = true;
            stage.wait(2);
            stage.prompted(ask)
        } else {
            stage.wait(2);
            let hello = stage.text("hello there").of("bob").op();
            let Answer::Turn { context: Some(other), .. } = stage.done(&hello) else { panic!("no context") };
            stage.confirm(&other.context_id, "c-2", "address.update")
        };
        stage.wait(2);
        let sent_at = at(&stage, if sent_last { 0 } else { -3 });
        let Operation::AttachPrompt(mut late) = attach(&first.id, "prompt.late") else { panic!("no prompt") };
        late.sent_at = Some(sent_at);
        let late = Operation::AttachPrompt(late);
        if replaced {
            assert_eq!(stage.refused(&late).code(), "item_voided");
            assert!(
                stage.item(&first.id).was_prompted_by(&message_id("prompt.late")),
                "a quote of it is told what it is"
            );
        } else {
            stage.done(&late);
        }
        stage.wait(2);
        let yes = stage.text("sim").of(if replaced { "ana" } else { "bob" }).op();
        let verdict = stage.verdict(&yes);
        if sent_last {
            assert_ne!(verdict.code, VerdictCode::Confirmed, "{replaced}");
            assert!(stage.item(&second.id).is_open());
        } else {
            expect(&verdict, VerdictCode::Confirmed, Reason::Bare);
        }
    }
}

/// However much the others report, the first report of an attempt that was replaced is recorded.
#[test]
fn a_late_result_is_never_lost() {
    let mut stage = taken_over();
    let mut report = |attempt: &str, outcome| {
        let attempt_id = Some(AttemptId::new(attempt).unwrap());
        let result = RecordResult { attempt_id, ..result("c-1", outcome, None) };
        stage.decide(&Operation::RecordResult(result)).result.is_ok()
    };
    for _ in 0..64 {
        report("second", Outcome::InProgress);
    }
    assert!(report("second", Outcome::Succeeded));
    assert!(report("first", Outcome::Succeeded), "what may have been done twice is told");
    assert!(!report("first", Outcome::Succeeded), "once");
}

/// Whatever has become of a question, and however many cards of it were sent at whatever time they claim: its card is heard,
/// and a yes that quotes it is told what it is.
#[test]
fn every_card_of_an_ended_question_is_heard() {
    for end in ["cancelled", "declined", "bound"] {
        for claimed in [None, Some(3_600), Some(1), Some(-3_600)] {
            let mut stage = Stage::new(Pack::House);
            let context_id = stage.greet();
            let first = stage.confirm(&context_id, "c-1", "address.update");
            stage.wait(2);
            match end {
                "cancelled" => drop(stage.done(&cancel(&first.id))),
                "declined" => {
                    let no = stage.tap(&first.no()).op();
                    stage.done(&no);
                }
                _ => {
                    let yes = stage.tap(&first.yes()).op();
                    stage.done(&yes);
                    stage.done(&op(bind(&context_id, spec("c-1", "address.update", target()), "a-1")));
                }
            }
            stage.confirm(&context_id, "c-2", "address.update");
            stage.wait(2);
            let Operation::AttachPrompt(mut again) = attach(&first.id, "prompt.again") else { panic!("no prompt") };
            again.sent_at = claimed.map(|seconds| at(&stage, seconds));
            // One that was answered says so in its state; one that is void is refused.
            let named = stage.decide(&Operation::AttachPrompt(again)).result;
            assert_eq!(named.is_err(), end == "cancelled", "{end}: {named:?}");
            stage.wait(2);
            let bare = stage.text("yes").op();
            assert_ne!(stage.verdict(&bare).code, VerdictCode::Confirmed, "{end} {claimed:?}");
            let quote = stage.text("yes").quoting("prompt.again").op();
            assert_eq!(stage.verdict(&quote).item_id.as_ref(), Some(&first.id), "{end} {claimed:?}");
        }
    }
}
