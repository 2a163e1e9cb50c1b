//! A tiny shop that cancels orders, to show the two habits: **register a question before sending it, bind before
//! executing**. Kept, they make a "yes" mean one thing, and let one of two workers execute.
//!
//! Every step may be repeated: ids derive from the message, and cscp and [`Tasks`] know what was done. So a delivery
//! that stopped half-way is simply delivered again. What it was about to execute is in the [`Journal`] before that.

use std::sync::Arc;
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use crate::cscp::{Answer, Bound, Confirmation, Cscp, Failure, Refusal, Unavailable};
use crate::event::{Addressed, CHANNEL, Direction, Kind, MessageEvent};
use crate::journal::{Intent, Journal};
use crate::outside::{Orders, Sender, Sent, question, text_message};
use crate::signature::AppSecret;
use crate::tasks::{Task, Tasks};

/// The only command of this shop.
pub(crate) const COMMAND: &str = "order.cancel";

/// What the shop needs to act.
pub(crate) struct Shop {
    pub(crate) cscp: Cscp,
    pub(crate) sender: Arc<dyn Sender>,
    pub(crate) orders: Arc<dyn Orders>,
    pub(crate) tasks: Tasks,
    pub(crate) journal: Journal,
    /// Ids derive from it, so that they hide the message ids they come from.
    pub(crate) secret: AppSecret,
}

impl Shop {
    /// Does what a verdict on an inbound message calls for. Fails only when the delivery should be repeated.
    pub(crate) async fn act(&self, message: &Addressed, answer: &Answer) -> Result<(), Unavailable> {
        let reason = answer.verdict.reason.as_str();
        // One arm for each `next`: docs/VERDICTS.md says what they mean.
        let said = match answer.verdict.next.as_str() {
            "route" => match (order_to_cancel(&message.event), &answer.context) {
                (Some(order_id), Some(context)) => self.ask(message, &context.context_id, &order_id).await?,
                _ => None,
            },
            "bind_command" => self.execute(message, answer).await?,
            // A yes was taken back before it was bound: all of it, or for now.
            "acknowledge_refusal" if reason == "taken_back" => Some("Combinado, não vou fazer nada."),
            "acknowledge_refusal" => Some("Certo, não fiz nada."),
            "acknowledge_wait" => Some("Combinado, espero. Diga quando quiser continuar."),
            "ask_again" | "ask_what_is_meant" => {
                Some("Não sei a qual pergunta isso responde. Toque num botão da pergunta.")
            }
            // Replaced by another question, or void because the person behind the number may have changed.
            "ask_anew" if answer.verdict.code == "superseded" => {
                Some("Essa pergunta já não vale. Responda à mais recente ou envie o pedido outra vez.")
            }
            "ask_anew" => Some("Essa pergunta expirou. Envie o pedido outra vez."),
            // A tap asks whether it arrived; words after the end are a courtesy.
            "tell_decision" if message.event.button_id.is_some() => Some("Isso já foi decidido."),
            // This shop asks for no approvals and offers no choices, and what it sends it has sent. Where a person has taken
            // over (leave_to_operator) it would only talk in between.
            "await_approvals"
            | "ask_confirmation"
            | "continue_with_selection"
            | "tell_decision"
            | "leave_to_operator"
            | "send"
            | "nothing" => None,
            other => {
                tracing::warn!(next = other, "this server asks for something that this program does not know");
                None
            }
        };
        match said {
            Some(text) => self.say(message, text).await,
            None => Ok(()),
        }
    }

    /// First habit: cscp knows the question, and has named its buttons, before the customer can see it.
    async fn ask(
        &self,
        message: &Addressed,
        context_id: &str,
        order_id: &str,
    ) -> Result<Option<&'static str>, Unavailable> {
        let command_id = self.secret.derived_id("cmd", &message.event.message_id);
        let task = self.tasks.open(&command_id, || Task::new(context_id, order_id, &message.event.message_id));
        let mut task = task.lock().await;
        if task.attached {
            return Ok(None);
        }
        let text = format!("Cancelar o pedido {order_id}?");
        let body = json!({
            "command": { "command_id": command_id, "name": COMMAND, "idempotency_key": command_id },
            "target": { "order_id": order_id },
            "prompt": { "text": text, "buttons": [
                { "title": "Sim", "action": "confirm" },
                { "title": "Não", "action": "decline" },
            ]},
        });
        // Repeated, it is a replay: the same confirmation, the same buttons.
        let asked = match self.cscp.ask(&task.context_id, &command_id, &body).await {
            Ok(asked) => asked,
            Err(Failure::Unavailable(why)) => return Err(why),
            Err(Failure::Refused(refusal)) => return Ok(why_not_asked(&refusal)),
        };
        let [yes, no] = asked.button_ids.as_slice() else {
            return Err(Unavailable::Unexpected);
        };
        let sent = if let Some(sent) = &task.prompt {
            sent.clone()
        } else {
            let buttons = [(yes.as_str(), "Sim"), (no.as_str(), "Não")];
            self.send(&question(&message.address, &text, &buttons, &asked.confirmation_id)).await?
        };
        task.prompt = Some(sent.clone());
        settled(self.cscp.attach(&asked.confirmation_id, &sent.message_id, &sent.at).await, "prompt not attached")?;
        task.attached = true;
        Ok(None)
    }

    /// Second habit: `confirmed` is not yet leave to execute. Binding is, exactly when it says `execute: true`.
    async fn execute(&self, message: &Addressed, answer: &Answer) -> Result<Option<&'static str>, Unavailable> {
        let Some(confirmation) = &answer.verdict.confirmation else {
            return Err(Unavailable::Unexpected);
        };
        let command_id = confirmation.command_id.as_str();
        let Some(task) = self.known(command_id) else {
            tracing::warn!("confirmed, but this process does not know what was asked");
            return self.give_up(confirmation).await;
        };
        let mut task = task.lock().await;
        if task.executed.is_none() && task.attempt_id.is_some() {
            // Tried before, by this process or by one that ended: it may have been executed.
            let outcome = self.orders.outcome(command_id).await.map_err(|_| Unavailable::Unknown)?;
            if let Some(succeeded) = outcome {
                task.executed = Some(succeeded);
                self.note_end(command_id, succeeded).await;
            }
        }
        if task.executed.is_none() {
            let bound = match self.bind(&mut task, command_id, message).await {
                Ok(bound) => bound,
                Err(Failure::Unavailable(why)) => return Err(why),
                Err(Failure::Refused(refusal)) => return Ok(why_not_bound(&refusal)),
            };
            if !bound.execute {
                // The time to report is over, so somebody may have taken it over. The next look clears that up
                // (`recovery`), and this message is delivered again after that.
                tracing::warn!("bound by this process, which may not execute it any more");
                return Err(Unavailable::Unknown);
            }
            self.cancel(command_id, &mut task, &bound.context_ref).await;
        }
        self.report(command_id, &mut task).await?;
        Ok(Some(if task.executed == Some(true) { "Pedido cancelado." } else { "Não consegui cancelar o pedido." }))
    }

    /// The task of a command: of this process, or of the one before it, from the journal.
    pub(crate) fn known(&self, command_id: &str) -> Option<Arc<tokio::sync::Mutex<Task>>> {
        self.tasks.find(command_id).or_else(|| {
            let noted = self.journal.find(command_id)?;
            Some(self.tasks.open(command_id, || Task::resumed(noted)))
        })
    }

    /// Executes what cscp said to execute.
    pub(crate) async fn cancel(&self, command_id: &str, task: &mut Task, context_ref: &Value) {
        let succeeded = self.orders.cancel(command_id, &task.order_id, context_ref).await;
        task.executed = Some(succeeded);
        self.note_end(command_id, succeeded).await;
    }

    /// Tells cscp how it ended.
    pub(crate) async fn report(&self, command_id: &str, task: &mut Task) -> Result<(), Unavailable> {
        if let (Some(succeeded), false) = (task.executed, task.reported) {
            let reported = self.cscp.report(command_id, task.attempt_id.as_deref(), succeeded).await;
            settled(reported, "result not recorded")?;
            task.reported = true;
        }
        Ok(())
    }

    /// Nothing is bound or taken over before this is on disk.
    pub(crate) async fn intend(&self, intent: Intent) -> Result<(), Unavailable> {
        self.journal.intend(intent).await.map_err(|error| {
            tracing::error!(%error, "the journal cannot be written, so nothing is executed");
            Unavailable::Journal
        })
    }

    /// If it cannot be written, the order system still knows it: that one is asked after a restart.
    pub(crate) async fn note_end(&self, command_id: &str, succeeded: bool) {
        if let Err(error) = self.journal.end(command_id, succeeded).await {
            tracing::error!(%error, "the journal does not say that a command ended");
        }
    }

    /// "I did nothing" has to stay true, also when another process knows more and is about to act. So the question is
    /// withdrawn first, and where that is refused because a command was bound, the one that bound it replies.
    async fn give_up(&self, confirmation: &Confirmation) -> Result<Option<&'static str>, Unavailable> {
        let key = format!("{}_withdraw", confirmation.command_id);
        match self.cscp.withdraw(&confirmation.confirmation_id, &key).await {
            Ok(()) => Ok(Some("Perdi o fio da conversa e não fiz nada. Envie o pedido outra vez.")),
            Err(Failure::Unavailable(why)) => Err(why),
            Err(Failure::Refused(refusal)) => {
                tracing::info!(code = refusal.name(), "question not withdrawn");
                Ok(None)
            }
        }
    }

    async fn bind(&self, task: &mut Task, command_id: &str, message: &Addressed) -> Result<Bound, Failure> {
        let attempt_id = if let Some(attempt_id) = &task.attempt_id {
            attempt_id.clone()
        } else {
            let attempt_id = random_attempt()?;
            let intent = Intent {
                command_id: command_id.to_owned(),
                context_id: task.context_id.clone(),
                order_id: task.order_id.clone(),
                attempt_id: attempt_id.clone(),
            };
            self.intend(intent).await?;
            task.attempt_id = Some(attempt_id.clone());
            attempt_id
        };
        let mut body = command_body(command_id, &task.order_id);
        body["attempt_id"] = json!(attempt_id);
        body["command_id"] = json!(command_id);
        body["message_ids"] = task.requested_by.iter().chain([&message.event.message_id]).cloned().collect();
        self.cscp.bind(&task.context_id, &body).await
    }

    /// A reply in words. Registered first, like a question; the registration also tells whether it was said before,
    /// which WhatsApp does not. So a reply goes out at most once, and is lost when sending fails; a question, which has
    /// buttons and a confirmation behind it, is sent until it went out.
    ///
    /// `expects_reply` is false throughout: none of these asks anything, so none may push the open question aside.
    async fn say(&self, message: &Addressed, text: &str) -> Result<(), Unavailable> {
        let event = MessageEvent {
            message_id: self.secret.derived_id("reply", &message.event.message_id),
            conversation_id: message.event.conversation_id.clone(),
            actor_id: message.event.actor_id.clone(),
            sent_at: now(),
            direction: Direction::Outbound,
            kind: Kind::Text,
            channel: CHANNEL,
            text: Some(text.to_owned()),
            button_id: None,
            reply_to: None,
            forwarded: false,
            system: None,
            expects_reply: Some(false),
        };
        match self.cscp.register(&event).await {
            Ok(answer) if answer.duplicate => Ok(()),
            Ok(_) => self.send(&text_message(&message.address, text)).await.map(drop),
            Err(Failure::Unavailable(why)) => Err(why),
            // Said at another second, hence another body: said.
            Err(Failure::Refused(refusal)) if refusal.code == "message_id_reused" => Ok(()),
            Err(Failure::Refused(refusal)) => {
                tracing::warn!(code = refusal.name(), "reply not registered, therefore not sent");
                Ok(())
            }
        }
    }

    async fn send(&self, message: &serde_json::Value) -> Result<Sent, Unavailable> {
        self.sender.send(message).await.map_err(|_| Unavailable::NoAnswer)
    }
}

/// A refusal of a step that nothing later depends on is logged and is final; unavailability is passed on.
pub(crate) fn settled(result: Result<(), Failure>, what: &'static str) -> Result<(), Unavailable> {
    match result {
        Ok(()) => Ok(()),
        Err(Failure::Unavailable(why)) => Err(why),
        Err(Failure::Refused(refusal)) => {
            tracing::warn!(code = refusal.name(), "{what}");
            Ok(())
        }
    }
}

fn why_not_asked(refusal: &Refusal) -> Option<&'static str> {
    tracing::info!(code = refusal.name(), "question refused");
    (refusal.code == "question_pending").then_some("Antes disso, responda à pergunta que está aberta.")
}

/// Nothing was executed. Silence when another worker has it: that one replies.
fn why_not_bound(refusal: &Refusal) -> Option<&'static str> {
    println!("would not execute: {}", refusal.name());
    match refusal.code.as_str() {
        "already_bound" => None,
        "confirmation_required" => Some("Isso já não está confirmado. Não fiz nada."),
        "target_mismatch" => Some("O pedido mudou desde a pergunta. Não fiz nada."),
        _ => Some("Não pude executar o pedido. Envie-o outra vez."),
    }
}

/// The command as it is bound and as it is taken over: the same words, without anything that a repeat would change.
pub(crate) fn command_body(command_id: &str, order_id: &str) -> Value {
    let target = json!({ "order_id": order_id });
    json!({
        "name": COMMAND,
        "idempotency_key": command_id,
        "target": target,
        "envelope": { "command_id": command_id, "name": COMMAND, "idempotency_key": command_id, "target": target },
    })
}

/// The order in "cancel order 123" or "cancelar pedido 123", when that is the whole message and the customer wrote
/// it: forwarded words are somebody else's.
pub(crate) fn order_to_cancel(event: &MessageEvent) -> Option<String> {
    if event.kind != Kind::Text || event.forwarded {
        return None;
    }
    let text = event.text.as_deref()?.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["cancel", "order", id] | ["cancelar", "pedido", id]
            if (1..=12).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            Some((*id).to_owned())
        }
        _ => None,
    }
}

/// The present, as cscp reads it.
#[expect(clippy::disallowed_methods, reason = "the example is a program of its own, with a clock of its own")]
fn now() -> String {
    DateTime::<Utc>::from(SystemTime::now()).to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// A name for this worker's try to execute a command: a random UUID, so that no other worker can have the same.
#[expect(clippy::disallowed_methods, reason = "the example is a program of its own, with randomness of its own")]
pub(crate) fn random_attempt() -> Result<String, Unavailable> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| Unavailable::NoAnswer)?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
}
