//! Public routes: health, readiness, interface description.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::evidence::bundle::{ARTIFACT_SCHEMA, BUNDLE_SCHEMA};
use crate::http::App;
use crate::http::endpoint::{Endpoint, Route};
use crate::http::problem::Problem;
use crate::http::required::OPENAPI_YAML;
use crate::http::respond::Reply;
use crate::service::Service;
use crate::service::WriteHealth;
use crate::service::transparency::Transparency;
use crate::service::vigil::ClockState;

const OPENAPI: Endpoint = Endpoint::get("/openapi.yaml", &[]);
const ARTIFACT: Endpoint = Endpoint::get("/schemas/evidence-artifact.json", &[]);
const BUNDLE: Endpoint = Endpoint::get("/schemas/evidence-bundle.json", &[]);
const HEALTH: Endpoint = Endpoint::get("/healthz", &[]);
const READY: Endpoint = Endpoint::get("/readyz", &[]);
const WELL_KNOWN: Endpoint = Endpoint::get("/.well-known/wfs.json", &[]);

/// How long readiness waits for a read.
const READS_WITHIN: Duration = Duration::from_secs(2);

/// The media type of a JSON Schema.
const SCHEMA: &str = "application/schema+json";

pub(super) fn routes() -> Vec<Route> {
    let mut routes = health_routes();
    routes.extend([
        Route::new(OPENAPI, openapi),
        Route::new(ARTIFACT, artifact_schema),
        Route::new(BUNDLE, bundle_schema),
        Route::new(WELL_KNOWN, well_known),
    ]);
    routes
}

pub(super) fn health_routes() -> Vec<Route> {
    vec![Route::new(HEALTH, health), Route::new(READY, ready)]
}

async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/yaml")], OPENAPI_YAML).into_response()
}

async fn artifact_schema() -> Response {
    ([(CONTENT_TYPE, SCHEMA)], ARTIFACT_SCHEMA).into_response()
}

async fn bundle_schema() -> Response {
    ([(CONTENT_TYPE, SCHEMA)], BUNDLE_SCHEMA).into_response()
}

async fn health() -> Result<Reply, Problem> {
    Reply::ok(&json!({"status": "alive"}))
}

/// Whether the server can store: a database that answers reads may still refuse writes.
async fn storage(service: &Service) -> &'static str {
    // A file on a stalled disk, or a suspended database, may not answer at all.
    if !matches!(tokio::time::timeout(READS_WITHIN, service.ready()).await, Ok(Ok(()))) {
        return "unavailable";
    }
    match service.write_health() {
        WriteHealth::Ok => "ok",
        WriteHealth::Stalled => "stalled",
        WriteHealth::Failing => "failing",
        WriteHealth::Stopped => "stopped",
    }
}

/// The state of the clocks: faults that stop decisions first, then faults that stop erasing.
fn clock(service: &Service) -> &'static str {
    if service.clock_behind().is_some() {
        return "behind";
    }
    match service.clocks().state() {
        ClockState::Ok => "ok",
        ClockState::Jumped(_) => "jumped",
        ClockState::Apart(_) => "apart",
        ClockState::Unproven(_) => "unproven",
    }
}

/// Whether a load balancer should send requests here, and the state of each part of the server.
async fn ready(State(app): State<App>) -> Result<Reply, Problem> {
    let storage = storage(&app.service).await;
    let log = app.service.transparency();
    let packs = app.service.rules().book().packs().count();
    let policies = app.service.policies();
    let mut rules = json!({"origin": policies.origin.as_str(), "stale": policies.stale});
    if let Some(version) = policies.version {
        rules["version"] = version.into();
    }
    // Stale rules do not make the server unready: it goes on deciding by the last ones that loaded.
    let ready = storage == "ok" && packs > 0;
    let refused = log.refused();
    let mut reasons: Vec<&str> = refused.values().map(|refusal| refusal.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let body = json!({
        "status": if ready { "ready" } else { "not_ready" },
        "storage": storage,
        "policy_packs": packs,
        "policies": rules,
        "queued": app.service.queued(),
        "rollback_protection": log.protection().as_str(),
        "clock": clock(&app.service),
        "log": log_state(log),
        "log_reasons": reasons,
    });
    Reply::new(if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &body)
}

/// The state of the log: the worst one if there are several.
fn log_state(log: &Transparency) -> &'static str {
    match (log.refused().is_empty(), log.set_aside().is_empty()) {
        (false, _) => "refuses_to_sign",
        (true, false) => "sets_aside",
        (true, true) => "ok",
    }
}

async fn well_known() -> Result<Reply, Problem> {
    Reply::ok(&json!({
        "service": "cscp",
        "version": env!("CARGO_PKG_VERSION"),
        "api_versions": ["v1"],
        "conformance": [{"rfc": "RFC-WF-0034", "claim": "RFC-WF-0034 section XIV items 1-5"}],
        "links": {
            "openapi": "/openapi.yaml", "messages": "/v1/messages", "contexts": "/v1/contexts",
            "policies": "/v1/policies", "evidence_artifact_schema": "/schemas/evidence-artifact.json",
            "evidence_bundle_schema": "/schemas/evidence-bundle.json", "health": "/healthz", "ready": "/readyz",
        },
    }))
}
