//! The two habits: a question is registered before it is sent, and a command is bound before it is executed.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::stub::{Happened, bound, confirmed};

/// A delivery with one text.
fn text(id: &str, body: &str) -> Vec<u8> {
    let message = json!({ "from": "12025550100", "id": id, "timestamp": "1790000000", "type": "text",
                          "text": { "body": body } });
    json!({ "entry": [{ "changes": [{ "field": "messages", "value": {
        "metadata": { "phone_number_id": "105500000000001" }, "messages": [message] } }] }] })
    .to_string()
    .into_bytes()
}

const ASK: &str = "POST /v1/contexts/ctx_1/confirmations";
const ATTACH: &str = "PUT /v1/confirmations/conf_1/prompt-message";
const BIND: &str = "POST /v1/contexts/ctx_1/commands";

/// A webhook that has asked about order 123, and the command id it asked with.
async fn asked() -> (Bench, String) {
    let bench = Bench::new().await;
    assert_eq!(bench.deliver(&text("wamid.ask", "Cancelar  pedido 123")).await.status, StatusCode::OK);
    let command_id = bench.stub.all(ASK)[0].body["command"]["command_id"].as_str().unwrap().to_owned();
    bench.stub.script(|script| {
        script.verdicts.insert("wamid.yes".to_owned(), confirmed(&command_id));
    });
    (bench, command_id)
}

fn result_of(command_id: &str) -> String {
    format!("POST /v1/commands/{command_id}/results")
}

fn said(sent: &Happened) -> &str {
    sent.body["text"]["body"].as_str().unwrap()
}

#[tokio::test]
async fn a_question_is_registered_then_sent_then_attached() {
    let (bench, command_id) = asked().await;
    assert_eq!(bench.stub.names(), ["POST /v1/messages", ASK, "send", ATTACH]);
    let ask = &bench.stub.all(ASK)[0];
    assert_eq!(ask.idempotency_key.as_deref(), Some(command_id.as_str()));
    assert_eq!(
        ask.body,
        json!({ "command": { "command_id": command_id, "name": "order.cancel", "idempotency_key": command_id },
                "target": { "order_id": "123" },
                "prompt": { "text": "Cancelar o pedido 123?", "buttons": [
                    { "title": "Sim", "action": "confirm" }, { "title": "Não", "action": "decline" }] } })
    );
    let sent = &bench.stub.all("send")[0].body;
    assert_eq!(sent["to"], "12025550100");
    assert_eq!(sent["interactive"]["body"]["text"], ask.body["prompt"]["text"], "what is shown is what is bound");
    assert_eq!(
        sent["interactive"]["action"]["buttons"],
        json!([{ "type": "reply", "reply": { "id": "yes_n", "title": "Sim" } },
               { "type": "reply", "reply": { "id": "no_n", "title": "Não" } }])
    );
    assert_eq!(
        bench.stub.all(ATTACH)[0].body,
        json!({ "message_id": "wamid.sent.1", "sent_at": "2026-09-21T14:13:21Z" })
    );
}

#[tokio::test]
async fn a_confirmed_command_is_bound_then_executed_then_reported() {
    let (bench, command_id) = asked().await;
    bench.stub.log.lock().unwrap().clear();
    assert_eq!(bench.deliver(&text("wamid.yes", "sim")).await.status, StatusCode::OK);
    let result = result_of(&command_id);
    let names = ["POST /v1/messages", BIND, "execute", &result, "POST /v1/messages", "send"];
    assert_eq!(bench.stub.names(), names);
    let bind = &bench.stub.all(BIND)[0].body;
    assert_eq!(bind["target"], json!({ "order_id": "123" }));
    assert_eq!(bind["message_ids"], json!(["wamid.ask", "wamid.yes"]));
    assert_eq!(bind["envelope"]["target"], bind["target"]);
    assert_eq!(
        bench.stub.all("execute")[0].body,
        json!({ "order_id": "123", "context_ref": { "context_id": "ctx_1", "context_hash": "h" } })
    );
    let executed = &bench.stub.all("execute")[0];
    assert_eq!(executed.idempotency_key.as_deref(), Some(command_id.as_str()), "it can be asked about by this key");
    assert_eq!(bench.stub.all(BIND)[0].idempotency_key, None);
    assert_eq!(
        bench.stub.all(&result)[0].body,
        json!({ "status": "succeeded", "outcome": "succeeded", "attempt_id": bind["attempt_id"] })
    );
    let reply = &bench.stub.all("POST /v1/messages")[1].body;
    assert_eq!((&reply["direction"], &reply["expects_reply"]), (&json!("outbound"), &json!(false)));
    assert_eq!(reply["text"], bench.stub.all("send")[0].body["text"]["body"]);
}

#[tokio::test]
async fn deliveries_that_repeat_or_overlap_ask_and_execute_once() {
    let (bench, _) = asked().await;
    let (ask, yes) = (text("wamid.ask", "Cancelar  pedido 123"), text("wamid.yes", "sim"));
    let answers = tokio::join!(bench.deliver(&ask), bench.deliver(&yes), bench.deliver(&yes), bench.deliver(&ask));
    assert_eq!([answers.0.status, answers.1.status, answers.2.status, answers.3.status], [StatusCode::OK; 4]);
    assert_eq!((bench.stub.all(ASK).len(), bench.stub.all(BIND).len(), bench.stub.all("execute").len()), (1, 1, 1));
    assert_eq!(bench.stub.all("send").len(), 2, "one question, one reply");
}

#[tokio::test]
async fn every_step_that_failed_is_taken_up_by_the_next_delivery() {
    for route in ["confirmations", "prompt-message", "commands", "results"] {
        let bench = Bench::new().await;
        let (ask, yes) = (text("wamid.ask", "cancel order 123"), text("wamid.yes", "sim"));
        bench.stub.script(|script| {
            script.next.insert(route, vec![(503, json!({}))]);
        });
        let mut statuses = vec![bench.deliver(&ask).await.status, bench.deliver(&ask).await.status];
        let command_id = bench.stub.all(ASK)[0].body["command"]["command_id"].as_str().unwrap().to_owned();
        bench.stub.script(|script| {
            script.verdicts.insert("wamid.yes".to_owned(), confirmed(&command_id));
        });
        statuses.extend([bench.deliver(&yes).await.status, bench.deliver(&yes).await.status]);
        let failed = statuses.iter().filter(|status| **status == StatusCode::SERVICE_UNAVAILABLE).count();
        assert_eq!(failed, 1, "{route}: {statuses:?}");
        assert_eq!(bench.stub.all("send").len(), 2, "{route}: one question, one reply");
        assert_eq!(bench.stub.all("execute").len(), 1, "{route}");
        let attempts: Vec<Value> = bench.stub.all(BIND).iter().map(|bind| bind.body.clone()).collect();
        assert!(attempts.iter().all(|attempt| *attempt == attempts[0]), "{route}: a repeated binding is the same one");
        assert_eq!(bench.stub.all(&result_of(&command_id)).last().unwrap().body["outcome"], "succeeded", "{route}");
    }
}

#[tokio::test]
async fn what_cannot_be_bound_is_not_executed() {
    let refusals =
        [("already_bound", 0), ("target_mismatch", 1), ("confirmation_expired", 1), ("confirmation_required", 1)];
    for (code, replies) in refusals {
        let (bench, _) = asked().await;
        bench.stub.log.lock().unwrap().clear();
        bench.stub.script(|script| {
            script.next.insert("commands", vec![(409, json!({ "code": code }))]);
        });
        assert_eq!(bench.deliver(&text("wamid.yes", "sim")).await.status, StatusCode::OK, "{code}");
        assert_eq!((bench.stub.all("execute").len(), bench.stub.all("send").len()), (0, replies), "{code}");
    }
}

#[tokio::test]
async fn only_an_answer_that_says_so_is_leave_to_execute() {
    let no_word = json!({ "context_ref": { "context_id": "ctx_1" } });
    for (status, answer) in [(200, bound(false)), (201, bound(false)), (201, no_word)] {
        let (bench, _) = asked().await;
        bench.stub.script(|script| {
            script.next.insert("commands", vec![(status, answer.clone())]);
        });
        let answered = bench.deliver(&text("wamid.yes", "sim")).await;
        assert_eq!(answered.status, StatusCode::SERVICE_UNAVAILABLE, "{answer}: it is to be delivered again");
        assert_eq!(bench.stub.all("execute").len(), 0, "{answer}");
    }
}

#[tokio::test]
async fn a_yes_that_was_taken_back_is_acknowledged_in_its_own_words() {
    for (reason, next, words) in [
        ("taken_back", "acknowledge_refusal", "Combinado, não vou fazer nada."),
        ("postponed", "acknowledge_wait", "Combinado, espero. Diga quando quiser continuar."),
        ("nonce", "acknowledge_refusal", "Certo, não fiz nada."),
    ] {
        let bench = Bench::new().await;
        bench.stub.script(|script| {
            script.verdicts.insert("wamid.1".to_owned(), json!({ "code": "declined", "reason": reason, "next": next }));
        });
        bench.deliver(&text("wamid.1", "espera")).await;
        assert_eq!(said(&bench.stub.all("send")[0]), words);
    }
}

#[tokio::test]
async fn another_process_has_another_attempt_and_does_not_guess() {
    let (bench, command_id) = asked().await;
    let other = bench.another_process();
    bench.stub.log.lock().unwrap().clear();
    assert_eq!(other.deliver(&text("wamid.yes", "sim")).await.status, StatusCode::OK);
    assert_eq!((bench.stub.all(BIND).len(), bench.stub.all("execute").len()), (0, 0));
    assert!(said(&bench.stub.all("send")[0]).contains("Envie o pedido outra vez"));
    // Once both know the command, each binds with its own attempt, so that cscp can tell them apart.
    other.deliver(&text("wamid.ask", "Cancelar  pedido 123")).await;
    bench.stub.script(|script| {
        script.verdicts.insert("wamid.yes2".to_owned(), confirmed(&command_id));
    });
    let yes = text("wamid.yes2", "sim");
    tokio::join!(bench.deliver(&yes), other.deliver(&yes));
    let binds = bench.stub.all(BIND);
    assert_ne!(binds[0].body["attempt_id"], binds[1].body["attempt_id"]);
}

#[tokio::test]
async fn the_other_verdicts_are_explained_once_and_in_registered_words() {
    for (code, next, replies) in [
        ("ambiguous", "ask_again", 1),
        ("ambiguous", "ask_what_is_meant", 1),
        ("expired", "ask_anew", 1),
        ("superseded", "ask_anew", 1),
        ("already_decided", "tell_decision", 0),
        ("declined", "acknowledge_refusal", 1),
        ("ignored", "nothing", 0),
        ("selected", "continue_with_selection", 0),
        ("a_verdict_of_tomorrow", "a_step_of_tomorrow", 0),
    ] {
        let bench = Bench::new().await;
        bench.stub.script(|script| {
            script.verdicts.insert("wamid.1".to_owned(), json!({ "code": code, "next": next }));
        });
        for _ in 0..2 {
            assert_eq!(bench.deliver(&text("wamid.1", "sim")).await.status, StatusCode::OK, "{code}");
        }
        let sent = bench.stub.all("send");
        assert_eq!(sent.len(), replies, "{code}");
        if replies == 1 {
            let names = bench.stub.names();
            assert_eq!(names[..3], ["POST /v1/messages", "POST /v1/messages", "send"], "{code}");
            assert_eq!(bench.stub.all("POST /v1/messages")[1].body["text"], said(&sent[0]), "{code}");
        }
    }
}

#[tokio::test]
async fn what_is_left_to_an_operator_is_answered_by_nobody_else() {
    for code in ["not_an_answer", "ambiguous", "expired", "declined"] {
        let bench = Bench::new().await;
        bench.stub.script(|script| {
            script.verdicts.insert("wamid.1".to_owned(), json!({ "code": code, "next": "leave_to_operator" }));
        });
        assert_eq!(bench.deliver(&text("wamid.1", "cancel order 123")).await.status, StatusCode::OK, "{code}");
        assert_eq!(bench.stub.names(), ["POST /v1/messages"], "{code}");
    }
}

#[tokio::test]
async fn words_that_could_not_be_registered_are_not_sent() {
    let bench = Bench::new().await;
    bench.stub.script(|script| {
        script.verdicts.insert("wamid.1".to_owned(), json!({ "code": "expired", "next": "ask_anew" }));
    });
    bench.deliver(&text("wamid.1", "sim")).await;
    let reply_id = bench.stub.all("POST /v1/messages")[1].body["message_id"].as_str().unwrap().to_owned();
    for code in ["message_id_reused", "invalid_message"] {
        bench.stub.script(|script| {
            script.problems.insert(reply_id.clone(), (422, code));
        });
        assert_eq!(bench.deliver(&text("wamid.1", "sim")).await.status, StatusCode::OK, "{code}");
    }
    assert_eq!(bench.stub.all("send").len(), 1);
}

#[tokio::test]
async fn only_a_whole_message_asks_for_a_cancellation() {
    for (body, asks) in [
        ("cancel order 123", 1),
        ("CANCELAR PEDIDO 7", 1),
        ("please cancel order 123", 0),
        ("cancel order 123 and 456", 0),
        ("cancel order abc", 0),
        ("cancel order", 0),
        ("cancel order 1234567890123", 0),
    ] {
        let bench = Bench::new().await;
        bench.deliver(&text("wamid.1", body)).await;
        assert_eq!(bench.stub.all(ASK).len(), asks, "{body}");
    }
}

#[tokio::test]
async fn a_refused_question_is_not_sent() {
    for (code, replies) in [("question_pending", 1), ("prompt_too_long", 0)] {
        let bench = Bench::new().await;
        bench.stub.script(|script| {
            script.next.insert("confirmations", vec![(409, json!({ "code": code }))]);
        });
        assert_eq!(bench.deliver(&text("wamid.1", "cancel order 123")).await.status, StatusCode::OK);
        assert_eq!((bench.stub.all("send").len(), bench.stub.all(ATTACH).len()), (replies, 0), "{code}");
    }
}
