//! What a schema of the contract says about a body, as requests: one at each limit, one beyond it, one with each word of an
//! enum, one without each member, one with a member too many.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::client::document;

/// A member that nothing has.
const STRANGER: &str = "zz_stranger";
/// A word that no enum has.
const NO_WORD: &str = "zz no word";
/// Longer than every limit on a text that is no body's own.
const LONG: usize = 200_000;

/// What the server has to make of a body.
#[derive(Debug, Clone)]
pub(crate) enum Expected {
    /// The place is not complained about, whatever else is.
    Taken,
    /// The place, or something in it, is complained about.
    Refused,
    /// The place is complained about, and the complaint lists these names.
    Names(BTreeSet<String>),
    /// The place is complained about, and the complaint lists some of these names.
    SomeOf(BTreeSet<String>),
}

/// A change of a body, and what the contract says about it.
#[derive(Debug, Clone)]
pub(crate) struct Probe {
    /// The place in the body, as a JSON pointer.
    pub(crate) pointer: String,
    /// What stands there now; nothing, if the place is to be left out.
    pub(crate) value: Option<Value>,
    /// What the server has to make of it.
    pub(crate) expected: Expected,
}

impl Probe {
    /// The body with the change made.
    pub(crate) fn applied_to(&self, body: &Value) -> Value {
        let Some((parent, name)) = self.pointer.rsplit_once('/') else { return self.value.clone().unwrap() };
        let mut body = body.clone();
        let parent = body.pointer_mut(parent).unwrap();
        match (parent, &self.value) {
            (Value::Object(members), Some(value)) => drop(members.insert(name.to_owned(), value.clone())),
            (Value::Object(members), None) => drop(members.remove(name)),
            (Value::Array(items), Some(value)) => items[name.parse::<usize>().unwrap()] = value.clone(),
            (other, _) => panic!("{} is below {other}", self.pointer),
        }
        body
    }
}

/// Everything that a schema says about a body, and the places of the contract that it says it of.
#[derive(Default)]
pub(crate) struct Probes {
    pub(crate) probes: Vec<Probe>,
    /// The properties that the body has, as `Schema.property`.
    pub(crate) met: BTreeSet<String>,
}

/// The schemas that a value may have by this one, without null; nothing, if anything is allowed.
fn choices(schema: &Value) -> Vec<&Value> {
    if let Some(reference) = schema["$ref"].as_str() {
        return choices(document().pointer(reference.trim_start_matches('#')).unwrap());
    }
    let either = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array());
    match either {
        Some(either) if either.iter().any(|one| one.as_object().is_some_and(serde_json::Map::is_empty)) => Vec::new(),
        Some(either) => either.iter().filter(|one| one["type"] != "null").flat_map(choices).collect(),
        None => vec![schema],
    }
}

/// The name of the component that this schema is.
pub(crate) fn component_name(schema: &Value) -> Option<String> {
    let schemas = document()["components"]["schemas"].as_object().unwrap();
    schemas.iter().find(|(_, one)| std::ptr::eq(*one, schema)).map(|(name, _)| name.clone())
}

fn is(schema: &Value, wanted: &str) -> bool {
    let types = &schema["type"];
    types == wanted || types.as_array().is_some_and(|types| types.contains(&json!(wanted)))
}

fn fits(schema: &Value, value: &Value) -> bool {
    match value {
        Value::String(_) => is(schema, "string"),
        Value::Object(_) => is(schema, "object"),
        Value::Array(_) => is(schema, "array"),
        Value::Bool(_) => is(schema, "boolean"),
        Value::Number(_) => is(schema, "integer") || is(schema, "number"),
        Value::Null => false,
    }
}

fn names<'a>(names: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    names.cloned().collect()
}

impl Probes {
    fn add(&mut self, pointer: &str, value: impl Into<Option<Value>>, expected: Expected) {
        self.probes.push(Probe { pointer: pointer.to_owned(), value: value.into(), expected });
    }

    /// What `schema` says of `value`, which stands at `pointer`.
    pub(crate) fn of(&mut self, schema: &'static Value, value: &Value, pointer: &str) {
        let choices = choices(schema);
        let Some(schema) = choices.iter().find(|one| fits(one, value)).copied() else { return };
        let other = [json!(5), json!("5"), json!([]), json!({}), json!(true)];
        for other in other.into_iter().filter(|other| !choices.iter().any(|one| fits(one, other))).take(2) {
            self.add(pointer, other, Expected::Refused);
        }
        match value {
            Value::Object(_) => self.of_object(schema, value, pointer),
            Value::Array(_) => self.of_array(schema, value, pointer),
            Value::String(_) => self.of_text(schema, pointer),
            Value::Number(_) => self.of_number(schema, pointer),
            Value::Bool(_) | Value::Null => {}
        }
    }

    fn of_object(&mut self, schema: &'static Value, value: &Value, pointer: &str) {
        if schema["additionalProperties"] != false {
            return;
        }
        let properties = schema["properties"].as_object().unwrap();
        self.add(&format!("{pointer}/{STRANGER}"), json!(1), Expected::Names(names(properties.keys())));
        let required = schema["required"].as_array();
        let name = component_name(schema).unwrap();
        for (member, inner) in properties {
            let place = format!("{pointer}/{member}");
            let Some(present) = value.get(member) else { continue };
            self.met.insert(format!("{name}.{member}"));
            let must = required.is_some_and(|required| required.contains(&json!(member)));
            self.add(&place, None, if must { Expected::Refused } else { Expected::Taken });
            self.of(inner, present, &place);
        }
    }

    fn of_array(&mut self, schema: &'static Value, value: &Value, pointer: &str) {
        let items = value.as_array().unwrap();
        let many = |number: usize| {
            json!(items.iter().chain(std::iter::repeat(&items[items.len() - 1])).take(number).collect::<Vec<_>>())
        };
        let limit = |word: &str| schema[word].as_u64().map(|limit| usize::try_from(limit).unwrap());
        if let Some(most) = limit("maxItems") {
            self.add(pointer, many(most), Expected::Taken);
            self.add(pointer, many(most + 1), Expected::Refused);
        }
        if let Some(least) = limit("minItems") {
            self.add(pointer, many(least), Expected::Taken);
            self.add(pointer, many(least - 1), Expected::Refused);
        } else {
            self.add(pointer, json!([]), Expected::Taken);
        }
        for (at, item) in items.iter().enumerate() {
            self.of(&schema["items"], item, &format!("{pointer}/{at}"));
        }
    }

    fn of_text(&mut self, schema: &'static Value, pointer: &str) {
        if let Some(words) = schema["enum"].as_array() {
            let words: Vec<String> = words.iter().map(|word| word.as_str().unwrap().to_owned()).collect();
            for word in &words {
                self.add(pointer, json!(word), Expected::Taken);
            }
            // Two spellings of one word are listed once.
            self.add(pointer, json!(NO_WORD), Expected::SomeOf(names(words.iter())));
            return;
        }
        let limit = |word: &str| schema[word].as_u64().map(|limit| usize::try_from(limit).unwrap());
        if let Some(least) = limit("minLength").filter(|least| *least > 0) {
            self.add(pointer, json!("x".repeat(least - 1)), Expected::Refused);
        }
        if schema.get("pattern").is_some() || schema.get("format").is_some() {
            self.add(pointer, json!("no § match"), Expected::Refused);
        }
        match limit("maxLength") {
            Some(most) => {
                self.add(pointer, json!("x".repeat(most)), Expected::Taken);
                self.add(pointer, json!("x".repeat(most + 1)), Expected::Refused);
            }
            None if ["pattern", "format", "examples"].iter().all(|word| schema.get(word).is_none()) => {
                self.add(pointer, json!("x".repeat(LONG)), Expected::Taken);
            }
            None => {}
        }
    }

    fn of_number(&mut self, schema: &'static Value, pointer: &str) {
        // An integer may be as large as JSON carries it, unless the contract says less.
        const LARGEST: i64 = 9_007_199_254_740_991;
        if is(schema, "number") {
            let limit = |word: &str| schema[word].as_f64().unwrap();
            for (limit, beyond) in [(limit("minimum"), -0.01), (limit("maximum"), 0.01)] {
                self.add(pointer, json!(limit), Expected::Taken);
                self.add(pointer, json!(limit + beyond), Expected::Refused);
            }
            return;
        }
        let least = schema["minimum"].as_i64().unwrap_or(-LARGEST);
        let most = schema["maximum"].as_i64().unwrap_or(LARGEST);
        for (limit, beyond) in [(least, -1), (most, 1)] {
            self.add(pointer, json!(limit), Expected::Taken);
            if limit.abs() < LARGEST {
                self.add(pointer, json!(limit + beyond), Expected::Refused);
            }
        }
    }
}
