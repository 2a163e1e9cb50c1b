//! Redaction (RFC-WF-0034 X): what is left of a value for someone who may not see all of it.
//!
//! One implementation for every read path. Policy says how each slot is shown; what it does not mention is hidden.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::canonical::{Digest, Purpose, canonical, keyed};
use super::policy::{RedactionMethod, RedactionRules};
use super::slots::{LAST_RESULT, Slots};

/// The key under which policy says how the caller's own extensions are shown.
pub const EXTENSIONS: &str = "extensions";

/// What stands for what is not shown.
const COVER: &str = "••••";
/// How much of a masked text is left, and how long it must be for anything to be left.
const TAIL: usize = 4;
const LONG_ENOUGH: usize = 2 * TAIL;
/// The longest member name, and the most digits in one, that reads as a field's name and not as somebody's.
const NAME_BYTES: usize = 40;
const NAME_DIGITS: usize = 3;

impl RedactionMethod {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Mask => "mask",
            Self::Digest => "digest",
            Self::Hide => "hide",
        }
    }
}

/// Shows values as policy allows and remembers what it did.
#[derive(Debug, Clone)]
pub struct Redactor<'a> {
    rules: &'a RedactionRules,
    key: &'a Digest,
    raw: bool,
    applied: BTreeSet<(String, RedactionMethod)>,
}

impl<'a> Redactor<'a> {
    /// Redacts by these rules; digests are made under `key`.
    #[must_use]
    pub fn new(rules: &'a RedactionRules, key: &'a Digest) -> Self {
        Self { rules, key, raw: false, applied: BTreeSet::new() }
    }

    /// Shows everything if `raw`, and redacts otherwise.
    #[must_use]
    pub fn raw_if(mut self, raw: bool) -> Self {
        self.raw = raw;
        self
    }

    /// Whether everything is shown.
    #[must_use]
    pub fn is_raw(&self) -> bool {
        self.raw
    }

    /// What is left of a slot's value; none if it is hidden.
    pub fn slot(&mut self, name: &str, value: &Value) -> Option<Value> {
        self.by(name, self.rules.method_for(name), value)
    }

    /// What is left of a text that stands in the place of a slot's value.
    pub fn text(&mut self, name: &str, text: &str) -> Option<String> {
        match self.slot(name, &Value::String(text.to_owned()))? {
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        }
    }

    /// What is left of a value under a method that policy does not decide.
    pub fn by(&mut self, name: &str, method: RedactionMethod, value: &Value) -> Option<Value> {
        let method = if self.raw { RedactionMethod::None } else { method };
        if method != RedactionMethod::None && !value.is_null() {
            self.applied.insert((name.to_owned(), method));
        }
        redact(method, self.key, value)
    }

    /// What is left of all slots. Hidden ones are absent.
    pub fn slots(&mut self, slots: &Slots) -> Map<String, Value> {
        slots.iter().filter_map(|(name, value)| Some((name.clone(), self.slot(name, value)?))).collect()
    }

    /// What is left of a report on a command: its free texts are shown as policy shows `last_result`.
    pub fn report(&mut self, text: &str) -> Option<String> {
        self.text(LAST_RESULT, text)
    }

    /// What was done, as `slot:method`, in alphabetical order.
    #[must_use]
    pub fn applied(&self) -> Vec<String> {
        self.applied.iter().map(|(name, method)| format!("{name}:{}", method.as_str())).collect()
    }

    /// Whether anything was changed or left out.
    #[must_use]
    pub fn has_redacted(&self) -> bool {
        !self.applied.is_empty()
    }
}

/// What is left of a value; none if it is hidden.
#[must_use]
pub fn redact(method: RedactionMethod, key: &Digest, value: &Value) -> Option<Value> {
    match method {
        RedactionMethod::None => Some(value.clone()),
        RedactionMethod::Mask => Some(mask(value)),
        RedactionMethod::Digest if value.is_null() => Some(Value::Null),
        RedactionMethod::Digest => {
            Some(Value::String(format!("hmac-sha256:{}", keyed(key, Purpose::Slot, &canonical(value)).to_hex())))
        }
        RedactionMethod::Hide => None,
    }
}

/// Masks every leaf. The shape stays, so that two targets of one kind look alike.
fn mask(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::String(text) => Value::String(mask_text(text)),
        Value::Bool(_) => Value::String(COVER.to_owned()),
        Value::Number(number) => Value::String(mask_text(&number.to_string())),
        Value::Array(items) => Value::Array(items.iter().map(mask).collect()),
        Value::Object(members) => Value::Object(mask_members(members)),
    }
}

fn mask_members(members: &Map<String, Value>) -> Map<String, Value> {
    let mut masked = Map::new();
    for (number, (name, value)) in members.iter().enumerate() {
        let name = if is_field_name(name) { name.clone() } else { format!("{COVER}{}", number + 1) };
        masked.insert(name, mask(value));
    }
    masked
}

/// Only the last four characters, and nothing of what has fewer than eight.
fn mask_text(text: &str) -> String {
    let length = text.chars().count();
    if length < LONG_ENOUGH {
        return COVER.to_owned();
    }
    COVER.chars().chain(text.chars().skip(length - TAIL)).collect()
}

/// Whether a member's name is a field's, such as `order_id`. Others, such as a number used as a key, are values.
fn is_field_name(name: &str) -> bool {
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    begins && plain && name.len() <= NAME_BYTES && digits <= NAME_DIGITS
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const KEY: Digest = Digest::ZERO;

    fn key() -> Digest {
        Digest::from_bytes([7; 32])
    }

    fn rules(lines: &[(&str, RedactionMethod)]) -> RedactionRules {
        RedactionRules(lines.iter().map(|(name, method)| ((*name).to_owned(), *method)).collect::<BTreeMap<_, _>>())
    }

    #[test]
    fn a_mask_keeps_four_characters_of_eight_and_none_of_seven() {
        let cases = [
            (json!("12345678"), json!("••••5678")),
            (json!("1234567"), json!("••••")),
            (json!("ção-ação"), json!("••••ação")),
            (json!(""), json!("••••")),
            (json!(820_000), json!("••••")),
            (json!(5_511_999_990_000_u64), json!("••••0000")),
            (json!(true), json!("••••")),
            (json!(null), json!(null)),
        ];
        for (value, expected) in cases {
            assert_eq!(redact(RedactionMethod::Mask, &KEY, &value), Some(expected));
        }
    }

    #[test]
    fn a_mask_keeps_the_shape_of_an_object_and_covers_names_that_are_values() {
        let value = json!({"order_id": "order-4711", "items": ["abc"], "5511999990000": {"Maria": 1}});
        let expected = json!({"order_id": "••••4711", "items": ["••••"], "••••1": {"••••1": "••••"}});
        assert_eq!(redact(RedactionMethod::Mask, &KEY, &value), Some(expected));
    }

    #[test]
    fn a_digest_tells_values_apart_and_depends_on_the_key() {
        let digest = |key: &Digest, value: Value| redact(RedactionMethod::Digest, key, &value);
        assert_eq!(digest(&key(), json!({"a": 1, "b": 2})), digest(&key(), json!({"b": 2, "a": 1})));
        assert_ne!(digest(&key(), json!("a")), digest(&key(), json!("b")));
        assert_ne!(digest(&key(), json!("a")), digest(&Digest::from_bytes([8; 32]), json!("a")));
    }

    #[test]
    fn it_says_what_it_did_and_hides_what_policy_does_not_mention() {
        let rules = rules(&[("active_intent", RedactionMethod::None), ("active_target", RedactionMethod::Mask)]);
        let slots: Slots = [
            ("active_intent".to_owned(), json!("refund")),
            ("active_target".to_owned(), json!("order-4711")),
            ("x_note".to_owned(), json!("secret")),
        ]
        .into();
        let key = key();
        let mut redactor = Redactor::new(&rules, &key);
        let shown = Value::Object(redactor.slots(&slots));
        assert_eq!(shown, json!({"active_intent": "refund", "active_target": "••••4711"}));
        assert_eq!(redactor.applied(), ["active_target:mask", "x_note:hide"]);
        let mut raw = Redactor::new(&rules, &key).raw_if(true);
        assert_eq!(raw.slots(&slots).len(), 3);
        assert!(!raw.has_redacted());
    }

    fn leaf() -> impl Strategy<Value = Value> {
        prop_oneof![
            "[a-zA-Z0-9+@ çãé.-]{1,40}".prop_map(Value::String),
            (-1_000_000_000_i64..1_000_000_000).prop_map(|number| json!(number)),
        ]
    }

    fn tree() -> impl Strategy<Value = Value> {
        leaf().prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::btree_map("[A-Z0-9]{2,12}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn leaves(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
            Value::Object(members) => {
                found.extend(members.keys().cloned());
                members.values().for_each(|member| leaves(member, found));
            }
            Value::String(text) => found.push(text.clone()),
            Value::Null => {}
            other => found.push(other.to_string()),
        }
    }

    proptest! {
        #[test]
        fn no_part_of_the_original_survives_whole(value in tree()) {
            let (mut original, mut shown) = (Vec::new(), Vec::new());
            leaves(&value, &mut original);
            let masked = redact(RedactionMethod::Mask, &key(), &value).unwrap();
            leaves(&masked, &mut shown);
            let values: Vec<&String> = shown.iter().filter(|text| text.starts_with(COVER)).collect();
            prop_assert_eq!(values.len(), shown.len(), "every leaf and every name that is a value is covered");
            // Leaf by leaf: in another leaf's tail a short original may stand by accident.
            for text in original.iter().filter(|text| text.chars().count() > TAIL) {
                prop_assert!(shown.iter().all(|left| !left.contains(text.as_str())), "{} in {:?}", text, shown);
            }
            prop_assert_eq!(redact(RedactionMethod::Hide, &key(), &value), None);
            let digest = redact(RedactionMethod::Digest, &key(), &value).unwrap();
            let text = digest.as_str().unwrap();
            prop_assert!(text.len() == "hmac-sha256:".len() + 64);
        }

        #[test]
        fn a_single_text_never_survives(text in "[^•]{1,60}") {
            let value = Value::String(text.clone());
            let masked = redact(RedactionMethod::Mask, &key(), &value).unwrap();
            prop_assert!(!masked.as_str().unwrap().contains(&text));
            let digest = redact(RedactionMethod::Digest, &key(), &value).unwrap();
            let hex = digest.as_str().unwrap().trim_start_matches("hmac-sha256:");
            prop_assert!(text.chars().count() < 5 || !hex.contains(&text));
        }
    }
}
