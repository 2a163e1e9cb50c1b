//! Names all members that a body lacks. Reading a body into its type stops at the first one; the contract lists them all.

use std::sync::LazyLock;

use serde_json::Value;

use super::problem::{FieldError, Problem};

/// The contract, as it is served.
pub(crate) const OPENAPI_YAML: &str = include_str!("../../openapi.yaml");

/// Read once, when the first body lacks something. Tests keep it readable, and equal to the types.
static CONTRACT: LazyLock<Value> = LazyLock::new(|| serde_saphyr::from_str(OPENAPI_YAML).unwrap_or_default());

/// How deep schemas are followed: deeper than any body's own members lie.
const DEEPEST: u32 = 16;

/// The contract's name for a body.
#[derive(Debug, Clone)]
pub(crate) enum Named {
    /// The body of the operation with this method and path.
    Operation { method: String, path: String },
    /// A schema of this name.
    Schema(&'static str),
}

impl Named {
    fn schema(&self) -> &'static Value {
        match self {
            Self::Operation { method, path } => {
                let operation = &CONTRACT["paths"][path.as_str()][method.to_ascii_lowercase()];
                &operation["requestBody"]["content"]["application/json"]["schema"]
            }
            Self::Schema(name) => &CONTRACT["components"]["schemas"][*name],
        }
    }
}

/// Adds to a problem about a missing member every other member that the body lacks. `base` is the value's place.
pub(crate) fn together(mut problem: Problem, named: &Named, value: &Value, base: &str) -> Problem {
    if problem.code != "missing_field" {
        return problem;
    }
    let mut missing = Vec::new();
    look(named.schema(), value, base, DEEPEST, &mut missing);
    for pointer in missing {
        if problem.errors.iter().all(|known| known.pointer != pointer) {
            problem.errors.push(FieldError { pointer, ..FieldError::required() });
        }
    }
    if problem.errors.len() > 1 {
        problem.detail = "the body lacks members; see errors".into();
    }
    problem
}

fn look(schema: &'static Value, value: &Value, place: &str, depth: u32, missing: &mut Vec<String>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let schema = plain(schema);
    match value {
        Value::Object(members) => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            missing.extend(required.filter(|name| !members.contains_key(*name)).map(|name| format!("{place}/{name}")));
            let known = schema["properties"].as_object().into_iter().flatten();
            for (name, of) in known {
                if let Some(member) = members.get(name) {
                    look(of, member, &format!("{place}/{name}"), depth, missing);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                look(&schema["items"], item, &format!("{place}/{index}"), depth, missing);
            }
        }
        _ => {}
    }
}

/// The schema itself: references are followed, and of "this or null" this is taken.
fn plain(schema: &'static Value) -> &'static Value {
    let mut schema = schema;
    for _ in 0..DEEPEST {
        let either = schema["anyOf"].as_array().or_else(|| schema["allOf"].as_array());
        if let Some(named) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
            schema = &CONTRACT["components"]["schemas"][named];
        } else if let Some(first) = either.and_then(|choices| choices.first()) {
            schema = first;
        } else {
            break;
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lacking(named: &Named, value: &Value) -> Vec<String> {
        let problem = together(Problem::missing("/message_id"), named, value, "");
        problem.errors.into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn every_missing_member_is_named_at_once_and_the_first_stays_first() {
        let messages = Named::Operation { method: "POST".to_owned(), path: "/v1/messages".to_owned() };
        let all = ["/message_id", "/actor_id", "/conversation_id", "/kind", "/sent_at"];
        let mut found = lacking(&messages, &json!({}));
        assert_eq!(found.first().map(String::as_str), Some("/message_id"));
        found.sort();
        let mut all = all.map(str::to_owned).to_vec();
        all.sort();
        assert_eq!(found, all);
        assert_eq!(lacking(&Named::Schema("Message"), &json!({})).len(), all.len());
    }

    #[test]
    fn members_of_members_are_looked_at_and_other_problems_stay_as_they_are() {
        let ask =
            Named::Operation { method: "POST".to_owned(), path: "/v1/contexts/{context_id}/confirmations".to_owned() };
        let body = json!({"command": {"command_id": "c"}, "prompt": {"text": "?", "buttons": ["Yes", "No"]}});
        let found = lacking(&ask, &body);
        for pointer in ["/command/name", "/command/idempotency_key"] {
            assert!(found.iter().any(|one| one == pointer), "{pointer}: {found:?}");
        }
        let other = together(Problem::invalid("/kind", "is wrong"), &ask, &json!({}), "");
        assert_eq!(other.errors.len(), 1);
        let unknown = Named::Operation { method: "POST".to_owned(), path: "/nowhere".to_owned() };
        assert_eq!(lacking(&unknown, &json!({})), ["/message_id"]);
    }
}
