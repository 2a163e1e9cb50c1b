//! Fact spaces: described, read, erased; who is served; what comes in the path. And what the other files of spaces share.

use serde_json::{Value, json};

use crate::client::{Client, Got};
use crate::house::{House, fresh};

/// The path of something in a space.
pub(crate) fn at(space: &str, rest: &str) -> String {
    format!("/v1/fact-spaces/{space}{rest}")
}

/// Writes a fact.
pub(crate) async fn write(client: &Client, space: &str, fact: Value) -> Got {
    client.post(&at(space, "/facts"), fact).await.expect(201)
}

/// Writes a fact and says its uid.
pub(crate) async fn written(client: &Client, space: &str, key: &str, value: &str) -> String {
    write(client, space, json!({"key": key, "value": value})).await.text("/fact/uid")
}

/// All facts of a space, those that no longer stand too.
pub(crate) async fn all(client: &Client, space: &str) -> Value {
    client.get(&at(space, "/facts?include_invalid=true&limit=200")).await.expect(200).body["facts"].clone()
}

/// What a pack for a question holds.
pub(crate) async fn pack(client: &Client, space: &str, more: Value) -> Got {
    let mut body = json!({"fact_space": space, "query": "what is agreed?", "token_budget": 2000});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.post("/v1/context-packs", body).await
}

/// The text of a pack for a viewer.
pub(crate) async fn shown_to(client: &Client, space: &str, user: &str) -> String {
    pack(client, space, json!({"viewer": {"user_id": user}})).await.expect(200).text("/context")
}

#[tokio::test]
async fn a_space_is_described_read_changed_and_erased() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let body = json!({"partition": {"memory": "user", "owner_id": "ana"}, "wider": ["house-rules"]});
    let made = client.put(&at("s-1", ""), body.clone()).await.expect(201);
    assert_eq!(made.body["partition"], json!({"memory": "user", "owner_id": "ana"}));
    assert_eq!((&made.body["access"], &made.body["wider"]), (&json!({"kind": "open"}), &json!(["house-rules"])));
    let read = client.get(&at("s-1", "")).await.expect(200);
    assert_eq!((read.body.clone(), read.header("etag")), (made.body.clone(), made.header("etag")));
    let listed = json!({"access": {"allow": ["sales"], "callback": null}});
    let put = |etag: &str| client.ask("PUT", "/v1/fact-spaces/s-1").header("if-match", etag).valid(&listed).send();
    put("\"r77\"").await.problem(412, "space_revision_mismatch");
    let changed = put(made.header("etag").unwrap()).await.expect(200);
    assert_eq!(changed.body["access"], json!({"kind": "list", "allow": ["sales"]}));
    assert_eq!(changed.body["wider"], json!([]), "a description is replaced as a whole");
    assert_eq!(changed.body["partition"], made.body["partition"], "but for whose it is");
    let other = json!({"partition": {"memory": "organization", "organization": "acme"}});
    client.put(&at("s-1", ""), other).await.problem(409, "partition_fixed");
    client.ask("PUT", "/v1/fact-spaces/s-1b").send().await.expect(201);
    written(&client, "s-1", "colour", "blue").await;
    let erased = client.ask("DELETE", "/v1/fact-spaces/s-1").send().await.expect(200);
    assert_eq!(erased.body, json!({"erased": true}));
    client.get(&at("s-1", "")).await.problem(404, "space_not_found");
    client.get(&at("s-1", "/facts")).await.problem(404, "space_not_found");
    client.ask("DELETE", "/v1/fact-spaces/s-1").send().await.problem(404, "space_not_found");
}

#[tokio::test]
async fn partitions_and_access_say_what_is_missing_and_what_does_not_belong() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let cases = [
        (json!({"partition": {"memory": "team"}}), "invalid_value", "/partition/memory"),
        (json!({"partition": ["user"]}), "wrong_type", "/partition"),
        (
            json!({"partition": {"memory": "capability", "organization": "acme"}}),
            "missing_field",
            "/partition/capability",
        ),
        (json!({"partition": {"memory": "organization"}}), "missing_field", "/partition/organization"),
        (json!({"partition": {"memory": "user", "capability": "x"}}), "invalid_value", "/partition/capability"),
        (json!({"access": {}}), "invalid_value", "/access"),
        (json!({"access": {"allow": ["a"], "callback": "b"}}), "invalid_value", "/access"),
        (json!({"access": {"allow": ["a", ""]}}), "invalid_value", "/access/allow/1"),
        (json!({"access": {"allow": vec!["a"; 33]}}), "invalid_value", "/access/allow"),
        (json!({"wider": ["no spaces"]}), "invalid_value", "/wider/0"),
        (json!({"wider": vec!["w"; 33]}), "invalid_value", "/wider"),
        (json!({"colour": 1}), "unknown_field", "/colour"),
    ];
    for (body, code, pointer) in cases {
        let got = client.ask("PUT", "/v1/fact-spaces/s-1").json(&body).send().await.problem(422, code);
        assert_eq!(got.text("/errors/0/pointer"), pointer, "{body}");
    }
    client.put("/v1/fact-spaces/s-1", json!({"wider": ["s-1"]})).await.problem(422, "entry_invalid");
    client.get("/v1/fact-spaces/s-1").await.problem(404, "space_not_found");
}

#[tokio::test]
async fn names_in_paths_are_names_and_nobodys_number() {
    let house = House::new().await;
    let client = house.handler("a").await;
    for space in ["5511999990000", "a%20b", "a%2Fb", &"s".repeat(129)] {
        let got = client.get(&at(space, "")).await.problem(422, "invalid_value");
        assert_eq!(got.text("/errors/0/pointer"), "/fact_space");
        client.ask("PUT", &at(space, "/identity")).json(&json!({"user_id": "u"})).send().await.expect(422);
    }
    written(&client, "s", "colour", "blue").await;
    client.get(&at("s", "/current/%07")).await.problem(422, "invalid_value");
    client.get(&at("s", "/current/nothing")).await.problem(404, "fact_not_found");
    client.get(&at("s", "/facts/no-uid")).await.problem(404, "fact_not_found");
    client.get(&at("s", "/facts?colour=1")).await.problem(400, "unknown_parameter");
    client.get(&at("s", "/facts?limit=0")).await.problem(422, "invalid_value");
    let long = "k".repeat(257);
    client.ask("PUT", &at("s", &format!("/environment/{long}"))).json(&json!({"value": 1})).send().await.expect(422);
}

#[tokio::test]
async fn who_is_served_is_set_when_a_session_begins() {
    let house = House::new().await;
    let client = house.handler("a").await;
    let ana = json!({
        "user_id": "ana", "user_name": "Ana", "authority": "manager", "department": null, "organization": null,
        "communication_style": null,
    });
    let set = client.put(&at("s", "/identity"), ana.clone()).await.expect(201);
    assert_eq!(set.body["identity"], json!({"user_id": "ana", "user_name": "Ana", "authority": "manager"}));
    let bea = json!({"user_id": "bea"});
    client.put(&at("s", "/identity"), bea.clone()).await.expect(200);
    client.put(&at("s", "/identity"), ana.clone()).await.expect(200);
    written(&client, "s", "colour", "blue").await;
    client.put(&at("s", "/identity"), bea).await.problem(409, "identity_fixed");
    client.put(&at("s", "/identity"), ana).await.expect(200);
    for (body, pointer) in [
        (json!({"user_name": "x"}), "/user_id"),
        (json!({"user_id": ""}), "/user_id"),
        (json!({"user_id": "u", "permissions": ["p", "\u{7}"]}), "/permissions/1"),
        (json!({"user_id": "u", "department": "d".repeat(257)}), "/department"),
        (json!({"user_id": "u", "role": "d"}), "/role"),
    ] {
        let got = client.ask("PUT", &at("s", "/identity")).json(&body).send().await.expect(422);
        assert_eq!(got.text("/errors/0/pointer"), pointer);
    }
}

#[tokio::test]
async fn another_tenants_space_does_not_exist() {
    let house = House::new().await;
    let (owner, other) = (house.handler("a").await, house.handler("b").await);
    let space = fresh("space");
    let uid = written(&owner, &space, "colour", "blue").await;
    other.get(&at(&space, "")).await.problem(404, "space_not_found");
    other.get(&at(&space, "/facts")).await.problem(404, "space_not_found");
    pack(&other, &space, json!({})).await.problem(404, "space_not_found");
    // Their own space of the same name holds nothing of it.
    written(&other, &space, "size", "small").await;
    other.get(&at(&space, &format!("/facts/{uid}"))).await.problem(404, "fact_not_found");
    other.get(&at(&space, "/current/colour")).await.problem(404, "fact_not_found");
    assert!(!pack(&other, &space, json!({})).await.expect(200).body.to_string().contains("blue"));
    let depends = json!({"key": "derived", "value": 1, "depends_on": [uid], "require_targets": true});
    other.post_unchecked(&at(&space, "/facts"), &depends).await.problem(422, "pointer_to_nothing");
    other.ask("DELETE", &at(&space, "")).send().await.expect(200);
    assert_eq!(all(&owner, &space).await.as_array().unwrap().len(), 1);
}
