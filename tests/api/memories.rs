//! "What do you know about me?" and "forget that": a person sees and deletes what is kept of them, through a program that
//! speaks for them, and creates nothing by that.

use cscp::domain::id::PrincipalId;
use cscp::domain::operation::CredentialKind::{self, Agent, Auditor, Handler};
use cscp::domain::scope::Scope;
use cscp::domain::speaking::{SpeaksFor, Voice};
use serde_json::{Value, json};

use crate::client::{Client, Got};
use crate::house::House;
use crate::spaces::{at, written};

const SECRET: &str = "allergic to peanuts";

fn speaks_for(id: &str) -> SpeaksFor {
    SpeaksFor { voice: Voice::Principal(PrincipalId::new(id).unwrap()), capability: None }
}

async fn agent(house: &House, id: &str) -> Client {
    house.speaking(Agent, None, speaks_for(id)).await
}

/// Ana owns one memory and is served in another; bea has one of her own; what the organisation knows is nobody's.
async fn kept(house: &House) -> (Client, String) {
    let handler = house.handler("a").await;
    let owned = |who: &str| json!({"partition": {"memory": "user", "owner_id": who}});
    handler.put(&at("ana-1", ""), owned("ana")).await.expect(201);
    handler.put(&at("bea-1", ""), owned("bea")).await.expect(201);
    let house_rules = json!({"partition": {"memory": "organization", "organization": "acme"}});
    handler.put(&at("rules", ""), house_rules).await.expect(201);
    handler.put(&at("ana-2", "/identity"), json!({"user_id": "ana", "user_name": "Ana Lima"})).await.expect(201);
    let uid = written(&handler, "ana-1", "allergy", SECRET).await;
    written(&handler, "ana-2", "size", "large").await;
    written(&handler, "bea-1", "allergy", "none that bea knows of").await;
    written(&handler, "rules", "about", "ana is a customer").await;
    house.wait(1);
    (handler, uid)
}

async fn memories(client: &Client, body: Value) -> Got {
    client.post("/v1/memories/query", body).await
}

fn spaces(got: &Got) -> Vec<&str> {
    got.body["memories"].as_array().unwrap().iter().map(|it| it["space"]["fact_space"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_person_sees_what_is_kept_of_them_and_of_nobody_else() {
    let house = House::new().await;
    let (handler, _) = kept(&house).await;
    let ana = agent(&house, "ana").await;
    let got = memories(&ana, json!({})).await.expect(200);
    assert_eq!(spaces(&got), ["ana-1", "ana-2"]);
    assert_eq!(got.body["memories"][0]["facts"][0]["value"], SECRET);
    assert_eq!(got.body["memories"][1]["space"]["identity"]["user_name"], "Ana Lima", "who is remembered");
    assert!(!got.body.to_string().contains("bea"), "{:#}", got.body);
    assert_eq!(memories(&ana, json!({"user_id": "ana"})).await.expect(200).body, got.body);
    memories(&ana, json!({"user_id": "bea"})).await.problem(403, "viewer_not_allowed");
    // The program that serves everybody names whom it asks for.
    assert_eq!(memories(&handler, json!({"user_id": "ana"})).await.expect(200).body, got.body);
    memories(&handler, json!({})).await.problem(422, "missing_field");
    let nobody = house.speaking(Agent, None, SpeaksFor::default()).await;
    for body in [json!({}), json!({"user_id": "ana"})] {
        memories(&nobody, body).await.problem(403, "viewer_not_allowed");
    }
    let operator = house.speaking(CredentialKind::Operator, None, speaks_for("ana")).await;
    let covered = memories(&operator, json!({})).await.expect(200);
    assert!(!covered.body.to_string().contains(SECRET), "people who look see how it stands");
}

#[tokio::test]
async fn a_person_has_one_fact_or_a_whole_memory_forgotten() {
    let house = House::new().await;
    let (handler, uid) = kept(&house).await;
    let (ana, bea) = (agent(&house, "ana").await, agent(&house, "bea").await);
    let anyone = house.speaking(Agent, None, SpeaksFor { voice: Voice::Anyone, capability: None }).await;
    let nobody = house.speaking(Agent, None, SpeaksFor::default()).await;
    let fact = at("ana-1", &format!("/facts/{uid}"));
    for other in [&bea, &anyone, &nobody] {
        for path in [fact.as_str(), "/v1/fact-spaces/ana-1", "/v1/fact-spaces/ana-2", "/v1/fact-spaces/rules"] {
            other.ask("DELETE", path).send().await.expect(403);
        }
    }
    ana.ask("DELETE", "/v1/fact-spaces/rules").send().await.problem(403, "not_for_agents");
    let gone = ana.ask("DELETE", &fact).send().await.expect(200);
    assert_eq!((&gone.body["fact"]["deleted"], &gone.body["fact"]["value"]), (&json!(true), &Value::Null));
    let left = memories(&ana, json!({})).await.expect(200);
    assert!(!left.body.to_string().contains(SECRET), "{:#}", left.body);
    assert_eq!(spaces(&left), ["ana-1", "ana-2"]);
    for space in ["ana-1", "ana-2"] {
        ana.ask("DELETE", &at(space, "")).send().await.expect(200);
    }
    assert_eq!(spaces(&memories(&ana, json!({})).await.expect(200)), [""; 0]);
    assert_eq!(spaces(&memories(&handler, json!({"user_id": "bea"})).await.expect(200)), ["bea-1"]);
    let rows = house.rows().await;
    assert!(!rows.iter().any(|row| row.contains(SECRET)), "it is kept nowhere");
}

#[tokio::test]
async fn what_was_seen_and_forgotten_is_on_the_record() {
    let house = House::new().await;
    let (_, uid) = kept(&house).await;
    let ana = agent(&house, "ana").await;
    memories(&ana, json!({})).await.expect(200);
    ana.ask("DELETE", &at("ana-1", &format!("/facts/{uid}"))).send().await.expect(200);
    ana.ask("DELETE", &at("ana-2", "")).send().await.expect(200);
    let scopes: &[Scope] = &[Scope::EvidenceRead, Scope::OocRaw];
    let auditor = house.client("a", Auditor, Some(scopes), None).await;
    let all = async |kind: &str| {
        let page = auditor.post("/v1/evidence/query", json!({"type": kind})).await.expect(200);
        page.body["items"].as_array().unwrap().clone()
    };
    let read = all("access.read").await.swap_remove(0)["data"]["read"].clone();
    assert_eq!((&read["operation"], &read["viewer_id"]), (&json!("memories.list"), &json!("ana")));
    assert_eq!(read["ids"], json!(["ana-1", "ana-2"]));
    assert_eq!(all("fact.deleted").await.len(), 1);
    assert_eq!(all("fact_space.erased").await.len(), 1);
}

#[tokio::test]
async fn a_person_views_and_deletes_and_does_not_create() {
    let house = House::new().await;
    let (handler, _) = kept(&house).await;
    handler.put("/v1/principals/ana", json!({"kind": "person"})).await.expect(201);
    let person = house.client("a", Handler, None, Some("ana")).await;
    let fact = json!({"key": "k", "value": "v"});
    person.post(&at("ana-1", "/facts"), fact).await.problem(403, "people_do_not_create");
    assert_eq!(spaces(&memories(&person, json!({})).await.expect(200)), ["ana-1", "ana-2"]);
    person.ask("DELETE", &at("ana-1", "")).send().await.expect(200);
}
