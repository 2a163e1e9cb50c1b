//! Repetition: the same key brings the same answer, another request under it is refused, and a revision is named.

use std::collections::BTreeSet;

use serde_json::json;

use crate::house::{House, ask, fresh};

#[tokio::test]
async fn the_same_key_brings_the_same_answer_and_does_not_act_again() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "conv").await;
    let path = format!("/v1/contexts/{context}/confirmations");
    let body = ask(&fresh("cmd"));
    let first = client.ask("POST", &path).key("k-1").valid(&body).send().await.expect(201);
    assert!(!first.replayed());
    let again = client.ask("POST", &path).key("\"k-1\"").valid(&body).send().await.expect(201);
    assert!(again.replayed());
    assert_eq!((again.body.clone(), again.header("location")), (first.body.clone(), first.header("location")));
    let mut other = body.clone();
    other["supersede"] = json!(true);
    client.ask("POST", &path).key("k-1").valid(&other).send().await.problem(422, "idempotency_key_reused");
    let elsewhere = format!("/v1/contexts/{context}/approvals");
    client.ask("POST", &elsewhere).key("k-1").valid(&body).send().await.problem(422, "idempotency_key_reused");
    let refused = client.ask("POST", &path).key("k-2").valid(&body).send().await.problem(409, "question_pending");
    let id = first.text("/confirmation_id");
    client.ask("POST", &format!("/v1/confirmations/{id}/cancel")).fresh_key().send().await.expect(200);
    let replay = client.ask("POST", &path).key("k-2").valid(&body).send().await;
    assert!(replay.replayed(), "what was refused is answered as it was, although it would be done now");
    assert_eq!(replay.essence(), refused.essence());
}

#[tokio::test]
async fn of_many_requests_under_one_key_one_acts() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let body = json!({"conversation_id": "conv", "actor_id": "customer"});
    let asks: Vec<_> =
        (0..16).map(|_| tokio::spawn(client.ask("POST", "/v1/contexts").key("one").valid(&body).send())).collect();
    let (mut ids, mut replays) = (BTreeSet::new(), 0);
    for asked in asks {
        let got = asked.await.unwrap().expect(201);
        replays += u32::from(got.replayed());
        ids.insert(got.text("/context_id"));
    }
    assert_eq!((ids.len(), replays), (1, 15));
    client.ask("POST", "/v1/contexts").key("two").valid(&body).send().await.problem(409, "context_already_open");
}

#[tokio::test]
async fn a_change_names_the_revision_it_is_based_on() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let context = house.opened(&client, "conv").await;
    let path = format!("/v1/contexts/{context}/slots");
    let read = client.get(&format!("/v1/contexts/{context}")).await.expect(200);
    let etag = read.header("etag").unwrap().to_owned();
    let set_slots = |body, etag: &str| client.ask("PATCH", &path).header("if-match", etag).valid(&body).send();
    let changed = set_slots(json!({"active_intent": "order.cancel", "x_note": {"a": 1}}), &etag).await.expect(200);
    assert_eq!(changed.body["slots"]["x_note"]["a"], 1);
    let stale = set_slots(json!({"x_note": null}), &etag).await.problem(412, "revision_mismatch");
    assert_eq!(format!("\"r{}\"", stale.body["revision"]), changed.header("etag").unwrap());
    let etag = changed.header("etag").unwrap().to_owned();
    let merge = client.ask("PATCH", &path).header("if-match", &etag);
    let merge = merge.header("content-type", "application/merge-patch+json").valid(&json!({"x_note": null}));
    let after = merge.send().await.expect(200);
    assert!(after.body["slots"].get("x_note").is_none());
    let etag = after.header("etag").unwrap().to_owned();
    set_slots(json!({"pending_confirmation": {}}), &etag).await.problem(422, "slot");
    set_slots(json!({"colour": "red"}), &etag).await.problem(422, "slot");
}

#[tokio::test]
async fn a_principal_is_created_changed_and_left_alone() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let body = json!({"kind": "person", "roles": ["operator"], "aliases": [{"kind": "bsuid", "value": "BR.1"}]});
    let created = client.put("/v1/principals/person-1", body.clone()).await.expect(201);
    let same = client.put("/v1/principals/person-1", body.clone()).await.expect(200);
    assert_eq!(same.header("etag"), created.header("etag"));
    let mut moved = body;
    moved["aliases"][0]["value"] = json!("BR.2");
    let put = |etag: &str| client.ask("PUT", "/v1/principals/person-1").header("if-match", etag).valid(&moved).send();
    put("\"r9\"").await.problem(412, "revision_mismatch");
    let changed = put(created.header("etag").unwrap()).await.expect(200);
    assert_eq!(changed.body["identity_epoch"], 1);
    assert_eq!(changed.text("/past_aliases/0/value"), "BR.1");
}
