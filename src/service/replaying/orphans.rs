//! Finds orphan rows: rows that no log entry made. Replaying the log finds changed and missing rows; an extra row is
//! found only by looking in its conversation's stream, at its time, for the entry that should have made it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::projection::event_of;
use super::report::{Difference, How, ReplayReport};
use super::{PAGE, Replay};
use crate::domain::event::Event;
use crate::domain::id::ConversationId;
use crate::domain::time::Timestamp;
use crate::storage::{LiveRow, LiveTable, StorageError};

/// How a table's rows show when and in which conversation they were made, and which events make them.
struct Origin {
    table: LiveTable,
    conversation: &'static str,
    at: &'static str,
    kinds: &'static [&'static str],
}

const ORIGINS: [Origin; 5] = [
    Origin {
        table: LiveTable::Contexts,
        conversation: "/conversation_id",
        at: "/created_at",
        kinds: &["context.created"],
    },
    Origin {
        table: LiveTable::Items,
        conversation: "/conversation_id",
        at: "/asked_at",
        kinds: &["confirmation.requested", "approval.requested", "disambiguation.requested"],
    },
    Origin { table: LiveTable::Commands, conversation: "/conversation_id", at: "/bound_at", kinds: &["command.bound"] },
    Origin {
        table: LiveTable::Messages,
        conversation: "/conversation_id",
        at: "/received_at",
        kinds: &["message.received", "message.registered"],
    },
    Origin {
        table: LiveTable::Frames,
        conversation: "/frame/conversation_id",
        at: "/frame/created_at",
        kinds: &["context.frame_captured"],
    },
];

/// A table whose rows name rows of another table.
struct Names {
    table: LiveTable,
    to: LiveTable,
    column: &'static str,
    has: fn(&Value, &str) -> bool,
}

const NAMES: [Names; 2] = [
    Names { table: LiveTable::ItemPrompts, to: LiveTable::Items, column: "item_id", has: has_prompt },
    Names { table: LiveTable::CommandAttempts, to: LiveTable::Commands, column: "command_id", has: has_attempt },
];

fn has_prompt(item: &Value, message_id: &str) -> bool {
    let asks = |prompt: &Value| prompt.get("message_id").and_then(Value::as_str) == Some(message_id);
    item.get("prompts").and_then(Value::as_array).is_some_and(|prompts| prompts.iter().any(asks))
}

/// Whether a command was ever executed by an attempt.
fn has_attempt(command: &Value, attempt_id: &str) -> bool {
    let is = |record: &Value| record.get("attempt_id").and_then(Value::as_str) == Some(attempt_id);
    let replaced = command.pointer("/execution/replaced").and_then(Value::as_array);
    is(command) || replaced.is_some_and(|attempts| attempts.iter().any(is))
}

/// The id of the row that an event makes in its table.
fn made(event: &Event) -> Option<String> {
    Some(match event {
        Event::ContextCreated { context } => context.context_id.to_string(),
        Event::ItemAsked { item, .. } => item.item_id.to_string(),
        Event::CommandBound { command } => command.command_id.to_string(),
        Event::MessageReceived { message, .. } | Event::MessageRegistered { message, .. } => {
            message.message_key.to_hex()
        }
        Event::FrameCaptured { frame, .. } => frame.context_frame_id.to_string(),
        _ => return None,
    })
}

/// Whether a row has an entry that made it.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    ByNobody,
    /// An erased entry may have made it.
    Perhaps,
    ByAnEntry,
}

/// Whether a row is the tombstone of an erased message: its dedupe key without content.
fn is_tombstone(row: &LiveRow) -> bool {
    let column = |name: &str| row.columns.get(name).cloned().unwrap_or_default();
    row.table == LiveTable::Messages
        && row.body == serde_json::json!({"erased": row.id})
        && column("conversation_id") == ""
        && column("received_at") == 0
}

fn nobodys(table: LiveTable, row_id: String) -> Difference {
    Difference { table: Some(table), row_id, stream_id: None, artifact_id: None, how: How::Unfounded }
}

impl Replay<'_> {
    /// Searches every table for orphan rows. `known` differences are not reported again.
    pub(super) async fn orphans(&self, known: &[Difference]) -> Result<ReplayReport, StorageError> {
        let told: BTreeSet<(LiveTable, &str)> =
            known.iter().filter_map(|difference| Some((difference.table?, difference.row_id.as_str()))).collect();
        let mut report = ReplayReport::default();
        let mut tombstones = 0;
        for origin in &ORIGINS {
            let mut after = String::new();
            loop {
                let page = self.store.live_page(&self.tenant.tenant_id, origin.table, &after, PAGE).await?;
                let Some(last) = page.last() else { break };
                after.clone_from(&last.id);
                for (row, made) in page.iter().zip(self.made(origin, &page).await?) {
                    // Rows with an entry were compared with their stream.
                    match made {
                        // Tombstones of erased messages are accounted for by number.
                        Made::ByNobody if is_tombstone(row) && tombstones < self.disposed.tombstones => {
                            tombstones += 1;
                            report.add_underivable(row.table);
                        }
                        Made::ByNobody if !told.contains(&(row.table, row.id.as_str())) => {
                            report.add(nobodys(row.table, row.id.clone()));
                        }
                        Made::Perhaps => report.add_underivable(row.table),
                        Made::ByNobody | Made::ByAnEntry => {}
                    }
                }
            }
        }
        self.leading(&mut report).await?;
        for (table, id) in self.store.strays(&self.tenant.tenant_id, PAGE).await? {
            // A record of another person whose id was the erased person's name.
            if self.disposed.pseudonyms.contains(&id) {
                report.add_underivable(table);
            } else {
                report.add(nobodys(table, id));
            }
        }
        Ok(report)
    }

    async fn made(&self, origin: &Origin, rows: &[LiveRow]) -> Result<Vec<Made>, StorageError> {
        let mut places = Vec::new();
        let mut made = vec![Made::ByNobody; rows.len()];
        let mut asked = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let member = |path: &str| row.body.pointer(path).cloned().unwrap_or(Value::Null);
            let conversation = serde_json::from_value::<ConversationId>(member(origin.conversation));
            let at = serde_json::from_value::<Timestamp>(member(origin.at));
            if let (Ok(conversation), Ok(at)) = (conversation, at) {
                places.push((conversation, at));
                asked.push(index);
            }
        }
        for maker in self.store.makers(&self.tenant.tenant_id, &places, origin.kinds).await? {
            let index = asked.get(maker.place).copied();
            let Some((row, made)) = index.and_then(|index| Some((rows.get(index)?, made.get_mut(index)?))) else {
                continue;
            };
            match maker.payload.as_deref().map(event_of::<Event>) {
                None if *made == Made::ByNobody => *made = Made::Perhaps,
                Some(Some(event)) if self::made(&event).as_ref() == Some(&row.id) => *made = Made::ByAnEntry,
                _ => {}
            }
        }
        Ok(made)
    }

    /// Checks that a prompt leads to an item that lists it, and an attempt to a command that was bound with it.
    async fn leading(&self, report: &mut ReplayReport) -> Result<(), StorageError> {
        for names in &NAMES {
            let mut after = String::new();
            loop {
                let page = self.store.live_page(&self.tenant.tenant_id, names.table, &after, PAGE).await?;
                let Some(last) = page.last() else { break };
                after.clone_from(&last.id);
                self.led(names, &page, report).await?;
            }
        }
        Ok(())
    }

    async fn led(&self, names: &Names, page: &[LiveRow], report: &mut ReplayReport) -> Result<(), StorageError> {
        let target = |row: &LiveRow| row.columns.get(names.column).and_then(Value::as_str).map(str::to_owned);
        let mut ids: Vec<String> = page.iter().filter_map(target).collect();
        ids.sort_unstable();
        ids.dedup();
        let targets = self.store.live_rows(&self.tenant.tenant_id, names.to, &ids).await?;
        for row in page {
            let found = target(row).and_then(|id| targets.iter().find(|target| target.id == id));
            if !found.is_some_and(|found| (names.has)(&found.body, &row.id)) {
                report.add(nobodys(names.table, row.id.clone()));
            }
        }
        Ok(())
    }
}
