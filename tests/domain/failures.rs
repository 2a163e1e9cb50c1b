//! The failures that others published, each by its name.

use cscp::domain::item::{ItemState, VoidReason};
use cscp::domain::operation::{Answer, AskWhat, Operation};
use cscp::domain::time::Timestamp;
use cscp::domain::verdict::{Reason, VerdictCode};
use serde_json::json;

use crate::harness::{SECOND, Stage, expect};
use crate::house::Pack;
use crate::operations::{Asked, ask, attach, bind, op, spec, target};

/// Question A, then question B in its place.
fn a_then_b(stage: &mut Stage, gap_seconds: i64) -> (Asked, Asked) {
    let context_id = stage.greet();
    let first = stage.confirm(&context_id, "c-a", "address.update");
    stage.wait(gap_seconds);
    let mut second = ask(&context_id, AskWhat::Confirmation(spec("c-b", "address.update", target())));
    second.supersede = true;
    let second = stage.prompted(second);
    stage.wait(2);
    (first, second)
}

#[test]
fn tapping_the_replaced_card_runs_neither() {
    let mut stage = Stage::new(Pack::House);
    let (first, second) = a_then_b(&mut stage, 2);
    let tap = stage.tap(&first.yes()).quoting(&first.prompt).op();
    expect(&stage.verdict(&tap), VerdictCode::Superseded, Reason::Replaced);
    assert!(stage.item(&second.id).is_open());
    let quote = stage.text("yes").quoting(&first.prompt).op();
    expect(&stage.verdict(&quote), VerdictCode::Superseded, Reason::Replaced);
}

#[test]
fn tapping_card_b_confirms_b() {
    let mut stage = Stage::new(Pack::House);
    let (first, second) = a_then_b(&mut stage, 2);
    let tap = stage.tap(&second.yes()).op();
    let verdict = stage.verdict(&tap);
    expect(&verdict, VerdictCode::Confirmed, Reason::Nonce);
    assert_eq!(verdict.item_id, Some(second.id));
    assert!(matches!(stage.item(&first.id).state, ItemState::Voided { .. }));
}

#[test]
fn an_expired_card_tapped_later_does_not_approve_the_newer_one() {
    let mut stage = Stage::new(Pack::House);
    let (first, second) = a_then_b(&mut stage, 300);
    let tap = stage.tap(&first.yes()).op();
    expect(&stage.verdict(&tap), VerdictCode::Expired, Reason::QuestionExpired);
    assert!(stage.item(&second.id).is_open());
}

#[test]
fn a_typed_yes_with_another_question_since_answers_that_one() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-a", "address.update");
    stage.wait(2);
    let other = stage.outbound(None).op();
    stage.done(&other);
    stage.wait(2);
    let yes = stage.text("yes").op();
    expect(&stage.verdict(&yes), VerdictCode::NotAnAnswer, Reason::AnswersOtherQuestion);
    // That one is answered now; ours is still not the one that was heard last.
    let yes = stage.text("yes").op();
    expect(&stage.verdict(&yes), VerdictCode::Ambiguous, Reason::OtherQuestionSince);
    assert!(stage.item(&asked.id).is_open());
    let statement = stage.outbound(None).statement().op();
    stage.done(&statement);
    let again = stage.outbound(Some(&asked.id)).op();
    stage.done(&again);
    stage.done(&crate::operations::attach(&asked.id, "prompt.again"));
    stage.wait(2);
    let yes = stage.text("yes").op();
    expect(&stage.verdict(&yes), VerdictCode::Confirmed, Reason::Bare);
}

#[test]
fn a_second_tap_is_told_what_the_first_one_did() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirmed(&context_id, "c-a", "order.cancel");
    let second = stage.tap(&asked.yes()).op();
    expect(&stage.verdict(&second), VerdictCode::AlreadyDecided, Reason::AlreadyGranted);
    stage.done(&op(bind(&context_id, spec("c-a", "order.cancel", target()), "a-1")));
    let third = stage.tap(&asked.yes()).op();
    expect(&stage.verdict(&third), VerdictCode::AlreadyDecided, Reason::AlreadySpent);
    let no = stage.tap(&asked.no()).op();
    expect(&stage.verdict(&no), VerdictCode::AlreadyDecided, Reason::AlreadySpent);
}

#[test]
fn one_delivery_twice_and_two_workers_bind_once() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-a", "order.cancel");
    stage.wait(2);
    let tap = stage.tap(&asked.yes()).op();
    for duplicate in [false, true] {
        let Answer::Turn { verdict, duplicate: told, .. } = stage.done(&tap) else { panic!("no turn") };
        expect(&verdict, VerdictCode::Confirmed, Reason::Nonce);
        assert_eq!(told, duplicate);
    }
    stage.done(&op(bind(&context_id, spec("c-a", "order.cancel", target()), "worker-1")));
    let second = stage.refused(&op(bind(&context_id, spec("c-a", "order.cancel", target()), "worker-2")));
    assert_eq!(second.code(), "already_bound");
}

#[test]
fn a_yes_sent_before_the_question_and_delivered_after_it_is_no_answer() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let early = stage.text("yes");
    stage.wait(2);
    let asked = stage.confirm(&context_id, "c-a", "address.update");
    stage.wait(2);
    expect(&stage.verdict(&early.op()), VerdictCode::Ambiguous, Reason::PredatesQuestion);
    let second = (stage.at().whole_seconds() - 2) * SECOND;
    // A fraction shows that it came first; the second before shows it too.
    for edge in [second - SECOND, second - 1, second + 1, second + 249_999] {
        let early = stage.text("yes").sent(Timestamp::from_micros(edge)).op();
        expect(&stage.verdict(&early), VerdictCode::Ambiguous, Reason::PredatesQuestion);
    }
    assert!(stage.item(&asked.id).is_open());
}

/// `WhatsApp` stamps whole seconds, and a quick "yes" bears the second of its question.
#[test]
fn a_yes_of_the_question_s_second_counts_when_it_arrives_after_the_question_was_registered_as_sent() {
    for attached_first in [true, false] {
        for stamp in [0, 250_000, 999_999] {
            let mut stage = Stage::new(Pack::House);
            let context_id = stage.greet();
            stage.wait(2);
            let what = AskWhat::Confirmation(spec("c-a", "address.update", target()));
            let asked = stage.asked(ask(&context_id, what));
            let sent = Timestamp::from_micros(stage.at().whole_seconds() * SECOND + stamp);
            let yes = stage.text("yes").sent(sent).op();
            if attached_first {
                stage.done(&attach(&asked.id, "prompt.a"));
                expect(&stage.verdict(&yes), VerdictCode::Confirmed, Reason::Bare);
            } else {
                expect(&stage.verdict(&yes), VerdictCode::Ambiguous, Reason::PromptNotSent);
                stage.done(&attach(&asked.id, "prompt.a"));
                expect(&stage.verdict(&yes), VerdictCode::Ambiguous, Reason::PromptNotSent);
            }
        }
    }
}

/// A yes from the near future counts against nothing that was said against it before it arrived.
#[test]
fn what_is_tolerated_of_clocks_lets_no_yes_pass_a_stop() {
    for ahead in [0, 1, 2 * SECOND, 2 * SECOND + 1] {
        let mut stage = Stage::new(Pack::Basic);
        let context_id = stage.greet();
        let asked = stage.confirm(&context_id, "c-a", "order.cancel");
        stage.wait(2);
        let wait = stage.text("espera").op();
        stage.done(&wait);
        let yes = stage.tap(&asked.yes()).sent(Timestamp::from_micros(stage.now + ahead)).op();
        expect(&stage.verdict(&yes), VerdictCode::Ambiguous, Reason::TakenBack);
    }
}

/// Meta's clock may be a second or two ahead of ours; nothing further.
#[test]
fn the_shipped_rules_tolerate_a_clock_that_is_two_seconds_ahead() {
    for (ahead, reason) in [(2 * SECOND, Reason::Bare), (2 * SECOND + 1, Reason::SentInFuture)] {
        let mut stage = Stage::new(Pack::Basic);
        let context_id = stage.greet();
        stage.confirm(&context_id, "c-a", "address.update");
        stage.wait(2);
        let yes = stage.text("yes").sent(Timestamp::from_micros(stage.now + ahead)).op();
        assert_eq!(stage.verdict(&yes).reason, reason, "{ahead}");
    }
}

#[test]
fn eighty_two_thousand_approved_is_not_eight_hundred_and_twenty_thousand_bound() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirmed(&context_id, "c-a", "payment.send");
    let before = stage.world.commands.clone();
    let decision = stage.decide(&op(bind(
        &context_id,
        spec("c-a", "payment.send", json!({"amount": "820000", "payee": "p-1"})),
        "a-1",
    )));
    assert_eq!(decision.result.unwrap_err().code(), "target_mismatch");
    assert!(matches!(stage.item(&asked.id).state, ItemState::Granted { .. }), "zero effects");
    assert!(stage.world.commands == before);
    stage.done(&op(bind(&context_id, spec("c-a", "payment.send", target()), "a-1")));
}

#[test]
fn a_nonce_counts_in_its_own_conversation_and_from_its_own_actor() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-a", "address.update");
    stage.wait(2);
    let elsewhere = stage.tap(&asked.yes()).in_conversation("conv-2").op();
    expect(&stage.verdict(&elsewhere), VerdictCode::Ambiguous, Reason::OtherConversation);
    let stranger = stage.tap(&asked.yes()).of("eve").op();
    expect(&stage.verdict(&stranger), VerdictCode::Ambiguous, Reason::OtherActor);
    let forwarded = stage.tap(&asked.yes()).forwarded().op();
    expect(&stage.verdict(&forwarded), VerdictCode::Ambiguous, Reason::Forwarded);
    assert!(stage.item(&asked.id).is_open());
}

#[test]
fn yes_no_wait_takes_the_yes_back() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-a", "address.update");
    stage.wait(2);
    let yes = stage.text("yes").op();
    expect(&stage.verdict(&yes), VerdictCode::Confirmed, Reason::Bare);
    stage.wait(1);
    let no = stage.text("no").op();
    expect(&stage.verdict(&no), VerdictCode::Declined, Reason::TakenBack);
    let ItemState::Voided { reason, by_message: Some(_), .. } = &stage.item(&asked.id).state else {
        panic!("not void")
    };
    assert_eq!(*reason, VoidReason::TakenBack);
    let operation: Operation = op(bind(&context_id, spec("c-a", "address.update", target()), "a-1"));
    assert_eq!(stage.refused(&operation).code(), "confirmation_required");
}
