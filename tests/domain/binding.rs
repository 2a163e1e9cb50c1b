//! May this command run: every cell of class, confirmation, context, change and repetition against an oracle.

use cscp::domain::decide::Decision;
use cscp::domain::event::Event;
use cscp::domain::id::{CommandName, ContextId, IdempotencyKey};
use cscp::domain::item::ItemState;
use cscp::domain::message::MessageEvent;
use cscp::domain::operation::{Answer, AskWhat, Bind, CommandSpec, Envelope, Operation, Target};
use serde_json::json;

use crate::harness::Stage;
use crate::house::{Pack, book_ignoring};
use crate::messages::{ANA, conversation, principal};
use crate::operations::{BLOCK, CLOSE, ask, bind, cancel, moving, op, options, spec, target, with_key};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    Nothing,
    Open,
    Granted,
    /// Granted, and exactly at `bind_by`.
    WindowClosed,
    Declined,
    Voided,
    Spent,
    Expired,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    Active,
    PendingOnAnother,
    Blocked,
    Closed,
    Expired,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    Field,
    Added,
    Name,
    Key,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    name: &'static str,
    given: Given,
    place: Where,
    change: Change,
    foreign_message: bool,
    same_attempt: bool,
    same_envelope: bool,
}

const NAMES: [&str; 4] = ["order.status", "address.update", "order.cancel", "payment.send"];
const GIVEN: [Given; 8] = [
    Given::Nothing,
    Given::Open,
    Given::Granted,
    Given::WindowClosed,
    Given::Declined,
    Given::Voided,
    Given::Spent,
    Given::Expired,
];
const PLACES: [Where; 5] = [Where::Active, Where::PendingOnAnother, Where::Blocked, Where::Closed, Where::Expired];
const CHANGES: [Change; 5] = [Change::None, Change::Field, Change::Added, Change::Name, Change::Key];

/// `bound`, `replayed`, or the code of the refusal; and whether the refusal is evidence.
fn expected(cell: &Cell) -> (&'static str, bool) {
    let read_only = cell.name == "order.status";
    let changed = cell.change != Change::None;
    if cell.given == Given::Spent {
        return match (cell.same_attempt, cell.same_envelope && !changed) {
            (false, _) => ("already_bound", true),
            (true, false) => ("command_conflict", true),
            (true, true) => ("replayed", false),
        };
    }
    match cell.place {
        Where::Blocked => return ("context_blocked", false),
        Where::Closed => return ("context_closed", false),
        Where::Expired => return ("context_expired", false),
        Where::Active | Where::PendingOnAnother => {}
    }
    if cell.foreign_message {
        return ("unknown_message", false);
    }
    match cell.given {
        // An unknown name is of class S3.
        Given::Nothing if read_only && cell.change != Change::Name => ("bound", false),
        Given::Nothing | Given::Open | Given::Declined | Given::Voided | Given::Expired => {
            ("confirmation_required", true)
        }
        Given::WindowClosed => ("confirmation_expired", true),
        Given::Granted if changed => ("target_mismatch", true),
        Given::Granted => ("bound", false),
        Given::Spent => unreachable!("handled above"),
    }
}

fn changed(name: &str, change: Change) -> CommandSpec {
    let mut command = spec("c-1", name, target());
    match change {
        Change::None => {}
        Change::Field => {
            let field = if name == "address.update" { "address_id" } else { "order_id" };
            let field = if name == "payment.send" { "amount" } else { field };
            let mut other = target();
            other[field] = json!("820000");
            command.target = Target::Clear(other);
        }
        Change::Added => {
            let mut other = target();
            other["note"] = json!("hurry");
            command.target = Target::Clear(other);
        }
        Change::Name => command.name = CommandName::new("order.unheard_of").unwrap(),
        Change::Key => command.idempotency_key = IdempotencyKey::new("another-key").unwrap(),
    }
    command
}

fn prepare(cell: &Cell) -> (Stage, ContextId, MessageEvent) {
    let mut stage = Stage::new(Pack::House);
    let foreign = stage.text("hello").of("zoe").in_conversation("conv-7");
    stage.done(&foreign.clone().op());
    let context_id = stage.greet();
    stage.wait(1);
    let name = cell.name;
    match cell.given {
        Given::Nothing => {}
        Given::Open => {
            stage.confirm(&context_id, "c-1", name);
        }
        Given::Granted | Given::WindowClosed | Given::Spent => {
            stage.confirmed(&context_id, "c-1", name);
        }
        Given::Declined => {
            let asked = stage.confirm(&context_id, "c-1", name);
            let no = stage.tap(&asked.no()).op();
            stage.done(&no);
        }
        Given::Voided => {
            let asked = stage.confirmed(&context_id, "c-1", name);
            stage.done(&cancel(&asked.id));
        }
        Given::Expired => {
            stage.confirm(&context_id, "c-1", name);
            stage.wait(300);
        }
    }
    if cell.given == Given::Spent {
        stage.done(&op(bind(&context_id, spec("c-1", name, target()), "a-1")));
    }
    match cell.place {
        Where::Active => {}
        Where::PendingOnAnother => {
            let mut other = ask(&context_id, options());
            other.supersede = true;
            stage.asked(other);
        }
        Where::Blocked => {
            stage.done(&moving(&context_id, BLOCK));
        }
        Where::Closed => {
            stage.done(&moving(&context_id, CLOSE));
        }
        Where::Expired => {
            let deadline = stage.context(&context_id).expires_at;
            stage.go_to(deadline);
        }
    }
    if cell.given == Given::WindowClosed && cell.place != Where::Expired {
        stage.wait(60);
    }
    (stage, context_id, foreign.0)
}

fn evidence(decision: &Decision) -> usize {
    decision.events.iter().filter(|recorded| matches!(recorded.event, Event::CommandRefused { .. })).count()
}

fn run(cell: &Cell) {
    let (mut stage, context_id, foreign) = prepare(cell);
    let own = stage.text("go on");
    stage.done(&own.clone().op());
    let attempt = if cell.same_attempt { "a-1" } else { "a-2" };
    let mut request: Bind = bind(&context_id, changed(cell.name, cell.change), attempt);
    let message = if cell.foreign_message { foreign } else { own.0 };
    request.message_ids = vec![with_key(&message.message_id, stage.key(&message))];
    if !cell.same_envelope {
        request.envelope = Envelope::Clear(json!({"do": "more"}));
    }
    let before = stage.world.clone();
    let decision = stage.decide(&op(request));
    let (expected, is_evidence) = expected(cell);
    let word = match &decision.result {
        Ok(Answer::Bound { replayed: true, .. }) => "replayed".to_owned(),
        Ok(_) => "bound".to_owned(),
        Err(refusal) => refusal.code(),
    };
    assert_eq!(word, expected, "{cell:?}");
    assert_eq!(evidence(&decision), usize::from(is_evidence), "{cell:?}: evidence");
    let spent =
        |stage: &Stage| stage.world.items.values().filter(|item| matches!(item.state, ItemState::Spent { .. })).count();
    if expected == "bound" {
        assert_eq!(stage.world.commands.len(), before.commands.len() + 1);
        assert_eq!(stage.world.frames.len(), before.frames.len() + 1);
        assert_eq!(spent(&stage), usize::from(cell.given == Given::Granted), "{cell:?}: spent");
        let types = Stage::types(&decision);
        assert!(types.ends_with(&["context.frame_captured", "command.bound"]), "{types:?}");
    } else {
        assert!(stage.world.commands == before.commands && stage.world.frames == before.frames, "{cell:?}: effects");
        assert_eq!(spent(&stage), usize::from(cell.given == Given::Spent), "{cell:?}: spent");
    }
}

#[test]
fn every_cell_of_binding_is_decided() {
    let mut cells = 0;
    for name in NAMES {
        for given in GIVEN {
            for place in PLACES {
                for change in CHANGES {
                    for foreign_message in [false, true] {
                        for (same_attempt, same_envelope) in
                            [(true, true), (true, false), (false, true), (false, false)]
                        {
                            if given != Given::Spent && !(same_attempt && same_envelope) {
                                continue;
                            }
                            run(&Cell { name, given, place, change, foreign_message, same_attempt, same_envelope });
                            cells += 1;
                        }
                    }
                }
            }
        }
    }
    println!("binding: {cells} cells");
    assert_eq!(cells, 4 * 5 * 5 * 2 * (7 + 4));
}

#[test]
fn an_idempotency_key_serves_one_command() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    stage.done(&op(bind(&context_id, spec("c-1", "order.status", target()), "a-1")));
    let mut other = spec("c-2", "order.status", target());
    other.idempotency_key = IdempotencyKey::new("key-c-1").unwrap();
    let decision = stage.decide(&op(bind(&context_id, other, "a-2")));
    assert_eq!(decision.result.as_ref().unwrap_err().code(), "command_conflict");
    assert_eq!(evidence(&decision), 1);
}

/// An attempt has bound `c-1`. What it may still do, by command, by who has that command, and by where it is asked.
#[test]
fn an_attempt_serves_one_command() {
    for elsewhere in [false, true] {
        for (command, bound_by, attempt, expected) in [
            ("c-1", None, "a-1", if elsewhere { "command_conflict" } else { "replayed" }),
            ("c-1", None, "a-2", "already_bound"),
            ("c-2", None, "a-1", "attempt_id_reused"),
            ("c-2", None, "a-2", "bound"),
            ("c-2", Some("a-2"), "a-1", "already_bound"),
            ("c-2", Some("a-2"), "a-3", "already_bound"),
            ("c-3", Some("a-2"), "a-2", "attempt_id_reused"),
        ] {
            let mut stage = Stage::new(Pack::House);
            let here = stage.greet();
            let greeting = stage.text("hello there").in_conversation("elsewhere").op();
            stage.done(&greeting);
            let there =
                stage.world.open_context(&conversation("elsewhere"), &principal(ANA)).unwrap().context_id.clone();
            stage.done(&op(bind(&here, spec("c-1", "order.status", target()), "a-1")));
            if let Some(bound_by) = bound_by {
                stage.done(&op(bind(&there, spec("c-2", "order.status", target()), bound_by)));
            }
            let place = if elsewhere { &there } else { &here };
            let decision = stage.decide(&op(bind(place, spec(command, "order.status", target()), attempt)));
            let (word, is_evidence) = match &decision.result {
                Ok(Answer::Bound { replayed: true, .. }) => ("replayed".to_owned(), false),
                Ok(_) => ("bound".to_owned(), false),
                Err(refusal) => (refusal.code(), true),
            };
            assert_eq!(word, expected, "{command} by {attempt}, elsewhere: {elsewhere}");
            assert_eq!(evidence(&decision), usize::from(is_evidence));
        }
    }
}

#[test]
fn one_microsecond_before_the_window_closes_it_binds() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    let asked = stage.confirmed(&context_id, "c-1", "payment.send");
    let ItemState::Granted { bind_by, .. } = stage.item(&asked.id).state else { panic!("not granted") };
    assert_eq!(bind_by, stage.at().plus_seconds(60));
    stage.now = bind_by.as_micros() - 1;
    stage.done(&op(bind(&context_id, spec("c-1", "payment.send", target()), "a-1")));
}

#[test]
fn what_has_become_material_since_the_answer_has_to_be_asked_about() {
    // What could be left out when it was asked, what can today, and what follows for the same target.
    for (asked, today, code) in [
        (&[][..], &[][..], "bound"),
        (&[], &["note"], "bound"),
        (&["note"], &["note"], "bound"),
        (&["payee.nickname"], &["payee"], "bound"),
        (&["note"], &[], "confirmation_required"),
        (&["note"], &["memo"], "confirmation_required"),
        (&["payee"], &["payee.nickname"], "confirmation_required"),
        (&["note", "memo"], &["note"], "confirmation_required"),
    ] {
        let mut stage = Stage::new(Pack::House);
        stage.book = Some(book_ignoring("order.cancel", asked, "asked"));
        let context_id = stage.greet();
        stage.confirmed(&context_id, "c-1", "order.cancel");
        stage.book = Some(book_ignoring("order.cancel", today, "today"));
        let decision = stage.decide(&op(bind(&context_id, spec("c-1", "order.cancel", target()), "a-1")));
        let told = decision.result.map_or_else(|refusal| refusal.code(), |_| "bound".to_owned());
        assert_eq!(told, code, "{asked:?} {today:?}");
    }
}

#[test]
fn asking_again_for_the_same_command_takes_the_earlier_yes_out_of_play() {
    let mut stage = Stage::new(Pack::House);
    let context_id = stage.greet();
    stage.confirmed(&context_id, "c-1", "order.cancel");
    let mut other = target();
    other["order_id"] = json!("o-2");
    stage.asked(ask(&context_id, AskWhat::Confirmation(spec("c-1", "order.cancel", other))));
    let operation: Operation = op(bind(&context_id, spec("c-1", "order.cancel", target()), "a-1"));
    assert_eq!(stage.refused(&operation).code(), "confirmation_required");
}
