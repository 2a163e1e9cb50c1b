//! The headers that this program uses: credentials, revisions, repetitions.

use axum::http::header::{AUTHORIZATION, HeaderMap, HeaderName, IF_MATCH};
use axum::http::{HeaderValue, StatusCode};

use super::problem::Problem;
use crate::service::PresentedKey;

/// Identifies a request, so that a repetition is recognised.
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Marks an earlier answer.
pub(crate) const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Identifies a request and its answer in the logs.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

const MAX_KEY: usize = 255;

/// The header's only value; a duplicate header counts as invalid.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, ()> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() { Err(()) } else { Ok(first) }
}

/// The key in `Authorization: Bearer …`; `None` if it is not well-formed.
pub(crate) fn presented_key(headers: &HeaderMap) -> Option<PresentedKey> {
    let value = only(headers, &AUTHORIZATION).ok()??.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") { PresentedKey::parse(key.trim()) } else { None }
}

/// The `Idempotency-Key`, bare or as an RFC 8941 string.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let malformed = || {
        Problem::new(
            StatusCode::BAD_REQUEST,
            "idempotency_key_malformed",
            format!("send one Idempotency-Key of 1 to {MAX_KEY} visible ASCII characters"),
        )
    };
    let Some(value) = only(headers, &IDEMPOTENCY_KEY).map_err(|()| malformed())? else { return Ok(None) };
    let text = value.to_str().map_err(|_| malformed())?.trim();
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let key = quoted.unwrap_or(text);
    let visible = key.bytes().all(|byte| byte.is_ascii_graphic());
    let unescaped = quoted.is_none() || !key.contains(['"', '\\']);
    if visible && unescaped && (1..=MAX_KEY).contains(&key.len()) { Ok(Some(key.to_owned())) } else { Err(malformed()) }
}

pub(crate) fn etag(revision: u64) -> String {
    format!("\"r{revision}\"")
}

/// The revision that `If-Match` names.
pub(crate) fn if_match(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let malformed = || {
        Problem::new(
            StatusCode::BAD_REQUEST,
            "if_match_malformed",
            "send If-Match with the one ETag of the representation that was read, such as \"r3\"",
        )
    };
    let Some(value) = only(headers, &IF_MATCH).map_err(|()| malformed())? else { return Ok(None) };
    let text = value.to_str().map_err(|_| malformed())?.trim();
    let digits = text.strip_prefix("\"r").and_then(|rest| rest.strip_suffix('"')).ok_or_else(malformed)?;
    let revision: u64 = digits.parse().map_err(|_| malformed())?;
    if revision.to_string() == digits { Ok(Some(revision)) } else { Err(malformed()) }
}

/// An inbound request id that may be repeated: a program's token with at least one letter, so that it is no telephone
/// number.
pub(crate) fn inbound_request_id(headers: &HeaderMap) -> Option<String> {
    let text = only(headers, &REQUEST_ID).ok()??.to_str().ok()?;
    let token = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let lettered = text.bytes().any(|byte| byte.is_ascii_alphabetic());
    (token && lettered && (1..=64).contains(&text.len())).then(|| text.to_owned())
}

/// The trace id of a W3C `traceparent`, for the log.
pub(crate) fn trace_id(headers: &HeaderMap) -> Option<String> {
    let text = only(headers, &TRACEPARENT).ok()??.to_str().ok()?;
    let mut parts = text.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (version.len() == 2 && hex(version) && trace.len() == 32 && hex(trace)).then(|| trace.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn keys_are_bare_or_quoted_and_visible() {
        let key = |text: &str| idempotency_key(&with("idempotency-key", text));
        assert_eq!(key("abc").unwrap().as_deref(), Some("abc"));
        assert_eq!(key("\"abc\"").unwrap().as_deref(), Some("abc"));
        assert_eq!(idempotency_key(&HeaderMap::new()).unwrap(), None);
        for text in ["", "a b", "\"a\\\"b\"", "\"\"", &"k".repeat(256)] {
            assert!(key(text).is_err(), "{text}");
        }
        let mut twice = with("idempotency-key", "a");
        twice.append(IDEMPOTENCY_KEY, HeaderValue::from_static("b"));
        assert!(idempotency_key(&twice).is_err());
    }

    #[test]
    fn a_revision_is_named_exactly() {
        let read = |text: &str| if_match(&with("if-match", text));
        assert_eq!(read(&etag(7)).unwrap(), Some(7));
        for text in ["*", "r7", "\"7\"", "W/\"r7\"", "\"r07\"", "\"r7\", \"r8\"", "\"r-1\""] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn inbound_ids_are_tokens_and_never_bare_numbers() {
        let read = |text: &str| inbound_request_id(&with("x-request-id", text));
        assert_eq!(read("abc-1").as_deref(), Some("abc-1"));
        for text in ["5511999990000", "a b", "a@b", &"a".repeat(65), ""] {
            assert_eq!(read(text), None, "{text}");
        }
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(trace_id(&with("traceparent", parent)).as_deref(), Some("0af7651916cd43dd8448eb211c80319c"));
        assert_eq!(trace_id(&with("traceparent", "00-xyz-1-01")), None);
    }
}
