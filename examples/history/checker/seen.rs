//! What a server answered, as far as the rules look at it.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// The members of any answer that are used. A missing one is empty.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Seen {
    /// Of a problem.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duplicate: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<Context>,
    #[serde(flatten)]
    pub(crate) item: Item,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) button_ids: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) asked_at: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) prompts: Vec<Prompt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) required: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) received: Option<u64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) role: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) also_roles: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) attempt_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) bound_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context_ref: Option<ContextRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) execute: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "execution")]
    pub(crate) execution: Option<Execution>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) results: Vec<Reported>,
    /// Of a recorded result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<Box<Seen>>,
    /// Of a list of commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) items: Vec<Seen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revision: Option<u64>,
}

/// Who executes a command. A problem has a word in its place, which says less than the code beside it.
fn execution<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Execution>, D::Error> {
    let value = Value::deserialize(from)?;
    if value.is_object() { serde_json::from_value(value).map(Some).map_err(D::Error::custom) } else { Ok(None) }
}

/// A question, or what an answer shows of one. The members that name a command stand in commands, too.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Item {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) confirmation_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) approval_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) disambiguation_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) context_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) command_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) command_name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) idempotency_key: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) target_fingerprint: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) expires_at: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) bind_by: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) decided_at: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) spent_by_attempt_id: String,
}

impl Item {
    /// Its id, of whichever kind it is. Of a bound command: the confirmation that it spent.
    pub(crate) fn id(&self) -> &str {
        let ids = [&self.confirmation_id, &self.approval_id, &self.disambiguation_id];
        ids.into_iter().find(|id| !id.is_empty()).map_or("", String::as_str)
    }
}

/// What a message meant.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Verdict {
    pub(crate) code: String,
    pub(crate) reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) confirmation: Option<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approval: Option<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disambiguation: Option<Item>,
}

impl Verdict {
    /// The question that it is about.
    pub(crate) fn item(&self) -> Option<&Item> {
        self.confirmation.as_ref().or(self.approval.as_ref()).or(self.disambiguation.as_ref())
    }

    /// What stays the same however often it is asked for: the item is shown as it stands, the rest is not.
    pub(crate) fn lasting(&self) -> (&str, &str, &str) {
        (&self.code, &self.reason, self.item().map_or("", Item::id))
    }
}

/// A context, as far as it is used.
#[expect(clippy::struct_field_names, reason = "the members are called so on the wire")]
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Context {
    pub(crate) context_id: String,
    pub(crate) status: String,
    pub(crate) revision: u64,
}

/// A message that showed a question.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Prompt {
    pub(crate) message_id: String,
}

/// The frozen context of a bound command.
#[expect(clippy::struct_field_names, reason = "the members are called so on the wire")]
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct ContextRef {
    pub(crate) context_id: String,
    pub(crate) context_frame_id: String,
    pub(crate) context_hash: String,
}

/// The right to carry a command out.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Execution {
    pub(crate) state: String,
    pub(crate) attempt_id: String,
    pub(crate) report_by: String,
    pub(crate) replaced_attempt_ids: Vec<String>,
}

/// A result that a command has.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Reported {
    pub(crate) status: String,
    pub(crate) summary: String,
}
