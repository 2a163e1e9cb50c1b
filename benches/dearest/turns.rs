//! What belongs to a conversation: contexts, questions, commands, results; and the erasure of somebody with all of it.

use reqwest::Method;
use serde_json::{Value, json};

use crate::bodies::{message, words};
use crate::measure::Measure;

const RUN: &str = "turns";
/// How many conversations somebody has who is erased.
const CONVERSATIONS: u64 = 200;
/// How many messages one command may name.
const NAMED: u64 = 64;

/// The context of a conversation, after a message in it.
async fn opened(measure: &Measure<'_>, number: u64, conversation: u64) -> String {
    let message = message(RUN, number, conversation);
    let answer = measure.caller.must(Method::POST, "/v1/messages", &message).await;
    answer["context"]["context_id"].as_str().unwrap().to_owned()
}

/// A question, with everything in it as long as may be.
fn question(command: &str, target: &Value) -> Value {
    json!({
        "command": {"command_id": command, "name": "address.update", "idempotency_key": format!("idem-{command}")},
        "target": target,
        "prompt": {"text": words(1, 1_000), "buttons": ["Sim", {"title": "Não", "action": "decline"}]},
    })
}

/// Asks, taps, binds and reports.
async fn command(measure: &Measure<'_>, label: &str, context: &str, conversation: u64, target: &Value, many: u64) {
    let id = format!("cmd-{conversation}");
    let path = format!("/v1/contexts/{context}");
    let ask = format!("{path}/confirmations");
    let asked = measure.request(&format!("a question{label}"), Method::POST, &ask, &question(&id, target)).await.body;
    let prompt = format!("/v1/confirmations/{}/prompt-message", asked["confirmation_id"].as_str().unwrap_or_default());
    let first = 1_000_000 * (conversation + 1);
    let shown = message(RUN, first, conversation);
    let sent = json!({"message_id": format!("wamid.prompt.{conversation}"), "sent_at": shown["sent_at"]});
    measure.request("  its prompt", Method::PUT, &prompt, &sent).await;
    for number in 1..many {
        measure.caller.send(Method::POST, "/v1/messages", &message(RUN, first + number, conversation)).await;
    }
    let mut tap = message(RUN, first, conversation);
    tap["kind"] = json!("interactive");
    tap["text"] = json!("Sim");
    tap["button_id"] = asked["button_ids"][0].clone();
    measure.request("  the tap", Method::POST, "/v1/messages", &tap).await;
    let named: Vec<String> = (0..many).map(|number| format!("wamid.{RUN}.{}", first + number)).collect();
    let attempt = format!("00000000-0000-4000-8000-{conversation:012x}");
    let bind = json!({
        "attempt_id": attempt, "command_id": id, "name": "address.update",
        "idempotency_key": format!("idem-{id}"), "target": target, "envelope": target, "message_ids": named,
    });
    measure.request("  the command bound", Method::POST, &format!("{path}/commands"), &bind).await;
    let result = json!({"status": "succeeded", "attempt_id": attempt, "summary": words(2, 400)});
    measure.request("  its result", Method::POST, &format!("/v1/commands/{id}/results"), &result).await;
}

/// Contexts, questions and commands.
pub(crate) async fn turns(measure: &Measure<'_>) {
    let context = opened(measure, 0, 0).await;
    command(measure, "", &context, 0, &json!({"address_id": "address-1"}), 1).await;
    let context = opened(measure, 1, 1).await;
    let target = json!({"address_id": "address-1", "note": words(3, 16_000)});
    command(measure, " with a target of 16,000 bytes", &context, 1, &target, NAMED).await;
}

/// Somebody with many conversations is erased.
pub(crate) async fn erasures(measure: &Measure<'_>) {
    for number in 0..CONVERSATIONS {
        let mut message = message("erased", number, number);
        message["actor_id"] = json!("somebody");
        measure.caller.must(Method::POST, "/v1/messages", &message).await;
    }
    let erase = json!({"subject": {"actor_id": "somebody"}, "dry_run": false});
    let label = format!("erase somebody with {CONVERSATIONS} conversations");
    measure.request_by("admin", &label, Method::POST, "/v1/privacy/erasures", &erase).await;
}
