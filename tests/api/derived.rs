//! What policy derives instead of storing is shown all the same (RFC XII), and is in no stored record.

use cscp::committer::Limits;
use cscp::http::HttpConfig;
use cscp::packs::PackSource;
use serde_json::json;

use crate::client::Client;
use crate::house::{House, ask, bind};

async fn deriving() -> House {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("basic.yaml", include_str!("../../policies/basic.yaml")),
        ("strong.yaml", include_str!("../../policies/strong.yaml")),
    ] {
        let text = text
            .replace("pending_confirmation: stored", "pending_confirmation: derived")
            .replace("last_result: stored", "last_result: derived");
        assert_eq!(text.matches(": derived").count(), 2, "{name}");
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let packs = PackSource::Folder(folder.path().to_owned());
    let house = House::under(&packs, Limits::default(), HttpConfig::default()).await;
    house.work();
    house
}

async fn stored_slots(house: &House, client: &Client, context: &str) -> serde_json::Value {
    let id = cscp::domain::id::ContextId::parse(context).unwrap();
    let tenant = cscp::domain::id::TenantId::new("a").unwrap();
    let shown = client.get(&format!("/v1/contexts/{context}")).await.expect(200);
    let stored = house.store.context(&tenant, &id).await.unwrap().unwrap();
    assert!(!stored.slots.contains_key("pending_confirmation") && !stored.slots.contains_key("last_result"));
    shown.body["slots"].clone()
}

#[tokio::test]
async fn what_policy_derives_is_shown_and_not_stored() {
    let house = deriving().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "conv").await;
    let asked = house.asked(&client, &context, ask("cmd-1")).await;
    let slots = stored_slots(&house, &client, &context).await;
    assert_eq!(slots["pending_confirmation"]["command_id"], "cmd-1");
    let passing = client.post("/v1/messages", house.message("conv", "what a day")).await.expect(200);
    assert_eq!(passing.body["context"]["slots"]["pending_confirmation"]["command_id"], "cmd-1");
    let mut tap = house.message("conv", "Yes");
    tap["kind"] = json!("interactive");
    tap["button_id"] = asked.body["button_ids"][0].clone();
    let tapped = tap["message_id"].clone();
    client.post("/v1/messages", tap).await.expect(200);
    client.post(&format!("/v1/contexts/{context}/commands"), bind("cmd-1", &tapped)).await.expect(201);
    let result = client.post("/v1/commands/cmd-1/results", json!({"status": "succeeded"})).await.expect(201);
    assert_eq!(result.body["context"]["slots"]["last_result"]["outcome"], "succeeded");
    let slots = stored_slots(&house, &client, &context).await;
    assert_eq!(slots["last_result"]["outcome"], "succeeded");
    assert!(slots.get("pending_confirmation").is_none());
}
