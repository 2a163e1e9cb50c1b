//! Context packs over HTTP: within the budget, as of a moment, kept and cited.

use serde_json::{Value, json};

use crate::house::{House, bind, fresh};
use crate::spaces::{at, pack, write, written};

#[tokio::test]
async fn a_pack_holds_what_stands_and_nothing_that_is_dead() {
    let house = House::new().await;
    let client = house.handler("a").await;
    client
        .put(&at("s", "/identity"), json!({"user_id": "ana", "user_name": "Ana", "authority": "employee"}))
        .await
        .expect(201);
    let old = written(&client, "s", "delivery_day", "delivery on Monday").await;
    house.wait(1);
    client.post(&at("s", &format!("/facts/{old}/supersede")), json!({"value": "delivery on Friday"})).await.expect(201);
    client.put(&at("s", "/working-set/item-0"), json!({"content": "change the delivery"})).await.expect(200);
    house.wait(1);
    let turns = json!([{"speaker": "user", "text": "please deliver in the morning", "observed_at": house.now()}]);
    let body = json!({
        "query": "When is the delivery?", "as_of": house.now(), "viewer": {"user_id": "ana", "authority": "employee"},
        "recent_turns": turns, "token_budget": 500,
    });
    let got = pack(&client, "s", body.clone()).await.expect(200);
    let context = got.text("/context");
    assert!(context.contains("Friday") && !context.contains("Monday"), "{context}");
    assert!(context.contains("Ana") && context.contains("morning"), "{context}");
    let summary = &got.body["token_summary"];
    assert!(summary["used"].as_u64().unwrap() <= 500 && summary["budget"] == 500, "{summary}");
    let segments: String = got.body["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["text"].as_str().unwrap())
        .collect::<Vec<_>>()
        .join("");
    assert!(!segments.is_empty());
    assert_eq!(pack(&client, "s", body.clone()).await.body, got.body, "the same state and request give the same pack");
    let mut flagged = body.clone();
    flagged["include_superseded"] = json!(true);
    assert!(pack(&client, "s", flagged).await.expect(200).text("/context").contains("Monday"));
    let mut counted = body;
    counted["estimator"] = json!("o200k_base");
    assert_ne!(pack(&client, "s", counted).await.expect(200).body["estimator_id"], got.body["estimator_id"]);
}

#[tokio::test]
async fn a_budget_that_is_too_small_says_which_would_do_and_that_one_does() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let limit = "The total budget must never exceed 9000 reais under any circumstances";
    let body = json!({"key": "limit", "value": limit, "is_constraint": true, "constraint_type": "budget"});
    write(&client, "s", body).await;
    let refused = pack(&client, "s", json!({"token_budget": 1})).await.problem(422, "budget_too_small");
    let required = refused.body["required"].as_u64().unwrap();
    pack(&client, "s", json!({"token_budget": required - 1})).await.problem(422, "budget_too_small");
    let got = pack(&client, "s", json!({"token_budget": required})).await.expect(200);
    assert!(got.text("/context").contains("9000"));
    assert!(got.body["token_summary"]["used"].as_u64().unwrap() <= required);
}

#[tokio::test]
async fn facts_are_included_and_excluded_by_name() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for (key, value) in [("colour", "the colour is ultramarine"), ("size", "the size is forty-two")] {
        written(&client, "s", key, value).await;
        house.wait(1);
    }
    let without =
        pack(&client, "s", json!({"query": "which size and colour?", "exclude": ["colour"]})).await.expect(200);
    let context = without.text("/context");
    assert!(!context.contains("ultramarine") && context.contains("forty-two"), "{context}");
    assert!(without.body["omitted"].to_string().contains("excluded"));
    let with = pack(&client, "s", json!({"query": "bicycle", "include": ["colour"]})).await.expect(200);
    assert!(with.text("/context").contains("ultramarine"));
    let nothing = pack(&client, "s", json!({"include": ["colour", "CANARY7f3a"]})).await.problem(422, "cannot_include");
    assert_eq!(nothing.text("/errors/0/pointer"), "/include/1");
    assert!(!nothing.body.to_string().contains("CANARY"));
    let both = json!({"include": ["size"], "exclude": ["colour", "size"]});
    let both = pack(&client, "s", both).await.problem(422, "cannot_exclude");
    assert_eq!(both.text("/errors/0/pointer"), "/exclude/1");
}

#[tokio::test]
async fn a_pack_shows_the_state_of_its_moment_and_what_was_known_then() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let day =
        |value: &str, at: &str| json!({"key": "day", "value": format!("delivery on {value}"), "effective_at": at});
    write(&client, "s", day("Monday", "2025-12-01T00:00:00Z")).await;
    let known = house.now();
    house.wait(60);
    write(&client, "s", day("Tuesday", "2025-12-10T00:00:00Z")).await;
    write(&client, "s", day("Friday", "2025-12-20T00:00:00Z")).await;
    let shown = async |more: Value| pack(&client, "s", more).await.expect(200).text("/context");
    let holds = |text: &str, day: &str| {
        for other in ["Monday", "Tuesday", "Friday"] {
            assert_eq!(text.contains(other), other == day, "{day}: {text}");
        }
    };
    holds(&shown(json!({})).await, "Friday");
    holds(&shown(json!({"as_of": "2025-12-15T00:00:00"})).await, "Tuesday");
    holds(&shown(json!({"as_of": "2025-12-05T00:00:00Z"})).await, "Monday");
    holds(&shown(json!({"known_at": known})).await, "Monday");
    assert!(!shown(json!({"as_of": "2025-11-01T00:00:00Z"})).await.contains("delivery"));
}

#[tokio::test]
async fn a_saved_pack_is_read_back_and_cited_by_a_command() {
    let house = House::new().await;
    let client = house.handler("a").await;
    written(&client, "s", "address", "Rua das Flores 12").await;
    let mut body = json!({"fact_space": "s", "query": "address?", "token_budget": 300, "save_frame": true});
    body["include"] = json!(["address"]);
    let save = || client.ask("POST", "/v1/context-packs").key("p").valid(&body).send();
    let saved = save().await.expect(201);
    let id = saved.text("/pack_id");
    assert_eq!(saved.header("location"), Some(format!("/v1/context-packs/{id}").as_str()));
    house.wait(1);
    written(&client, "s", "address", "Avenida Central 5").await;
    let again = save().await.expect(201);
    assert!(again.replayed());
    assert_eq!(again.body, saved.body, "the same request brings the same pack back");
    // Now the pack could not be made any more: what must be in it does not fit.
    house.wait(1);
    written(&client, "s", "address", &"Avenida Central 5, ".repeat(200)).await;
    client.ask("POST", "/v1/context-packs").key("q").valid(&body).send().await.problem(422, "budget_too_small");
    assert_eq!(save().await.expect(201).body, saved.body, "and it still does");
    let read = client.get(&format!("/v1/context-packs/{id}")).await.expect(200);
    assert_eq!(read.body, saved.body);
    client.get("/v1/context-packs/pck_018bcfe568007707870707070707070f").await.problem(404, "not_found");
    client.get("/v1/context-packs/anything").await.problem(404, "not_found");
    house.handler("b").await.get(&format!("/v1/context-packs/{id}")).await.problem(404, "not_found");
    let got = client.post("/v1/messages", house.message("conv", "onde?")).await.expect(200);
    let mut command = bind(&fresh("cmd"), &json!(fresh("wamid")));
    command["name"] = json!("order.status");
    command["message_ids"] = json!([]);
    command["context_pack_id"] = json!(id);
    let path = format!("/v1/contexts/{}/commands", got.text("/context/context_id"));
    let bound = client.ask("POST", &path).valid(&command).send().await.expect(201);
    assert_eq!(bound.body["context_pack"], json!({"pack_id": id, "pack_hash": saved.body["pack_hash"]}));
    command["context_pack_id"] = json!("pck_018bcfe568007707870707070707070f");
    let unknown = client.ask("POST", &path).valid(&command).send().await.problem(422, "invalid_value");
    assert_eq!(unknown.text("/errors/0/pointer"), "/context_pack_id");
}

#[tokio::test]
async fn scopes_open_hypotheticals_and_fetched_signals_take_the_place_of_kept_ones() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let idea = json!({"key": "idea", "value": "a discount of 30%", "scope": "hypothetical", "scope_id": "what-if"});
    write(&client, "s", idea).await;
    client.put(&at("s", "/environment/stock"), json!({"value": "stock is 7 pairs"})).await.expect(200);
    let asked = json!({"query": "which discount, and what is in stock?"});
    let plain = pack(&client, "s", asked.clone()).await.expect(200);
    assert!(!plain.text("/context").contains("30%") && plain.text("/context").contains("7 pairs"));
    let mut more = asked;
    more["scopes"] = json!(["what-if"]);
    more["environment"] = json!([{"key": "stock", "value": "stock is 5 pairs"}]);
    let text = pack(&client, "s", more).await.expect(200).text("/context");
    assert!(text.contains("30%") && text.contains("5 pairs") && !text.contains("7 pairs"), "{text}");
}

#[tokio::test]
async fn requests_for_packs_that_cannot_be() {
    let house = House::new().await;
    let client = house.handler("a").await;
    written(&client, "s", "k", "v").await;
    let body = |more: Value| {
        let mut body = json!({"fact_space": "s", "query": "q", "token_budget": 100});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    for (more, pointer) in [
        (json!({"token_budget": 0}), "/token_budget"),
        (json!({"token_budget": 1_000_001}), "/token_budget"),
        (json!({"facts_share": 1}), "/facts_share"),
        (json!({"query": "q".repeat(16_385)}), "/query"),
        (json!({"as_of": "now"}), "/as_of"),
        (json!({"viewer": {}}), "/viewer/user_id"),
        (json!({"viewer": {"user_id": "u", "role": "r"}}), "/viewer/role"),
        (json!({"wider": vec!["w"; 33]}), "/wider"),
        (json!({"include": vec!["i"; 101]}), "/include"),
        (json!({"recent_turns": [{"text": "ok"}, {}]}), "/recent_turns/1/text"),
        (json!({"recent_turns": vec![json!({"text": "t"}); 201]}), "/recent_turns"),
        (json!({"environment": [{"key": "k", "value": "v".repeat(20_000)}]}), "/environment/0/value"),
        (json!({"estimator": "guess"}), "/estimator"),
        (json!({"budget": 5}), "/budget"),
    ] {
        let got = client.post_unchecked("/v1/context-packs", &body(more)).await.expect(422);
        assert_eq!(got.text("/errors/0/pointer"), pointer);
    }
    pack(&client, "nowhere", json!({})).await.problem(404, "space_not_found");
}
