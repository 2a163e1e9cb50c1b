//! Bad input: each fault has its own answer, which says where it is, and nothing is half-written.

use cscp::domain::operation::CredentialKind;
use cscp::domain::query::EvidenceQuery;
use cscp::domain::scope::Scope;
use cscp::domain::speaking::{Capability, SpeaksFor, Voice};
use serde_json::{Value, json};

use crate::client::Client;
use crate::house::House;
use crate::spaces::{all, at, pack, write, written};

const CANARY: &str = "CANARY 7f3a";

/// The facts of a space, and how much the evidence log of its tenant holds.
async fn state(house: &House, client: &Client, space: &str) -> (Value, usize) {
    let query = EvidenceQuery { limit: 200, ..EvidenceQuery::default() };
    let entries = house.store.entries(&"a".to_owned().try_into().unwrap(), &query).await.unwrap();
    (all(client, space).await, entries.items.len())
}

/// Refused, alone and as the second of a batch whose first is good; nothing has changed afterwards.
async fn refused(house: &House, client: &Client, fact: Value, status: u16, code: &str, pointer: &str) {
    let before = state(house, client, "s").await;
    let got = client.post_unchecked(&at("s", "/facts"), &fact).await.problem(status, code);
    assert_eq!(got.text("/errors/0/pointer"), pointer, "{:#}", got.body);
    assert!(!got.body.to_string().contains(CANARY), "{:#}", got.body);
    let mut good = json!({"key": "good", "value": "good"});
    if code == "maturity_too_low" {
        good["abstraction"] = json!("event");
    }
    let batch = json!({"facts": [good, fact]});
    let got = client.post_unchecked(&at("s", "/facts/batch"), &batch).await.problem(status, code);
    assert_eq!(got.text("/errors/0/pointer"), format!("/facts/1{pointer}"), "{:#}", got.body);
    assert_eq!(state(house, client, "s").await, before);
}

#[tokio::test]
async fn facts_that_cannot_be() {
    let house = House::new().await;
    let client = house.handler("a").await;
    write(&client, "s", json!({"id": "A", "key": "a", "value": "a", "supersedes": "B-later"})).await;
    write(&client, "s", json!({"id": "D", "key": "d", "value": "d", "depends_on": ["E-later"]})).await;
    let fact = |more: Value| {
        let mut fact = json!({"key": "k", "value": "v"});
        fact.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fact
    };
    let cases = [
        (fact(json!({"id": "B-later", "supersedes": "A"})), 422, "supersession_cycle", "/supersedes"),
        (fact(json!({"id": "E-later", "depends_on": ["D"]})), 422, "dependency_cycle", "/depends_on"),
        (fact(json!({"id": "S", "depends_on": ["S"]})), 422, "dependency_cycle", "/depends_on"),
        (fact(json!({"supersedes": CANARY, "require_targets": true})), 422, "pointer_to_nothing", ""),
        (fact(json!({"depends_on": [CANARY], "require_targets": true})), 422, "pointer_to_nothing", ""),
        (fact(json!({"value": CANARY.repeat(2000)})), 422, "fact_too_large", "/value"),
        (fact(json!({"abstraction": "event"})), 422, "fact_invalid", "/abstraction"),
        (fact(json!({"value": null})), 422, "missing_field", "/value"),
        (json!({"key": "k"}), 422, "missing_field", "/value"),
        (fact(json!({"key": ""})), 422, "invalid_value", "/key"),
        (fact(json!({"key": "k".repeat(257)})), 422, "invalid_value", "/key"),
        (fact(json!({"scope": "galaxy"})), 422, "invalid_value", "/scope"),
        (fact(json!({"memory_type": CANARY})), 422, "invalid_value", "/memory_type"),
        (fact(json!({"effective_at": CANARY})), 422, "invalid_value", "/effective_at"),
        (fact(json!({"effective_at": "2025-02-30T10:00:00"})), 422, "invalid_value", "/effective_at"),
        (fact(json!({"effective_at": 5})), 422, "wrong_type", "/effective_at"),
        (fact(json!({"source": CANARY})), 422, "wrong_type", "/source"),
        (fact(json!({"source": {"kind": CANARY}})), 422, "unknown_field", "/source/kind"),
        (fact(json!({"source": {"identity": "\u{0}"}})), 422, "invalid_value", "/source/identity"),
        (fact(json!({"colour": CANARY})), 422, "unknown_field", "/colour"),
        (fact(json!({"depends_on": [{"fact": "x", "space": CANARY}]})), 422, "unknown_field", "/depends_on/0/space"),
        (fact(json!({"depends_on": [["x", null]]})), 422, "wrong_type", "/depends_on/0"),
        (fact(json!({"depends_on": vec!["x"; 65]})), 422, "invalid_value", "/depends_on"),
        (fact(json!({"restricted_to": ["ok", ""]})), 422, "invalid_value", "/restricted_to/1"),
        (fact(json!({"restricted_to": vec!["x"; 33]})), 422, "invalid_value", "/restricted_to"),
        (fact(json!({"reason": "r".repeat(1025)})), 422, "invalid_value", "/reason"),
        (fact(json!({"id": "i".repeat(257)})), 422, "invalid_value", "/id"),
    ];
    for (fact, status, code, pointer) in cases {
        refused(&house, &client, fact, status, code, pointer).await;
    }
}

#[tokio::test]
async fn two_that_replace_the_same_fact_and_circles_within_one_write() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let old = written(&client, "s", "day", "Monday").await;
    let before = state(&house, &client, "s").await;
    let batch = async |facts: Value, code: &str, status: u16, pointer: &str| {
        let got = client.post(&at("s", "/facts/batch"), json!({"facts": facts})).await.problem(status, code);
        assert_eq!(got.text("/errors/0/pointer"), pointer);
        got
    };
    let day = |value: &str| json!({"key": "day", "value": value, "supersedes": old});
    batch(json!([day("Tuesday"), day("Friday")]), "already_superseded", 409, "/facts/1/supersedes").await;
    let circle = |member: &str| json!([{"id": "X", "key": "x", "value": 1, member: "Y"}, {"id": "Y", "key": "y", "value": 2, member: "X"}]);
    batch(circle("supersedes"), "supersession_cycle", 422, "/facts/0/supersedes").await;
    let circle = json!([
        {"id": "X", "key": "x", "value": 1, "depends_on": ["Y"]}, {"id": "Y", "key": "y", "value": 2, "depends_on": ["X"]},
    ]);
    batch(circle, "dependency_cycle", 422, "/facts/0/depends_on").await;
    assert_eq!(state(&house, &client, "s").await, before);
}

#[tokio::test]
async fn nobody_claims_more_authority_than_they_hold() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    written(&handler, "s", "discount", "5%").await;
    let agent = house.client("a", CredentialKind::Agent, None, None).await;
    let fact = json!({"key": "discount", "value": "50%", "source": {"type": "conversation", "authority": "executive"}});
    refused(&house, &agent, fact.clone(), 403, "authority_exceeded", "/source/authority").await;
    let boss = json!({"kind": "agent", "roles": ["executive"]});
    handler.put("/v1/principals/boss", boss).await.expect(201);
    let bound = house.client("a", CredentialKind::Agent, None, Some("boss")).await;
    let got = write(&bound, "s", fact).await;
    assert_eq!(got.text("/fact/writer_id"), "boss");
}

#[tokio::test]
async fn learning_tiers_say_what_is_missing() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let partition = json!({"memory": "capability", "organization": "acme", "capability": "triage"});
    handler.put(&at("s", ""), json!({"partition": partition})).await.expect(201);
    let fact = |abstraction: &str| json!({"key": abstraction, "value": "ask for the order number", "abstraction": abstraction});
    for (maturity, allowed) in [(None, 1), (Some("junior"), 1), (Some("senior"), 2), (Some("master"), 3)] {
        let id = format!("writer-{}", maturity.unwrap_or("new"));
        let body = json!({"kind": "agent", "maturity": maturity});
        let got = handler.put(&format!("/v1/principals/{id}"), body).await.expect(201);
        assert_eq!(got.body.get("maturity").and_then(Value::as_str), maturity);
        let own = Capability { organization: "acme".to_owned(), capability: "triage".to_owned() };
        let own = SpeaksFor { voice: Voice::Nobody, capability: Some(own) };
        let agent = house.acting(CredentialKind::Agent, &id, own).await;
        for (place, (abstraction, needed)) in
            [("event", "junior"), ("heuristic", "senior"), ("strategy", "master")].into_iter().enumerate()
        {
            if place < allowed {
                assert_eq!(write(&agent, "s", fact(abstraction)).await.text("/fact/abstraction"), abstraction);
            } else {
                refused(&house, &agent, fact(abstraction), 403, "maturity_too_low", "/abstraction").await;
                let got = agent.post(&at("s", "/facts"), fact(abstraction)).await;
                assert_eq!(got.text("/needed"), needed);
            }
        }
    }
    let plain = json!({"key": "k", "value": "v"});
    handler.post(&at("s", "/facts"), plain).await.problem(422, "fact_invalid");
}

#[tokio::test]
async fn dependencies_point_to_the_same_or_a_wider_partition() {
    let house = House::new().await;
    let client = house.handler("a").await;
    client
        .put(&at("s", ""), json!({"partition": {"memory": "organization", "organization": "acme"}}))
        .await
        .expect(201);
    written(&client, "s", "policy", "30 days").await;
    let own = written(&client, "mine", "wish", "40 days").await;
    let narrower = json!({"key": "k", "value": "v", "depends_on": [{"fact": own, "fact_space": "mine"}]});
    refused(&house, &client, narrower, 422, "narrower_dependency", "/depends_on").await;
    let wider = json!({"key": "k", "value": "v", "depends_on": [{"fact": "policy", "fact_space": "s"}]});
    let got = write(&client, "mine", wider).await;
    assert_eq!(got.text("/fact/depends_on/0/fact_space"), "s");
}

#[tokio::test]
async fn a_body_that_is_too_large_and_one_that_is_none() {
    let house = House::new().await;
    let client = house.handler("a").await;
    written(&client, "s", "k", "v").await;
    let huge = json!({"key": "k", "value": "x".repeat(1_100_000)});
    client.post_unchecked(&at("s", "/facts"), &huge).await.problem(413, "body_too_large");
    let twice =
        client.ask("POST", &at("s", "/facts")).fresh_key().raw(r#"{"key":"a","key":"b","value":1}"#).send().await;
    twice.problem(400, "duplicate_key");
    let both =
        json!({"key": "a", "value": 1, "effective_at": "2025-01-01T00:00:00Z", "timestamp": "2025-01-01T00:00:00Z"});
    client.post_unchecked(&at("s", "/facts"), &both).await.problem(422, "invalid_value");
    client.post_unchecked(&at("s", "/facts"), &json!([1])).await.problem(422, "wrong_type");
    let deep = format!(r#"{{"key":"k","value":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    client.ask("POST", &at("s", "/facts")).fresh_key().raw(deep).send().await.problem(400, "too_deep");
    assert_eq!(all(&client, "s").await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_scopes_of_a_key_are_what_it_needs() {
    let house = House::new().await;
    let reader = house.client("a", CredentialKind::Handler, Some(&[Scope::FactRead]), None).await;
    let writer = house.client("a", CredentialKind::Handler, Some(&[Scope::FactWrite]), None).await;
    let uid = written(&writer, "s", "k", "v").await;
    reader.post(&at("s", "/facts"), json!({"key": "k", "value": "w"})).await.problem(403, "scope_denied");
    writer.get(&at("s", "/facts")).await.problem(403, "scope_denied");
    writer.post(&at("s", &format!("/facts/{uid}/supersede")), json!({"value": "w"})).await.expect(201);
    pack(&reader, "s", json!({})).await.expect(200);
    let saving = pack(&reader, "s", json!({"save_frame": true})).await.problem(403, "scope_denied");
    assert_eq!(saving.text("/scope"), "fact:write");
}
