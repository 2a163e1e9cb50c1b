//! The webhook in front of the real server: what the stub only claims about cscp, cscp does here.

use std::sync::atomic::Ordering;

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::bench::SECRET;
use crate::fixtures::{many, own, real};
use crate::house::{House, Process};
use crate::normalise::normalise;
use crate::payload;

const CUSTOMER: &str = "12025550100";

/// A delivery with one message of the customer, stamped with the present second.
pub(crate) fn delivery(house: &House, id: &str, content: &Value) -> Vec<u8> {
    let mut message = json!({ "from": CUSTOMER, "id": id, "timestamp": house.second().to_string() });
    message.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
    json!({ "object": "whatsapp_business_account", "entry": [{ "id": "1", "changes": [{ "field": "messages", "value": {
        "messaging_product": "whatsapp", "metadata": { "phone_number_id": "105500000000001" },
        "contacts": [{ "profile": { "name": "Ada Example" }, "wa_id": CUSTOMER }], "messages": [message] } }] }] })
    .to_string()
    .into_bytes()
}

fn text(house: &House, id: &str, body: &str) -> Vec<u8> {
    delivery(house, id, &json!({ "type": "text", "text": { "body": body } }))
}

/// A tap on a button, quoting the question as WhatsApp does, or not quoting it as WhatsApp sometimes does.
pub(crate) fn tap(house: &House, id: &str, button: &Value, quoted: Option<&str>) -> Vec<u8> {
    let mut content = json!({ "type": "interactive", "interactive": { "type": "button_reply",
        "button_reply": { "id": button["reply"]["id"], "title": button["reply"]["title"] } } });
    if let Some(quoted) = quoted {
        content["context"] = json!({ "from": "12025550199", "id": quoted });
    }
    delivery(house, id, &content)
}

pub(crate) async fn ok(process: &Process, body: &[u8]) {
    let answered = process.deliver(body).await;
    assert_eq!(answered.status, StatusCode::OK);
    assert!(answered.adds_up() && answered.count("refused") == 0, "{}", answered.receipt());
}

/// The buttons of the question that was sent last.
fn buttons(house: &House) -> (Value, Value) {
    let question = house.sent().into_iter().rfind(|message| message["type"] == "interactive").unwrap();
    let buttons = &question["interactive"]["action"]["buttons"];
    (buttons[0].clone(), buttons[1].clone())
}

/// Asks to cancel order 123; the question went out as message `wamid.sent.0`, three seconds ago.
pub(crate) async fn asked(house: &House, process: &Process) -> (Value, Value) {
    ok(process, &text(house, "wamid.ask", "cancelar pedido 123")).await;
    assert_eq!(house.sent().len(), 1);
    house.wait(3);
    buttons(house)
}

/// The command that the question was about.
pub(crate) fn command_id(house: &House) -> String {
    let asks = house.exchanges().into_iter().find(|exchange| exchange.call.ends_with("/confirmations")).unwrap();
    asks.request["command"]["command_id"].as_str().unwrap().to_owned()
}

pub(crate) fn verdict(house: &House, message_id: &str) -> (String, String) {
    let exchanges = house.exchanges();
    let turn = exchanges.iter().rfind(|exchange| exchange.request["message_id"] == message_id).unwrap();
    let word = |name: &str| turn.answer["verdict"][name].as_str().unwrap().to_owned();
    (word("code"), word("reason"))
}

/// Every request was as the document has it, and these were the refusals.
pub(crate) fn in_order(house: &House, refusals: &[(u16, &str)]) {
    for exchange in house.exchanges() {
        assert_eq!(exchange.faults(), [""; 0], "{}", exchange.call);
    }
    let expected: Vec<_> = refusals.iter().map(|(status, code)| (*status, (*code).to_owned())).collect();
    assert_eq!(house.refusals(), expected);
}

#[tokio::test]
async fn a_tap_is_bound_executed_and_reported_and_can_be_explained() {
    for quoted in [Some("wamid.sent.0"), None] {
        let house = House::new().await;
        let process = house.process();
        let (yes, _) = asked(&house, &process).await;
        ok(&process, &tap(&house, "wamid.yes", &yes, quoted)).await;
        assert_eq!(house.said(), ["Pedido cancelado."]);
        let reason = if quoted.is_some() { "nonce_and_quote" } else { "nonce" };
        assert_eq!(verdict(&house, "wamid.yes"), ("confirmed".to_owned(), reason.to_owned()));

        let id = command_id(&house);
        let command = house.read(&format!("/v1/commands/{id}")).await;
        assert_eq!((&command["status"], &command["outcome"]), (&json!("bound"), &json!("succeeded")));
        assert_eq!(command["message_ids"], json!(["wamid.ask", "wamid.yes"]));
        let executed = house.executed();
        assert_eq!((executed.len(), &executed[0]["order_id"]), (1, &json!("123")));
        assert_eq!(executed[0]["context_ref"], command["context_ref"], "what travels is what is kept");
        let path = format!("/v1/confirmations/{}", command["confirmation_id"].as_str().unwrap());
        assert_eq!(house.read(&path).await["state"], "spent");

        let explained = house.read(&format!("/v1/ooc/commands/{id}/explanation")).await;
        assert_eq!((&explained["fate"], &explained["outcome"]), (&json!("bound"), &json!("succeeded")));
        assert!(explained["text"].as_str().unwrap().contains("order.cancel"), "{explained:#}");
        let steps = explained["steps"].as_array().unwrap();
        assert!(steps.iter().any(|step| step["verdict"] == "confirmed" && step["reason"] == reason), "{explained:#}");

        let evidence = house.evidence(json!({ "command_id": id })).await;
        let types: Vec<&str> = evidence.iter().map(|artifact| artifact["type"].as_str().unwrap()).collect();
        for kind in ["confirmation.requested", "confirmation.spent", "command.bound", "command.result_recorded"] {
            assert_eq!(types.iter().filter(|one| **one == kind).count(), 1, "{kind}: {types:?}");
        }
        in_order(&house, &[]);
    }
}

#[tokio::test]
async fn a_tap_that_is_delivered_twice_or_twice_at_once_executes_once() {
    let house = House::new().await;
    let process = house.process();
    let (yes, _) = asked(&house, &process).await;
    let tap = tap(&house, "wamid.yes", &yes, Some("wamid.sent.0"));
    tokio::join!(ok(&process, &tap), ok(&process, &tap));
    house.wait(30);
    ok(&process, &tap).await;
    ok(&process, &text(&house, "wamid.later", "obrigado")).await;
    assert_eq!((house.executed().len(), house.said()), (1, vec!["Pedido cancelado.".to_owned()]));
    in_order(&house, &[(422, "message_id_reused"); 2]);
}

#[tokio::test]
async fn a_second_tap_is_told_that_it_is_decided() {
    let house = House::new().await;
    let process = house.process();
    let (yes, no) = asked(&house, &process).await;
    for (id, button) in [("wamid.yes", &yes), ("wamid.yes.2", &yes), ("wamid.no", &no)] {
        ok(&process, &tap(&house, id, button, Some("wamid.sent.0"))).await;
        house.wait(1);
    }
    assert_eq!(house.executed().len(), 1);
    assert_eq!(house.said(), ["Pedido cancelado.", "Isso já foi decidido.", "Isso já foi decidido."]);
    in_order(&house, &[]);
}

#[tokio::test]
async fn no_is_no() {
    let house = House::new().await;
    let process = house.process();
    let (yes, no) = asked(&house, &process).await;
    ok(&process, &tap(&house, "wamid.no", &no, Some("wamid.sent.0"))).await;
    ok(&process, &tap(&house, "wamid.yes", &yes, Some("wamid.sent.0"))).await;
    assert_eq!((house.executed().len(), house.said().len()), (0, 2));
    let explained = house.read(&format!("/v1/ooc/commands/{}/explanation", command_id(&house))).await;
    assert_eq!(explained["fate"], "not_executed");
    in_order(&house, &[]);
}

#[tokio::test]
async fn two_processes_that_both_know_the_question_execute_it_once() {
    let house = House::new().await;
    let (one, two) = (house.process(), house.process());
    let question = text(&house, "wamid.ask", "cancelar pedido 123");
    tokio::join!(ok(&one, &question), ok(&two, &question));
    let sent = house.sent();
    assert_eq!(sent.len(), 2, "a question is sent until it went out; the second process cannot know that it did");
    assert_eq!(sent[0], sent[1], "and it is the same question with the same buttons");
    house.wait(3);
    let (yes, _) = buttons(&house);
    let tap = tap(&house, "wamid.yes", &yes, None);
    tokio::join!(ok(&one, &tap), ok(&two, &tap));
    assert_eq!((house.executed().len(), house.said()), (1, vec!["Pedido cancelado.".to_owned()]));
    let command = house.read(&format!("/v1/commands/{}", command_id(&house))).await;
    assert_eq!(command["outcome"], "succeeded");
    in_order(&house, &[(409, "prompt_already_attached"), (409, "already_bound")]);
}

#[tokio::test]
async fn a_process_that_does_not_know_the_question_says_so_and_what_it_says_stays_true() {
    let house = House::new().await;
    let (one, two) = (house.process(), house.process());
    let (yes, _) = asked(&house, &one).await;
    let tap = tap(&house, "wamid.yes", &yes, Some("wamid.sent.0"));
    ok(&two, &tap).await;
    ok(&one, &tap).await;
    assert_eq!(house.executed().len(), 0, "the customer was told that nothing was done");
    assert_eq!(house.said().len(), 1);
    assert!(house.said()[0].contains("Envie o pedido outra vez"));
    // And asking again works at once.
    ok(&two, &text(&house, "wamid.ask.2", "cancelar pedido 123")).await;
    let (yes, _) = buttons(&house);
    house.wait(3);
    ok(&two, &self::tap(&house, "wamid.yes.2", &yes, None)).await;
    assert_eq!((house.executed().len(), house.said()[1].as_str()), (1, "Pedido cancelado."));

    // The other way round the one that knew has executed, and the other has nothing to say.
    let house = House::new().await;
    let (one, two) = (house.process(), house.process());
    let (yes, _) = asked(&house, &one).await;
    let tap = self::tap(&house, "wamid.yes", &yes, Some("wamid.sent.0"));
    ok(&one, &tap).await;
    ok(&two, &tap).await;
    assert_eq!((house.executed().len(), house.said()), (1, vec!["Pedido cancelado.".to_owned()]));
}

#[tokio::test]
async fn a_bare_yes_is_not_enough_to_cancel_an_order() {
    let house = House::new().await;
    let process = house.process();
    let (yes, _) = asked(&house, &process).await;
    ok(&process, &text(&house, "wamid.sim", "sim")).await;
    assert_eq!(verdict(&house, "wamid.sim"), ("ambiguous".to_owned(), "bare_answer_not_allowed".to_owned()));
    assert_eq!(house.executed().len(), 0);
    assert!(house.said()[0].contains("Toque num botão"));
    // The question is still open: a tap answers it, and so does a quoted yes in its place.
    ok(&process, &tap(&house, "wamid.yes", &yes, Some("wamid.sent.0"))).await;
    assert_eq!(house.executed().len(), 1);
    in_order(&house, &[]);
}

#[tokio::test]
async fn a_yes_in_words_that_quotes_the_question_counts() {
    let house = House::new().await;
    let process = house.process();
    asked(&house, &process).await;
    let quoting = json!({ "type": "text", "text": { "body": "Sim, pode" },
                          "context": { "from": "12025550199", "id": "wamid.sent.0" } });
    let quoting = delivery(&house, "wamid.yes", &quoting);
    ok(&process, &quoting).await;
    assert_eq!(verdict(&house, "wamid.yes").0, "confirmed");
    assert_eq!(house.executed().len(), 1);
    in_order(&house, &[]);
}

#[tokio::test]
async fn a_tap_after_six_minutes_is_too_late() {
    let house = House::new().await;
    let process = house.process();
    let (yes, _) = asked(&house, &process).await;
    house.wait(360);
    ok(&process, &tap(&house, "wamid.yes", &yes, Some("wamid.sent.0"))).await;
    assert_eq!(verdict(&house, "wamid.yes"), ("expired".to_owned(), "question_expired".to_owned()));
    assert_eq!(
        (house.executed().len(), house.said()),
        (0, vec!["Essa pergunta expirou. Envie o pedido outra vez.".to_owned()])
    );
    in_order(&house, &[]);
}

#[tokio::test]
async fn another_request_does_not_slip_past_an_open_question() {
    let house = House::new().await;
    let process = house.process();
    let (yes, _) = asked(&house, &process).await;
    ok(&process, &text(&house, "wamid.ask.2", "cancelar pedido 456")).await;
    assert_eq!(verdict(&house, "wamid.ask.2"), ("not_an_answer".to_owned(), "new_request".to_owned()));
    assert_eq!(house.said(), ["Antes disso, responda à pergunta que está aberta."]);
    // A tap of the same second might have come before it.
    house.wait(1);
    ok(&process, &tap(&house, "wamid.yes", &yes, Some("wamid.sent.0"))).await;
    assert_eq!(house.executed()[0]["order_id"], "123");
    // The shop asks for its command and is told that a question is open.
    in_order(&house, &[(409, "question_pending")]);
}

#[tokio::test]
async fn clocks_that_disagree_cost_nothing() {
    for ahead in [2, -2] {
        let house = House::new().await;
        house.record.ahead.store(ahead, Ordering::SeqCst);
        let process = house.process();
        let (yes, _) = asked(&house, &process).await;
        ok(&process, &tap(&house, "wamid.yes", &yes, Some("wamid.sent.0"))).await;
        assert_eq!(verdict(&house, "wamid.yes").1, "nonce_and_quote", "the question is known by its message");
        in_order(&house, &[(422, "prompt_time_impossible")]);
    }
}

#[tokio::test]
async fn whoever_changes_number_or_phone_no_longer_answers_for_whoever_was_asked() {
    let number = json!({ "type": "system", "system": { "body": "changed", "wa_id": "12025550102", "type": "user_changed_number" } });
    let phone = json!({ "type": "system", "identity": { "acknowledged": true, "created_timestamp": "1790000000", "hash": "h" },
                        "system": { "body": "changed", "type": "customer_identity_changed" } });
    for change in [number, phone] {
        let house = House::new().await;
        let process = house.process();
        let (yes, _) = asked(&house, &process).await;
        ok(&process, &delivery(&house, "wamid.change", &change)).await;
        assert_eq!(verdict(&house, "wamid.change"), ("ignored".to_owned(), "identity_news".to_owned()));
        house.wait(2);
        ok(&process, &tap(&house, "wamid.yes", &yes, Some("wamid.sent.0"))).await;
        assert_eq!(verdict(&house, "wamid.yes"), ("superseded".to_owned(), "identity_changed".to_owned()));
        assert_eq!((house.executed().len(), house.said().len()), (0, 1));
        in_order(&house, &[]);
        // From the new number it is nobody's answer either.
        let from = String::from_utf8(tap(&house, "wamid.yes.new", &yes, Some("wamid.sent.0"))).unwrap();
        ok(&process, from.replace(CUSTOMER, "12025550102").as_bytes()).await;
        assert_eq!(verdict(&house, "wamid.yes.new").1, "other_conversation");
        assert_eq!(house.executed().len(), 0);
    }
}

#[tokio::test]
async fn whoever_changes_user_id_no_longer_answers_for_whoever_was_asked() {
    let house = House::new().await;
    let process = house.process();
    let contact = format!(r#""wa_id":"{CUSTOMER}""#);
    let known = |body: Vec<u8>| {
        let body = String::from_utf8(body).unwrap();
        body.replace(&contact, &format!(r#"{contact},"user_id":"US.1""#)).into_bytes()
    };
    ok(&process, &known(text(&house, "wamid.ask", "cancel order 123"))).await;
    house.wait(3);
    let (yes, _) = buttons(&house);
    // The change and the tap come in one delivery, the tap first: the change is posted before it.
    let tap: Value = serde_json::from_slice(&known(tap(&house, "wamid.yes", &yes, None))).unwrap();
    let change = json!({ "field": "user_id_update", "value": { "metadata": { "phone_number_id": "105500000000001" },
        "user_id_update": [{ "wa_id": CUSTOMER, "timestamp": house.second().to_string(),
                             "user_id": { "previous": "US.1", "current": "US.2" } }] } });
    let both = json!({ "entry": [{ "changes": [tap["entry"][0]["changes"][0], change] }] });
    ok(&process, both.to_string().as_bytes()).await;
    assert_eq!((house.executed().len(), house.said().len()), (0, 1));
    let batch = house.exchanges().into_iter().find(|exchange| exchange.call.ends_with("/batch")).unwrap();
    assert_eq!(batch.answer["results"][1]["answer"]["verdict"]["reason"], "identity_changed", "{batch:?}");
    in_order(&house, &[]);
}

/// Delivers a payload. Every message in it is known to the server afterwards, or was skipped for a reason.
async fn arrives(name: &str, body: &[u8]) -> Vec<(u16, String)> {
    let house = House::new().await;
    let answered = house.process().deliver(body).await;
    assert_eq!(answered.status, StatusCode::OK, "{name}: {:?}", house.refusals());
    assert!(answered.adds_up(), "{name}: {}", answered.receipt());
    for exchange in house.exchanges() {
        assert!(exchange.status < 500, "{name}: {exchange:?}");
        assert_eq!(exchange.faults(), [""; 0], "{name}: {}", exchange.call);
    }
    let normalised = normalise(&payload::read(body).unwrap(), &SECRET.parse().unwrap());
    let events: Vec<Value> =
        normalised.identity_updates.iter().chain(&normalised.messages).map(|one| json!(one.event)).collect();
    assert_eq!(answered.count("posted") + answered.count("refused"), events.len() as u64, "{name}");
    let evidence = house.evidence(json!({ "limit": 200 })).await;
    for event in events {
        let turn = house.ask("/v1/messages", &event).await;
        assert_eq!(turn["duplicate"], true, "{name}: {event}");
        let held =
            |artifact: &Value| artifact["message_ids"].as_array().is_some_and(|ids| ids.contains(&event["message_id"]));
        assert!(evidence.iter().any(held), "{name}: no evidence of {event}");
    }
    house.refusals()
}

#[tokio::test]
async fn every_fixture_arrives() {
    for fixture in own() {
        assert_eq!(arrives(&fixture.name, &fixture.body).await, [], "{}", fixture.name);
    }
}

#[tokio::test]
async fn every_real_payload_arrives() {
    for (name, payload) in real() {
        assert_eq!(arrives(&name, payload.to_string().as_bytes()).await, [], "{name}");
    }
}

#[tokio::test]
async fn a_thousand_messages_arrive() {
    assert_eq!(arrives("many", many(1_000).to_string().as_bytes()).await, []);
}
