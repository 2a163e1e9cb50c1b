//! Packs written as JSON, parsed as strictly as requests.

use std::collections::HashMap;

use serde_json::Value;

use super::text::{Document, number};
use crate::domain::canonical::{JsonError, parse};
use crate::domain::policy::PolicyError;

pub(super) fn read(text: &str) -> Result<Document, PolicyError> {
    let value = parse(text.as_bytes()).map_err(|error| {
        let place = place(&error);
        PolicyError {
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
            ..PolicyError::at(
                "",
                format!("this is not JSON the reader takes ({error})"),
                "Write one JSON document, with each key once in its object.",
            )
        }
    })?;
    Ok(Document { value: spelt_once(value), places: HashMap::new() })
}

/// Writes whole numbers in one form, as the YAML reader does.
fn spelt_once(value: Value) -> Value {
    match value {
        Value::Number(spelt) if spelt.is_f64() => {
            spelt.as_f64().and_then(number).map_or(Value::Number(spelt), Value::Number)
        }
        Value::Array(items) => items.into_iter().map(spelt_once).collect(),
        Value::Object(members) => members.into_iter().map(|(name, member)| (name, spelt_once(member))).collect(),
        other => other,
    }
}

fn place(error: &JsonError) -> Option<(u32, u32)> {
    let (line, column) = match error {
        JsonError::Syntax { line, column }
        | JsonError::DuplicateKey { line, column }
        | JsonError::UnsafeInteger { line, column }
        | JsonError::NumberNotExact { line, column, .. } => (*line, *column),
        JsonError::TooDeep => return None,
    };
    Some((u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX)))
}
