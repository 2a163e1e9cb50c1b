//! Parts that several requests share: bounded texts, extensions, commands, prompts.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Deserialize as DeserializeDerive, de::value::MapAccessDeserializer};
use serde_json::{Map, Value};

use crate::domain::canonical::canonical;
use crate::domain::id::{CommandId, CommandName, IdempotencyKey};
use crate::domain::operation::{CommandSpec, Target};
use crate::domain::policy::SafetyClass;
use crate::domain::prompt::{Button, ButtonAction, ShownPrompt};
use crate::domain::time::{Timestamp, TimestampError};
use crate::http::problem::Problem;

/// The largest `extensions`, in bytes of canonical JSON.
pub(super) const MAX_EXTENSIONS: usize = 16_384;
/// The longest language tag.
pub(super) const MAX_LOCALE: usize = 35;

/// When something was sent, as channels say it: RFC 3339, or WhatsApp's seconds since 1970 as a text of ten digits.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentAt(pub(super) Timestamp);

/// Why a text does not say when something was sent.
#[derive(Debug, thiserror::Error)]
#[error(
    "{TimestampError}, or the seconds since 1970 as a webhook gives them, a text of ten digits such as \"1795187045\""
)]
pub(super) struct SentAtError;

impl SentAt {
    pub(super) fn parse(text: &str) -> Result<Self, SentAtError> {
        let is_epoch = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = text.parse::<i64>().ok().filter(|_| is_epoch);
        let instant = seconds.map_or_else(|| Timestamp::parse(text).ok(), |at| Some(Timestamp::from_seconds(at)));
        instant.map(Self).ok_or(SentAtError)
    }
}

impl<'de> Deserialize<'de> for SentAt {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = SentAt;
            /// Told to whoever sends a number, as the webhook's own JSON libraries sometimes make of it.
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text: RFC 3339 such as \"2026-11-20T15:04:05Z\", or the webhook's epoch seconds such as \"1795187045\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<SentAt, E> {
                SentAt::parse(text).map_err(E::custom)
            }
        }
        reader.deserialize_str(Text)
    }
}

/// Refuses a text that is longer than `most` bytes.
pub(super) fn bounded(text: Option<&String>, pointer: &str, most: usize) -> Result<(), Problem> {
    match text {
        Some(text) if text.len() > most => {
            Err(Problem::invalid(pointer, format!("must be at most {most} bytes of UTF-8")))
        }
        _ => Ok(()),
    }
}

/// Refuses a text that is empty, longer than `most` bytes, or holds control characters.
pub(super) fn printable(text: &str, pointer: &str, most: usize) -> Result<(), Problem> {
    let fits = (1..=most).contains(&text.len()) && !text.chars().any(char::is_control);
    if fits {
        Ok(())
    } else {
        Err(Problem::invalid(pointer, format!("must be 1 to {most} bytes of UTF-8 without control characters")))
    }
}

/// The extensions, checked for their size.
pub(super) fn extensions(given: Option<Map<String, Value>>) -> Result<Map<String, Value>, Problem> {
    let given = given.unwrap_or_default();
    if canonical(&given).len() > MAX_EXTENSIONS {
        return Err(Problem::invalid("/extensions", format!("must be at most {MAX_EXTENSIONS} bytes of JSON")));
    }
    Ok(given)
}

#[derive(Debug, DeserializeDerive)]
#[serde(deny_unknown_fields)]
pub(super) struct Proposed {
    command_id: CommandId,
    name: CommandName,
    idempotency_key: IdempotencyKey,
    safety_class: Option<SafetyClass>,
}

impl Proposed {
    /// Makes the command with its target.
    pub(super) fn with(self, target: Target) -> CommandSpec {
        CommandSpec {
            command_id: self.command_id,
            name: self.name,
            idempotency_key: self.idempotency_key,
            raised_class: self.safety_class,
            target,
        }
    }
}

/// The longest fingerprint from a caller.
const MAX_FINGERPRINT: usize = 256;

/// The target itself, or the caller's own digest of it, or neither; not both.
pub(super) fn target(clear: Option<Value>, fingerprint: Option<String>) -> Result<Target, Problem> {
    match (clear, fingerprint) {
        (Some(_), Some(_)) => {
            Err(Problem::invalid("/target_fingerprint", "send either target or target_fingerprint, not both"))
        }
        (Some(value), None) => Ok(Target::Clear(value)),
        (None, Some(text)) => {
            printable(&text, "/target_fingerprint", MAX_FINGERPRINT)?;
            Ok(Target::Asserted(text))
        }
        (None, None) => Ok(Target::Missing),
    }
}

/// The action of a button, in the words of either kind.
#[derive(Debug, Clone, Copy, DeserializeDerive)]
#[serde(rename_all = "snake_case")]
enum ActionWord {
    #[serde(alias = "approve")]
    Confirm,
    #[serde(alias = "reject")]
    Decline,
}

#[derive(DeserializeDerive)]
#[serde(deny_unknown_fields)]
struct FullButton {
    title: String,
    action: Option<ActionWord>,
}

/// A button: its title, or its title and its action.
#[derive(Debug)]
struct ButtonWire {
    title: String,
    action: Option<ActionWord>,
}

impl<'de> Deserialize<'de> for ButtonWire {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ButtonWire;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a title, or an object with title and action")
            }
            fn visit_str<E>(self, title: &str) -> Result<ButtonWire, E> {
                Ok(ButtonWire { title: title.to_owned(), action: None })
            }
            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<ButtonWire, A::Error> {
                let full = FullButton::deserialize(MapAccessDeserializer::new(members))?;
                Ok(ButtonWire { title: full.title, action: full.action })
            }
        }
        reader.deserialize_any(Either)
    }
}

/// A prompt with buttons, as it is shown.
#[derive(Debug, DeserializeDerive)]
#[serde(deny_unknown_fields)]
pub(super) struct PromptWire {
    text: String,
    buttons: Option<Vec<ButtonWire>>,
}

impl PromptWire {
    /// The prompt; the first button accepts and the second refuses unless actions are given.
    pub(super) fn shown(self) -> Result<ShownPrompt, Problem> {
        let mut buttons = Vec::new();
        for (index, button) in self.buttons.unwrap_or_default().into_iter().enumerate() {
            let action = match (button.action, index) {
                (Some(ActionWord::Confirm), _) | (None, 0) => ButtonAction::Accept,
                (Some(ActionWord::Decline), _) | (None, 1) => ButtonAction::Refuse,
                (None, _) => return Err(Problem::missing(&format!("/prompt/buttons/{index}/action"))),
            };
            buttons.push(Button { title: button.title, action });
        }
        if !buttons.is_empty() && !buttons.iter().any(|button| button.action == ButtonAction::Accept) {
            return Err(Problem::invalid("/prompt/buttons", "one of them has to confirm"));
        }
        Ok(ShownPrompt { text: self.text, buttons })
    }
}
