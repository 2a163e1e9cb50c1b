//! Erases rows and payloads. `secure_delete` overwrites their bytes.

use async_trait::async_trait;
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{SqliteConnection, SqliteExecutor};

use super::SqliteStore;
use super::rows::{Rows, unavailable};
use crate::domain::canonical::Digest;
use crate::domain::event::StreamKey;
use crate::domain::id::{CommandId, StreamId, TenantId};
use crate::evidence::entry::StreamHead;
use crate::storage::disposal::spent_names;
use crate::storage::sql::{head, stream_key, text};
use crate::storage::{Counts, Disposal, DisposalStore, HoldSet, StorageError, Tenant};

const PAYLOADS: &str = "-- sqlite: disposal.payloads
    DELETE FROM log_payloads WHERE rowid IN (SELECT p.rowid FROM json_each(?2) AS w
        CROSS JOIN log_payloads AS p ON p.tenant_id = ?1 AND p.stream_id = w.value->>0
        AND p.seq BETWEEN w.value->>1 AND w.value->>2)";

/// DELETEs for tables whose rows are addressed by one id. The first element is the name under which the deletion is
/// counted.
const NAMED: [(&str, &str); 8] = [
    (
        "prompts",
        "-- sqlite: disposal.prompts
        DELETE FROM item_prompts WHERE (tenant_id, message_id, item_id) IN (
            SELECT ?1, p.value->>'message_id', i.item_id FROM json_each(?2) AS w
                CROSS JOIN items AS i ON i.tenant_id = ?1 AND i.item_id = w.value
                CROSS JOIN json_each(i.body, '$.prompts') AS p)",
    ),
    (
        "attempts",
        "-- sqlite: disposal.attempts
        DELETE FROM command_attempts WHERE (tenant_id, attempt_id, command_id) IN (
            SELECT ?1, c.body->>'$.attempt_id', c.command_id FROM json_each(?2) AS w
                CROSS JOIN commands AS c ON c.tenant_id = ?1 AND c.command_id = w.value)",
    ),
    (
        "contexts",
        "-- sqlite: disposal.contexts
        DELETE FROM contexts WHERE tenant_id = ?1 AND context_id IN (SELECT value FROM json_each(?2))",
    ),
    (
        "items",
        "-- sqlite: disposal.items
        DELETE FROM items WHERE tenant_id = ?1 AND item_id IN (SELECT value FROM json_each(?2))",
    ),
    (
        "frames",
        "-- sqlite: disposal.frames
        DELETE FROM frames WHERE tenant_id = ?1 AND context_frame_id IN (SELECT value FROM json_each(?2))",
    ),
    (
        "conversations",
        "-- sqlite: disposal.conversations
        DELETE FROM conversations WHERE tenant_id = ?1 AND conversation_id IN (SELECT value FROM json_each(?2))",
    ),
    (
        "streams",
        "-- sqlite: disposal.streams
        UPDATE streams SET kind = 'erased', key = stream_id
            WHERE tenant_id = ?1 AND stream_id IN (SELECT value FROM json_each(?2)) AND kind NOT IN ('erased', 'disposal')",
    ),
    (
        "principals",
        "-- sqlite: disposal.principals
        DELETE FROM principals WHERE tenant_id = ?1 AND principal_id IN (SELECT value FROM json_each(?2))",
    ),
];

/// Deletes commands and returns their names, whose digests stay.
const COMMANDS: &str = "-- sqlite: disposal.commands
    DELETE FROM commands WHERE tenant_id = ?1 AND command_id IN (SELECT value FROM json_each(?2))
        RETURNING command_id, idempotency_key";
const SPENT_NAMES: &str = "-- sqlite: disposal.spent_names
    INSERT INTO spent_names (tenant_id, name) SELECT ?1, unhex(value) FROM json_each(?2) WHERE true
        ON CONFLICT DO NOTHING";

/// DELETEs for rows of principals, with the names under which they are counted.
const OF_PRINCIPALS: [(&str, &str); 2] = [
    (
        "aliases",
        "-- sqlite: disposal.aliases
        DELETE FROM principal_aliases WHERE tenant_id = ?1 AND principal_id IN (SELECT value FROM json_each(?2))",
    ),
    (
        "roles",
        "-- sqlite: disposal.roles
        DELETE FROM principal_roles WHERE tenant_id = ?1 AND principal_id IN (SELECT value FROM json_each(?2))",
    ),
];

const MESSAGES: &str = "-- sqlite: disposal.messages
    DELETE FROM messages WHERE tenant_id = ?1 AND message_key IN (SELECT unhex(value) FROM json_each(?2))";

/// Turns an erased message into a tombstone: its key, the fact that it was erased, and an end instead of a time.
const TOMBSTONES: &str = "-- sqlite: disposal.tombstones
    UPDATE messages SET conversation_id = '', keep_until = w.keep_until, received_at = 0, body = json_object('erased', w.key)
        FROM (SELECT value->>0 AS key, value->>1 AS keep_until FROM json_each(?2)) AS w
        WHERE tenant_id = ?1 AND message_key = unhex(w.key)";

const CLAIMS: &str = "-- sqlite: disposal.claims
    DELETE FROM claims WHERE tenant_id = ?1 AND claim_key IN (SELECT unhex(value) FROM json_each(?2))";

const SPACE_RECORDS: &str = "-- sqlite: disposal.space_records
    DELETE FROM space_records WHERE (tenant_id, space_id, kind, record_id) IN
        (SELECT ?1, value->>0, value->>1, value->>2 FROM json_each(?2))";

const HOLDS: &str = "-- sqlite: disposal.held
    SELECT kind, subject FROM legal_holds WHERE tenant_id = ?1
    UNION
    SELECT 'conversation', c.conversation_id FROM legal_holds AS h
        CROSS JOIN contexts AS c ON c.tenant_id = h.tenant_id AND c.actor_id = h.subject
        WHERE h.tenant_id = ?1 AND h.kind = 'principal'";

/// Erases, table by table.
pub(super) async fn dispose(
    connection: &mut SqliteConnection,
    tenant: &Tenant,
    disposal: &Disposal,
) -> Result<Counts, StorageError> {
    let mut erasing = Erasing { connection, tenant_id: &tenant.tenant_id, counts: Counts::new() };
    let ranges = disposal.payloads.iter().map(|range| (&range.stream_id, range.first, range.last));
    erasing.run("payloads", PAYLOADS, ranges).await?;
    for (kind, names) in disposal.named() {
        for sql in NAMED.iter().filter(|(word, _)| *word == kind).map(|(_, sql)| *sql) {
            erasing.run(kind, sql, names.iter()).await?;
        }
    }
    erasing.commands(&tenant.key, &disposal.commands).await?;
    for (kind, sql) in OF_PRINCIPALS {
        erasing.run(kind, sql, disposal.principals.iter()).await?;
    }
    erasing.run("messages", MESSAGES, disposal.messages.iter()).await?;
    let tombstones = disposal.tombstones.iter().map(|(key, until)| (key, until.as_micros()));
    erasing.run("tombstones", TOMBSTONES, tombstones).await?;
    erasing.run("claims", CLAIMS, disposal.claims.iter()).await?;
    let records = disposal.space_records.iter().map(|(space, kind, id)| (space, kind.as_str(), id));
    erasing.run("space_records", SPACE_RECORDS, records).await?;
    Ok(erasing.counts)
}

struct Erasing<'a> {
    connection: &'a mut SqliteConnection,
    tenant_id: &'a TenantId,
    counts: Counts,
}

impl Erasing<'_> {
    async fn run<T: Serialize>(
        &mut self,
        kind: &'static str,
        sql: &'static str,
        rows: impl Iterator<Item = T>,
    ) -> Result<(), StorageError> {
        let mut array = Rows::default();
        rows.for_each(|row| array.add(&row));
        if array.is_empty() {
            return Ok(());
        }
        let query = sqlx::query(sql).bind(self.tenant_id.as_str()).bind(array.into_array());
        let done = query.execute(&mut *self.connection).await.map_err(unavailable)?;
        *self.counts.entry(kind).or_default() += done.rows_affected();
        Ok(())
    }

    /// Deletes commands and records their names as spent.
    async fn commands(&mut self, tenant_key: &Digest, ids: &[CommandId]) -> Result<(), StorageError> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut array = Rows::default();
        for id in ids {
            array.add(id);
        }
        let query = sqlx::query(COMMANDS).bind(self.tenant_id.as_str()).bind(array.into_array());
        let gone = query.fetch_all(&mut *self.connection).await.map_err(unavailable)?;
        *self.counts.entry("commands").or_default() += gone.len() as u64;
        let mut spent = Rows::default();
        for row in &gone {
            spent_names(tenant_key, text(row, "command_id")?, text(row, "idempotency_key")?)?
                .iter()
                .for_each(|name| spent.add(name));
        }
        let query = sqlx::query(SPENT_NAMES).bind(self.tenant_id.as_str()).bind(spent.into_array());
        query.execute(&mut *self.connection).await.map_err(unavailable).map(drop)
    }
}

pub(super) async fn held(executor: impl SqliteExecutor<'_>, tenant_id: &TenantId) -> Result<HoldSet, StorageError> {
    let rows = sqlx::query(HOLDS).bind(tenant_id.as_str()).fetch_all(executor).await.map_err(unavailable)?;
    let mut held = HoldSet::default();
    for row in &rows {
        let into = if text(row, "kind")? == "principal" { &mut held.principals } else { &mut held.conversations };
        into.insert(text(row, "subject")?);
    }
    Ok(held)
}

/// The head of a stream that has this name.
pub(super) async fn stream_head(
    executor: impl SqliteExecutor<'_>,
    tenant_id: &TenantId,
    stream: &StreamKey,
) -> Result<Option<StreamHead>, StorageError> {
    let sql = "-- sqlite: disposal.stream_head
        SELECT stream_id AS c, seq, last_at, head_hash AS h FROM streams WHERE tenant_id = ? AND kind = ? AND key = ?";
    let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(stream.kind()).bind(stream.key());
    let row = query.fetch_optional(executor).await.map_err(unavailable)?;
    row.as_ref().map(head).transpose()
}

#[async_trait]
impl DisposalStore for SqliteStore {
    async fn disposal_head(&self, tenant_id: &TenantId) -> Result<Option<StreamHead>, StorageError> {
        stream_head(&self.readers, tenant_id, &StreamKey::Disposal).await
    }

    async fn stream_head(&self, tenant_id: &TenantId, stream: &StreamKey) -> Result<Option<StreamHead>, StorageError> {
        stream_head(&self.readers, tenant_id, stream).await
    }

    async fn held(&self, tenant_id: &TenantId) -> Result<HoldSet, StorageError> {
        held(&self.readers, tenant_id).await
    }

    async fn named_streams(
        &self,
        tenant_id: &TenantId,
        ids: &[StreamId],
    ) -> Result<Vec<(StreamKey, StreamHead)>, StorageError> {
        let sql = "-- sqlite: disposal.named_streams
            SELECT s.kind AS a, s.key AS b, s.stream_id AS c, s.seq, s.last_at, s.head_hash AS h FROM json_each(?2) AS w
            CROSS JOIN streams AS s ON s.tenant_id = ?1 AND s.stream_id = w.value WHERE s.kind <> 'erased'";
        let mut array = Rows::default();
        for id in ids {
            array.add(id);
        }
        let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(array.into_array());
        let rows: Vec<SqliteRow> = query.fetch_all(&self.readers).await.map_err(unavailable)?;
        rows.iter().map(|row| Ok((stream_key(row)?, head(row)?))).collect()
    }

    async fn scour(&self) -> Result<(), StorageError> {
        // SQLite waits here for readers in a transaction, up to the writers' busy timeout.
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let (busy, ..): (i64, i64, i64) = sqlx::query_as(sql).fetch_one(&self.writer).await.map_err(unavailable)?;
        if busy != 0 {
            return Err(StorageError::Unavailable("the write-ahead log is in use and could not be cut off".to_owned()));
        }
        Ok(())
    }
}
