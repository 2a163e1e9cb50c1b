//! The endpoint that Meta calls.
//!
//! | answer | when | what Meta does |
//! |---|---|---|
//! | 200 | everything readable reached cscp, or was refused there for good | nothing |
//! | 400 | signed, and not one JSON value | repeats; the log has the place of the error |
//! | 401 | not signed with the app secret | it was not Meta |
//! | 413 | more than 3 MiB | |
//! | 503 | cscp cannot be reached or is full | repeats, for up to seven days |
//!
//! cscp is called before the answer is given, and not from a queue behind it: only then is 200 a promise. Deliveries
//! are at least once, in any order, and may repeat within the same second; nothing here depends on which comes first.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use serde::{Deserialize, Serialize};

use crate::cscp::{Answer, BATCH, Failure, Unavailable};
use crate::event::{Addressed, Direction};
use crate::normalise::{Normalised, normalise};
use crate::payload;
use crate::shop::Shop;
use crate::signature::{AppSecret, HEADER};

/// What Meta may send at most.
pub(crate) const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// Everything a request needs.
pub(crate) struct App {
    pub(crate) secret: AppSecret,
    pub(crate) verify_token: String,
    pub(crate) shop: Shop,
}

/// The routes.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/webhook", get(subscribe).post(receive))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(app)
}

/// What Meta asks once, when the webhook is set up.
#[derive(Deserialize)]
struct Subscription {
    #[serde(rename = "hub.mode")]
    mode: String,
    #[serde(rename = "hub.verify_token")]
    verify_token: String,
    #[serde(rename = "hub.challenge")]
    challenge: String,
}

async fn subscribe(
    State(app): State<Arc<App>>,
    query: Result<Query<Subscription>, QueryRejection>,
) -> Result<Response, StatusCode> {
    let Query(asked) = query.map_err(|_| StatusCode::FORBIDDEN)?;
    if asked.mode != "subscribe" || !app.secret.same(&app.verify_token, &asked.verify_token) {
        return Err(StatusCode::FORBIDDEN);
    }
    // The challenge is echoed as it came, so no browser may take it for a page.
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    Ok((headers, asked.challenge).into_response())
}

/// What became of a delivery: numbers only, so it can be logged and shown.
#[derive(Debug, Default, Serialize)]
struct Receipt {
    seen: usize,
    posted: usize,
    refused: usize,
    statuses: usize,
    failed_sends: usize,
    errors: usize,
    other_fields: usize,
    skipped: std::collections::BTreeMap<&'static str, usize>,
}

async fn receive(State(app): State<Arc<App>>, headers: HeaderMap, body: Bytes) -> Response {
    let mut signatures = headers.get_all(HEADER).iter();
    let signed = match (signatures.next(), signatures.next()) {
        (Some(only), None) => app.secret.signed(only.as_bytes(), &body),
        _ => false,
    };
    if !signed {
        return (StatusCode::UNAUTHORIZED, "missing or wrong X-Hub-Signature-256\n").into_response();
    }
    let delivery = match payload::read(&body) {
        Ok(delivery) => delivery,
        Err(error) => {
            tracing::error!(bytes = body.len(), %error, "signed body is not JSON");
            return (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response();
        }
    };
    if delivery.unread_bytes > 0 {
        tracing::warn!(bytes = delivery.unread_bytes, "signed body goes on after its JSON");
    }
    let normalised = normalise(&delivery, &app.secret);
    // A task of its own: when Meta hangs up early, axum drops this future, and half a turn would be left undone.
    let outcome = tokio::spawn(async move { app.process(&normalised).await }).await;
    match outcome {
        Ok(Ok(receipt)) => (StatusCode::OK, Json(receipt)).into_response(),
        Ok(Err(why)) => {
            tracing::warn!(%why, "cscp unavailable, asking Meta to deliver again");
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
        Err(_) => {
            tracing::error!("a turn did not finish, asking Meta to deliver again");
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
    }
}

impl App {
    /// Brings every event to cscp and acts on what it means. When cscp is down it stops there; when only one message
    /// fails, the others go on first. Either way the repeat brings everything again, and what was done is known.
    async fn process(&self, normalised: &Normalised) -> Result<Receipt, Unavailable> {
        let mut receipt = Receipt::of(normalised);
        let mut unfinished = None;
        let events: Vec<&Addressed> = normalised.identity_updates.iter().chain(&normalised.messages).collect();
        for batch in events.chunks(BATCH) {
            let bodies: Vec<_> = batch.iter().map(|addressed| &addressed.event).collect();
            let results = self.shop.cscp.ingest(&bodies).await?;
            for (addressed, result) in batch.iter().zip(results) {
                match self.turn(addressed, result, &mut receipt).await {
                    Err(why) if why.is_total() => return Err(why),
                    Err(why) => unfinished = Some(why),
                    Ok(()) => {}
                }
            }
        }
        if let Some(why) = unfinished {
            return Err(why);
        }
        tracing::info!(
            seen = receipt.seen,
            posted = receipt.posted,
            refused = receipt.refused,
            statuses = receipt.statuses,
            failed_sends = receipt.failed_sends,
            errors = receipt.errors,
            other_fields = receipt.other_fields,
            skipped = ?receipt.skipped,
            "delivery"
        );
        Ok(receipt)
    }

    async fn turn(
        &self,
        addressed: &Addressed,
        result: Result<Answer, Failure>,
        receipt: &mut Receipt,
    ) -> Result<(), Unavailable> {
        match result {
            Ok(answer) => {
                receipt.posted += 1;
                match addressed.event.direction {
                    Direction::Inbound => self.shop.act(addressed, &answer).await,
                    Direction::Outbound => Ok(()),
                }
            }
            Err(Failure::Unavailable(why)) => Err(why),
            Err(Failure::Refused(refusal)) => {
                receipt.refused += 1;
                let kind = addressed.event.kind;
                tracing::warn!(status = refusal.status, code = refusal.name(), ?kind, "cscp refused a message");
                Ok(())
            }
        }
    }
}

impl Receipt {
    fn of(normalised: &Normalised) -> Self {
        for status in normalised.statuses.iter().filter(|status| status.status == "failed") {
            tracing::warn!(codes = ?status.error_codes, "WhatsApp could not deliver a message of ours");
        }
        for error in &normalised.errors {
            tracing::warn!(code = ?error.code, "WhatsApp reports an error");
        }
        for other in &normalised.other_fields {
            tracing::info!(field = %other.field.escape_default(), "a field this handler does not read");
        }
        if normalised.seen != normalised.accounted() {
            tracing::error!(seen = normalised.seen, accounted = normalised.accounted(), "a piece was lost");
        }
        Self {
            seen: normalised.seen,
            statuses: normalised.statuses.len(),
            failed_sends: normalised.statuses.iter().filter(|status| status.status == "failed").count(),
            errors: normalised.errors.len(),
            other_fields: normalised.other_fields.len(),
            skipped: normalised.skipped_by_reason(),
            ..Self::default()
        }
    }
}
