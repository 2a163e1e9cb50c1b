//! Reads of facts: a list, one fact, its chain, the current value of a key.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::view::FactWire;
use super::{fact_uid, name, space_id};
use crate::domain::scope::Scope;
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId, PathIds};
use crate::http::paging;
use crate::http::problem::Problem;
use crate::http::respond::Reply;
use crate::state_layer::query::FactQuery;

const LIST: &str = "facts";

const FACTS: Endpoint = Endpoint::get("/v1/fact-spaces/{fact_space}/facts", &[Scope::FactRead]).with_query();
const FACT: Endpoint = Endpoint::get("/v1/fact-spaces/{fact_space}/facts/{fact_uid}", &[Scope::FactRead]);
const CHAIN: Endpoint = Endpoint::get("/v1/fact-spaces/{fact_space}/facts/{fact_uid}/chain", &[Scope::FactRead]);
const CURRENT: Endpoint = Endpoint::get("/v1/fact-spaces/{fact_space}/current/{key}", &[Scope::FactRead]);

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(FACTS, list), Route::new(FACT, get), Route::new(CHAIN, chain), Route::new(CURRENT, current)]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    include_invalid: Option<bool>,
    key: Option<String>,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn list(
    call: Call,
    PathId(id): PathId,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Reply, Problem> {
    let Ok(Query(query)) = query else {
        let detail = "this operation takes include_invalid, key, limit and cursor";
        return Err(Problem::new(StatusCode::BAD_REQUEST, "unknown_parameter", detail));
    };
    let wanted = FactQuery {
        include_invalid: query.include_invalid.unwrap_or(false),
        key: query.key.map(|key| name(key, "/key")).transpose()?,
        after: paging::position(&call.caller, LIST, query.cursor.as_deref())?,
        limit: paging::limit(query.limit)?,
    };
    let page = call.recorded(call.app.service.facts(&call.caller, &space_id(&id)?, &wanted).await?).await?;
    let next_cursor = page.next.map(|position| paging::cursor(&call.caller, LIST, position));
    let facts: Vec<FactWire> = page.facts.into_iter().map(FactWire::read).collect();
    Reply::ok(&json!({"facts": facts, "next_cursor": next_cursor, "withheld": page.withheld}))
}

async fn get(call: Call, PathIds(id, uid): PathIds) -> Result<Reply, Problem> {
    let view = call.recorded(call.app.service.fact(&call.caller, &space_id(&id)?, &fact_uid(&uid)?).await?).await?;
    Reply::ok(&FactWire::read(view))
}

async fn chain(call: Call, PathIds(id, uid): PathIds) -> Result<Reply, Problem> {
    let chain =
        call.recorded(call.app.service.fact_chain(&call.caller, &space_id(&id)?, &fact_uid(&uid)?).await?).await?;
    let facts: Vec<FactWire> = chain.facts.into_iter().map(FactWire::read).collect();
    Reply::ok(&json!({"facts": facts, "more": chain.more, "withheld": chain.withheld}))
}

async fn current(call: Call, PathIds(id, key): PathIds) -> Result<Reply, Problem> {
    let key = name(key, "/key")?;
    let view = call.recorded(call.app.service.current_fact(&call.caller, &space_id(&id)?, &key).await?).await?;
    Reply::ok(&FactWire::read(view))
}
