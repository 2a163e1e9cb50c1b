//! Contexts: open, read, list, set slots, move.

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::parts::extensions;
use super::view::ContextWire;
use crate::domain::context::{BlockedOn, CloseReason};
use crate::domain::id::{ContextId, ConversationId, CorrelationId, MessageId, PrincipalId};
use crate::domain::lifecycle::Status;
use crate::domain::operation::{Answer, ChangeSlots, Move, OpenContext, Operation, Transition};
use crate::domain::query::ContextQuery;
use crate::domain::scope::Scope;
use crate::domain::slots::Slots;
use crate::http::body::{Body, Wire, beneath};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId};
use crate::http::paging::{self, Listed};
use crate::http::problem::Problem;
use crate::http::respond::{Reply, unexpected};
use crate::service::Committed;

const COLLECTION: &str = "/v1/contexts";
const LIST: &str = "contexts";

const OPEN: Endpoint = Endpoint::post(COLLECTION, &[Scope::ContextWrite]).with_key();
const QUERY: Endpoint = Endpoint::query("/v1/contexts/query", &[Scope::ContextRead]);
const GET: Endpoint = Endpoint::get("/v1/contexts/{context_id}", &[Scope::ContextRead]);
const SLOTS: Endpoint = Endpoint::patch("/v1/contexts/{context_id}/slots", &[Scope::ContextWrite]).for_agents();
const MOVE: Endpoint = Endpoint::post("/v1/contexts/{context_id}/transitions", &[Scope::ContextWrite]).with_key();

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(OPEN, open),
        Route::new(QUERY, query),
        Route::new(GET, get),
        Route::new(SLOTS, change_slots),
        Route::new(MOVE, transition),
    ]
}

/// The context that a path names; a malformed id is a context that does not exist.
pub(super) fn context_id(text: &str) -> Result<ContextId, Problem> {
    ContextId::parse(text).ok_or_else(|| Problem::not_found("context"))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenWire {
    conversation_id: ConversationId,
    actor_id: PrincipalId,
    message_id: Option<MessageId>,
    slots: Option<Map<String, Value>>,
    correlation_id: Option<CorrelationId>,
    extensions: Option<Map<String, Value>>,
}

impl Wire for OpenWire {}

async fn open(call: Call, body: Body<OpenWire>) -> Result<Reply, Problem> {
    let claim = call.claim(&body.value);
    let wire = body.typed;
    let request = || format!("request:{}", &call.app.service.fresh_secret().to_hex()[..32]);
    let operation = Operation::OpenContext(OpenContext {
        conversation_id: wire.conversation_id,
        actor_id: wire.actor_id,
        cause: wire.message_id.map_or_else(request, String::from),
        slots: wire.slots.unwrap_or_default().into_iter().collect::<Slots>(),
        correlation_id: wire.correlation_id,
        extensions: extensions(wire.extensions)?,
    });
    // A refusal's pointer is relative to the slots, which are a member of this body; so are the extensions.
    let placed = |problem: Problem| if problem.code == "extension" { problem } else { beneath(problem, "/slots") };
    let done = call.decide(operation, claim).await.map_err(placed)?;
    context_reply(&call, StatusCode::CREATED, done)
}

/// A changed context with its `ETag`.
fn context_reply(call: &Call, status: StatusCode, done: Committed<Answer>) -> Result<Reply, Problem> {
    let Answer::Context { context, .. } = done.result else { return Err(unexpected()) };
    let (revision, id) = (context.revision, context.context_id.clone());
    let reply = Reply::new(status, &ContextWire::written(call, *context, done.at))?;
    let reply = reply.revision(revision).replayed(done.replayed);
    Ok(if status == StatusCode::CREATED { reply.at(COLLECTION, id.as_str()) } else { reply })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryWire {
    conversation_id: Option<ConversationId>,
    actor_id: Option<PrincipalId>,
    status: Option<Status>,
    limit: Option<u32>,
    cursor: Option<String>,
}

impl Wire for QueryWire {}

async fn query(call: Call, body: Body<QueryWire>) -> Result<Reply, Problem> {
    let wire = body.typed;
    let query = ContextQuery {
        conversation_id: wire.conversation_id,
        actor_id: wire.actor_id,
        status: wire.status,
        now: None,
        after: paging::position(&call.caller, LIST, wire.cursor.as_deref())?,
        limit: paging::limit(wire.limit)?,
    };
    let page = call.recorded(call.app.service.contexts(&call.caller, query).await?).await?;
    Reply::ok(&Listed {
        items: page.items.into_iter().map(ContextWire::read).collect(),
        next_cursor: page.next.map(|position| paging::cursor(&call.caller, LIST, position)),
    })
}

async fn get(call: Call, PathId(id): PathId) -> Result<Reply, Problem> {
    let id = context_id(&id)?;
    let view = call.recorded(call.app.service.context(&call.caller, &id).await?).await?;
    let revision = view.context.revision;
    Ok(Reply::ok(&ContextWire::read(view))?.revision(revision))
}

/// A merge patch over the slots.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct PatchWire(Map<String, Value>);

impl Wire for PatchWire {
    const MERGE_PATCH: bool = true;
}

async fn change_slots(call: Call, PathId(id): PathId, body: Body<PatchWire>) -> Result<Reply, Problem> {
    let claim = call.claim(&body.value);
    let operation = Operation::ChangeSlots(ChangeSlots {
        context_id: context_id(&id)?,
        patch: body.typed.0,
        if_revision: call.required_revision()?,
        credential: call.caller.kind,
    });
    let done = call.decide(operation, claim).await?;
    context_reply(&call, StatusCode::OK, done)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ActionWord {
    Block,
    Unblock,
    Close,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MoveWire {
    action: ActionWord,
    #[serde(alias = "reason")]
    on: Option<BlockedOn>,
}

impl Wire for MoveWire {}

impl MoveWire {
    fn to(&self) -> Result<Move, Problem> {
        match (self.action, self.on) {
            (ActionWord::Block, Some(on)) => Ok(Move::Block(on)),
            (ActionWord::Block, None) => Err(Problem::missing("/on")),
            (ActionWord::Unblock, None) => Ok(Move::Unblock),
            (ActionWord::Close, None) => Ok(Move::Close(CloseReason::Finished)),
            (ActionWord::Unblock | ActionWord::Close, Some(_)) => {
                Err(Problem::invalid("/on", "belongs to the action block"))
            }
        }
    }
}

async fn transition(call: Call, PathId(id): PathId, body: Body<MoveWire>) -> Result<Reply, Problem> {
    let claim = call.claim(&body.value);
    let operation = Operation::Transition(Transition {
        context_id: context_id(&id)?,
        to: body.typed.to()?,
        if_revision: call.if_match,
    });
    let done = call.decide(operation, claim).await?;
    context_reply(&call, StatusCode::OK, done)
}
