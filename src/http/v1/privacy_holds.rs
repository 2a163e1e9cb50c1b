//! Legal holds: `POST /v1/privacy/holds`, `GET /v1/privacy/holds`, `DELETE /v1/privacy/holds/{hold_id}`.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;
use serde::Deserialize;

use super::parts::printable;
use crate::domain::id::{ConversationId, HoldId, PrincipalId};
use crate::domain::query::Position;
use crate::domain::scope::Scope;
use crate::http::body::{Body, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId};
use crate::http::paging::{self, Listed};
use crate::http::problem::Problem;
use crate::http::respond::Reply;
use crate::service::privacy::{Held, NewHold};

const PLACE: Endpoint = Endpoint::post("/v1/privacy/holds", &[Scope::PrivacyErase]);
const HOLDS: Endpoint = Endpoint::get("/v1/privacy/holds", &[Scope::PrivacyErase]).with_query();
const LIFT: Endpoint = Endpoint::delete("/v1/privacy/holds/{hold_id}", &[Scope::PrivacyErase]);
const LIST: &str = "holds";

const MAX_REASON: usize = 256;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(PLACE, place), Route::new(HOLDS, holds), Route::new(LIFT, lift)]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaceWire {
    actor_id: Option<PrincipalId>,
    conversation_id: Option<ConversationId>,
    reason: Option<String>,
}

impl Wire for PlaceWire {}

async fn place(call: Call, body: Body<PlaceWire>) -> Result<Reply, Problem> {
    let PlaceWire { actor_id, conversation_id, reason } = body.typed;
    if let Some(reason) = &reason {
        printable(reason, "/reason", MAX_REASON)?;
    }
    let (kind, subject) = match (actor_id, conversation_id) {
        (Some(id), None) => (Held::Principal, String::from(id)),
        (None, Some(id)) => (Held::Conversation, String::from(id)),
        _ => return Err(Problem::invalid("", "must have exactly one of actor_id and conversation_id")),
    };
    let hold = call.app.service.place_hold(&call.caller, NewHold { kind, subject, reason }).await?;
    let id = hold.hold_id.to_string();
    Ok(Reply::new(StatusCode::CREATED, &hold)?.at("/v1/privacy/holds", &id))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HoldsWire {
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn holds(call: Call, query: Result<Query<HoldsWire>, QueryRejection>) -> Result<Reply, Problem> {
    let Ok(Query(HoldsWire { limit, cursor })) = query else {
        let detail = "say in `limit` how many, in `cursor` where to go on, and nothing else";
        return Err(Problem::new(StatusCode::BAD_REQUEST, "unknown_parameter", detail));
    };
    let after = paging::position(&call.caller, LIST, cursor.as_deref())?;
    let after = after.and_then(|position| HoldId::parse(&position.id));
    let limit = paging::limit(limit)?;
    let found = call.app.service.holds(&call.caller, after.as_ref(), limit).await?;
    let (items, more) = call.recorded(found).await?;
    let last = items.last().filter(|_| more).map(|hold| Position { micros: 0, id: hold.hold_id.to_string() });
    Reply::ok(&Listed { next_cursor: last.map(|position| paging::cursor(&call.caller, LIST, position)), items })
}

async fn lift(call: Call, PathId(id): PathId) -> Result<Reply, Problem> {
    let id = HoldId::parse(&id).ok_or_else(|| Problem::not_found("hold"))?;
    Reply::ok(&call.app.service.lift_hold(&call.caller, &id).await?)
}
