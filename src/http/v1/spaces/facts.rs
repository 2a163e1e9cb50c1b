//! Changing facts: write one or many, replace, restore, delete.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::factual::{FactBody, stated};
use super::moment::Moments;
use super::view::{EffectsWire, FactWire};
use super::{fact_uid, space_id};
use crate::domain::operation::CredentialKind;
use crate::domain::scope::Scope;
use crate::http::body::{Body, Object, Size, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId, PathIds};
use crate::http::problem::Problem;
use crate::http::respond::{Reply, unexpected};
use crate::http::v1::parts::printable;
use crate::service::Committed;
use crate::service::spaces::SpaceShown;
use crate::state_layer::decide::MAX_WRITE_FACTS;
use crate::state_layer::fact::{Pointer, Source};
use crate::state_layer::operation::{NewFact, SpaceAction};

const WRITE: Endpoint =
    Endpoint::post("/v1/fact-spaces/{fact_space}/facts", &[Scope::FactWrite]).for_agents().with_key();
const BATCH: Endpoint =
    Endpoint::post("/v1/fact-spaces/{fact_space}/facts/batch", &[Scope::FactWrite]).for_agents().with_key();
const SUPERSEDE: Endpoint =
    Endpoint::post("/v1/fact-spaces/{fact_space}/facts/{fact_uid}/supersede", &[Scope::FactWrite])
        .for_agents()
        .with_key();
const RESTORE: Endpoint =
    Endpoint::post("/v1/fact-spaces/{fact_space}/facts/{fact_uid}/restore", &[Scope::FactWrite]).with_key();
const DELETE: Endpoint =
    Endpoint::delete("/v1/fact-spaces/{fact_space}/facts/{fact_uid}", &[Scope::FactWrite]).for_agents();

const REASON: usize = 1024;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(WRITE, write),
        Route::new(BATCH, batch),
        Route::new(SUPERSEDE, supersede),
        Route::new(RESTORE, restore),
        Route::new(DELETE, delete),
    ]
}

impl Wire for FactBody {}

/// One fact and its side effects.
#[derive(Debug, Serialize)]
struct WrittenWire {
    fact: FactWire,
    effects: EffectsWire,
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed_time_zone: Option<String>,
}

/// Many facts and their side effects.
#[derive(Debug, Serialize)]
struct ManyWrittenWire {
    facts: Vec<FactWire>,
    effects: EffectsWire,
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed_time_zone: Option<String>,
}

async fn write(call: Call, PathId(id): PathId, body: Body<FactBody>) -> Result<Reply, Problem> {
    let mut moments = Moments::of(&call);
    let fact = body.typed.fact(&mut moments, "")?;
    let done = call.decide_space(space_id(&id)?, SpaceAction::Write(vec![fact]), &body.value).await;
    written(StatusCode::CREATED, done.map_err(alone)?, moments.assumed())
}

/// Moves an error's pointer: a refusal names a fact in a batch, but here the fact is the body.
fn alone(mut problem: Problem) -> Problem {
    problem.detail = problem.detail.replace("facts[0].", "").replace("facts[0]", "the fact").into_boxed_str();
    for error in &mut problem.errors {
        if let Some(rest) = error.pointer.strip_prefix("/facts/0") {
            error.pointer = rest.to_owned();
        }
    }
    problem
}

fn written(status: StatusCode, done: Committed<SpaceShown>, assumed: Option<String>) -> Result<Reply, Problem> {
    let SpaceShown::Facts { mut facts, effects } = done.result else { return Err(unexpected()) };
    let fact = facts.pop().ok_or_else(unexpected)?;
    let (fact, effects) = (FactWire::of(fact, Vec::new()), EffectsWire::of(effects));
    let wire = WrittenWire { fact, effects, assumed_time_zone: assumed };
    Ok(Reply::new(status, &wire)?.replayed(done.replayed))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchWire {
    facts: Vec<Object<FactBody>>,
}

impl Wire for BatchWire {
    const SIZE: Size = Size::Batch;
}

async fn batch(call: Call, PathId(id): PathId, body: Body<BatchWire>) -> Result<Reply, Problem> {
    let given = body.typed.facts;
    if given.is_empty() || given.len() > MAX_WRITE_FACTS {
        let problem = format!("must hold 1 to {MAX_WRITE_FACTS} facts: write more in parts, in the same order");
        return Err(Problem::invalid("/facts", problem));
    }
    let mut moments = Moments::of(&call);
    let facts = given.into_iter().enumerate();
    let facts: Result<Vec<NewFact>, Problem> =
        facts.map(|(index, Object(fact))| fact.fact(&mut moments, &format!("/facts/{index}"))).collect();
    let done = call.decide_space(space_id(&id)?, SpaceAction::Write(facts?), &body.value).await?;
    let SpaceShown::Facts { facts, effects } = done.result else { return Err(unexpected()) };
    let wire = ManyWrittenWire {
        facts: facts.into_iter().map(|fact| FactWire::of(fact, Vec::new())).collect(),
        effects: EffectsWire::of(effects),
        assumed_time_zone: moments.assumed(),
    };
    Ok(Reply::new(StatusCode::CREATED, &wire)?.replayed(done.replayed))
}

/// A value that replaces another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SupersedeWire {
    value: Value,
    reason: Option<String>,
    authority: Option<String>,
}

impl Wire for SupersedeWire {}

async fn supersede(call: Call, PathIds(id, uid): PathIds, body: Body<SupersedeWire>) -> Result<Reply, Problem> {
    let (space_id, uid) = (space_id(&id)?, fact_uid(&uid)?);
    let wire = body.typed;
    reason(wire.reason.as_ref())?;
    wire.authority.as_ref().map_or(Ok(()), |authority| printable(authority, "/authority", 256))?;
    stated(&wire.value, "/value")?;
    // Key and scope of a fact never change, so they may be read before the lock is held.
    let old = call.app.service.reach_of(&call.caller, &space_id, &uid).await?;
    let fact = NewFact {
        label: None,
        key: old.key,
        value: wire.value,
        source: Source { kind: "state_write".to_owned(), authority: wire.authority, ..Source::default() },
        at: None,
        scope: Some(old.scope),
        scope_id: old.scope_id,
        memory_type: Some(old.memory_type),
        abstraction: old.abstraction,
        is_constraint: None,
        constraint_type: None,
        restricted_to: old.restricted_to,
        supersedes: Some(Pointer(uid.as_str().to_owned())),
        reason: wire.reason,
        depends_on: Vec::new(),
        require_targets: true,
    };
    let done = call.decide_space(space_id, SpaceAction::Write(vec![fact]), &body.value).await;
    written(StatusCode::CREATED, done.map_err(alone)?, None)
}

fn reason(given: Option<&String>) -> Result<(), Problem> {
    given.map_or(Ok(()), |reason| printable(reason, "/reason", REASON))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RestoreWire {
    reason: String,
}

impl Wire for RestoreWire {}

async fn restore(call: Call, PathIds(id, uid): PathIds, body: Body<RestoreWire>) -> Result<Reply, Problem> {
    reason(Some(&body.typed.reason))?;
    let action = SpaceAction::Restore { uid: fact_uid(&uid)?, reason: body.typed.reason };
    let done = call.decide_space(space_id(&id)?, action, &body.value).await?;
    written(StatusCode::OK, done, None)
}

async fn delete(call: Call, PathIds(id, uid): PathIds) -> Result<Reply, Problem> {
    let reason = match call.caller.kind {
        CredentialKind::Agent => "deleted at the wish of whose memory it is",
        _ => "deleted on request",
    };
    let action = SpaceAction::Delete { uid: fact_uid(&uid)?, reason: reason.to_owned() };
    let done = call.decide_space(space_id(&id)?, action, &Value::Null).await?;
    written(StatusCode::OK, done, None)
}
