//! Compares the rows of conversations and principals with their streams.

use std::collections::BTreeMap;

use super::compare::difference;
use super::projection::{Projection, State};
use super::report::{How, ReplayReport};
use super::{CHUNK, Disposed, Replay, is_forgotten};
use crate::domain::canonical::Digest;
use crate::domain::disposal::named;
use crate::domain::event::StreamKey;
use crate::domain::world::World;
use crate::storage::{LiveRow, LiveTable, Row, SpaceRowKind, StorageError};

/// The tables derived from conversations and principals.
const TABLES: [LiveTable; 9] = [
    LiveTable::Conversations,
    LiveTable::Contexts,
    LiveTable::Items,
    LiveTable::ItemPrompts,
    LiveTable::Commands,
    LiveTable::CommandAttempts,
    LiveTable::Messages,
    LiveTable::Principals,
    LiveTable::Frames,
];

/// Core tables have no kinds of rows.
const ANY: SpaceRowKind = SpaceRowKind::Space;

/// A derived row, and the row whose entries decide its content.
struct Derived {
    row: LiveRow,
    by: (LiveTable, String),
    /// The context that it is erased with.
    context: Option<String>,
}

impl Derived {
    fn of(row: &Row) -> Self {
        let context = match row {
            Row::Context(context) => Some(&context.context_id),
            Row::Item(item) => Some(&item.context_id),
            Row::Command(command) => Some(&command.context_id),
            _ => None,
        };
        let context = context.map(ToString::to_string);
        let row = LiveRow::of(row);
        Self { by: (row.table, row.id.clone()), row, context }
    }

    /// Whether the disposal stream lists this row as erased.
    fn is_named(&self, disposed: &Disposed, tenant_key: &Digest) -> bool {
        let of_context = |id: &String| disposed.named.names(tenant_key, named::CONTEXTS, id);
        match self.row.table {
            LiveTable::Messages => disposed.named.names(tenant_key, named::MESSAGES, &self.row.id),
            _ => self.context.as_ref().is_some_and(of_context),
        }
    }
}

/// The rows of a table that follow from a world, one by one.
fn derived(world: &World, table: LiveTable) -> Box<dyn Iterator<Item = Derived> + Send + '_> {
    match table {
        LiveTable::Conversations => Box::new(
            world.conversations.iter().map(|(id, told)| Derived::of(&Row::Conversation(id.clone(), told.clone()))),
        ),
        LiveTable::Contexts => Box::new(world.contexts.values().map(|row| Derived::of(&Row::Context(row.clone())))),
        LiveTable::Items => Box::new(world.items.values().map(|row| Derived::of(&Row::Item(row.clone())))),
        LiveTable::ItemPrompts => Box::new(world.items.values().flat_map(|item| {
            let prompts = item.prompts.iter().filter_map(|prompt| prompt.message_id.as_ref());
            prompts.map(|message_id| Derived {
                row: LiveRow::of(&Row::Prompt(message_id.clone(), item.item_id.clone())),
                by: (LiveTable::Items, item.item_id.to_string()),
                context: Some(item.context_id.to_string()),
            })
        })),
        LiveTable::Commands => Box::new(world.commands.values().map(|row| Derived::of(&Row::Command(row.clone())))),
        LiveTable::CommandAttempts => Box::new(world.attempts.iter().map(|(attempt_id, command_id)| Derived {
            row: LiveRow::of(&Row::Attempt(attempt_id.clone(), command_id.clone())),
            by: (LiveTable::Commands, command_id.to_string()),
            context: world.commands.get(command_id).map(|command| command.context_id.to_string()),
        })),
        LiveTable::Messages => Box::new(world.messages.values().map(|row| Derived::of(&Row::Message(row.clone())))),
        LiveTable::Principals => {
            Box::new(world.principals.values().map(|row| Derived::of(&Row::Principal(row.clone()))))
        }
        LiveTable::Frames => Box::new(world.frames.values().map(|row| Derived::of(&Row::Frame(row.clone())))),
        LiveTable::PrincipalAliases | LiveTable::PrincipalRoles | LiveTable::SpaceRecords => {
            Box::new(std::iter::empty())
        }
    }
}

impl Replay<'_> {
    /// Looks up every row that a conversation's or a principal's stream made.
    pub(super) async fn compare_core(&self, projection: &Projection) -> Result<ReplayReport, StorageError> {
        let mut report = ReplayReport::default();
        let State::World(world) = &projection.state else { return Ok(report) };
        for table in TABLES {
            let mut rows = derived(world, table);
            loop {
                let chunk: Vec<Derived> = rows.by_ref().take(CHUNK).collect();
                if chunk.is_empty() {
                    break;
                }
                let ids: Vec<String> = chunk.iter().map(|derived| derived.row.id.clone()).collect();
                let live = self.store.live_rows(&self.tenant.tenant_id, table, &ids).await?;
                let live: BTreeMap<String, LiveRow> = live.into_iter().map(|row| (row.id.clone(), row)).collect();
                for derived in chunk {
                    self.judge(projection, &derived, live.get(&derived.row.id), &mut report);
                }
            }
        }
        self.own_row(projection, world, &mut report).await?;
        Ok(report)
    }

    fn judge(&self, projection: &Projection, derived: &Derived, live: Option<&LiveRow>, report: &mut ReplayReport) {
        let row = &derived.row;
        let how = match live {
            Some(live) => difference(row, live),
            None => Some(How::Missing),
        };
        let Some(how) = how else { return report.add_equal(row.table) };
        if how == How::Missing && derived.is_named(&self.disposed, &self.tenant.key) {
            return report.add_disposed(row.table);
        }
        let named_since = self.disposed.since;
        if how == How::Missing && row.table == LiveTable::Messages && is_forgotten(row, self.now, named_since) {
            report.forgotten += 1;
            return;
        }
        let mark = projection.mark(derived.by.0, &derived.by.1);
        if projection.is_doubtful(row.table, ANY, mark) {
            return report.add_underivable(row.table);
        }
        let by = mark.map(|mark| &mark.artifact_id);
        report.add(projection.fault(Some(row.table), row.id.clone(), by, how));
    }

    /// Checks the row with the stream's own name: it may exist without an entry that made it.
    async fn own_row(
        &self,
        projection: &Projection,
        world: &World,
        report: &mut ReplayReport,
    ) -> Result<(), StorageError> {
        let (table, id, derived) = match &projection.key {
            StreamKey::Conversation(id) => {
                (LiveTable::Conversations, id.to_string(), world.conversations.contains_key(id))
            }
            StreamKey::Principal(id) => (LiveTable::Principals, id.to_string(), world.principals.contains_key(id)),
            StreamKey::Access(_) | StreamKey::FactSpace(_) | StreamKey::Disposal => return Ok(()),
        };
        if derived {
            return Ok(());
        }
        let live = self.store.live_rows(&self.tenant.tenant_id, table, std::slice::from_ref(&id)).await?;
        if live.is_empty() {
            return Ok(());
        }
        if projection.is_doubtful(table, ANY, None) {
            report.add_underivable(table);
        } else {
            report.add(projection.fault(Some(table), id, None, How::Unfounded));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::projection::touches;
    use super::*;

    /// An erased entry makes only those rows uncertain that it may have changed.
    #[test]
    fn each_type_of_entry_touches_its_own_tables() {
        let cases: [(&str, &[LiveTable]); 10] = [
            ("context.created", &[LiveTable::Contexts]),
            (
                "message.received",
                &[
                    LiveTable::Conversations,
                    LiveTable::Contexts,
                    LiveTable::Items,
                    LiveTable::ItemPrompts,
                    LiveTable::Messages,
                ],
            ),
            ("command.taken_over", &[LiveTable::Contexts, LiveTable::Commands, LiveTable::CommandAttempts]),
            ("command.bound", &[LiveTable::Contexts, LiveTable::Commands, LiveTable::CommandAttempts]),
            ("command.result_recorded", &[LiveTable::Contexts, LiveTable::Commands]),
            ("context.frame_captured", &[LiveTable::Contexts, LiveTable::Frames]),
            ("principal.changed", &[LiveTable::Principals]),
            ("access.read", &[]),
            ("prompt.attached", &[LiveTable::Conversations, LiveTable::Items, LiveTable::ItemPrompts]),
            (
                "approval.requested",
                &[LiveTable::Conversations, LiveTable::Contexts, LiveTable::Items, LiveTable::ItemPrompts],
            ),
        ];
        for (entry, expected) in cases {
            let touched: Vec<LiveTable> = TABLES.into_iter().filter(|table| touches(entry, *table, ANY)).collect();
            assert_eq!(touched, expected, "{entry}");
        }
    }
}
