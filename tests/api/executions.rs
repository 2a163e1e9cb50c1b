//! Who executes a bound command: one attempt at a time, as long as it has time to report, and after it whoever takes over.

use cscp::domain::operation::CredentialKind;
use serde_json::{Value, json};

use crate::client::{Client, Got};
use crate::house::{House, ask, fresh, fresh_attempt};

/// Longer than the shipped packs give an owner to report, in seconds.
const REPORT_WITHIN: i64 = 300;

/// A command that was bound a moment ago.
struct Bound {
    path: String,
    binding: Value,
    got: Got,
}

impl Bound {
    async fn new(house: &House, client: &Client) -> Self {
        let (context, binding) = house.confirmed(client, &fresh("conv")).await;
        let path = format!("/v1/contexts/{context}/commands");
        let got = client.ask("POST", &path).valid(&binding).send().await.expect(201);
        assert_eq!((got.body["execute"].as_bool(), got.text("/execution/state").as_str()), (Some(true), "executing"));
        Self { path, binding, got }
    }

    fn command(&self) -> &str {
        self.binding["command_id"].as_str().unwrap()
    }

    fn of_command(&self, what: &str) -> String {
        format!("/v1/commands/{}{what}", self.command())
    }

    async fn again(&self, client: &Client) -> Got {
        client.ask("POST", &self.path).valid(&self.binding).send().await
    }

    async fn take_over(&self, client: &Client, replaces: &Value, change: impl FnOnce(&mut Value)) -> Got {
        let mut body = json!({
            "attempt_id": fresh_attempt(), "replaces_attempt_id": replaces, "downstream_checked": true,
        });
        for member in ["name", "idempotency_key", "target", "envelope"] {
            body[member] = self.binding[member].clone();
        }
        change(&mut body);
        client.ask("POST", &self.of_command("/takeovers")).json(&body).send().await
    }
}

fn says(got: &Got, status: u16, execute: bool, state: &str) {
    assert_eq!(got.status, status, "{:#}", got.body);
    assert_eq!((&got.body["execute"], &got.body["execution"]["state"]), (&json!(execute), &json!(state)));
}

#[tokio::test]
async fn the_same_attempt_executes_until_it_reported_or_its_time_is_over() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let bound = Bound::new(&house, &client).await;
    says(&bound.again(&client).await, 200, true, "executing");
    let report = json!({"status": "succeeded", "attempt_id": bound.binding["attempt_id"]});
    let recorded = client.post(&bound.of_command("/results"), report).await.expect(201);
    assert_eq!(recorded.body["command"]["results"][0]["attempt_id"], bound.binding["attempt_id"]);
    says(&bound.again(&client).await, 200, false, "reported");
    let late = Bound::new(&house, &client).await;
    house.wait(REPORT_WITHIN - 1);
    says(&late.again(&client).await, 200, true, "executing");
    house.wait(1);
    says(&late.again(&client).await, 200, false, "unknown");
    // An answer that was kept under a key would still say that it may be executed.
    let kept = client.ask("POST", &late.path).fresh_key().valid(&late.binding).send().await;
    says(&kept, 200, false, "unknown");
}

#[tokio::test]
async fn an_attempt_is_a_random_uuid() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let (context, mut binding) = house.confirmed(&client, "conv").await;
    let path = format!("/v1/contexts/{context}/commands");
    for (attempt, random) in [
        ("att-cmd-1", false),
        ("", false),
        // Derived from a name, from a time and a machine, and none at all.
        ("2ed6657d-e927-568b-95e1-2665a8aea6a2", false),
        ("5df41881-3aed-3515-88a7-2f4a814cf09e", false),
        ("c232ab00-9414-11ec-b3c8-9f6bdeced846", false),
        ("00000000-0000-0000-0000-000000000000", false),
        ("{3f2b8c1e-9d4a-4c6b-8e21-5a7f0c9d1b34}", false),
        ("3f2b8c1e9d4a4c6b8e215a7f0c9d1b34", false),
        ("urn:uuid:3f2b8c1e-9d4a-4c6b-8e21-5a7f0c9d1b34", false),
        ("3F2B8C1E-9D4A-4C6B-8E21-5A7F0C9D1B34", true),
        // The same one, spelt otherwise.
        ("3f2b8c1e-9d4a-4c6b-8e21-5a7f0c9d1b34", true),
    ] {
        binding["attempt_id"] = json!(attempt);
        let got = client.post_unchecked(&path, &binding).await;
        if random {
            assert_eq!(got.body["execute"], json!(true), "{attempt}: {:#}", got.body);
        } else {
            assert_eq!((got.status, got.code()), (422, "attempt_id_not_random"), "{attempt}: {:#}", got.body);
            assert_eq!(got.body["errors"][0]["pointer"], "/attempt_id");
        }
    }
}

#[tokio::test]
async fn what_a_dead_worker_left_is_listed_and_taken_over_once() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let bound = Bound::new(&house, &client).await;
    let first = bound.binding["attempt_id"].clone();
    let early = bound.take_over(&client, &first, |_| {}).await.problem(409, "execution_not_unknown");
    assert_eq!(early.body["report_by"], bound.got.body["execution"]["report_by"]);
    house.wait(REPORT_WITHIN);
    let unchecked = bound.take_over(&client, &first, |body| body["downstream_checked"] = json!(false)).await;
    unchecked.problem(422, "downstream_not_checked");
    let other = bound.take_over(&client, &first, |body| body["target"] = json!({"address_id": "another"})).await;
    other.problem(409, "command_conflict");
    let stranger = bound.take_over(&client, &json!(fresh_attempt()), |_| {}).await;
    stranger.problem(409, "already_taken_over");
    let (one, two) = tokio::join!(bound.take_over(&client, &first, |_| {}), bound.take_over(&client, &first, |_| {}));
    let (won, lost) = if one.status == 201 { (one, two) } else { (two, one) };
    says(&won, 201, true, "executing");
    lost.problem(409, "already_taken_over");
    assert_eq!(won.body["execution"]["replaced_attempt_ids"], json!([first]));
    assert_eq!(won.body["context_ref"], bound.got.body["context_ref"]);
    // The first one comes back to life, and does nothing.
    let back = bound.again(&client).await.problem(409, "already_bound");
    assert_eq!(back.body["execution"], "executing");
    // What it did is recorded all the same, and then nobody executes any more.
    let late = json!({"status": "succeeded", "attempt_id": first});
    client.post(&bound.of_command("/results"), late).await.expect(201);
    let owner = bound.take_over(&client, &first, |body| body["attempt_id"] = won.body["attempt_id"].clone()).await;
    says(&owner, 200, false, "reported");
    let nobody = json!({"status": "succeeded", "attempt_id": fresh_attempt()});
    client.post(&bound.of_command("/results"), nobody).await.problem(409, "unknown_attempt");
}

#[tokio::test]
async fn what_was_reported_as_unknown_is_taken_over_too() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let bound = Bound::new(&house, &client).await;
    let unsaid = json!({"status": "TIMED_OUT"});
    client.post_unchecked(&bound.of_command("/results"), &unsaid).await.problem(422, "missing_field");
    // Whoever names no attempt ends nobody's time, and the owner does not execute any more.
    let timed_out = json!({"status": "TIMED_OUT", "outcome": "unknown"});
    client.post(&bound.of_command("/results"), timed_out).await.expect(201);
    says(&bound.again(&client).await, 200, false, "executing");
    let by_owner = json!({"status": "TIMED_OUT", "outcome": "unknown", "attempt_id": bound.binding["attempt_id"]});
    client.post(&bound.of_command("/results"), by_owner).await.expect(201);
    says(&bound.again(&client).await, 200, false, "unknown");
    let taken = bound.take_over(&client, &bound.binding["attempt_id"], |_| {}).await;
    says(&taken, 201, true, "executing");
}

#[tokio::test]
async fn commands_without_a_report_are_listed_oldest_first_and_told_to_operators() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let mut bound = Vec::new();
    for _ in 0..3 {
        bound.push(Bound::new(&house, &client).await);
        house.wait(10);
    }
    let listed = async |body: Value| {
        let got = client.ask("POST", "/v1/commands/query").valid(&body).send().await.expect(200);
        let items = got.body["items"].as_array().unwrap().clone();
        (items.iter().map(|item| item["command_id"].clone()).collect::<Vec<_>>(), got.body["next_cursor"].clone())
    };
    let ids: Vec<Value> = bound.iter().map(|bound| json!(bound.command())).collect();
    assert_eq!(listed(json!({})).await.0, ids);
    assert_eq!(listed(json!({"execution": "executing"})).await.0, ids);
    assert_eq!(listed(json!({"execution": "unknown"})).await.0, Vec::<Value>::new());
    house.wait(REPORT_WITHIN - 30);
    assert_eq!(listed(json!({"execution": "unknown"})).await.0, ids[..1]);
    assert_eq!(listed(json!({"execution": "executing"})).await.0, ids[1..]);
    let (page, cursor) = listed(json!({"limit": 2})).await;
    assert_eq!(page, ids[..2]);
    assert_eq!(listed(json!({"limit": 2, "cursor": cursor})).await.0, ids[2..]);
    let operator = house.client("a", CredentialKind::Operator, None, None).await;
    let told = operator.post("/v1/ooc/query", json!({"query": "list unreported", "locale": "en"})).await.expect(200);
    assert_eq!(told.body["items"][0]["execution"], "unknown");
    assert!(told.text("/text").contains("nobody knows whether it was executed"), "{:#}", told.body);
    for bound in &bound {
        client.post(&bound.of_command("/results"), json!({"status": "succeeded"})).await.expect(201);
    }
    assert_eq!(listed(json!({})).await.0, Vec::<Value>::new());
}

#[tokio::test]
async fn what_was_bound_is_not_asked_for_again() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let bound = Bound::new(&house, &client).await;
    let context = house.opened(&client, &fresh("conv")).await;
    let path = format!("/v1/contexts/{context}/confirmations");
    let refused = client.post(&path, ask(bound.command())).await.problem(409, "command_bound");
    assert_eq!((&refused.body["execution"], &refused.body["outcome"]), (&json!("executing"), &json!("in_progress")));
    let mut same_key = ask(&fresh("cmd"));
    same_key["command"]["idempotency_key"] = bound.binding["idempotency_key"].clone();
    client.post(&path, same_key).await.problem(409, "idempotency_key_bound");
    // Asked in one place it is not asked in another one as well, until its time is over there.
    let elsewhere = ask(&fresh("cmd"));
    let open = client.post(&path, elsewhere.clone()).await.expect(201);
    let other = house.opened(&client, &fresh("conv")).await;
    let other = format!("/v1/contexts/{other}/confirmations");
    let claimed = client.post(&other, elsewhere.clone()).await.problem(409, "command_asked_elsewhere");
    assert_eq!(claimed.body["item_id"], open.body["confirmation_id"]);
    house.wait(301);
    client.post(&other, elsewhere).await.expect(201);
}

#[tokio::test]
async fn evidence_of_a_command_names_its_messages_and_its_context() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "quiet").await;
    let hello = client.post("/v1/messages", house.message("quiet", "onde está")).await.expect(200);
    let last = hello.text("/context/trace/last_message_id");
    // Nothing is asked of the person for this one, and the caller names no message.
    let command = fresh("cmd");
    let binding = json!({
        "attempt_id": fresh_attempt(), "command_id": command, "name": "order.status", "idempotency_key": fresh("key"),
        "target": {"order_id": "1"}, "envelope": {"command": command}, "message_ids": [],
    });
    let path = format!("/v1/contexts/{context}/commands");
    let bound = client.ask("POST", &path).valid(&binding).send().await.expect(201);
    assert_eq!(bound.body["message_ids"], json!([last]), "the message that led there is taken and told");
    client.post(&format!("/v1/commands/{command}/results"), json!({"status": "succeeded"})).await.expect(201);
    let auditor = house.client("a", CredentialKind::Auditor, None, None).await;
    let found = auditor.post("/v1/evidence/query", json!({"command_id": command})).await.expect(200);
    let artifacts = found.body["items"].as_array().unwrap();
    assert_eq!(artifacts.len(), 3, "{artifacts:#?}");
    for artifact in artifacts {
        assert_eq!(artifact["message_ids"], json!([last]), "{artifact:#}");
        assert_eq!(artifact["extensions"]["context_ref"], bound.body["context_ref"], "{artifact:#}");
    }
}
