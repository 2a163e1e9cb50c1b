//! Problems (RFC 9457): every way in which a request fails, each with a status and a stable code.
//!
//! A detail says what to do. It never repeats a request's content, which may have people's names and numbers.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::domain::refusal::Refusal;
use crate::domain::slots::SlotError;
use crate::service::ServiceError;
use crate::service::transparency::CosignRefusal;
use crate::state_layer::refusal::SpaceRefusal;
use crate::state_layer::request::Refused;

/// The media type of a problem.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";
/// The default time after which to try again, in seconds.
pub(crate) const RETRY_SECONDS: u32 = 1;
/// The longest wait that callers are asked for, in seconds: a wrong clock may be corrected at any time.
const LONGEST_PAUSE_SECONDS: u32 = 60;

/// One wrong place in the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FieldError {
    /// A JSON pointer into the body.
    pub(crate) pointer: String,
    /// What would be valid there.
    pub(crate) problem: String,
}

impl FieldError {
    /// A member that is missing; its place is still to be said.
    pub(crate) fn required() -> Self {
        Self { pointer: String::new(), problem: "is required".to_owned() }
    }
}

/// Why a request failed.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: Cow<'static, str>,
    pub(crate) detail: Box<str>,
    /// The wrong places in the body, if any.
    pub(crate) errors: Vec<FieldError>,
    pub(crate) members: Map<String, Value>,
    /// Headers that belong to it.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem with a code of the HTTP layer.
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code: Cow::Borrowed(code),
            detail: detail.into().into_boxed_str(),
            errors: Vec::new(),
            members: Map::new(),
            headers: Vec::new(),
        }
    }

    /// An invalid value, with its place in the body.
    pub(crate) fn invalid(pointer: &str, problem: impl Into<String>) -> Self {
        Self::field("invalid_value", "a value in the body is invalid; see errors", pointer, problem)
    }

    /// A missing member, with its place in the body.
    pub(crate) fn missing(pointer: &str) -> Self {
        Self::field("missing_field", "the body lacks a member; see errors", pointer, FieldError::required().problem)
    }

    /// A problem with one place in the body.
    pub(crate) fn field(code: &'static str, detail: &'static str, pointer: &str, problem: impl Into<String>) -> Self {
        let mut this = Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail);
        this.errors.push(FieldError { pointer: pointer.to_owned(), problem: problem.into() });
        this
    }

    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    pub(crate) fn member(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// The answer to every key that is not accepted, whatever the reason.
    pub(crate) fn unauthenticated() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "unauthenticated",
            "send a working API key of this server as `Authorization: Bearer cscp_…`",
        )
        .header(WWW_AUTHENTICATE, "Bearer realm=\"cscp\"")
    }

    /// The answer to a change that needs an `Idempotency-Key`.
    pub(crate) fn key_missing() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "idempotency_key_missing",
            "send an Idempotency-Key header: a fresh one per request, the same one when you repeat it",
        )
    }

    /// The answer for a record that does not exist for this tenant.
    pub(crate) fn not_found(what: &'static str) -> Self {
        match what {
            "context" => Refusal::ContextNotFound.into(),
            "confirmation" | "approval" | "disambiguation" => Refusal::ItemNotFound.into(),
            "command" => Refusal::CommandNotFound.into(),
            "fact" => SpaceRefusal::FactNotFound.into(),
            "fact space" => SpaceRefusal::SpaceNotFound.into(),
            _ => Self::new(StatusCode::NOT_FOUND, "not_found", format!("there is no such {what}")),
        }
    }

    pub(crate) fn to_value(&self, request_id: Option<&str>) -> Value {
        let mut body = self.members.clone();
        body.insert("type".to_owned(), json!(format!("urn:cscp:problem:{}", self.code)));
        body.insert("title".to_owned(), json!(title(&self.code)));
        body.insert("status".to_owned(), json!(self.status.as_u16()));
        body.insert("detail".to_owned(), json!(self.detail));
        body.insert("code".to_owned(), json!(self.code));
        if !self.errors.is_empty() {
            body.insert("errors".to_owned(), json!(self.errors));
        }
        if let Some(request_id) = request_id {
            body.insert("request_id".to_owned(), json!(request_id));
        }
        Value::Object(body)
    }

    /// The response; the outermost layer adds the request's id.
    pub(crate) fn response(&self, request_id: Option<&str>) -> Response {
        let mut response = Response::new(Body::from(self.to_value(request_id).to_string()));
        *response.status_mut() = self.status;
        response.headers_mut().extend(self.headers.clone());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        response
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.response(None);
        response.extensions_mut().insert(self);
        response
    }
}

/// Makes a title from a code: `question_pending` becomes "Question pending".
fn title(code: &str) -> String {
    let mut text = code.replace('_', " ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        let detail = error.to_string();
        match error {
            ServiceError::Unauthenticated => Self::unauthenticated(),
            ServiceError::MissingScope(scope) => {
                Self::new(StatusCode::FORBIDDEN, "scope_denied", detail).member("scope", scope.as_str())
            }
            ServiceError::NotFound(what) => Self::not_found(what),
            ServiceError::Refused(refusal) | ServiceError::SpaceRefused(Refused::Core(refusal)) => refusal.into(),
            ServiceError::SpaceRefused(Refused::Space(refusal)) => refusal.into(),
            ServiceError::NoPack(refusal) => refusal.into(),
            ServiceError::NotInLogYet => Self::new(StatusCode::CONFLICT, "not_in_log_yet", detail)
                .header(RETRY_AFTER, &RETRY_SECONDS.to_string()),
            ServiceError::NotCosignedYet => Self::new(StatusCode::NOT_FOUND, "not_cosigned_yet", detail),
            ServiceError::NotCosigned(refusal) => refused_cosignature(&refusal, detail),
            ServiceError::LegalHold => Self::new(StatusCode::CONFLICT, "legal_hold", detail),
            ServiceError::SubjectAmbiguous => Self::new(StatusCode::CONFLICT, "subject_ambiguous", detail),
            ServiceError::KeyNamesSubject => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_personal", detail)
            }
            ServiceError::OtherViewer => Self::new(StatusCode::FORBIDDEN, "viewer_not_allowed", detail),
            ServiceError::NotPermitted => Self::new(StatusCode::FORBIDDEN, "not_permitted", detail),
            ServiceError::DetailNotAllowed => Self::new(StatusCode::FORBIDDEN, "detail_not_allowed", detail),
            ServiceError::Busy { retry_after_seconds } => Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
                .header(RETRY_AFTER, &retry_after_seconds.to_string())
                .member("retry_after_seconds", retry_after_seconds),
            ServiceError::ClockBehind { seconds } => {
                let pause = seconds.clamp(1, LONGEST_PAUSE_SECONDS);
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "clock_behind", detail)
                    .header(RETRY_AFTER, &pause.to_string())
                    .member("retry_after_seconds", pause)
            }
            ServiceError::Unavailable => Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
                .header(RETRY_AFTER, &RETRY_SECONDS.to_string()),
            ServiceError::Internal => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail),
        }
    }
}

fn refused_cosignature(refusal: &CosignRefusal, detail: String) -> Problem {
    let (status, code) = match refusal {
        CosignRefusal::Malformed => (StatusCode::UNPROCESSABLE_ENTITY, "not_a_checkpoint"),
        CosignRefusal::UnknownCheckpoint => (StatusCode::CONFLICT, "unknown_checkpoint"),
        CosignRefusal::Stranger => (StatusCode::UNPROCESSABLE_ENTITY, "unknown_witness"),
        CosignRefusal::Forged(_) => (StatusCode::UNPROCESSABLE_ENTITY, "cosignature_invalid"),
        CosignRefusal::Missing => (StatusCode::UNPROCESSABLE_ENTITY, "cosignature_missing"),
    };
    Problem::new(status, code, detail)
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let mut problem = Self::new(status_of(&refusal), "", refusal.to_string());
        problem.code = Cow::Owned(refusal.code());
        describe(&refusal, &mut problem);
        problem
    }
}

fn status_of(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::ContextNotFound | Refusal::ItemNotFound | Refusal::CommandNotFound => StatusCode::NOT_FOUND,
        Refusal::ContextAlreadyOpen { .. }
        | Refusal::ContextExpired
        | Refusal::ContextClosed
        | Refusal::ContextBlocked
        | Refusal::InvalidTransition { .. }
        | Refusal::QuestionPending { .. }
        | Refusal::ItemNotOpen { .. }
        | Refusal::PromptAlreadyAttached
        | Refusal::TooManyPrompts
        | Refusal::IdentityChanged
        | Refusal::AlreadyDecided { .. }
        | Refusal::ItemExpired
        | Refusal::ItemVoided { .. }
        | Refusal::ConfirmationRequired
        | Refusal::ConfirmationExpired { .. }
        | Refusal::ApprovalRequired { .. }
        | Refusal::ApprovalExpired { .. }
        | Refusal::TargetMismatch
        | Refusal::AlreadyBound { .. }
        | Refusal::CommandBound { .. }
        | Refusal::IdempotencyKeyBound { .. }
        | Refusal::CommandErased
        | Refusal::CommandAskedElsewhere { .. }
        | Refusal::ExecutionNotUnknown { .. }
        | Refusal::AlreadyTakenOver
        | Refusal::UnknownAttempt
        | Refusal::CommandConflict
        | Refusal::AttemptIdReused
        | Refusal::TooManyResults => StatusCode::CONFLICT,
        Refusal::RevisionMismatch { .. } => StatusCode::PRECONDITION_FAILED,
        Refusal::Slot { problem: SlotError::NotForAgents, .. }
        | Refusal::ApproverNotEntitled
        | Refusal::NotForAgents => StatusCode::FORBIDDEN,
        Refusal::Slot { .. }
        | Refusal::Extension { .. }
        | Refusal::MessageIdReused
        | Refusal::IdempotencyKeyReused
        | Refusal::UnknownMessage { .. }
        | Refusal::Prompt(_)
        | Refusal::TargetRequired { .. }
        | Refusal::TargetFieldMissing { .. }
        | Refusal::FingerprintNotAccepted
        | Refusal::OptionsAmbiguous
        | Refusal::ApprovalNotNeeded
        | Refusal::PromptTimeImpossible
        | Refusal::LimitExceeded { .. } => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

/// Adds the members that only some refusals have.
fn describe(refusal: &Refusal, problem: &mut Problem) {
    let mut member = |name: &str, value: Value| drop(problem.members.insert(name.to_owned(), value));
    match refusal {
        Refusal::ContextAlreadyOpen { context_id } => member("context_id", json!(context_id)),
        Refusal::QuestionPending { item_id } => member("item_id", json!(item_id)),
        Refusal::CommandAskedElsewhere { item_id, state } => {
            member("item_id", json!(item_id));
            member("state", json!(state));
        }
        Refusal::AlreadyBound { execution, report_by } | Refusal::ExecutionNotUnknown { execution, report_by } => {
            member("execution", json!(execution));
            member("report_by", json!(report_by));
        }
        Refusal::CommandBound { execution, outcome } | Refusal::IdempotencyKeyBound { execution, outcome } => {
            member("execution", json!(execution));
            member("outcome", json!(outcome));
        }
        Refusal::RevisionMismatch { revision } => member("revision", json!(revision)),
        Refusal::InvalidTransition { from, event, reason } => {
            member("from", json!(from));
            member("event", json!(event));
            member("reason", json!(reason));
        }
        Refusal::ItemNotOpen { state } | Refusal::AlreadyDecided { state } => member("state", json!(state)),
        Refusal::ItemVoided { reason } => member("reason", json!(reason)),
        Refusal::ConfirmationExpired { bind_by } | Refusal::ApprovalExpired { bind_by } => {
            member("bind_by", json!(bind_by));
        }
        Refusal::ApprovalRequired { role } => member("role", json!(role)),
        Refusal::TargetRequired { class } => member("safety_class", json!(class)),
        Refusal::TargetFieldMissing { field } => member("field", json!(field)),
        Refusal::LimitExceeded { limit } => member("limit", json!(limit)),
        Refusal::UnknownMessage { index } => {
            let pointer = format!("/message_ids/{index}");
            problem.errors.push(FieldError { pointer, problem: "is not a message of this conversation".to_owned() });
        }
        Refusal::Prompt(error) => {
            let pointer = format!("/prompt{}", error.field);
            problem.errors.push(FieldError { pointer, problem: error.problem.clone() });
        }
        Refusal::Extension { name, problem: why } => {
            let pointer = if is_plain_name(name) { format!("/extensions/{name}") } else { "/extensions".to_owned() };
            problem.errors.push(FieldError { pointer, problem: why.to_string() });
        }
        Refusal::Slot { slot, problem: why } => {
            // A name chosen by a caller may contain anything.
            if is_plain_name(slot) {
                problem.errors.push(FieldError { pointer: format!("/{slot}"), problem: why.to_string() });
            } else {
                problem.detail = format!("a slot was refused: {why}").into_boxed_str();
            }
        }
        _ => {}
    }
}

/// Whether a name chosen by a caller may be repeated: an identifier, and not a person's number.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    let word = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    (1..=64).contains(&name.len()) && word && digits < 5 && !name.starts_with(|c: char| c.is_ascii_digit())
}

mod spaces;

#[cfg(test)]
#[path = "problem_tests.rs"]
mod tests;
