//! Every way of reading, for those who look and do not serve: what callers wrote is covered on all of them.
//!
//! The list of ways is held against the document: one that is added later has to be tried here too.

use std::collections::BTreeSet;

use cscp::domain::operation::CredentialKind;
use cscp::domain::scope::Scope;
use serde_json::{Value, json};

use crate::bundles::sequence;
use crate::client::{Client, document};
use crate::house::{House, ask, fresh};
use crate::spaces::{at, write};

const CANARY: &str = "CANARY9d1e";
/// A number that stands in aliases: of it the last four digits may be seen.
const NUMBER: &str = "5511900001234";

fn canary(what: &str) -> String {
    format!("{CANARY}-{what}-and-more-words-than-a-mask-leaves")
}

/// Method, template, path and body of a read.
type Read = (&'static str, &'static str, String, Value);

/// Records with a canary in everything that a caller can write and policy covers; the reads that would show them.
async fn furnish(house: &House, client: &Client) -> Vec<Read> {
    let (context, bind) = house.confirmed(client, "conv").await;
    let path = format!("/v1/contexts/{context}");
    let set = async |slots: Value| {
        let etag = client.get(&path).await.header("etag").unwrap().to_owned();
        let change = client.ask("PATCH", &format!("{path}/slots")).header("if-match", &etag);
        change.valid(&slots).send().await.expect(200);
    };
    set(json!({"x_note": canary("note")})).await;
    let bound = client.post(&format!("{path}/commands"), bind).await.expect(201);
    let (command, frame) = (bound.text("/command_id"), bound.text("/context_ref/context_frame_id"));
    let report = json!({"status": "DONE", "outcome": "succeeded", "summary": "as policy shows it"});
    client.post(&format!("/v1/commands/{command}/results"), report).await.expect(201);
    // One that waits for its report.
    let (unreported, bind) = house.confirmed(client, "unreported").await;
    client.post(&format!("/v1/contexts/{unreported}/commands"), bind).await.expect(201);
    // Another target would have voided the confirmation.
    set(json!({"active_target": canary("target")})).await;
    let open = house.opened(client, "open").await;
    let confirmation = house.asked(client, &open, ask(&fresh("cmd"))).await.text("/confirmation_id");
    let choosing = house.opened(client, "choosing").await;
    let choice = json!({
        "options": [{"title": "um", "target": canary("one")}, {"title": "outro", "target": canary("two")}],
        "prompt": {"text": "Qual?"},
    });
    let choice = client.post(&format!("/v1/contexts/{choosing}/disambiguations"), choice).await.expect(201);
    let choice = choice.text("/disambiguation_id");
    let aliases = json!([{"kind": "phone", "value": NUMBER}]);
    client.put("/v1/principals/person", json!({"kind": "person", "aliases": aliases})).await.expect(201);
    let fact =
        json!({"key": "address", "value": canary("fact"), "source": {"type": "user", "identity": canary("who")}});
    let fact = write(client, "s", fact).await.text("/fact/uid");
    let memory = json!({"partition": {"memory": "user", "owner_id": "person"}});
    client.put(&at("memory", ""), memory).await.expect(201);
    let kept = json!({"key": "diet", "value": canary("memory"), "source": {"type": "user", "identity": "person"}});
    write(client, "memory", kept).await;
    client.put(&at("s", "/environment/weather"), json!({"value": canary("weather")})).await.expect(200);
    client.put(&at("s", "/working-set/draft"), json!({"content": canary("draft")})).await.expect(200);
    let pack = json!({"fact_space": "s", "query": "address", "token_budget": 500, "save_frame": true});
    let pack = client.post("/v1/context-packs", pack.clone()).await.expect(201).text("/pack_id");
    sequence(house).await;
    let artifacts = house.client("a", CredentialKind::Auditor, None, None).await;
    let artifacts = artifacts.post("/v1/evidence/query", json!({"type": "context.slots_changed"})).await.expect(200);
    let artifact = artifacts.text("/items/0/artifact_id");
    let get = |template: &'static str, path: String| ("GET", template, path, Value::Null);
    let post = |template: &'static str, body: Value| ("POST", template, template.to_owned(), body);
    vec![
        post("/v1/contexts/query", json!({})),
        get("/v1/contexts/{context_id}", path),
        get("/v1/confirmations/{confirmation_id}", format!("/v1/confirmations/{confirmation}")),
        get("/v1/disambiguations/{disambiguation_id}", format!("/v1/disambiguations/{choice}")),
        get("/v1/commands/{command_id}", format!("/v1/commands/{command}")),
        post("/v1/commands/query", json!({})),
        post("/v1/principals/query", json!({"principal_id": "person"})),
        post("/v1/memories/query", json!({"user_id": "person"})),
        post("/v1/ooc/query", json!({"query": "show active context", "conversation_id": "conv"})),
        get("/v1/ooc/commands/{command_id}/explanation", format!("/v1/ooc/commands/{command}/explanation")),
        post("/v1/evidence/query", json!({})),
        get("/v1/evidence/artifacts/{artifact_id}", format!("/v1/evidence/artifacts/{artifact}")),
        get("/v1/evidence/artifacts/{artifact_id}/proof", format!("/v1/evidence/artifacts/{artifact}/proof")),
        get("/v1/evidence/checkpoint", "/v1/evidence/checkpoint".to_owned()),
        get("/v1/evidence/consistency", "/v1/evidence/consistency?from=1".to_owned()),
        get("/v1/evidence/export", "/v1/evidence/export".to_owned()),
        post("/v1/evidence/export", json!({"conversation_id": "conv"})),
        get("/v1/evidence/frames/{context_frame_id}", format!("/v1/evidence/frames/{frame}")),
        get("/v1/fact-spaces/{fact_space}", at("s", "")),
        get("/v1/fact-spaces/{fact_space}/facts", at("s", "/facts")),
        get("/v1/fact-spaces/{fact_space}/facts/{fact_uid}", at("s", &format!("/facts/{fact}"))),
        get("/v1/fact-spaces/{fact_space}/facts/{fact_uid}/chain", at("s", &format!("/facts/{fact}/chain"))),
        get("/v1/fact-spaces/{fact_space}/current/{key}", at("s", "/current/address")),
        get("/v1/fact-spaces/{fact_space}/environment", at("s", "/environment")),
        get("/v1/fact-spaces/{fact_space}/working-set", at("s", "/working-set")),
        (
            "POST",
            "/v1/context-packs",
            "/v1/context-packs".to_owned(),
            json!({"fact_space": "s", "query": "address", "token_budget": 500}),
        ),
        get("/v1/context-packs/{context_pack_id}", format!("/v1/context-packs/{pack}")),
    ]
}

/// An approval, of a tenant whose pack asks for one.
async fn approval(house: &House, client: &Client) -> Vec<Read> {
    let paying = house.opened(client, "paying").await;
    let mut pay = ask(&fresh("cmd"));
    pay["command"]["name"] = json!("payment.send");
    pay["target"] = json!({"amount": "1", "payee": canary("payee")});
    let asked = client.post(&format!("/v1/contexts/{paying}/approvals"), pay).await.expect(201);
    let path = format!("/v1/approvals/{}", asked.text("/approval_id"));
    vec![
        ("GET", "/v1/approvals/{approval_id}", path, Value::Null),
        ("POST", "/v1/approvals/query", "/v1/approvals/query".to_owned(), json!({})),
    ]
}

/// Reads that show nothing of what people write: the rules themselves.
const OF_RULES: [&str; 2] = ["/v1/policies", "/v1/policies/{pack_id}"];
/// Reads that exist so that people get what is about them, by a scope of their own.
const OF_SUBJECTS: &str = "/v1/privacy/";

/// Every way of reading that the document has.
fn ways() -> BTreeSet<(String, String)> {
    let paths = document()["paths"].as_object().unwrap().iter();
    let mut found = BTreeSet::new();
    for (path, operations) in paths {
        for (method, operation) in operations.as_object().unwrap() {
            let open = operation["security"].as_array().is_some_and(Vec::is_empty);
            let reads = method == "get" || path.ends_with("/query") || path.ends_with("/export");
            let packs = path == "/v1/context-packs";
            let rules = OF_RULES.contains(&path.as_str()) || path.starts_with(OF_SUBJECTS);
            if !open && !rules && (reads || packs) {
                found.insert((method.to_uppercase(), path.clone()));
            }
        }
    }
    found
}

#[tokio::test]
async fn no_way_of_reading_shows_what_policy_covers() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let reads = [("a", furnish(&house, &handler).await), ("s", approval(&house, &house.handler("s").await).await)];
    let tried: BTreeSet<(String, String)> = reads
        .iter()
        .flat_map(|(_, reads)| reads)
        .map(|(method, template, ..)| ((*method).to_owned(), (*template).to_owned()))
        .collect();
    assert_eq!(tried, ways(), "a way of reading that is not tried");
    let scopes = [Scope::ContextRead, Scope::OocRead, Scope::EvidenceRead, Scope::FactRead];
    let raw = [scopes.as_slice(), &[Scope::OocRaw]].concat();
    let kinds = [CredentialKind::Operator, CredentialKind::Auditor];
    for (kind, (tenant, reads)) in kinds.iter().flat_map(|kind| reads.iter().map(move |reads| (*kind, reads))) {
        let covered = house.client(tenant, kind, Some(&scopes), None).await;
        let clear = house.client(tenant, kind, Some(&raw), None).await;
        let mut seen = 0;
        for (method, template, path, body) in reads {
            let read = async |client: &Client| {
                let ask = client.ask(method, path);
                let ask = if body.is_null() { ask } else { ask.valid(body) };
                let got = ask.send().await;
                // Some explanations, and people's memories, are not for everybody who may look.
                let refused = ["detail_not_allowed", "viewer_not_allowed"].contains(&got.code());
                assert!(got.status == 200 || refused, "{method} {template}: {:#}", got.body);
                got.body.to_string()
            };
            let shown = read(&covered).await;
            assert!(!shown.contains(CANARY), "{kind:?} {method} {template}: {shown}");
            assert!(!shown.contains(NUMBER), "{kind:?} {method} {template}: {shown}");
            seen += usize::from(read(&clear).await.contains(CANARY));
        }
        assert!(seen * 3 > reads.len() || *tenant == "s", "who may see it raw sees it: {seen} of {}", reads.len());
    }
}
