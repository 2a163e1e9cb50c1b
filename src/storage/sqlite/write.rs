//! Writes a batch: one statement per table, whatever the batch's size.

use std::collections::BTreeMap;

use serde::Serialize;
use sqlx::SqliteConnection;

use super::rows::{Rows, unavailable};
use crate::domain::command::CommandRecord;
use crate::domain::id::TenantId;
use crate::domain::item::{ItemState, PendingItem};
use crate::domain::principal::Principal;
use crate::domain::time::Timestamp;
use crate::evidence::entry::Appended;
use crate::storage::{Filed, Row, StorageError, Writes};

const STREAMS: &str = "
    -- sqlite: write.streams
    INSERT INTO streams (tenant_id, kind, key, stream_id, seq, head_hash, last_at)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, unhex(value->>5), value->>6 FROM json_each(?1) WHERE true
    ON CONFLICT (tenant_id, kind, key) DO UPDATE SET
        seq = excluded.seq, head_hash = excluded.head_hash, last_at = excluded.last_at";

const CONVERSATIONS: &str = "
    -- sqlite: write.conversations
    INSERT INTO conversations (tenant_id, conversation_id, body)
    SELECT value->>0, value->>1, value->>2 FROM json_each(?1) WHERE true
    ON CONFLICT (tenant_id, conversation_id) DO UPDATE SET body = excluded.body";

// Ended contexts come first (column 8), so that a new one does not collide in the unique index with the one it
// replaces.
const CONTEXTS: &str = "
    -- sqlite: write.contexts
    INSERT INTO contexts (tenant_id, context_id, conversation_id, actor_id, status, expires_at, sweep_after, updated_at,
                          body)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>5, value->>6, value->>7
        FROM json_each(?1) WHERE true ORDER BY value->>8
    ON CONFLICT (tenant_id, context_id) DO UPDATE SET
        status = excluded.status, expires_at = excluded.expires_at, updated_at = excluded.updated_at,
        sweep_after = min(contexts.sweep_after, excluded.expires_at), body = excluded.body";

const ITEMS: &str = "
    -- sqlite: write.items
    INSERT INTO items (tenant_id, item_id, kind, state, context_id, conversation_id, actor_id, identity_epoch,
                       command_id, asked_at, expires_at, nonce_digest, body)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8,
           value->>9, value->>10, unhex(value->>11), value->>12 FROM json_each(?1) WHERE true
    ON CONFLICT DO NOTHING";

const CHANGED_ITEMS: &str = "
    -- sqlite: write.changed_items
    UPDATE items SET state = n.state, body = n.body
    FROM (SELECT value->>0 AS tenant, value->>1 AS id, value->>2 AS state, value->>3 AS body FROM json_each(?1)) AS n
    WHERE tenant_id = n.tenant AND item_id = n.id";

const ITEM_PROMPTS: &str = "
    -- sqlite: write.item_prompts
    INSERT INTO item_prompts (tenant_id, message_id, item_id)
    SELECT value->>0, value->>1, value->>2 FROM json_each(?1) WHERE true
    ON CONFLICT DO NOTHING";

const COMMANDS: &str = "
    -- sqlite: write.commands
    INSERT INTO commands (tenant_id, command_id, idempotency_key, context_id, conversation_id, updated_at, body,
                          unknown_from)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7
    FROM json_each(?1) WHERE true
    ON CONFLICT DO NOTHING";

const CHANGED_COMMANDS: &str = "
    -- sqlite: write.changed_commands
    UPDATE commands SET updated_at = n.at, body = n.body, unknown_from = n.unknown_from
    FROM (SELECT value->>0 AS tenant, value->>1 AS id, value->>2 AS at, value->>3 AS body, value->>4 AS unknown_from
          FROM json_each(?1)) AS n
    WHERE tenant_id = n.tenant AND command_id = n.id";

const ATTEMPTS: &str = "
    -- sqlite: write.command_attempts
    INSERT INTO command_attempts (tenant_id, attempt_id, command_id)
    SELECT value->>0, value->>1, value->>2 FROM json_each(?1) WHERE true
    ON CONFLICT DO NOTHING";

const MESSAGES: &str = "
    -- sqlite: write.messages
    INSERT INTO messages (tenant_id, message_key, conversation_id, keep_until, received_at, body)
    SELECT value->>0, unhex(value->>1), value->>2, value->>3, value->>4, value->>5 FROM json_each(?1) WHERE true
    ON CONFLICT DO NOTHING";

const PRINCIPALS: &str = "
    -- sqlite: write.principals
    INSERT INTO principals (tenant_id, principal_id, person_id, identity_epoch, body)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4 FROM json_each(?1) WHERE true
    ON CONFLICT (tenant_id, principal_id) DO UPDATE SET
        person_id = excluded.person_id, identity_epoch = excluded.identity_epoch, body = excluded.body";

const FORGET_ALIASES: &str = "
    -- sqlite: write.forget_aliases
    DELETE FROM principal_aliases WHERE (tenant_id, principal_id) IN
        (SELECT value->>0, value->>1 FROM json_each(?1))";

const ALIASES: &str = "
    -- sqlite: write.aliases
    INSERT INTO principal_aliases (tenant_id, kind, value, principal_id)
    SELECT value->>0, value->>1, value->>2, value->>3 FROM json_each(?1) WHERE true
    ON CONFLICT DO NOTHING";

const FORGET_ROLES: &str = "
    -- sqlite: write.forget_roles
    DELETE FROM principal_roles WHERE (tenant_id, principal_id) IN
        (SELECT value->>0, value->>1 FROM json_each(?1))";

const ROLES: &str = "
    -- sqlite: write.roles
    INSERT INTO principal_roles (tenant_id, role, principal_id)
    SELECT value->>0, value->>1, value->>2 FROM json_each(?1) WHERE true
    ON CONFLICT DO NOTHING";

const FRAMES: &str = "
    -- sqlite: write.frames
    INSERT INTO frames (tenant_id, context_frame_id, context_id, command_id, created_at, body)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 FROM json_each(?1) WHERE true
    ON CONFLICT DO NOTHING";

const CLAIMS: &str = "
    -- sqlite: write.claims
    INSERT INTO claims (tenant_id, claim_key, expires_at, space_id, body)
    SELECT value->>0, unhex(value->>1), value->>2, value->>3, value->>4 FROM json_each(?1) WHERE true
    ON CONFLICT (tenant_id, claim_key) DO UPDATE SET
        expires_at = excluded.expires_at, space_id = excluded.space_id, body = excluded.body";

const LOG_ENTRIES: &str = "
    -- sqlite: write.log_entries
    INSERT INTO log_entries (tenant_id, stream_id, seq, v, artifact_id, type, at, policy_hash, payload_commitment,
                             prev_hash, entry_hash)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, unhex(value->>8),
           unhex(value->>9), unhex(value->>10) FROM json_each(?1) WHERE true";

/// New entries wait for a leaf in the tree.
const LOG_OUTBOX: &str = "
    -- sqlite: write.log_outbox
    INSERT INTO log_outbox (tenant_id, stream_id, seq, entry_hash)
    SELECT value->>0, value->>1, value->>2, unhex(value->>3) FROM json_each(?1) WHERE true";

const LOG_PAYLOADS: &str = "
    -- sqlite: write.log_payloads
    INSERT INTO log_payloads (tenant_id, stream_id, seq, at, conversation_id, context_id, command_id, correlation_id,
                              space_id, fact_uid, salt, payload)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9,
           unhex(value->>10), value->>11 FROM json_each(?1) WHERE true";

/// The statements in the order of execution; within one, `Values` keeps the order of the batch.
const ORDER: [&str; 18] = [
    STREAMS,
    CONVERSATIONS,
    CONTEXTS,
    ITEMS,
    CHANGED_ITEMS,
    ITEM_PROMPTS,
    COMMANDS,
    CHANGED_COMMANDS,
    ATTEMPTS,
    MESSAGES,
    PRINCIPALS,
    FORGET_ALIASES,
    ALIASES,
    FORGET_ROLES,
    ROLES,
    FRAMES,
    CLAIMS,
    LOG_ENTRIES,
];

/// Statements that must affect as many rows as they get: new rows must not exist, and changed rows must. What has to be
/// unique across streams is claimed this way and never overwritten.
const COUNTED: [&str; 8] = [ITEMS, CHANGED_ITEMS, ITEM_PROMPTS, COMMANDS, CHANGED_COMMANDS, ATTEMPTS, MESSAGES, FRAMES];

/// The rows of each statement, as a JSON array, and their number.
#[derive(Default)]
struct Values(BTreeMap<&'static str, (Rows, u64)>);

impl Values {
    fn add(&mut self, statement: &'static str, row: &impl Serialize) {
        let (rows, number) = self.0.entry(statement).or_default();
        rows.add(row);
        *number += 1;
    }
}

/// Writes a batch. If one statement fails, the transaction is dropped and nothing is written.
pub(super) async fn write(connection: &mut SqliteConnection, writes: &Writes) -> Result<(), StorageError> {
    let mut values = Values::default();
    for (tenant_id, key, head) in &writes.heads {
        let row = (
            tenant_id,
            key.kind(),
            key.key(),
            &head.stream_id,
            head.seq,
            &head.hash,
            head.at.map(crate::domain::time::Timestamp::as_micros),
        );
        values.add(STREAMS, &row);
    }
    for (tenant_id, row) in writes.new_rows.iter().chain(&writes.rewritten) {
        add_row(&mut values, tenant_id, row);
    }
    for (tenant_id, row) in &writes.rows {
        change_row(&mut values, tenant_id, row);
    }
    for (tenant_id, key, claim) in &writes.claims {
        values.add(CLAIMS, &(tenant_id, key, claim.expires_at.as_micros(), &claim.space_id, text(claim)));
    }
    for entry in &writes.entries {
        add_entry(&mut values, entry);
    }
    for statement in ORDER.into_iter().chain([LOG_OUTBOX, LOG_PAYLOADS]) {
        let Some((rows, number)) = values.0.remove(statement) else { continue };
        let query = sqlx::query(statement).bind(rows.into_array());
        let reached = query.execute(&mut *connection).await.map_err(unavailable)?.rows_affected();
        // A replacement name may be taken already; nothing else is written together with rewritten rows.
        if COUNTED.contains(&statement) && writes.rewritten.is_empty() && reached != number {
            return Err(StorageError::Conflict);
        }
    }
    Ok(())
}

fn text<T: serde::Serialize>(value: &T) -> String {
    // Serialization cannot fail; an empty body would be refused when it is read.
    serde_json::to_string(value).unwrap_or_default()
}

/// A changed row. Rows other than items and commands may also be new: the lock of their stream protects them.
fn change_row(values: &mut Values, tenant_id: &TenantId, row: &Row) {
    match row {
        Row::Item(item) => {
            values.add(CHANGED_ITEMS, &(tenant_id, &item.item_id, state_column(&item.state), text(item)));
        }
        Row::Command(command) => {
            let unknown_from = command.unknown_from().map(Timestamp::as_micros);
            let row = (tenant_id, &command.command_id, updated_at(command), text(command), unknown_from);
            values.add(CHANGED_COMMANDS, &row);
        }
        _ => add_row(values, tenant_id, row),
    }
}

/// When a command was last bound, taken over or reported.
fn updated_at(command: &CommandRecord) -> i64 {
    command.results.last().map_or(command.bound_at, |result| result.at).max(command.execution.since).as_micros()
}

fn add_row(values: &mut Values, tenant_id: &TenantId, row: &Row) {
    match row {
        Row::Conversation(id, conversation) => values.add(CONVERSATIONS, &(tenant_id, id, text(conversation))),
        Row::Context(context) => {
            let status = context.state.status();
            let row = (
                tenant_id,
                &context.context_id,
                &context.conversation_id,
                &context.actor_id,
                status,
                context.expires_at.as_micros(),
                context.updated_at.as_micros(),
                text(context),
                u8::from(status.is_open()),
            );
            values.add(CONTEXTS, &row);
        }
        Row::Item(item) => add_item(values, tenant_id, item),
        Row::Command(command) => {
            let row = (
                tenant_id,
                &command.command_id,
                &command.idempotency_key,
                &command.context_id,
                &command.conversation_id,
                updated_at(command),
                text(command),
                command.unknown_from().map(Timestamp::as_micros),
            );
            values.add(COMMANDS, &row);
        }
        Row::Attempt(attempt_id, command_id) => values.add(ATTEMPTS, &(tenant_id, attempt_id, command_id)),
        Row::Prompt(message_id, item_id) => values.add(ITEM_PROMPTS, &(tenant_id, message_id, item_id)),
        Row::Message(message) => {
            let keep_until = message.keep_until.as_micros();
            let (key, received_at) = (&message.message_key, message.received_at.as_micros());
            let row = (tenant_id, key, &message.conversation_id, keep_until, received_at, text(message));
            values.add(MESSAGES, &row);
        }
        // A tombstone is made from the stored message.
        Row::ErasedMessage(_) => {}
        Row::Principal(principal) => add_principal(values, tenant_id, principal),
        Row::Frame(stored) => {
            let frame = &stored.frame;
            let row = (
                tenant_id,
                &frame.context_frame_id,
                &frame.context_id,
                &frame.command_id,
                frame.created_at.as_micros(),
                text(stored),
            );
            values.add(FRAMES, &row);
        }
    }
}

fn add_item(values: &mut Values, tenant_id: &TenantId, item: &PendingItem) {
    let row = (
        tenant_id,
        &item.item_id,
        item.kind(),
        state_column(&item.state),
        &item.context_id,
        &item.conversation_id,
        &item.actor_id,
        item.identity_epoch,
        item.command().map(|command| &command.command_id),
        item.asked_at.as_micros(),
        item.expires_at.as_micros(),
        &item.nonce_digest,
        text(item),
    );
    values.add(ITEMS, &row);
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

fn add_principal(values: &mut Values, tenant_id: &TenantId, principal: &Principal) {
    let id = &principal.principal_id;
    let row = (tenant_id, id, &principal.person_id, principal.identity_epoch, text(principal));
    values.add(PRINCIPALS, &row);
    values.add(FORGET_ALIASES, &(tenant_id, id));
    values.add(FORGET_ROLES, &(tenant_id, id));
    for alias in &principal.aliases {
        values.add(ALIASES, &(tenant_id, alias.kind, &alias.value, id));
    }
    for role in &principal.roles {
        values.add(ROLES, &(tenant_id, role, id));
    }
}

fn add_entry(values: &mut Values, Appended { entry, about }: &Appended) {
    let header = &entry.header;
    let row = (
        &header.tenant_id,
        &header.stream_id,
        header.seq,
        header.v,
        &header.artifact_id,
        &header.kind,
        header.at.as_micros(),
        &header.policy_hash,
        &entry.payload_commitment,
        &entry.prev_hash,
        &entry.entry_hash,
    );
    values.add(LOG_ENTRIES, &row);
    values.add(LOG_OUTBOX, &(&header.tenant_id, &header.stream_id, header.seq, &entry.entry_hash));
    let Some(body) = &entry.body else { return };
    let filed = Filed::of(header, about);
    let row = (
        &header.tenant_id,
        &header.stream_id,
        header.seq,
        filed.at.as_micros(),
        filed.conversation_id,
        filed.context_id,
        filed.command_id,
        filed.correlation_id,
        filed.space_id,
        filed.fact_uid,
        &body.salt,
        &body.payload,
    );
    values.add(LOG_PAYLOADS, &row);
}
