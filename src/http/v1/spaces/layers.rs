//! The environment and the working set: set, list, remove; and the end of a task.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::factual::stated;
use super::moment::{Moment, Moments};
use super::view::EffectsWire;
use super::{name as in_path, space_id};
use crate::domain::canonical::canonical;
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::http::body::{Body, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId, PathIds};
use crate::http::problem::Problem;
use crate::http::respond::{Reply, unexpected};
use crate::http::v1::parts::printable;
use crate::service::spaces::{Seen, SpaceShown};
use crate::state_layer::fact::MAX_VALUE_BYTES;
use crate::state_layer::operation::SpaceAction;
use crate::state_layer::space::{Signal, WorkingItem};

const SET_SIGNAL: Endpoint =
    Endpoint::put("/v1/fact-spaces/{fact_space}/environment/{key}", &[Scope::FactWrite]).for_agents();
const REMOVE_SIGNAL: Endpoint =
    Endpoint::delete("/v1/fact-spaces/{fact_space}/environment/{key}", &[Scope::FactWrite]).for_agents();
const SIGNALS: Endpoint = Endpoint::get("/v1/fact-spaces/{fact_space}/environment", &[Scope::FactRead]);
const SET_ITEM: Endpoint =
    Endpoint::put("/v1/fact-spaces/{fact_space}/working-set/{key}", &[Scope::FactWrite]).for_agents();
const REMOVE_ITEM: Endpoint =
    Endpoint::delete("/v1/fact-spaces/{fact_space}/working-set/{key}", &[Scope::FactWrite]).for_agents();
const ITEMS: Endpoint = Endpoint::get("/v1/fact-spaces/{fact_space}/working-set", &[Scope::FactRead]);
const CLOSE: Endpoint =
    Endpoint::post("/v1/fact-spaces/{fact_space}/tasks/{task_id}/close", &[Scope::FactWrite]).for_agents().with_key();

/// The longest name of a task, a type or a fact.
const NAME: usize = 256;
/// The most items to promote by name.
const MANY: usize = 500;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(SET_SIGNAL, set_signal),
        Route::new(REMOVE_SIGNAL, remove_signal),
        Route::new(SIGNALS, signals),
        Route::new(SET_ITEM, set_item),
        Route::new(REMOVE_ITEM, remove_item),
        Route::new(ITEMS, items),
        Route::new(CLOSE, close),
    ]
}

fn sized(value: &Value, pointer: &str) -> Result<(), Problem> {
    if canonical(value).len() > MAX_VALUE_BYTES {
        return Err(Problem::invalid(pointer, format!("must be at most {MAX_VALUE_BYTES} bytes of JSON")));
    }
    Ok(())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignalBody {
    value: Value,
    observed_at: Option<Moment>,
    stale_at: Option<Moment>,
    fresh_seconds: Option<u32>,
}

impl Wire for SignalBody {}

#[derive(Debug, Serialize)]
struct SignalWire {
    #[serde(flatten)]
    signal: SignalShown,
    accepted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed_time_zone: Option<String>,
}

#[derive(Debug, Serialize)]
struct SignalShown {
    key: String,
    value: Value,
    observed_at: Timestamp,
    stale_at: Option<Timestamp>,
}

fn shown_signal(signal: Seen<Signal>) -> SignalShown {
    let signal = signal.into_shown();
    SignalShown { key: signal.key, value: signal.value, observed_at: signal.observed_at, stale_at: signal.stale_at }
}

async fn set_signal(call: Call, PathIds(id, name): PathIds, body: Body<SignalBody>) -> Result<Reply, Problem> {
    let wire = body.typed;
    stated(&wire.value, "/value")?;
    sized(&wire.value, "/value")?;
    let mut moments = Moments::of(&call);
    let now = call.app.service.now();
    let observed_at = moments.optional(wire.observed_at.as_ref(), "/observed_at")?.unwrap_or(now);
    let stale_at = match (moments.optional(wire.stale_at.as_ref(), "/stale_at")?, wire.fresh_seconds) {
        (Some(_), Some(_)) => return Err(Problem::invalid("/stale_at", "send either stale_at or fresh_seconds")),
        (stale_at, None) => stale_at,
        (None, Some(seconds)) => Some(observed_at.plus_seconds(seconds)),
    };
    let key = in_path(name, "/key")?;
    let signal = Signal { key, value: wire.value, observed_at, stale_at, former: Vec::new() };
    let done = call.decide_space(space_id(&id)?, SpaceAction::SetSignal(signal), &body.value).await?;
    let SpaceShown::Signal { signal, accepted } = done.result else { return Err(unexpected()) };
    let signal = shown_signal(signal);
    Ok(Reply::ok(&SignalWire { signal, accepted, assumed_time_zone: moments.assumed() })?.replayed(done.replayed))
}

async fn remove_signal(call: Call, PathIds(id, name): PathIds) -> Result<Reply, Problem> {
    let action = SpaceAction::RemoveSignal(in_path(name, "/key")?);
    let done = call.decide_space(space_id(&id)?, action, &Value::Null).await?;
    Ok(Reply::ok(&json!({"removed": true}))?.replayed(done.replayed))
}

async fn signals(call: Call, PathId(id): PathId) -> Result<Reply, Problem> {
    let signals = call.recorded(call.app.service.signals(&call.caller, &space_id(&id)?).await?).await?;
    let withheld = signals.withheld;
    let signals: Vec<SignalShown> = signals.items.into_iter().map(shown_signal).collect();
    Reply::ok(&json!({"signals": signals, "withheld": withheld}))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemBody {
    item_type: Option<String>,
    content: Value,
    priority: Option<i32>,
    task_id: Option<String>,
    promote_as: Option<String>,
    created_at: Option<Moment>,
    expires_at: Option<Moment>,
}

impl Wire for ItemBody {}

/// An item of the working set for callers.
#[derive(Debug, Serialize)]
struct ItemShown {
    key: String,
    item_type: Option<String>,
    content: Value,
    priority: i32,
    task_id: Option<String>,
    promote_as: Option<String>,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
}

fn shown_item(item: Seen<WorkingItem>) -> ItemShown {
    let shown = !item.redacted();
    let item = item.into_shown();
    ItemShown {
        key: item.key,
        item_type: Some(item.item_type).filter(|_| shown),
        content: item.content,
        priority: item.priority,
        task_id: item.task_id,
        promote_as: item.promote_as,
        created_at: item.created_at,
        expires_at: item.expires_at,
    }
}

/// An item that was set.
#[derive(Debug, Serialize)]
struct ItemWire {
    item: ItemShown,
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed_time_zone: Option<String>,
}

async fn set_item(call: Call, PathIds(id, name): PathIds, body: Body<ItemBody>) -> Result<Reply, Problem> {
    let wire = body.typed;
    stated(&wire.content, "/content")?;
    sized(&wire.content, "/content")?;
    for (value, pointer) in
        [(&wire.item_type, "/item_type"), (&wire.task_id, "/task_id"), (&wire.promote_as, "/promote_as")]
    {
        value.as_ref().map_or(Ok(()), |value| printable(value, pointer, NAME))?;
    }
    let mut moments = Moments::of(&call);
    let now = call.app.service.now();
    let item = WorkingItem {
        key: in_path(name, "/key")?,
        item_type: wire.item_type.unwrap_or_else(|| "context".to_owned()),
        content: wire.content,
        priority: wire.priority.unwrap_or(0),
        task_id: wire.task_id,
        promote_as: wire.promote_as,
        created_at: moments.optional(wire.created_at.as_ref(), "/created_at")?.unwrap_or(now),
        expires_at: moments.optional(wire.expires_at.as_ref(), "/expires_at")?,
    };
    let done = call.decide_space(space_id(&id)?, SpaceAction::SetItem(item), &body.value).await?;
    let SpaceShown::Item { item } = done.result else { return Err(unexpected()) };
    let wire = ItemWire { item: shown_item(item), assumed_time_zone: moments.assumed() };
    Ok(Reply::ok(&wire)?.replayed(done.replayed))
}

async fn remove_item(call: Call, PathIds(id, name): PathIds) -> Result<Reply, Problem> {
    let action = SpaceAction::RemoveItem(in_path(name, "/key")?);
    let done = call.decide_space(space_id(&id)?, action, &Value::Null).await?;
    Ok(Reply::ok(&json!({"removed": true}))?.replayed(done.replayed))
}

async fn items(call: Call, PathId(id): PathId) -> Result<Reply, Problem> {
    let items = call.recorded(call.app.service.working_items(&call.caller, &space_id(&id)?).await?).await?;
    let withheld = items.withheld;
    let items: Vec<ItemShown> = items.items.into_iter().map(shown_item).collect();
    Reply::ok(&json!({"items": items, "withheld": withheld}))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CloseBody {
    promote: Option<Vec<String>>,
}

impl Wire for CloseBody {
    const MAY_BE_EMPTY: bool = true;
}

async fn close(call: Call, PathIds(id, task_id): PathIds, body: Body<CloseBody>) -> Result<Reply, Problem> {
    let promote = body.typed.promote.unwrap_or_default();
    if promote.len() > MANY {
        return Err(Problem::invalid("/promote", format!("must hold at most {MANY}")));
    }
    for (index, key) in promote.iter().enumerate() {
        printable(key, &format!("/promote/{index}"), NAME)?;
    }
    let action = SpaceAction::CloseTask { task_id: in_path(task_id, "/task_id")?, promote };
    let done = call.decide_space(space_id(&id)?, action, &body.value).await?;
    let SpaceShown::Closed { promoted, dropped, effects } = done.result else { return Err(unexpected()) };
    let wire = json!({"promoted": promoted, "dropped": dropped, "effects": EffectsWire::of(effects)});
    Ok(Reply::ok(&wire)?.replayed(done.replayed))
}
