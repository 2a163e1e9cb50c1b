//! Writes a batch in one statement: whatever the batch's size, there is one round trip.

use std::collections::BTreeMap;

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgRow;

use super::assembly::With;
use super::columns::Rows as _;
use super::identity;
use super::session::Session;
use super::tables::{
    Attempts, ChangedCommands, ChangedItems, Claims, Commands, Contexts, Conversations, Entries, Frames, Heads, Items,
    Messages, PART_COUNT, PARTS, Payloads, Prompts,
};
use crate::domain::command::CommandRecord;
use crate::domain::context::ContextRecord;
use crate::domain::event::LastQuestion;
use crate::domain::id::{SpaceId, TenantId};
use crate::domain::item::{ItemState, PendingItem};
use crate::domain::principal::Principal;
use crate::domain::time::Timestamp;
use crate::evidence::entry::Appended;
use crate::storage::sql::number;
use crate::storage::{Filed, Row, StorageError, StoredClaim, Writes};

/// The rows of a batch, by table.
#[derive(Default)]
struct Batch<'a> {
    heads: Heads<'a>,
    conversations: Conversations<'a>,
    contexts: Contexts<'a>,
    items: Items<'a>,
    changed_items: ChangedItems<'a>,
    prompts: Prompts<'a>,
    commands: Commands<'a>,
    changed_commands: ChangedCommands<'a>,
    unknown_from: Vec<Option<i64>>,
    attempts: Attempts<'a>,
    messages: Messages<'a>,
    received: Vec<i64>,
    frames: Frames<'a>,
    entries: Entries<'a>,
    payloads: Payloads<'a>,
    claims: BTreeMap<(&'a str, &'a [u8; 32]), &'a StoredClaim>,
    principals: Vec<(&'a TenantId, &'a Principal)>,
}

/// Writes a batch. If one statement fails, the transaction is dropped and nothing is written.
pub(super) async fn write(session: &mut Session, writes: &Writes, now: Timestamp) -> Result<(), StorageError> {
    let batch = Batch::new(writes);
    let numbers = batch.numbers();
    let principals = batch.principals.clone();
    if let Some(sql) = batch.statement() {
        let row = session.one(batch.query(sql, now)).await?;
        // A replacement name may be taken already; nothing else is written together with rewritten rows.
        if writes.rewritten.is_empty() {
            expect_all(&row, &numbers)?;
        }
    }
    identity::write(session, &principals).await
}

/// The parts that must affect as many rows as they get, with the name of their count.
fn counted(numbers: &[usize; PART_COUNT]) -> impl Iterator<Item = (&'static str, usize)> {
    let given = PARTS.iter().zip(*numbers).filter(|((_, part), number)| *number > 0 && part.ends_with("RETURNING 1"));
    given.map(|((name, _), number)| (name.trim_end_matches(" AS"), number))
}

/// Checks that heads and changed rows existed and new rows did not; otherwise another process was faster.
fn expect_all(row: &PgRow, numbers: &[usize; PART_COUNT]) -> Result<(), StorageError> {
    for (name, expected) in counted(numbers) {
        let reached = usize::try_from(number(row, name)?) == Ok(expected);
        match name {
            _ if reached => {}
            "heads" => {
                let what = "a head that was locked is gone".to_owned();
                return Err(StorageError::Inconsistent { table: "streams", what });
            }
            _ => return Err(StorageError::Conflict),
        }
    }
    Ok(())
}

fn text<T: serde::Serialize>(value: &T) -> String {
    // Serialization cannot fail; an empty body would be refused when it is read.
    serde_json::to_string(value).unwrap_or_default()
}

/// A count or a sequence number, which never exceeds the range of `i64`.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl<'a> Batch<'a> {
    fn new(writes: &'a Writes) -> Self {
        let mut batch = Self::default();
        for (tenant_id, key, head) in &writes.heads {
            batch.heads.add((
                tenant_id.as_str(),
                key.kind(),
                key.key(),
                head.stream_id.as_str(),
                whole(head.seq),
                head.hash.as_bytes(),
                head.at.map(Timestamp::as_micros),
            ));
        }
        // Ended contexts come first, see the statement.
        let contexts = || {
            writes
                .rows
                .iter()
                .chain(&writes.rewritten)
                .filter_map(|(tenant, row)| Some((tenant.as_str(), context(row)?)))
        };
        for open in [false, true] {
            let wanted = contexts().filter(|(_, context)| context.state.status().is_open() == open);
            wanted.for_each(|(tenant, context)| batch.add_context(tenant, context));
        }
        for (tenant_id, row) in writes.new_rows.iter().chain(&writes.rewritten) {
            batch.add_row(tenant_id, row);
        }
        for (tenant_id, row) in &writes.rows {
            batch.change_row(tenant_id, row);
        }
        for (tenant_id, key, claim) in &writes.claims {
            // The last claim of a key counts, as it would if rows were written one after the other.
            batch.claims.insert((tenant_id.as_str(), key.as_bytes()), claim);
        }
        for entry in &writes.entries {
            batch.add_entry(entry);
        }
        batch
    }

    /// The number of rows for each part of the statement.
    fn numbers(&self) -> [usize; PART_COUNT] {
        [
            self.heads.len(),
            self.conversations.len(),
            self.contexts.len(),
            self.items.len(),
            self.changed_items.len(),
            self.prompts.len(),
            self.commands.len(),
            self.changed_commands.len(),
            self.attempts.len(),
            self.messages.len(),
            self.frames.len(),
            self.entries.len(),
            self.payloads.len(),
            self.claims.len(),
            self.entries.len(),
        ]
    }

    /// The statement for the tables with rows; none if there are none.
    fn statement(&self) -> Option<String> {
        let numbers = self.numbers();
        let mut with = With::default();
        PARTS.iter().zip(numbers).filter(|(_, rows)| *rows > 0).for_each(|((name, part), _)| with.add(name, part));
        let counts: Vec<String> =
            counted(&numbers).map(|(name, _)| format!("(SELECT count(*) FROM {name}) AS {name}")).collect();
        let counts = format!("SELECT {}", counts.join(", "));
        numbers.iter().any(|rows| *rows > 0).then(|| with.then("write.batch", &counts))
    }

    fn query(self, sql: String, now: Timestamp) -> super::session::Query<'a> {
        let mut claims = Claims::default();
        for ((tenant, key), claim) in self.claims {
            let space = claim.space_id.as_ref().map(SpaceId::as_str);
            claims.add((tenant, key, claim.expires_at.as_micros(), space, text(claim)));
        }
        let query = self.conversations.bind(self.heads.bind(sqlx::query(AssertSqlSafe(sql))));
        let query = self.prompts.bind(self.items.bind(self.contexts.bind(query)));
        let query = self.frames.bind(self.messages.bind(self.commands.bind(query)));
        let query = claims.bind(self.payloads.bind(self.entries.bind(query)));
        let query = query.bind(now.as_micros()).bind(self.received);
        self.attempts.bind(self.changed_commands.bind(self.changed_items.bind(query))).bind(self.unknown_from)
    }

    /// A changed row. Rows other than items and commands may also be new: the lock of their stream protects them.
    fn change_row(&mut self, tenant_id: &'a TenantId, row: &'a Row) {
        let tenant = tenant_id.as_str();
        match row {
            Row::Item(item) => {
                self.changed_items.add((tenant, item.item_id.as_str(), state_column(&item.state), text(item)));
            }
            Row::Command(command) => {
                let (id, unknown_from) = (command.command_id.as_str(), command.unknown_from());
                let unknown_from = unknown_from.map(Timestamp::as_micros);
                self.changed_commands.add((tenant, id, updated_at(command), text(command), unknown_from));
            }
            _ => self.add_row(tenant_id, row),
        }
    }

    fn add_row(&mut self, tenant_id: &'a TenantId, row: &'a Row) {
        let tenant = tenant_id.as_str();
        match row {
            Row::Conversation(id, conversation) => {
                let last = match &conversation.last_question {
                    Some(LastQuestion::Item(item_id)) => Some(item_id.as_str()),
                    Some(LastQuestion::Other) | None => None,
                };
                self.conversations.add((tenant, id.as_str(), last, text(conversation)));
            }
            // A tombstone is made from the stored message.
            Row::Context(_) | Row::ErasedMessage(_) => {}
            Row::Item(item) => self.add_item(tenant, item),
            Row::Command(command) => {
                self.unknown_from.push(command.unknown_from().map(Timestamp::as_micros));
                self.commands.add((
                    tenant,
                    command.command_id.as_str(),
                    command.idempotency_key.as_str(),
                    command.context_id.as_str(),
                    command.conversation_id.as_str(),
                    updated_at(command),
                    text(command),
                ));
            }
            Row::Attempt(id, command_id) => self.attempts.add((tenant, id.as_str(), command_id.as_str())),
            Row::Prompt(message_id, item_id) => self.prompts.add((tenant, message_id.as_str(), item_id.as_str())),
            Row::Message(message) => {
                let key = message.message_key.as_bytes();
                let keep_until = message.keep_until.as_micros();
                self.messages.add((tenant, key, message.conversation_id.as_str(), keep_until, text(message)));
                self.received.push(message.received_at.as_micros());
            }
            Row::Principal(principal) => self.principals.push((tenant_id, principal)),
            Row::Frame(stored) => {
                let frame = &stored.frame;
                self.frames.add((
                    tenant,
                    frame.context_frame_id.as_str(),
                    frame.context_id.as_str(),
                    frame.command_id.as_str(),
                    frame.created_at.as_micros(),
                    text(stored),
                ));
            }
        }
    }

    fn add_context(&mut self, tenant: &'a str, context: &'a ContextRecord) {
        self.contexts.add((
            tenant,
            context.context_id.as_str(),
            context.conversation_id.as_str(),
            context.actor_id.as_str(),
            context.state.status().as_str(),
            context.expires_at.as_micros(),
            context.updated_at.as_micros(),
            text(context),
        ));
    }

    fn add_item(&mut self, tenant: &'a str, item: &'a PendingItem) {
        self.items.add((
            tenant,
            item.item_id.as_str(),
            item.kind().as_str(),
            state_column(&item.state),
            item.context_id.as_str(),
            item.conversation_id.as_str(),
            item.actor_id.as_str(),
            whole(item.identity_epoch),
            item.command().map(|command| command.command_id.as_str()),
            item.asked_at.as_micros(),
            item.expires_at.as_micros(),
            item.nonce_digest.as_bytes(),
            text(item),
        ));
    }

    fn add_entry(&mut self, Appended { entry, about }: &'a Appended) {
        let header = &entry.header;
        let (tenant, stream) = (header.tenant_id.as_str(), header.stream_id.as_str());
        let (seq, at) = (whole(header.seq), header.at.as_micros());
        self.entries.add((
            tenant,
            stream,
            seq,
            i64::from(header.v),
            header.artifact_id.as_str(),
            &header.kind,
            at,
            &header.policy_hash,
            entry.payload_commitment.as_bytes(),
            entry.prev_hash.as_bytes(),
            entry.entry_hash.as_bytes(),
        ));
        let Some(body) = &entry.body else { return };
        let filed = Filed::of(header, about);
        self.payloads.add((
            tenant,
            stream,
            seq,
            filed.at.as_micros(),
            filed.conversation_id,
            filed.context_id,
            filed.command_id,
            filed.correlation_id,
            filed.space_id,
            filed.fact_uid,
            body.salt.as_bytes(),
            &body.payload,
        ));
    }
}

/// When a command was last bound, taken over or reported.
fn updated_at(command: &CommandRecord) -> i64 {
    command.results.last().map_or(command.bound_at, |result| result.at).max(command.execution.since).as_micros()
}

fn context(row: &Row) -> Option<&ContextRecord> {
    match row {
        Row::Context(context) => Some(context),
        _ => None,
    }
}

/// The word for an item's state in its search column.
fn state_column(state: &ItemState) -> &'static str {
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
