//! Evidence: `POST /v1/evidence/query`, `GET /v1/evidence/artifacts/{artifact_id}`,
//! `GET /v1/evidence/frames/{context_frame_id}`, proofs from the transparency log, and cosignatures of witnesses.
//!
//! Scopes are checked by the use case, which records refused reads as evidence.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parts::{bounded, printable};
use crate::domain::id::{
    ArtifactId, CommandId, ContextFrameId, ContextId, ConversationId, CorrelationId, FactUid, SpaceId,
};
use crate::domain::query::EvidenceQuery;
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::http::body::{Body, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId};
use crate::http::paging::{self, Listed};
use crate::http::problem::Problem;
use crate::http::respond::Reply;
use crate::service::ooc::RedactionShown;

const QUERY: Endpoint = Endpoint::query("/v1/evidence/query", &[Scope::EvidenceRead]).refusals_recorded();
const ARTIFACT: Endpoint =
    Endpoint::get("/v1/evidence/artifacts/{artifact_id}", &[Scope::EvidenceRead]).refusals_recorded();
const FRAME: Endpoint =
    Endpoint::get("/v1/evidence/frames/{context_frame_id}", &[Scope::EvidenceRead]).refusals_recorded();
const CHECKPOINT: Endpoint = Endpoint::get("/v1/evidence/checkpoint", &[Scope::EvidenceRead]);
const INCLUSION: Endpoint =
    Endpoint::get("/v1/evidence/artifacts/{artifact_id}/proof", &[Scope::EvidenceRead]).refusals_recorded();
const CONSISTENCY: Endpoint = Endpoint::get("/v1/evidence/consistency", &[Scope::EvidenceRead]).with_query();
const COSIGN: Endpoint = Endpoint::post("/v1/evidence/cosignatures", &[Scope::EvidenceRead]);
const LIST: &str = "evidence";

/// The longest evidence type.
const MAX_TYPE: usize = 64;
/// The longest checkpoint with signatures, in bytes: room for a hundred signatures with usual names.
const MAX_COSIGNED: usize = 65_536;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(QUERY, query),
        Route::new(ARTIFACT, artifact),
        Route::new(FRAME, frame),
        Route::new(CHECKPOINT, checkpoint),
        Route::new(INCLUSION, inclusion),
        Route::new(CONSISTENCY, consistency),
        Route::new(COSIGN, cosign),
    ]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryWire {
    artifact_id: Option<ArtifactId>,
    command_id: Option<CommandId>,
    correlation_id: Option<CorrelationId>,
    conversation_id: Option<ConversationId>,
    context_id: Option<ContextId>,
    fact_space: Option<SpaceId>,
    fact_uid: Option<FactUid>,
    #[serde(rename = "type")]
    kind: Option<String>,
    from: Option<Timestamp>,
    until: Option<Timestamp>,
    limit: Option<u32>,
    cursor: Option<String>,
}

impl Wire for QueryWire {}

/// A page of artifacts, and its redaction.
#[derive(Debug, Serialize)]
struct PageWire {
    #[serde(flatten)]
    listed: Listed<Value>,
    redaction: RedactionShown,
}

#[derive(Debug, Serialize)]
struct ArtifactWire {
    artifact: Value,
    redaction: RedactionShown,
}

async fn query(call: Call, body: Body<QueryWire>) -> Result<Reply, Problem> {
    let wire = body.typed;
    if let Some(kind) = &wire.kind {
        printable(kind, "/type", MAX_TYPE)?;
    }
    let query = EvidenceQuery {
        artifact_id: wire.artifact_id,
        command_id: wire.command_id,
        correlation_id: wire.correlation_id,
        conversation_id: wire.conversation_id,
        context_id: wire.context_id,
        space_id: wire.fact_space,
        fact_uid: wire.fact_uid,
        kind: wire.kind,
        from: wire.from,
        until: wire.until,
        after: paging::position(&call.caller, LIST, wire.cursor.as_deref())?,
        limit: paging::limit(wire.limit)?,
    };
    let page = call.app.service.evidence(&call.caller, &query).await?;
    let next_cursor = page.next.map(|position| paging::cursor(&call.caller, LIST, position));
    Reply::ok(&PageWire { listed: Listed { items: page.items, next_cursor }, redaction: page.redaction })
}

async fn artifact(call: Call, PathId(id): PathId) -> Result<Reply, Problem> {
    let id = ArtifactId::parse(&id).ok_or_else(|| Problem::not_found("artifact"))?;
    let shown = call.app.service.artifact(&call.caller, &id).await?;
    Reply::ok(&ArtifactWire { artifact: shown.artifact, redaction: shown.redaction })
}

async fn frame(call: Call, PathId(id): PathId) -> Result<Reply, Problem> {
    let id = ContextFrameId::parse(&id).ok_or_else(|| Problem::not_found("context frame"))?;
    Reply::ok(&call.app.service.frame(&call.caller, &id).await?)
}

async fn checkpoint(call: Call) -> Result<Reply, Problem> {
    Reply::ok(&call.app.service.checkpoint(&call.caller).await?)
}

async fn inclusion(call: Call, PathId(id): PathId) -> Result<Reply, Problem> {
    let id = ArtifactId::parse(&id).ok_or_else(|| Problem::not_found("artifact"))?;
    Reply::ok(&call.app.service.inclusion(&call.caller, &id).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FromWire {
    from: u64,
}

async fn consistency(call: Call, query: Result<Query<FromWire>, QueryRejection>) -> Result<Reply, Problem> {
    let Ok(Query(FromWire { from })) = query else {
        let detail = "say in `from`, a number, of which size the older tree is, and nothing else";
        return Err(Problem::new(StatusCode::BAD_REQUEST, "unknown_parameter", detail));
    };
    Reply::ok(&call.app.service.consistency(&call.caller, from).await?)
}

/// A checkpoint with the signature lines of witnesses.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CosignWire {
    note: String,
}

impl Wire for CosignWire {}

async fn cosign(call: Call, body: Body<CosignWire>) -> Result<Reply, Problem> {
    bounded(Some(&body.typed.note), "/note", MAX_COSIGNED)?;
    Reply::ok(&call.app.service.cosign(&call.caller, &body.typed.note).await?)
}
