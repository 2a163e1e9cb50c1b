//! Lists, reads and what anybody may ask.

use cscp::committer::Limits;
use cscp::domain::id::TenantId;
use cscp::domain::operation::CredentialKind;
use cscp::domain::query::EvidenceQuery;
use cscp::http::HttpConfig;
use serde_json::{Value, json};

use crate::house::House;

#[tokio::test]
async fn pages_follow_one_another_and_a_cursor_is_nobody_elses() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for at in 0..5 {
        house.opened(&client, &format!("conv-{at}")).await;
        house.wait(1);
    }
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let body = json!({"limit": 2, "cursor": cursor});
        let page = client.post("/v1/contexts/query", body).await.expect(200);
        seen.extend(page.body["items"].as_array().unwrap().iter().map(|item| item["conversation_id"].clone()));
        cursor = page.body["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["conv-4", "conv-3", "conv-2", "conv-1", "conv-0"]);
    let page = client.post("/v1/contexts/query", json!({"limit": 1})).await;
    let cursor = page.text("/next_cursor");
    let other = house.handler("b").await;
    other.post("/v1/contexts/query", json!({"cursor": cursor})).await.problem(400, "bad_cursor");
    client.post("/v1/approvals/query", json!({"cursor": cursor})).await.problem(400, "bad_cursor");
    for forged in ["", "x", "AAAA", &format!("{cursor}A")] {
        client.post("/v1/contexts/query", json!({"cursor": forged})).await.problem(400, "bad_cursor");
    }
    for limit in [0, 201] {
        let got = client.ask("POST", "/v1/contexts/query").json(&json!({"limit": limit})).send().await;
        got.problem(422, "invalid_value");
    }
    let one = client.post("/v1/contexts/query", json!({"conversation_id": "conv-3", "status": "active"})).await;
    assert_eq!(one.body["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn principals_are_found_by_alias_and_role() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for (id, role, alias) in [("p-1", "operator", "BR.1"), ("p-2", "supervisor", "BR.2")] {
        let body = json!({"kind": "person", "roles": [role], "aliases": [{"kind": "bsuid", "value": alias}]});
        client.put(&format!("/v1/principals/{id}"), body).await.expect(201);
    }
    for query in [json!({"alias": {"kind": "bsuid", "value": "BR.2"}}), json!({"role": "supervisor"})] {
        let found = client.post("/v1/principals/query", query).await.expect(200);
        assert_eq!(found.body["items"].as_array().unwrap().len(), 1);
        assert_eq!(found.text("/items/0/principal_id"), "p-2");
    }
}

#[tokio::test]
async fn a_look_by_an_operator_leaves_an_entry_and_a_handlers_leaves_none() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let operator = house.client("a", CredentialKind::Operator, None, Some("op-1")).await;
    let context = house.opened(&handler, "conv").await;
    let tenant = "a".to_owned().try_into().unwrap();
    let count = async || {
        let query = EvidenceQuery { limit: 200, ..EvidenceQuery::default() };
        house.store.entries(&tenant, &query).await.unwrap().items.len()
    };
    let before = count().await;
    handler.get(&format!("/v1/contexts/{context}")).await.expect(200);
    assert_eq!(count().await, before);
    operator.get(&format!("/v1/contexts/{context}")).await.expect(200);
    operator.post("/v1/contexts/query", json!({})).await.expect(200);
    assert_eq!(count().await, before + 2);
}

#[tokio::test]
async fn anybody_may_ask_what_this_is() {
    let house = House::new().await;
    let anybody = house.stranger();
    anybody.get("/healthz").await.expect(200);
    let ready = anybody.get("/readyz").await.expect(200);
    assert_eq!(ready.text("/rollback_protection"), "none");
    let known = anybody.get("/.well-known/wfs.json").await.expect(200);
    assert_eq!(known.text("/conformance/0/claim"), "RFC-WF-0034 section XIV items 1-5");
    anybody.get("/openapi.yaml").await.expect(200);
}

#[tokio::test]
async fn a_server_that_can_keep_nothing_is_not_ready() {
    let house = House::idle(Limits::default(), HttpConfig::default()).await;
    let anybody = house.stranger();
    assert_eq!(anybody.get("/readyz").await.expect(200).text("/storage"), "ok");
    house.lose_the_writer();
    let got = anybody.get("/readyz").await.expect(503);
    assert_eq!((got.text("/status"), got.text("/storage")), ("not_ready".to_owned(), "stopped".to_owned()));
    anybody.get("/healthz").await.expect(200);
}

#[tokio::test]
async fn packs_are_shown_to_whom_they_concern() {
    let house = House::new().await;
    let client = house.handler("s").await;
    let list = client.get("/v1/policies").await.expect(200);
    let packs = list.body["items"].as_array().unwrap();
    let in_force: Vec<_> = packs.iter().filter(|pack| pack["in_force"] == true).map(|pack| &pack["pack_id"]).collect();
    assert_eq!(in_force, ["strong"]);
    let pack = client.get("/v1/policies/strong").await.expect(200);
    assert_eq!(pack.text("/pack/pack_id"), "strong");
    client.get("/v1/policies/nothing").await.problem(404, "not_found");
}

#[tokio::test]
async fn what_a_text_would_mean_is_told_and_nothing_of_it_is_kept() {
    let house = House::new().await;
    let operator = house.client("a", CredentialKind::Operator, None, None).await;
    let read = async |body: Value| operator.post("/v1/policies/basic/reading", body).await.expect(200);
    let named = read(json!({"text": "pode cancelar", "locale": "pt-BR", "command": "order.cancel"})).await;
    let under = &named.body["under"];
    assert_eq!(under.as_array().map(Vec::len), Some(1));
    assert_eq!(under[0]["bare"]["reason"], "names_command");
    let plain = read(json!({"text": "sim, pode sim", "locale": "pt-BR"})).await;
    assert_eq!(plain.text("/reading/polarity"), "affirmative");
    assert_eq!(plain.text("/lexicons/0/locale"), "pt-BR");
    let classes: Vec<_> = plain.body["under"].as_array().unwrap().iter().map(|under| &under["safety_class"]).collect();
    assert_eq!(classes, ["S0", "S1", "S2", "S3"]);
    let asks = read(json!({"text": "cancel order 456"})).await;
    assert_eq!(asks.text("/under/0/bare/reason"), "new_request");
    operator.post("/v1/policies/nothing/reading", json!({"text": "sim"})).await.problem(404, "not_found");
    let long = json!({"text": "a".repeat(65_537)});
    operator.post_unchecked("/v1/policies/basic/reading", &long).await.problem(422, "invalid_value");
    let query = EvidenceQuery { limit: 200, ..EvidenceQuery::default() };
    let kept = house.store.entries(&TenantId::new("a").unwrap(), &query).await.unwrap();
    assert!(kept.items.is_empty(), "{kept:?}");
}
