//! Facts over HTTP: written, replaced, restored, deleted, listed, followed.

use serde_json::{Value, json};

use crate::house::House;
use crate::spaces::{all, at, write, written};

#[tokio::test]
async fn a_fact_is_written_as_systems_send_it_and_read_back() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let body = json!({
        "id": "F-001", "key": "delivery_address", "value": "Rua das Flores 12", "effective_at": "2025-06-01T09:00:00",
        "source": {"type": "user", "identity": null, "authority": "peer"}, "scope": "global", "depends_on": [],
        "is_constraint": false, "constraint_type": null,
    });
    let got = write(&client, "s", body).await;
    assert_eq!(got.text("/assumed_time_zone"), "UTC");
    let fact = &got.body["fact"];
    assert_eq!(fact["timestamp"], "2025-06-01T09:00:00.000000Z");
    assert_eq!((&fact["id"], &fact["is_valid"], &fact["scope"]), (&json!("F-001"), &json!(true), &json!("global")));
    let uid = got.text("/fact/uid");
    let read = client.get(&at("s", &format!("/facts/{uid}"))).await.expect(200);
    assert_eq!(read.body["value"], "Rua das Flores 12");
    assert_eq!(client.get(&at("s", "/current/delivery_address")).await.expect(200).text("/uid"), uid);
    let other = json!({"key": "delivery_fee", "value": {"amount": 18.5}, "timestamp": "2025-06-01T09:00:00-03:00"});
    let got = write(&client, "s", other).await;
    assert_eq!(got.text("/fact/timestamp"), "2025-06-01T12:00:00.000000Z");
    assert!(got.body.get("assumed_time_zone").is_none());
}

#[tokio::test]
async fn the_same_key_brings_the_same_fact_back_and_another_request_is_refused() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let path = at("s", "/facts");
    let body = json!({"key": "colour", "value": "blue"});
    client.ask("POST", &path).valid(&body).send().await.problem(400, "idempotency_key_missing");
    let first = client.ask("POST", &path).key("k").valid(&body).send().await.expect(201);
    let again = client.ask("POST", &path).key("k").valid(&body).send().await.expect(201);
    assert!(again.replayed() && !first.replayed());
    assert_eq!(again.essence(), first.essence());
    let other = json!({"key": "colour", "value": "red"});
    client.ask("POST", &path).key("k").valid(&other).send().await.problem(422, "idempotency_key_reused");
    assert_eq!(all(&client, "s").await.as_array().unwrap().len(), 1);
    // What was refused is refused again in the same words, although it would be done now.
    let waits = json!({"key": "total", "value": 9, "supersedes": "sum", "require_targets": true});
    let refused = client.ask("POST", &path).key("r").valid(&waits).send().await.problem(422, "pointer_to_nothing");
    written(&client, "s", "sum", "8").await;
    let replay = client.ask("POST", &path).key("r").valid(&waits).send().await;
    assert!(replay.replayed());
    assert_eq!(replay.essence(), refused.essence());
}

#[tokio::test]
async fn a_newer_value_takes_the_place_of_an_older_one_and_the_chain_remembers() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let old = written(&client, "s", "delivery_day", "Monday").await;
    house.wait(1);
    let path = at("s", &format!("/facts/{old}/supersede"));
    let got = client.post(&path, json!({"value": "Tuesday", "reason": "the customer asked"})).await.expect(201);
    let new = got.text("/fact/uid");
    assert_eq!(got.body["effects"]["superseded"], json!([old]));
    assert_eq!(got.body["fact"]["superseded"], json!([old]));
    let listed = client.get(&at("s", "/facts")).await.expect(200);
    let uids: Vec<&Value> = listed.body["facts"].as_array().unwrap().iter().map(|fact| &fact["uid"]).collect();
    assert_eq!(uids, [&json!(new)]);
    let was = client.get(&at("s", &format!("/facts/{old}"))).await.expect(200).body;
    assert_eq!((&was["is_valid"], &was["superseded_by"]), (&json!(false), &json!(new)));
    assert_eq!((&was["cause"], was["history"][0]["what"].as_str()), (&json!("pointer"), Some("superseded")));
    for uid in [&old, &new] {
        let chain = client.get(&at("s", &format!("/facts/{uid}/chain"))).await.expect(200).body;
        let uids: Vec<&Value> = chain["facts"].as_array().unwrap().iter().map(|fact| &fact["uid"]).collect();
        assert_eq!((uids, &chain["more"]), (vec![&json!(old), &json!(new)], &json!(false)));
    }
    let twice = client.post(&path, json!({"value": "Friday"})).await.problem(409, "already_superseded");
    assert_eq!(twice.text("/superseded_by"), new);
    house.wait(1);
    let back =
        client.post(&at("s", &format!("/facts/{old}/restore")), json!({"reason": "a mistake"})).await.expect(200);
    assert_eq!(back.body["fact"]["is_valid"], true);
    assert_eq!(client.get(&at("s", "/current/delivery_day")).await.text("/uid"), old);
    client
        .post(&at("s", &format!("/facts/{old}/restore")), json!({"reason": "x"}))
        .await
        .problem(409, "nothing_to_restore");
}

#[tokio::test]
async fn what_stands_follows_from_the_times_that_are_stated_and_not_from_their_arrival() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let day = |day: u32| format!("2025-03-{day:02}T10:00:00Z");
    let facts: Vec<Value> = [(1, "one"), (2, "two"), (3, "three")]
        .map(|(number, value)| json!({"id": value, "key": "step", "value": value, "effective_at": day(number)}))
        .to_vec();
    for (space, order) in [("s-1", [0, 1, 2]), ("s-2", [2, 1, 0]), ("s-3", [1, 2, 0])] {
        for index in order {
            write(&client, space, facts[index].clone()).await;
        }
        let current = client.get(&at(space, "/current/step")).await.expect(200).body;
        assert_eq!(current["value"], "three", "{space}");
        let mut standing: Vec<(String, bool)> = Vec::new();
        for fact in all(&client, space).await.as_array().unwrap() {
            standing.push((fact["id"].as_str().unwrap().to_owned(), fact["is_valid"].as_bool().unwrap()));
        }
        standing.sort();
        assert_eq!(
            standing,
            [("one", false), ("three", true), ("two", false)].map(|(id, valid)| (id.to_owned(), valid))
        );
    }
}

#[tokio::test]
async fn what_was_derived_needs_review_when_its_base_falls() {
    let house = House::new().await;
    let client = house.handler("a").await;
    write(&client, "s", json!({"id": "B", "key": "price", "value": "100 reais"})).await;
    let derived =
        json!({"id": "D", "key": "quote", "value": "the order comes to 300", "depends_on": ["B", {"fact": "later"}]});
    let derived = write(&client, "s", derived).await;
    assert_eq!(derived.body["effects"]["unresolved"], json!(["later"]));
    let uid = derived.text("/fact/uid");
    let base = client.get(&at("s", "/current/price")).await.expect(200).body;
    assert_eq!(base["derived_facts"], json!([uid]));
    house.wait(1);
    let got = write(&client, "s", json!({"key": "price", "value": "120 reais", "supersedes": "B"})).await;
    assert_eq!(got.body["effects"]["needs_review"], json!([uid]));
    let read = client.get(&at("s", &format!("/facts/{uid}"))).await.body;
    assert_eq!((&read["needs_review"], &read["invalid_bases"]), (&json!(true), &json!([base["uid"]])));
}

#[tokio::test]
async fn many_facts_are_written_at_once_and_listed_in_pages() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let facts: Vec<Value> = (0..7).map(|n| json!({"key": format!("k{n}"), "value": n})).collect();
    let got = client.post(&at("s", "/facts/batch"), json!({"facts": facts})).await.expect(201);
    let keys: Vec<&str> = got.body["facts"].as_array().unwrap().iter().map(|f| f["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["k0", "k1", "k2", "k3", "k4", "k5", "k6"]);
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&at("s", &format!("/facts?limit=3{cursor}"))).await.expect(200).body;
        seen.extend(page["facts"].as_array().unwrap().iter().map(|fact| fact["key"].as_str().unwrap().to_owned()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    seen.sort();
    assert_eq!(seen, keys);
    let one = client.get(&at("s", "/facts?key=k3")).await.expect(200).body;
    assert_eq!(one["facts"].as_array().unwrap().len(), 1);
    client.get(&at("s", "/facts?cursor=AAAA")).await.problem(400, "bad_cursor");
    let batch = async |facts: Value| client.post_unchecked(&at("s", "/facts/batch"), &json!({ "facts": facts })).await;
    let many = |count: usize| json!(vec![json!({"key": "k", "value": 1}); count]);
    for count in [0, 151] {
        let got = batch(many(count)).await.problem(422, "invalid_value");
        assert_eq!(got.text("/errors/0/pointer"), "/facts");
        assert!(got.body.to_string().contains("must hold 1 to 150 facts: write more in parts"), "{:#}", got.body);
    }
    batch(many(150)).await.expect(201);
    // Together they change too much, each of them alone does not.
    for some in [0..100, 100..200, 200..300] {
        let upon: Vec<Value> = some.map(|n| json!({"key": format!("d{n}"), "value": n, "depends_on": ["k"]})).collect();
        batch(json!(upon)).await.expect(201);
    }
    let both = json!([{"key": "k", "value": 2}, {"key": "other", "value": 2}]);
    let got = batch(both).await.problem(422, "write_too_large");
    assert_eq!(got.body["limit"], 300);
    assert!(got.text("/detail").contains("at most 300 at once; write it in parts"), "{:#}", got.body);
    batch(json!([{"key": "k", "value": 2}])).await.expect(201);
}

#[tokio::test]
async fn found_a_fact_that_was_unmade_is_gone_from_the_database_too() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let dated = json!({"key": "report_deadline", "value": "Friday", "effective_at": "2025-06-01T09:00:00Z"});
    write(&client, "s", dated).await;
    let said = json!({"fact_space": "s", "text": "Actually, the report deadline is Thursday, not Friday."});
    let heard = client.post("/v1/observations", said).await.expect(200);
    assert_eq!(heard.body["effects"]["created"].as_array().unwrap().len(), 1);
    // It turns out that the deadline had been dropped before.
    let mut dropped = json!({"key": "outcome", "value": "no report at all", "supersedes": "report_deadline"});
    dropped["effective_at"] = json!("2025-06-02T09:00:00Z");
    write(&client, "s", dropped).await;
    let facts = all(&client, "s").await;
    let values: Vec<&str> = facts.as_array().unwrap().iter().map(|fact| fact["value"].as_str().unwrap()).collect();
    assert!(values.len() == 2 && !values.contains(&"Thursday"), "{values:?}");
    assert_eq!(client.get(&at("s", "/current/report_deadline")).await.expect(200).text("/value"), "no report at all");
}

#[tokio::test]
async fn found_a_fact_that_bears_on_another_key_is_found_by_that_key() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let dated = |key: &str, value: &str, day: u32| json!({"key": key, "value": value, "effective_at": format!("2025-06-{day:02}T09:00:00Z")});
    write(&client, "s", dated("report_deadline", "Friday", 1)).await;
    let said = json!({"fact_space": "s", "text": "Actually, the report deadline is Thursday, not Friday."});
    client.post("/v1/observations", said).await.expect(200);
    // It turns out that there was a newer fact of another key that the utterance was about.
    let mut later = dated("final_report_deadline", "Friday", 2);
    later["supersedes"] = json!("report_deadline");
    write(&client, "s", later).await;
    let facts = all(&client, "s").await;
    for fact in facts.as_array().unwrap() {
        let key = fact["key"].as_str().unwrap();
        let found = client.get(&at("s", &format!("/facts?include_invalid=true&key={key}"))).await.expect(200).body;
        let found = found["facts"].as_array().unwrap();
        assert!(found.iter().any(|found| found["uid"] == fact["uid"]), "{key}: {facts:#}");
    }
}
