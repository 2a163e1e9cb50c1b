//! Who may do what: agents write and observe, people correct and delete and see how facts stand, not what they say.

use cscp::domain::operation::CredentialKind;
use cscp::domain::scope::Scope;
use cscp::domain::speaking::{SpeaksFor, Voice};
use serde_json::{Value, json};

use crate::client::Client;
use crate::house::House;
use crate::spaces::{at, pack, write, written};

const CANARY: &str = "CANARY7f3a";

fn anyone() -> SpeaksFor {
    SpeaksFor { voice: Voice::Anyone, capability: None }
}

/// A space with something of everything, and the uid of a fact that was replaced.
async fn furnished(client: &Client) -> String {
    let identity = json!({"user_id": CANARY, "user_name": CANARY, "permissions": [CANARY]});
    let access = json!({"partition": {"memory": "user", "owner_id": CANARY}, "access": {"allow": [CANARY]}});
    client.put(&at("s", ""), access).await.expect(201);
    client.put(&at("s", "/identity"), identity).await.expect(200);
    write(client, "s", json!({"id": CANARY, "key": "base", "value": CANARY})).await;
    let old = json!({
        "id": CANARY, "key": "address", "value": {"street": CANARY}, "source": {"type": CANARY, "identity": CANARY},
        "scope": "task", "scope_id": CANARY, "restricted_to": [CANARY], "depends_on": ["base"],
    });
    let old = write(client, "s", old).await.text("/fact/uid");
    let new = json!({"value": CANARY, "reason": CANARY});
    client.post(&at("s", &format!("/facts/{old}/supersede")), new).await.expect(201);
    client.put(&at("s", "/environment/weather"), json!({"value": CANARY})).await.expect(200);
    let item = json!({"content": CANARY, "task_id": CANARY, "item_type": CANARY});
    client.put(&at("s", "/working-set/step"), item).await.expect(200);
    old
}

#[tokio::test]
async fn agents_write_and_observe_and_do_nothing_for_good() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let agent = house.client("a", CredentialKind::Agent, None, None).await;
    let uid = written(&agent, "s", "colour", "blue").await;
    agent.post(&at("s", &format!("/facts/{uid}/supersede")), json!({"value": "red"})).await.expect(201);
    agent.post("/v1/observations", json!({"fact_space": "s", "text": "good morning"})).await.expect(200);
    agent.put(&at("s", "/environment/weather"), json!({"value": "rain"})).await.expect(200);
    agent.put(&at("s", "/working-set/step"), json!({"content": "ask for the size", "task_id": "t"})).await.expect(200);
    agent.ask("DELETE", &at("s", "/environment/weather")).send().await.expect(200);
    agent.post(&at("s", "/tasks/t/close"), json!({})).await.expect(200);
    house.wait(1);
    assert!(pack(&agent, "s", json!({})).await.expect(200).text("/context").contains("red"));
    let before = handler.get(&at("s", "")).await.body;
    let denied = [
        ("PUT", at("s", ""), json!({})),
        ("DELETE", at("s", ""), json!({})),
        ("PUT", at("s", "/identity"), json!({"user_id": "u"})),
        ("POST", at("s", &format!("/facts/{uid}/restore")), json!({"reason": "x"})),
        ("DELETE", at("s", &format!("/facts/{uid}")), json!({})),
    ];
    for (method, path, body) in denied {
        agent.ask(method, &path).fresh_key().json(&body).send().await.problem(403, "not_for_agents");
    }
    assert_eq!(handler.get(&at("s", "")).await.body, before);
}

#[tokio::test]
async fn people_correct_and_delete_and_do_not_create() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let operator = house.client("a", CredentialKind::Operator, None, None).await;
    let old = written(&handler, "s", "colour", "blue").await;
    house.wait(1);
    let new =
        handler.post(&at("s", &format!("/facts/{old}/supersede")), json!({"value": "red"})).await.text("/fact/uid");
    operator.post(&at("s", "/facts"), json!({"key": "k", "value": "v"})).await.problem(403, "people_do_not_create");
    let said = json!({"fact_space": "s", "text": "the colour is green"});
    operator.post("/v1/observations", said).await.problem(403, "people_do_not_create");
    // Nor by way of the working set: what is in it becomes a fact when its task is closed.
    let item = json!({"content": "v", "task_id": "t", "promote_as": "colour"});
    operator.put(&at("s", "/working-set/i"), item).await.problem(403, "people_do_not_create");
    operator.put(&at("s", "/working-set/colour"), json!({"content": "v", "task_id": "t"})).await.expect(200);
    operator
        .post(&at("s", "/tasks/t/close"), json!({"promote": ["colour"]}))
        .await
        .problem(403, "people_do_not_create");
    house.wait(1);
    operator.post(&at("s", &format!("/facts/{old}/restore")), json!({"reason": "heard wrong"})).await.expect(200);
    assert_eq!(handler.get(&at("s", "/current/colour")).await.text("/value"), "blue");
    let gone = operator.ask("DELETE", &at("s", &format!("/facts/{new}"))).send().await.expect(200);
    assert_eq!((&gone.body["fact"]["deleted"], &gone.body["fact"]["value"]), (&json!(true), &Value::Null));
    operator.ask("DELETE", &at("s", &format!("/facts/{new}"))).send().await.problem(409, "fact_deleted");
    operator
        .post(&at("s", &format!("/facts/{new}/restore")), json!({"reason": "x"}))
        .await
        .problem(409, "fact_deleted");
    let nobody = "fct_018bcfe568007707870707070707070f";
    operator.ask("DELETE", &at("s", &format!("/facts/{nobody}"))).send().await.problem(404, "fact_not_found");
    // A key that is bound to a registered person is a person's, whatever its kind.
    handler.put("/v1/principals/ana", json!({"kind": "person"})).await.expect(201);
    let person = house.client("a", CredentialKind::Handler, None, Some("ana")).await;
    person.post(&at("s", "/facts"), json!({"key": "k", "value": "v"})).await.problem(403, "people_do_not_create");
}

#[tokio::test]
async fn whoever_looks_sees_how_facts_stand_and_not_what_they_say() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let old = furnished(&handler).await;
    let read = Some(&[Scope::FactRead, Scope::FactWrite][..]);
    let raw = Some(&[Scope::FactRead, Scope::FactWrite, Scope::OocRaw][..]);
    let fact = format!("/facts/{old}");
    let chain = format!("/facts/{old}/chain");
    let reads = ["", "/facts?include_invalid=true", &fact, &chain, "/current/address", "/environment", "/working-set"];
    for kind in [CredentialKind::Operator, CredentialKind::Auditor] {
        let covered = house.client("a", kind, read, None).await;
        let clear = house.speaking(kind, raw, anyone()).await;
        for rest in reads {
            let got = covered.get(&at("s", rest)).await.expect(200);
            assert!(!got.body.to_string().contains(CANARY), "{rest}: {:#}", got.body);
            let got = clear.get(&at("s", rest)).await.expect(200);
            assert!(got.body.to_string().contains(CANARY), "{rest}: {:#}", got.body);
            assert!(!got.body.to_string().contains("redacted"));
        }
        let shown = covered.get(&at("s", &fact)).await.body;
        assert_eq!((&shown["value"], &shown["redacted"]), (&json!({"redacted": "hide"}), &json!(true)));
        assert_eq!((&shown["key"], &shown["cause"]), (&json!("address"), &json!("pointer")));
        pack(&covered, "s", json!({})).await.problem(403, "detail_not_allowed");
        pack(&clear, "s", json!({})).await.expect(200);
    }
    let covered = house.client("a", CredentialKind::Operator, read, None).await;
    let back = covered.post(&at("s", &format!("/facts/{old}/restore")), json!({"reason": CANARY})).await.expect(200);
    assert!(!back.body.to_string().contains(CANARY), "{:#}", back.body);
    for kind in [CredentialKind::Handler, CredentialKind::Agent, CredentialKind::Admin] {
        let client = house.speaking(kind, read, anyone()).await;
        assert_eq!(client.get(&at("s", &fact)).await.expect(200).body["value"]["street"], CANARY, "{kind:?}");
    }
}
