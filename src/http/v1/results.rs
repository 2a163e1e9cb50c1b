//! `POST /v1/commands/{command_id}/results`: reports the state of a bound command.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use super::commands::command_id;
use super::parts::printable;
use super::view::{CommandWire, ContextWire};
use crate::domain::command::Outcome;
use crate::domain::context::BlockedOn;
use crate::domain::id::AttemptId;
use crate::domain::operation::{Answer, Operation, RecordResult};
use crate::domain::scope::Scope;
use crate::http::body::{Body, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId};
use crate::http::problem::Problem;
use crate::http::respond::{Reply, unexpected};

const POST: Endpoint = Endpoint::post("/v1/commands/{command_id}/results", &[Scope::CommandBind]).with_key();

/// The longest status, in bytes.
const MAX_STATUS: usize = 64;
/// The longest summary, in characters.
const MAX_SUMMARY: usize = 500;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(POST, post)]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultWire {
    attempt_id: Option<AttemptId>,
    status: String,
    outcome: Option<Outcome>,
    summary: Option<String>,
    waiting_on: Option<BlockedOn>,
    close_context: Option<bool>,
}

impl Wire for ResultWire {}

/// The command and its context after a result.
#[derive(Debug, Serialize)]
struct RecordedWire {
    command: CommandWire,
    context: Option<ContextWire>,
}

async fn post(call: Call, PathId(id): PathId, body: Body<ResultWire>) -> Result<Reply, Problem> {
    let claim = call.claim(&body.value);
    let wire = body.typed;
    printable(&wire.status, "/status", MAX_STATUS)?;
    if wire.summary.as_ref().is_some_and(|text| text.chars().count() > MAX_SUMMARY) {
        return Err(Problem::invalid("/summary", format!("must be at most {MAX_SUMMARY} characters")));
    }
    let unsaid = || {
        let detail = "the status is a word of your own: say with outcome whether the command is done";
        let listed = "must be in_progress, succeeded, failed, cancelled, compensated or unknown";
        Problem::field("missing_field", detail, "/outcome", listed)
    };
    let said = || Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == wire.status);
    let operation = Operation::RecordResult(RecordResult {
        command_id: command_id(id)?,
        attempt_id: wire.attempt_id,
        outcome: wire.outcome.or_else(said).ok_or_else(unsaid)?,
        status: wire.status,
        summary: wire.summary,
        waiting_on: wire.waiting_on,
        close_context: wire.close_context.unwrap_or(false),
    });
    let done = call.decide(operation, claim).await?;
    let Answer::Recorded { command, context } = done.result else { return Err(unexpected()) };
    let recorded = RecordedWire {
        command: CommandWire::written(&call, *command, done.at),
        context: context.map(|context| ContextWire::written(&call, *context, done.at)),
    };
    Ok(Reply::new(StatusCode::CREATED, &recorded)?.replayed(done.replayed))
}
