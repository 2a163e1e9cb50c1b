//! Every read is in the log, with what was read: each reading route of the document is walked, and its entry is found. A
//! route without a row fails.

use std::collections::BTreeSet;

use cscp::domain::id::PrincipalId;
use cscp::domain::operation::CredentialKind::{Admin, Agent, Auditor, Handler};
use cscp::domain::scope::Scope;
use cscp::domain::speaking::{SpeaksFor, Voice};
use serde_json::{Value, json};

use crate::bundles::sequence;
use crate::client::{Client, document};
use crate::house::House;
use crate::spaces::{at, written};
use crate::tenants::{Ids, furnish};

/// A reading route: its method and path, the word of its entry, its body, and whose id the entry names.
type Row = (&'static str, &'static str, fn(&Ids) -> Value, &'static str);

const NOTHING: fn(&Ids) -> Value = |_| Value::Null;
const ALL: fn(&Ids) -> Value = |_| json!({});

const READS: &[Row] = &[
    ("POST /v1/contexts/query", "contexts.query", ALL, "context_id"),
    ("GET /v1/contexts/{context_id}", "contexts.get", NOTHING, "context_id"),
    ("GET /v1/confirmations/{confirmation_id}", "confirmations.get", NOTHING, "confirmation_id"),
    ("GET /v1/approvals/{approval_id}", "approvals.get", NOTHING, "approval_id"),
    ("GET /v1/disambiguations/{disambiguation_id}", "disambiguations.get", NOTHING, "disambiguation_id"),
    ("POST /v1/approvals/query", "approvals.query", ALL, "approval_id"),
    ("POST /v1/commands/query", "commands.query", ALL, ""),
    ("GET /v1/commands/{command_id}", "commands.get", NOTHING, "command_id"),
    ("POST /v1/principals/query", "principals.query", |_| json!({"role": "approver"}), "principal_id"),
    ("POST /v1/ooc/query", "ooc.list_pending", |_| json!({"query": "list pending"}), ""),
    ("GET /v1/ooc/commands/{command_id}/explanation", "ooc.explanation", NOTHING, "command_id"),
    ("POST /v1/evidence/query", "evidence.query", |_| json!({"fact_space": "furnished"}), "fact_space"),
    ("GET /v1/evidence/artifacts/{artifact_id}", "evidence.artifact", NOTHING, "artifact_id"),
    ("GET /v1/evidence/artifacts/{artifact_id}/proof", "evidence.proof", NOTHING, "artifact_id"),
    ("GET /v1/evidence/frames/{context_frame_id}", "evidence.frame", NOTHING, "context_frame_id"),
    ("POST /v1/evidence/export", "evidence.export", |_| json!({"fact_space": "furnished"}), "fact_space"),
    ("GET /v1/evidence/export", "evidence.export", NOTHING, ""),
    (
        "POST /v1/privacy/erasures",
        "privacy.survey",
        |_| json!({"subject": {"actor_id": "boss"}, "dry_run": true}),
        "principal_id",
    ),
    ("GET /v1/privacy/erasures/{erasure_id}", "privacy.erasure", NOTHING, "erasure_id"),
    ("POST /v1/privacy/exports", "privacy.export", |_| json!({"subject": {"actor_id": "boss"}}), "principal_id"),
    ("GET /v1/privacy/holds", "privacy.holds", NOTHING, "hold_id"),
    ("GET /v1/fact-spaces/{fact_space}", "fact_spaces.get", NOTHING, "fact_space"),
    ("GET /v1/fact-spaces/{fact_space}/facts", "facts.list", NOTHING, "fact_uid"),
    ("GET /v1/fact-spaces/{fact_space}/facts/{fact_uid}", "facts.get", NOTHING, "fact_uid"),
    ("GET /v1/fact-spaces/{fact_space}/facts/{fact_uid}/chain", "facts.chain", NOTHING, "fact_uid"),
    ("GET /v1/fact-spaces/{fact_space}/current/{key}", "facts.current", NOTHING, "fact_uid"),
    ("GET /v1/fact-spaces/{fact_space}/environment", "environment.list", NOTHING, "fact_space"),
    ("GET /v1/fact-spaces/{fact_space}/working-set", "working_set.list", NOTHING, "fact_space"),
    (
        "POST /v1/context-packs",
        "context_packs.make",
        |_| json!({"fact_space": "furnished", "query": "q", "token_budget": 100}),
        "fact_space",
    ),
    ("POST /v1/memories/query", "memories.list", |_| json!({"user_id": "boss"}), "principal_id"),
    ("GET /v1/context-packs/{context_pack_id}", "context_packs.get", NOTHING, "context_pack_id"),
];

/// Reading routes that show nothing of anybody, with the reason.
const OF_NOBODY: &[(&str, &str)] = &[
    ("GET /v1/policies", "rules"),
    ("GET /v1/policies/{pack_id}", "rules"),
    ("POST /v1/policies/{pack_id}/reading", "rules"),
    ("GET /v1/evidence/checkpoint", "hashes"),
    ("GET /v1/evidence/consistency", "hashes"),
    ("GET /openapi.yaml", "the document"),
    ("GET /schemas/evidence-artifact.json", "the document"),
    ("GET /schemas/evidence-bundle.json", "the document"),
    ("GET /log/{tenant}/checkpoint", "hashes"),
    ("GET /log/{tenant}/tile/{path}", "hashes"),
    ("GET /healthz", "the server"),
    ("GET /readyz", "the server"),
    ("GET /.well-known/wfs.json", "the server"),
];

fn path(template: &str, ids: &Ids) -> String {
    let filled = ids.iter().fold(template.to_owned(), |path, (name, (id, _))| path.replace(&format!("{{{name}}}"), id));
    filled.replace("{key}", "colour")
}

async fn ask(client: &Client, row: &Row, ids: &Ids) -> u16 {
    let (method, template) = row.0.split_once(' ').unwrap();
    let asked = client.ask(method, &path(template, ids)).fresh_key();
    let body = (row.2)(ids);
    let asked = if body.is_null() { asked } else { asked.valid(&body) };
    asked.send().await.status
}

/// The reads that were recorded from an instant on, those of whoever asks for them left out.
async fn recorded(auditor: &Client, from: &str) -> Vec<Value> {
    let page = auditor.post("/v1/evidence/query", json!({"type": "access.read", "from": from})).await.expect(200);
    page.body["items"].as_array().unwrap().iter().map(|item| item["data"]["read"].clone()).collect()
}

#[tokio::test]
async fn every_reading_route_leaves_an_entry_that_names_what_was_read() {
    let house = House::new().await;
    let handler = house.handler("s").await;
    let ids = furnish(&house, &handler).await;
    sequence(&house).await;
    let admin = house.client("s", Admin, None, None).await;
    let scopes: &[Scope] = &[Scope::EvidenceRead, Scope::OocRaw];
    let auditor = house.client("s", Auditor, Some(scopes), None).await;
    for row in READS {
        house.wait(1);
        let from = house.now();
        assert_eq!(ask(&admin, row, &ids).await, 200, "{}", row.0);
        let found = recorded(&auditor, &from).await;
        let read = found.first().unwrap_or_else(|| panic!("{} is not in the log", row.0));
        assert_eq!((&read["operation"], &read["refused"]), (&json!(row.1), &json!(false)), "{}: {read}", row.0);
        if let Some((id, _)) = ids.get(row.3) {
            assert!(read.to_string().contains(id.as_str()), "{}: {id} is not named in {read}", row.0);
        }
        assert!(!read.to_string().contains("blue"), "{}: a value in {read}", row.0);
    }
}

/// A look at what is not there says what somebody looked for.
#[tokio::test]
async fn what_was_asked_for_is_named_also_where_nothing_is_found() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let known = written(&handler, "known", "colour", "blue").await;
    let shut = json!({"partition": {"memory": "organization", "organization": "acme"}, "access": {"allow": []}});
    handler.put(&at("shut", ""), shut).await.expect(201);
    let admin = house.client("a", Admin, None, None).await;
    let auditor = house.client("a", Auditor, Some(&[Scope::EvidenceRead, Scope::OocRaw]), None).await;
    let (none, uid) = ("0".repeat(32), format!("fct_{}", "0".repeat(32)));
    let gets = [
        (format!("/v1/contexts/ctx_{none}"), "contexts.get", format!("ctx_{none}")),
        (format!("/v1/confirmations/cnf_{none}"), "confirmations.get", format!("cnf_{none}")),
        ("/v1/commands/nowhere".to_owned(), "commands.get", "nowhere".to_owned()),
        (at("nowhere", ""), "fact_spaces.get", "nowhere".to_owned()),
        (at("nowhere", "/facts"), "facts.list", "nowhere".to_owned()),
        (at("nowhere", "/environment"), "environment.list", "nowhere".to_owned()),
        (at("nowhere", "/working-set"), "working_set.list", "nowhere".to_owned()),
        (at("known", &format!("/facts/{uid}")), "facts.get", uid.clone()),
        (at("known", &format!("/facts/{uid}/chain")), "facts.chain", uid),
        (at("known", "/current/nothing"), "facts.current", "nothing".to_owned()),
        (format!("/v1/context-packs/pck_{none}"), "context_packs.get", format!("pck_{none}")),
    ];
    for (path, operation, id) in gets {
        house.wait(1);
        let from = house.now();
        admin.get(&path).await.expect(404);
        let found = recorded(&auditor, &from).await;
        let read = found.first().unwrap_or_else(|| panic!("{path} is not in the log"));
        assert_eq!((&read["operation"], &read["records"]), (&json!(operation), &json!(0)), "{path}: {read}");
        assert!(read.to_string().contains(&id), "{path}: {id} is not named in {read}");
    }
    let small = json!({"fact_space": "known", "query": "q", "token_budget": 1, "include": [known]});
    let queries = [
        ("/v1/contexts/query", json!({"actor_id": "nobody"}), "nobody"),
        ("/v1/principals/query", json!({"principal_id": "nobody"}), "nobody"),
        ("/v1/principals/query", json!({"person_id": "nobody"}), "nobody"),
        ("/v1/context-packs", small, "known"),
        (
            "/v1/context-packs",
            json!({"fact_space": "known", "query": "q", "token_budget": 99, "wider": ["far"]}),
            "far",
        ),
        (
            "/v1/context-packs",
            json!({"fact_space": "known", "query": "q", "token_budget": 99, "include": ["away"]}),
            "away",
        ),
        ("/v1/evidence/query", json!({"fact_uid": format!("fct_{none}")}), "fct_0"),
        ("/v1/evidence/query", json!({"correlation_id": "order-77"}), "order-77"),
    ];
    for (path, body, id) in queries {
        house.wait(1);
        let from = house.now();
        admin.ask("POST", path).fresh_key().json(&body).send().await;
        let found = recorded(&auditor, &from).await;
        let read = found.first().unwrap_or_else(|| panic!("{path} {body} is not in the log"));
        assert!(read.to_string().contains(id), "{path}: {id} is not named in {read}");
    }
}

#[test]
fn every_reading_route_has_a_row() {
    let mut missing = BTreeSet::new();
    for (path, methods) in document()["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let operation = format!("{} {path}", method.to_uppercase());
            let reads = method == "get" || (method == "post" && path.ends_with("/query"));
            let told = READS.iter().any(|row| row.0 == operation) || OF_NOBODY.iter().any(|(of, _)| *of == operation);
            if reads && !told {
                missing.insert(operation);
            }
        }
    }
    assert!(missing.is_empty(), "say in `reads_recorded` what is read there: {missing:#?}");
}

#[tokio::test]
async fn programs_that_serve_the_conversation_leave_no_entry_and_of_many_records_there_is_a_digest() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    for n in 0..25 {
        written(&handler, "s", &format!("key-{n}"), "v").await;
    }
    let auditor = house.client("a", Auditor, Some(&[Scope::EvidenceRead, Scope::OocRaw]), None).await;
    house.wait(1);
    let from = house.now();
    for kind in [Handler, Agent] {
        let program = house.client("a", kind, None, None).await;
        program.get(&at("s", "/facts")).await.expect(200);
    }
    assert_eq!(recorded(&auditor, &from).await, [json!(null); 0]);
    house.wait(1);
    let (from, admin) = (house.now(), house.client("a", Admin, None, None).await);
    admin.get(&at("s", "/facts")).await.expect(200);
    let read = recorded(&auditor, &from).await.swap_remove(0);
    assert_eq!((read["records"].as_u64(), read["ids"].as_array().map(Vec::len)), (Some(25), Some(20)), "{read}");
    assert!(read["ids_digest"].as_str().unwrap().starts_with("hmac-sha256:"), "{read}");
}

#[tokio::test]
async fn who_asked_is_recorded_where_nothing_was_shown() {
    let house = House::new().await;
    let handler = house.handler("a").await;
    let owned = json!({"partition": {"memory": "user", "owner_id": "ana"}});
    handler.put(&at("anas", ""), owned).await.expect(201);
    written(&handler, "anas", "colour", "blue").await;
    let scopes: &[Scope] = &[Scope::EvidenceRead, Scope::OocRaw];
    let auditor = house.client("a", Auditor, Some(scopes), None).await;
    // An administrator who speaks for bob alone.
    let voice = Voice::Principal(PrincipalId::new("bob").unwrap());
    let bob = house.speaking(Admin, None, SpeaksFor { voice, ..SpeaksFor::default() }).await;
    let cases = [
        ("/v1/memories/query", json!({"user_id": "ana"}), "memories.list", json!("ana")),
        (
            "/v1/context-packs",
            json!({"fact_space": "anas", "query": "q", "token_budget": 100, "viewer": {"user_id": "ana"}}),
            "context_packs.make",
            json!("ana"),
        ),
    ];
    for (path, body, operation, viewer) in cases {
        house.wait(1);
        let from = house.now();
        bob.post(path, body).await.problem(403, "viewer_not_allowed");
        let reads = recorded(&auditor, &from).await;
        let read = reads.iter().find(|read| read["operation"] == operation);
        let read = read.unwrap_or_else(|| panic!("{operation} is not recorded: {reads:?}"));
        assert_eq!((&read["viewer_id"], &read["records"]), (&viewer, &json!(0)), "{read:#}");
    }
}
