//! Parses text to a JSON value with the positions of its members.

use std::collections::HashMap;

use serde_json::{Number, Value};
use serde_path_to_error::Segment;

use super::{json, yaml};
use crate::domain::policy::PolicyError;

/// The largest file that is read, in bytes.
pub const MAX_FILE_BYTES: usize = 256 * 1024;

/// The largest integer that every JSON reader represents exactly.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// A document, and the line and column of its members by JSON pointer (YAML only).
#[derive(Debug)]
pub(super) struct Document {
    pub(super) value: Value,
    pub(super) places: HashMap<String, (u32, u32)>,
}

impl Document {
    /// Reads YAML, or JSON if the file name says so.
    pub(super) fn read(file: &str, text: &str) -> Result<Self, PolicyError> {
        if text.len() > MAX_FILE_BYTES {
            return Err(too_large(file));
        }
        let is_json = std::path::Path::new(file).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        let read = if is_json { json::read(text) } else { yaml::read(text) };
        read.map_err(|error| error.in_file(file))
    }

    /// Adds file, line and column to an error about one member.
    pub(super) fn place(&self, file: &str, error: PolicyError) -> PolicyError {
        let mut pointer = error.pointer.as_str();
        let place = loop {
            // A missing member is located at its parent.
            match (self.places.get(pointer), pointer.rfind('/')) {
                (Some(place), _) => break Some(*place),
                (None, Some(cut)) => pointer = &pointer[..cut],
                (None, None) => break None,
            }
        };
        PolicyError { line: place.map(|(line, _)| line), column: place.map(|(_, column)| column), ..error }
            .in_file(file)
    }
}

/// The error for a file that is too large.
pub(super) fn too_large(file: &str) -> PolicyError {
    PolicyError::at(
        "",
        format!("the file is larger than {MAX_FILE_BYTES} bytes"),
        "Split it, or remove what is not needed.",
    )
    .in_file(file)
}

/// A JSON number; whole numbers are written without a fraction, so `1800.0` becomes `1800` as in canonical JSON.
pub(super) fn number(value: f64) -> Option<Number> {
    if value.fract() == 0.0 && value.abs() <= MAX_SAFE_INTEGER {
        let whole: i64 = format!("{value:.0}").parse().ok()?;
        return Some(whole.into());
    }
    Number::from_f64(value)
}

/// Appends a member name to a JSON pointer (RFC 6901).
pub(super) fn below(pointer: &str, member: &str) -> String {
    let member = member.replace('~', "~0").replace('/', "~1");
    format!("{pointer}/{member}")
}

/// The JSON pointer to the value that could not be deserialized.
pub(super) fn pointer_of(path: &serde_path_to_error::Path) -> String {
    path.iter().fold(String::new(), |pointer, segment| match segment {
        Segment::Seq { index } => format!("{pointer}/{index}"),
        Segment::Map { key } => below(&pointer, key),
        Segment::Enum { .. } | Segment::Unknown => pointer,
    })
}

/// A line or column, limited to the range of `u32`.
pub(super) fn count(position: u64) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
