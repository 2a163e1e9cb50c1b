//! Messages: repetition, reuse, batches, and a queue that is full.

use cscp::committer::Limits;
use cscp::http::HttpConfig;
use serde_json::{Value, json};

use crate::house::{House, ask, fresh};

#[tokio::test]
async fn a_delivery_may_be_repeated_and_an_id_may_not_be_reused() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let message = house.message("conv", "bom dia");
    client.post("/v1/messages", message.clone()).await.expect(200);
    let mut again = message.clone();
    again["correlation_id"] = json!("another-delivery");
    again["locale"] = Value::Null;
    again["direction"] = json!("inbound");
    again["forwarded"] = json!(false);
    again["channel"] = json!("whatsapp");
    again["extensions"] = json!({});
    again["sent_at"] = json!(again["sent_at"].as_str().unwrap().replace('Z', "+00:00"));
    let again = client.post("/v1/messages", again).await.expect(200);
    assert_eq!(
        again.body["duplicate"], true,
        "how a message is spelt is not part of it, nor the id that ties records together"
    );
    let mut other = message;
    other["text"] = json!("sim");
    client.post("/v1/messages", other).await.problem(422, "message_id_reused");
}

#[tokio::test]
async fn a_first_message_opens_a_context_whatever_it_says() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for (conversation, text) in
        [("first-1", "Cancelar"), ("first-2", "quero cancelar"), ("first-3", "👍"), ("first-4", "ok")]
    {
        for _ in 0..2 {
            let got = client.post("/v1/messages", house.message(conversation, text)).await.expect(200);
            let told = [got.text("/verdict/code"), got.text("/verdict/reason"), got.text("/verdict/next")];
            assert_eq!(told, ["not_an_answer", "nothing_pending", "route"], "{text}");
            assert_eq!(got.text("/context/status"), "active", "{text}");
        }
    }
}

#[tokio::test]
async fn what_a_person_has_taken_over_is_left_to_that_person() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "handed").await;
    let path = format!("/v1/contexts/{context}/transitions");
    client.post(&path, json!({"action": "block", "on": "operator"})).await.expect(200);
    for (text, reason) in
        [("sim", "nothing_pending"), ("não", "nothing_pending"), ("e o pedido 456?", "ordinary_message")]
    {
        let got = client.post("/v1/messages", house.message("handed", text)).await.expect(200);
        assert_eq!([got.text("/verdict/reason"), got.text("/verdict/next")], [reason, "leave_to_operator"], "{text}");
    }
    client.post(&path, json!({"action": "unblock"})).await.expect(200);
    let got = client.post("/v1/messages", house.message("handed", "sim")).await.expect(200);
    assert_eq!(got.text("/verdict/next"), "route");
}

#[tokio::test]
async fn an_answer_to_the_callers_own_question_names_it_and_says_how_it_reads() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "own").await;
    house.asked(&client, &context, ask("cmd-own")).await;
    let mut question = house.message("own", "Quer receber novidades?");
    question["direction"] = json!("outbound");
    client.post("/v1/messages", question.clone()).await.expect(200);
    house.wait(1);
    let yes = house.message("own", "sim");
    let mut quoting = house.message("own", "no, thanks");
    quoting["reply_to"] = question["message_id"].clone();
    let told = [
        (yes.clone(), json!({"polarity": "affirmative", "language": "pt-BR", "entry": "sim"})),
        (yes, json!({"polarity": "affirmative", "language": "pt-BR", "entry": "sim"})),
        (quoting, json!({"polarity": "negative", "language": "en", "entry": "no thanks"})),
    ];
    for (message, reading) in told {
        let got = client.post("/v1/messages", message).await.expect(200);
        assert_eq!(got.text("/verdict/reason"), "answers_other_question");
        assert_eq!([got.text("/verdict/code"), got.text("/verdict/next")], ["not_an_answer", "route"]);
        assert_eq!(got.body["verdict"]["question_message_id"], question["message_id"]);
        assert_eq!(got.body["reading"], reading);
        assert_eq!(got.text("/context/status"), "pending", "ours stays open");
    }
}

/// As `WhatsApp`'s webhook gives it; in another spelling it is the same message.
#[tokio::test]
async fn a_message_may_be_sent_at_an_epoch() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let mut message = house.message("epoch", "bom dia");
    for (sent_at, duplicate) in [("1795187045", false), ("2026-11-20T15:04:05Z", true), ("1795187045", true)] {
        message["sent_at"] = json!(sent_at);
        let got = client.post("/v1/messages", message.clone()).await.expect(200);
        assert_eq!(got.body["duplicate"], duplicate, "{sent_at}");
    }
    message["sent_at"] = json!("1795187046");
    client.post("/v1/messages", message).await.problem(422, "message_id_reused");
    // A number is no text, and the refusal says what to write.
    let mut number = house.message("epoch", "bom dia");
    number["sent_at"] = json!(1_795_187_045);
    client.ask("POST", "/v1/messages").json(&number).send().await.problem(422, "wrong_type");
    let mut milliseconds = house.message("epoch", "bom dia");
    milliseconds["sent_at"] = json!("1795187045000");
    let got = client.ask("POST", "/v1/messages").json(&milliseconds).send().await.problem(422, "invalid_value");
    assert!(got.text("/errors/0/problem").contains("ten digits"), "{:?}", got.body);
}

#[tokio::test]
async fn every_kind_is_read_and_unknown_news_counts_as_a_change_of_identity() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for kind in cscp::domain::message::MessageKind::ALL {
        let mut message = house.message("kinds", "x");
        message["kind"] = json!(kind);
        client.post("/v1/messages", message).await.expect(200);
    }
    let mut news = house.message("kinds", "x");
    news["kind"] = json!("system");
    news["system"] = json!({"type": "something_new", "previous": "1", "current": "2"});
    let got = client.post("/v1/messages", news).await.expect(200);
    assert_eq!(got.text("/verdict/reason"), "identity_news");
    let mut unknown = house.message("kinds", "x");
    unknown["kind"] = json!("hologram");
    let got = client.ask("POST", "/v1/messages").json(&unknown).send().await.problem(422, "invalid_value");
    assert_eq!(got.text("/errors/0/pointer"), "/kind");
}

#[tokio::test]
async fn a_batch_keeps_order_and_one_bad_message_harms_no_other() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "ordered").await;
    house.asked(&client, &context, ask("cmd-batch")).await;
    let yes = house.message("ordered", "sim");
    let no = house.message("ordered", "não");
    let mut reused = yes.clone();
    reused["text"] = json!("outra coisa");
    let messages = json!({"messages": [
        yes, {"message_id": 5}, "text", yes, reused, no, house.message("elsewhere", "oi"),
    ]});
    let got = client.ask("POST", "/v1/messages/batch").json(&messages).send().await.expect(200);
    let results = got.body["results"].as_array().unwrap();
    assert_eq!(results.len(), 7);
    assert_eq!(results[0]["answer"]["verdict"]["code"], "confirmed");
    assert_eq!(results[1]["problem"]["errors"][0]["pointer"], "/messages/1/message_id");
    assert_eq!(results[2]["problem"]["code"], "wrong_type");
    assert_eq!(results[3]["answer"]["duplicate"], true);
    assert_eq!(results[4]["problem"]["code"], "message_id_reused");
    assert_eq!(results[5]["answer"]["verdict"]["code"], "declined", "the no came after the yes and takes it back");
    assert_eq!(results[6]["answer"]["verdict"]["code"], "not_an_answer");
}

#[tokio::test]
async fn a_large_batch_of_one_conversation_is_answered_in_order() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let messages: Vec<Value> = (0..1_000).map(|at| house.message("long", &format!("n {at}"))).collect();
    let got = client.ask("POST", "/v1/messages/batch").valid(&json!({"messages": messages})).send().await.expect(200);
    let results = got.body["results"].as_array().unwrap();
    let last = |index: usize| results[index]["answer"]["context"]["trace"]["last_message_id"].clone();
    assert!((0..1_000).all(|index| last(index) == messages[index]["message_id"]));
    for body in [json!({"messages": []}), json!({"messages": vec![json!({}); 1_001]})] {
        client.ask("POST", "/v1/messages/batch").json(&body).send().await.problem(422, "invalid_value");
    }
}

#[tokio::test]
async fn a_full_queue_says_so_and_breaks_no_order() {
    let limits = Limits { queued_per_tenant: 2, ..Limits::default() };
    let house = House::idle(limits, HttpConfig::default()).await;
    let client = house.handler("a").await;
    let talks = ["full-1", "full-1", "full-2", "full-3", "full-3"];
    let messages: Vec<Value> = talks.iter().map(|talk| house.message(talk, "oi")).collect();
    let batch = client.ask("POST", "/v1/messages/batch").valid(&json!({"messages": messages})).send();
    let batch = tokio::spawn(batch);
    while house.service.queued() < 2 {
        tokio::task::yield_now().await;
    }
    let one = client.post("/v1/messages", house.message("full-4", "oi")).await.problem(503, "busy");
    assert_eq!(one.header("retry-after"), Some("1"));
    house.work();
    let results = batch.await.unwrap().expect(200).body["results"].as_array().unwrap().clone();
    let answered: Vec<bool> = results.iter().map(|result| result.get("answer").is_some()).collect();
    assert_eq!(answered, [true, true, true, false, false]);
    assert_eq!(results[4]["problem"]["code"], "busy");
    let rest = json!({"messages": messages[3..]});
    let rest = client.ask("POST", "/v1/messages/batch").valid(&rest).send().await.expect(200);
    assert!(rest.body["results"].as_array().unwrap().iter().all(|r| r["answer"]["duplicate"] == false));
}

#[tokio::test]
async fn bounds_hold_and_outbound_words_belong_to_outbound_messages() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let faults = [
        ("text", json!("x".repeat(65_537)), "/text"),
        ("button_id", json!("x".repeat(1_025)), "/button_id"),
        ("transcript", json!({"text": "sim", "confidence": 1.5}), "/transcript/confidence"),
        ("expects_reply", json!(true), "/expects_reply"),
        ("prompt_for", json!("cnf_018bcfe568007707870707070707070f"), "/prompt_for"),
        ("extensions", json!({"x": "y".repeat(17_000)}), "/extensions"),
        ("sent_at", json!("yesterday"), "/sent_at"),
        ("sent_at", json!("1795187045000"), "/sent_at"),
        ("sent_at", json!("179518704"), "/sent_at"),
        ("sent_at", json!("+795187045"), "/sent_at"),
        ("channel", json!("a\nb"), "/channel"),
        ("locale", json!(fresh(&"l".repeat(40))), "/locale"),
    ];
    for (member, value, pointer) in faults {
        let mut message = house.message("bounds", "oi");
        message[member] = value;
        let got = client.ask("POST", "/v1/messages").json(&message).send().await.problem(422, "invalid_value");
        assert_eq!(got.text("/errors/0/pointer"), pointer);
    }
}
