//! A yes is taken back before it is bound: by words, by deleting it, by editing it, in whatever order that arrives.

use serde_json::{Value, json};

use crate::client::{Client, Got};
use crate::house::{House, ask, fresh};

/// A confirmation that waits to be bound, with the message that said yes.
async fn confirmed(house: &House, client: &Client, conversation: &str) -> (String, Value, String) {
    let (context, binding) = house.confirmed(client, conversation).await;
    let yes = binding["message_ids"][0].as_str().unwrap().to_owned();
    (format!("/v1/contexts/{context}/commands"), binding, yes)
}

fn about(house: &House, conversation: &str, kind: &str, message_id: &str) -> Value {
    json!({
        "message_id": fresh("wamid"), "conversation_id": conversation, "actor_id": "customer",
        "sent_at": house.now(), "kind": kind, "reply_to": message_id,
    })
}

fn verdict(got: &Got) -> (String, String, String) {
    (got.text("/verdict/code"), got.text("/verdict/reason"), got.text("/verdict/next"))
}

fn is(got: &Got, code: &str, reason: &str, next: &str) {
    assert_eq!(verdict(got), (code.to_owned(), reason.to_owned(), next.to_owned()), "{:#}", got.body);
}

#[tokio::test]
async fn words_after_a_yes_stop_it() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for (text, reason, next) in [
        ("No, wait", "taken_back", "acknowledge_refusal"),
        ("nao, cancela", "taken_back", "acknowledge_refusal"),
        ("errei, não", "taken_back", "acknowledge_refusal"),
        ("não", "taken_back", "acknowledge_refusal"),
        ("mudei de ideia", "taken_back", "acknowledge_refusal"),
        ("wait", "postponed", "acknowledge_wait"),
        ("espera um pouco", "postponed", "acknowledge_wait"),
    ] {
        let conversation = fresh("conv");
        let (path, binding, _) = confirmed(&house, &client, &conversation).await;
        let said = client.post("/v1/messages", house.message(&conversation, text)).await.expect(200);
        is(&said, "declined", reason, next);
        let confirmation = &said.body["verdict"]["confirmation"];
        assert_eq!(
            (&confirmation["state"], &confirmation["reason"]),
            (&json!("voided"), &json!("taken_back")),
            "{text}"
        );
        client.ask("POST", &path).valid(&binding).send().await.problem(409, "confirmation_required");
        // Another yes starts anew.
        house.wait(1);
        let again = client.post("/v1/messages", house.message(&conversation, "sim")).await.expect(200);
        is(&again, "superseded", "taken_back", "ask_anew");
        client.ask("POST", &path).valid(&binding).send().await.problem(409, "confirmation_required");
    }
}

#[tokio::test]
async fn a_courtesy_after_a_yes_stops_nothing() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for text in ["obrigado!", "ok", "👍", "valeu, até mais", "quando chega o meu outro pedido?"] {
        let conversation = fresh("conv");
        let (path, binding, _) = confirmed(&house, &client, &conversation).await;
        let said = client.post("/v1/messages", house.message(&conversation, text)).await.expect(200);
        assert_ne!(said.text("/verdict/code"), "declined", "{text}: {:#}", said.body);
        let bound = client.ask("POST", &path).valid(&binding).send().await.expect(201);
        assert_eq!(bound.body["execute"], json!(true), "{text}");
    }
}

#[tokio::test]
async fn a_yes_that_was_deleted_or_edited_is_none() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for kind in ["revoke", "edit"] {
        let conversation = fresh("conv");
        let (path, binding, yes) = confirmed(&house, &client, &conversation).await;
        // Of another message it says nothing about the yes, and of another person neither.
        let other = client.post("/v1/messages", about(&house, &conversation, kind, "wamid.other")).await.expect(200);
        assert_eq!(other.text("/verdict/code"), "ignored");
        let mut stranger = about(&house, &conversation, kind, &yes);
        stranger["actor_id"] = json!("somebody-else");
        assert_eq!(client.post("/v1/messages", stranger).await.expect(200).text("/verdict/code"), "ignored");
        let gone = client.post("/v1/messages", about(&house, &conversation, kind, &yes)).await.expect(200);
        is(&gone, "declined", "taken_back", "acknowledge_refusal");
        client.ask("POST", &path).valid(&binding).send().await.problem(409, "confirmation_required");
        // After a binding there is nothing left to take back.
        let conversation = fresh("conv");
        let (path, binding, yes) = confirmed(&house, &client, &conversation).await;
        client.ask("POST", &path).valid(&binding).send().await.expect(201);
        let late = client.post("/v1/messages", about(&house, &conversation, kind, &yes)).await.expect(200);
        assert_eq!(late.text("/verdict/code"), "ignored");
    }
}

#[tokio::test]
async fn a_deletion_that_arrives_first_is_remembered() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "conv").await;
    let asked = house.asked(&client, &context, ask(&fresh("cmd"))).await;
    let mut yes = house.message("conv", "Sim");
    yes["kind"] = json!("interactive");
    yes["button_id"] = asked.body["button_ids"][0].clone();
    let deletion = about(&house, "conv", "revoke", yes["message_id"].as_str().unwrap());
    assert_eq!(client.post("/v1/messages", deletion).await.expect(200).text("/verdict/code"), "ignored");
    let got = client.post("/v1/messages", yes).await.expect(200);
    is(&got, "ambiguous", "taken_back", "ask_again");
    let mut again = house.message("conv", "Sim");
    again["kind"] = json!("interactive");
    again["button_id"] = asked.body["button_ids"][0].clone();
    assert_eq!(client.post("/v1/messages", again).await.expect(200).text("/verdict/code"), "confirmed");
}

/// The pack `strong` wants an approval for a payment.
async fn approval(house: &House, client: &Client, conversation: &str) -> (String, Got) {
    let context = house.opened(client, conversation).await;
    let command = fresh("cmd");
    let ask = json!({
        "command": {"command_id": command, "name": "payment.send", "idempotency_key": format!("idem-{command}")},
        "target": {"amount": "82000", "payee": "p-1"},
        "prompt": {"text": "Aprovar?", "buttons": [{"title": "Aprovar", "action": "approve"}, "Rejeitar"]},
    });
    let asked = client.post(&format!("/v1/contexts/{context}/approvals"), ask).await.expect(201);
    let role = client.get(&format!("/v1/approvals/{}", asked.text("/approval_id"))).await.expect(200).text("/role");
    let boss = json!({"kind": "person", "roles": [role], "person_id": "p-boss"});
    client.put("/v1/principals/boss", boss).await;
    (context, asked)
}

#[tokio::test]
async fn an_approver_takes_an_approval_back_by_deleting_it_elsewhere() {
    let house = House::new().await;
    let client = house.handler("s").await;
    let (_, asked) = approval(&house, &client, "paying").await;
    let mut tap = house.message("with-boss", "Aprovar");
    tap["actor_id"] = json!("boss");
    tap["kind"] = json!("interactive");
    tap["button_id"] = asked.body["button_ids"][0].clone();
    assert_eq!(client.post("/v1/messages", tap.clone()).await.expect(200).text("/verdict/code"), "approved");
    let mut gone = about(&house, "with-boss", "revoke", tap["message_id"].as_str().unwrap());
    gone["actor_id"] = json!("boss");
    is(&client.post("/v1/messages", gone).await.expect(200), "rejected", "taken_back", "acknowledge_refusal");
    let item = client.get(&format!("/v1/approvals/{}", asked.text("/approval_id"))).await.expect(200);
    assert_eq!((item.text("/state"), item.text("/reason")), ("voided".to_owned(), "taken_back".to_owned()));
}

#[tokio::test]
async fn an_approval_of_others_leaves_the_persons_line_free() {
    let house = House::new().await;
    let client = house.handler("s").await;
    let (context, _) = approval(&house, &client, "paying").await;
    let path = format!("/v1/contexts/{context}");
    let shown = client.get(&path).await.expect(200);
    assert_eq!(shown.text("/status"), "pending");
    let asked = house.asked(&client, &context, ask(&fresh("cmd"))).await;
    let both = client.get(&path).await.expect(200).body;
    assert!(
        both["slots"]["pending_confirmation"].is_object() && both["slots"]["pending_approval"].is_object(),
        "{both:#}"
    );
    let second = client.post(&format!("{path}/confirmations"), ask(&fresh("cmd"))).await;
    second.problem(409, "question_pending");
    let mut yes = house.message("paying", "Sim");
    yes["kind"] = json!("interactive");
    yes["button_id"] = asked.body["button_ids"][0].clone();
    assert_eq!(client.post("/v1/messages", yes).await.expect(200).text("/verdict/code"), "confirmed");
    let left = client.get(&path).await.expect(200).body;
    assert_eq!(left["status"], "pending");
    assert!(
        left["slots"]["pending_confirmation"].is_null() && left["slots"]["pending_approval"].is_object(),
        "{left:#}"
    );
}

/// Two principals, one telephone: one person, until somebody says that they are two.
#[tokio::test]
async fn one_telephone_is_one_person() {
    let house = House::new().await;
    let client = house.handler("s").await;
    let (_, asked) = approval(&house, &client, "paying").await;
    let id = asked.text("/approval_id");
    let read = client.get(&format!("/v1/approvals/{id}")).await.expect(200);
    let role = read.text("/role");
    let phone = json!([{"kind": "phone", "value": "+55119"}]);
    // The requester, under another name.
    let customer = json!({"kind": "person", "aliases": phone});
    client.put("/v1/principals/customer", customer).await;
    client.put("/v1/principals/twin", json!({"kind": "person", "roles": [role], "aliases": phone})).await;
    let mut tap = house.message("with-twin", "Aprovar");
    tap["actor_id"] = json!("twin");
    tap["kind"] = json!("interactive");
    tap["button_id"] = asked.body["button_ids"][0].clone();
    let got = client.post("/v1/messages", tap).await.expect(200);
    assert_eq!((got.text("/verdict/code"), got.text("/verdict/reason")), ("ambiguous".into(), "not_entitled".into()));
    let mut tap = house.message("with-boss", "Aprovar");
    tap["actor_id"] = json!("boss");
    tap["kind"] = json!("interactive");
    tap["button_id"] = asked.body["button_ids"][0].clone();
    assert_eq!(client.post("/v1/messages", tap).await.expect(200).text("/verdict/code"), "approved");
    let granted = client.get(&format!("/v1/approvals/{id}")).await.expect(200);
    assert_eq!(granted.text("/state"), "approved");
    // The approver turns out to be the requester: the approval counts for nobody any more, and shows so at once.
    client.put("/v1/principals/boss", json!({"kind": "person", "roles": [role], "person_id": "p-1"})).await.expect(200);
    client
        .put("/v1/principals/customer", json!({"kind": "person", "aliases": phone, "person_id": "p-1"}))
        .await
        .expect(200);
    let now = client.get(&format!("/v1/approvals/{id}")).await.expect(200);
    assert_eq!((now.text("/state"), now.body["received"].clone()), ("open".to_owned(), json!(0)), "{:#}", now.body);
}
