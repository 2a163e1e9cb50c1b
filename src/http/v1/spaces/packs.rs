//! Context packs: what a model should see, within a budget.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::factual::stated;
use super::moment::{Moment, Moments};
use super::observations::MAX_TEXT;
use crate::domain::canonical::canonical;
use crate::domain::id::{FactUid, PackId, SpaceId};
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::http::body::{Body, Object, Size, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId};
use crate::http::problem::{FieldError, Problem};
use crate::http::respond::Reply;
use crate::http::v1::parts::{bounded, printable};
use crate::service::ServiceError;
use crate::service::spaces::{NewPack, PackMade, PackViewer};
use crate::state_layer::assembly::{
    ContextPack, Estimator, Omitted, PackRefusal, SavedPack, Segment, TokenSummary, Turn,
};
use crate::state_layer::decide::MAX_WIDER;
use crate::state_layer::fact::{MAX_VALUE_BYTES, Pointer};
use crate::state_layer::space::Signal;

const COLLECTION: &str = "/v1/context-packs";
const MAKE: Endpoint = Endpoint::query(COLLECTION, &[Scope::FactRead]);
const GET: Endpoint = Endpoint::get("/v1/context-packs/{context_pack_id}", &[Scope::FactRead]);

const TURNS: usize = 200;
/// The most names in a list.
const MANY: usize = 100;
const NAME: usize = 256;
/// The largest budget, in tokens.
const BUDGET: u32 = 1_000_000;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(MAKE, make), Route::new(GET, get)]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ViewerWire {
    user_id: String,
    authority: Option<String>,
    department: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnWire {
    speaker: Option<String>,
    text: String,
    observed_at: Option<Moment>,
}

/// A signal for this request, which is not stored.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FetchedWire {
    key: String,
    value: Value,
    observed_at: Option<Moment>,
    stale_at: Option<Moment>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MakeWire {
    fact_space: SpaceId,
    wider: Option<Vec<SpaceId>>,
    query: String,
    as_of: Option<Moment>,
    known_at: Option<Moment>,
    viewer: Option<Object<ViewerWire>>,
    token_budget: u32,
    facts_share: Option<f64>,
    include: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
    include_superseded: Option<bool>,
    scopes: Option<Vec<String>>,
    recent_turns: Option<Vec<Object<TurnWire>>>,
    environment: Option<Vec<Object<FetchedWire>>>,
    estimator: Option<Estimator>,
    save_frame: Option<bool>,
}

impl Wire for MakeWire {
    const SIZE: Size = Size::Batch;
}

#[derive(Debug, Serialize)]
struct PackWire {
    #[serde(skip_serializing_if = "Option::is_none")]
    pack_id: Option<PackId>,
    as_of: Timestamp,
    context: String,
    segments: Vec<Segment>,
    facts_included: Vec<FactUid>,
    omitted: Vec<Omitted>,
    token_summary: TokenSummary,
    pack_hash: String,
    estimator_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed_time_zone: Option<String>,
}

impl PackWire {
    fn kept(saved: SavedPack) -> Self {
        Self { pack_id: Some(saved.pack_id), created_at: Some(saved.created_at), ..Self::of(saved.pack, saved.as_of) }
    }

    fn of(pack: ContextPack, as_of: Timestamp) -> Self {
        Self {
            pack_id: None,
            as_of,
            context: pack.context,
            segments: pack.segments,
            facts_included: pack.facts_included,
            omitted: pack.omitted,
            token_summary: pack.token_summary,
            pack_hash: pack.pack_hash,
            estimator_id: pack.estimator_id,
            created_at: None,
            assumed_time_zone: None,
        }
    }
}

fn names(names: Option<Vec<String>>, pointer: &str) -> Result<Vec<String>, Problem> {
    let names = names.unwrap_or_default();
    if names.len() > MANY {
        return Err(Problem::invalid(pointer, format!("must hold at most {MANY}")));
    }
    for (index, name) in names.iter().enumerate() {
        printable(name, &format!("{pointer}/{index}"), NAME)?;
    }
    Ok(names)
}

fn pointers(given: Option<Vec<String>>, pointer: &str) -> Result<Vec<Pointer>, Problem> {
    Ok(names(given, pointer)?.into_iter().map(Pointer).collect())
}

fn turns(given: Option<Vec<Object<TurnWire>>>, moments: &mut Moments, as_of: Timestamp) -> Result<Vec<Turn>, Problem> {
    let given = given.unwrap_or_default();
    if given.len() > TURNS {
        return Err(Problem::invalid("/recent_turns", format!("must hold at most {TURNS}")));
    }
    let turns = given.into_iter().enumerate().map(|(index, Object(turn))| {
        let at = |member: &str| format!("/recent_turns/{index}/{member}");
        bounded(Some(&turn.text), &at("text"), MAX_TEXT)?;
        let speaker = turn.speaker.unwrap_or_else(|| "user".to_owned());
        printable(&speaker, &at("speaker"), NAME)?;
        let said = moments.optional(turn.observed_at.as_ref(), &at("observed_at"))?;
        Ok(Turn { speaker, text: turn.text, at: said.unwrap_or(as_of) })
    });
    turns.collect()
}

fn environment(
    given: Option<Vec<Object<FetchedWire>>>,
    moments: &mut Moments,
    as_of: Timestamp,
) -> Result<Vec<Signal>, Problem> {
    let given = given.unwrap_or_default();
    if given.len() > MANY {
        return Err(Problem::invalid("/environment", format!("must hold at most {MANY}")));
    }
    let signals = given.into_iter().enumerate().map(|(index, Object(signal))| {
        let at = |member: &str| format!("/environment/{index}/{member}");
        printable(&signal.key, &at("key"), NAME)?;
        stated(&signal.value, &at("value"))?;
        if canonical(&signal.value).len() > MAX_VALUE_BYTES {
            return Err(Problem::invalid(&at("value"), format!("must be at most {MAX_VALUE_BYTES} bytes of JSON")));
        }
        let observed_at = moments.optional(signal.observed_at.as_ref(), &at("observed_at"))?.unwrap_or(as_of);
        let stale_at = moments.optional(signal.stale_at.as_ref(), &at("stale_at"))?;
        Ok(Signal { key: signal.key, value: signal.value, observed_at, stale_at, former: Vec::new() })
    });
    signals.collect()
}

impl MakeWire {
    fn pack(self, call: &Call, moments: &mut Moments) -> Result<NewPack, Problem> {
        bounded(Some(&self.query), "/query", MAX_TEXT)?;
        if !(1..=BUDGET).contains(&self.token_budget) {
            return Err(Problem::invalid("/token_budget", format!("must lie between 1 and {BUDGET}")));
        }
        if self.facts_share.is_some_and(|share| !(0.05..=0.95).contains(&share)) {
            return Err(Problem::invalid("/facts_share", "must lie between 0.05 and 0.95"));
        }
        let viewer = self.viewer.map(|Object(viewer)| {
            printable(&viewer.user_id, "/viewer/user_id", NAME)?;
            for (value, pointer) in
                [(&viewer.authority, "/viewer/authority"), (&viewer.department, "/viewer/department")]
            {
                value.as_ref().map_or(Ok(()), |value| printable(value, pointer, NAME))?;
            }
            let ViewerWire { user_id, authority, department } = viewer;
            Ok::<_, Problem>(PackViewer { user_id, authority, department })
        });
        if self.wider.as_ref().is_some_and(|wider| wider.len() > MAX_WIDER) {
            return Err(Problem::invalid("/wider", format!("must hold at most {MAX_WIDER}")));
        }
        let as_of = moments.optional(self.as_of.as_ref(), "/as_of")?.unwrap_or_else(|| call.app.service.now());
        Ok(NewPack {
            space_id: self.fact_space,
            wider: self.wider,
            query: self.query,
            as_of: Some(as_of),
            known_at: moments.optional(self.known_at.as_ref(), "/known_at")?,
            viewer: viewer.transpose()?,
            token_budget: self.token_budget,
            facts_share: self.facts_share,
            include: pointers(self.include, "/include")?,
            exclude: pointers(self.exclude, "/exclude")?,
            include_superseded: self.include_superseded.unwrap_or(false),
            scopes: names(self.scopes, "/scopes")?,
            recent_turns: turns(self.recent_turns, moments, as_of)?,
            environment: environment(self.environment, moments, as_of)?,
            estimator: self.estimator.unwrap_or_default(),
            save: self.save_frame.unwrap_or(false),
        })
    }
}

async fn make(call: Call, body: Body<MakeWire>) -> Result<Reply, Problem> {
    let claim = call.claim(&body.value);
    let mut moments = Moments::of(&call);
    let new = body.typed.pack(&call, &mut moments)?;
    let named = (new.include.clone(), new.exclude.clone());
    let made = call.app.service.make_pack(&call.caller, new, claim).await?;
    let made = made.record(&call.app.service, &call.caller).await.map_err(|error| placed(error, &named))?;
    let assumed_time_zone = moments.assumed();
    match made {
        PackMade::Passing { pack, as_of } => {
            Reply::ok(&PackWire { assumed_time_zone, ..PackWire::of(pack.into_shown(), as_of) })
        }
        PackMade::Saved { saved, replayed } => {
            let wire = PackWire { assumed_time_zone, ..PackWire::kept(saved.into_shown()) };
            let id = wire.pack_id.as_ref().map(ToString::to_string).unwrap_or_default();
            Ok(Reply::new(StatusCode::CREATED, &wire)?.replayed(replayed).at(COLLECTION, &id))
        }
    }
}

/// Replaces the name of a fact in a refusal by its place in the body.
fn placed(error: ServiceError, (include, exclude): &(Vec<Pointer>, Vec<Pointer>)) -> Problem {
    let (list, names, name) = match &error {
        ServiceError::NoPack(PackRefusal::CannotInclude { name }) => ("include", include, name),
        ServiceError::NoPack(PackRefusal::CannotExclude { name }) => ("exclude", exclude, name),
        _ => return error.into(),
    };
    let pointer = match names.iter().position(|it| it.0 == *name) {
        Some(index) => format!("/{list}/{index}"),
        None => format!("/{list}"),
    };
    let mut problem = Problem::from(error);
    problem.errors.push(FieldError { pointer, problem: problem.detail.to_string() });
    problem
}

async fn get(call: Call, PathId(id): PathId) -> Result<Reply, Problem> {
    let id = PackId::parse(&id).ok_or_else(|| Problem::not_found("context pack"))?;
    let saved = call.recorded(call.app.service.saved_pack(&call.caller, &id).await?).await?;
    Reply::ok(&PackWire::kept(saved.into_shown()))
}
