//! Environment, working set, tasks and observations over HTTP.

use serde_json::{Value, json};

use crate::house::House;
use crate::spaces::{all, at, pack, write, written};

#[tokio::test]
async fn a_signal_is_kept_while_it_is_fresh_and_an_older_one_is_kept_out() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let naive = json!({"value": "2026-01-01T00:00:00", "observed_at": "2026-01-01T00:00:00"});
    let set = client.put(&at("s", "/environment/now"), naive).await.expect(200);
    assert_eq!((set.body["accepted"].clone(), set.text("/assumed_time_zone")), (json!(true), "UTC".to_owned()));
    let rain = json!({"value": "heavy rain", "observed_at": house.now(), "fresh_seconds": 60});
    client.put(&at("s", "/environment/weather"), rain).await.expect(200);
    let older = json!({"value": "sunshine", "observed_at": "2025-12-31T23:00:00Z"});
    let kept = client.put(&at("s", "/environment/weather"), older).await.expect(200);
    assert_eq!((&kept.body["accepted"], &kept.body["value"]), (&json!(false), &json!("heavy rain")));
    let listed = client.get(&at("s", "/environment")).await.expect(200).body;
    assert_eq!(listed["signals"].as_array().unwrap().len(), 2);
    let weather = json!({"query": "how is the weather?"});
    assert!(pack(&client, "s", weather.clone()).await.expect(200).text("/context").contains("heavy rain"));
    house.wait(61);
    let late = pack(&client, "s", weather).await.expect(200);
    assert!(!late.text("/context").contains("heavy rain"));
    assert!(late.body["omitted"].as_array().unwrap().contains(&json!({"id": "signal:weather", "reason": "stale"})));
    client.ask("DELETE", &at("s", "/environment/weather")).send().await.expect(200);
    client.ask("DELETE", &at("s", "/environment/weather")).send().await.problem(404, "entry_not_found");
    client.ask("DELETE", &at("nowhere", "/environment/weather")).send().await.problem(404, "space_not_found");
    for (body, pointer) in [
        (json!({}), "/value"),
        (json!({"value": null}), "/value"),
        (json!({"value": 1, "fresh_seconds": 1, "stale_at": "2026-01-01T00:00:00Z"}), "/stale_at"),
        (json!({"value": 1, "fresh_seconds": -1}), "/fresh_seconds"),
        (json!({"value": "v".repeat(20_000)}), "/value"),
        (json!({"value": 1, "observed_at": "yesterday"}), "/observed_at"),
    ] {
        let got = client.ask("PUT", &at("s", "/environment/k")).json(&body).send().await.expect(422);
        assert_eq!(got.text("/errors/0/pointer"), pointer);
    }
    client.get(&at("nowhere", "/environment")).await.problem(404, "space_not_found");
}

#[tokio::test]
async fn a_working_set_lives_with_its_task() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let put =
        async |key: &str, body: Value| client.put(&at("s", &format!("/working-set/{key}")), body).await.expect(200);
    let first = put(
        "item-0",
        json!({"item_type": "objective", "content": "sell shoes", "priority": 0,
        "created_at": "2026-01-01T00:00:00"}),
    )
    .await;
    assert_eq!(first.text("/assumed_time_zone"), "UTC");
    assert_eq!(first.text("/item/expires_at"), "2026-01-02T00:00:00.000000Z", "policy says how long");
    put("price", json!({"content": "agreed: 90 reais", "task_id": "t", "promote_as": "agreed_price"})).await;
    put("size", json!({"content": "size 42", "task_id": "t"})).await;
    put("scratch", json!({"content": "ask again", "task_id": "t"})).await;
    write(&client, "s", json!({"key": "draft", "value": "maybe 80", "scope": "task", "scope_id": "t"})).await;
    let keys = async || -> Vec<String> {
        let items = client.get(&at("s", "/working-set")).await.expect(200).body["items"].clone();
        items.as_array().unwrap().iter().map(|item| item["key"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(keys().await, ["item-0", "price", "scratch", "size"]);
    house.wait(1);
    let closed = client.post(&at("s", "/tasks/t/close"), json!({"promote": ["size"]})).await.expect(200);
    assert_eq!(closed.body["promoted"], json!(["price", "size"]));
    assert_eq!(closed.body["dropped"], json!(["scratch"]));
    assert_eq!(keys().await, ["item-0"]);
    assert_eq!(client.get(&at("s", "/current/agreed_price")).await.expect(200).text("/value"), "agreed: 90 reais");
    client.get(&at("s", "/current/draft")).await.problem(404, "fact_not_found");
    client.ask("DELETE", &at("s", "/working-set/item-0")).send().await.expect(200);
    client.ask("DELETE", &at("s", "/working-set/item-0")).send().await.problem(404, "entry_not_found");
    put("short", json!({"content": "x", "expires_at": "2026-01-01T00:00:10Z"})).await;
    house.wait(10);
    assert!(keys().await.is_empty());
    client.post(&at("nowhere", "/tasks/t/close"), json!({})).await.problem(404, "space_not_found");
    let bad = json!({"promote": [""]});
    let got = client.post_unchecked(&at("s", "/tasks/t/close"), &bad).await.problem(422, "invalid_value");
    assert_eq!(got.text("/errors/0/pointer"), "/promote/0");
}

#[tokio::test]
async fn an_utterance_changes_what_it_speaks_of_and_is_not_kept() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let old = written(&client, "s", "meeting_day", "The meeting is on Monday").await;
    house.wait(1);
    let observe = async |text: &str| {
        client.post("/v1/observations", json!({"fact_space": "s", "speaker": "user", "text": text})).await.expect(200)
    };
    for text in ["good morning", "Is the meeting on Tuesday?", "What if we moved the meeting to Tuesday?"] {
        let got = observe(text).await;
        assert_eq!(got.body["effects"]["superseded"], json!([]), "{text}: {:#}", got.body);
    }
    let said = "Actually the meeting is on Tuesday now, dear QUOTED7f3a";
    let got = observe(said).await;
    let touched = [&got.body["effects"]["superseded"], &got.body["effects"]["contested"]];
    assert!(touched.contains(&&json!([old])), "{:#}", got.body);
    assert!(!got.body.to_string().contains("QUOTED7f3a"), "{:#}", got.body);
    assert!(!all(&client, "s").await.to_string().contains("QUOTED7f3a"));
    assert_eq!(client.get(&at("s", "/current/meeting_day")).await.expect(200).body["is_valid"], true);
    for (body, pointer) in [
        (json!({"fact_space": "s"}), "/text"),
        (json!({"text": "x"}), "/fact_space"),
        (json!({"fact_space": "5511999990000", "text": "x"}), "/fact_space"),
        (json!({"fact_space": "s", "text": "t".repeat(16_385)}), "/text"),
        (json!({"fact_space": "s", "text": "x", "speaker": ""}), "/speaker"),
        (json!({"fact_space": "s", "text": "x", "actor_id": "u"}), "/actor_id"),
    ] {
        let got = client.post_unchecked("/v1/observations", &body).await.expect(422);
        assert_eq!(got.text("/errors/0/pointer"), pointer);
    }
    let again = json!({"fact_space": "s", "text": "good night"});
    let first = client.ask("POST", "/v1/observations").key("o").valid(&again).send().await.expect(200);
    let second = client.ask("POST", "/v1/observations").key("o").valid(&again).send().await.expect(200);
    assert!(second.replayed());
    assert_eq!(second.essence(), first.essence());
}
