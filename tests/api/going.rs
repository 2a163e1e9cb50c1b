//! A fact space that is half erased is answered as deleted on every route that reads.

use std::sync::Arc;

use cscp::committer::{Committer, Limits, SpaceSubmission};
use cscp::domain::operation::CredentialKind::{self, Admin, Auditor, Handler};
use cscp::domain::scope::Scope;
use cscp::state_layer::operation::{SpaceAction, SpaceOperation, Writer};
use cscp::system::SystemEntropy;
use serde_json::{Value, json};

use crate::bundles::sequence;
use crate::client::Client;
use crate::house::House;
use crate::spaces::{at, pack, write, written};

const CANARY: &str = "CANARY7f3a";
const SPACE: &str = "half";

/// Says that the space is erased, and nothing else: as a server does that ends just then.
async fn begin(house: &House) {
    let rules = crate::rules::shipped();
    let store = Arc::clone(&house.store);
    let (committer, writer) = Committer::new(store, rules, Box::new(SystemEntropy), Limits::default());
    tokio::spawn(writer.run());
    let tenant = house.store.tenant(&"a".to_owned().try_into().unwrap()).await.unwrap().unwrap();
    let writer = Writer { credential: CredentialKind::Handler, principal_id: None, speaks_for: None };
    let operation =
        SpaceOperation { space_id: SPACE.to_owned().try_into().unwrap(), writer, action: SpaceAction::Erase };
    let submission = SpaceSubmission { tenant: Arc::new(tenant), operation, claim: None };
    committer.submit_space(submission).await.unwrap().result.unwrap();
    committer.stop();
}

/// Every answer of a route that reads, without its status.
async fn said(client: &Client, method: &str, path: &str, body: &Value) -> (u16, String) {
    let asked = client.ask(method, path).fresh_key();
    let asked = if body.is_null() { asked } else { asked.valid(body) };
    let got = asked.send().await;
    (got.status, got.body.to_string())
}

#[tokio::test]
async fn a_space_that_is_half_erased_is_answered_as_deleted_everywhere() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let owned = json!({"partition": {"memory": "user", "owner_id": "ana"}});
    client.put(&at(SPACE, ""), owned).await.expect(201);
    let kept = json!({"key": "address", "value": CANARY});
    let first = client.ask("POST", &at(SPACE, "/facts")).key("kept").valid(&kept).send().await.expect(201);
    let uid = first.text("/fact/uid");
    write(&client, SPACE, json!({"key": "address", "value": format!("{CANARY} street 12")})).await;
    client.put(&at(SPACE, "/environment/weather"), json!({"value": CANARY})).await.expect(200);
    client.put(&at(SPACE, "/working-set/step"), json!({"content": CANARY})).await.expect(200);
    let asking = json!({"query": "address?", "save_frame": true, "viewer": {"user_id": "ana"}});
    let own = pack(&client, SPACE, asking.clone()).await.expect(201);
    client.put(&at("beside", ""), json!({"wider": [SPACE]})).await.expect(201);
    written(&client, "beside", "colour", "blue").await;
    let beside = pack(&client, "beside", asking).await.expect(201);
    assert!(own.text("/context").contains(CANARY) && beside.text("/context").contains(CANARY));
    let packs = [own.text("/pack_id"), beside.text("/pack_id")];
    sequence(&house).await;
    let raw: &[Scope] = &[Scope::EvidenceRead, Scope::OocRaw];
    let auditor = house.client("a", Auditor, Some(raw), None).await;
    let admin = house.client("a", Admin, None, None).await;
    let handler = house.client("a", Handler, None, None).await;
    let artifact = {
        let found = auditor.post("/v1/evidence/query", json!({"fact_uid": uid, "fact_space": SPACE})).await.expect(200);
        found.text("/items/0/artifact_id")
    };
    let viewer = json!({"user_id": "ana"});
    let routes: Vec<(&Client, &str, String, Value)> = vec![
        (&handler, "GET", at(SPACE, ""), Value::Null),
        (&handler, "GET", at(SPACE, "/facts?include_invalid=true"), Value::Null),
        (&handler, "GET", at(SPACE, &format!("/facts/{uid}")), Value::Null),
        (&handler, "GET", at(SPACE, &format!("/facts/{uid}/chain")), Value::Null),
        (&handler, "GET", at(SPACE, "/current/address"), Value::Null),
        (&handler, "GET", at(SPACE, "/environment"), Value::Null),
        (&handler, "GET", at(SPACE, "/working-set"), Value::Null),
        (
            &handler,
            "POST",
            "/v1/context-packs".to_owned(),
            json!({"fact_space": SPACE, "query": "address?", "token_budget": 500, "viewer": viewer}),
        ),
        (&handler, "GET", format!("/v1/context-packs/{}", packs[0]), Value::Null),
        (&handler, "GET", format!("/v1/context-packs/{}", packs[1]), Value::Null),
        (
            &handler,
            "POST",
            "/v1/context-packs".to_owned(),
            json!({"fact_space": "beside", "query": "address?", "token_budget": 500, "viewer": viewer}),
        ),
        (&handler, "POST", "/v1/memories/query".to_owned(), json!({"user_id": "ana"})),
        (&auditor, "POST", "/v1/evidence/query".to_owned(), json!({"fact_space": SPACE})),
        (&auditor, "GET", format!("/v1/evidence/artifacts/{artifact}"), Value::Null),
        (&auditor, "POST", "/v1/evidence/export".to_owned(), json!({"fact_space": SPACE, "payloads": "full"})),
        (&admin, "POST", "/v1/privacy/exports".to_owned(), json!({"subject": {"actor_id": "ana"}})),
    ];
    let shows = |said: &str| said.contains(CANARY) || said.contains(SPACE) && said.contains("owner_id");
    let mut before = Vec::new();
    for (client, method, path, body) in &routes {
        let (status, text) = said(client, method, path, body).await;
        assert!(status < 300, "{method} {path}: {status} {text}");
        before.push(shows(&text));
    }
    assert!(before.iter().filter(|shown| **shown).count() >= 12, "nearly every route shows something: {before:?}");
    begin(&house).await;
    assert!(!house.store.going_spaces(&"a".to_owned().try_into().unwrap()).await.unwrap().is_empty());
    for (client, method, path, body) in &routes {
        let (status, text) = said(client, method, path, body).await;
        assert!(!shows(&text), "{method} {path}: {text}");
        let of_space = path.starts_with(&at(SPACE, "")) || packs.iter().any(|id| path.ends_with(id.as_str()));
        assert_eq!(status == 404, of_space || body.get("fact_space") == Some(&json!(SPACE)) && status == 404, "{path}");
    }
    // Who repeats a request waits until the rest is gone, and is told that there is no such space.
    let again = client.ask("POST", &at(SPACE, "/facts")).key("kept").valid(&kept).send().await;
    assert!(again.replayed() && again.code() == "space_not_found", "{:#}", again.body);
    assert!(house.store.going_spaces(&"a".to_owned().try_into().unwrap()).await.unwrap().is_empty());
    assert!(house.rows().await.iter().all(|row| !row.contains(CANARY)));
}
