//! Paging. A cursor is opaque and authenticated: a tenant can neither make one nor use another's.

use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::problem::Problem;
use crate::domain::canonical::{Purpose, canonical};
use crate::domain::query::{MAX_PAGE, Position};
use crate::service::Caller;

const DEFAULT_PAGE: u32 = 50;
const TAG_BYTES: usize = 16;

#[derive(Serialize, Deserialize)]
struct Mark {
    micros: i64,
    id: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Listed<T> {
    pub(crate) items: Vec<T>,
    /// Where the next page begins; null on the last one.
    pub(crate) next_cursor: Option<String>,
}

/// The number of records to return.
pub(crate) fn limit(asked: Option<u32>) -> Result<u32, Problem> {
    let limit = asked.unwrap_or(DEFAULT_PAGE);
    if (1..=MAX_PAGE).contains(&limit) {
        Ok(limit)
    } else {
        Err(Problem::invalid("/limit", format!("must lie between 1 and {MAX_PAGE}")))
    }
}

fn tag(caller: &Caller, list: &str, payload: &[u8]) -> Vec<u8> {
    let mut named = format!("cursor\u{0}{list}\u{0}").into_bytes();
    named.extend_from_slice(payload);
    caller.keyed(Purpose::Request, &named).as_bytes()[..TAG_BYTES].to_vec()
}

pub(crate) fn cursor(caller: &Caller, list: &str, position: Position) -> String {
    let payload = canonical(&Mark { micros: position.micros, id: position.id });
    let mut bytes = tag(caller, list, &payload);
    bytes.extend_from_slice(&payload);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The position that a cursor of this tenant and this list names.
pub(crate) fn position(caller: &Caller, list: &str, cursor: Option<&str>) -> Result<Option<Position>, Problem> {
    let bad = || {
        Problem::new(
            StatusCode::BAD_REQUEST,
            "bad_cursor",
            "send next_cursor exactly as the last page of this list gave it, or leave it out to begin anew",
        )
    };
    let Some(text) = cursor else { return Ok(None) };
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad())?;
    let (given, payload) = bytes.split_at_checked(TAG_BYTES).ok_or_else(bad)?;
    if given != tag(caller, list, payload) {
        return Err(bad());
    }
    let mark: Mark = serde_json::from_slice(payload).map_err(|_| bad())?;
    Ok(Some(Position { micros: mark.micros, id: mark.id }))
}
