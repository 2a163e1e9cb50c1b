//! Partitions: whose memory is shown to whom, by owner, by list and by a service that is asked.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::routing::post;
use cscp::committer::Limits;
use cscp::domain::operation::CredentialKind;
use cscp::domain::speaking::{SpeaksFor, Voice};
use cscp::http::HttpConfig;
use cscp::packs::PackSource;
use serde_json::{Value, json};

use crate::house::House;
use crate::spaces::{at, pack, shown_to, write, written};

const BASIC: &str = include_str!("../../policies/basic.yaml");
const STRONG: &str = include_str!("../../policies/strong.yaml");
const SECRET: &str = "the vault opens at nine";

#[tokio::test]
async fn a_users_memory_is_shown_to_that_user_alone() {
    let house = House::new().await;
    let client = house.handler("a").await;
    client.put(&at("ana", ""), json!({"partition": {"memory": "user", "owner_id": "ana"}})).await.expect(201);
    written(&client, "ana", "vault", SECRET).await;
    client.put(&at("ana", "/working-set/step"), json!({"content": SECRET})).await.expect(200);
    client.put(&at("bea", ""), json!({"wider": ["ana"]})).await.expect(201);
    written(&client, "bea", "door", "the door is green").await;
    assert!(shown_to(&client, "ana", "ana").await.contains(SECRET));
    assert!(!shown_to(&client, "ana", "bea").await.contains(SECRET));
    assert!(!pack(&client, "ana", json!({})).await.expect(200).text("/context").contains(SECRET), "nobody looks");
    // As a wider partition too, named by the space or by the request.
    assert!(shown_to(&client, "bea", "ana").await.contains(SECRET));
    let got = pack(&client, "bea", json!({"viewer": {"user_id": "bea"}})).await.expect(200);
    assert!(!got.text("/context").contains(SECRET));
    assert!(got.body["omitted"].to_string().contains("not_permitted"), "{:#}", got.body);
    let named = pack(&client, "other", json!({})).await;
    named.problem(404, "space_not_found");
}

#[tokio::test]
async fn a_list_admits_ids_roles_titles_and_departments() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let described = json!({
        "partition": {"memory": "organization", "organization": "acme"}, "access": {"allow": ["ana", "auditor", "finance", "manager"]},
    });
    client.put(&at("books", ""), described).await.expect(201);
    written(&client, "books", "vault", SECRET).await;
    client.put("/v1/principals/carl", json!({"kind": "person", "roles": ["auditor"]})).await.expect(201);
    let sees = async |viewer: Value| {
        pack(&client, "books", json!({"viewer": viewer})).await.expect(200).text("/context").contains(SECRET)
    };
    assert!(sees(json!({"user_id": "ana"})).await);
    assert!(sees(json!({"user_id": "carl"})).await, "as registered");
    assert!(sees(json!({"user_id": "dora", "department": "finance"})).await);
    assert!(sees(json!({"user_id": "dora", "authority": "manager"})).await);
    assert!(!sees(json!({"user_id": "dora", "authority": "employee"})).await);
    assert!(!sees(json!({"user_id": "dora"})).await);
    let anyone = SpeaksFor { voice: Voice::Anyone, capability: None };
    let agent = house.speaking(CredentialKind::Agent, None, anyone).await;
    let promoted = json!({"viewer": {"user_id": "dora", "authority": "manager", "department": "finance"}});
    let text = pack(&agent, "books", promoted).await.expect(200).text("/context");
    assert!(!text.contains(SECRET), "an agent cannot give anybody a rank");
    client.put(&at("books", ""), json!({"access": {"allow": []}})).await.expect(200);
    assert!(!sees(json!({"user_id": "ana"})).await, "an empty list is for nobody");
}

#[tokio::test]
async fn restricted_facts_are_shown_to_their_audience() {
    let house = House::new().await;
    let client = house.handler("a").await;
    written(&client, "s", "hours", "we open at eight").await;
    write(&client, "s", json!({"key": "vault", "value": SECRET, "restricted_to": ["manager"]})).await;
    house.wait(1);
    let text = async |viewer: Value| pack(&client, "s", json!({"viewer": viewer})).await.expect(200).text("/context");
    let low = text(json!({"user_id": "dora", "authority": "employee"})).await;
    assert!(!low.contains(SECRET) && low.contains("eight"), "{low}");
    assert!(text(json!({"user_id": "mia", "authority": "manager"})).await.contains(SECRET));
}

/// A service that answers as it is told, and what it was asked.
async fn service(answer: Option<(u16, Value)>) -> (String, Arc<Mutex<Vec<Value>>>) {
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = Arc::clone(&asked);
    let handler = move |body: axum::Json<Value>| async move {
        let axum::Json(body) = body;
        kept.lock().unwrap().push(body.clone());
        let Some((status, answer)) = answer else { return std::future::pending().await };
        let all: Vec<Value> = body["facts"].as_array().unwrap().iter().map(|fact| fact["uid"].clone()).collect();
        let answer = if answer == json!("all") { json!({"allowed": all}) } else { answer };
        (axum::http::StatusCode::from_u16(status).unwrap(), axum::Json(answer))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/ask", post(handler));
    tokio::spawn(async move { axum::serve(listener, app).await });
    (format!("http://{address}/ask"), asked)
}

/// A house whose policy names these services.
pub(crate) async fn house(services: &[(&str, &str)]) -> House {
    let folder = tempfile::tempdir().unwrap();
    let mut section = "state_layer:\n  access_callbacks:\n".to_owned();
    for (name, url) in services {
        let patience = if *name == "slow" { 50 } else { 10_000 };
        let callback = format!("    {name}: {{ url: '{url}', timeout_milliseconds: {patience} }}\n");
        section.push_str(&callback);
    }
    for (name, text) in [("basic", BASIC), ("strong", STRONG)] {
        let text = text.replace("state_layer:\n", &section);
        std::fs::write(folder.path().join(format!("{name}.yaml")), text).unwrap();
    }
    let source = PackSource::Folder(folder.path().to_owned());
    let house = House::under(&source, Limits::default(), HttpConfig::default()).await;
    house.work();
    house
}

#[tokio::test]
async fn a_service_that_is_asked_decides_and_its_silence_is_a_no() {
    let (allowing, asked) = service(Some((200, json!("all")))).await;
    let (denying, _) = service(Some((200, json!({"allowed": []})))).await;
    let (failing, _) = service(Some((500, json!("all")))).await;
    let (babbling, _) = service(Some((200, json!({"allow": ["everything"]})))).await;
    let (moved, _) = service(Some((307, json!("all")))).await;
    let (slow, _) = service(None).await;
    let services = [
        ("allowing", allowing.as_str()),
        ("denying", &denying),
        ("failing", &failing),
        ("babbling", &babbling),
        ("moved", &moved),
        ("slow", &slow),
        ("absent", "http://127.0.0.1:9/ask"),
    ];
    let house = house(&services).await;
    let client = house.handler("a").await;
    let names = services.iter().map(|(name, _)| *name).chain(["unknown"]);
    for name in names {
        let described = json!({
            "partition": {"memory": "organization", "organization": "acme"}, "access": {"callback": name},
        });
        client.put(&at(name, ""), described).await.expect(201);
        client.put(&at(name, "/identity"), json!({"user_id": "ana", "user_name": "Ana Secret"})).await.expect(200);
        let uid = written(&client, name, "vault", SECRET).await;
        client.put(&at(name, "/working-set/step"), json!({"content": SECRET})).await.expect(200);
        let got = pack(&client, name, json!({"viewer": {"user_id": "ana", "authority": "manager"}})).await.expect(200);
        let text = got.text("/context");
        assert_eq!(text.contains(SECRET), name == "allowing", "{name}: {text}");
        assert_eq!(text.contains("Ana Secret"), name == "allowing", "{name}: {text}");
        if name != "allowing" {
            // The space is named, and nothing that is in it.
            let space = json!({"id": format!("space:{name}"), "reason": "not_permitted"});
            assert!(got.body["omitted"].as_array().unwrap().contains(&space), "{:#}", got.body);
            assert!(!got.body.to_string().contains(&uid), "{:#}", got.body);
        }
    }
    let asked = asked.lock().unwrap().clone();
    // It was asked about the answers to writes before, in nobody's name.
    let last = asked.last().unwrap();
    assert_eq!((&last["tenant_id"], &last["fact_space"]), (&json!("a"), &json!("allowing")));
    assert_eq!(last["viewer"]["user_id"], "ana");
    assert_eq!(last["facts"][0]["key"], "vault");
    assert!(!json!(asked).to_string().contains(SECRET), "no values go out");
    let watched = crate::house::watch().text();
    assert!(watched.contains(r#"cscp_permission_questions_total{outcome="answered"}"#));
    assert!(watched.contains(r#"cscp_permission_questions_total{outcome="failed"}"#));
}

#[tokio::test]
async fn where_a_service_is_is_told_to_administrators_alone() {
    let house = house(&[("hr", "http://access.internal.example/ask")]).await;
    for kind in [CredentialKind::Handler, CredentialKind::Agent, CredentialKind::Operator, CredentialKind::Admin] {
        let client = house.client("a", kind, None, None).await;
        let got = client.get("/v1/policies/basic").await.expect(200).body["pack"]["state_layer"].clone();
        assert_eq!(got.to_string().contains("access.internal"), kind == CredentialKind::Admin, "{kind:?}: {got}");
        assert!(got["access_callbacks"]["hr"].is_object());
    }
}
