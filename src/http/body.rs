//! Bodies: read within limits, parsed strictly and typed. Errors never repeat their content.

use std::pin::Pin;

use axum::body::HttpBody as _;
use axum::extract::{FromRequest, MatchedPath, Request};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::App;
use super::bodies::{FREE, NoPlace, Place};
use super::extract::Trail;
use super::problem::{FieldError, Problem, RETRY_SECONDS, is_plain_name};
use super::required::{Named, together};
use crate::domain::canonical::{JsonError, Step, parse};

/// The size limit of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Ordinary,
    Batch,
}

pub(crate) trait Wire: DeserializeOwned + Send + 'static {
    const SIZE: Size = Size::Ordinary;
    /// Whether it may be missing, which means the empty object.
    const MAY_BE_EMPTY: bool = false;
    /// Whether it may be sent as a merge patch.
    const MERGE_PATCH: bool = false;
}

/// A request body: parsed into `T`, and the raw JSON value for digests.
#[derive(Debug)]
pub(crate) struct Body<T> {
    pub(crate) typed: T,
    /// The JSON value as it was sent, for digests.
    pub(crate) value: Value,
    /// The reserved memory, kept until the request is done.
    _place: Place,
}

impl<T: Wire> FromRequest<App> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        if is_packed(&parts.headers) {
            return Err(packed());
        }
        let limit = match T::SIZE {
            Size::Ordinary => app.config.body_bytes,
            Size::Batch => app.config.batch_bytes,
        };
        if declared_length(&parts.headers).is_some_and(|length| length > limit) {
            return Err(too_large(limit));
        }
        let key = parts.extensions.get::<Trail>().and_then(Trail::seen).map_or("", |(_, key)| key.as_str());
        let arriving = collect(body, limit, app.bodies.place(key));
        let arrived = tokio::time::timeout(app.config.body_timeout, arriving).await;
        let (bytes, place) = arrived.unwrap_or_else(|_| Err(too_slow()))?;
        if bytes.is_empty() && T::MAY_BE_EMPTY && !parts.headers.contains_key(CONTENT_TYPE) {
            let value = Value::Object(Map::new());
            return Ok(Self { typed: typed(value.clone(), "")?, value, _place: place });
        }
        if !is_json(&parts.headers, T::MERGE_PATCH) {
            return Err(wrong_type::<T>());
        }
        // A panic would be a bug in reading; it costs this request its answer.
        let named = named(&parts);
        let read = app.desks.read(bytes, move |bytes| read(bytes, &named)).await;
        let (typed, value) = read.unwrap_or_else(|| Err(Problem::from(crate::service::ServiceError::Internal)))?;
        Ok(Self { typed, value, _place: place })
    }
}

/// The contract's name for the body of a request.
fn named(parts: &Parts) -> Named {
    let path = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    Named::Operation { method: parts.method.to_string(), path: path.to_owned() }
}

fn read<T: Wire>(bytes: &[u8], named: &Named) -> Result<(T, Value), Problem> {
    let value = parse(bytes).map_err(|error| unreadable(&error))?;
    let typed = typed(value.clone(), "").map_err(|problem| together(problem, named, &value, ""))?;
    Ok((typed, value))
}

fn wrong_type<T: Wire>() -> Problem {
    let also = if T::MERGE_PATCH { " or application/merge-patch+json" } else { "" };
    Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        format!("send the body as application/json{also}"),
    )
}

/// Whether the body is still packed: what this server can unpack has lost the header by now.
fn is_packed(headers: &HeaderMap) -> bool {
    let plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    headers.get_all(CONTENT_ENCODING).iter().any(|value| !plain(value))
}

fn packed() -> Problem {
    let detail =
        "the header Content-Encoding names an encoding that is not taken here; send the body plain, or as gzip";
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail).header(ACCEPT_ENCODING, "gzip")
}

fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn is_json(headers: &HeaderMap, merge_patch: bool) -> bool {
    let Some(text) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return false };
    let mut parts = text.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let utf8 = parts.all(|parameter| match parameter.split_once('=') {
        Some((name, value)) if name.eq_ignore_ascii_case("charset") => {
            value.trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    });
    let known = essence.eq_ignore_ascii_case("application/json")
        || (merge_patch && essence.eq_ignore_ascii_case("application/merge-patch+json"));
    known && utf8
}

fn too_large(limit: usize) -> Problem {
    let detail = format!("the body is larger than {limit} bytes; send less at once");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
}

fn too_slow() -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", "the body did not arrive in time; send the request again")
}

fn no_place(why: NoPlace) -> Problem {
    let whose = match why {
        NoPlace::OfKey => "this key sends",
        NoPlace::AtAll => "callers send",
    };
    let detail = format!("{whose} too many large bodies at once; nothing was done, so repeat the request");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
        .header(RETRY_AFTER, &RETRY_SECONDS.to_string())
        .member("retry_after_seconds", RETRY_SECONDS)
}

/// Reads the whole body, with its reserved memory.
async fn collect(mut body: axum::body::Body, limit: usize, mut place: Place) -> Result<(Vec<u8>, Place), Problem> {
    let broke_off = || {
        let detail =
            "the body ended early, or is not in the encoding that Content-Encoding names; send the request again";
        Problem::new(StatusCode::BAD_REQUEST, "body_incomplete", detail)
    };
    let mut bytes = Vec::new();
    let mut room = FREE;
    while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|_| broke_off())?;
        let Some(data) = frame.data_ref() else { continue };
        let length = bytes.len() + data.len();
        if length > limit {
            return Err(too_large(limit));
        }
        if length > room {
            // Doubles each time, so that the bytes are moved only a few times.
            let more = length.max(room * 2).min(limit) - room;
            place.grow(more).await.map_err(no_place)?;
            room += more;
            bytes.reserve_exact(room - bytes.len());
        }
        bytes.extend_from_slice(data);
    }
    Ok((bytes, place))
}

const NOT_EXACT: &str = "a number in the body does not survive exactly as an IEEE double; send it as a string";

fn not_exact(path: &[Step]) -> Problem {
    Problem::field("number_not_exact", NOT_EXACT, &pointer_of(path), "send it as a string")
}

fn unreadable(error: &JsonError) -> Problem {
    let code = match error {
        JsonError::Syntax { .. } => "malformed_json",
        JsonError::DuplicateKey { .. } => "duplicate_key",
        JsonError::UnsafeInteger { .. } => "unsafe_integer",
        JsonError::NumberNotExact { path, .. } => return not_exact(path),
        JsonError::TooDeep => "too_deep",
    };
    Problem::new(StatusCode::BAD_REQUEST, code, error.to_string())
}

/// Converts a value to its type. `base` is its place in the body.
pub(crate) fn typed<T: DeserializeOwned>(value: Value, base: &str) -> Result<T, Problem> {
    if !value.is_object() {
        return Err(Problem::field("wrong_type", WRONG_TYPE, base, "must be an object"));
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = format!("{base}{}", pointer(error.path()));
        complaint(&path, &error.into_inner().to_string())
    })
}

const WRONG_TYPE: &str = "a value in the body is of another type; see errors";

/// The path as a JSON pointer, up to the first name that is not plain: a caller chose it, and it may contain anything.
fn pointer_of(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Item(place) => text.extend(["/", &place.to_string()]),
            Step::Member(name) if is_plain_name(name) => text.extend(["/", name]),
            Step::Member(_) => break,
        }
    }
    text
}

/// The path as a JSON pointer. Names chosen by callers are left out unless they are plain.
fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => text.extend(["/", &index.to_string()]),
            Segment::Map { key } if is_plain_name(key) => text.extend(["/", key]),
            Segment::Map { .. } | Segment::Enum { .. } | Segment::Unknown => break,
        }
    }
    text
}

/// The library's message without the values that it repeats. The text after the last `expected` is from this program.
fn complaint(path: &str, message: &str) -> Problem {
    let expected = message.rsplit_once(", expected ").map(|(_, expected)| format!("expected {expected}"));
    let name = || message.split('`').nth(1).filter(|name| is_plain_name(name)).unwrap_or_default().to_owned();
    if message.starts_with("unknown field ") {
        let name = name();
        let parent = path.strip_suffix(&format!("/{name}")).unwrap_or(path);
        let place = if name.is_empty() { parent.to_owned() } else { format!("{parent}/{name}") };
        let known = expected.unwrap_or_else(|| "expected no members".to_owned());
        return Problem::field("unknown_field", "the body has an unknown member; see errors", &place, known);
    }
    if message.starts_with("missing field ") {
        return Problem::missing(&format!("{path}/{}", name()));
    }
    if message.starts_with("invalid type: ") {
        return Problem::field("wrong_type", WRONG_TYPE, path, expected.unwrap_or_default());
    }
    let from_library = ["invalid value: ", "invalid length ", "unknown variant "];
    if from_library.iter().any(|start| message.starts_with(start)) {
        return Problem::invalid(path, expected.unwrap_or_else(|| "cannot be taken".to_owned()));
    }
    // All other messages are from this program and contain no values.
    Problem::invalid(path, message)
}

/// The same error one level down.
pub(crate) fn beneath(mut problem: Problem, base: &str) -> Problem {
    problem.errors = problem
        .errors
        .into_iter()
        .map(|error| FieldError { pointer: format!("{base}{}", error.pointer), ..error })
        .collect();
    problem
}

/// A member that must be an object: derived deserializers would accept an array.
#[derive(Debug, Clone)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Members<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Object<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members)).map(Object)
            }
        }
        reader.deserialize_map(Members(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::domain::id::MessageId;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its form is of interest")]
    struct Sample {
        message_id: MessageId,
        count: Option<u32>,
        inner: Option<Object<Inner>>,
        list: Option<Vec<Object<Inner>>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its form is of interest")]
    struct Inner {
        kind: crate::domain::message::MessageKind,
    }

    fn wrong(value: Value) -> (String, String) {
        let problem = typed::<Sample>(value, "").unwrap_err();
        let text = problem.to_value(None).to_string();
        assert!(!text.contains("SECRET"), "{text}");
        (problem.code.to_string(), problem.errors[0].pointer.clone())
    }

    #[test]
    fn each_fault_has_its_code_and_its_place_and_repeats_no_value() {
        let cases = [
            (json!({"message_id": "a", "colour": 1}), "unknown_field", "/colour"),
            (json!({"message_id": "a", "SECRET colour": 1}), "unknown_field", ""),
            (json!({"message_id": "a", "x`, expected SECRET": 1}), "unknown_field", "/x"),
            (json!({}), "missing_field", "/message_id"),
            (json!({"message_id": 5}), "wrong_type", "/message_id"),
            (json!({"message_id": "SECRET\n"}), "invalid_value", "/message_id"),
            (json!({"message_id": "a", "count": "SECRET, expected SECRET"}), "wrong_type", "/count"),
            (json!({"message_id": "a", "count": -1}), "invalid_value", "/count"),
            (json!({"message_id": "a", "inner": {"kind": "SECRET"}}), "invalid_value", "/inner/kind"),
            (json!({"message_id": "a", "inner": ["text"]}), "wrong_type", "/inner"),
            (json!({"message_id": "a", "list": [{"kind": "text"}, {}]}), "missing_field", "/list/1/kind"),
            (json!(["SECRET"]), "wrong_type", ""),
        ];
        for (value, code, pointer) in cases {
            assert_eq!(wrong(value.clone()), (code.to_owned(), pointer.to_owned()), "{value}");
        }
        assert!(typed::<Sample>(json!({"message_id": "a", "count": null}), "").is_ok(), "null is absent");
    }

    #[test]
    fn a_number_that_is_not_exact_is_named_without_what_callers_put_into_its_place() {
        for (text, pointer) in [
            (r#"{"target": {"lines": [{"price": 1}, {"price": 1e400}]}}"#, "/target/lines/1/price"),
            (r#"{"target": {"SECRET name": {"price": 1e400}}}"#, "/target"),
            ("1e400", ""),
        ] {
            let problem = unreadable(&parse(text.as_bytes()).unwrap_err());
            assert_eq!((problem.status.as_u16(), problem.code.as_ref()), (422, "number_not_exact"));
            assert_eq!(problem.errors[0].pointer, pointer, "{text}");
            assert!(problem.detail.contains("send it as a string"));
        }
    }

    #[test]
    fn the_content_type_is_json_in_utf_8() {
        let is = |text: &str, patch| is_json(&HeaderMap::from_iter([(CONTENT_TYPE, text.parse().unwrap())]), patch);
        assert!(is("application/json", false) && is("Application/JSON; charset=\"UTF-8\"", false));
        assert!(is("application/merge-patch+json", true) && !is("application/merge-patch+json", false));
        assert!(!is("text/json", false) && !is("application/json; charset=latin1", false));
    }
}
