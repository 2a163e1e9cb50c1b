//! The wire form of an entry. This is the only place that maps to names of RFCs that we have not read in full.
//!
//! EAS (RFC-WF-0006) names `artifact_id`, `prev_hash` and `hash`; CSCP (RFC-WF-0034 IX) asks for `context_ref` in an
//! extension-safe place. Everything else here is our profile; see `docs/CONFORMANCE.md`.

use serde_json::{Map, Value, json};

use crate::domain::event::Event;
use crate::evidence::entry::{LogEntry, Payload};

/// The version of this mapping.
pub const ARTIFACT_SCHEMA_VERSION: &str = "1.0.0";

/// Members of events that are secrets of the server or let a low-entropy value be guessed.
const SECRET_MEMBERS: [&str; 10] = [
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

/// Converts an entry to an evidence artifact. An erased payload is marked as erased.
#[must_use]
pub fn artifact(entry: &LogEntry, environment: &str) -> Value {
    let header = &entry.header;
    let mut artifact = json!({
        "artifact_id": header.artifact_id, "schema_version": ARTIFACT_SCHEMA_VERSION, "type": header.kind,
        "occurred_at": header.at, "tenant_id": header.tenant_id, "environment": environment,
        "stream_id": header.stream_id, "seq": header.seq, "policy_hash": header.policy_hash,
        "payload_commitment": entry.payload_commitment.prefixed(),
        "prev_hash": entry.prev_hash.prefixed(), "hash": entry.entry_hash.prefixed(),
        "erased": entry.body.is_none(),
    });
    let payload = entry.body.as_ref().and_then(|body| serde_json::from_str::<Payload>(&body.payload).ok());
    if let (Some(payload), Some(members)) = (payload, artifact.as_object_mut()) {
        add_payload(members, &payload);
    }
    artifact
}

fn add_payload(members: &mut Map<String, Value>, payload: &Payload) {
    if let Ok(Value::Object(about)) = serde_json::to_value(&payload.about) {
        members.extend(about);
    }
    members.insert("policy".to_owned(), json!(payload.policy));
    let mut data = serde_json::to_value(&payload.event).unwrap_or(Value::Null);
    strip_secrets(&mut data);
    if let Some(idempotency_key) = payload.event.core().and_then(idempotency_key) {
        members.insert("idempotency_key".to_owned(), json!(idempotency_key));
    }
    members.insert("data".to_owned(), data);
    let of_event = payload.event.core().and_then(context_ref);
    let of_about = || payload.about.context_id.as_ref().map(|context_id| json!({"context_id": context_id}));
    if let Some(reference) = of_event.or_else(of_about) {
        members.insert("extensions".to_owned(), json!({"context_ref": reference}));
    }
}

fn idempotency_key(event: &Event) -> Option<&str> {
    match event {
        Event::CommandBound { command } => Some(command.idempotency_key.as_str()),
        Event::ItemAsked { item, .. } => item.command().map(|command| command.idempotency_key.as_str()),
        _ => None,
    }
}

/// `context_ref` (RFC-WF-0034 IX), where the event says more about the context than its id.
fn context_ref(event: &Event) -> Option<Value> {
    match event {
        Event::CommandBound { command } => Some(json!({
            "context_id": command.context_id, "context_frame_id": command.context_frame_id,
            "context_hash": command.context_hash, "expires_at": command.context_expires_at,
        })),
        Event::FrameCaptured { frame, context_hash, .. } => Some(json!({
            "context_id": frame.context_id, "context_frame_id": frame.context_frame_id,
            "context_hash": context_hash, "expires_at": frame.expires_at,
        })),
        Event::ResultRecorded { context_ref: Some(frame), .. }
        | Event::CommandTakenOver { context_ref: Some(frame), .. } => serde_json::to_value(frame).ok(),
        Event::ContextCreated { context } => {
            Some(json!({"context_id": context.context_id, "expires_at": context.expires_at}))
        }
        Event::ContextTransitioned { context_id, expires_at, .. } => {
            Some(json!({"context_id": context_id, "expires_at": expires_at}))
        }
        _ => None,
    }
}

/// Removes the server's secrets at every depth. Slots, extensions and values are the caller's own and stay.
#[must_use]
pub fn without_secrets(mut record: Value) -> Value {
    strip_secrets(&mut record);
    record
}

/// Removes the server's secrets at every depth. Slots, extensions and values are the caller's own and stay.
fn strip_secrets(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !SECRET_MEMBERS.contains(&name.as_str()));
            for (name, member) in members.iter_mut() {
                if !matches!(name.as_str(), "slots" | "changes" | "extensions" | "target" | "value" | "content") {
                    strip_secrets(member);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(strip_secrets),
        _ => {}
    }
}
