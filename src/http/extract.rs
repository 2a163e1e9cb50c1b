//! The caller, its rights and its `Idempotency-Key`, checked in the same order for every endpoint.

use std::sync::{Arc, OnceLock};

use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde_json::{Value, json};

use super::App;
use super::endpoint::{CheckedBy, Endpoint};
use super::headers::{idempotency_key, if_match, presented_key};
use super::problem::Problem;
use crate::domain::canonical::{Purpose, canonical};
use crate::domain::idempotency::Claim;
use crate::domain::operation::CredentialKind;
use crate::domain::refusal::Refusal;
use crate::service::{Caller, ServiceError};

/// The caller's ids for the log, set once they are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trail(Arc<OnceLock<(String, String)>>);

impl Trail {
    fn mark(&self, caller: &Caller) {
        // A request has one caller, so a second call would set the same.
        drop(self.0.set((caller.tenant.tenant_id.to_string(), caller.key_id.to_string())));
    }

    pub(crate) fn seen(&self) -> Option<&(String, String)> {
        self.0.get()
    }
}

/// An authenticated, authorised call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) app: App,
    pub(crate) caller: Caller,
    /// The revision named by `If-Match`.
    pub(crate) if_match: Option<u64>,
    key: Option<String>,
    method: String,
    path: String,
}

impl FromRequestParts<App> for Call {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let endpoint = *parts.extensions.get::<Endpoint>().ok_or(ServiceError::Internal)?;
        let presented = presented_key(&parts.headers).ok_or_else(Problem::unauthenticated)?;
        let caller = app.service.authenticate(&presented).await?;
        if let Some(trail) = parts.extensions.get::<Trail>() {
            trail.mark(&caller);
        }
        if app.config.rate_limits {
            app.rates.check(&caller, &app.service.rules())?;
        }
        if caller.kind == CredentialKind::Agent && !endpoint.for_agents {
            return Err(Refusal::NotForAgents.into());
        }
        require_any(&caller, &endpoint)?;
        if !endpoint.takes_query && parts.uri.query().is_some_and(|query| !query.is_empty()) {
            return Err(Problem::new(
                StatusCode::BAD_REQUEST,
                "unknown_parameter",
                "this operation takes no query parameters; send what it takes in the body",
            ));
        }
        let key = idempotency_key(&parts.headers)?;
        if key.is_none() && endpoint.needs_key {
            return Err(Problem::key_missing());
        }
        let if_match = if_match(&parts.headers)?;
        let (method, path) = (parts.method.to_string(), parts.uri.path().to_owned());
        Ok(Self { app: app.clone(), caller, if_match, key, method, path })
    }
}

fn require_any(caller: &Caller, endpoint: &Endpoint) -> Result<(), Problem> {
    let Some(first) = endpoint.scopes.first() else { return Ok(()) };
    let allowed = endpoint.scopes.iter().any(|scope| caller.scopes.contains(scope));
    if allowed || endpoint.checked_by == CheckedBy::UseCase {
        return Ok(());
    }
    Err(ServiceError::MissingScope(*first).into())
}

impl Call {
    /// The idempotency row of this request, if it has a key.
    ///
    /// A key belongs to the kind and the principal of the caller: two people who tap the same button decide twice. It
    /// does not belong to the credential, so that a client with a new credential can still repeat its request.
    pub(crate) fn claim(&self, body: &Value) -> Option<Claim> {
        let key = self.key.as_ref()?;
        let request = json!({"method": self.method, "path": self.path, "body": body, "if_match": self.if_match});
        let owned = json!({"kind": self.caller.kind, "principal_id": self.caller.principal_id, "key": key});
        Some(Claim {
            key: self.caller.keyed(Purpose::Request, &canonical(&owned)),
            request: self.caller.keyed(Purpose::Request, &canonical(&request)),
        })
    }

    /// The `Idempotency-Key` as it was sent.
    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The revision that a change must name.
    pub(crate) fn required_revision(&self) -> Result<u64, Problem> {
        self.if_match.ok_or_else(|| {
            Problem::new(
                StatusCode::PRECONDITION_REQUIRED,
                "if_match_missing",
                "send If-Match with the ETag of the representation that the change is based on",
            )
        })
    }
}

/// The two ids in the path, as text.
pub(crate) struct PathIds(pub(crate) String, pub(crate) String);

impl FromRequestParts<App> for PathIds {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        match Path::<(String, String)>::from_request_parts(parts, app).await {
            Ok(Path((first, second))) => Ok(Self(first, second)),
            Err(_) => Err(Problem::not_found("record")),
        }
    }
}

/// The one id in the path, as text. An id that is not well-formed is a record that does not exist.
pub(crate) struct PathId(pub(crate) String);

impl FromRequestParts<App> for PathId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        match Path::<String>::from_request_parts(parts, app).await {
            Ok(Path(id)) => Ok(Self(id)),
            Err(_) => Err(Problem::not_found("record")),
        }
    }
}
