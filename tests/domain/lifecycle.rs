//! Every cell of (status × event) through a decision: the resulting status, what is voided, and what a refusal says.

use cscp::domain::command::Outcome;
use cscp::domain::context::BlockedOn;
use cscp::domain::id::{ContextId, ItemId};
use cscp::domain::item::{ItemState, VoidReason};
use cscp::domain::lifecycle::{LifecycleEvent, Status};
use cscp::domain::operation::{Answer, AskWhat, Operation};
use cscp::domain::refusal::Refusal;
use cscp::domain::verdict::{Reason, VerdictCode};

use crate::harness::{Stage, expect};
use crate::house::Pack;
use crate::operations::{BLOCK, CLOSE, ask, bind, cancel, moving, op, options, result, spec, sweep, target};

/// A context in a status, with the question that is or was open in it.
fn in_status(status: Status) -> (Stage, ContextId, ItemId) {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    // A bound command, for results that come later.
    let order = bind(&context_id, spec("c-read", "order.status", target()), "a-0");
    stage.done(&op(order));
    let asked = stage.confirm(&context_id, "c-1", "order.cancel");
    stage.wait(1);
    match status {
        Status::Pending => {}
        Status::Active => {
            stage.done(&cancel(&asked.id));
        }
        Status::Blocked => {
            stage.done(&moving(&context_id, BLOCK));
        }
        Status::Closed => {
            stage.done(&moving(&context_id, CLOSE));
        }
        Status::Expired => {
            let deadline = stage.context(&context_id).expires_at;
            stage.go_to(deadline).done(&sweep());
        }
    }
    assert_eq!(stage.context(&context_id).state.status(), status);
    (stage, context_id, asked.id)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Open,
    Ask,
    Answer,
    Block,
    Unblock,
    Close,
    Expire,
    Waiting,
    Ended,
    EndedAndClose,
}

const EVENTS: [What; 10] = [
    What::Open,
    What::Ask,
    What::Answer,
    What::Block,
    What::Unblock,
    What::Close,
    What::Expire,
    What::Waiting,
    What::Ended,
    What::EndedAndClose,
];

/// What a cell must give: a status, or the code of a refusal.
const TABLE: &str = "
    active   context_already_open pending          active  blocked            invalid_transition closed             expired blocked active  closed
    pending  context_already_open question_pending active  blocked            invalid_transition closed             expired blocked pending closed
    blocked  context_already_open context_blocked  blocked invalid_transition active             closed             expired blocked blocked closed
    expired  opened               context_expired  expired invalid_transition invalid_transition invalid_transition expired expired expired expired
    closed   opened               context_closed   closed  invalid_transition invalid_transition invalid_transition closed  closed  closed  closed";

fn happens(stage: &mut Stage, context_id: &ContextId, item_id: &ItemId, what: What) -> Result<Answer, Refusal> {
    let context = stage.context(context_id).clone();
    let operation = match what {
        What::Open => Operation::OpenContext(cscp::domain::operation::OpenContext {
            conversation_id: context.conversation_id,
            actor_id: context.actor_id,
            cause: "request-1".to_owned(),
            slots: cscp::domain::slots::Slots::new(),
            correlation_id: None,
            extensions: serde_json::Map::new(),
        }),
        What::Ask => Operation::Ask(Box::new(ask(context_id, options()))),
        What::Answer => {
            let prompt = stage.item(item_id).prompts[0].message_id.clone().unwrap();
            stage.text("yes").quoting(prompt.as_str()).op()
        }
        What::Block => moving(context_id, BLOCK),
        What::Unblock => moving(context_id, crate::lifecycle::UNBLOCK),
        What::Close => moving(context_id, CLOSE),
        What::Expire => {
            let late = context.expires_at.max(stage.at());
            stage.go_to(late);
            sweep()
        }
        What::Waiting => Operation::RecordResult(result("c-read", Outcome::InProgress, Some(BlockedOn::External))),
        What::Ended => Operation::RecordResult(result("c-read", Outcome::Succeeded, None)),
        What::EndedAndClose => {
            let mut ended = result("c-read", Outcome::Succeeded, None);
            ended.close_context = true;
            Operation::RecordResult(ended)
        }
    };
    stage.decide(&operation).result
}

const UNBLOCK: cscp::domain::operation::Move = cscp::domain::operation::Move::Unblock;

#[test]
fn every_cell_of_the_lifecycle_is_decided() {
    let mut cells = 0;
    for row in TABLE.lines().filter(|row| !row.trim().is_empty()) {
        let mut words = row.split_whitespace();
        let status = Status::parse(words.next().unwrap()).unwrap();
        for (what, expected) in EVENTS.into_iter().zip(words) {
            let (mut stage, context_id, item_id) = in_status(status);
            let before = stage.context(&context_id).clone();
            let got = happens(&mut stage, &context_id, &item_id, what);
            let context = stage.context(&context_id).clone();
            let word = match (&got, what) {
                (Err(refusal), _) => refusal.code(),
                (Ok(Answer::Context { context, .. }), What::Open) => {
                    assert_ne!(context.context_id, context_id, "a new context");
                    assert!(context.slots.is_empty(), "nothing is inherited");
                    "opened".to_owned()
                }
                (Ok(_), _) => context.state.status().as_str().to_owned(),
            };
            assert_eq!(word, expected, "{status} on {what:?}");
            check_effects(&stage, status, what, &item_id, got.as_ref().err());
            if got.is_err() {
                assert_eq!(before, context, "{status} on {what:?}: a refusal changes nothing");
            }
            cells += 1;
        }
    }
    assert_eq!(cells, 50);
}

fn check_effects(stage: &Stage, status: Status, what: What, item_id: &ItemId, refusal: Option<&Refusal>) {
    let item = stage.item(item_id);
    let voided = match (status, what) {
        (Status::Pending, What::Block | What::Waiting) | (Status::Blocked, _) => Some(VoidReason::ContextBlocked),
        (Status::Pending, What::Close | What::EndedAndClose) | (Status::Closed, _) => Some(VoidReason::ContextClosed),
        (Status::Active, _) => Some(VoidReason::Cancelled),
        (Status::Pending | Status::Expired, _) => None,
    };
    match (&item.state, voided) {
        (ItemState::Voided { reason, .. }, Some(expected)) => assert_eq!(*reason, expected, "{status} on {what:?}"),
        (ItemState::Expired { .. }, None) => assert!(status == Status::Expired || what == What::Expire),
        (ItemState::Granted { .. }, None) => assert_eq!(what, What::Answer),
        (ItemState::Open, None) => assert!(matches!(what, What::Open | What::Ask | What::Unblock | What::Ended)),
        (other, _) => panic!("{status} on {what:?} left {other:?}"),
    }
    if let Some(Refusal::InvalidTransition { from, event, reason }) = refusal {
        let named = match what {
            What::Block => LifecycleEvent::Block,
            What::Unblock => LifecycleEvent::Unblock,
            What::Close => LifecycleEvent::Close,
            _ => panic!("{what:?} is no direct move"),
        };
        assert_eq!((*from, *event), (status, named));
        assert!(!reason.is_empty());
    }
}

#[test]
fn an_answer_to_an_ended_question_says_why_it_no_longer_counts() {
    for (status, code, reason) in [
        (Status::Active, VerdictCode::Superseded, Reason::Cancelled),
        (Status::Pending, VerdictCode::Confirmed, Reason::Quote),
        (Status::Blocked, VerdictCode::Superseded, Reason::ContextBlocked),
        (Status::Closed, VerdictCode::Superseded, Reason::ContextClosed),
        (Status::Expired, VerdictCode::Expired, Reason::QuestionExpired),
    ] {
        let (mut stage, _, item_id) = in_status(status);
        let prompt = stage.item(&item_id).prompts[0].message_id.clone().unwrap();
        let yes = stage.text("yes").quoting(prompt.as_str()).op();
        expect(&stage.verdict(&yes), code, reason);
    }
}

#[test]
fn the_next_ordinary_message_after_the_end_opens_an_empty_context() {
    for status in [Status::Expired, Status::Closed] {
        let (mut stage, old, _) = in_status(status);
        let next = stage.greet();
        assert_ne!(old, next);
        assert!(stage.context(&next).slots.is_empty());
        assert_eq!(stage.context(&next).trace.last_command_id, None);
    }
}

#[test]
fn a_block_by_a_command_is_lifted_by_its_end_only() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    for (command, attempt) in [("c-1", "a-1"), ("c-2", "a-2")] {
        stage.done(&op(bind(&context_id, spec(command, "order.status", target()), attempt)));
    }
    let waits = result("c-1", Outcome::InProgress, Some(BlockedOn::External));
    stage.done(&Operation::RecordResult(waits));
    stage.done(&Operation::RecordResult(result("c-2", Outcome::Succeeded, None)));
    assert_eq!(stage.context(&context_id).state.status(), Status::Blocked);
    stage.done(&Operation::RecordResult(result("c-1", Outcome::Failed, None)));
    assert_eq!(stage.context(&context_id).state.status(), Status::Active);
}

#[test]
fn a_late_report_of_waiting_does_not_block_for_a_command_that_has_ended() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    stage.done(&op(bind(&context_id, spec("c-1", "order.status", target()), "a-1")));
    stage.done(&Operation::RecordResult(result("c-1", Outcome::Succeeded, None)));
    let late = result("c-1", Outcome::InProgress, Some(BlockedOn::External));
    stage.done(&Operation::RecordResult(late));
    assert_eq!(stage.context(&context_id).state.status(), Status::Active, "nothing would ever unblock it");
}

#[test]
fn asking_while_another_question_is_open_replaces_it_only_on_request() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let first = stage.confirm(&context_id, "c-1", "order.cancel");
    let mut second = ask(&context_id, AskWhat::Confirmation(spec("c-2", "order.cancel", target())));
    let refusal = stage.refused(&Operation::Ask(Box::new(second.clone())));
    assert_eq!(refusal, Refusal::QuestionPending { item_id: first.id.clone() });
    second.supersede = true;
    let second = stage.asked(second);
    assert!(matches!(stage.item(&first.id).state, ItemState::Voided { reason: VoidReason::Replaced, .. }));
    assert!(stage.item(&second.id).is_open());
}
