//! A webhook process that dies between binding and reporting, and the one that comes after it: nothing is executed
//! twice, and nothing is forgotten.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::bench::{Bench, SECRET};
use crate::house::{House, Process, Stuck};
use crate::normalise::normalise;
use crate::outside::Orders;
use crate::payload;
use crate::printing::Printing;
use crate::real::{asked, command_id, delivery, in_order, ok, tap, verdict};
use crate::recovery::Recovered;
use crate::stub::{bound, unreported};

const JOURNAL: &str = "journal";
/// Longer than the shipped packs give a worker to report.
const TOO_LONG: i64 = 301;

/// A server, and the tap on "Sim" that a process died of: it had bound the command, and then the order system did not
/// answer it any more.
async fn died(at: Stuck) -> (House, Vec<u8>) {
    let house = House::new().await;
    let process = house.process_with(JOURNAL);
    let (yes, _) = asked(&house, &process).await;
    let tap = tap(&house, "wamid.yes", &yes, Some("wamid.sent.0"));
    *house.record.stuck.lock().unwrap() = Some(at);
    kill(&house, process, tap.clone()).await;
    *house.record.stuck.lock().unwrap() = None;
    (house, tap)
}

/// Delivers to a process that has a runtime of its own, and takes it all away once it is stuck.
async fn kill(house: &House, process: Process, body: Vec<u8>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.spawn(async move { process.deliver(&body).await });
    house.record.reached.notified().await;
    let ended = tokio::task::spawn_blocking(move || drop(runtime));
    ended.await.unwrap();
}

async fn command(house: &House) -> Value {
    house.read(&format!("/v1/commands/{}", command_id(house))).await
}

fn recovered(recorded: usize, executed: usize, left: usize) -> Recovered {
    Recovered { recorded, executed, left }
}

#[tokio::test]
async fn the_next_process_executes_what_was_bound_and_not_executed() {
    let (house, tap) = died(Stuck::BeforeCancelling).await;
    let before = command(&house).await;
    assert_eq!((&before["status"], &before["execution"]["state"]), (&json!("bound"), &json!("executing")));
    let next = house.process_with(JOURNAL);
    assert_eq!(next.app.shop.recover().await, Ok(recovered(0, 0, 0)), "its owner still has time to report");
    house.wait(TOO_LONG);
    assert_eq!(next.app.shop.recover().await, Ok(recovered(0, 1, 0)));
    assert_eq!(next.app.shop.recover().await, Ok(recovered(0, 0, 0)));
    let after = command(&house).await;
    assert_eq!((house.executed().len(), &after["outcome"]), (1, &json!("succeeded")));
    assert_eq!(after["execution"]["replaced_attempt_ids"], json!([before["attempt_id"]]));
    assert_eq!(after["attempt_id"], after["results"][0]["attempt_id"]);
    // The delivery that was never answered comes again, and the customer hears how it ended.
    ok(&next, &tap).await;
    assert_eq!((house.executed().len(), house.said()), (1, vec!["Pedido cancelado.".to_owned()]));
    in_order(&house, &[]);
}

#[tokio::test]
async fn the_next_process_records_what_was_executed_and_not_reported() {
    let (house, tap) = died(Stuck::AfterCancelling).await;
    let next = house.process_with(JOURNAL);
    house.wait(TOO_LONG);
    assert_eq!(next.app.shop.recover().await, Ok(recovered(1, 0, 0)));
    let after = command(&house).await;
    assert_eq!((house.executed().len(), &after["outcome"]), (1, &json!("succeeded")));
    assert_eq!(after["execution"]["replaced_attempt_ids"], json!([]), "nobody took over what was done");
    ok(&next, &tap).await;
    assert_eq!((house.executed().len(), house.said()), (1, vec!["Pedido cancelado.".to_owned()]));
    in_order(&house, &[]);
}

#[tokio::test]
async fn a_delivery_that_comes_again_is_enough_while_there_is_time() {
    for at in [Stuck::BeforeCancelling, Stuck::AfterCancelling] {
        let (house, tap) = died(at).await;
        let next = house.process_with(JOURNAL);
        ok(&next, &tap).await;
        assert_eq!((house.executed().len(), house.said()), (1, vec!["Pedido cancelado.".to_owned()]), "{at:?}");
        house.wait(TOO_LONG);
        assert_eq!(next.app.shop.recover().await, Ok(recovered(0, 0, 0)), "{at:?}");
        in_order(&house, &[]);
    }
}

#[tokio::test]
async fn a_delivery_that_comes_again_too_late_waits_for_the_next_look() {
    let (house, tap) = died(Stuck::BeforeCancelling).await;
    let next = house.process_with(JOURNAL);
    house.wait(TOO_LONG);
    assert_eq!(next.deliver(&tap).await.status, StatusCode::SERVICE_UNAVAILABLE, "Meta delivers it again");
    assert_eq!((house.executed().len(), house.said().len()), (0, 0));
    assert_eq!(next.app.shop.recover().await, Ok(recovered(0, 1, 0)));
    ok(&next, &tap).await;
    assert_eq!((house.executed().len(), house.said()), (1, vec!["Pedido cancelado.".to_owned()]));
    in_order(&house, &[]);
}

#[tokio::test]
async fn a_process_without_the_journal_leaves_it_to_an_operator_unless_it_was_done() {
    for (at, expected) in [(Stuck::BeforeCancelling, recovered(0, 0, 1)), (Stuck::AfterCancelling, recovered(1, 0, 0))]
    {
        let (house, _) = died(at).await;
        let stranger = house.process();
        house.wait(TOO_LONG);
        assert_eq!(stranger.app.shop.recover().await, Ok(expected), "{at:?}");
        assert_eq!(house.executed().len(), usize::from(at == Stuck::AfterCancelling));
        in_order(&house, &[]);
    }
}

#[tokio::test]
async fn of_two_processes_that_look_at_once_one_takes_over() {
    let (house, _) = died(Stuck::BeforeCancelling).await;
    let (one, two) = (house.process_with(JOURNAL), house.process());
    let known = one.app.shop.journal.find(&command_id(&house)).unwrap();
    two.app.shop.journal.intend(known.intent).await.unwrap();
    house.wait(TOO_LONG);
    let (first, second) = tokio::join!(one.app.shop.recover(), two.app.shop.recover());
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!((first.executed + second.executed, house.executed().len()), (1, 1), "{first:?} {second:?}");
}

/// A bench whose journal says that command `cmd_1` was intended.
async fn intended() -> Bench {
    let bench = Bench::new().await;
    let intent = crate::journal::Intent {
        command_id: "cmd_1".to_owned(),
        context_id: "ctx_1".to_owned(),
        order_id: "123".to_owned(),
        attempt_id: "first".to_owned(),
    };
    bench.app.shop.journal.intend(intent).await.unwrap();
    bench.stub.script(|script| script.unreported = vec![unreported("cmd_1", "order.cancel", "first")]);
    bench
}

const TAKE_OVER: &str = "POST /v1/commands/cmd_1/takeovers";

#[tokio::test]
async fn a_take_over_names_the_attempt_that_it_replaces_and_says_the_same_command() {
    let bench = intended().await;
    assert_eq!(bench.app.shop.recover().await, Ok(recovered(0, 1, 0)));
    let names = ["POST /v1/commands/query", TAKE_OVER, "execute", "POST /v1/commands/cmd_1/results"];
    assert_eq!(bench.stub.names(), names);
    assert_eq!(bench.stub.all("POST /v1/commands/query")[0].body["execution"], "unknown");
    let mut said = bench.stub.all(TAKE_OVER)[0].body.clone();
    let attempt = said.as_object_mut().unwrap().remove("attempt_id").unwrap();
    assert_eq!(
        said,
        json!({ "replaces_attempt_id": "first", "downstream_checked": true, "name": "order.cancel",
                "idempotency_key": "cmd_1", "target": { "order_id": "123" },
                "envelope": { "command_id": "cmd_1", "name": "order.cancel", "idempotency_key": "cmd_1",
                              "target": { "order_id": "123" } } })
    );
    assert_eq!(bench.stub.all("POST /v1/commands/cmd_1/results")[0].body["attempt_id"], attempt);
}

#[tokio::test]
async fn a_take_over_is_no_leave_to_execute_unless_it_says_so() {
    for (status, answer, expected) in [
        (200, bound(false), Ok(recovered(0, 0, 0))),
        (409, json!({ "code": "already_taken_over" }), Ok(recovered(0, 0, 0))),
        (409, json!({ "code": "execution_not_unknown" }), Ok(recovered(0, 0, 0))),
        (503, json!({}), Err(crate::cscp::Unavailable::Status(503))),
    ] {
        let bench = intended().await;
        bench.stub.script(|script| {
            script.next.insert("takeovers", vec![(status, answer.clone())]);
        });
        assert_eq!(bench.app.shop.recover().await, expected, "{answer}");
        assert_eq!(bench.stub.all("execute").len(), 0, "{answer}");
    }
}

#[tokio::test]
async fn what_belongs_to_others_is_left_alone() {
    let bench = intended().await;
    bench.stub.script(|script| {
        script.unreported =
            vec![unreported("cmd_1", "payment.send", "first"), unreported("cmd_2", "order.cancel", "first")];
    });
    assert_eq!(bench.app.shop.recover().await, Ok(recovered(0, 0, 2)));
    assert_eq!(bench.stub.names(), ["POST /v1/commands/query"]);
}

#[tokio::test]
async fn the_printed_order_system_cancels_once_and_remembers_it_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let cancelled = folder.path().join("cancelled.txt");
    let orders = Printing::new(cancelled.clone());
    assert_eq!(orders.outcome("cmd_1").await.unwrap(), None);
    assert!(orders.cancel("cmd_1", "123", &Value::Null).await && orders.cancel("cmd_1", "123", &Value::Null).await);
    assert_eq!(std::fs::read_to_string(&cancelled).unwrap(), "cmd_1\n");
    let orders = Printing::new(cancelled);
    assert_eq!(orders.outcome("cmd_1").await.unwrap(), Some(true));
    assert_eq!(orders.outcome("cmd_10").await.unwrap(), None);
}

/// A message that reached cscp, and then its process died: what cscp makes of it.
async fn heard_and_died(house: &House, body: &[u8]) -> Value {
    let normalised = normalise(&payload::read(body).unwrap(), &SECRET.parse().unwrap());
    house.ask("/v1/messages", &json!(normalised.messages[0].event)).await["verdict"].clone()
}

#[tokio::test]
async fn a_yes_that_was_taken_back_before_it_was_bound_is_not_executed_by_a_later_delivery() {
    let revoked = json!({ "type": "revoke", "revoke": { "original_message_id": "wamid.yes" } });
    let edited = json!({ "type": "edit", "edit": { "original_message_id": "wamid.yes",
        "message": { "type": "text", "text": { "body": "Sim!" } } } });
    for (content, reason, words) in [
        (json!({ "type": "text", "text": { "body": "não" } }), "taken_back", "Combinado, não vou fazer nada."),
        (
            json!({ "type": "text", "text": { "body": "peraí" } }),
            "postponed",
            "Combinado, espero. Diga quando quiser continuar.",
        ),
        (revoked, "taken_back", "Combinado, não vou fazer nada."),
        (edited, "taken_back", "Combinado, não vou fazer nada."),
    ] {
        let house = House::new().await;
        let process = house.process();
        let (yes, _) = asked(&house, &process).await;
        let tap = tap(&house, "wamid.yes", &yes, Some("wamid.sent.0"));
        assert_eq!(heard_and_died(&house, &tap).await["code"], "confirmed");
        house.wait(2);
        ok(&process, &delivery(&house, "wamid.wait", &content)).await;
        assert_eq!(verdict(&house, "wamid.wait"), ("declined".to_owned(), reason.to_owned()), "{content}");
        ok(&process, &tap).await;
        assert_eq!(house.executed().len(), 0, "{content}");
        assert_eq!(house.said(), [words, "Isso já não está confirmado. Não fiz nada."], "{content}");
        in_order(&house, &[(409, "confirmation_required")]);
    }
}
