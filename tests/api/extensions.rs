//! A caller's own members are kept as policy keeps slots: stored, as a digest, or refused with the member's name.

use cscp::committer::Limits;
use cscp::http::HttpConfig;
use cscp::packs::PackSource;
use serde_json::{Value, json};

use crate::client::Client;
use crate::house::{House, fresh};

const STRONG: &str = include_str!("../../policies/strong.yaml");
const BASIC: &str = include_str!("../../policies/basic.yaml");
const MARK: &str = "RAWTEXTCANARY the whole message";

/// A house whose pack `strong` lists one member to store and one to keep a digest of.
async fn house() -> House {
    let folder = tempfile::tempdir().unwrap();
    let listed = "    default_extension: refuse\n    x_cart: stored\n    x_note: digest\n";
    let strong = STRONG.replace("    default_extension: refuse\n", listed);
    let strong = strong.replace("  shapes:\n", "  shapes:\n    x_cart: { type: string, max_bytes: 16 }\n");
    for (name, text) in [("basic", BASIC), ("strong", strong.as_str())] {
        std::fs::write(folder.path().join(format!("{name}.yaml")), text).unwrap();
    }
    let house =
        House::under(&PackSource::Folder(folder.path().to_owned()), Limits::default(), HttpConfig::default()).await;
    house.work();
    house
}

async fn kept(house: &House, text: &str) -> bool {
    house.rows().await.iter().any(|row| row.contains(text))
}

/// Sends a message, or opens a context, with these members.
async fn send(house: &House, client: &Client, message: bool, extensions: &Value) -> crate::client::Got {
    let conversation = fresh("conv");
    if message {
        let mut body = house.message(&conversation, "bom dia");
        body["extensions"] = extensions.clone();
        return client.post("/v1/messages", body).await;
    }
    let body = json!({"conversation_id": conversation, "actor_id": "customer", "extensions": extensions});
    client.post("/v1/contexts", body).await
}

#[tokio::test]
async fn what_the_pack_does_not_list_is_refused_by_name_and_kept_nowhere() {
    let house = house().await;
    let client = house.handler("s").await;
    for message in [true, false] {
        for (extensions, pointer) in [
            (json!({"raw": MARK}), "/extensions/raw"),
            (json!({"x_other": MARK}), "/extensions/x_other"),
            (json!({"x_cart": "c-1", "raw": MARK}), "/extensions/raw"),
            (json!({"active_intent": MARK}), "/extensions/active_intent"),
            (json!({"5521990001111": MARK}), "/extensions"),
            (json!({"x_cart": MARK}), "/extensions/x_cart"),
        ] {
            let got = send(&house, &client, message, &extensions).await.problem(422, "extension");
            assert_eq!(got.text("/errors/0/pointer"), pointer);
            assert!(!got.body.to_string().contains("5521990001111"), "{:#}", got.body);
        }
        send(&house, &client, message, &json!({})).await;
    }
    assert!(!kept(&house, MARK).await);
}

#[tokio::test]
async fn what_the_pack_lists_is_kept_as_it_says() {
    let house = house().await;
    let client = house.handler("s").await;
    for message in [true, false] {
        let (cart, note) = (fresh("cart"), format!("{MARK} {message}"));
        let got = send(&house, &client, message, &json!({"x_cart": cart, "x_note": note})).await;
        assert!([200, 201].contains(&got.status), "{:#}", got.body);
        assert!(kept(&house, &cart).await);
        assert!(!kept(&house, &note).await, "only a digest is kept");
    }
    let basic = house.handler("a").await;
    let got = send(&house, &basic, false, &json!({"anything": cart_of_basic()})).await.expect(201);
    assert_eq!(got.body["extensions"]["anything"], cart_of_basic(), "basic keeps what it does not list");
}

fn cart_of_basic() -> Value {
    json!({"cart": ["a", 1]})
}

#[tokio::test]
async fn a_refused_message_can_be_sent_again_without_its_members() {
    let house = house().await;
    let client = house.handler("s").await;
    let mut message = house.message("conv", "bom dia");
    message["extensions"] = json!({"raw": MARK});
    client.post("/v1/messages", message.clone()).await.problem(422, "extension");
    message.as_object_mut().unwrap().remove("extensions");
    let got = client.post("/v1/messages", message).await.expect(200);
    assert_eq!(got.body["duplicate"], json!(false), "nothing of the refused one was kept");
}
