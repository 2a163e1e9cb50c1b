//! Everything about somebody goes, what is about others stays, and the record still verifies.

use cscp::domain::canonical::{Digest, Purpose, canonical, keyed};
use cscp::domain::operation::CredentialKind;
use cscp::evidence::note::{VerifierKey, open};
use cscp::service::{TenantReport, verify_tenant};
use serde_json::{Value, json};

use crate::client::{Client, Got};
use crate::house::{House, fresh, watch};
use crate::leftovers::leftovers;
use crate::privacy_cast::{ANA, BOB, Person, is_named, lives, message};

pub(crate) async fn admin(house: &House) -> Client {
    house.client("a", CredentialKind::Admin, None, None).await
}

pub(crate) async fn erase(client: &Client, subject: &Value, dry_run: bool) -> Got {
    client.post("/v1/privacy/erasures", json!({"subject": subject, "dry_run": dry_run, "reason": "wish"})).await
}

pub(crate) async fn report(house: &House) -> TenantReport {
    let tenant = "a".to_owned().try_into().unwrap();
    while house.service.transparency().sequence_once().await.unwrap() > 0 {}
    let report = verify_tenant(house.store.as_ref(), &tenant).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
    report
}

/// Rows that hold something of somebody.
pub(crate) async fn rows_about(house: &House, who: &Person) -> Vec<String> {
    let traces: Vec<String> = who.traces().iter().flat_map(|t| [t.to_lowercase(), hex::encode(t)]).collect();
    let rows = house.rows().await.into_iter();
    rows.filter(|row| traces.iter().any(|trace| row.to_lowercase().contains(trace)))
        .map(|row| row.chars().filter(|c| !c.is_control()).take(600).collect())
        .collect()
}

const NOWHERE: [&str; 0] = [];

#[tokio::test]
async fn everything_about_somebody_goes_and_nothing_else() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let (admin, ana) = (admin(&house).await, lives(&house, &client, &ANA).await);
    let bob = lives(&house, &client, &BOB).await;
    is_named(&house, &client, &ANA, &BOB).await;
    report(&house).await;
    let auditor = house.client("a", CredentialKind::Auditor, None, None).await;
    let proof = auditor.get(&format!("/v1/evidence/artifacts/{}/proof", ana.artifact)).await.expect(200).body;
    let before = rows_about(&house, &BOB).await.len();
    assert!(rows_about(&house, &ANA).await.len() > 30);

    let survey = erase(&admin, &ANA.selector(), true).await.expect(200).body;
    assert_eq!(survey["obstacles"], json!([]));
    for kind in ["contexts", "items", "commands", "frames", "tombstones", "conversations", "spaces", "principals"] {
        assert!(survey["counts"][kind].as_u64() > Some(0), "{kind}: {survey:#}");
    }
    let erased = erase(&admin, &ANA.selector(), false).await.expect(201);
    assert_eq!(rows_about(&house, &ANA).await, NOWHERE);
    assert!(rows_about(&house, &BOB).await.len() + 12 > before, "what is about others stays");
    for kept in ["kept-message", "kept-slot", "kept-fact"] {
        let rows = house.rows().await;
        assert!(rows.iter().any(|row| row.contains(&BOB.text(kept))), "{kept} stays without the name");
    }
    let found = report(&house).await;
    assert!(found.erased > 20, "{found:?}");
    let still = auditor.get(&format!("/v1/evidence/artifacts/{}/proof", ana.artifact)).await.expect(200).body;
    assert_eq!(still["leaf_index"], proof["leaf_index"]);
    assert_eq!(still["entry_hash"], proof["entry_hash"]);
    let shown = auditor.get(&format!("/v1/evidence/artifacts/{}", ana.artifact)).await.expect(200).body;
    assert_eq!(shown["artifact"]["erased"], true);
    client.get(&format!("/v1/contexts/{}", ana.context)).await.problem(404, "context_not_found");
    client.get(&format!("/v1/contexts/{}", bob.context)).await.expect(200);

    let left = leftovers(house.place(), &ANA.traces()).await;
    assert!(left.iter().all(|(_, count)| *count == 0), "{left:?}");
    let left = leftovers(house.place(), &BOB.traces()).await;
    assert!(left.iter().all(|(_, count)| *count > 0), "{left:?}");
    let watched = watch().text();
    assert!(ANA.traces().iter().all(|trace| !watched.contains(trace.as_str())), "no log and no metric");
    receipt(&house, &admin, &erased).await;
}

/// The receipt is signed, tells nothing of anybody, and can be shown to be about somebody by whoever has the salt.
async fn receipt(house: &House, admin: &Client, erased: &Got) {
    let salt = Digest::from_hex(&erased.text("/subject_salt")).unwrap();
    let commitment = keyed(&salt, Purpose::Subject, &canonical(&ANA.selector())).to_hex();
    assert_eq!(erased.text("/subject_commitment"), commitment);
    let again = admin.get(&format!("/v1/privacy/erasures/{}", erased.text("/erasure_id"))).await.expect(200);
    assert_eq!(again.text("/receipt"), erased.text("/receipt"));
    assert!(again.body.get("subject_salt").is_none(), "given out once");
    let auditor = house.client("a", CredentialKind::Auditor, None, None).await;
    let checkpoint = auditor.get("/v1/evidence/checkpoint").await.expect(200).body;
    let keys: Vec<VerifierKey> = checkpoint["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| VerifierKey::parse(key.as_str().unwrap()).unwrap())
        .collect();
    let note = again.text("/receipt");
    let text = open(&note, &keys).unwrap();
    assert!(text.contains(&commitment) && text.contains("reason wish"), "{text}");
    assert!(open(&note.replace("wish", "fish"), &keys).is_err());
    for artifact in again.body["artifact_ids"].as_array().unwrap() {
        let shown = auditor.get(&format!("/v1/evidence/artifacts/{}", artifact.as_str().unwrap())).await.expect(200);
        let hash = shown.text("/artifact/hash").replace("sha256:", "");
        assert!(text.contains(&format!("entry {} {hash}", artifact.as_str().unwrap())), "{text}");
    }
    assert!(!rows_about(house, &BOB).await.is_empty());
}

#[tokio::test]
async fn a_late_delivery_brings_nobody_back_and_a_new_message_begins_anew() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let (admin, ana) = (admin(&house).await, lives(&house, &client, &ANA).await);
    erase(&admin, &json!({"actor_id": ANA.actor()}), false).await.expect(201);
    house.wait(60);
    for mut message in [ana.message.clone(), ana.message.clone()] {
        // Whatever it says now: nothing is known of it any more.
        message["text"] = json!(fresh("words"));
        let late = client.post("/v1/messages", message).await.expect(200).body;
        assert_eq!((&late["verdict"]["code"], &late["verdict"]["reason"]), (&json!("ignored"), &json!("erased")));
        assert_eq!((&late["duplicate"], &late["context"]), (&json!(true), &Value::Null));
    }
    let batch = client.post("/v1/messages/batch", json!({"messages": [ana.message]})).await;
    assert_eq!(batch.body["results"][0]["answer"]["verdict"]["reason"], "erased", "{:#}", batch.body);
    assert_eq!(rows_about(&house, &ANA).await, NOWHERE, "not even the name of a lock");
    let mut news = ana.message.clone();
    news["message_id"] = json!(ANA.wamid());
    news["sent_at"] = json!(house.now());
    assert_ne!(client.post("/v1/messages", news).await.expect(200).body["context"], Value::Null);
    report(&house).await;
    // The key goes too, when no channel delivers that late any more.
    house.wait(8 * 24 * 60 * 60);
    let row = format!("\"{}\"", "erased");
    assert!(house.rows().await.iter().any(|text| text.starts_with("messages: ") && text.contains(&row)));
    house.purge("a").await;
    assert!(!house.rows().await.iter().any(|text| text.starts_with("messages: ") && text.contains(&row)));
}

/// Pages of the database have been split and filled up again by then.
#[tokio::test]
async fn a_long_history_leaves_no_byte_either() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let admin = admin(&house).await;
    for round in 0..30 {
        let said = |who: &Person, n: u32| {
            let mut said = message(&house, who, "words");
            said["extensions"] = json!({"filler": who.text(&"x".repeat((round * 37 + n * 101) as usize % 900))});
            said
        };
        let messages: Vec<Value> = (0..10).flat_map(|n| [said(&ANA, n), said(&BOB, n)]).collect();
        client.post("/v1/messages/batch", json!({"messages": messages})).await.expect(200);
        house.wait(3);
    }
    assert!(leftovers(house.place(), &ANA.traces()).await.iter().all(|(_, count)| *count > 0));
    erase(&admin, &json!({"actor_id": ANA.actor()}), false).await.expect(201);
    let left = leftovers(house.place(), &ANA.traces()).await;
    assert!(left.iter().all(|(_, count)| *count == 0), "{left:?}");
    let left = leftovers(house.place(), &BOB.traces()).await;
    assert!(left.iter().all(|(_, count)| *count > 0), "{left:?}");
    report(&house).await;
}

#[tokio::test]
async fn a_repetition_says_the_same_and_a_key_is_for_one_person() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let admin = admin(&house).await;
    lives(&house, &client, &ANA).await;
    lives(&house, &client, &BOB).await;
    let ask = |subject: Value, key: Option<&'static str>| {
        let ask = admin.ask("POST", "/v1/privacy/erasures").json(&json!({"subject": subject, "dry_run": false}));
        key.map_or(ask, |_| {
            admin
                .ask("POST", "/v1/privacy/erasures")
                .json(&json!({"subject": subject, "dry_run": false}))
                .key(key.unwrap())
        })
    };
    ask(ANA.selector(), None).send().await.problem(400, "idempotency_key_missing");
    ask(ANA.selector(), Some("erase-5511900000017")).send().await.problem(422, "idempotency_key_personal");
    let first = ask(ANA.selector(), Some("one")).send().await.expect(201);
    let again = ask(ANA.selector(), Some("one")).send().await.expect(200);
    assert!(again.replayed());
    assert_eq!((again.text("/receipt"), again.body.get("subject_salt")), (first.text("/receipt"), None));
    ask(BOB.selector(), Some("one")).send().await.problem(422, "idempotency_key_reused");
    assert!(rows_about(&house, &BOB).await.len() > 20);
    let none = ask(json!({"person_id": "nobody-there"}), Some("two")).send().await.expect(201);
    assert_eq!(none.body["counts"], json!({}));
    for wrong in [json!({}), json!({"actor_id": "a", "person_id": "b"})] {
        ask(wrong, Some("three")).send().await.problem(422, "invalid_value");
    }
    for kind in [CredentialKind::Handler, CredentialKind::Operator, CredentialKind::Auditor] {
        let other = house.client("a", kind, None, None).await;
        other.post("/v1/privacy/exports", json!({"subject": ANA.selector()})).await.problem(403, "scope_denied");
    }
}

#[tokio::test]
async fn an_export_shows_everything_and_no_secret() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let admin = admin(&house).await;
    lives(&house, &client, &ANA).await;
    lives(&house, &client, &BOB).await;
    let mut items = Vec::new();
    let mut body = json!({"subject": ANA.selector()});
    loop {
        let page = admin.post("/v1/privacy/exports", body.clone()).await.expect(200).body;
        items.extend(page["items"].as_array().unwrap().iter().cloned());
        if page["next_cursor"].is_null() {
            break;
        }
        body["cursor"] = page["next_cursor"].clone();
    }
    let all = json!(items).to_string();
    for what in ["person", "street", "name", "prompt", "summary", "signal", "item", "label", "extension"] {
        let seen = what == "prompt" || all.contains(&ANA.text(what));
        assert!(seen, "{what}");
    }
    assert!(!all.contains(BOB.mark) && !all.contains(BOB.number));
    for secret in ["\"nonce_digest\"", "\"salt\"", "\"prompt_salt\"", "\"message_key\"", "\"body_digest\""] {
        assert!(!all.contains(secret), "{secret}");
    }
    let kinds: std::collections::BTreeSet<&str> = items.iter().map(|item| item["kind"].as_str().unwrap()).collect();
    for kind in ["principals", "contexts", "items", "commands", "frames", "messages", "space_records", "payloads"] {
        assert!(kinds.contains(kind), "{kind}: {kinds:?}");
    }
    assert!(house.rows().await.iter().any(|row| row.contains("privacy.export")), "the read is recorded");
}
