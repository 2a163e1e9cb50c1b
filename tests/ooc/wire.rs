//! The same over HTTP: shapes, problems, and that nothing about a refused look is lost on the way.

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use cscp::domain::operation::CredentialKind;
use cscp::domain::scope::Scope;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::house::{CONVERSATION, House, TARGET};

async fn send(router: &Router, key: &str, method: &str, path: &str, body: Option<Value>) -> (StatusCode, Value) {
    let mut request = Request::builder().method(method).uri(path).header("authorization", format!("Bearer {key}"));
    if body.is_some() {
        request = request.header("content-type", "application/json");
    }
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    let response = router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
    let status = response.status();
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 22).await.unwrap();
    let answer = serde_json::from_slice(&bytes).unwrap_or_default();
    hold_against_the_document(method, path, status, &answer);
    (status, answer)
}

const PATHS: [&str; 5] = [
    "/v1/ooc/query",
    "/v1/ooc/commands/{command_id}/explanation",
    "/v1/evidence/query",
    "/v1/evidence/artifacts/{artifact_id}",
    "/v1/evidence/frames/{context_frame_id}",
];

/// Every answer is one that `openapi.yaml` describes.
fn hold_against_the_document(method: &str, path: &str, status: StatusCode, answer: &Value) {
    let document: Value = serde_saphyr::from_str(include_str!("../../openapi.yaml")).unwrap();
    let fits = |template: &&&str| {
        let (template, path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
        template.len() == path.len() && template.iter().zip(path).all(|(t, p)| t.starts_with('{') || *t == p)
    };
    let template = PATHS.iter().find(fits).unwrap();
    let described = &document["paths"][template][method.to_lowercase()]["responses"][status.as_str()];
    assert!(described.is_object(), "{status} at {template} is not described");
    if status == StatusCode::OK {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "components": document["components"],
            "$ref": described["content"]["application/json"]["schema"]["$ref"],
        });
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> = validator.iter_errors(answer).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{template}: {errors:?}");
    }
}

async fn ask(router: &Router, key: &str, path: &str, body: Value) -> (StatusCode, Value) {
    send(router, key, "POST", path, Some(body)).await
}

async fn house() -> (House, cscp::service::Caller) {
    let house = House::new().await;
    let tenant = house.tenant("acme", "operational").await;
    let handler = house.caller(&tenant, CredentialKind::Handler);
    house.done(&handler, CONVERSATION, "cmd-1").await;
    (house, handler)
}

#[tokio::test]
async fn queries_and_explanations_answer_over_the_wire() {
    let (house, handler) = house().await;
    let (router, key) = house.wire(&house.caller(&handler.tenant, CredentialKind::Operator)).await;
    let query = json!({"query": "show_active_context", "conversation_id": CONVERSATION, "locale": "es"});
    let (status, answer) = ask(&router, &key, "/v1/ooc/query", query).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["query"], "show active context");
    assert_eq!(answer["context"]["last_command"]["outcome"], "succeeded");
    assert_eq!(answer["other_contexts"], 0);
    assert!(answer["text"].as_str().unwrap().starts_with("*Contexto activo*"));

    let explain = json!({"query": "explain command", "command_id": "cmd-1"});
    let (status, answer) = ask(&router, &key, "/v1/ooc/query", explain).await;
    assert_eq!((status, &answer["explanation"]["fate"]), (StatusCode::OK, &json!("bound")));
    assert_eq!(answer["text"], answer["explanation"]["text"]);
    let (status, direct) = send(&router, &key, "GET", "/v1/ooc/commands/cmd-1/explanation", None).await;
    assert_eq!(status, StatusCode::OK, "{direct}");
    assert_eq!(direct["steps"], answer["explanation"]["steps"]);
    let (status, problem) = send(&router, &key, "GET", "/v1/ooc/commands/cmd-9/explanation", None).await;
    assert_eq!((status, &problem["code"]), (StatusCode::NOT_FOUND, &json!("command_not_found")));
}

#[tokio::test]
async fn what_cannot_be_asked_is_told_how_to_be_asked() {
    let (house, handler) = house().await;
    let (router, key) = house.wire(&house.caller(&handler.tenant, CredentialKind::Operator)).await;
    let cases = [
        (json!({"query": "show me"}), "unknown_query"),
        (json!({"query": "explain command"}), "missing_field"),
        (json!({"query": "list pending", "colour": 1}), "unknown_field"),
        (json!({"query": "list pending", "locale": ""}), "invalid_value"),
    ];
    for (body, code) in cases {
        let (status, problem) = ask(&router, &key, "/v1/ooc/query", body).await;
        assert_eq!((status, &problem["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!(code)), "{problem}");
    }
    let stranger = json!({"query": "list pending", "viewer_actor_id": "stranger"});
    let (status, problem) = ask(&router, &key, "/v1/ooc/query", stranger).await;
    assert_eq!((status, &problem["code"]), (StatusCode::FORBIDDEN, &json!("detail_not_allowed")));
}

#[tokio::test]
async fn evidence_pages_artifacts_and_frames_answer_over_the_wire() {
    let (house, handler) = house().await;
    let (router, key) = house.wire(&house.caller(&handler.tenant, CredentialKind::Auditor)).await;
    let (mut items, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let query = json!({"command_id": "cmd-1", "limit": 3, "cursor": cursor});
        let (status, page) = ask(&router, &key, "/v1/evidence/query", query).await;
        assert_eq!(status, StatusCode::OK, "{page}");
        assert_eq!(page["redaction"]["level"], "redacted");
        items.extend(page["items"].as_array().unwrap().clone());
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let bound = items.iter().find(|item| item["type"] == "command.bound").unwrap();
    let path = format!("/v1/evidence/artifacts/{}", bound["artifact_id"].as_str().unwrap());
    let (status, answer) = send(&router, &key, "GET", &path, None).await;
    assert_eq!((status, &answer["artifact"]), (StatusCode::OK, bound));
    let frame_id = bound["extensions"]["context_ref"]["context_frame_id"].as_str().unwrap();
    let (status, frame) = send(&router, &key, "GET", &format!("/v1/evidence/frames/{frame_id}"), None).await;
    assert_eq!((status, &frame["redacted"]), (StatusCode::OK, &json!(true)));
    assert!(frame.get("salt").is_none() && !frame.to_string().contains(TARGET));
    for path in ["/v1/evidence/artifacts/nonsense", "/v1/evidence/frames/frm_00000000000000000000000000000000"] {
        let (status, problem) = send(&router, &key, "GET", path, None).await;
        assert_eq!((status, &problem["code"]), (StatusCode::NOT_FOUND, &json!("not_found")));
    }
    let (status, problem) = ask(&router, &key, "/v1/evidence/query", json!({"cursor": "AAAA"})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("bad_cursor")));
}

#[tokio::test]
async fn every_query_answers_as_described_at_every_level() {
    let (house, handler) = house().await;
    let context_id = house.talk(&handler, "chat-2").await;
    house.ask(&handler, &context_id, "cmd-2").await;
    for kind in [CredentialKind::Handler, CredentialKind::Operator, CredentialKind::Auditor, CredentialKind::Admin] {
        let (router, key) = house.wire(&house.caller(&handler.tenant, kind)).await;
        for query in ["show active context", "list pending", "list blocked", "show history", "explain command"] {
            for chat in [CONVERSATION, "chat-2", "chat-without-a-context"] {
                let body = json!({"query": query, "conversation_id": chat, "command_id": "cmd-2"});
                let (status, answer) = ask(&router, &key, "/v1/ooc/query", body).await;
                let may = kind != CredentialKind::Handler || !matches!(query, "show history" | "explain command");
                assert_eq!(status == StatusCode::OK, may, "{kind:?} {query}: {answer}");
                assert!(!answer.to_string().contains("CANARY"));
            }
        }
    }
}

#[tokio::test]
async fn a_key_without_the_scope_is_refused_and_that_is_evidence() {
    let (house, handler) = house().await;
    let mut without = house.caller(&handler.tenant, CredentialKind::Operator);
    without.scopes.remove(&Scope::OocRead);
    let (router, key) = house.wire(&without).await;
    let (status, problem) = ask(&router, &key, "/v1/ooc/query", json!({"query": "list pending"})).await;
    assert_eq!(
        (status, &problem["code"], &problem["scope"]),
        (StatusCode::FORBIDDEN, &json!("scope_denied"), &json!("ooc:read"))
    );
    let (status, _) = ask(&router, &key, "/v1/evidence/query", json!({})).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let reads = house.reads(&handler.tenant).await;
    let seen: Vec<_> = reads.iter().map(|read| (read["operation"].as_str().unwrap(), &read["refused"])).collect();
    assert_eq!(seen, [("ooc.list_pending", &json!(true)), ("evidence.query", &json!(true))]);
}
