//! The steps of the demo: a message, a question, a tap, a binding, a take-over. Each prints the input and the server's
//! answer.

use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Failure;
use super::demo::{Role, Stage, message};

/// A question as the demo asked it.
pub(super) struct Asked {
    pub(super) confirmation_id: String,
    pub(super) yes: String,
    pub(super) wamid: String,
}

pub(super) struct Play<'a> {
    pub(super) stage: &'a Stage,
    context_id: String,
    messages: u32,
}

pub(super) fn scene(title: &str) {
    println!("\n── {title} {}", "─".repeat(72_usize.saturating_sub(title.chars().count())));
}

pub(super) fn said(who: &str, what: &str) {
    println!("\n  {who:<9} {what}");
}

pub(super) fn learned(text: &str) {
    println!("            → {text}");
}

pub(super) fn word<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("-")
}

impl<'a> Play<'a> {
    pub(super) fn new(stage: &'a Stage) -> Self {
        Self { stage, context_id: String::new(), messages: 0 }
    }

    /// Posts a message, prints its verdict, and returns the answer.
    pub(super) async fn post(&mut self, shown: &str, members: Value) -> Result<Value, Failure> {
        // WhatsApp's timestamps are whole seconds, and a person takes at least one to answer.
        self.stage.clock.pass(2);
        self.messages += 1;
        let id = format!("wamid.in.{}", self.messages);
        said("Ana", shown);
        let event = message(self.stage, &id, members);
        let answer = self.stage.done(Role::Handler, Method::POST, "/v1/messages", event).await?;
        let (code, reason) = (word(&answer, "/verdict/code"), word(&answer, "/verdict/reason"));
        learned(&format!("{code}  (reason: {reason}; next: {})", word(&answer, "/verdict/next")));
        if let Some(context_id) = answer.pointer("/context/context_id").and_then(Value::as_str) {
            context_id.clone_into(&mut self.context_id);
        }
        Ok(answer)
    }

    /// Registers a question before "sending" it, and attaches the message id that sending gave.
    pub(super) async fn ask(
        &mut self,
        command: &str,
        name: &str,
        target: &Value,
        text: &str,
    ) -> Result<Asked, Failure> {
        said("the bot", &format!("{text}  [Yes] [No]"));
        let body = json!({
            "command": {"command_id": command, "name": name, "idempotency_key": format!("key-{command}")},
            "target": target,
            "prompt": {"text": text, "buttons": [{"title": "Yes", "action": "confirm"}, {"title": "No", "action": "decline"}]},
        });
        let path = format!("/v1/contexts/{}/confirmations", self.context_id);
        let asked = self.stage.done(Role::Handler, Method::POST, &path, body).await?;
        let confirmation_id = word(&asked, "/confirmation_id").to_owned();
        learned(&format!("registered as {} ({})", short(&confirmation_id), word(&asked, "/safety_class")));
        let wamid = format!("wamid.out.{command}");
        let path = format!("/v1/confirmations/{confirmation_id}/prompt-message");
        self.stage.done(Role::Handler, Method::PUT, &path, json!({"message_id": wamid})).await?;
        Ok(Asked { confirmation_id, yes: word(&asked, "/button_ids/0").to_owned(), wamid })
    }

    pub(super) async fn tap(&mut self, asked: &Asked, shown: &str) -> Result<Value, Failure> {
        let members = json!({"kind": "interactive", "text": "Yes", "button_id": asked.yes, "reply_to": asked.wamid});
        self.post(shown, members).await
    }

    /// Tries to bind; returns status and body.
    pub(super) async fn bind(
        &self,
        worker: &str,
        command: &str,
        name: &str,
        target: &Value,
    ) -> Result<(u16, Value), Failure> {
        let mut body = said_to_be(worker, command, name, target);
        body["command_id"] = json!(command);
        body["message_ids"] = json!([format!("wamid.in.{}", self.messages)]);
        let path = format!("/v1/contexts/{}/commands", self.context_id);
        self.stage.call(Role::Handler, Method::POST, &path, Some(body)).await
    }

    /// Takes over a command that another worker bound and did not report, after a check in the target system.
    pub(super) async fn take_over(
        &self,
        worker: &str,
        replaced: &str,
        command: &str,
        name: &str,
        target: &Value,
    ) -> Result<(u16, Value), Failure> {
        let mut body = said_to_be(worker, command, name, target);
        body["replaces_attempt_id"] = json!(attempt_id(replaced, command));
        body["downstream_checked"] = json!(true);
        let path = format!("/v1/commands/{command}/takeovers");
        self.stage.call(Role::Handler, Method::POST, &path, Some(body)).await
    }

    /// Reports the result of a command.
    pub(super) async fn report(&self, worker: &str, command: &str, summary: &str) -> Result<(), Failure> {
        said(worker, &format!("done: {summary}"));
        let body = json!({"attempt_id": attempt_id(worker, command), "status": "succeeded", "summary": summary});
        let path = format!("/v1/commands/{command}/results");
        let recorded = self.stage.done(Role::Handler, Method::POST, &path, body).await?;
        learned(&format!("recorded; execution: {}", word(&recorded, "/command/execution/state")));
        Ok(())
    }

    /// The commands without a report in time.
    pub(super) async fn list_unknown(&self, who: &str) -> Result<(), Failure> {
        said(who, "which commands did nobody report on?");
        let body = json!({"execution": "unknown"});
        let list = self.stage.done(Role::Handler, Method::POST, "/v1/commands/query", body).await?;
        for command in list["items"].as_array().into_iter().flatten() {
            let (id, name) = (word(command, "/command_id"), word(command, "/command_name"));
            learned(&format!("{id} ({name}): execution {}", word(command, "/execution/state")));
        }
        Ok(())
    }

    pub(super) fn show_binding(who: &str, asks: &str, (status, body): &(u16, Value)) {
        said(who, asks);
        let execute = body.get("execute").and_then(Value::as_bool);
        match (status, execute) {
            (200 | 201, Some(execute)) => {
                let frame = short(word(body, "/context_ref/context_frame_id"));
                learned(&format!("{status} execute: {execute}  (bound; frame {frame})"));
            }
            _ => learned(&format!("{status} {}: {}", word(body, "/code"), word(body, "/detail"))),
        }
    }
}

pub(super) fn print_text(text: &str) {
    text.lines().for_each(|line| println!("            │ {line}"));
}

/// A worker's request to bind or take over a command.
fn said_to_be(worker: &str, command: &str, name: &str, target: &Value) -> Value {
    json!({
        "attempt_id": attempt_id(worker, command), "name": name, "idempotency_key": format!("key-{command}"),
        "target": target, "envelope": {"command_id": command, "args": target},
    })
}

/// The id of a worker's attempt. A real worker uses a random UUID; the demo is the same in every run.
fn attempt_id(worker: &str, command: &str) -> String {
    let digest = Sha256::digest(format!("{worker} {command}"));
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// The beginning of an id, for display.
fn short(id: &str) -> &str {
    id.get(..16).unwrap_or(id)
}
