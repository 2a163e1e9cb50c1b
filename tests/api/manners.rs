//! How the server behaves towards callers who are new, quick or thrifty.

use std::io::Write as _;

use cscp::domain::operation::CredentialKind;
use cscp::domain::scope::Scope;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::client::Got;
use crate::house::{House, ask, fresh};

fn pointers(got: &Got) -> Vec<String> {
    let errors = got.body["errors"].as_array().unwrap().iter();
    let mut found: Vec<String> = errors.map(|error| error["pointer"].as_str().unwrap().to_owned()).collect();
    found.sort();
    found
}

#[tokio::test]
async fn everything_that_a_body_lacks_is_said_at_once() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "conv").await;
    let binding = format!("/v1/contexts/{context}/commands");
    let asking = format!("/v1/contexts/{context}/confirmations");
    let of_binding = ["/attempt_id", "/command_id", "/idempotency_key", "/message_ids", "/name"];
    let cases: [(&str, Value, &[&str]); 5] = [
        ("/v1/messages", json!({}), &["/actor_id", "/conversation_id", "/kind", "/message_id", "/sent_at"]),
        (
            "/v1/messages",
            json!({"kind": "text", "sent_at": "1795187045"}),
            &["/actor_id", "/conversation_id", "/message_id"],
        ),
        (
            &asking,
            json!({"prompt": {}, "command": {"name": "order.cancel"}}),
            &["/command/command_id", "/command/idempotency_key", "/prompt/text"],
        ),
        (&binding, json!({}), &of_binding),
        ("/v1/commands/none/results", json!({}), &["/status"]),
    ];
    for (path, body, lacking) in cases {
        let got = client.post_unchecked(path, &body).await.problem(422, "missing_field");
        assert_eq!(pointers(&got), lacking, "{path}");
    }
    // A body that is wrong in another way says that first, and a whole one lacks nothing.
    client.post_unchecked("/v1/messages", &json!({"colour": 1})).await.problem(422, "unknown_field");
    let batch = json!({"messages": [{"kind": "text"}, house.message("conv", "oi")]});
    let got = client.post_unchecked("/v1/messages/batch", &batch).await.expect(200);
    let errors = got.body["results"][0]["problem"]["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 4, "{errors:?}");
    assert!(errors.iter().all(|error| error["pointer"].as_str().unwrap().starts_with("/messages/0/")), "{errors:?}");
    assert!(got.body["results"][1]["answer"].is_object());
}

#[tokio::test]
async fn a_time_that_is_no_text_is_told_what_is() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for wrong in [json!(1_795_187_045), json!(1_795_187_045.5), json!("yesterday"), json!("17951870"), json!(null)] {
        let mut message = house.message("conv", "oi");
        message["sent_at"] = wrong.clone();
        let got = client.post_unchecked("/v1/messages", &message).await;
        assert_eq!((got.status, pointers(&got)), (422, vec!["/sent_at".to_owned()]), "{wrong}");
        let said = got.text("/errors/0/problem");
        assert!(wrong.is_null() || (said.contains("RFC 3339") && said.contains("webhook")), "{wrong}: {said}");
    }
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(text).unwrap();
    packer.finish().unwrap()
}

#[tokio::test]
async fn a_packed_body_is_read_within_the_limits_of_what_it_holds() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let send = async |encoding: &str, body: Vec<u8>| {
        client.ask("POST", "/v1/messages").header("content-encoding", encoding).raw(body).send().await
    };
    let message = house.message("conv", "oi").to_string().into_bytes();
    assert_eq!(send("gzip", packed(&message)).await.expect(200).body["duplicate"], false);
    // It is the message that it would be unpacked.
    assert_eq!(send("identity", message.clone()).await.expect(200).body["duplicate"], true);
    // Megabytes of blanks are a few kilobytes.
    for mebibytes in [2, 200] {
        let bomb = packed(&vec![b' '; mebibytes << 20]);
        assert!(bomb.len() < 300 << 10, "{}", bomb.len());
        send("gzip", bomb).await.problem(413, "body_too_large");
    }
    for encoding in ["br", "deflate", "zstd", "gzip, gzip", "nonsense"] {
        let got = send(encoding, message.clone()).await.problem(415, "unsupported_media_type");
        assert!(got.text("/detail").contains("Content-Encoding"), "{encoding}: {got:?}");
        assert_eq!(got.header("accept-encoding"), Some("gzip"));
    }
    send("gzip", message.clone()).await.problem(400, "body_incomplete");
    let whole = packed(&message);
    send("gzip", whole[..whole.len() / 2].to_vec()).await.problem(400, "body_incomplete");
}

#[tokio::test]
async fn a_prompt_that_is_named_after_its_tap_is_no_error() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for (button, title, shown) in [(0, "Sim", "confirmed"), (1, "Não", "declined")] {
        let conversation = fresh("conv");
        let context = house.opened(&client, &conversation).await;
        let body = ask(&fresh("cmd"));
        let asked = client.post(&format!("/v1/contexts/{context}/confirmations"), body).await.expect(201);
        let mut tap = house.message(&conversation, title);
        tap["kind"] = json!("interactive");
        tap["button_id"] = asked.body["button_ids"][button].clone();
        client.post("/v1/messages", tap).await.expect(200);
        let path = format!("/v1/confirmations/{}/prompt-message", asked.text("/confirmation_id"));
        let prompt = json!({"message_id": fresh("wamid")});
        for _ in 0..3 {
            let named = client.put(&path, prompt.clone()).await.expect(200);
            assert_eq!(named.text("/state"), shown);
            assert_eq!(named.text("/prompts/0/message_id"), prompt["message_id"]);
            assert_eq!(named.body["prompts"].as_array().unwrap().len(), 1);
        }
    }
    // A question whose time is over was not answered, and the caller has to know.
    let context = house.opened(&client, "late").await;
    let asked = client.post(&format!("/v1/contexts/{context}/confirmations"), ask(&fresh("cmd"))).await.expect(201);
    house.wait(301);
    let path = format!("/v1/confirmations/{}/prompt-message", asked.text("/confirmation_id"));
    client.put(&path, json!({"message_id": fresh("wamid")})).await.problem(409, "item_expired");
}

#[tokio::test]
async fn an_approvers_verdict_says_whose_request_it_was_and_who_is_still_waited_for() {
    let house = House::new().await;
    house.tenant("o", "operational").await;
    let client = house.handler("o").await;
    let context = house.opened(&client, "requester").await;
    let command = json!({"command_id": "pay-1", "name": "payment.send", "idempotency_key": "idem-pay-1"});
    let body = json!({"command": command, "target": {"amount": "82000", "payee": "p-1", "order_id": "1"},
        "prompt": {"text": "Aprovar?", "buttons": ["Aprovar", "Rejeitar"]}});
    let asked = client.post(&format!("/v1/contexts/{context}/approvals"), body).await.expect(201);
    let id = asked.text("/approval_id");
    let read = client.get(&format!("/v1/approvals/{id}")).await.expect(200);
    assert_eq!((read.text("/conversation_id"), &read.body["waiting_for"]), ("requester".to_owned(), &json!(2)));
    let role = read.text("/role");
    for (boss, waiting_for, state) in [("boss-1", 1, "open"), ("boss-2", 0, "approved")] {
        let person = json!({"kind": "person", "roles": [role], "person_id": boss});
        client.put(&format!("/v1/principals/{boss}"), person).await.expect(201);
        let mut tap = house.message(&format!("with-{boss}"), "Aprovar");
        tap["actor_id"] = json!(boss);
        tap["kind"] = json!("interactive");
        tap["button_id"] = asked.body["button_ids"][0].clone();
        let got = client.post("/v1/messages", tap).await.expect(200);
        assert_eq!(got.text("/verdict/code"), "approved");
        let about = &got.body["verdict"]["approval"];
        assert_eq!((&about["context_id"], &about["conversation_id"]), (&json!(context), &json!("requester")));
        assert_eq!(
            (&about["waiting_for"], &about["required"], &about["state"]),
            (&json!(waiting_for), &json!(2), &json!(state))
        );
    }
    let bosses = client.post("/v1/principals/query", json!({"role": role})).await.expect(200);
    assert_eq!(bosses.body["items"].as_array().unwrap().len(), 2, "whom to ask is found by role");
    let reader = house.client("o", CredentialKind::Handler, Some(&[Scope::ContextRead]), None).await;
    let page = reader.post("/v1/principals/query", json!({"role": role, "limit": 1})).await.expect(200);
    let rest = json!({"role": role, "limit": 1, "cursor": page.text("/next_cursor")});
    let rest = reader.post("/v1/principals/query", rest).await.expect(200);
    assert_ne!(page.text("/items/0/principal_id"), rest.text("/items/0/principal_id"));
    assert!(rest.body["next_cursor"].is_null());
}
