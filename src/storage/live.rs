//! Reads of stored state for the comparison with a replay of the log.

use async_trait::async_trait;

use super::StorageError;
use super::live_row::{LiveRow, LiveTable};
use super::sql::{
    Column, Columns as _, Database, Row, Statement, Type, Value, count, first, head, impossible, stream_key, text,
};
use crate::domain::event::StreamKey;
use crate::domain::id::{ConversationId, SpaceId, StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::evidence::entry::StreamHead;

/// An entry that may have made a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maker {
    /// The index of the place that was asked for.
    pub place: usize,
    /// Its payload; none if it is erased.
    pub payload: Option<String>,
}

/// Reads for a replay, besides entries: stored rows, and the streams that they belong to.
#[async_trait]
pub trait LiveStore: Send + Sync {
    /// The streams of a tenant after `after` that have entries, by stream id.
    async fn streams(
        &self,
        tenant_id: &TenantId,
        after: Option<&StreamId>,
        limit: u32,
    ) -> Result<Vec<(StreamKey, StreamHead)>, StorageError>;
    /// The number of entries of a tenant's streams, by their heads.
    async fn entry_count(&self, tenant_id: &TenantId) -> Result<u64, StorageError>;
    /// Rows by their ids, in no particular order. For any table but `space_records`.
    async fn live_rows(
        &self,
        tenant_id: &TenantId,
        table: LiveTable,
        ids: &[String],
    ) -> Result<Vec<LiveRow>, StorageError>;
    /// Rows after `after`, by id; from the first if it is empty. For any table but `space_records`.
    async fn live_page(
        &self,
        tenant_id: &TenantId,
        table: LiveTable,
        after: &str,
        limit: u32,
    ) -> Result<Vec<LiveRow>, StorageError>;
    /// Rows of a fact space after a kind and a record id, in their order.
    async fn live_records(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        after: (&str, &str),
        limit: u32,
    ) -> Result<Vec<LiveRow>, StorageError>;
    /// Rows without a stream that has entries: conversations, principals and fact spaces that are not in the log, and
    /// names and roles without a principal. Each as a table and an id.
    async fn strays(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<(LiveTable, String)>, StorageError>;
    /// The entries of these types in the stream of each conversation at exactly this time.
    async fn makers(
        &self,
        tenant_id: &TenantId,
        places: &[(ConversationId, Timestamp)],
        kinds: &[&str],
    ) -> Result<Vec<Maker>, StorageError>;
}

const STREAMS: &str = "
    SELECT kind AS a, key AS b, stream_id AS c, seq, last_at, head_hash AS h FROM streams
    WHERE tenant_id = :tenant AND kind <> 'erased' AND stream_id > :after ORDER BY stream_id LIMIT :limit";

const ENTRY_COUNT: &str = "
    SELECT CAST(coalesce(sum(seq), 0) AS BIGINT) AS entries FROM streams
    WHERE tenant_id = :tenant AND kind <> 'erased'";

/// How a table is read: its key, and the pairs of its columns for a JSON object.
struct Reading {
    table: &'static str,
    key: &'static str,
    columns: &'static str,
    has_body: bool,
}

impl Reading {
    fn of(table: LiveTable) -> Option<Self> {
        let (key, columns) = match table {
            LiveTable::Conversations => ("conversation_id", "{|'last_item_id', t.last_item_id}"),
            LiveTable::Contexts => (
                "context_id",
                "'conversation_id', t.conversation_id, 'actor_id', t.actor_id, 'status', t.status,
                'expires_at', t.expires_at, 'updated_at', t.updated_at, 'swept_late',
                {json(CASE WHEN t.sweep_after > t.expires_at THEN 'true' ELSE 'false' END)|t.sweep_after > t.expires_at}",
            ),
            LiveTable::Items => (
                "item_id",
                "'kind', t.kind, 'state', t.state, 'context_id', t.context_id, 'conversation_id', t.conversation_id,
                'actor_id', t.actor_id, 'identity_epoch', t.identity_epoch, 'command_id', t.command_id,
                'asked_at', t.asked_at, 'expires_at', t.expires_at, 'nonce_digest', {hex t.nonce_digest}",
            ),
            LiveTable::ItemPrompts => ("message_id", "'item_id', t.item_id"),
            LiveTable::Commands => (
                "command_id",
                "'idempotency_key', t.idempotency_key, 'context_id', t.context_id,
                'conversation_id', t.conversation_id, 'updated_at', t.updated_at, 'unknown_from', t.unknown_from",
            ),
            LiveTable::CommandAttempts => ("attempt_id", "'command_id', t.command_id"),
            LiveTable::Messages => (
                "message_key",
                "'conversation_id', t.conversation_id, 'keep_until', t.keep_until, 'received_at', t.received_at",
            ),
            LiveTable::Principals => (
                "principal_id",
                "'person_id', t.person_id, 'identity_epoch', t.identity_epoch,
                'aliases', {json(|coalesce(}(
                    SELECT {json_group_array|json_agg}(a.kind || ':' || a.value) FROM principal_aliases AS a
                    WHERE a.tenant_id = t.tenant_id AND a.principal_id = t.principal_id){)|, '[]')},
                'roles', {json(|coalesce(}(
                    SELECT {json_group_array|json_agg}(r.role) FROM principal_roles AS r
                    WHERE r.tenant_id = t.tenant_id AND r.principal_id = t.principal_id){)|, '[]')}",
            ),
            LiveTable::Frames => (
                "context_frame_id",
                "'context_id', t.context_id, 'command_id', t.command_id, 'created_at', t.created_at",
            ),
            LiveTable::PrincipalAliases | LiveTable::PrincipalRoles | LiveTable::SpaceRecords => return None,
        };
        let has_body = !matches!(table, LiveTable::ItemPrompts | LiveTable::CommandAttempts);
        Some(Self { table: table.as_str(), key, columns, has_body })
    }

    /// The statement with this condition on the key `t.…`.
    fn statement(&self, tenant_id: &TenantId, condition: &str) -> Statement {
        let Self { table, key, columns, .. } = self;
        let id = if self.is_digest() { format!("{{hex t.{key}}}") } else { format!("t.{key}") };
        let body = if self.has_body { "t.body" } else { "CAST(NULL AS TEXT)" };
        let sql = format!(
            "SELECT {id} AS id, {{json_object|json_build_object}}({columns}){{|::text}} AS columns, {body} AS body
            FROM {table} AS t WHERE t.tenant_id = :tenant AND t.{key} {condition}"
        );
        Statement::new("live.rows", sql).bind("tenant", tenant_id.as_str())
    }

    /// Whether the key is a digest, which has its hexadecimal form outside of the database.
    fn is_digest(&self) -> bool {
        self.key == "message_key"
    }

    /// These ids as values of the key. What is no digest is the id of no row.
    fn keys(&self, ids: &[String]) -> Value {
        if self.is_digest() {
            Value::byte_strings(ids.iter().filter_map(|id| hex::decode(id).ok()))
        } else {
            Value::texts(ids.iter().map(String::as_str))
        }
    }

    fn key(&self, id: &str) -> Value {
        if self.is_digest() { hex::decode(id).unwrap_or_default().into() } else { id.into() }
    }
}

const RECORDS: &str = "
    SELECT kind || '/' || record_id AS id,
        {json_object|json_build_object}('at', at,
            'live', {json(CASE live WHEN 1 THEN 'true' ELSE 'false' END)|live}, 'label', label, 'key', key,
            'successor', successor, 'ended_at', ended_at){|::text} AS columns, body
        FROM space_records WHERE tenant_id = :tenant AND space_id = :space AND (kind, record_id) > (:kind, :record)
        ORDER BY kind, record_id LIMIT :limit";

const STRAYS: &str = "
    SELECT 'conversations' AS name, c.conversation_id AS id FROM conversations AS c WHERE c.tenant_id = :tenant
        AND NOT EXISTS (SELECT 1 FROM streams AS s WHERE s.tenant_id = c.tenant_id AND s.kind = 'conversation'
            AND s.key = c.conversation_id AND s.stream_id IS NOT NULL)
    UNION ALL
    SELECT 'principals', p.principal_id FROM principals AS p WHERE p.tenant_id = :tenant
        AND NOT EXISTS (SELECT 1 FROM streams AS s WHERE s.tenant_id = p.tenant_id AND s.kind = 'principal'
            AND s.key = p.principal_id AND s.stream_id IS NOT NULL)
    UNION ALL
    SELECT 'principal_aliases', a.principal_id FROM principal_aliases AS a WHERE a.tenant_id = :tenant
        AND NOT EXISTS (SELECT 1 FROM principals AS p WHERE p.tenant_id = a.tenant_id
            AND p.principal_id = a.principal_id)
    UNION ALL
    SELECT 'principal_roles', r.principal_id FROM principal_roles AS r WHERE r.tenant_id = :tenant
        AND NOT EXISTS (SELECT 1 FROM principals AS p WHERE p.tenant_id = r.tenant_id
            AND p.principal_id = r.principal_id)
    UNION ALL
    SELECT DISTINCT 'space_records', f.space_id FROM space_records AS f WHERE f.tenant_id = :tenant
        AND NOT EXISTS (SELECT 1 FROM streams AS s WHERE s.tenant_id = f.tenant_id AND s.kind = 'fact_space'
            AND s.key = f.space_id AND s.stream_id IS NOT NULL)
    LIMIT :limit";

const MAKERS: &str = "
    SELECT w.place, p.payload FROM :wanted AS w
        {join} streams AS s ON s.tenant_id = :tenant AND s.kind = 'conversation' AND s.key = w.key
        {join} log_entries AS e ON e.tenant_id = s.tenant_id AND e.at = w.at AND e.stream_id = s.stream_id
        LEFT JOIN log_payloads AS p ON p.tenant_id = e.tenant_id AND p.stream_id = e.stream_id AND p.seq = e.seq
        WHERE e.type IN (:kinds)";

/// A place that makers are wanted for: its index, the conversation and the time.
const WANTED: [Column; 3] = [("place", Type::Number), ("key", Type::Text), ("at", Type::Number)];

fn live(table: LiveTable, row: &Row) -> Result<LiveRow, StorageError> {
    let body: Option<&str> = row.get("body")?;
    Ok(LiveRow::read(table, text(row, "id")?, row.get("columns")?, body))
}

#[async_trait]
impl<D: Database> LiveStore for D {
    async fn streams(
        &self,
        tenant_id: &TenantId,
        after: Option<&StreamId>,
        limit: u32,
    ) -> Result<Vec<(StreamKey, StreamHead)>, StorageError> {
        let statement = Statement::new("live.streams", STREAMS)
            .bind("tenant", tenant_id.as_str())
            .bind("after", after.map_or("", StreamId::as_str))
            .bind("limit", limit);
        let rows = self.rows(Some(tenant_id), statement).await?;
        rows.iter().map(|row| Ok((stream_key(row)?, head(row)?))).collect()
    }

    async fn entry_count(&self, tenant_id: &TenantId) -> Result<u64, StorageError> {
        let statement = Statement::new("live.entry_count", ENTRY_COUNT).bind("tenant", tenant_id.as_str());
        first(self, Some(tenant_id), statement).await?.map_or(Ok(0), |row| count(&row, "entries"))
    }

    async fn live_rows(
        &self,
        tenant_id: &TenantId,
        table: LiveTable,
        ids: &[String],
    ) -> Result<Vec<LiveRow>, StorageError> {
        let Some(reading) = Reading::of(table).filter(|_| !ids.is_empty()) else { return Ok(Vec::new()) };
        let statement = reading.statement(tenant_id, "IN (:ids)").bind("ids", reading.keys(ids));
        self.rows(Some(tenant_id), statement).await?.iter().map(|row| live(table, row)).collect()
    }

    async fn live_page(
        &self,
        tenant_id: &TenantId,
        table: LiveTable,
        after: &str,
        limit: u32,
    ) -> Result<Vec<LiveRow>, StorageError> {
        let Some(reading) = Reading::of(table) else { return Ok(Vec::new()) };
        let condition = format!("> :after ORDER BY t.{} LIMIT :limit", reading.key);
        let statement = reading.statement(tenant_id, &condition).bind("after", reading.key(after));
        self.rows(Some(tenant_id), statement.bind("limit", limit)).await?.iter().map(|row| live(table, row)).collect()
    }

    async fn live_records(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        (kind, record): (&str, &str),
        limit: u32,
    ) -> Result<Vec<LiveRow>, StorageError> {
        let statement = Statement::new("live.records", RECORDS)
            .bind("tenant", tenant_id.as_str())
            .bind("space", space_id.as_str())
            .bind("kind", kind)
            .bind("record", record)
            .bind("limit", limit);
        let rows = self.rows(Some(tenant_id), statement).await?;
        rows.iter().map(|row| live(LiveTable::SpaceRecords, row)).collect()
    }

    async fn strays(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<(LiveTable, String)>, StorageError> {
        let statement = Statement::new("live.strays", STRAYS).bind("tenant", tenant_id.as_str()).bind("limit", limit);
        let stray = |row: &Row| {
            let table = LiveTable::parse(row.get("name")?);
            Ok((table.ok_or_else(|| impossible("unknown", &"a table of another name"))?, text(row, "id")?))
        };
        self.rows(Some(tenant_id), statement).await?.iter().map(stray).collect()
    }

    async fn makers(
        &self,
        tenant_id: &TenantId,
        places: &[(ConversationId, Timestamp)],
        kinds: &[&str],
    ) -> Result<Vec<Maker>, StorageError> {
        let wanted = (0_u64..).zip(places).map(|(place, (id, at))| [place.into(), id.as_str().into(), (*at).into()]);
        let statement = Statement::new("live.makers", MAKERS)
            .bind("tenant", tenant_id.as_str())
            .bind("wanted", Value::rows(&WANTED, wanted))
            .bind("kinds", Value::texts(kinds.iter().copied()));
        let maker = |row: &Row| {
            let place = usize::try_from(count(row, "place")?).map_err(|error| impossible("log_entries", &error))?;
            Ok(Maker { place, payload: row.get("payload")? })
        };
        self.rows(Some(tenant_id), statement).await?.iter().map(maker).collect()
    }
}
