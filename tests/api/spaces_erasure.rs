//! What was deleted is gone from every row and from the log, and the log still verifies. Evidence of spaces.

use cscp::domain::operation::CredentialKind;
use cscp::domain::scope::Scope;
use cscp::service::verify_tenant;
use serde_json::{Value, json};

use crate::client::Client;
use crate::house::{House, fresh};
use crate::spaces::{at, pack, write, written};

const CANARY: &str = "CANARY7f3a";
const NOWHERE: [&str; 0] = [];

async fn sound(house: &House) -> u64 {
    let report = verify_tenant(house.store.as_ref(), &"a".to_owned().try_into().unwrap()).await.unwrap();
    assert!(report.broken.is_empty(), "{:?}", report.broken);
    assert_eq!(report.missing, 0, "the log itself says why something is gone");
    report.erased
}

/// Everywhere in the database where a text stands.
async fn places(house: &House, text: &str) -> Vec<String> {
    let hex = hex::encode(text);
    let rows = house.rows().await;
    assert!(rows.len() > 5);
    let text = text.to_lowercase();
    let holding = rows.into_iter().filter(|row| {
        let row = row.to_lowercase();
        row.contains(&text) || row.contains(&hex)
    });
    holding.map(|row| row.chars().filter(|c| !c.is_control()).take(400).collect()).collect()
}

/// Facts, a pack, a reading and what else can hold a value, around a fact that is to go. Its uid.
async fn spread(house: &House, client: &Client, space: &str) -> String {
    let base = json!({"id": "A", "key": "address", "value": format!("{CANARY} street 12")});
    let uid = write(client, space, base).await.text("/fact/uid");
    written(client, space, "colour", "blue").await;
    let saved = pack(client, space, json!({"query": "address?", "save_frame": true})).await.expect(201);
    assert!(saved.text("/context").contains(CANARY));
    house.wait(1);
    write(client, space, json!({"key": "address", "value": "Main street 1", "supersedes": "A"})).await;
    uid
}

#[tokio::test]
async fn a_deleted_fact_leaves_no_value_and_a_log_that_verifies() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let uid = spread(&house, &client, "s").await;
    assert!(!places(&house, CANARY).await.is_empty());
    assert_eq!(sound(&house).await, 0);
    let path = at("s", &format!("/facts/{uid}"));
    let gone = client.ask("DELETE", &path).send().await.expect(200);
    assert_eq!((&gone.body["fact"]["value"], &gone.body["fact"]["deleted"]), (&Value::Null, &json!(true)));
    assert_eq!(places(&house, CANARY).await, NOWHERE);
    assert!(sound(&house).await > 0);
    let read = client.get(&path).await.expect(200).body;
    assert_eq!((&read["value"], &read["is_valid"]), (&Value::Null, &json!(false)));
    assert_eq!(client.get(&at("s", "/current/address")).await.expect(200).text("/value"), "Main street 1");
    let text = pack(&client, "s", json!({"include_superseded": true})).await.expect(200).text("/context");
    assert!(!text.contains(CANARY) && text.contains("blue"));
    // What comes late is folded in without bringing it back.
    let late = json!({"key": "size", "value": 42, "effective_at": "2020-01-01T00:00:00Z"});
    write(&client, "s", late).await;
    assert_eq!(places(&house, CANARY).await, NOWHERE);
    assert_eq!(client.get(&path).await.expect(200).body["deleted"], true);
}

#[tokio::test]
async fn a_deleted_fact_is_forgotten_by_the_readings_that_told_of_it() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let observe = async |text: String| {
        let said = json!({"fact_space": "s", "text": text});
        client.post("/v1/observations", said).await.expect(200).body
    };
    written(&client, "s", "delivery_address", "Main street 1").await;
    written(&client, "s", "meeting_day", "Monday").await;
    house.wait(1);
    let told =
        observe(format!("Actually the delivery address is Rua {CANARY}, 12, and the meeting is on Friday")).await;
    assert_eq!(told["effects"]["created"].as_array().unwrap().len(), 2, "{told:#}");
    house.wait(1);
    // One that bears on nothing tells of it all the same.
    let idle = observe(format!("Actually the gate code is 12 at Rua {CANARY}, 12")).await;
    assert_eq!(idle["effects"]["created"], json!([]), "{idle:#}");
    house.wait(1);
    observe("Actually the delivery address changed, it is Rua Nova, 9 now".to_owned()).await;
    let facts = crate::spaces::all(&client, "s").await;
    let holding = facts.as_array().unwrap().iter().find(|fact| fact["value"].to_string().contains(CANARY));
    let uid = holding.expect("a fact of what was said")["uid"].as_str().unwrap().to_owned();
    assert!(!places(&house, CANARY).await.is_empty());
    client.ask("DELETE", &at("s", &format!("/facts/{uid}"))).send().await.expect(200);
    assert_eq!(places(&house, CANARY).await, NOWHERE);
    assert!(sound(&house).await > 0);
    // What else was said stands, also when everything is folded in again.
    let current = async |key: &str| client.get(&at("s", &format!("/current/{key}"))).await.expect(200).text("/value");
    for late in [false, true] {
        if late {
            let late = json!({"key": "size", "value": 42, "effective_at": "2020-01-01T00:00:00Z"});
            write(&client, "s", late).await;
        }
        assert_eq!(current("delivery_address").await, "Rua Nova, 9");
        assert_eq!(current("meeting_day").await, "Friday");
    }
    assert_eq!(places(&house, CANARY).await, NOWHERE);
}

#[tokio::test]
async fn an_erased_space_leaves_nothing_and_another_of_its_name_begins_anew() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let space = fresh("space");
    spread(&house, &client, &space).await;
    client.put(&at(&space, "/identity"), json!({"user_id": CANARY, "user_name": CANARY})).await.expect(200);
    client.put(&at(&space, "/environment/weather"), json!({"value": CANARY})).await.expect(200);
    client.put(&at(&space, "/working-set/step"), json!({"content": CANARY})).await.expect(200);
    let said = json!({"fact_space": space, "text": format!("Actually the address is {CANARY} avenue 7")});
    client.post("/v1/observations", said).await.expect(200);
    let other = written(&client, "other", "colour", "blue").await;
    client.ask("DELETE", &at(&space, "")).send().await.expect(200);
    assert_eq!(places(&house, CANARY).await, NOWHERE);
    assert!(sound(&house).await > 0);
    client.get(&at("other", &format!("/facts/{other}"))).await.expect(200);
    written(&client, &space, "colour", "red").await;
    assert_eq!(client.get(&at(&space, "/facts")).await.expect(200).body["facts"].as_array().unwrap().len(), 1);
    sound(&house).await;
}

#[tokio::test]
async fn evidence_is_found_by_space_and_fact_and_shows_values_to_those_who_may_see_them() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let uid = spread(&house, &client, "s").await;
    written(&client, "elsewhere", "k", "v").await;
    client.put(&at("s", "/identity"), json!({"user_id": CANARY})).await.expect(200);
    client.put(&at("s", "/environment/weather"), json!({"value": CANARY})).await.expect(200);
    client.put(&at("s", "/working-set/step"), json!({"content": CANARY, "task_id": CANARY})).await.expect(200);
    let reader = async |scopes: &[Scope]| house.client("a", CredentialKind::Auditor, Some(scopes), None).await;
    let covered = reader(&[Scope::EvidenceRead]).await;
    let raw = reader(&[Scope::EvidenceRead, Scope::OocRaw]).await;
    let query = async |client: &Client, body: Value| client.post("/v1/evidence/query", body).await.expect(200).body;
    let seen = query(&covered, json!({"fact_space": "s"})).await;
    let types: Vec<&str> =
        seen["items"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
    for wanted in [
        "fact_space.described",
        "fact_space.identity_set",
        "fact.written",
        "fact.superseded",
        "context_pack.saved",
        "environment.set",
        "working_set.set",
    ] {
        assert!(types.contains(&wanted), "{wanted}: {types:?}");
    }
    assert!(!seen.to_string().contains(CANARY), "{seen:#}");
    assert_eq!(seen["redaction"], json!({"level": "redacted", "applied": ["facts:hide"]}));
    assert!(seen["items"].as_array().unwrap().iter().all(|item| item["space_id"] == "s"));
    assert!(query(&raw, json!({"fact_space": "s"})).await.to_string().contains(CANARY));
    let of_fact = query(&covered, json!({"fact_space": "s", "fact_uid": uid})).await;
    let types: Vec<&str> =
        of_fact["items"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["fact.written", "fact.superseded"]);
    let artifact = of_fact["items"][0]["artifact_id"].as_str().unwrap();
    let one = covered.get(&format!("/v1/evidence/artifacts/{artifact}")).await.expect(200);
    assert!(!one.body.to_string().contains(CANARY));
    assert_eq!(query(&covered, json!({"fact_space": "nowhere"})).await["items"], json!([]));
    let bad = covered.ask("POST", "/v1/evidence/query").json(&json!({"fact_space": "5511999990000"})).send().await;
    bad.problem(422, "invalid_value");
}

#[tokio::test]
async fn packs_of_other_spaces_and_kept_answers_go_with_what_they_held() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for (number, erased) in [(1, false), (2, true)] {
        let wide = format!("wide-{number}");
        let described = json!({"partition": {"memory": "organization", "organization": "acme"}});
        client.put(&at(&wide, ""), described).await.expect(201);
        let body = json!({"key": "address", "value": CANARY});
        let path = at(&wide, "/facts");
        let key = format!("write-{number}");
        let uid = client.ask("POST", &path).key(&key).valid(&body).send().await.expect(201).text("/fact/uid");
        let asking = format!("asking-{number}");
        client.put(&at(&asking, ""), json!({"wider": [wide]})).await.expect(201);
        house.wait(1);
        let saved = pack(&client, &asking, json!({"query": "address?", "save_frame": true})).await.expect(201);
        assert!(saved.text("/context").contains(CANARY));
        let gone = if erased { at(&wide, "") } else { at(&wide, &format!("/facts/{uid}")) };
        let delete = || client.ask("DELETE", &gone).key(&format!("delete-{number}")).send();
        let first = delete().await.expect(200);
        let again = delete().await.expect(200);
        assert!(again.replayed());
        assert_eq!(again.essence(), first.essence(), "what was deleted under a key is deleted once");
        let written = client.ask("POST", &path).key(&key).valid(&body).send().await;
        assert!(written.replayed(), "a late repetition brings nothing back: {:#}", written.body);
        assert_eq!(written.code(), if erased { "space_not_found" } else { "fact_deleted" });
        client.get(&format!("/v1/context-packs/{}", saved.text("/pack_id"))).await.problem(404, "not_found");
        assert_eq!(places(&house, CANARY).await, NOWHERE);
        sound(&house).await;
    }
}

#[tokio::test]
async fn found_what_says_why_a_value_is_gone_outlives_later_changes_of_the_deleted_fact() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let old = written(&client, "s", "address", "Main street 1").await;
    house.wait(1);
    let newer = json!({"key": "address", "value": "Side street 2", "supersedes": old});
    let newer = write(&client, "s", newer).await.text("/fact/uid");
    client.ask("DELETE", &at("s", &format!("/facts/{newer}"))).send().await.expect(200);
    assert!(sound(&house).await > 0);
    house.wait(1);
    // Putting back what the deleted one had replaced changes the deleted one again.
    client.post(&at("s", &format!("/facts/{old}/restore")), json!({"reason": "a mistake"})).await.expect(200);
    assert!(sound(&house).await > 0);
    assert_eq!(client.get(&at("s", "/current/address")).await.expect(200).text("/value"), "Main street 1");
}

/// What was said is a digest that only its salt gives away, and neither is shown to whoever reads the evidence.
#[tokio::test]
async fn no_digest_of_what_was_said_leaves_the_server() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let auditor = house.client("a", CredentialKind::Auditor, None, None).await;
    written(&client, "s", "document", "the number is 529982247, as agreed").await;
    house.wait(1);
    let text = "Actually the document changed, it is 529982248 now and not the other one";
    let said = json!({"fact_space": "s", "text": text});
    client.post("/v1/observations", said).await.expect(200);
    let found = auditor.post("/v1/evidence/query", json!({"type": "observation.read"})).await.expect(200).body;
    let readings = found["items"].as_array().unwrap();
    assert_eq!(readings.len(), 1, "{found}");
    let text = readings[0].to_string();
    assert!(text.contains("reading") && !text.contains("\"echo\"") && !text.contains("\"salt\""), "{text}");
    let stored = house.rows().await.into_iter().filter(|row| row.contains("echo")).count();
    assert!(stored > 0, "there is one, with the server");
}

/// A deletion says which entries lost their payload: it explains those, and not that another fact's is gone.
#[tokio::test]
async fn one_deleted_fact_does_not_excuse_another_ones_evidence() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let gone = written(&client, "s", "address", "nowhere 1").await;
    written(&client, "s", "colour", "blue").await;
    client.ask("DELETE", &at("s", &format!("/facts/{gone}"))).send().await.expect(200);
    let check = async || verify_tenant(house.store.as_ref(), &"a".to_owned().try_into().unwrap()).await.unwrap();
    let report = check().await;
    assert!(report.is_sound() && report.erased > 0 && report.undetermined == 0, "{report:?}");
    let erased = report.erased;
    assert_eq!(house.meddle("DELETE FROM log_payloads WHERE payload LIKE '%colour%'").await, 1);
    let report = check().await;
    assert_eq!((report.erased, report.undetermined, report.missing), (erased, 0, 1), "{report:?}");
}
