//! The rules on small histories: what they find, and what they must not claim while requests overlap.

use std::rc::Rc;

use serde_json::{Value, json};

use super::super::bodies::{self, Line, Manner, Words};
use super::super::clock::SECOND;
use super::super::contract::{Promise, Promises};
use super::super::facts::Facts;
use super::super::record::{Answer, Call, History, Kind, Record, Sense, Spec};
use super::check;

/// One sending: when the call was first sent, when this time, when it was answered, and with what.
type Sent = (Call, [i64; 3], u16, Value);

/// The servers' clock is exact.
const EXACT: Option<(i64, i64)> = Some((0, 0));

fn broken(rule: &str, sent: Vec<Sent>, offset: Option<(i64, i64)>) -> bool {
    let mut history = History::default();
    for (number, (call, [since, begin, end], status, body)) in (1..).zip(sent) {
        let seen = serde_json::from_value(body).unwrap();
        let answer = Some(Answer { status, replayed: false, readable: true, seen });
        // In seconds of 1970.
        let [since, begin, end] = [since, begin, end].map(|second| second * SECOND);
        history.records.push(Record { number, call: Rc::new(call), server: 0, since, begin, end, answer });
    }
    let mut promises = Promises::default();
    for promise in [Promise::Execution, Promise::TakenBack, Promise::CommandBound] {
        promises.add(promise);
    }
    let facts = Facts::of(&history, &promises, offset);
    check(&facts, |known| known.name == rule).iter().any(|violation| violation.rule == rule)
}

fn spec() -> Spec {
    let text = str::to_owned;
    Spec { command_id: text("cmd"), name: text("order.cancel"), key: text("key"), target: text("{}") }
}

fn bind(attempt: &str) -> Call {
    bodies::bind("ctx", attempt, &spec(), &[])
}

fn bound(attempt: &str) -> Value {
    let execution = json!({"state": "executing", "attempt_id": attempt, "report_by": "1970-01-01T00:01:00Z"});
    json!({"attempt_id": attempt, "confirmation_id": "cnf_1", "execute": true, "execution": execution})
}

fn ask(conversation: &str) -> Call {
    let line = Line { context: "ctx".to_owned(), conversation: conversation.to_owned(), actor: "ana".to_owned() };
    let manner = Manner { supersede: false, ttl_seconds: None };
    bodies::ask(Kind::Confirmation, line, &spec(), manner).claiming(format!("ask in {conversation}"))
}

fn asked(item: &str) -> Value {
    json!({"confirmation_id": item, "command_id": "cmd", "expires_at": "1970-01-01T00:01:00Z"})
}

fn say(id: &str, kind: &'static str, reply_to: Option<&str>) -> Call {
    let text = str::to_owned;
    let words = Words {
        message_id: text(id),
        conversation: text("c"),
        actor: text("ana"),
        kind,
        text: Some("sim"),
        button: None,
        reply_to: reply_to.map(text),
        sense: Sense::Yes,
        forwarded: false,
    };
    bodies::message(words, 0)
}

fn verdict(code: &str, item: &str) -> Value {
    let item = json!({"confirmation_id": item, "bind_by": "1970-01-01T00:01:00Z"});
    json!({"verdict": {"code": code, "reason": "bare", "confirmation": item}, "duplicate": false})
}

#[test]
fn two_attempts_may_both_execute_only_where_one_took_over_from_the_other() {
    let take_over = || bodies::take_over(&spec(), "b", "a");
    let first = || (bind("a"), [1, 1, 2], 201, bound("a"));
    let of = |others: Vec<Sent>| broken("bound_once", std::iter::once(first()).chain(others).collect(), EXACT);
    assert!(!of(vec![]));
    assert!(of(vec![(bind("b"), [1, 1, 2], 201, bound("b"))]));
    assert!(!of(vec![(bind("b"), [1, 1, 2], 409, json!({"code": "already_bound"}))]));
    assert!(!of(vec![(take_over(), [70, 70, 71], 201, bound("b"))]));
    // The replaced owner is told to go on, after it was replaced or perhaps before.
    assert!(of(vec![(take_over(), [70, 70, 71], 201, bound("b")), (bind("a"), [72, 72, 73], 200, bound("a"))]));
    assert!(!of(vec![(take_over(), [70, 70, 73], 201, bound("b")), (bind("a"), [72, 72, 74], 200, bound("a"))]));
}

#[test]
fn a_question_came_after_a_binding_only_if_it_was_sent_after_the_answer() {
    let of = |ask_sent: [i64; 3]| {
        let binding = (bind("a"), [1, 1, 10], 201, bound("a"));
        broken("asked_before_bound", vec![binding, (ask("c"), ask_sent, 201, asked("cnf_2"))], EXACT)
    };
    assert!(of([11, 11, 12]));
    assert!(!of([9, 9, 12]), "they overlap");
    assert!(!of([9, 20, 21]), "it was sent before, too, and that may be what was answered");
}

#[test]
fn a_binding_is_late_only_if_it_was_never_sent_in_time_and_the_clocks_are_known() {
    let of = |sent: [i64; 3], offset| {
        let yes = (say("m", "text", None), [1, 1, 2], 200, verdict("confirmed", "cnf_1"));
        broken("bound_in_time", vec![yes, (bind("a"), sent, 201, bound("a"))], offset)
    };
    assert!(of([61, 61, 62], EXACT));
    assert!(!of([59, 61, 62], EXACT), "the first sending was in time");
    assert!(!of([61, 61, 62], None), "nobody knows the servers' time");
    assert!(!of([61, 61, 62], Some((-5 * SECOND, 0))), "the servers' clock may be behind");
}

#[test]
fn a_take_over_is_early_only_if_it_was_answered_in_the_owners_time() {
    let of = |sent: [i64; 3]| {
        let binding = (bind("a"), [1, 1, 2], 201, bound("a"));
        let taken = (bodies::take_over(&spec(), "b", "a"), sent, 201, bound("b"));
        broken("not_taken_over_early", vec![binding, taken], EXACT)
    };
    assert!(of([50, 50, 55]));
    assert!(!of([50, 50, 61]), "it may have been decided just after");
}

#[test]
fn a_deleted_yes_is_not_spent_by_a_binding_that_was_sent_afterwards() {
    let of = |deleted: [i64; 3]| {
        let yes = (say("m", "text", None), [1, 1, 2], 200, verdict("confirmed", "cnf_1"));
        let back = (say("n", "revoke", Some("m")), deleted, 200, verdict("ignored", "cnf_1"));
        broken("every_no_counts", vec![yes, back, (bind("a"), [10, 10, 11], 201, bound("a"))], EXACT)
    };
    assert!(of([5, 5, 6]));
    assert!(!of([5, 5, 10]), "the binding may have come before");
    assert!(!of([1, 1, 2]), "the deletion may have come before the yes");
}

#[test]
fn a_bare_yes_skips_no_question_that_was_certainly_asked_in_between() {
    let of = |second: [i64; 3]| {
        let show = (bodies::attach("cnf_1", "p"), [3, 3, 4], 200, json!({}));
        let other = ask("c").claiming("the other one");
        let yes = (say("m", "text", None), [20, 20, 21], 200, verdict("confirmed", "cnf_1"));
        let sent = vec![(ask("c"), [1, 1, 2], 201, asked("cnf_1")), show, (other, second, 201, asked("cnf_2")), yes];
        broken("bare_answers_the_last", sent, EXACT)
    };
    assert!(of([10, 10, 11]));
    assert!(!of([10, 10, 20]), "it may have been asked after the yes");
    assert!(!of([2, 2, 11]), "it may have been asked before the first one");
}

#[test]
fn what_was_acknowledged_is_missed_only_by_a_reading_that_was_sent_afterwards() {
    let of = |read: [i64; 3], status| {
        let binding = (bind("a"), [1, 1, 5], 201, bound("a"));
        let reading = (bodies::read_command("cmd"), read, status, json!({"code": "command_not_found"}));
        broken("acknowledged_is_kept", vec![binding, reading], EXACT)
    };
    assert!(of([6, 6, 7], 404));
    assert!(!of([4, 4, 7], 404), "it may have been read before");
    assert!(!of([6, 6, 7], 503), "nothing was said");
}
