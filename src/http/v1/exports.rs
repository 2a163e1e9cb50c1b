//! Bundles of evidence: `POST /v1/evidence/export`, and `GET` for requests without personal data.
//!
//! The answer is streamed. An error cuts it off: a verifier notices the missing last line.

use std::num::NonZeroU64;

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use serde::Deserialize;

use crate::domain::id::{CommandId, ContextId, ConversationId, PrincipalId, SpaceId};
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::http::body::{Body, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::Call;
use crate::http::problem::Problem;
use crate::service::exporting::{Export, Nonce, Payloads, Selection};

const EXPORT: Endpoint = Endpoint::post("/v1/evidence/export", &[Scope::EvidenceRead]).refusals_recorded();
const EXPORT_OF: Endpoint =
    Endpoint::get("/v1/evidence/export", &[Scope::EvidenceRead]).refusals_recorded().with_query();
/// The media type of a bundle: one JSON value per line.
const LINES: &str = "application/x-ndjson";

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(EXPORT, export), Route::new(EXPORT_OF, export_of)]
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PayloadsWire {
    #[default]
    Visible,
    Full,
}

impl From<PayloadsWire> for Payloads {
    fn from(wire: PayloadsWire) -> Self {
        match wire {
            PayloadsWire::Visible => Self::Visible,
            PayloadsWire::Full => Self::Full,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportWire {
    command_id: Option<CommandId>,
    context_id: Option<ContextId>,
    conversation_id: Option<ConversationId>,
    actor_id: Option<PrincipalId>,
    fact_space: Option<SpaceId>,
    from: Option<Timestamp>,
    until: Option<Timestamp>,
    #[serde(default)]
    payloads: PayloadsWire,
    consistent_from: Option<NonZeroU64>,
    nonce: Option<Nonce>,
}

impl Wire for ExportWire {
    const MAY_BE_EMPTY: bool = true;
}

/// The parameters that may be in a URL: none is personal.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportOfWire {
    command_id: Option<CommandId>,
    context_id: Option<ContextId>,
    from: Option<Timestamp>,
    until: Option<Timestamp>,
    #[serde(default)]
    payloads: PayloadsWire,
    consistent_from: Option<u64>,
    nonce: Option<Nonce>,
}

async fn export(call: Call, body: Body<ExportWire>) -> Result<Response, Problem> {
    let wire = body.typed;
    let selection = Selection {
        command_id: wire.command_id,
        context_id: wire.context_id,
        conversation_id: wire.conversation_id,
        actor_id: wire.actor_id,
        fact_space: wire.fact_space,
        from: wire.from,
        until: wire.until,
        payloads: wire.payloads.into(),
        consistent_from: wire.consistent_from.map(NonZeroU64::get),
        nonce: wire.nonce,
    };
    bundle(&call, selection).await
}

async fn export_of(call: Call, query: Result<Query<ExportOfWire>, QueryRejection>) -> Result<Response, Problem> {
    let Ok(Query(wire)) = query else {
        let detail = "say `command_id`, `context_id`, `from`, `until`, `payloads`, `consistent_from` or `nonce`; what \
                      names a person goes into the body of a POST";
        return Err(Problem::new(StatusCode::BAD_REQUEST, "unknown_parameter", detail));
    };
    let selection = Selection {
        command_id: wire.command_id,
        context_id: wire.context_id,
        from: wire.from,
        until: wire.until,
        payloads: wire.payloads.into(),
        consistent_from: wire.consistent_from,
        nonce: wire.nonce,
        ..Selection::default()
    };
    bundle(&call, selection).await
}

async fn bundle(call: &Call, selection: Selection) -> Result<Response, Problem> {
    one_subject(&selection)?;
    let export = call.app.service.export(&call.caller, selection).await?;
    let lines = try_unfold(export, |mut export: Export| async {
        match export.next().await {
            Ok(next) => Ok(next.map(|lines| (lines, export))),
            Err(error) => {
                tracing::warn!(export.error = %error, "an export failed; its bundle was cut off");
                Err(error)
            }
        }
    });
    let headers = [
        (CONTENT_TYPE, LINES),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_DISPOSITION, "attachment; filename=\"evidence.ndjson\""),
    ];
    Ok((headers, axum::body::Body::from_stream(lines)).into_response())
}

/// Allows one subject only: entries about two subjects at once are found by the query.
fn one_subject(selection: &Selection) -> Result<(), Problem> {
    let named = [
        selection.command_id.is_some(),
        selection.context_id.is_some(),
        selection.conversation_id.is_some(),
        selection.actor_id.is_some(),
        selection.fact_space.is_some(),
    ];
    if named.iter().filter(|named| **named).count() > 1 {
        let problem = "name one of command_id, context_id, conversation_id, actor_id and fact_space, or none of them";
        return Err(Problem::invalid("", problem));
    }
    Ok(())
}
