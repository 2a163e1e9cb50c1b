//! Answers: JSON with its headers.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::extract::Call;
use super::headers::{IDEMPOTENT_REPLAYED, etag};
use super::problem::Problem;
use crate::domain::idempotency::Claim;
use crate::domain::operation::{Answer, Operation};
use crate::service::{Committed, ServiceError, Unrecorded};

#[derive(Debug)]
pub(crate) struct Reply {
    status: StatusCode,
    body: Vec<u8>,
    headers: HeaderMap,
}

impl Reply {
    /// An answer with this status and body. It must not be cached, because it may contain personal data.
    pub(crate) fn new<T: Serialize>(status: StatusCode, body: &T) -> Result<Self, Problem> {
        let body = serde_json::to_vec(body).map_err(|_| ServiceError::Internal)?;
        let headers = HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        ]);
        Ok(Self { status, body, headers })
    }

    /// 200 with this body.
    pub(crate) fn ok<T: Serialize>(body: &T) -> Result<Self, Problem> {
        Self::new(StatusCode::OK, body)
    }

    fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Adds the `ETag` of a revision.
    pub(crate) fn revision(self, revision: u64) -> Self {
        self.header(ETAG, &etag(revision))
    }

    /// Adds the location of what was created.
    pub(crate) fn at(self, collection: &str, id: &str) -> Self {
        self.header(LOCATION, &format!("{collection}/{id}"))
    }

    /// Adds the mark of a replay, if it is one.
    pub(crate) fn replayed(self, replayed: bool) -> Self {
        if replayed { self.header(IDEMPOTENT_REPLAYED, "true") } else { self }
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

impl Call {
    /// Submits an operation. A replayed refusal is marked as a replay too.
    pub(crate) async fn decide(
        &self,
        operation: Operation,
        claim: Option<Claim>,
    ) -> Result<Committed<Answer>, Problem> {
        accepted(self.app.service.decide(&self.caller, operation, claim).await?, ServiceError::Refused)
    }

    /// Records the caller's read, and then returns the result.
    pub(crate) async fn recorded<T>(&self, found: Unrecorded<T>) -> Result<T, Problem> {
        Ok(found.record(&self.app.service, &self.caller).await?)
    }
}

/// The answer to a decision, or the problem for a refusal. A replayed refusal is marked as a replay too.
pub(crate) fn accepted<A, R>(
    decided: Committed<Result<A, R>>,
    refusal: fn(R) -> ServiceError,
) -> Result<Committed<A>, Problem> {
    decided.accepted().map_err(|refused| {
        let problem = Problem::from(refusal(refused.result));
        if refused.replayed { problem.header(IDEMPOTENT_REPLAYED, "true") } else { problem }
    })
}

/// The answer has another kind than the operation, which is a bug.
pub(crate) fn unexpected() -> Problem {
    tracing::error!("an operation returned an answer of the wrong kind; this is a bug in the server");
    ServiceError::Internal.into()
}
