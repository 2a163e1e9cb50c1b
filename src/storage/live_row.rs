//! Stored state, row by row, for the comparison with a replay of the log.
//!
//! Rows are read without the domain's types, so that tampered rows can be reported instead of being refused.

use serde_json::Value;

use super::{Row, SpaceRow};
use crate::domain::command::CommandRecord;
use crate::domain::item::ItemState;
use crate::domain::time::Timestamp;
use crate::domain::world::Conversation;

/// A table whose rows follow from the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LiveTable {
    Conversations,
    Contexts,
    Items,
    ItemPrompts,
    Commands,
    CommandAttempts,
    Messages,
    Principals,
    PrincipalAliases,
    PrincipalRoles,
    Frames,
    SpaceRecords,
}

impl LiveTable {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conversations => "conversations",
            Self::Contexts => "contexts",
            Self::Items => "items",
            Self::ItemPrompts => "item_prompts",
            Self::Commands => "commands",
            Self::CommandAttempts => "command_attempts",
            Self::Messages => "messages",
            Self::Principals => "principals",
            Self::PrincipalAliases => "principal_aliases",
            Self::PrincipalRoles => "principal_roles",
            Self::Frames => "frames",
            Self::SpaceRecords => "space_records",
        }
    }

    /// The table of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        const ALL: [LiveTable; 12] = [
            LiveTable::Conversations,
            LiveTable::Contexts,
            LiveTable::Items,
            LiveTable::ItemPrompts,
            LiveTable::Commands,
            LiveTable::CommandAttempts,
            LiveTable::Messages,
            LiveTable::Principals,
            LiveTable::PrincipalAliases,
            LiveTable::PrincipalRoles,
            LiveTable::Frames,
            LiveTable::SpaceRecords,
        ];
        ALL.into_iter().find(|table| table.as_str() == name)
    }

    /// Whether this server makes the ids of its rows. Other ids come from callers and may contain a name or a number.
    #[must_use]
    pub fn mints_ids(self) -> bool {
        matches!(self, Self::Contexts | Self::Items | Self::Frames | Self::Messages)
    }
}

/// A row as it is stored, or as it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveRow {
    pub table: LiveTable,
    /// Its key after the tenant; in `space_records` the kind, a slash and the record's own id.
    pub id: String,
    /// The columns besides the body, by name. Lists are sorted.
    pub columns: Value,
    /// The body; null in a table without one, a string if it is not valid JSON.
    pub body: Value,
}

impl LiveRow {
    /// A row as read from a database.
    pub(super) fn read(table: LiveTable, id: String, columns: &str, body: Option<&str>) -> Self {
        let parsed = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        let mut columns: Value = parsed(columns);
        for column in columns.as_object_mut().into_iter().flatten().map(|(_, column)| column) {
            if let Some(list) = column.as_array_mut() {
                list.sort_by_cached_key(ToString::to_string);
            }
        }
        Self { table, id, columns, body: body.map_or(Value::Null, parsed) }
    }

    fn expected(table: LiveTable, id: impl Into<String>, columns: Value, body: &impl serde::Serialize) -> Self {
        // Serialization cannot fail; an empty body would be reported as different.
        let body = serde_json::to_value(body).unwrap_or_default();
        Self { table, id: id.into(), columns, body }
    }

    /// The stored form of a domain record.
    #[must_use]
    pub fn of(row: &Row) -> Self {
        match row {
            Row::Conversation(id, conversation) => {
                let columns = serde_json::json!({"last_item_id": last_item(conversation)});
                Self::expected(LiveTable::Conversations, id.as_str(), columns, conversation)
            }
            Row::Context(context) => {
                let columns = serde_json::json!({
                    "conversation_id": context.conversation_id, "actor_id": context.actor_id,
                    "status": context.state.status(), "expires_at": context.expires_at.as_micros(),
                    "updated_at": context.updated_at.as_micros(), "swept_late": false,
                });
                Self::expected(LiveTable::Contexts, context.context_id.as_str(), columns, context)
            }
            Row::Item(item) => {
                let columns = serde_json::json!({
                    "kind": item.kind(), "state": state_word(&item.state), "context_id": item.context_id,
                    "conversation_id": item.conversation_id, "actor_id": item.actor_id,
                    "identity_epoch": item.identity_epoch,
                    "command_id": item.command().map(|command| &command.command_id),
                    "asked_at": item.asked_at.as_micros(), "expires_at": item.expires_at.as_micros(),
                    "nonce_digest": item.nonce_digest.to_hex(),
                });
                Self::expected(LiveTable::Items, item.item_id.as_str(), columns, item)
            }
            Row::Command(command) => {
                let updated_at = updated_at(command);
                let columns = serde_json::json!({
                    "idempotency_key": command.idempotency_key, "context_id": command.context_id,
                    "conversation_id": command.conversation_id, "updated_at": updated_at.as_micros(),
                    "unknown_from": command.unknown_from().map(Timestamp::as_micros),
                });
                Self::expected(LiveTable::Commands, command.command_id.as_str(), columns, command)
            }
            Row::Message(message) => {
                let columns = serde_json::json!({
                    "conversation_id": message.conversation_id, "keep_until": message.keep_until.as_micros(),
                    "received_at": message.received_at.as_micros(),
                });
                Self::expected(LiveTable::Messages, message.message_key.to_hex(), columns, message)
            }
            Row::ErasedMessage(key) => {
                let columns = serde_json::json!({});
                Self::expected(LiveTable::Messages, key.to_hex(), columns, &serde_json::json!({"erased": key}))
            }
            Row::Principal(principal) => {
                let columns = serde_json::json!({
                    "person_id": principal.person_id, "identity_epoch": principal.identity_epoch,
                    "aliases": sorted(principal.aliases.iter().map(|alias| {
                        let kind = serde_json::to_value(alias.kind).unwrap_or_default();
                        format!("{}:{}", kind.as_str().unwrap_or_default(), alias.value)
                    })),
                    "roles": sorted(principal.roles.iter().map(ToString::to_string)),
                });
                Self::expected(LiveTable::Principals, principal.principal_id.as_str(), columns, principal)
            }
            Row::Frame(stored) => {
                let frame = &stored.frame;
                let columns = serde_json::json!({
                    "context_id": frame.context_id, "command_id": frame.command_id,
                    "created_at": frame.created_at.as_micros(),
                });
                Self::expected(LiveTable::Frames, frame.context_frame_id.as_str(), columns, stored)
            }
            Row::Attempt(id, of) => Self::leading(LiveTable::CommandAttempts, id.as_str(), "command_id", of.as_str()),
            Row::Prompt(id, of) => Self::leading(LiveTable::ItemPrompts, id.as_str(), "item_id", of.as_str()),
        }
    }

    /// A row that maps a name to another row.
    fn leading(table: LiveTable, id: &str, column: &str, to: &str) -> Self {
        Self::expected(table, id, serde_json::json!({column: to}), &Value::Null)
    }

    /// The stored form of a fact space's record.
    #[must_use]
    pub fn of_record(row: &SpaceRow) -> Self {
        let (label, key) = row.names();
        let columns = serde_json::json!({
            "at": row.at().as_micros(), "live": row.is_live(), "label": label, "key": key,
            "successor": row.successor(), "ended_at": row.ended_at().map(Timestamp::as_micros),
        });
        let id = format!("{}/{}", row.kind().as_str(), row.id());
        let body = serde_json::from_str(&row.body()).unwrap_or_default();
        Self { table: LiveTable::SpaceRecords, id, columns, body }
    }
}

/// The question that a conversation's search column names.
pub(super) fn last_item(conversation: &Conversation) -> Option<&str> {
    match &conversation.last_question {
        Some(crate::domain::event::LastQuestion::Item(item_id)) => Some(item_id.as_str()),
        Some(crate::domain::event::LastQuestion::Other) | None => None,
    }
}

/// The word for an item's state in its search column.
pub(super) fn state_word(state: &ItemState) -> &'static str {
    match state {
        ItemState::Open => "open",
        ItemState::Granted { .. } => "granted",
        ItemState::Refused { .. } => "refused",
        ItemState::Selected { .. } => "selected",
        ItemState::Spent { .. } => "spent",
        ItemState::Expired { .. } => "expired",
        ItemState::Voided { .. } => "voided",
    }
}

/// A set in its stored form: without duplicates, in the order of [`LiveRow::read`].
fn sorted(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = words.collect();
    words.sort_by_cached_key(|word| Value::from(word.as_str()).to_string());
    words.dedup();
    words
}

/// When a command was last bound, taken over or reported.
pub(super) fn updated_at(command: &CommandRecord) -> Timestamp {
    command.results.last().map_or(command.bound_at, |result| result.at).max(command.execution.since)
}
