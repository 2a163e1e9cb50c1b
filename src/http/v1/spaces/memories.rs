//! What is stored about a person, for that person: `POST /v1/memories/query`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::view::{FactWire, SpaceWire};
use crate::domain::canonical::canonical;
use crate::domain::query::Position;
use crate::domain::scope::Scope;
use crate::domain::speaking::Voice;
use crate::http::body::{Body, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::Call;
use crate::http::paging;
use crate::http::problem::Problem;
use crate::http::respond::Reply;
use crate::http::v1::parts::printable;
use crate::service::ServiceError;
use crate::service::spaces::Memory;

const QUERY: Endpoint = Endpoint::query("/v1/memories/query", &[Scope::FactRead]);
const LIST: &str = "memories";

/// The longest id of a person.
const NAME: usize = 256;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(QUERY, query)]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryWire {
    user_id: Option<String>,
    cursor: Option<String>,
}

impl Wire for QueryWire {
    const MAY_BE_EMPTY: bool = true;
}

#[derive(Debug, Serialize)]
struct MemoryWire {
    space: SpaceWire,
    facts: Vec<FactWire>,
    more: bool,
    withheld: usize,
}

impl From<Memory> for MemoryWire {
    fn from(memory: Memory) -> Self {
        let facts = memory.facts;
        Self {
            space: SpaceWire::of(memory.space),
            more: facts.next.is_some(),
            withheld: facts.withheld,
            facts: facts.facts.into_iter().map(FactWire::read).collect(),
        }
    }
}

async fn query(call: Call, body: Body<QueryWire>) -> Result<Reply, Problem> {
    let QueryWire { user_id, cursor } = body.typed;
    match &user_id {
        Some(user_id) => printable(user_id, "/user_id", NAME)?,
        None if call.caller.speaks_for.voice == Voice::Anyone => return Err(Problem::missing("/user_id")),
        None => {}
    }
    let after = match paging::position(&call.caller, LIST, cursor.as_deref())? {
        Some(position) => Some(serde_json::from_str(&position.id).map_err(|_| ServiceError::Internal)?),
        None => None,
    };
    let found = call.app.service.memories(&call.caller, user_id.as_deref(), after.as_ref()).await?;
    let page = call.recorded(found).await?;
    let next_cursor = page.next.map(|place| {
        let id = String::from_utf8(canonical(&json!(place))).unwrap_or_default();
        paging::cursor(&call.caller, LIST, Position { micros: 0, id })
    });
    let memories: Vec<MemoryWire> = page.memories.into_iter().map(MemoryWire::from).collect();
    Reply::ok(&json!({"memories": memories, "next_cursor": next_cursor.map_or(Value::Null, Value::String)}))
}
