//! The rights of persons: `POST /v1/privacy/erasures`, `GET /v1/privacy/erasures/{erasure_id}`,
//! `POST /v1/privacy/exports`.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::parts::printable;
use crate::domain::canonical::canonical;
use crate::domain::id::{ErasureId, PersonId, PrincipalId};
use crate::domain::principal::{Alias, AliasKind};
use crate::domain::query::Position;
use crate::domain::scope::Scope;
use crate::http::body::{Body, Object, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId};
use crate::http::paging;
use crate::http::problem::{Problem, is_plain_name};
use crate::http::respond::Reply;
use crate::service::ServiceError;
use crate::service::privacy::{Erase, ErasureShown, ExportPlace, Exported, Selector};

const ERASE: Endpoint = Endpoint::post("/v1/privacy/erasures", &[Scope::PrivacyErase]);
const ERASURE: Endpoint = Endpoint::get("/v1/privacy/erasures/{erasure_id}", &[Scope::PrivacyErase]);
const EXPORT: Endpoint = Endpoint::post("/v1/privacy/exports", &[Scope::PrivacyErase]);
const LIST: &str = "exports";

/// The longest external name.
const MAX_ALIAS: usize = 256;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(ERASE, erase), Route::new(ERASURE, erasure), Route::new(EXPORT, export)]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AliasWire {
    kind: AliasKind,
    value: String,
}

/// A person, by exactly one name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubjectWire {
    actor_id: Option<PrincipalId>,
    alias: Option<Object<AliasWire>>,
    person_id: Option<PersonId>,
}

impl SubjectWire {
    fn selector(self) -> Result<Selector, Problem> {
        match (self.actor_id, self.alias, self.person_id) {
            (Some(id), None, None) => Ok(Selector::Actor(id)),
            (None, Some(Object(alias)), None) => {
                printable(&alias.value, "/subject/alias/value", MAX_ALIAS)?;
                Ok(Selector::Alias(Alias { kind: alias.kind, value: alias.value }))
            }
            (None, None, Some(id)) => Ok(Selector::Person(id)),
            _ => Err(Problem::invalid("/subject", "must have exactly one of actor_id, alias and person_id")),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EraseWire {
    subject: Object<SubjectWire>,
    dry_run: bool,
    reason: Option<String>,
}

impl Wire for EraseWire {}

/// What an erasure would erase.
#[derive(Debug, Serialize)]
struct SurveyWire {
    dry_run: bool,
    counts: std::collections::BTreeMap<String, u64>,
    obstacles: Vec<&'static str>,
}

/// The result of an erasure.
#[derive(Debug, Serialize)]
struct ErasedWire {
    #[serde(flatten)]
    shown: ErasureShown,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject_salt: Option<String>,
}

async fn erase(call: Call, body: Body<EraseWire>) -> Result<Reply, Problem> {
    let named = body.value.get("subject").cloned().unwrap_or(Value::Null);
    let EraseWire { subject: Object(subject), dry_run, reason } = body.typed;
    let selector = subject.selector()?;
    if let Some(reason) = &reason
        && !is_plain_name(reason)
    {
        return Err(Problem::invalid("/reason", "must be a word of lower-case letters and underscores: it is kept"));
    }
    let (service, caller) = (call.app.service.clone(), call.caller.clone());
    if dry_run {
        let survey = call.recorded(service.survey_subject(&caller, &selector).await?).await?;
        let obstacles = if survey.held { vec!["legal_hold"] } else { Vec::new() };
        return Reply::ok(&SurveyWire { dry_run, counts: survey.counts, obstacles });
    }
    let key = call.key().ok_or_else(Problem::key_missing)?.to_owned();
    let asked = Erase { selector, named, key, reason };
    // A separate task, so that the erasure continues if the caller disconnects. A repeated request with the same key
    // finds it.
    let work = tokio::spawn(async move { service.erase_subject(&caller, &asked).await });
    let erased = work.await.map_err(|_| ServiceError::Internal)??;
    let status = if erased.replayed { StatusCode::OK } else { StatusCode::CREATED };
    let id = erased.shown.erasure_id.to_string();
    let subject_salt = erased.subject_salt.map(|salt| salt.to_hex());
    let reply = Reply::new(status, &ErasedWire { shown: erased.shown, subject_salt })?;
    Ok(reply.at("/v1/privacy/erasures", &id).replayed(erased.replayed))
}

async fn erasure(call: Call, PathId(id): PathId) -> Result<Reply, Problem> {
    let id = ErasureId::parse(&id).ok_or_else(|| Problem::not_found("erasure"))?;
    Reply::ok(&call.recorded(call.app.service.erasure(&call.caller, &id).await?).await?)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportWire {
    subject: Object<SubjectWire>,
    cursor: Option<String>,
}

impl Wire for ExportWire {}

#[derive(Debug, Serialize)]
struct ExportPageWire {
    items: Vec<Exported>,
    next_cursor: Option<String>,
}

async fn export(call: Call, body: Body<ExportWire>) -> Result<Reply, Problem> {
    let ExportWire { subject: Object(subject), cursor } = body.typed;
    let selector = subject.selector()?;
    let from = match paging::position(&call.caller, LIST, cursor.as_deref())? {
        Some(position) => serde_json::from_str(&position.id).map_err(|_| ServiceError::Internal)?,
        None => ExportPlace::default(),
    };
    let page = call.recorded(call.app.service.export_subject(&call.caller, &selector, from).await?).await?;
    let next_cursor = page.next.map(|place| {
        let id = String::from_utf8(canonical(&json!(place))).unwrap_or_default();
        paging::cursor(&call.caller, LIST, Position { micros: 0, id })
    });
    Reply::ok(&ExportPageWire { items: page.items, next_cursor })
}
