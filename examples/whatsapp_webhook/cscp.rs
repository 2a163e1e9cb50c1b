//! The cscp client: a few calls, and one distinction that matters.
//!
//! A refusal (4xx about what was sent) will not improve by repeating, so it is logged by its code and the rest goes
//! on. Anything else (no answer, 5xx, 429, and a wrong key or address, which is this handler's fault and not the
//! message's) is [`Unavailable`]: the webhook then answers 503, Meta delivers again, and cscp knows the repeats.

use std::time::Duration;

use reqwest::{Client, Method, StatusCode, Url, redirect};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::event::MessageEvent;

/// The most that `POST /v1/messages/batch` takes.
pub(crate) const BATCH: usize = 1_000;

/// The most that one page of a list holds.
const PAGE: usize = 200;

/// Well under what any source says Meta waits.
const TIMEOUT: Duration = Duration::from_secs(3);

/// It could not be done now. Try again later; nothing was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unavailable {
    #[error("no answer")]
    NoAnswer,
    #[error("status {0}")]
    Status(u16),
    #[error("an answer that is not the documented one")]
    Unexpected,
    #[error("the journal cannot be written")]
    Journal,
    #[error("it is not known yet whether a command was executed")]
    Unknown,
}

impl Unavailable {
    /// Whether the next call would fare no better. Otherwise it may be about this one message, and the others need
    /// not wait for it.
    pub(crate) fn is_total(self) -> bool {
        !matches!(self, Self::Unexpected | Self::Unknown | Self::Status(500))
    }
}

/// cscp understood and said no.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Refusal {
    #[serde(default)]
    pub(crate) status: u16,
    #[serde(default)]
    pub(crate) code: String,
}

impl Refusal {
    /// The code, for a log: a code is snake case, and nothing else may be carried into a log line by its place.
    pub(crate) fn name(&self) -> &str {
        let is_code =
            |code: &str| (1..=64).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        if is_code(&self.code) { &self.code } else { "unrecognised" }
    }
}

/// Why a call brought nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    Unavailable(Unavailable),
    Refused(Refusal),
}

impl From<Unavailable> for Failure {
    fn from(unavailable: Unavailable) -> Self {
        Self::Unavailable(unavailable)
    }
}

/// A command that was bound or taken over. An answer without one of these members does not count as one.
#[derive(Debug, Deserialize)]
pub(crate) struct Bound {
    /// What it was based on, for the command's envelope.
    pub(crate) context_ref: Value,
    /// Whether to execute it now: the one leave to do so.
    pub(crate) execute: bool,
}

/// A bound command on which nobody reported in time.
#[derive(Debug, Deserialize)]
pub(crate) struct Unreported {
    pub(crate) command_id: String,
    pub(crate) command_name: String,
    pub(crate) idempotency_key: String,
    pub(crate) execution: Execution,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Execution {
    /// The attempt that owns it until somebody takes over.
    pub(crate) attempt_id: String,
}

#[derive(Deserialize)]
struct CommandPage {
    items: Vec<Unreported>,
    next_cursor: Option<String>,
}

/// What a message meant. Members that this handler does not use are left out.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    #[serde(default)]
    pub(crate) context: Option<ContextState>,
    #[serde(default)]
    pub(crate) duplicate: bool,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) code: String,
    #[serde(default)]
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) next: String,
    #[serde(default)]
    pub(crate) confirmation: Option<Confirmation>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Confirmation {
    pub(crate) confirmation_id: String,
    pub(crate) command_id: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ContextState {
    pub(crate) context_id: String,
}

/// A question that cscp has registered.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Asked {
    pub(crate) confirmation_id: String,
    /// In the order of `prompt.buttons`.
    pub(crate) button_ids: Vec<String>,
}

#[derive(Deserialize)]
struct BatchAnswer {
    results: Vec<BatchResult>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum BatchResult {
    Answer(Answer),
    Problem(Refusal),
}

/// A client of one cscp, with one API key.
#[derive(Clone)]
pub(crate) struct Cscp {
    http: Client,
    base: Url,
    key: String,
}

impl Cscp {
    /// The key goes to `base` and nowhere else: no proxy from the environment, no redirect.
    pub(crate) fn new(base: Url, key: String) -> Result<Self, reqwest::Error> {
        let http = Client::builder().no_proxy().redirect(redirect::Policy::none()).timeout(TIMEOUT).build()?;
        Ok(Self { http, base, key })
    }

    /// Posts up to [`BATCH`] events and returns what each one meant, in order.
    ///
    /// When the batch is refused as a whole, the events are posted one by one, so that one event which cscp cannot
    /// take does not cost the others.
    pub(crate) async fn ingest(&self, events: &[&MessageEvent]) -> Result<Vec<Result<Answer, Failure>>, Unavailable> {
        if events.len() > 1 {
            match self.call(Method::POST, &["messages", "batch"], None, &json!({ "messages": events })).await {
                Ok(answer) => return in_order(answer, events.len()),
                Err(Failure::Unavailable(why)) => return Err(why),
                Err(Failure::Refused(refusal)) => {
                    tracing::warn!(code = refusal.name(), events = events.len(), "batch refused, posting one by one");
                }
            }
        }
        let mut results = Vec::with_capacity(events.len());
        for event in events {
            match self.register(event).await {
                Err(Failure::Unavailable(why)) if why.is_total() => return Err(why),
                result => results.push(result),
            }
        }
        Ok(results)
    }

    /// Posts one event, inbound or outbound.
    pub(crate) async fn register(&self, event: &MessageEvent) -> Result<Answer, Failure> {
        typed(self.call(Method::POST, &["messages"], None, &json!(event)).await?)
    }

    /// Registers a question before it is sent.
    pub(crate) async fn ask(&self, context_id: &str, key: &str, body: &Value) -> Result<Asked, Failure> {
        let path = ["contexts", context_id, "confirmations"];
        typed(self.call(Method::POST, &path, Some(key), body).await?)
    }

    /// Says which message carried the question. When the clocks of the two hosts disagree about when that was, cscp
    /// is asked to take its own.
    pub(crate) async fn attach(&self, confirmation_id: &str, message_id: &str, sent_at: &str) -> Result<(), Failure> {
        let path = ["confirmations", confirmation_id, "prompt-message"];
        let body = json!({ "message_id": message_id, "sent_at": sent_at });
        match self.call(Method::PUT, &path, None, &body).await {
            Err(Failure::Refused(refusal)) if refusal.code == "prompt_time_impossible" => {
                self.call(Method::PUT, &path, None, &json!({ "message_id": message_id })).await.map(drop)
            }
            result => result.map(drop),
        }
    }

    /// Takes a question back, answered or not, unless a command was bound by it.
    pub(crate) async fn withdraw(&self, confirmation_id: &str, key: &str) -> Result<(), Failure> {
        let path = ["confirmations", confirmation_id, "cancel"];
        self.call(Method::POST, &path, Some(key), &json!({})).await.map(drop)
    }

    /// Binds a command. Its `attempt_id` makes a repetition one, so it has no `Idempotency-Key`.
    pub(crate) async fn bind(&self, context_id: &str, body: &Value) -> Result<Bound, Failure> {
        typed(self.call(Method::POST, &["contexts", context_id, "commands"], None, body).await?)
    }

    /// Every bound command on which nobody reported in time, whoever bound it.
    pub(crate) async fn unreported(&self) -> Result<Vec<Unreported>, Unavailable> {
        let mut commands = Vec::new();
        let mut cursor = None;
        loop {
            let body = json!({ "execution": "unknown", "limit": PAGE, "cursor": cursor });
            let page: CommandPage = match self.call(Method::POST, &["commands", "query"], None, &body).await {
                Ok(page) => typed(page).map_err(|_| Unavailable::Unexpected)?,
                Err(Failure::Unavailable(why)) => return Err(why),
                Err(Failure::Refused(refusal)) => return Err(Unavailable::Status(refusal.status)),
            };
            commands.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(commands);
            }
        }
    }

    /// Takes over a command whose owner did not report.
    pub(crate) async fn take_over(&self, command_id: &str, body: &Value) -> Result<Bound, Failure> {
        typed(self.call(Method::POST, &["commands", command_id, "takeovers"], None, body).await?)
    }

    /// Says how a command ended: by the attempt that executed it, or by none when that was found out downstream.
    pub(crate) async fn report(
        &self,
        command_id: &str,
        attempt_id: Option<&str>,
        succeeded: bool,
    ) -> Result<(), Failure> {
        let outcome = if succeeded { "succeeded" } else { "failed" };
        let mut body = json!({ "status": outcome, "outcome": outcome });
        // A key of its own: the one of the question names another request, and so does another attempt's.
        let key = match attempt_id {
            Some(attempt_id) => {
                body["attempt_id"] = json!(attempt_id);
                format!("{command_id}_{attempt_id}")
            }
            None => format!("{command_id}_found_{outcome}"),
        };
        self.call(Method::POST, &["commands", command_id, "results"], Some(&key), &body).await.map(drop)
    }

    async fn call(&self, method: Method, path: &[&str], key: Option<&str>, body: &Value) -> Result<Value, Failure> {
        let mut url = self.base.clone();
        // Segment by segment, so that no id can reach another path.
        url.path_segments_mut().map_err(|()| Unavailable::NoAnswer)?.pop_if_empty().push("v1").extend(path);
        let mut request = self.http.request(method, url).bearer_auth(&self.key).json(body);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let response = request.send().await.map_err(|_| Unavailable::NoAnswer)?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(|_| Unavailable::NoAnswer)?;
        let parsed = serde_json::from_slice::<Value>(&bytes);
        if status.is_success() {
            // `PUT` may answer without a body; who needs one finds `null` unexpected.
            return if bytes.is_empty() { Ok(Value::Null) } else { parsed.map_err(|_| Unavailable::Unexpected.into()) };
        }
        // 404 names a context or a confirmation; for `/v1/messages` it means that cscp is not at this address.
        let lost = status == StatusCode::NOT_FOUND && path.first() == Some(&"messages");
        if lost || is_worth_repeating(status) {
            return Err(Unavailable::Status(status.as_u16()).into());
        }
        let code = parsed.ok().and_then(|problem| problem.get("code")?.as_str().map(str::to_owned));
        Err(Failure::Refused(Refusal { status: status.as_u16(), code: code.unwrap_or_default() }))
    }
}

/// Whether the same request may succeed later. A wrong key (401, 403) and a wrong address (redirects, 405) count too:
/// refusing the messages because this handler is set up wrongly would lose them.
fn is_worth_repeating(status: StatusCode) -> bool {
    !status.is_client_error()
        || matches!(
            status,
            StatusCode::UNAUTHORIZED
                | StatusCode::FORBIDDEN
                | StatusCode::METHOD_NOT_ALLOWED
                | StatusCode::REQUEST_TIMEOUT
                | StatusCode::TOO_EARLY
                | StatusCode::TOO_MANY_REQUESTS
        )
}

/// One result per event, or the answer means nothing: results are matched by place.
fn in_order(answer: Value, expected: usize) -> Result<Vec<Result<Answer, Failure>>, Unavailable> {
    let batch: BatchAnswer = serde_json::from_value(answer).map_err(|_| Unavailable::Unexpected)?;
    if batch.results.len() != expected {
        return Err(Unavailable::Unexpected);
    }
    let results = batch.results.into_iter().map(|result| match result {
        BatchResult::Answer(answer) => Ok(answer),
        BatchResult::Problem(refusal) => match StatusCode::from_u16(refusal.status) {
            Ok(status) if is_worth_repeating(status) => Err(Unavailable::Status(refusal.status).into()),
            _ => Err(Failure::Refused(refusal)),
        },
    });
    Ok(results.collect())
}

fn typed<T: serde::de::DeserializeOwned>(answer: Value) -> Result<T, Failure> {
    serde_json::from_value(answer).map_err(|_| Unavailable::Unexpected.into())
}
