//! Erases rows and payloads. Their bytes stay in the heap until the owner's maintenance, see docs/PRIVACY.md.

use async_trait::async_trait;
use sqlx::postgres::PgRow;

use super::PostgresStore;
use super::columns::{Rows as _, columns};
use super::session::{Query, Session};
use crate::domain::event::StreamKey;
use crate::domain::id::{CommandId, StreamId, TenantId};
use crate::evidence::entry::StreamHead;
use crate::storage::disposal::spent_names;
use crate::storage::sql::jsonb;
use crate::storage::sql::{head, stream_key, text};
use crate::storage::{Counts, Disposal, DisposalStore, HoldSet, StorageError, Tenant};

const PAYLOADS: &str = "-- postgres: disposal.payloads
    DELETE FROM log_payloads AS p USING unnest($2::text[], $3::int8[], $4::int8[]) AS w (stream_id, first, last)
        WHERE p.tenant_id = $1 AND p.stream_id = w.stream_id AND p.seq BETWEEN w.first AND w.last";

/// DELETEs for tables whose rows are addressed by one id. The first element is the name under which the deletion is
/// counted.
const NAMED: [(&str, &str); 8] = [
    (
        "prompts",
        concat!(
            "-- postgres: disposal.prompts
        DELETE FROM item_prompts AS p USING unnest($2::text[]) AS w (id), items AS i,
            jsonb_array_elements(",
            jsonb!("i.body"),
            " -> 'prompts') AS n (prompt)
            WHERE i.tenant_id = $1 AND i.item_id = w.id AND p.tenant_id = $1
            AND p.message_id = n.prompt ->> 'message_id' AND p.item_id = i.item_id"
        ),
    ),
    (
        "attempts",
        concat!(
            "-- postgres: disposal.attempts
        DELETE FROM command_attempts AS a USING unnest($2::text[]) AS w (id), commands AS c
            WHERE c.tenant_id = $1 AND c.command_id = w.id AND a.tenant_id = $1
            AND a.attempt_id = ",
            jsonb!("c.body"),
            " ->> 'attempt_id' AND a.command_id = c.command_id"
        ),
    ),
    (
        "contexts",
        "-- postgres: disposal.contexts
        DELETE FROM contexts WHERE tenant_id = $1 AND context_id = ANY ($2::text[])",
    ),
    (
        "items",
        "-- postgres: disposal.items
        DELETE FROM items WHERE tenant_id = $1 AND item_id = ANY ($2::text[])",
    ),
    (
        "frames",
        "-- postgres: disposal.frames
        DELETE FROM frames WHERE tenant_id = $1 AND context_frame_id = ANY ($2::text[])",
    ),
    (
        "conversations",
        "-- postgres: disposal.conversations
        DELETE FROM conversations WHERE tenant_id = $1 AND conversation_id = ANY ($2::text[])",
    ),
    (
        "streams",
        "-- postgres: disposal.streams
        UPDATE streams SET kind = 'erased', key = stream_id
            WHERE tenant_id = $1 AND stream_id = ANY ($2::text[]) AND kind NOT IN ('erased', 'disposal')",
    ),
    (
        "principals",
        "-- postgres: disposal.principals
        DELETE FROM principals WHERE tenant_id = $1 AND principal_id = ANY ($2::text[])",
    ),
];

/// Deletes commands and returns their names, whose digests stay.
const COMMANDS: &str = "-- postgres: disposal.commands
    DELETE FROM commands WHERE tenant_id = $1 AND command_id = ANY ($2::text[]) RETURNING command_id, idempotency_key";
const SPENT_NAMES: &str = "-- postgres: disposal.spent_names
    INSERT INTO spent_names (tenant_id, name) SELECT $1, n.name FROM unnest($2::bytea[]) AS n (name)
        ON CONFLICT DO NOTHING";

/// DELETEs for rows of principals, with the names under which they are counted.
const OF_PRINCIPALS: [(&str, &str); 2] = [
    (
        "aliases",
        "-- postgres: disposal.aliases
        DELETE FROM principal_aliases WHERE tenant_id = $1 AND principal_id = ANY ($2::text[])",
    ),
    (
        "roles",
        "-- postgres: disposal.roles
        DELETE FROM principal_roles WHERE tenant_id = $1 AND principal_id = ANY ($2::text[])",
    ),
];

const MESSAGES: &str = "-- postgres: disposal.messages
    DELETE FROM messages WHERE tenant_id = $1 AND message_key = ANY ($2::bytea[])";

/// Turns an erased message into a tombstone: its key, the fact that it was erased, and an end instead of a time.
const TOMBSTONES: &str = "-- postgres: disposal.tombstones
    UPDATE messages AS m
        SET conversation_id = '', keep_until = w.keep_until, received_at = 0,
            body = json_build_object('erased', encode(w.key, 'hex'))::text
        FROM unnest($2::bytea[], $3::int8[]) AS w (key, keep_until) WHERE m.tenant_id = $1 AND m.message_key = w.key";

const CLAIMS: &str = "-- postgres: disposal.claims
    DELETE FROM claims WHERE tenant_id = $1 AND claim_key = ANY ($2::bytea[])";

const SPACE_RECORDS: &str = "-- postgres: disposal.space_records
    DELETE FROM space_records AS r USING unnest($2::text[], $3::text[], $4::text[]) AS w (space_id, kind, record_id)
        WHERE r.tenant_id = $1 AND r.space_id = w.space_id AND r.kind = w.kind AND r.record_id = w.record_id";

const HOLDS: &str = "-- postgres: disposal.held
    SELECT kind, subject FROM legal_holds WHERE tenant_id = $1
    UNION
    SELECT 'conversation', c.conversation_id FROM legal_holds AS h
        JOIN contexts AS c ON c.tenant_id = h.tenant_id AND c.actor_id = h.subject
        WHERE h.tenant_id = $1 AND h.kind = 'principal'";

columns!(Names { tenant_id: &'a str, kind: &'a str, key: &'a str });

/// Erases, table by table.
pub(super) async fn dispose(session: &mut Session, of: &Tenant, disposal: &Disposal) -> Result<Counts, StorageError> {
    let mut erasing = Erasing { session, counts: Counts::new() };
    let tenant = of.tenant_id.as_str();
    let place = |seq: u64| i64::try_from(seq).unwrap_or(i64::MAX);
    let streams: Vec<&str> = disposal.payloads.iter().map(|range| range.stream_id.as_str()).collect();
    let first: Vec<i64> = disposal.payloads.iter().map(|range| place(range.first)).collect();
    let last: Vec<i64> = disposal.payloads.iter().map(|range| place(range.last)).collect();
    let payloads = sqlx::query(PAYLOADS).bind(tenant).bind(streams).bind(first).bind(last);
    erasing.run("payloads", disposal.payloads.is_empty(), payloads).await?;
    for (kind, names) in disposal.named() {
        let empty = names.is_empty();
        for sql in NAMED.iter().filter(|(word, _)| *word == kind).map(|(_, sql)| *sql) {
            erasing.run(kind, empty, sqlx::query(sql).bind(tenant).bind(names.clone())).await?;
        }
    }
    erasing.commands(of, &disposal.commands).await?;
    let principals: Vec<&str> = disposal.principals.iter().map(crate::domain::id::PrincipalId::as_str).collect();
    for (kind, sql) in OF_PRINCIPALS {
        let query = sqlx::query(sql).bind(tenant).bind(principals.clone());
        erasing.run(kind, principals.is_empty(), query).await?;
    }
    let keys = |keys: &[crate::domain::canonical::Digest]| keys.iter().map(|key| key.as_bytes().to_vec()).collect();
    let (messages, claims): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (keys(&disposal.messages), keys(&disposal.claims));
    erasing.run("messages", messages.is_empty(), sqlx::query(MESSAGES).bind(tenant).bind(messages)).await?;
    let (kept, until): (Vec<Vec<u8>>, Vec<i64>) =
        disposal.tombstones.iter().map(|(key, until)| (key.as_bytes().to_vec(), until.as_micros())).unzip();
    let empty = kept.is_empty();
    erasing.run("tombstones", empty, sqlx::query(TOMBSTONES).bind(tenant).bind(kept).bind(until)).await?;
    erasing.run("claims", claims.is_empty(), sqlx::query(CLAIMS).bind(tenant).bind(claims)).await?;
    erasing.spaces(tenant, disposal).await?;
    Ok(erasing.counts)
}

struct Erasing<'a> {
    session: &'a mut Session,
    counts: Counts,
}

impl Erasing<'_> {
    async fn run(&mut self, kind: &'static str, empty: bool, query: Query<'_>) -> Result<(), StorageError> {
        if !empty {
            *self.counts.entry(kind).or_default() += self.session.count(query).await?;
        }
        Ok(())
    }

    /// Deletes commands and records their names as spent.
    async fn commands(&mut self, tenant: &Tenant, ids: &[CommandId]) -> Result<(), StorageError> {
        if ids.is_empty() {
            return Ok(());
        }
        let (tenant_id, ids) = (tenant.tenant_id.as_str(), ids.iter().map(CommandId::as_str).collect::<Vec<_>>());
        let gone = self.session.rows(sqlx::query(COMMANDS).bind(tenant_id).bind(ids)).await?;
        *self.counts.entry("commands").or_default() += gone.len() as u64;
        let mut spent: Vec<Vec<u8>> = Vec::new();
        for row in &gone {
            let names = spent_names(&tenant.key, text(row, "command_id")?, text(row, "idempotency_key")?)?;
            spent.extend(names.map(|name| name.as_bytes().to_vec()));
        }
        self.session.count(sqlx::query(SPENT_NAMES).bind(tenant_id).bind(spent)).await.map(drop)
    }

    async fn spaces(&mut self, tenant: &str, disposal: &Disposal) -> Result<(), StorageError> {
        let records = &disposal.space_records;
        let of: Vec<&str> = records.iter().map(|(space, ..)| space.as_str()).collect();
        let kinds: Vec<&str> = records.iter().map(|(_, kind, _)| kind.as_str()).collect();
        let ids: Vec<&str> = records.iter().map(|(.., id)| id.as_str()).collect();
        let query = sqlx::query(SPACE_RECORDS).bind(tenant).bind(of).bind(kinds).bind(ids);
        self.run("space_records", records.is_empty(), query).await
    }
}

/// Deletes rows of heads that were created only to be locked.
pub(super) async fn forget_names<'a>(
    session: &mut Session,
    streams: impl Iterator<Item = (&'a TenantId, &'a StreamKey)>,
) -> Result<(), StorageError> {
    let sql = "-- postgres: disposal.forget_names
        DELETE FROM streams AS s USING unnest($1::text[], $2::text[], $3::text[]) AS w (tenant_id, kind, key)
        WHERE s.tenant_id = w.tenant_id AND s.kind = w.kind AND s.key = w.key AND s.stream_id IS NULL";
    let mut names = Names::default();
    // The disposal stream's name identifies nobody, and its row is about to be written.
    for (tenant_id, stream) in streams.filter(|(_, stream)| **stream != StreamKey::Disposal) {
        names.add((tenant_id.as_str(), stream.kind(), stream.key()));
    }
    if names.is_empty() {
        return Ok(());
    }
    session.count(names.bind(sqlx::query(sql))).await.map(drop)
}

/// The statement that reads the holds in force.
pub(super) fn holds(tenant_id: &TenantId) -> Query<'_> {
    sqlx::query(HOLDS).bind(tenant_id.as_str())
}

pub(super) fn read_holds(rows: &[PgRow]) -> Result<HoldSet, StorageError> {
    let mut held = HoldSet::default();
    for row in rows {
        let into = if text(row, "kind")? == "principal" { &mut held.principals } else { &mut held.conversations };
        into.insert(text(row, "subject")?);
    }
    Ok(held)
}

/// The statement for the head of a stream that has this name. What is only locked has no id.
pub(super) fn stream_head<'a>(tenant_id: &'a TenantId, stream: &'a StreamKey) -> Query<'a> {
    let sql = "-- postgres: disposal.stream_head
        SELECT stream_id AS c, seq, last_at, head_hash AS h FROM streams
        WHERE tenant_id = $1 AND kind = $2 AND key = $3 AND stream_id IS NOT NULL";
    sqlx::query(sql).bind(tenant_id.as_str()).bind(stream.kind()).bind(stream.key())
}

#[async_trait]
impl DisposalStore for PostgresStore {
    async fn disposal_head(&self, tenant_id: &TenantId) -> Result<Option<StreamHead>, StorageError> {
        self.stream_head(tenant_id, &StreamKey::Disposal).await
    }

    async fn stream_head(&self, tenant_id: &TenantId, stream: &StreamKey) -> Result<Option<StreamHead>, StorageError> {
        let rows = self.rest.rows(tenant_id.as_str(), stream_head(tenant_id, stream)).await?;
        rows.first().map(head).transpose()
    }

    async fn held(&self, tenant_id: &TenantId) -> Result<HoldSet, StorageError> {
        read_holds(&self.rest.rows(tenant_id.as_str(), holds(tenant_id)).await?)
    }

    async fn named_streams(
        &self,
        tenant_id: &TenantId,
        ids: &[StreamId],
    ) -> Result<Vec<(StreamKey, StreamHead)>, StorageError> {
        let sql = "-- postgres: disposal.named_streams
            SELECT kind AS a, key AS b, stream_id AS c, seq, last_at, head_hash AS h FROM streams
            WHERE tenant_id = $1 AND stream_id = ANY ($2::text[]) AND kind <> 'erased'";
        let ids: Vec<&str> = ids.iter().map(StreamId::as_str).collect();
        let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(ids);
        let rows = self.rest.rows(tenant_id.as_str(), query).await?;
        rows.iter().map(|row| Ok((stream_key(row)?, head(row)?))).collect()
    }

    async fn scour(&self) -> Result<(), StorageError> {
        Ok(())
    }
}
