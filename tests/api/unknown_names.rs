//! A name that nothing is recorded under is unknown, also after something that would have been recorded under it was
//! refused. PostgreSQL locks a name by a row for it among the heads of streams, and that row must not pass for a stream.

use cscp::domain::operation::CredentialKind;
use serde_json::{Value, json};

use crate::bundles::{auditors, export, sequence};
use crate::client::Client;
use crate::house::House;
use crate::place::Place;
use crate::privacy::{admin, erase, report};
use crate::spaces::{at, written};

const GHOST: &str = "CANARYghost83";

/// Refused operations on names that nobody knows, one for each kind of stream and some more, each under a key whose
/// answer is kept, so that something is committed.
async fn refusals(house: &House, client: &Client) {
    let delete = client.ask("DELETE", &at(GHOST, "")).fresh_key().send().await;
    delete.problem(404, "space_not_found");
    let fact = client.ask("DELETE", &at(GHOST, "/facts/fct_00000000000000000000000000000000")).fresh_key().send().await;
    assert_eq!(fact.status, 404, "{:#}", fact.body);
    let mut outbound = house.message(GHOST, "a question");
    outbound["actor_id"] = json!(GHOST);
    outbound["direction"] = json!("outbound");
    outbound["prompt_for"] = json!("cnf_00000000000000000000000000000000");
    let sent = client.post("/v1/messages", outbound).await;
    assert_eq!(sent.status, 404, "{:#}", sent.body);
    let person = json!({"kind": "person", "roles": []});
    let path = format!("/v1/principals/{GHOST}");
    let put = client.ask("PUT", &path).fresh_key().header("if-match", "\"r7\"").json(&person).send().await;
    assert_eq!(put.status, 412, "{:#}", put.body);
}

/// What every way to ask about the name says.
async fn told(house: &House, client: &Client) -> Vec<(String, u16, Value)> {
    let (auditor, raw) = auditors(house, "a").await;
    let admin = admin(house).await;
    sequence(house).await;
    let mut told = Vec::new();
    for selection in ["conversation_id", "actor_id", "fact_space"] {
        let about = json!({selection: GHOST});
        for (path, who) in
            [("/v1/evidence/export", &raw), ("/v1/evidence/query", &auditor), ("/v1/contexts/query", client)]
        {
            let got = who.post_unchecked(path, &about).await;
            let heads =
                got.body.as_str().map(|text| text.lines().filter(|line| line.starts_with("{\"entry\"")).count());
            let body = heads.map_or(got.essence().1, |heads| json!(heads));
            told.push((format!("{path} {selection}"), got.status, body));
        }
    }
    let subject = json!({"actor_id": GHOST});
    let survey = erase(&admin, &subject, true).await;
    // Who has looked, and what was refused, is recorded and kept by that name; nothing else may be.
    let counts = |kind: &str| survey.body["counts"][kind].clone();
    told.push(("survey".to_owned(), survey.status, ["conversations", "spaces", "principals"].map(counts).into()));
    let exported = admin.post("/v1/privacy/exports", json!({"subject": subject})).await;
    told.push(("export".to_owned(), exported.status, Value::Null));
    let known = [at(GHOST, ""), at(GHOST, "/facts"), format!("/v1/commands/{GHOST}")];
    for path in known {
        let got = client.get(&path).await;
        told.push((path, got.status, got.essence().1));
    }
    let principals = client.post("/v1/principals/query", json!({"principal_id": GHOST})).await;
    told.push(("principals".to_owned(), principals.status, principals.body["items"].clone()));
    told
}

/// Rows for locks, as earlier versions left them. SQLite has no such rows.
async fn old_rows(house: &House) {
    if !matches!(house.place(), Place::Server(_)) {
        return;
    }
    let rows = crate::replayed::change(
        house.place(),
        "INSERT INTO streams (tenant_id, kind, key, seq) SELECT 'a', w.kind, w.key, 0 FROM (VALUES
            ('conversation', 'CANARYghost83'), ('principal', 'CANARYghost83'), ('access', 'CANARYghost83'),
            ('fact_space', 'CANARYghost83'), ('disposal', 'disposal')) AS w (kind, key)",
    )
    .await;
    assert_eq!(rows, 5);
}

async fn names(house: &House) -> Vec<String> {
    house.rows().await.into_iter().filter(|row| row.starts_with("streams: ") && row.contains(GHOST)).collect()
}

fn same(after: &[(String, u16, Value)], before: &[(String, u16, Value)]) {
    for (now, then) in after.iter().zip(before) {
        assert_eq!(now, then);
        assert!(now.1 < 500, "{now:?}");
    }
}

#[tokio::test]
async fn a_refused_operation_leaves_nothing_that_looks_like_a_stream() {
    let house = House::new().await;
    let client = house.handler("a").await;
    written(&client, "beside", "colour", "blue").await;
    let before = told(&house, &client).await;
    refusals(&house, &client).await;
    assert_eq!(names(&house).await, [""; 0], "the row of a lock goes when nothing was recorded under its name");
    let after = told(&house, &client).await;
    same(&after, &before);
    house.purge("a").await;
    report(&house).await;
}

#[tokio::test]
async fn a_row_that_was_only_a_lock_is_no_stream_to_any_reader() {
    let house = House::new().await;
    let client = house.handler("a").await;
    written(&client, "beside", "colour", "blue").await;
    let before = told(&house, &client).await;
    old_rows(&house).await;
    let after = told(&house, &client).await;
    same(&after, &before);
    refusals(&house, &client).await;
    house.wait(400 * 86_400);
    house.purge("a").await;
    report(&house).await;
    let operator = house.client("a", CredentialKind::Operator, None, None).await;
    let seen = operator.post("/v1/ooc/query", json!({"query": "status", "conversation_id": GHOST})).await;
    assert!(seen.status < 500, "{:#}", seen.body);
    // It may be a telephone number: whoever asks for its erasure has it erased.
    let admin = admin(&house).await;
    erase(&admin, &json!({"actor_id": GHOST}), false).await.expect(201);
    assert_eq!(names(&house).await, [""; 0]);
    // The name is free: whoever takes it next begins a stream.
    let whole = export(&auditors(&house, "a").await.1, json!({})).await;
    assert!(!whole.is_empty());
    written(&client, GHOST, "colour", "red").await;
    report(&house).await;
}
