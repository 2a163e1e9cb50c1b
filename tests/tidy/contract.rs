//! What generators of clients need of `openapi.yaml`: names for what they have to name, and words for who reads them.
//! `.ci/clients` runs the generators; these rules say in a moment what they would trip over, and where.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::{Finding, expect_none, files_in};

const CONTRACT: &str = "openapi.yaml";
/// The components that something has to refer to.
const KINDS: &[&str] = &["schemas", "parameters", "responses", "headers"];

type Rule = fn(&Value) -> Vec<Finding>;

fn finding(pointer: &str, why: &str) -> Finding {
    Finding::new(CONTRACT, 1, format!("{pointer}: {why}"))
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// Every value of the document with its JSON pointer.
fn everything(document: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), document)];
    while let Some((pointer, value)) = open.pop() {
        let below = |key: &str| format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
        open.extend(members(value).map(|(key, inner)| (below(key), inner)));
        let items = value.as_array().into_iter().flatten().enumerate();
        open.extend(items.map(|(at, inner)| (format!("{pointer}/{at}"), inner)));
        found.push((pointer, value));
    }
    found
}

/// The name of the schema that stands here as a component of its own.
fn component(pointer: &str) -> Option<&str> {
    pointer.strip_prefix("/components/schemas/").filter(|name| !name.contains('/'))
}

fn may_be_null(schema: &Value) -> bool {
    schema["type"].as_array().is_some_and(|types| types.contains(&json!("null")))
}

fn is_object(schema: &Value) -> bool {
    let types = &schema["type"];
    types == "object" || types.as_array().is_some_and(|types| types.contains(&json!("object")))
}

/// Whether this is no schema but a member of one, or an example, that only looks like one.
fn is_data(pointer: &str) -> bool {
    pointer.ends_with("/properties") || pointer.contains("/example")
}

/// An enum or an object without a name gets one from its generator, with a number where that name is taken.
fn all_named(document: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pointer, schema) in everything(document) {
        if is_data(&pointer) {
            continue;
        }
        let values = schema["enum"].as_array().map_or(0, Vec::len);
        if component(&pointer).is_none() && (values > 1 || is_object(schema)) {
            findings.push(finding(&pointer, "a generator cannot name this: make it a component and refer to it"));
        }
        if values > 0 && may_be_null(schema) {
            findings.push(finding(&pointer, "an enum that may be null: write anyOf with the enum and null"));
        }
    }
    findings
}

/// Two components whose names differ in their spelling only get one name in a client, and so do two operations.
fn named_apart(document: &Value) -> Vec<Finding> {
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    let mut findings = Vec::new();
    for kind in ["schemas", "parameters"] {
        for (name, _) in members(&document["components"][kind]) {
            let place = format!("/components/{kind}/{name}");
            if let Some(other) = taken.insert(name.replace('_', "").to_lowercase(), place.clone()) {
                findings.push(finding(&place, &format!("has the name of {other} in clients")));
            }
        }
    }
    let mut operations = BTreeSet::new();
    for (path, methods) in members(&document["paths"]) {
        for (method, operation) in members(methods) {
            if operation["operationId"].as_str().is_some_and(|id| !operations.insert(id)) {
                findings.push(finding(&format!("{method} {path}"), "another operation has its operationId"));
            }
        }
    }
    findings
}

/// `openapi-python-client` writes no valid Python for a constant that may be absent.
fn constants_are_there(document: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pointer, schema) in everything(document) {
        let required: BTreeSet<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, property) in members(&schema["properties"]) {
            if property.get("const").is_some() && !required.contains(name.as_str()) {
                let why = "a constant that may be absent: write its type, and `not` for what it never is";
                findings.push(finding(&format!("{pointer}/properties/{name}"), why));
            }
        }
    }
    findings
}

/// What nothing refers to is left over.
fn all_used(document: &Value) -> Vec<Finding> {
    let everything = everything(document);
    let used: BTreeSet<&str> =
        everything.iter().filter(|(pointer, _)| pointer.ends_with("/$ref")).filter_map(|(_, v)| v.as_str()).collect();
    let components = KINDS.iter().flat_map(|kind| {
        members(&document["components"][kind]).map(move |(name, _)| format!("/components/{kind}/{name}"))
    });
    let unused = components.filter(|pointer| !used.contains(format!("#{pointer}").as_str()));
    unused.map(|pointer| finding(&pointer, "nothing refers to it")).collect()
}

fn says_something(value: &Value) -> bool {
    value["description"].as_str().is_some_and(|text| !text.trim().is_empty())
}

/// Whether a property is described, by itself or by the component that it is.
fn is_described(document: &Value, schema: &Value) -> bool {
    let component = |schema: &Value| {
        let pointer = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        pointer.and_then(|pointer| document.pointer(pointer)).is_some_and(says_something)
    };
    let either = ["anyOf", "oneOf"].iter().filter_map(|word| schema[word].as_array()).flatten();
    says_something(schema) || component(schema) || either.clone().any(|one| says_something(one) || component(one))
}

/// Every operation, parameter, schema and property says what it is.
fn all_described(document: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, methods) in members(&document["paths"]) {
        for (method, operation) in members(methods) {
            for member in ["operationId", "summary", "description"] {
                if operation[member].as_str().is_none_or(|text| text.trim().is_empty()) {
                    findings.push(finding(&format!("{method} {path}"), &format!("has no {member}")));
                }
            }
        }
    }
    for kind in KINDS {
        let silent = members(&document["components"][kind]).filter(|(_, value)| !says_something(value));
        findings.extend(silent.map(|(name, _)| finding(&format!("/components/{kind}/{name}"), "has no description")));
    }
    for (pointer, schema) in everything(document).into_iter().filter(|(pointer, _)| !is_data(pointer)) {
        let silent = members(&schema["properties"]).filter(|(_, property)| !is_described(document, property));
        findings.extend(silent.map(|(name, _)| finding(&format!("{pointer}/{name}"), "has no description")));
    }
    findings
}

/// Examples are what their schemas allow, and every body has one.
fn all_examples_hold(document: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut hold = |pointer: &str, schema: &Value, example: &Value| {
        let whole = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "components": document["components"], "allOf": [schema],
        });
        let outcome = jsonschema::validator_for(&whole).map(|validator| validator.is_valid(example));
        if !outcome.is_ok_and(|valid| valid) {
            findings.push(finding(pointer, "the schema does not allow this example"));
        }
    };
    for (pointer, value) in everything(document) {
        let examples = value["examples"].as_array().filter(|_| !is_data(&pointer)).into_iter().flatten();
        examples.for_each(|example| hold(&pointer, value, example));
        if pointer.contains("/requestBody/content/") && value.get("schema").is_some() {
            hold(&pointer, &value["schema"], &value["example"]);
        }
    }
    findings
}

const RULES: [Rule; 6] = [all_named, named_apart, constants_are_there, all_used, all_described, all_examples_hold];

#[test]
fn clients_can_be_made_from_the_contract() {
    let files = files_in("");
    let contract = files.iter().find(|file| file.path == CONTRACT).unwrap();
    let document: Value = serde_saphyr::from_str(&contract.text).unwrap();
    assert!(everything(&document).len() > 5_000, "the contract was read");
    for rule in RULES {
        expect_none(&rule(&document));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schemas(schemas: &Value) -> Value {
        json!({"components": {"schemas": schemas}})
    }

    fn found(rule: Rule, document: &Value) -> Vec<String> {
        rule(document).into_iter().map(|finding| finding.why).collect()
    }

    #[test]
    fn what_has_no_name_is_found() {
        let property = |schema: Value| schemas(&json!({"A": {"type": "object", "properties": {"b": schema}}}));
        assert_eq!(all_named(&property(json!({"enum": ["x", "y"]}))).len(), 1);
        assert_eq!(all_named(&property(json!({"type": ["object", "null"]}))).len(), 1);
        assert_eq!(all_named(&property(json!({"type": "array", "items": {"type": "object"}}))).len(), 1);
        assert_eq!(all_named(&property(json!({"anyOf": [{"enum": ["x", "y"]}, {"type": "null"}]}))).len(), 1);
        assert_eq!(all_named(&schemas(&json!({"A": {"type": ["string", "null"], "enum": ["x", null]}}))).len(), 1);
        assert_eq!(all_named(&property(json!({"type": "string"}))).len(), 0);
        assert_eq!(all_named(&schemas(&json!({"A": {"enum": ["x", "y"]}}))).len(), 0);
        // A property may be called what the words of a schema are called.
        let odd =
            json!({"A": {"type": "object", "properties": {"type": {"type": "string"}, "enum": {"type": "string"}}}});
        assert_eq!(all_named(&schemas(&odd)).len(), 0);
    }

    #[test]
    fn one_name_for_two_components_is_found() {
        let twice = json!({"components": {"schemas": {"ContextId": {}}, "parameters": {"context_id": {}}}});
        assert_eq!(named_apart(&twice).len(), 1);
        let apart = json!({"components": {"schemas": {"ContextId": {}}, "parameters": {"context_id_path": {}}}});
        assert_eq!(named_apart(&apart).len(), 0);
        let operations = json!({"paths": {"/x": {"get": {"operationId": "a"}, "put": {"operationId": "a"}}}});
        assert_eq!(found(named_apart, &operations), ["put /x: another operation has its operationId"]);
    }

    #[test]
    fn a_constant_that_may_be_absent_is_found() {
        let constant =
            |required: Value| schemas(&json!({"A": {"required": required, "properties": {"b": {"const": true}}}}));
        assert_eq!(constants_are_there(&constant(json!([]))).len(), 1);
        assert_eq!(constants_are_there(&constant(json!(["b"]))).len(), 0);
    }

    #[test]
    fn what_nothing_refers_to_is_found() {
        let document = json!({"components": {"schemas": {"A": {"$ref": "#/components/schemas/B"}, "B": {}}}});
        assert_eq!(found(all_used, &document), ["/components/schemas/A: nothing refers to it"]);
    }

    #[test]
    fn what_says_nothing_is_found() {
        let operation = json!({"paths": {"/x": {"get": {"operationId": "getX", "summary": "X", "description": " "}}}});
        assert_eq!(found(all_described, &operation), ["get /x: has no description"]);
        let property = |schema: Value, of_b: Value| {
            let a = json!({"description": "A.", "properties": {"b": schema}});
            found(all_described, &schemas(&json!({"A": a, "B": of_b})))
        };
        let (told, refers) = (json!({"description": "B."}), json!({"$ref": "#/components/schemas/B"}));
        assert_eq!(property(refers.clone(), told.clone()), [""; 0]);
        assert_eq!(property(json!({"anyOf": [refers, {"type": "null"}]}), told.clone()), [""; 0]);
        assert_eq!(property(json!({"type": "string"}), told), ["/components/schemas/A/b: has no description"]);
        assert_eq!(property(json!({"description": "b."}), json!({})), ["/components/schemas/B: has no description"]);
    }

    #[test]
    fn an_example_that_does_not_hold_is_found() {
        let of = |example: Value| schemas(&json!({"A": {"type": "string", "examples": [example]}}));
        assert_eq!(all_examples_hold(&of(json!("x"))).len(), 0);
        assert_eq!(all_examples_hold(&of(json!(1))).len(), 1);
        let body = |example: Value| {
            let content = json!({"application/json": {"schema": {"type": "object"}, "example": example}});
            json!({"paths": {"/x": {"post": {"requestBody": {"content": content}}}}})
        };
        assert_eq!(all_examples_hold(&body(json!({}))).len(), 0);
        assert_eq!(all_examples_hold(&body(Value::Null)).len(), 1, "no example");
    }
}
