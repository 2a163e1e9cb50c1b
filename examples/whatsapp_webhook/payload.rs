//! Lenient reading. Meta adds members, changes types (`timestamp` is a string here, an integer there) and leaves things
//! out, so a payload is walked as plain JSON and never deserialised into a struct that could refuse it as a whole.

use chrono::{DateTime, SecondsFormat};
use serde_json::{Deserializer, Value};

/// What a signed body held.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// Every complete JSON value, in order. Normally one.
    pub(crate) values: Vec<Value>,
    /// How many bytes after the last complete value could not be read.
    pub(crate) unread_bytes: usize,
}

/// Not even one JSON value. It names the place and not the content, so it can be logged.
#[derive(Debug, thiserror::Error)]
#[error("the body is not JSON (line {line}, column {column})")]
pub(crate) struct Unreadable {
    line: usize,
    column: usize,
}

/// Reads a body whose signature was right.
///
/// Bytes after the first value do not make the delivery fail. Meta signed all of them, and refusing them would make
/// Meta repeat for days what will never parse, and would lose the updates that could be read. So every further
/// complete value is taken as well, and what remains is counted, to be accounted for like any other piece.
pub(crate) fn read(body: &[u8]) -> Result<Delivery, Unreadable> {
    let mut stream = Deserializer::from_slice(body).into_iter::<Value>();
    let mut values = Vec::new();
    loop {
        let start = stream.byte_offset();
        match stream.next() {
            Some(Ok(value)) => values.push(value),
            Some(Err(error)) if values.is_empty() => {
                return Err(Unreadable { line: error.line(), column: error.column() });
            }
            Some(Err(_)) => {
                return Ok(Delivery { values, unread_bytes: body.len().saturating_sub(start) });
            }
            None if values.is_empty() => return Err(Unreadable { line: 1, column: 0 }),
            None => {
                return Ok(Delivery { values, unread_bytes: 0 });
            }
        }
    }
}

/// A member that is a string and says something.
pub(crate) fn text<'a>(value: &'a Value, member: &str) -> Option<&'a str> {
    value.get(member)?.as_str().filter(|text| !text.is_empty())
}

/// A member that is a list; anything else reads as an empty one.
pub(crate) fn list<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value.get(member).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Above this a number of seconds would lie beyond the year 5138, so it is milliseconds.
const SECONDS_LIMIT: i64 = 100_000_000_000;

/// `timestamp` as RFC 3339 in UTC: a string or an integer, in seconds or in milliseconds. Anything else is `None`;
/// a made-up time would decide whether an answer came after its question.
pub(crate) fn sent_at(message: &Value) -> Option<String> {
    let number = match message.get("timestamp")? {
        Value::Number(number) => number.as_i64()?,
        Value::String(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        _ => return None,
    };
    let time = match number {
        1..=SECONDS_LIMIT => DateTime::from_timestamp_secs(number),
        _ if number > SECONDS_LIMIT && number <= SECONDS_LIMIT * 1_000 => DateTime::from_timestamp_millis(number),
        _ => return None,
    };
    time.map(|time| time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}
