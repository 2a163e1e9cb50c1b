//! Who may read what: every route by which a fact can be seen, under every rule by which it is kept from somebody, with
//! keys that may see it and keys that may not. A route without a cell fails.

use std::collections::BTreeSet;

use axum::Router;
use axum::routing::post;
use cscp::domain::id::PrincipalId;
use cscp::domain::operation::CredentialKind::{self, Agent, Auditor, Handler, Operator};
use cscp::domain::scope::Scope;
use cscp::domain::speaking::{Capability, SpeaksFor, Voice};
use serde_json::{Value, json};

use crate::bundles::sequence;
use crate::client::{Client, document};
use crate::house::{House, fresh};
use crate::readers_cells::{CELLS, Cell, Furnished, MARK, NO_FACTS, RECORD, When};
use crate::spaces::{at, written};

/// By what something is kept from somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// A user's own memory: ana's.
    Private,
    /// The memory of a capability: sales of acme.
    Capability,
    /// A list of audiences: ana.
    List,
    /// A service that admits ana.
    Service,
    /// A service that is not there.
    Dead,
    /// Facts that are for ana, in a space that is open.
    Restricted,
}

const RULES: [Rule; 6] = [Rule::Private, Rule::Capability, Rule::List, Rule::Service, Rule::Dead, Rule::Restricted];

impl Rule {
    fn partition(self) -> Value {
        match self {
            Self::Private => json!({"memory": "user", "owner_id": "ana"}),
            Self::Capability => json!({"memory": "capability", "organization": "acme", "capability": "sales"}),
            Self::List | Self::Service | Self::Dead | Self::Restricted => {
                json!({"memory": "organization", "organization": "acme"})
            }
        }
    }

    fn access(self) -> Value {
        match self {
            Self::Private | Self::Capability | Self::Restricted => Value::Null,
            Self::List => json!({"allow": ["ana"]}),
            Self::Service => json!({"callback": "asks"}),
            Self::Dead => json!({"callback": "dead"}),
        }
    }
}

fn anyone() -> SpeaksFor {
    SpeaksFor { voice: Voice::Anyone, capability: None }
}

fn principal(id: &str) -> SpeaksFor {
    SpeaksFor { voice: Voice::Principal(PrincipalId::new(id).unwrap()), capability: None }
}

fn capability(capability: &str) -> SpeaksFor {
    let own = Capability { organization: "acme".to_owned(), capability: capability.to_owned() };
    SpeaksFor { voice: Voice::Nobody, capability: Some(own) }
}

type Key = (&'static str, CredentialKind, Option<&'static [Scope]>, SpeaksFor);
const RAW: Option<&[Scope]> = Some(&[Scope::FactRead, Scope::FactWrite, Scope::OocRaw]);

/// The keys that may see what a rule keeps.
fn may(rule: Rule) -> Vec<Key> {
    let agent = ("an agent for ana", Agent, None, principal("ana"));
    let handler = ("a handler for anyone", Handler, None, anyone());
    match rule {
        Rule::Private | Rule::List | Rule::Restricted => {
            vec![agent, handler, ("an operator for ana who sees values", Operator, RAW, principal("ana"))]
        }
        Rule::Capability => vec![("an agent of sales", Agent, None, capability("sales")), handler],
        Rule::Service => vec![agent],
        Rule::Dead => Vec::new(),
    }
}

/// The keys that may not.
fn may_not(rule: Rule) -> Vec<Key> {
    let mut keys = vec![
        ("an agent for nobody", Agent, None, SpeaksFor::default()),
        ("an agent for bea", Agent, None, principal("bea")),
        ("an agent of support", Agent, None, capability("support")),
        ("a handler for nobody", Handler, None, SpeaksFor::default()),
        ("a handler for bea", Handler, None, principal("bea")),
        ("an operator for anyone", Operator, None, anyone()),
        ("an operator for nobody who sees values", Operator, RAW, SpeaksFor::default()),
    ];
    let more = match rule {
        Rule::Private | Rule::List | Rule::Restricted => vec![("an agent of sales", Agent, None, capability("sales"))],
        Rule::Capability => vec![("an agent for ana", Agent, None, principal("ana"))],
        Rule::Service => Vec::new(),
        Rule::Dead => vec![
            ("an agent for ana", Agent, None, principal("ana")),
            ("a handler for anyone", Handler, None, anyone()),
            ("an agent for anyone", Agent, None, anyone()),
        ],
    };
    keys.extend(more);
    keys
}

/// A service that admits ana alone.
async fn service() -> String {
    let handler = |body: axum::Json<Value>| async move {
        let axum::Json(body) = body;
        let facts = body["facts"].as_array().unwrap();
        let all: Vec<&Value> = facts.iter().map(|fact| &fact["uid"]).collect();
        if body["viewer"]["user_id"] == "ana" {
            (axum::http::StatusCode::OK, axum::Json(json!({"allowed": all})))
        } else {
            (axum::http::StatusCode::FORBIDDEN, axum::Json(json!({})))
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/ask", post(handler));
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/ask")
}

/// A space under a rule, with the mark in everything that the rule keeps. The rule is put up last, so that the pack that
/// ana was shown is there under every one.
async fn furnished(house: &House, client: &Client, rule: Rule) -> Furnished {
    let space = fresh("space");
    client.put(&at(&space, ""), json!({"partition": rule.partition()})).await.expect(201);
    let mut fact = json!({"key": "vault", "value": format!("{MARK} one")});
    if rule == Rule::Capability {
        fact["abstraction"] = json!("event");
    }
    if rule == Rule::Restricted {
        fact["restricted_to"] = json!(["ana"]);
    } else {
        client.put(&at(&space, "/identity"), json!({"user_id": "ana", "user_name": MARK})).await.expect(200);
        client.put(&at(&space, "/environment/weather"), json!({"value": MARK})).await.expect(200);
        let item = json!({"content": MARK, "task_id": "t", "promote_as": "promoted"});
        client.put(&at(&space, "/working-set/step"), item).await.expect(200);
    }
    let old = client.post(&at(&space, "/facts"), fact).await.expect(201).text("/fact/uid");
    house.wait(1);
    let new = json!({"value": format!("{MARK} two"), "reason": MARK});
    let new = client.post(&at(&space, &format!("/facts/{old}/supersede")), new).await.expect(201).text("/fact/uid");
    house.wait(1);
    let pack = json!({
        "fact_space": space, "query": "where is the vault?", "token_budget": 2000, "save_frame": true,
        "viewer": {"user_id": "ana"},
    });
    let pack = client.post("/v1/context-packs", pack).await.expect(201);
    assert!(pack.text("/context").contains(MARK), "{:#}", pack.body);
    let pack = pack.text("/pack_id");
    client.put(&at(&space, ""), json!({"access": rule.access()})).await.expect(200);
    Furnished { space, old, new, pack }
}

/// Asks all of a cell, and says how often the mark came back.
async fn leaks(client: &Client, cell: &Cell, it: &Furnished) -> (usize, String) {
    let (method, _) = cell.operation.split_once(' ').unwrap();
    let mut found = (0, String::new());
    for (path, body) in (cell.ask)(it) {
        let asked = client.ask(method, &path).fresh_key();
        let asked = if let Some(body) = &body { asked.valid(body) } else { asked };
        let got = asked.send().await;
        let text = format!("{} {path}: {} {:#} {:?}", cell.operation, got.status, got.body, got.headers);
        // Of all memories of somebody this one.
        let about = !path.contains("memories") || text.contains(&format!("\"{}\"", it.space));
        found.0 += usize::from(about && text.contains(MARK));
        found.1.push_str(&text);
    }
    found
}

async fn house() -> House {
    let asks = service().await;
    let house = crate::spaces_access::house(&[("asks", &asks), ("dead", "http://127.0.0.1:9/ask")]).await;
    let client = house.handler("a").await;
    written(&client, "front", "door", "the door is green").await;
    house
}

#[tokio::test]
async fn what_is_kept_from_somebody_is_shown_to_them_by_no_route() {
    let house = house().await;
    let keeper = house.handler("a").await;
    let (mut cells, mut leaked) = (0, Vec::new());
    for rule in RULES {
        for (name, kind, scopes, speaks_for) in may_not(rule) {
            let may_describe = speaks_for.voice == Voice::Anyone;
            let client = house.speaking(kind, scopes, speaks_for).await;
            let it = furnished(&house, &keeper, rule).await;
            for when in [When::Read, When::Change, When::Read, When::Remove] {
                for cell in CELLS.iter().filter(|cell| cell.when == when) {
                    // Whoever speaks for anyone may put up another rule.
                    if may_describe && cell.operation == "PUT /v1/fact-spaces/{fact_space}" {
                        continue;
                    }
                    let (times, text) = leaks(&client, cell, &it).await;
                    cells += 1;
                    if times > 0 {
                        leaked.push(format!("{rule:?}, {name}: {text}"));
                    }
                }
                house.wait(1);
            }
        }
    }
    assert!(cells > 1_300, "{cells}");
    assert!(leaked.is_empty(), "{} of {cells}: {}", leaked.len(), leaked.join("\n"));
}

#[tokio::test]
async fn whoever_may_see_it_is_shown_it_by_every_route() {
    let house = house().await;
    let keeper = house.handler("a").await;
    for rule in RULES {
        for (name, kind, scopes, speaks_for) in may(rule) {
            let client = house.speaking(kind, scopes, speaks_for).await;
            let it = furnished(&house, &keeper, rule).await;
            for cell in CELLS.iter().filter(|cell| cell.when == When::Read && cell.shows) {
                // What is kept by the facts' own audiences is in facts and packs alone.
                let about_facts = cell.operation.contains("facts/")
                    || cell.operation.ends_with("/facts")
                    || cell.operation.contains("current")
                    || cell.operation.starts_with("GET /v1/context-packs");
                let (times, text) = leaks(&client, cell, &it).await;
                let named = cell.operation == "POST /v1/context-packs" && name.contains("anyone");
                // The kept pack was made for ana.
                let anothers = cell.operation.starts_with("GET /v1/context-packs") && name == "an agent of sales";
                let expected = (rule != Rule::Restricted || about_facts) && !named && !anothers;
                assert!(times > 0 || !expected, "{rule:?}, {name}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn the_record_of_a_space_is_shown_to_people_who_may_see_it_raw() {
    let house = house().await;
    let keeper = house.handler("a").await;
    let it = furnished(&house, &keeper, Rule::Private).await;
    sequence(&house).await;
    let read: &[Scope] = &[Scope::EvidenceRead];
    let raw: &[Scope] = &[Scope::EvidenceRead, Scope::OocRaw];
    for (kind, scopes, speaks_for, expected) in [
        (Auditor, raw, SpeaksFor::default(), true),
        (Handler, raw, anyone(), true),
        (Auditor, read, anyone(), false),
        (Handler, read, anyone(), false),
        (Handler, raw, SpeaksFor::default(), false),
        (Handler, raw, principal("ana"), false),
    ] {
        let client = house.speaking(kind, Some(scopes), speaks_for.clone()).await;
        let what = format!("{kind:?} {scopes:?} {speaks_for:?}");
        let page = client.post("/v1/evidence/query", json!({"fact_space": it.space, "limit": 200})).await.expect(200);
        assert_eq!(page.body.to_string().contains(MARK), expected, "{what}");
        let mut shown = false;
        for artifact in page.body["items"].as_array().unwrap() {
            let id = artifact["artifact_id"].as_str().unwrap();
            let one = client.get(&format!("/v1/evidence/artifacts/{id}")).await.expect(200);
            shown |= one.body.to_string().contains(MARK);
        }
        assert_eq!(shown, expected, "{what}");
        for asked in [json!({"fact_space": it.space}), json!({"fact_space": it.space, "payloads": "full"})] {
            let got = client.post("/v1/evidence/export", asked).await;
            assert_eq!(got.body.to_string().contains(MARK), expected, "{what}");
        }
        let whole = client.get("/v1/evidence/export").await.expect(200);
        assert_eq!(whole.body.to_string().contains(MARK), expected, "{what}");
    }
}

#[test]
fn every_route_has_a_cell() {
    let mut missing = BTreeSet::new();
    for (path, methods) in document()["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys().filter(|name| *name != "parameters") {
            let operation = format!("{} {path}", method.to_uppercase());
            let told = CELLS.iter().any(|cell| cell.operation == operation)
                || RECORD.contains(&operation.as_str())
                || NO_FACTS.iter().any(|(begins, _)| path.starts_with(begins));
            if !told {
                missing.insert(operation);
            }
        }
    }
    assert!(missing.is_empty(), "say in `readers_cells` who may see what there: {missing:#?}");
}

#[tokio::test]
async fn a_key_names_nobody_for_whom_it_does_not_speak() {
    let house = House::new().await;
    let keeper = house.handler("a").await;
    written(&keeper, "s", "door", "the door is green").await;
    let pack = |user: &str| json!({"fact_space": "s", "query": "which door?", "token_budget": 500, "viewer": {"user_id": user}});
    for (speaks_for, user, expected) in [
        (SpeaksFor::default(), "ana", 403),
        (principal("ana"), "ana", 200),
        (principal("ana"), "bea", 403),
        (capability("sales"), "ana", 403),
        (anyone(), "bea", 200),
    ] {
        let agent = house.speaking(Agent, None, speaks_for.clone()).await;
        let got = agent.post("/v1/context-packs", pack(user)).await;
        assert_eq!(got.status, expected, "{speaks_for:?} {user}: {:#}", got.body);
        if expected == 403 {
            got.problem(403, "viewer_not_allowed");
        }
    }
}
