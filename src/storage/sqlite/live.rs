//! Stored rows, for a replay of the log.

use async_trait::async_trait;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::rows::{Rows, count, head, impossible, text, unavailable};
use crate::domain::event::StreamKey;
use crate::domain::id::{ConversationId, SpaceId, StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::evidence::entry::StreamHead;
use crate::storage::{LiveRow, LiveStore, LiveTable, Maker, StorageError};

const STREAMS: &str = "-- sqlite: live.streams
    SELECT kind AS a, key AS b, stream_id AS c, seq, last_at, head_hash AS h FROM streams
        WHERE tenant_id = ? AND kind <> 'erased' AND stream_id > ? ORDER BY stream_id LIMIT ?";

const ENTRY_COUNT: &str = "-- sqlite: live.entry_count
    SELECT coalesce(sum(seq), 0) AS entries FROM streams WHERE tenant_id = ? AND kind <> 'erased'";

/// The two ways to read a table: by ids, or page by page in the order of its key.
struct Reading {
    by_id: &'static str,
    page: &'static str,
}

macro_rules! reading {
    ($table:literal, $key:literal, $id:literal, $from:literal, $columns:literal, $body:literal) => {
        Reading {
            by_id: concat!(
                "-- sqlite: live.",
                $table,
                "\nSELECT ",
                $id,
                " AS id, ",
                $columns,
                " AS columns, ",
                $body,
                " AS body FROM json_each(?2) AS w CROSS JOIN ",
                $table,
                " AS t ON t.tenant_id = ?1 AND t.",
                $key,
                " = ",
                $from,
                "(w.value)"
            ),
            page: concat!(
                "-- sqlite: live.",
                $table,
                "_page\nSELECT ",
                $id,
                " AS id, ",
                $columns,
                " AS columns, ",
                $body,
                " AS body FROM ",
                $table,
                " AS t WHERE t.tenant_id = ?1 AND t.",
                $key,
                " > ",
                $from,
                "(?2)",
                " ORDER BY t.",
                $key,
                " LIMIT ?3"
            ),
        }
    };
    ($table:literal, $key:literal, $columns:literal) => {
        reading!($table, $key, $key, "", $columns, "t.body")
    };
}

fn reading(table: LiveTable) -> Option<Reading> {
    Some(match table {
        LiveTable::Conversations => reading!("conversations", "conversation_id", "json_object()"),
        LiveTable::Contexts => reading!(
            "contexts",
            "context_id",
            "json_object('conversation_id', t.conversation_id, 'actor_id', t.actor_id, 'status', t.status,
                'expires_at', t.expires_at, 'updated_at', t.updated_at,
                'swept_late', json(CASE WHEN t.sweep_after > t.expires_at THEN 'true' ELSE 'false' END))"
        ),
        LiveTable::Items => reading!(
            "items",
            "item_id",
            "json_object('kind', t.kind, 'state', t.state, 'context_id', t.context_id,
                'conversation_id', t.conversation_id, 'actor_id', t.actor_id, 'identity_epoch', t.identity_epoch,
                'command_id', t.command_id, 'asked_at', t.asked_at, 'expires_at', t.expires_at,
                'nonce_digest', lower(hex(t.nonce_digest)))"
        ),
        LiveTable::ItemPrompts => {
            reading!("item_prompts", "message_id", "message_id", "", "json_object('item_id', t.item_id)", "NULL")
        }
        LiveTable::Commands => reading!(
            "commands",
            "command_id",
            "json_object('idempotency_key', t.idempotency_key, 'context_id', t.context_id,
                'conversation_id', t.conversation_id, 'updated_at', t.updated_at, 'unknown_from', t.unknown_from)"
        ),
        LiveTable::CommandAttempts => reading!(
            "command_attempts",
            "attempt_id",
            "attempt_id",
            "",
            "json_object('command_id', t.command_id)",
            "NULL"
        ),
        LiveTable::Messages => reading!(
            "messages",
            "message_key",
            "lower(hex(t.message_key))",
            "unhex",
            "json_object('conversation_id', t.conversation_id, 'keep_until', t.keep_until,
                'received_at', t.received_at)",
            "t.body"
        ),
        LiveTable::Principals => reading!(
            "principals",
            "principal_id",
            "json_object('person_id', t.person_id, 'identity_epoch', t.identity_epoch,
                'aliases', json((SELECT json_group_array(a.kind || ':' || a.value) FROM principal_aliases AS a
                    WHERE a.tenant_id = t.tenant_id AND a.principal_id = t.principal_id)),
                'roles', json((SELECT json_group_array(r.role) FROM principal_roles AS r
                    WHERE r.tenant_id = t.tenant_id AND r.principal_id = t.principal_id)))"
        ),
        LiveTable::Frames => reading!(
            "frames",
            "context_frame_id",
            "json_object('context_id', t.context_id, 'command_id', t.command_id, 'created_at', t.created_at)"
        ),
        LiveTable::PrincipalAliases | LiveTable::PrincipalRoles | LiveTable::SpaceRecords => return None,
    })
}

const RECORDS: &str = "-- sqlite: live.records
    SELECT kind || '/' || record_id AS id,
        json_object('at', at, 'live', json(CASE live WHEN 1 THEN 'true' ELSE 'false' END), 'label', label, 'key', key,
            'successor', successor, 'ended_at', ended_at) AS columns, body
        FROM space_records WHERE tenant_id = ?1 AND space_id = ?2 AND (kind, record_id) > (?3, ?4)
        ORDER BY kind, record_id LIMIT ?5";

const STRAYS: &str = "-- sqlite: live.strays
    SELECT 'conversations' AS name, c.conversation_id AS id FROM conversations AS c WHERE c.tenant_id = ?1
        AND NOT EXISTS (SELECT 1 FROM streams AS s WHERE s.tenant_id = c.tenant_id AND s.kind = 'conversation'
            AND s.key = c.conversation_id)
    UNION ALL
    SELECT 'principals', p.principal_id FROM principals AS p WHERE p.tenant_id = ?1
        AND NOT EXISTS (SELECT 1 FROM streams AS s WHERE s.tenant_id = p.tenant_id AND s.kind = 'principal'
            AND s.key = p.principal_id)
    UNION ALL
    SELECT 'principal_aliases', a.principal_id FROM principal_aliases AS a WHERE a.tenant_id = ?1
        AND NOT EXISTS (SELECT 1 FROM principals AS p WHERE p.tenant_id = a.tenant_id
            AND p.principal_id = a.principal_id)
    UNION ALL
    SELECT 'principal_roles', r.principal_id FROM principal_roles AS r WHERE r.tenant_id = ?1
        AND NOT EXISTS (SELECT 1 FROM principals AS p WHERE p.tenant_id = r.tenant_id
            AND p.principal_id = r.principal_id)
    UNION ALL
    SELECT DISTINCT 'space_records', f.space_id FROM space_records AS f WHERE f.tenant_id = ?1
        AND NOT EXISTS (SELECT 1 FROM streams AS s WHERE s.tenant_id = f.tenant_id AND s.kind = 'fact_space'
            AND s.key = f.space_id)
    LIMIT ?2";

const MAKERS: &str = "-- sqlite: live.makers
    SELECT w.key AS place, p.payload FROM json_each(?2) AS w
        CROSS JOIN streams AS s ON s.tenant_id = ?1 AND s.kind = 'conversation' AND s.key = w.value->>0
        CROSS JOIN log_entries AS e ON e.tenant_id = s.tenant_id AND e.at = w.value->>1 AND e.stream_id = s.stream_id
        LEFT JOIN log_payloads AS p ON p.tenant_id = e.tenant_id AND p.stream_id = e.stream_id AND p.seq = e.seq
        WHERE e.type IN (SELECT value FROM json_each(?3))";

fn live(table: LiveTable, row: &SqliteRow) -> Result<LiveRow, StorageError> {
    let body: Option<String> = row.try_get("body").map_err(unavailable)?;
    Ok(LiveRow::read(table, text(row, "id")?, &text(row, "columns")?, body.as_deref()))
}

#[async_trait]
impl LiveStore for SqliteStore {
    async fn streams(
        &self,
        tenant_id: &TenantId,
        after: Option<&StreamId>,
        limit: u32,
    ) -> Result<Vec<(StreamKey, StreamHead)>, StorageError> {
        let query = sqlx::query(STREAMS).bind(tenant_id.as_str()).bind(after.map_or("", |id| id.as_str()));
        let rows = query.bind(i64::from(limit)).fetch_all(&self.readers).await.map_err(unavailable)?;
        rows.iter().map(head).collect()
    }

    async fn entry_count(&self, tenant_id: &TenantId) -> Result<u64, StorageError> {
        let query = sqlx::query(ENTRY_COUNT).bind(tenant_id.as_str());
        count(&query.fetch_one(&self.readers).await.map_err(unavailable)?, "entries")
    }

    async fn live_rows(
        &self,
        tenant_id: &TenantId,
        table: LiveTable,
        ids: &[String],
    ) -> Result<Vec<LiveRow>, StorageError> {
        let Some(reading) = reading(table).filter(|_| !ids.is_empty()) else { return Ok(Vec::new()) };
        let mut wanted = Rows::default();
        for id in ids {
            wanted.add(id);
        }
        let query = sqlx::query(reading.by_id).bind(tenant_id.as_str()).bind(wanted.into_array());
        let rows = query.fetch_all(&self.readers).await.map_err(unavailable)?;
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
        let query = sqlx::query(reading.page).bind(tenant_id.as_str()).bind(after).bind(i64::from(limit));
        let rows = query.fetch_all(&self.readers).await.map_err(unavailable)?;
        rows.iter().map(|row| live(table, row)).collect()
    }

    async fn live_records(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        after: (&str, &str),
        limit: u32,
    ) -> Result<Vec<LiveRow>, StorageError> {
        let query = sqlx::query(RECORDS).bind(tenant_id.as_str()).bind(space_id.as_str());
        let query = query.bind(after.0).bind(after.1).bind(i64::from(limit));
        let rows = query.fetch_all(&self.readers).await.map_err(unavailable)?;
        rows.iter().map(|row| live(LiveTable::SpaceRecords, row)).collect()
    }

    async fn strays(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<(LiveTable, String)>, StorageError> {
        let query = sqlx::query(STRAYS).bind(tenant_id.as_str()).bind(i64::from(limit));
        let rows = query.fetch_all(&self.readers).await.map_err(unavailable)?;
        let stray = |row: &SqliteRow| {
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
        let (mut wanted, mut types) = (Rows::default(), Rows::default());
        for (conversation_id, at) in places {
            wanted.add(&(conversation_id, at.as_micros()));
        }
        for kind in kinds {
            types.add(kind);
        }
        let query = sqlx::query(MAKERS).bind(tenant_id.as_str()).bind(wanted.into_array()).bind(types.into_array());
        let rows = query.fetch_all(&self.readers).await.map_err(unavailable)?;
        let maker = |row: &SqliteRow| {
            let place = usize::try_from(count(row, "place")?).map_err(|error| impossible("log_entries", &error))?;
            Ok(Maker { place, payload: row.try_get("payload").map_err(unavailable)? })
        };
        rows.iter().map(maker).collect()
    }
}
