//! Commands: bind one, take one over, read one.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::contexts::context_id;
use super::parts::{printable, target};
use super::view::CommandWire;
use crate::domain::command::ExecutionState;
use crate::domain::frame::CitedPack;
use crate::domain::id::{AttemptId, Channel, CommandId, CommandName, CorrelationId, IdempotencyKey, MessageId, PackId};
use crate::domain::message::message_key;
use crate::domain::operation::{Answer, Bind, CommandSpec, Envelope, Operation, TakeOver};
use crate::domain::policy::SafetyClass;
use crate::domain::scope::Scope;
use crate::http::body::{Body, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId};
use crate::http::paging::{self, Listed};
use crate::http::problem::Problem;
use crate::http::respond::{Reply, unexpected};

const BIND: Endpoint = Endpoint::post("/v1/contexts/{context_id}/commands", &[Scope::CommandBind]);
const TAKE_OVER: Endpoint = Endpoint::post("/v1/commands/{command_id}/takeovers", &[Scope::CommandBind]);
const QUERY: Endpoint = Endpoint::query("/v1/commands/query", &[Scope::ContextRead]);
const GET: Endpoint = Endpoint::get("/v1/commands/{command_id}", &[Scope::ContextRead]);

const LIST: &str = "commands";

/// The most messages that one command names.
const MAX_MESSAGES: usize = 64;
/// The longest digest of an envelope.
const MAX_DIGEST: usize = 256;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(BIND, bind), Route::new(TAKE_OVER, take_over), Route::new(GET, get), Route::new(QUERY, query)]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BindWire {
    attempt_id: String,
    command_id: CommandId,
    name: CommandName,
    idempotency_key: IdempotencyKey,
    safety_class: Option<SafetyClass>,
    target: Option<Value>,
    target_fingerprint: Option<String>,
    envelope: Option<Value>,
    envelope_digest: Option<String>,
    message_ids: Vec<MessageId>,
    channel: Option<Channel>,
    context_pack_id: Option<PackId>,
    correlation_id: Option<CorrelationId>,
}

impl Wire for BindWire {}

/// The answer to a worker that asked to execute a command.
#[derive(Debug, Serialize)]
struct BoundWire {
    execute: bool,
    #[serde(flatten)]
    command: CommandWire,
}

async fn bind(call: Call, PathId(id): PathId, body: Body<BindWire>) -> Result<Reply, Problem> {
    let wire = body.typed;
    let message_ids = keyed_messages(&call, wire.message_ids, wire.channel)?;
    let context_pack = match wire.context_pack_id {
        Some(id) => Some(cited(&call, &id).await?),
        None => None,
    };
    let bind = Bind {
        context_id: context_id(&id)?,
        attempt_id: attempt(&wire.attempt_id, "/attempt_id")?,
        envelope: envelope(wire.envelope, wire.envelope_digest)?,
        command: CommandSpec {
            command_id: wire.command_id,
            name: wire.name,
            idempotency_key: wire.idempotency_key,
            raised_class: wire.safety_class,
            target: target(wire.target, wire.target_fingerprint)?,
        },
        message_ids,
        context_pack,
        correlation_id: wire.correlation_id,
    };
    bound(call, Operation::Bind(Box::new(bind))).await
}

/// Decides who may execute. Repetitions are recognised by the attempt, not by an `Idempotency-Key`: a stored answer
/// would say `execute: true` after that has expired.
async fn bound(call: Call, operation: Operation) -> Result<Reply, Problem> {
    let done = call.decide(operation, None).await?;
    let Answer::Bound { command, replayed, execute } = done.result else { return Err(unexpected()) };
    let status = if replayed { StatusCode::OK } else { StatusCode::CREATED };
    let wire = BoundWire { execute, command: CommandWire::written(&call, *command, done.at) };
    Ok(Reply::new(status, &wire)?.replayed(replayed))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TakeOverWire {
    attempt_id: String,
    replaces_attempt_id: AttemptId,
    downstream_checked: bool,
    name: CommandName,
    idempotency_key: IdempotencyKey,
    target: Option<Value>,
    target_fingerprint: Option<String>,
    envelope: Option<Value>,
    envelope_digest: Option<String>,
}

impl Wire for TakeOverWire {}

async fn take_over(call: Call, PathId(id): PathId, body: Body<TakeOverWire>) -> Result<Reply, Problem> {
    let wire = body.typed;
    if !wire.downstream_checked {
        let problem = Problem::field(
            "downstream_not_checked",
            "nobody knows whether the earlier attempt executed: ask the system that executes, under the command's \
             idempotency key; if it was not done, say so with downstream_checked: true, otherwise record its result",
            "/downstream_checked",
            "must be true",
        );
        return Err(problem);
    }
    let take_over = TakeOver {
        attempt_id: attempt(&wire.attempt_id, "/attempt_id")?,
        replaces: wire.replaces_attempt_id,
        command: CommandSpec {
            command_id: command_id(id)?,
            name: wire.name,
            idempotency_key: wire.idempotency_key,
            raised_class: None,
            target: target(wire.target, wire.target_fingerprint)?,
        },
        envelope: envelope(wire.envelope, wire.envelope_digest)?,
    };
    bound(call, Operation::TakeOver(Box::new(take_over))).await
}

/// A worker's random id for its attempt.
fn attempt(text: &str, pointer: &str) -> Result<AttemptId, Problem> {
    AttemptId::random(text).map_err(|why| {
        Problem::field("attempt_id_not_random", "the attempt_id is no random UUID", pointer, why.to_string())
    })
}

/// The pack that a request cites, with the hash of its content.
async fn cited(call: &Call, id: &PackId) -> Result<CitedPack, Problem> {
    let found = call.app.service.cited_pack(&call.caller, id).await?;
    found.ok_or_else(|| Problem::invalid("/context_pack_id", "names no saved context pack; save one with save_frame"))
}

fn keyed_messages(
    call: &Call,
    ids: Vec<MessageId>,
    channel: Option<Channel>,
) -> Result<Vec<(MessageId, crate::domain::canonical::Digest)>, Problem> {
    if ids.len() > MAX_MESSAGES {
        return Err(Problem::invalid("/message_ids", format!("must hold at most {MAX_MESSAGES} ids")));
    }
    let channel = channel.unwrap_or_default();
    let key = &call.caller.tenant.key;
    Ok(ids.into_iter().map(|id| (id.clone(), message_key(key, &channel, &id))).collect())
}

fn envelope(clear: Option<Value>, digest: Option<String>) -> Result<Envelope, Problem> {
    match (clear, digest) {
        (Some(value), None) if value.is_object() => Ok(Envelope::Clear(value)),
        (Some(_), None) => {
            Err(Problem::field("wrong_type", "the envelope is of another type", "/envelope", "must be an object"))
        }
        (None, Some(digest)) => {
            printable(&digest, "/envelope_digest", MAX_DIGEST)?;
            Ok(Envelope::Digest(digest))
        }
        (Some(_), Some(_)) => {
            Err(Problem::invalid("/envelope_digest", "send either envelope or envelope_digest, not both"))
        }
        (None, None) => Err(Problem::missing("/envelope")),
    }
}

async fn get(call: Call, PathId(id): PathId) -> Result<Reply, Problem> {
    let id = command_id(id)?;
    let command = call.recorded(call.app.service.command(&call.caller, &id).await?).await?;
    Reply::ok(&CommandWire::read(command, call.app.service.now()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum UnreportedState {
    Executing,
    Unknown,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryWire {
    execution: Option<UnreportedState>,
    limit: Option<u32>,
    cursor: Option<String>,
}

impl Wire for QueryWire {}

async fn query(call: Call, body: Body<QueryWire>) -> Result<Reply, Problem> {
    let wire = body.typed;
    let wanted = wire.execution.map(|state| match state {
        UnreportedState::Executing => ExecutionState::Executing,
        UnreportedState::Unknown => ExecutionState::Unknown,
    });
    let after = paging::position(&call.caller, LIST, wire.cursor.as_deref())?;
    let found = call.app.service.unreported(&call.caller, wanted, after, paging::limit(wire.limit)?).await?;
    let page = call.recorded(found).await?;
    let now = call.app.service.now();
    Reply::ok(&Listed {
        items: page.items.into_iter().map(|command| CommandWire::read(command, now)).collect(),
        next_cursor: page.next.map(|position| paging::cursor(&call.caller, LIST, position)),
    })
}

/// The command that a path names; a malformed name is a command that does not exist.
pub(super) fn command_id(text: String) -> Result<CommandId, Problem> {
    CommandId::new(text).map_err(|_| Problem::not_found("command"))
}
