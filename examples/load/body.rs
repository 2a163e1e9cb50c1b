//! The bodies of requests, written by hand: every part is made of letters, digits and dots, and nothing needs escaping.

use cscp::domain::time::{Clock, Timestamp};
use cscp::system::SystemClock;

/// Of class S1 in the packs that the server brings along: a bare yes is enough.
const COMMAND: &str = "address.update";
const TARGET: &str = r#"{"address_id":"home"}"#;
const MICROS: i64 = 1_000_000;

/// The present second, counted from 1970.
pub(crate) fn second() -> i64 {
    SystemClock.now().as_micros().div_euclid(MICROS)
}

/// Where a message is said, and by whom.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) conversation_id: String,
    pub(crate) actor_id: String,
}

/// What is said.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Words<'a> {
    /// A text.
    Text(&'a str),
    /// A text that quotes a message.
    Quoting { text: &'a str, prompt: &'a str },
    /// A button, with the message that it stands under where the phone says so.
    Tap { title: &'a str, button: &'a str, prompt: Option<&'a str> },
}

/// A message of this second: `WhatsApp` counts in whole ones.
pub(crate) fn message(place: &Place, id: &str, words: Words<'_>) -> String {
    let Place { conversation_id, actor_id } = place;
    let sent_at = Timestamp::from_micros(second() * MICROS);
    let kind = if matches!(words, Words::Tap { .. }) { "interactive" } else { "text" };
    let said = match words {
        Words::Text(text) => format!(r#""text":"{text}""#),
        Words::Quoting { text, prompt } => format!(r#""text":"{text}","reply_to":"{prompt}""#),
        Words::Tap { title, button, prompt: None } => format!(r#""text":"{title}","button_id":"{button}""#),
        Words::Tap { title, button, prompt: Some(prompt) } => {
            format!(r#""text":"{title}","button_id":"{button}","reply_to":"{prompt}""#)
        }
    };
    format!(
        r#"{{"message_id":"{id}","conversation_id":"{conversation_id}","actor_id":"{actor_id}","sent_at":"{sent_at}","kind":"{kind}",{said}}}"#
    )
}

/// A reply of the business, registered before it is sent. It asks nothing.
pub(crate) fn reply(place: &Place, id: &str) -> String {
    let said = message(place, id, Words::Text("Certo."));
    let said = said.strip_suffix('}').unwrap_or(&said);
    format!(r#"{said},"direction":"outbound","expects_reply":false}}"#)
}

/// A question with two buttons.
pub(crate) fn question(name: &str) -> String {
    format!(
        r#"{{"command":{{"command_id":"{name}","name":"{COMMAND}","idempotency_key":"key-{name}"}},"target":{TARGET},"prompt":{{"text":"Entregar no seu endereço de casa a partir de agora?","buttons":[{{"title":"Sim","action":"confirm"}},{{"title":"Não","action":"decline"}}]}}}}"#
    )
}

/// The message id of a prompt.
pub(crate) fn prompt(id: &str) -> String {
    format!(r#"{{"message_id":"{id}"}}"#)
}

/// The binding of a command by one attempt, shaped by two messages.
pub(crate) fn binding(name: &str, attempt: &str, messages: [&str; 2]) -> String {
    let [asked, answered] = messages;
    format!(
        r#"{{"attempt_id":"{attempt}","command_id":"{name}","name":"{COMMAND}","idempotency_key":"key-{name}","target":{TARGET},"envelope":{{"command_id":"{name}","name":"{COMMAND}","target":{TARGET}}},"message_ids":["{asked}","{answered}"]}}"#
    )
}

/// That a command succeeded.
pub(crate) const SUCCEEDED: &str = r#"{"status":"succeeded","summary":"address changed"}"#;

/// Many messages in one body.
pub(crate) fn batch(messages: &[String]) -> String {
    format!(r#"{{"messages":[{}]}}"#, messages.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_body_is_json() {
        let place = Place { conversation_id: "c".to_owned(), actor_id: "a".to_owned() };
        let tap = |prompt| Words::Tap { title: "Não", button: "cscp1.n.x", prompt };
        let words = [Words::Text("sim"), Words::Quoting { text: "sim", prompt: "p" }, tap(None), tap(Some("p"))];
        let messages: Vec<String> = words.into_iter().map(|words| message(&place, "m", words)).collect();
        for (text, quotes, taps) in [(0, false, false), (1, true, false), (2, false, true), (3, true, true)] {
            let message: Value = serde_json::from_str(&messages[text]).unwrap();
            assert_eq!((message.get("reply_to").is_some(), message.get("button_id").is_some()), (quotes, taps));
            assert!(message["sent_at"].as_str().unwrap().ends_with('Z'));
        }
        let reply: Value = serde_json::from_str(&reply(&place, "r")).unwrap();
        assert_eq!((reply["direction"].as_str(), reply["expects_reply"].as_bool()), (Some("outbound"), Some(false)));
        for body in [question("n"), prompt("p"), binding("n", "t", ["a", "b"]), batch(&messages), SUCCEEDED.to_owned()]
        {
            assert!(serde_json::from_str::<Value>(&body).unwrap().is_object(), "{body}");
        }
    }
}
