//! Ways around the gate that were found from outside: changes to what the changer may not see, roles that somebody gives
//! themselves, grants of one space in another, and deletions of what is held.

use cscp::domain::id::PrincipalId;
use cscp::domain::operation::CredentialKind::{Admin, Agent, Handler, Operator};
use cscp::domain::scope::Scope;
use cscp::domain::speaking::{SpeaksFor, Voice};
use serde_json::{Value, json};

use crate::client::Client;
use crate::house::House;
use crate::spaces::{at, written};

const SECRET: &str = "Rua das Flores 12 apto 31";

fn speaks_for(id: &str) -> SpeaksFor {
    SpeaksFor { voice: Voice::Principal(PrincipalId::new(id).unwrap()), capability: None }
}

/// A memory of ana's with a fact, a replaced one, a signal and a working item of a task.
async fn memory(handler: &Client) -> String {
    let owned = json!({"partition": {"memory": "user", "owner_id": "ana"}});
    handler.put(&at("ana", ""), owned).await.expect(201);
    let uid = written(handler, "ana", "address", SECRET).await;
    handler.put(&at("ana", "/environment/weather"), json!({"value": "rain"})).await.expect(200);
    handler.put(&at("ana", "/working-set/draft"), json!({"content": "a letter", "task_id": "t1"})).await.expect(200);
    uid
}

async fn stands(ana: &Client) -> Vec<Value> {
    let mut found = Vec::new();
    for path in ["", "/facts?include_invalid=true", "/environment", "/working-set"] {
        found.push(ana.get(&at("ana", path)).await.expect(200).body);
    }
    found
}

/// Whoever sees nothing of a space changes nothing in it, and learns nothing by trying: neither that a guess is what stands
/// there, nor that something was replaced.
#[tokio::test]
async fn who_sees_nothing_of_a_space_changes_nothing_in_it() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let uid = memory(&handler).await;
    let ana = house.speaking(Agent, None, speaks_for("ana")).await;
    let before = stands(&ana).await;
    let guess = json!({"key": "guess", "value": format!("we deliver to {SECRET} today"), "source": {"type": "user"}});
    let said = json!({"fact_space": "ana", "text": format!("na verdade não é {SECRET}, é Rua do Sol 85")});
    let (facts, fact) = (at("ana", "/facts"), at("ana", &format!("/facts/{uid}")));
    let changes = [
        ("POST", facts.clone(), guess.clone()),
        ("POST", at("ana", "/facts/batch"), json!({"facts": [guess]})),
        ("POST", format!("{fact}/supersede"), json!({"value": "Rua Falsa 2"})),
        ("POST", format!("{fact}/restore"), json!({"reason": "x"})),
        ("DELETE", fact.clone(), Value::Null),
        ("PUT", at("ana", "/environment/weather"), json!({"value": "sun"})),
        ("DELETE", at("ana", "/environment/weather"), Value::Null),
        ("PUT", at("ana", "/working-set/draft"), json!({"content": "another"})),
        ("DELETE", at("ana", "/working-set/draft"), Value::Null),
        ("POST", at("ana", "/tasks/t1/close"), json!({})),
        ("POST", "/v1/observations".to_owned(), said),
        ("PUT", at("ana", ""), json!({"partition": {"memory": "user", "owner_id": "bob"}})),
        ("DELETE", at("ana", ""), Value::Null),
    ];
    for (kind, whom) in [(Agent, speaks_for("bob")), (Agent, SpeaksFor::default()), (Handler, speaks_for("bob"))] {
        let other = house.speaking(kind, None, whom).await;
        for (method, path, body) in &changes {
            let asked = other.ask(method, path).fresh_key();
            let asked = if body.is_null() { asked } else { asked.json(body) };
            let got = asked.send().await.expect(403);
            assert!(!got.body.to_string().contains(uid.as_str()), "{kind:?} {method} {path}: {:#}", got.body);
        }
    }
    assert_eq!(stands(&ana).await, before);
}

#[tokio::test]
async fn who_speaks_for_one_person_gives_nobody_a_role() {
    let house = House::new().await;
    let keeper = house.handler("a").await;
    let listed =
        json!({"partition": {"memory": "organization", "organization": "acme"}, "access": {"allow": ["managers"]}});
    keeper.put(&at("list", ""), listed).await.expect(201);
    written(&keeper, "list", "plan", SECRET).await;
    keeper.put("/v1/principals/bob", json!({"kind": "person", "roles": ["employee"]})).await.expect(201);
    let bobs = house.speaking(Handler, None, speaks_for("bob")).await;
    let roles = json!({"kind": "person", "roles": ["employee", "managers"]});
    for name in ["bob", "managers"] {
        bobs.ask("PUT", &format!("/v1/principals/{name}"))
            .header("if-match", "\"r1\"")
            .json(&roles)
            .send()
            .await
            .expect(403);
    }
    bobs.get(&at("list", "/facts")).await.problem(403, "not_permitted");
}

/// What an identity grants holds in its own space: a pack shows of a wider one what that one's own routes show.
#[tokio::test]
async fn grants_of_one_space_open_no_other() {
    let house = House::new().await;
    let keeper = house.handler("a").await;
    let identity = json!({"user_id": "bob", "department": "finance", "permissions": ["executive"]});
    keeper.put(&at("own", "/identity"), identity).await.expect(201);
    written(&keeper, "own", "colour", "bob likes green").await;
    let listed = json!({"partition": {"memory": "organization", "organization": "acme"}, "access": {"allow": ["finance", "executive"]}});
    keeper.put(&at("list", ""), listed).await.expect(201);
    written(&keeper, "list", "plan", SECRET).await;
    let restricted = json!({"key": "plan", "value": format!("secret {SECRET}"), "restricted_to": ["finance"], "source": {"type": "user"}});
    keeper.post(&at("open", "/facts"), restricted).await.expect(201);
    let bob = house.speaking(Agent, None, speaks_for("bob")).await;
    for wider in ["list", "open"] {
        let pack = json!({"fact_space": "own", "query": "which plan?", "token_budget": 900, "wider": [wider]});
        let got = bob.post("/v1/context-packs", pack).await.expect(200);
        assert!(!got.body.to_string().contains(SECRET), "{wider}: {:#}", got.body);
        assert!(got.body.to_string().contains("green"), "{wider}: {:#}", got.body);
    }
}

/// A hold keeps a memory from being deleted by any route, and no longer than it stands.
#[tokio::test]
async fn what_is_held_is_deleted_by_nobody() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let uid = memory(&handler).await;
    handler.put("/v1/principals/ana", json!({"kind": "person"})).await.expect(201);
    let admin = house.client("a", Admin, Some(&Scope::ALL), None).await;
    let hold = admin.post("/v1/privacy/holds", json!({"actor_id": "ana", "reason": "case 7"})).await.expect(201);
    let ana = house.speaking(Agent, None, speaks_for("ana")).await;
    for who in [&ana, &handler] {
        for path in [at("ana", &format!("/facts/{uid}")), at("ana", "")] {
            who.ask("DELETE", &path).send().await.problem(409, "legal_hold");
        }
    }
    let lifted = format!("/v1/privacy/holds/{}", hold.text("/hold_id"));
    admin.ask("DELETE", &lifted).fresh_key().send().await.expect(200);
    ana.ask("DELETE", &at("ana", "")).send().await.expect(200);
}

/// A space that somebody may see nothing of looks the same whatever is in it, and opens for nobody who is outside of it: an
/// operator who sees no values is outside as well.
#[tokio::test]
async fn a_closed_space_is_opened_and_counted_by_nobody_outside() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let closed = json!({"partition": {"memory": "organization", "organization": "acme"}, "access": {"allow": []}});
    for space in ["empty", "full"] {
        handler.put(&at(space, ""), closed.clone()).await.expect(201);
    }
    let uid = written(&handler, "full", "address", SECRET).await;
    handler.put(&at("ana", ""), json!({"partition": {"memory": "user", "owner_id": "ana"}})).await.expect(201);
    let seen = &[Scope::FactRead, Scope::FactWrite, Scope::OocRaw][..];
    let operators = [
        house.client("a", Operator, None, None).await,
        house.client("a", Operator, Some(seen), None).await,
        house.speaking(Handler, None, speaks_for("zed")).await,
        house.speaking(Admin, None, SpeaksFor::default()).await,
        house.speaking(Admin, None, speaks_for("zed")).await,
    ];
    for (n, other) in operators.iter().enumerate() {
        for (path, body) in [
            (at("full", ""), json!({"access": {"allow": ["zed"]}})),
            (at("full", "/identity"), json!({"user_id": "zed", "permissions": ["zed"]})),
            (at("ana", ""), json!({"wider": ["full"]})),
            (at("full", "/environment/weather"), json!({"value": "sun"})),
            (at("full", "/working-set/step"), json!({"content": "x"})),
        ] {
            let got = other.put(&path, body).await;
            assert_eq!(
                (got.status, got.text("/code")),
                (403, "not_permitted".to_owned()),
                "{n} {path}: {:#}",
                got.body
            );
        }
    }
    let zed = house.speaking(Handler, None, speaks_for("zed")).await;
    let mut answers = Vec::new();
    for space in ["empty", "full"] {
        for wider in [json!([]), json!(["own"])] {
            handler.put(&at("own", ""), json!({})).await;
            let (own, wider) = if wider == json!([]) { (space, wider) } else { ("own", json!([space])) };
            let asked = json!({"fact_space": own, "wider": wider, "query": "q", "token_budget": 400, "viewer": {"user_id": "zed"}});
            let got = zed.post("/v1/context-packs", asked).await.expect(200);
            assert!(!got.body.to_string().contains(&uid), "{:#}", got.body);
            answers.push((got.body["omitted"].to_string().replace(space, ""), got.text("/context")));
        }
    }
    assert_eq!(answers[..2], answers[2..], "a full space looks like an empty one");
}

/// A fact that is withheld from somebody is not there for them: not to be deleted, put back or replaced by its id.
#[tokio::test]
async fn who_does_not_see_a_fact_does_not_change_it() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    handler
        .put(&at("s", ""), json!({"partition": {"memory": "organization", "organization": "acme"}}))
        .await
        .expect(201);
    let hidden = json!({"key": "salary", "value": SECRET, "restricted_to": ["bob"]});
    let uid = handler.post(&at("s", "/facts"), hidden).await.expect(201).text("/fact/uid");
    let fact = at("s", &format!("/facts/{uid}"));
    for kind in [Handler, Agent] {
        for whom in [speaks_for("zed"), SpeaksFor::default()] {
            let other = house.speaking(kind, None, whom).await;
            let new = json!({"key": "pay", "value": "less", "supersedes": uid});
            let changes = [
                ("POST", format!("{fact}/supersede"), json!({"value": "less"})),
                ("POST", at("s", "/facts"), new.clone()),
                ("POST", at("s", "/facts/batch"), json!({"facts": [new]})),
                ("POST", format!("{fact}/restore"), json!({"reason": "x"})),
                ("DELETE", fact.clone(), Value::Null),
            ];
            for (method, path, body) in changes {
                let asked = other.ask(method, &path).fresh_key();
                let asked = if body.is_null() { asked } else { asked.json(&body) };
                let got = asked.send().await;
                let refused = got.status == 404 || kind == Agent && got.text("/code") == "not_for_agents";
                assert!(refused, "{method} {path}: {:#}", got.body);
            }
        }
    }
    let bob = house.speaking(Agent, None, speaks_for("bob")).await;
    assert_eq!(bob.get(&fact).await.expect(200).text("/value"), SECRET);
}
