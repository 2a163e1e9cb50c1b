//! A strict JSON reader: a duplicate key at any depth is an error.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::text::{Document, count, number};
use crate::domain::policy::PolicyError;

pub(super) fn read(text: &str) -> Result<Document, PolicyError> {
    let Strict(value) = serde_json::from_str(text).map_err(|error| PolicyError {
        line: Some(count(error.line() as u64)),
        column: Some(count(error.column() as u64)),
        ..PolicyError::at(
            "",
            format!("this is not JSON the reader takes ({error})"),
            "Write one JSON document, with each key once in its object.",
        )
    })?;
    Ok(Document { value, places: HashMap::new() })
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = number(value).ok_or_else(|| E::custom("a number must be finite"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let Strict(value) = members.next_value()?;
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate key `{key}`")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
