//! Whether an artifact agrees with its entry.

use super::line::{Entry, Header};
use crate::domain::canonical::{Json, Text};

/// Members of events that the server withholds, so an artifact may lack them.
const WITHHELD: [&str; 10] = [
    "key",
    "nonce_digest",
    "title_key",
    "title_digest",
    "salt",
    "content_salt",
    "prompt_salt",
    "message_key",
    "body_digest",
    "echo",
];
/// Members of an artifact that name the subjects of an entry.
const ABOUT: [&str; 9] = [
    "conversation_id",
    "actor_id",
    "context_id",
    "message_ids",
    "command_id",
    "correlation_id",
    "space_id",
    "fact_uid",
    "reading_id",
];

/// Whether the members that artifact and header share are equal.
pub(super) fn tells_header(artifact: &Json<'_>, header: &Header, entry: &Entry<'_>) -> bool {
    let is = |name: &str, value: &str| artifact.get(name).and_then(Json::as_str) == Some(value);
    is("artifact_id", &header.artifact_id)
        && is("type", &header.kind)
        && is("occurred_at", &header.at)
        && is("tenant_id", &header.tenant_id)
        && is("stream_id", &header.stream_id)
        && is("policy_hash", &header.policy_hash)
        && is("prev_hash", &entry.prev_hash)
        && is("payload_commitment", &entry.payload_commitment)
        && is("hash", &entry.entry_hash)
        && artifact.get("seq").and_then(Json::as_u64) == Some(header.seq)
}

/// Whether the artifact contains nothing that is not in the payload, and omits only what the server withholds.
pub(super) fn tells_payload(artifact: &Json<'_>, payload: &Json<'_>) -> bool {
    let about = payload.get("about");
    let same_about = ABOUT.iter().all(|name| artifact.get(name) == about.and_then(|about| about.get(name)));
    let event = payload.get("event").unwrap_or(&Json::Null);
    let data = artifact.get("data").unwrap_or(&Json::Null);
    let key = artifact.get("idempotency_key");
    let reference = artifact.get("extensions").and_then(|extensions| extensions.get("context_ref"));
    same_about
        && artifact.get("policy") == payload.get("policy")
        && artifact.get("erased") == Some(&Json::Bool(false))
        && tells(data, event)
        && key.is_none_or(|key| says(event, "idempotency_key", key))
        && reference.and_then(Json::members).is_none_or(|members| refers(payload, members))
}

fn tells(shown: &Json<'_>, full: &Json<'_>) -> bool {
    match (shown, full) {
        (Json::Object(members), Json::Object(all)) => {
            let known = members.iter().all(|(name, value)| full.get(name).is_some_and(|full| tells(value, full)));
            known && all.iter().all(|(name, _)| shown.get(name).is_some() || WITHHELD.contains(&&**name))
        }
        (Json::Array(shown), Json::Array(full)) => {
            shown.len() == full.len() && shown.iter().zip(full).all(|(shown, full)| tells(shown, full))
        }
        _ => shown == full,
    }
}

/// Whether the payload contains each member of a `context_ref`, under its name or as the context's.
fn refers(payload: &Json<'_>, members: &[(Text<'_>, Json<'_>)]) -> bool {
    members
        .iter()
        .all(|(name, value)| says(payload, name, value) || says(payload, &format!("context_{}", &**name), value))
}

/// Whether a value has this member, at any depth.
fn says(value: &Json<'_>, name: &str, member: &Json<'_>) -> bool {
    match value {
        Json::Object(members) => {
            value.get(name) == Some(member) || members.iter().any(|(_, value)| says(value, name, member))
        }
        Json::Array(items) => items.iter().any(|item| says(item, name, member)),
        _ => false,
    }
}

/// Whether the artifact shows more than the header: something that only a payload can prove.
pub(super) fn tells_content(artifact: &Json<'_>) -> bool {
    artifact.get("data").is_some() || ABOUT.iter().any(|name| artifact.get(name).is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::domain::canonical::parse_borrowed;

    fn tells_payload(artifact: &Value, payload: &Value) -> bool {
        let (artifact, payload) = (artifact.to_string(), payload.to_string());
        let [artifact, payload] = [&artifact, &payload].map(|text| parse_borrowed(text.as_bytes()).unwrap());
        super::tells_payload(&artifact, &payload)
    }

    #[test]
    fn an_artifact_may_lack_what_stays_with_the_server_and_nothing_else() {
        let payload = json!({
            "v": 1, "about": {"command_id": "c"}, "policy": {"pack_id": "basic"},
            "event": {"event": "command_bound", "command": {"context_id": "ctx", "context_hash": "sha256:1",
                "context_expires_at": "t", "idempotency_key": "k", "fingerprint": {"value": "f", "key": "00"}}},
        });
        let artifact = json!({
            "command_id": "c", "policy": {"pack_id": "basic"}, "erased": false, "idempotency_key": "k",
            "data": {"event": "command_bound", "command": {"context_id": "ctx", "context_hash": "sha256:1",
                "context_expires_at": "t", "idempotency_key": "k", "fingerprint": {"value": "f"}}},
            "extensions": {"context_ref": {"context_id": "ctx", "context_hash": "sha256:1", "expires_at": "t"}},
        });
        assert!(tells_payload(&artifact, &payload));
        let cases: [(&str, Value); 11] = [
            ("/command_id", json!("d")),
            ("/policy/pack_id", json!("strong")),
            ("/erased", json!(true)),
            ("/idempotency_key", json!("other")),
            ("/data/event", json!("command_refused")),
            ("/data/command", json!({"context_id": "ctx"})),
            ("/data/command/fingerprint", json!({})),
            ("/data/command/fingerprint/value", json!("g")),
            ("/data/command/context_id", json!(["ctx"])),
            ("/extensions/context_ref/context_id", json!("other")),
            ("/extensions/context_ref", json!({"more": 1})),
        ];
        for (pointer, value) in cases {
            let mut changed = artifact.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            assert!(!tells_payload(&changed, &payload), "{pointer}");
        }
        let mut more = artifact.clone();
        more["actor_id"] = json!("somebody");
        assert!(!tells_payload(&more, &payload), "about somebody of whom the payload says nothing");
        more = artifact;
        more["data"]["more"] = json!(1);
        assert!(!tells_payload(&more, &payload));
    }
}
