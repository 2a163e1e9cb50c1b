//! Requests: the calls of a webhook handler, of a worker and of an approver.

use serde_json::{Value, json};

use super::clock::whole_seconds;
use super::record::{Call, Kind, Op, Said, Sense, Spec};

/// A message that says something, sent in this second.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    pub(crate) message_id: String,
    pub(crate) conversation: String,
    pub(crate) actor: String,
    pub(crate) kind: &'static str,
    pub(crate) text: Option<&'static str>,
    /// The tapped button, and the question that it belongs to.
    pub(crate) button: Option<(String, String)>,
    pub(crate) reply_to: Option<String>,
    pub(crate) sense: Sense,
    pub(crate) forwarded: bool,
}

/// The delivery of a message.
pub(crate) fn message(words: Words, now: i64) -> Call {
    let Words { message_id, conversation, actor, kind, text, button, reply_to, sense, forwarded } = words;
    let mut body = json!({
        "message_id": message_id, "conversation_id": conversation, "actor_id": actor, "kind": kind,
        "sent_at": whole_seconds(now),
    });
    if let Some(text) = text {
        body["text"] = json!(text);
    }
    if let Some((button, _)) = &button {
        body["button_id"] = json!(button);
    }
    if let Some(reply_to) = &reply_to {
        body["reply_to"] = json!(reply_to);
    }
    if forwarded {
        body["forwarded"] = json!(true);
    }
    let undoes = matches!(kind, "revoke" | "edit");
    let bare = kind == "text" && button.is_none() && reply_to.is_none();
    let taps = button.map(|(_, item)| item);
    let said = Said { message_id, conversation, actor, sense, taps, reply_to, undoes, bare };
    Call::post(Op::Say(said), "/v1/messages", body.to_string())
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Where and to whom a question is put.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) context: String,
    pub(crate) conversation: String,
    pub(crate) actor: String,
}

/// How a question is put.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) supersede: bool,
    pub(crate) ttl_seconds: Option<u32>,
}

/// A question about a command.
pub(crate) fn ask(kind: Kind, line: Line, spec: &Spec, manner: Manner) -> Call {
    let mut body = json!({
        "command": {"command_id": spec.command_id, "name": spec.name, "idempotency_key": spec.key},
        "target": parsed(&spec.target),
        "prompt": {"text": "Posso fazer isso?", "buttons": ["Sim", "Não"]},
        "supersede": manner.supersede,
    });
    if let Some(ttl) = manner.ttl_seconds {
        body["ttl_seconds"] = json!(ttl);
    }
    question(kind, line, Some(spec.clone()), &body)
}

/// A choice between two things.
pub(crate) fn choose(line: Line, manner: Manner) -> Call {
    let body = json!({
        "options": [{"title": "Casa", "target": "home"}, {"title": "Trabalho", "target": "work"}],
        "prompt": {"text": "Qual deles?"},
        "supersede": manner.supersede,
    });
    question(Kind::Disambiguation, line, None, &body)
}

fn question(kind: Kind, line: Line, spec: Option<Spec>, body: &Value) -> Call {
    let Line { context, conversation, actor } = line;
    let path = format!("/v1/contexts/{context}/{}", kind.path());
    Call::post(Op::Ask { kind, context, conversation, actor, spec }, path, body.to_string())
}

/// That a question was shown by this message.
pub(crate) fn attach(item: &str, prompt: &str) -> Call {
    let path = format!("/v1/{}/{item}/prompt-message", Kind::of(item).path());
    let op = Op::Attach { item: item.to_owned(), prompt: prompt.to_owned() };
    Call { method: "PUT", ..Call::post(op, path, json!({"message_id": prompt}).to_string()) }
}

/// That a question is withdrawn.
pub(crate) fn cancel(item: &str) -> Call {
    let path = format!("/v1/{}/{item}/cancel", Kind::of(item).path());
    Call::post(Op::Cancel, path, "{}".to_owned())
}

fn envelope(spec: &Spec) -> Value {
    json!({"command_id": spec.command_id, "name": spec.name})
}

/// A worker's try to bind a command.
pub(crate) fn bind(context: &str, attempt: &str, spec: &Spec, messages: &[&String]) -> Call {
    let body = json!({
        "attempt_id": attempt, "command_id": spec.command_id, "name": spec.name, "idempotency_key": spec.key,
        "target": parsed(&spec.target), "envelope": envelope(spec), "message_ids": messages,
    });
    let op = Op::Bind { context: context.to_owned(), attempt: attempt.to_owned(), spec: spec.clone() };
    Call::post(op, format!("/v1/contexts/{context}/commands"), body.to_string())
}

/// A worker's try to take a command over.
pub(crate) fn take_over(spec: &Spec, attempt: &str, replaces: &str) -> Call {
    let body = json!({
        "attempt_id": attempt, "replaces_attempt_id": replaces, "downstream_checked": true, "name": spec.name,
        "idempotency_key": spec.key, "target": parsed(&spec.target), "envelope": envelope(spec),
    });
    let command = spec.command_id.clone();
    let path = format!("/v1/commands/{command}/takeovers");
    let op = Op::TakeOver { command, attempt: attempt.to_owned(), replaces: replaces.to_owned() };
    Call::post(op, path, body.to_string())
}

/// A worker's report, by itself or in nobody's name.
pub(crate) fn report(command: &str, attempt: Option<&str>, summary: String) -> Call {
    let mut body = json!({"status": "succeeded", "summary": summary});
    if let Some(attempt) = attempt {
        body["attempt_id"] = json!(attempt);
    }
    let path = format!("/v1/commands/{command}/results");
    Call::post(Op::Report { command: command.to_owned(), summary }, path, body.to_string())
}

/// A change of a context's slots.
pub(crate) fn slots(context: &str, revision: u64, patch: &Value) -> Call {
    let op = Op::Slots { context: context.to_owned(), revision };
    let call = Call::post(op, format!("/v1/contexts/{context}/slots"), patch.to_string());
    Call { method: "PATCH", revision: Some(revision), ..call }
}

/// That a context is blocked, unblocked or closed.
pub(crate) fn transition(context: &str, action: &str) -> Call {
    let body = if action == "block" { json!({"action": action, "on": "operator"}) } else { json!({"action": action}) };
    let path = format!("/v1/contexts/{context}/transitions");
    Call::post(Op::Move { context: context.to_owned() }, path, body.to_string())
}

/// A decision that is made by name.
pub(crate) fn decision(approval: &str, approver: &str, approve: bool) -> Call {
    let body = json!({"decision": if approve { "approve" } else { "reject" }, "approver_id": approver});
    let op = Op::Decide { approval: approval.to_owned(), approver: approver.to_owned(), approve };
    Call::post(op, format!("/v1/approvals/{approval}/decisions"), body.to_string())
}

/// A reading of one command.
pub(crate) fn read_command(command: &str) -> Call {
    Call::get(Op::ReadCommand { command: command.to_owned() }, format!("/v1/commands/{command}"))
}

/// A reading of one question.
pub(crate) fn read_item(item: &str) -> Call {
    let path = format!("/v1/{}/{item}", Kind::of(item).path());
    Call::get(Op::ReadItem { item: item.to_owned() }, path)
}

/// A reading of one context.
pub(crate) fn read_context(context: &str) -> Call {
    Call::get(Op::ReadContext { context: context.to_owned() }, format!("/v1/contexts/{context}"))
}

/// The commands that were bound and have no result: the first page, or the one after.
pub(crate) fn executions(sweeps: bool, cursor: Option<&str>) -> Call {
    let body = json!({"limit": if sweeps { 200 } else { 20 }, "cursor": cursor});
    Call::post(Op::ListExecutions { sweeps }, "/v1/commands/query", body.to_string())
}
