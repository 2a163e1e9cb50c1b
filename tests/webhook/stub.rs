//! A stand-in for cscp that records what it is asked, in one log with what leaves the webhook on the other side, so
//! that a test can see what came first.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Json, Response};
use serde_json::{Value, json};

/// The key that the stub accepts.
pub(crate) const KEY: &str = "cscp_test_key";

/// One thing that happened: a request to cscp, a message sent, a command executed.
#[derive(Debug, Clone)]
pub(crate) struct Happened {
    /// `POST /v1/messages`, `send`, `execute`.
    pub(crate) what: String,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) body: Value,
}

/// How the stub behaves.
#[derive(Default)]
pub(crate) struct Script {
    /// Every request gets this status.
    pub(crate) down: Option<u16>,
    /// The batch route gets this status.
    pub(crate) batch_status: Option<u16>,
    /// By message id; everything else is `not_an_answer`.
    pub(crate) verdicts: HashMap<String, Value>,
    /// By message id: status and code of a problem.
    pub(crate) problems: HashMap<String, (u16, &'static str)>,
    /// By route (`confirmations`, `prompt-message`, `commands`, `takeovers`, `results`): the next answers, before the usual one.
    pub(crate) next: HashMap<&'static str, Vec<(u16, Value)>>,
    /// The commands whose execution is unknown.
    pub(crate) unreported: Vec<Value>,
    known: HashSet<String>,
}

/// A running stub.
#[derive(Clone)]
pub(crate) struct Stub {
    pub(crate) url: String,
    pub(crate) log: Arc<Mutex<Vec<Happened>>>,
    script: Arc<Mutex<Script>>,
}

impl Stub {
    /// Starts one on a free port.
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stub = Self { url, log: Arc::default(), script: Arc::default() };
        let router =
            Router::new().fallback(answer).layer(axum::extract::DefaultBodyLimit::disable()).with_state(stub.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        stub
    }

    /// Changes how it behaves.
    pub(crate) fn script(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.script.lock().unwrap());
    }

    /// What happened so far, by name.
    pub(crate) fn names(&self) -> Vec<String> {
        self.log.lock().unwrap().iter().map(|happened| happened.what.clone()).collect()
    }

    /// Everything of one name.
    pub(crate) fn all(&self, what: &str) -> Vec<Happened> {
        self.log.lock().unwrap().iter().filter(|happened| happened.what == what).cloned().collect()
    }

    /// The ids of the inbound messages that arrived, in order, repeats included.
    pub(crate) fn message_ids(&self) -> Vec<String> {
        let log = self.log.lock().unwrap();
        let bodies = log.iter().filter(|happened| happened.what.starts_with("POST /v1/messages"));
        bodies
            .flat_map(|happened| match &happened.body["messages"] {
                Value::Array(messages) => messages.clone(),
                _ => vec![happened.body.clone()],
            })
            .filter(|event| event["direction"] == "inbound")
            .map(|event| event["message_id"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Adds to the log.
    pub(crate) fn note(&self, what: &str, idempotency_key: Option<String>, body: Value) {
        self.log.lock().unwrap().push(Happened { what: what.to_owned(), idempotency_key, body });
    }
}

/// What binding and taking over answer, as far as the webhook reads it.
pub(crate) fn bound(execute: bool) -> Value {
    json!({ "execute": execute, "context_ref": { "context_id": "ctx_1", "context_hash": "h" } })
}

/// A command whose execution is unknown, as far as the webhook reads it.
pub(crate) fn unreported(command_id: &str, name: &str, attempt_id: &str) -> Value {
    json!({ "command_id": command_id, "command_name": name, "idempotency_key": command_id,
            "execution": { "state": "unknown", "attempt_id": attempt_id } })
}

/// A confirmed verdict for a command.
pub(crate) fn confirmed(command_id: &str) -> Value {
    json!({ "code": "confirmed", "reason": "nonce", "next": "bind_command", "confirmation": {
        "confirmation_id": "conf_1", "command_id": command_id, "idempotency_key": command_id,
        "target_fingerprint": "fp", "bind_by": "2026-09-21T14:15:00Z" } })
}

async fn answer(State(stub): State<Stub>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let body: Value = serde_json::from_slice(&body).unwrap();
    stub.note(&format!("{method} {}", uri.path()), header("idempotency-key"), body.clone());
    let mut script = stub.script.lock().unwrap();
    if let Some(status) = script.down {
        return problem(status, "unavailable");
    }
    if header("authorization") != Some(format!("Bearer {KEY}")) {
        return problem(401, "unauthenticated");
    }
    let path: Vec<&str> = uri.path().split('/').skip(1).collect();
    let route = *path.last().unwrap();
    if let Some((status, body)) = script.next.get_mut(route).filter(|next| !next.is_empty()).map(|next| next.remove(0))
    {
        return (StatusCode::from_u16(status).unwrap(), Json(body)).into_response();
    }
    match (method.as_str(), path.as_slice()) {
        ("POST", ["v1", "messages"]) => match script.meaning(&body) {
            Ok(answer) => Json(answer).into_response(),
            Err((status, code)) => problem(status, code),
        },
        ("POST", ["v1", "messages", "batch"]) => {
            if let Some(status) = script.batch_status {
                return problem(status, "whole_batch");
            }
            let results: Vec<Value> =
                body["messages"].as_array().unwrap().iter().map(|event| script.batch_result(event)).collect();
            Json(json!({ "results": results })).into_response()
        }
        ("POST", ["v1", "contexts", "ctx_1", "confirmations"]) => {
            let asked = json!({ "confirmation_id": "conf_1", "nonce": "n", "button_ids": ["yes_n", "no_n"],
                                "expires_at": "2026-09-21T14:18:20Z", "prompt_digest": "d" });
            (StatusCode::CREATED, Json(asked)).into_response()
        }
        ("PUT", ["v1", "confirmations", "conf_1", "prompt-message"]) => StatusCode::NO_CONTENT.into_response(),
        ("POST", ["v1", "contexts", "ctx_1", "commands"] | ["v1", "commands", _, "takeovers"]) => {
            (StatusCode::CREATED, Json(bound(true))).into_response()
        }
        ("POST", ["v1", "commands", "query"]) => {
            Json(json!({ "items": script.unreported, "next_cursor": null })).into_response()
        }
        ("POST", ["v1", "commands", _, "results"] | ["v1", "confirmations", "conf_1", "cancel"]) => {
            Json(json!({})).into_response()
        }
        _ => problem(404, "not_found"),
    }
}

impl Script {
    fn batch_result(&mut self, event: &Value) -> Value {
        match self.meaning(event) {
            Ok(answer) => json!({ "answer": answer }),
            Err((status, code)) => json!({ "problem": { "status": status, "code": code } }),
        }
    }

    fn meaning(&mut self, event: &Value) -> Result<Value, (u16, &'static str)> {
        let id = event["message_id"].as_str().unwrap().to_owned();
        if let Some(problem) = self.problems.get(&id) {
            return Err(*problem);
        }
        let verdict = self.verdicts.get(&id).cloned();
        let verdict =
            verdict.unwrap_or_else(|| json!({ "code": "not_an_answer", "reason": "ordinary", "next": "route" }));
        let duplicate = !self.known.insert(id);
        Ok(
            json!({ "verdict": verdict, "context": { "context_id": "ctx_1", "status": "active" }, "duplicate": duplicate }),
        )
    }
}

fn problem(status: u16, code: &str) -> Response {
    let body = json!({ "type": "about:blank", "status": status, "code": code });
    (StatusCode::from_u16(status).unwrap(), Json(body)).into_response()
}
