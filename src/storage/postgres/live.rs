//! Stored rows, for a replay of the log.

use async_trait::async_trait;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::PostgresStore;
use super::rows::{count, failed, head, impossible, stream_key, text};
use crate::domain::event::StreamKey;
use crate::domain::id::{ConversationId, SpaceId, StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::evidence::entry::StreamHead;
use crate::storage::{LiveRow, LiveStore, LiveTable, Maker, StorageError};

/// The row of a stream without entries has no id and is left out.
const STREAMS: &str = "-- postgres: live.streams
    SELECT kind AS a, key AS b, stream_id AS c, seq, last_at, head_hash AS h FROM streams
        WHERE tenant_id = $1 AND kind <> 'erased' AND stream_id > $2 ORDER BY stream_id LIMIT $3";

const ENTRY_COUNT: &str = "-- postgres: live.entry_count
    SELECT coalesce(sum(seq), 0)::int8 AS entries FROM streams WHERE tenant_id = $1 AND kind <> 'erased'";

/// The two ways to read a table: by ids, or page by page in the order of its key.
struct Reading {
    by_id: &'static str,
    page: &'static str,
}

macro_rules! reading {
    ($table:literal, $key:literal, $id:literal, $wanted:literal, $after:literal, $columns:literal, $body:literal) => {
        Reading {
            by_id: concat!(
                "-- postgres: live.",
                $table,
                "\nSELECT ",
                $id,
                " AS id, json_build_object(",
                $columns,
                ")::text AS columns, ",
                $body,
                " AS body FROM unnest($2::text[]) AS w (id) JOIN ",
                $table,
                " AS t ON t.tenant_id = $1 AND t.",
                $key,
                " = ",
                $wanted
            ),
            page: concat!(
                "-- postgres: live.",
                $table,
                "_page\nSELECT ",
                $id,
                " AS id, json_build_object(",
                $columns,
                ")::text AS columns, ",
                $body,
                " AS body FROM ",
                $table,
                " AS t WHERE t.tenant_id = $1 AND t.",
                $key,
                " > ",
                $after,
                " ORDER BY t.",
                $key,
                " LIMIT $3"
            ),
        }
    };
    ($table:literal, $key:literal, $columns:literal) => {
        reading!($table, $key, $key, "w.id", "$2::text", $columns, "t.body")
    };
}

fn reading(table: LiveTable) -> Option<Reading> {
    Some(match table {
        LiveTable::Conversations => reading!("conversations", "conversation_id", "'last_item_id', t.last_item_id"),
        LiveTable::Contexts => reading!(
            "contexts",
            "context_id",
            "'conversation_id', t.conversation_id, 'actor_id', t.actor_id, 'status', t.status,
                'expires_at', t.expires_at, 'updated_at', t.updated_at, 'swept_late', t.sweep_after > t.expires_at"
        ),
        LiveTable::Items => reading!(
            "items",
            "item_id",
            "'kind', t.kind, 'state', t.state, 'context_id', t.context_id, 'conversation_id', t.conversation_id,
                'actor_id', t.actor_id, 'identity_epoch', t.identity_epoch, 'command_id', t.command_id,
                'asked_at', t.asked_at, 'expires_at', t.expires_at, 'nonce_digest', encode(t.nonce_digest, 'hex')"
        ),
        LiveTable::ItemPrompts => {
            reading!(
                "item_prompts",
                "message_id",
                "message_id",
                "w.id",
                "$2::text",
                "'item_id', t.item_id",
                "NULL::text"
            )
        }
        LiveTable::Commands => reading!(
            "commands",
            "command_id",
            "'idempotency_key', t.idempotency_key, 'context_id', t.context_id, 'conversation_id', t.conversation_id,
                'updated_at', t.updated_at, 'unknown_from', t.unknown_from"
        ),
        LiveTable::CommandAttempts => {
            reading!(
                "command_attempts",
                "attempt_id",
                "attempt_id",
                "w.id",
                "$2::text",
                "'command_id', t.command_id",
                "NULL::text"
            )
        }
        LiveTable::Messages => reading!(
            "messages",
            "message_key",
            "encode(t.message_key, 'hex')",
            "decode(w.id, 'hex')",
            "decode($2::text, 'hex')",
            "'conversation_id', t.conversation_id, 'keep_until', t.keep_until, 'received_at', t.received_at",
            "t.body"
        ),
        LiveTable::Principals => reading!(
            "principals",
            "principal_id",
            "'person_id', t.person_id, 'identity_epoch', t.identity_epoch,
                'aliases', (SELECT coalesce(json_agg(a.kind || ':' || a.value), '[]') FROM principal_aliases AS a
                    WHERE a.tenant_id = t.tenant_id AND a.principal_id = t.principal_id),
                'roles', (SELECT coalesce(json_agg(r.role), '[]') FROM principal_roles AS r
                    WHERE r.tenant_id = t.tenant_id AND r.principal_id = t.principal_id)"
        ),
        LiveTable::Frames => reading!(
            "frames",
            "context_frame_id",
            "'context_id', t.context_id, 'command_id', t.command_id, 'created_at', t.created_at"
        ),
        LiveTable::PrincipalAliases | LiveTable::PrincipalRoles | LiveTable::SpaceRecords => return None,
    })
}

const RECORDS: &str = "-- postgres: live.records
    SELECT kind || '/' || record_id AS id,
        json_build_object('at', at, 'live', live, 'label', label, 'key', key, 'successor', successor,
            'ended_at', ended_at)::text AS columns, body
        FROM space_records WHERE tenant_id = $1 AND space_id = $2 AND (kind, record_id) > ($3::text, $4::text)
        ORDER BY kind, record_id LIMIT $5";

const STRAYS: &str = "-- postgres: live.strays
    SELECT 'conversations' AS name, c.conversation_id AS id FROM conversations AS c WHERE c.tenant_id = $1
        AND NOT EXISTS (SELECT 1 FROM streams AS s WHERE s.tenant_id = c.tenant_id AND s.kind = 'conversation'
            AND s.key = c.conversation_id AND s.stream_id IS NOT NULL)
    UNION ALL
    SELECT 'principals', p.principal_id FROM principals AS p WHERE p.tenant_id = $1
        AND NOT EXISTS (SELECT 1 FROM streams AS s WHERE s.tenant_id = p.tenant_id AND s.kind = 'principal'
            AND s.key = p.principal_id AND s.stream_id IS NOT NULL)
    UNION ALL
    SELECT 'principal_aliases', a.principal_id FROM principal_aliases AS a WHERE a.tenant_id = $1
        AND NOT EXISTS (SELECT 1 FROM principals AS p WHERE p.tenant_id = a.tenant_id
            AND p.principal_id = a.principal_id)
    UNION ALL
    SELECT 'principal_roles', r.principal_id FROM principal_roles AS r WHERE r.tenant_id = $1
        AND NOT EXISTS (SELECT 1 FROM principals AS p WHERE p.tenant_id = r.tenant_id
            AND p.principal_id = r.principal_id)
    UNION ALL
    SELECT DISTINCT 'space_records', f.space_id FROM space_records AS f WHERE f.tenant_id = $1
        AND NOT EXISTS (SELECT 1 FROM streams AS s WHERE s.tenant_id = f.tenant_id AND s.kind = 'fact_space'
            AND s.key = f.space_id AND s.stream_id IS NOT NULL)
    LIMIT $2";

const MAKERS: &str = "-- postgres: live.makers
    SELECT w.place - 1 AS place, p.payload
        FROM unnest($2::text[], $3::int8[]) WITH ORDINALITY AS w (key, at, place)
        JOIN streams AS s ON s.tenant_id = $1 AND s.kind = 'conversation' AND s.key = w.key
        JOIN log_entries AS e ON e.tenant_id = s.tenant_id AND e.at = w.at AND e.stream_id = s.stream_id
        LEFT JOIN log_payloads AS p ON p.tenant_id = e.tenant_id AND p.stream_id = e.stream_id AND p.seq = e.seq
        WHERE e.type = ANY ($4::text[])";

fn live(table: LiveTable, row: &PgRow) -> Result<LiveRow, StorageError> {
    let body: Option<String> = row.try_get("body").map_err(failed)?;
    Ok(LiveRow::read(table, text(row, "id")?, &text(row, "columns")?, body.as_deref()))
}

#[async_trait]
impl LiveStore for PostgresStore {
    async fn streams(
        &self,
        tenant_id: &TenantId,
        after: Option<&StreamId>,
        limit: u32,
    ) -> Result<Vec<(StreamKey, StreamHead)>, StorageError> {
        let tenant = tenant_id.as_str();
        let query = sqlx::query(STREAMS).bind(tenant).bind(after.map_or("", |id| id.as_str()));
        let rows = self.rest.rows(tenant, query.bind(i64::from(limit))).await?;
        rows.iter().map(|row| Ok((stream_key(row)?, head(row)?))).collect()
    }

    async fn entry_count(&self, tenant_id: &TenantId) -> Result<u64, StorageError> {
        let tenant = tenant_id.as_str();
        let rows = self.rest.rows(tenant, sqlx::query(ENTRY_COUNT).bind(tenant)).await?;
        rows.first().map_or(Ok(0), |row| count(row, "entries"))
    }

    async fn live_rows(
        &self,
        tenant_id: &TenantId,
        table: LiveTable,
        ids: &[String],
    ) -> Result<Vec<LiveRow>, StorageError> {
        let Some(reading) = reading(table).filter(|_| !ids.is_empty()) else { return Ok(Vec::new()) };
        let tenant = tenant_id.as_str();
        let rows = self.rest.rows(tenant, sqlx::query(reading.by_id).bind(tenant).bind(ids.to_vec())).await?;
        rows.iter().map(|row| live(table, row)).collect()
    }

    async fn live_page(
        &self,
        tenant_id: &TenantId,
        table: LiveTable,
        after: &str,
        limit: u32,
    ) -> Result<Vec<LiveRow>, StorageError> {
        let Some(reading) = reading(table) else { return Ok(Vec::new()) };
        let tenant = tenant_id.as_str();
        let query = sqlx::query(reading.page).bind(tenant).bind(after.to_owned()).bind(i64::from(limit));
        self.rest.rows(tenant, query).await?.iter().map(|row| live(table, row)).collect()
    }

    async fn live_records(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        after: (&str, &str),
        limit: u32,
    ) -> Result<Vec<LiveRow>, StorageError> {
        let tenant = tenant_id.as_str();
        let query = sqlx::query(RECORDS).bind(tenant).bind(space_id.as_str());
        let query = query.bind(after.0.to_owned()).bind(after.1.to_owned()).bind(i64::from(limit));
        self.rest.rows(tenant, query).await?.iter().map(|row| live(LiveTable::SpaceRecords, row)).collect()
    }

    async fn strays(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<(LiveTable, String)>, StorageError> {
        let tenant = tenant_id.as_str();
        let rows = self.rest.rows(tenant, sqlx::query(STRAYS).bind(tenant).bind(i64::from(limit))).await?;
        let stray = |row: &PgRow| {
            let table = LiveTable::parse(&text(row, "name")?);
            Ok((table.ok_or_else(|| impossible("unknown", &"a table of another name"))?, text(row, "id")?))
        };
        rows.iter().map(stray).collect()
    }

    async fn makers(
        &self,
        tenant_id: &TenantId,
        places: &[(ConversationId, Timestamp)],
        kinds: &[&str],
    ) -> Result<Vec<Maker>, StorageError> {
        let tenant = tenant_id.as_str();
        let (keys, times): (Vec<String>, Vec<i64>) =
            places.iter().map(|(id, at)| (id.as_str().to_owned(), at.as_micros())).unzip();
        let kinds: Vec<String> = kinds.iter().map(ToString::to_string).collect();
        let query = sqlx::query(MAKERS).bind(tenant).bind(keys).bind(times).bind(kinds);
        let rows = self.rest.rows(tenant, query).await?;
        let maker = |row: &PgRow| {
            let place = usize::try_from(count(row, "place")?).map_err(|error| impossible("log_entries", &error))?;
            Ok(Maker { place, payload: row.try_get("payload").map_err(failed)? })
        };
        rows.iter().map(maker).collect()
    }
}
