//! The demo's conversation: what goes wrong elsewhere, played one by one.

use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Failure;
use super::demo::{Role, Stage, message};

const MINUTES: u32 = 60;

/// A question as the demo asked it.
struct Asked {
    confirmation_id: String,
    yes: String,
    wamid: String,
}

struct Play<'a> {
    stage: &'a Stage,
    context_id: String,
    messages: u32,
}

/// Plays the conversation and prints it.
pub(super) async fn play(stage: &Stage) -> Result<(), Failure> {
    let mut play = Play { stage, context_id: String::new(), messages: 0 };
    play.cancelling_an_order().await?;
    play.the_wrong_question().await?;
    play.the_changed_target().await?;
    play.the_stale_yes().await?;
    play.what_an_operator_sees().await
}

fn scene(title: &str) {
    println!("\n── {title} {}", "─".repeat(72_usize.saturating_sub(title.chars().count())));
}

fn said(who: &str, what: &str) {
    println!("\n  {who:<9} {what}");
}

fn learned(text: &str) {
    println!("            → {text}");
}

fn word<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("-")
}

impl Play<'_> {
    /// Posts a message, prints its verdict, and returns the answer.
    async fn post(&mut self, shown: &str, members: Value) -> Result<Value, Failure> {
        // WhatsApp stamps whole seconds: a person takes at least one to answer.
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
    async fn ask(&mut self, command: &str, name: &str, target: &Value, text: &str) -> Result<Asked, Failure> {
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

    async fn tap(&mut self, asked: &Asked, shown: &str) -> Result<Value, Failure> {
        let members = json!({"kind": "interactive", "text": "Yes", "button_id": asked.yes, "reply_to": asked.wamid});
        self.post(shown, members).await
    }

    /// One try to bind; returns status and body.
    async fn bind(&self, attempt: &str, command: &str, name: &str, target: &Value) -> Result<(u16, Value), Failure> {
        let body = json!({
            "attempt_id": attempt_id(attempt, command), "command_id": command, "name": name, "idempotency_key": format!("key-{command}"),
            "target": target, "envelope": {"command_id": command, "args": target},
            "message_ids": [format!("wamid.in.{}", self.messages)],
        });
        let path = format!("/v1/contexts/{}/commands", self.context_id);
        self.stage.call(Role::Handler, Method::POST, &path, Some(body)).await
    }

    fn show_binding(who: &str, (status, body): &(u16, Value)) {
        said(who, "may I execute it?");
        match status {
            200 | 201 => {
                learned(&format!("{status} bound; frame {}", short(word(body, "/context_ref/context_frame_id"))));
            }
            _ => learned(&format!("{status} {}: {}", word(body, "/code"), word(body, "/detail"))),
        }
    }

    async fn cancelling_an_order(&mut self) -> Result<(), Failure> {
        scene("1. A destructive command wants more than a bare yes");
        self.post("\"cancel order 123, please\"", json!({"text": "cancel order 123, please"})).await?;
        let target = json!({"order_id": "123"});
        let asked = self.ask("cmd-1", "order.cancel", &target, "Cancel order 123?").await?;
        self.post("\"yes\"", json!({"text": "yes"})).await?;
        self.tap(&asked, "taps [Yes]").await?;
        scene("2. A double tap, and two workers at once");
        self.tap(&asked, "taps [Yes] again").await?;
        let (one, two) = tokio::join!(
            self.bind("worker-1", "cmd-1", "order.cancel", &target),
            self.bind("worker-2", "cmd-1", "order.cancel", &target)
        );
        Self::show_binding("worker 1", &one?);
        Self::show_binding("worker 2", &two?);
        let result = json!({"status": "succeeded", "summary": "order cancelled"});
        self.stage.done(Role::Handler, Method::POST, "/v1/commands/cmd-1/results", result).await.map(drop)
    }

    async fn the_wrong_question(&mut self) -> Result<(), Failure> {
        scene("3. A yes to the wrong question");
        let target = json!({"address_id": "home"});
        let asked = self.ask("cmd-2", "address.update", &target, "Deliver to your home address from now on?").await?;
        self.post("\"yes\", quoting an older message", json!({"text": "yes", "reply_to": "wamid.in.1"})).await?;
        said("the bot", "Would you like our newsletter?");
        let other = json!({"direction": "outbound", "text": "Would you like our newsletter?"});
        let event = message(self.stage, "out-newsletter", other);
        self.stage.done(Role::Handler, Method::POST, "/v1/messages", event).await?;
        self.post("\"yes\"", json!({"text": "yes"})).await?;
        self.post("\"yes, but only next month\"", json!({"text": "yes, but only next month", "reply_to": asked.wamid}))
            .await?;
        self.post("\"yes\", quoting the question", json!({"text": "yes", "reply_to": asked.wamid})).await.map(drop)
    }

    async fn the_changed_target(&mut self) -> Result<(), Failure> {
        scene("4. What would be done is not what was agreed to");
        let office = self.bind("worker-1", "cmd-2", "address.update", &json!({"address_id": "office"})).await?;
        Self::show_binding("worker 1", &office);
        let home = self.bind("worker-1", "cmd-2", "address.update", &json!({"address_id": "home"})).await?;
        Self::show_binding("worker 1", &home);
        Ok(())
    }

    async fn the_stale_yes(&mut self) -> Result<(), Failure> {
        scene("5. A stale yes");
        let target = json!({"amount": "82000", "payee": "ACME"});
        let asked = self.ask("cmd-3", "payment.send", &target, "Pay 82,000 to ACME?").await?;
        said("", "… six minutes later …");
        self.stage.clock.pass(6 * MINUTES);
        self.tap(&asked, "taps [Yes]").await?;
        let refused = self.bind("worker-1", "cmd-3", "payment.send", &target).await?;
        Self::show_binding("worker 1", &refused);
        let path = format!("/v1/confirmations/{}", asked.confirmation_id);
        let (_, item) = self.stage.call(Role::Handler, Method::GET, &path, None).await?;
        learned(&format!("the confirmation is {}", word(&item, "/state")));
        Ok(())
    }

    async fn what_an_operator_sees(&mut self) -> Result<(), Failure> {
        scene("6. What an operator sees, and why the bot did that");
        let body = json!({"query": "show active context", "conversation_id": "conv-ana", "locale": "en"});
        let shown = self.stage.done(Role::Operator, Method::POST, "/v1/ooc/query", body).await?;
        said("operator", "show active context");
        print_text(word(&shown, "/text"));
        said("operator", "explain command cmd-1");
        let path = "/v1/ooc/commands/cmd-1/explanation";
        let (_, explained) = self.stage.call(Role::Operator, Method::GET, path, None).await?;
        print_text(word(&explained, "/text"));
        println!();
        Ok(())
    }
}

fn print_text(text: &str) {
    text.lines().for_each(|line| println!("            │ {line}"));
}

/// A worker's name for its try. A worker of a real handler takes a random UUID; the demo is the same in every run.
fn attempt_id(worker: &str, command: &str) -> String {
    let digest = Sha256::digest(format!("{worker} {command}"));
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// The beginning of a minted id: enough to recognise it on a screen.
fn short(id: &str) -> &str {
    id.get(..16).unwrap_or(id)
}
