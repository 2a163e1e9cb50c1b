//! Limits of time and number that no table covers.

use cscp::domain::id::IdempotencyKey;
use cscp::domain::item::{ItemState, MAX_PROMPTS, VoidReason};
use cscp::domain::operation::{AskWhat, AttachPrompt, Operation, Target};
use cscp::domain::refusal::Refusal;
use cscp::domain::time::Timestamp;
use cscp::domain::verdict::{Reason, VerdictCode};

use crate::harness::{SECOND, Stage, expect};
use crate::house::Pack;
use crate::messages::{message_id, message_key_of};
use crate::operations::{approve, ask, attach, bind, op, options, spec, target};

#[test]
fn a_prompt_is_sent_after_it_was_registered_and_not_in_the_future() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.asked(ask(&context_id, options()));
    let registered = stage.now;
    stage.wait(5);
    let at = |micros: i64| {
        Operation::AttachPrompt(AttachPrompt {
            item_id: asked.id.clone(),
            message_id: message_id("prompt.x"),
            channel: crate::messages::channel(),
            message_key: message_key_of("prompt.x"),
            sent_at: Some(Timestamp::from_micros(micros)),
        })
    };
    let second = (registered / SECOND) * SECOND;
    for impossible in [second - 1, stage.now + 1] {
        assert_eq!(stage.refused(&at(impossible)), Refusal::PromptTimeImpossible);
    }
    // The channel stamps whole seconds, so it may seem to precede its registration by less than one.
    stage.done(&at(second));
}

#[test]
fn an_attached_prompt_stays_and_the_same_id_again_changes_nothing() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-1", "order.cancel");
    assert_eq!(stage.decide(&attach(&asked.id, &asked.prompt)).events.len(), 0);
    assert_eq!(stage.refused(&attach(&asked.id, "prompt.other")), Refusal::PromptAlreadyAttached);
    for _ in 1..MAX_PROMPTS {
        let again = stage.outbound(Some(&asked.id)).op();
        stage.done(&again);
    }
    let too_often = stage.outbound(Some(&asked.id)).op();
    assert_eq!(stage.refused(&too_often), Refusal::TooManyPrompts);
}

#[test]
fn an_approval_can_be_taken_back_until_it_ends_and_not_at_its_end() {
    for (early, code) in [(1, None), (0, Some("already_decided"))] {
        let mut stage = Stage::new(Pack::House);
        stage.put("boss", &["approver"], Some("p-boss"));
        let context_id = stage.greet();
        let asked = stage.approval(&context_id, "c-1", "wire.send");
        stage.done(&approve(&asked.id, "boss", true));
        let ItemState::Granted { bind_by, .. } = stage.item(&asked.id).state else { panic!("not granted") };
        // A sign of life, so that the context does not end with it.
        stage.now = bind_by.as_micros() - 1;
        stage.greet();
        stage.now = bind_by.as_micros() - early;
        let refused = stage.decide(&approve(&asked.id, "boss", false)).result.err();
        assert_eq!(refused.map(|refusal| refusal.code()).as_deref(), code);
    }
}

#[test]
fn as_many_ordinary_messages_as_policy_says_give_the_question_up() {
    let mut stage = Stage::new(Pack::Wary);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-1", "order.cancel");
    stage.wait(2);
    let unsure = stage.text("yes").op();
    expect(&stage.verdict(&unsure), VerdictCode::Ambiguous, Reason::BareAnswerNotAllowed);
    assert!(stage.item(&asked.id).is_open(), "an unsure answer is no ordinary message");
    stage.greet();
    assert!(matches!(stage.item(&asked.id).state, ItemState::Voided { reason: VoidReason::Unanswered, .. }));
    let late = stage.tap(&asked.yes()).op();
    expect(&stage.verdict(&late), VerdictCode::Superseded, Reason::Unanswered);
}

#[test]
fn only_ordinary_messages_and_accepted_answers_keep_a_context_alive() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirm(&context_id, "c-1", "order.cancel");
    let issued = stage.context(&context_id).expires_at;
    stage.wait(10);
    let unsure = stage.text("yes").op();
    stage.done(&unsure);
    assert_eq!(stage.context(&context_id).expires_at, issued, "an unsure answer does not slide");
    let tap = stage.tap(&asked.yes()).op();
    stage.done(&tap);
    assert_eq!(stage.context(&context_id).expires_at, issued.plus_seconds(10), "an accepted one does");
    stage.wait(10);
    stage.greet();
    assert_eq!(stage.context(&context_id).expires_at, issued.plus_seconds(20), "so does an ordinary one");
}

#[test]
fn what_the_pack_demanded_at_asking_is_demanded_at_binding() {
    let mut stage = Stage::new(Pack::House);
    stage.put("boss", &["approver"], Some("p-boss"));
    let context_id = stage.greet();
    stage.confirmed(&context_id, "c-1", "wire.send");
    // The pack of today knows no such command, and asks nobody to approve.
    stage.pack = Pack::Basic;
    let refusal = stage.refused(&op(bind(&context_id, spec("c-1", "wire.send", target()), "a-1")));
    assert_eq!(refusal.code(), "approval_required");
}

#[test]
fn the_key_is_part_of_the_agreement_even_where_the_digest_is_the_callers() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let mut command = spec("c-1", "address.update", target());
    command.target = Target::Asserted("mine".to_owned());
    let asked = stage.prompted(ask(&context_id, AskWhat::Confirmation(command.clone())));
    let tap = stage.tap(&asked.yes()).op();
    stage.done(&tap);
    command.idempotency_key = IdempotencyKey::new("another-key").unwrap();
    assert_eq!(stage.refused(&op(bind(&context_id, command, "a-1"))), Refusal::TargetMismatch);
}

#[test]
fn the_newest_of_two_questions_asked_in_one_instant_is_the_one_that_counts() {
    for seed in 0..32 {
        let mut stage = Stage::seeded(Pack::House, seed);
        let context_id = stage.greet();
        let request = || ask(&context_id, AskWhat::Confirmation(spec("c-1", "order.cancel", target())));
        stage.asked(request());
        let second = stage.asked(cscp::domain::operation::Ask { supersede: true, ..request() });
        stage.wait(2);
        let tap = stage.tap(&second.yes()).op();
        stage.done(&tap);
        stage.done(&op(bind(&context_id, spec("c-1", "order.cancel", target()), "a-1")));
    }
}
