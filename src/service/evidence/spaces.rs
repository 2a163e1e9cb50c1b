//! Redaction of fact space events: their structure is shown, and the values are not.

use serde_json::{Value, json};

use crate::domain::policy::RedactionMethod;
use crate::domain::redaction::Redactor;

/// The name of these members in the redaction block.
const FACTS: &str = "facts";

/// Members with callers' free text, or text made from it. Keys of facts, signals and items are not listed: they name
/// what something is about and are part of paths.
const WRITTEN: &[&str] = &[
    "allow",
    "authority",
    "claims",
    "content",
    "context",
    "former",
    "identity",
    "item_type",
    "label",
    "owner_id",
    "pointer",
    "reason",
    "restricted_to",
    "scope_id",
    "source",
    "supersedes",
    "supersedes_reason",
    "task_id",
    "text",
    "value",
    "viewer",
];
/// Members under which a reason is a code of this program, not a caller's text.
const OURS: &[&str] = &["omitted"];

/// Redacts an event of a fact space at every depth.
pub(super) fn cover(data: &mut Value, redactor: &mut Redactor<'_>) {
    let removed = data.get("event").and_then(Value::as_str) == Some("item_removed");
    if !removed {
        cover_below(data, redactor);
    }
}

fn cover_below(value: &mut Value, redactor: &mut Redactor<'_>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut().filter(|(name, _)| !OURS.contains(&name.as_str())) {
                if !WRITTEN.contains(&name.as_str()) {
                    cover_below(member, redactor);
                } else if !member.is_null() {
                    let shown = redactor.by(FACTS, RedactionMethod::Hide, member);
                    *member = shown.unwrap_or_else(|| json!({"redacted": "hide"}));
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cover_below(item, redactor)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::domain::canonical::Digest;
    use crate::domain::policy::RedactionRules;

    const CANARY: &str = "CANARY";

    fn covered(data: &Value, raw: bool) -> (String, Vec<String>) {
        let (rules, key) = (RedactionRules(BTreeMap::new()), Digest::ZERO);
        let mut redactor = Redactor::new(&rules, &key).raw_if(raw);
        let mut data = data.clone();
        cover(&mut data, &mut redactor);
        (data.to_string(), redactor.applied())
    }

    #[test]
    fn what_was_written_goes_and_how_it_stands_stays() {
        let events = [
            json!({"event": "fact_written", "fact": {
                "uid": "fct_1", "key": "delivery_address", "label": CANARY, "value": {"street": CANARY},
                "source": {"type": CANARY, "identity": CANARY}, "scope_id": CANARY, "restricted_to": [CANARY],
                "supersedes": CANARY, "supersedes_reason": CANARY, "former": [{"uid": "fct_0", "text": CANARY}],
                "depends_on": [{"pointer": CANARY}], "standing": "superseded", "cause": "same_key", "reason": CANARY,
                "history": [{"what": "superseded", "reason": CANARY}], "contested": [{"cue": "correction", "reason": CANARY}],
            }}),
            json!({"event": "observation_read", "reading": {"authority": CANARY, "claims": [{"new": CANARY}]}}),
            json!({"event": "space_described", "space": {"owner_id": CANARY, "allow": [CANARY], "identity": {"user_id": CANARY}}}),
            json!({"event": "signal_set", "signal": {"key": "weather", "value": CANARY, "former": [CANARY]}}),
            json!({"event": "item_set", "item": {"content": CANARY, "task_id": CANARY, "item_type": CANARY}}),
            json!({"event": "ruled", "ruling": {"verdict": "scope_ended", "scope_id": CANARY, "reason": CANARY}}),
            json!({"event": "pack_saved", "pack": {"viewer": {"user_id": CANARY}, "pack": {
                "context": CANARY, "segments": [{"section": "facts", "text": CANARY}],
                "omitted": [{"id": "fct_2", "reason": "stale"}],
            }}}),
        ];
        let shown: Vec<String> = events.iter().map(|event| covered(event, false).0).collect();
        for text in &shown {
            assert!(!text.contains(CANARY), "{text}");
        }
        for kept in ["fct_1", "delivery_address", "superseded", "same_key", "correction"] {
            assert!(shown[0].contains(kept), "{kept}");
        }
        assert!(shown[3].contains("weather") && shown[6].contains("stale"));
        assert_eq!(covered(&events[0], false).1, ["facts:hide"]);
        assert_eq!(covered(&events[0], true), (events[0].to_string(), Vec::new()), "who may see it raw sees it");
    }

    #[test]
    fn why_an_item_went_is_a_word_of_ours() {
        let data = json!({"event": "item_removed", "key": "k", "reason": "expired"});
        assert_eq!(covered(&data, false), (data.to_string(), Vec::new()));
    }
}
