//! Checks the form of a pack by JSON Schema 2020-12; the errors say what to write.

use std::sync::OnceLock;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::text::below;
use crate::domain::policy::PolicyError;

/// The schema of a pack, as published in `policies/schema`.
pub(super) const PACK_SCHEMA: &str = include_str!("../../policies/schema/policy-pack.schema.json");

/// The most characters of a value that an error repeats.
const MAX_SHOWN_CHARACTERS: usize = 120;

/// The schema and its compiled form, which is compiled once.
struct Form {
    schema: Value,
    validator: Validator,
}

fn form() -> Result<&'static Form, PolicyError> {
    static FORM: OnceLock<Result<Form, String>> = OnceLock::new();
    let built = FORM.get_or_init(|| {
        let schema: Value = serde_json::from_str(PACK_SCHEMA).map_err(|e| e.to_string())?;
        let validator = jsonschema::draft202012::options()
            .with_pattern_options(PatternOptions::regex())
            .build(&schema)
            .map_err(|e| e.to_string())?;
        Ok(Form { schema, validator })
    });
    built.as_ref().map_err(|error| {
        PolicyError::at(
            "",
            format!("the built-in schema of packs is broken ({error})"),
            "This is a fault of the program; please report it.",
        )
    })
}

/// All errors in the form of this document.
pub(super) fn check(document: &Value) -> Vec<PolicyError> {
    match form() {
        Ok(form) => form.validator.iter_errors(document).flat_map(|error| complaints(&error, &form.schema)).collect(),
        Err(error) => vec![error],
    }
}

fn complaints(error: &ValidationError<'_>, schema: &Value) -> Vec<PolicyError> {
    let pointer = error.instance_path().as_str();
    let node = schema_node(error, schema);
    let hint = || described(node).unwrap_or_else(|| "Write what the schema asks for.".to_owned());
    match error.kind() {
        Kind::AdditionalProperties { unexpected } => unexpected
            .iter()
            .map(|name| match no_longer_written(node, name) {
                Some(instead) => {
                    PolicyError::at(below(pointer, name), format!("`{name}` is no longer written here"), instead)
                }
                None => PolicyError::at(
                    below(pointer, name),
                    format!("`{}` does not belong here", shorten(name)),
                    format!("Remove it, or use one of {}.", members(node)),
                ),
            })
            .collect(),
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let hint = node
                .and_then(|node| node.pointer(&format!("/properties/{name}")))
                .and_then(|member| described(Some(resolve(member, schema))))
                .unwrap_or_else(hint);
            vec![PolicyError::at(below(pointer, name), format!("`{name}` is missing"), hint)]
        }
        Kind::PropertyNames { error } => vec![PolicyError::at(
            pointer,
            format!("a name here is not one that is allowed ({error})"),
            described(Some(schema_node_or_root(error, schema))).unwrap_or_else(hint),
        )],
        kind => vec![PolicyError::at(pointer, problem(error, kind), hint())],
    }
}

/// The error for one value, with no more of the value than a reader needs.
fn problem(error: &ValidationError<'_>, kind: &Kind) -> String {
    let shown = shorten(&error.instance().to_string());
    match kind {
        Kind::Enum { .. } | Kind::Constant { .. } => {
            format!("{shown} is not a word for this place")
        }
        Kind::Pattern { .. } => format!("{shown} does not have the form that this place asks for"),
        Kind::UniqueItems => "an item is listed twice".to_owned(),
        _ => shorten(&error.to_string()),
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARACTERS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// The schema that contains the failed keyword.
fn schema_node<'a>(error: &ValidationError<'_>, schema: &'a Value) -> Option<&'a Value> {
    let path = error.schema_path().as_str();
    let (parent, _) = path.rsplit_once('/')?;
    schema.pointer(parent)
}

fn schema_node_or_root<'a>(error: &ValidationError<'_>, schema: &'a Value) -> &'a Value {
    schema_node(error, schema).unwrap_or(schema)
}

/// Resolves a `$ref` inside this schema.
fn resolve<'a>(node: &'a Value, schema: &'a Value) -> &'a Value {
    let target = node.get("$ref").and_then(Value::as_str);
    target.and_then(|target| target.strip_prefix('#')).and_then(|pointer| schema.pointer(pointer)).unwrap_or(node)
}

fn described(node: Option<&Value>) -> Option<String> {
    let text = node?.get("description")?.as_str()?;
    Some(text.to_owned())
}

/// What to write instead of a member of earlier packs.
fn no_longer_written(node: Option<&Value>, name: &str) -> Option<String> {
    let instead = node?.get("x-no-longer-written")?.get(name)?.as_str()?;
    Some(instead.to_owned())
}

fn members(node: Option<&Value>) -> String {
    let names: Vec<&str> = node
        .and_then(|node| node.get("properties"))
        .and_then(Value::as_object)
        .map(|members| members.keys().map(String::as_str).collect())
        .unwrap_or_default();
    names.join(", ")
}
