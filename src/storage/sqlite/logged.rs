//! Reads the log in the order of the tree.

use async_trait::async_trait;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::rows::{Rows, digest, entry, impossible, text, time, unavailable};
use super::tree::{size, stored};
use crate::domain::event::StreamKey;
use crate::domain::id::{StreamId, TenantId};
use crate::evidence::entry::LogEntry;
use crate::storage::logged::in_order;
use crate::storage::{Filed, LoggedStore, StorageError, StreamEnd, StreamName};

const STREAM: &str = "-- sqlite: logged.stream
    SELECT stream_id FROM streams WHERE tenant_id = ? AND kind = ? AND key = ?";

const LOGGED: &str = "-- sqlite: logged.entries
    SELECT l.leaf, e.tenant_id, e.stream_id, e.seq, e.v, e.artifact_id, e.type, e.at, e.policy_hash,
           e.payload_commitment, e.prev_hash, e.entry_hash, p.salt, p.payload
        FROM (SELECT tenant_id, leaf, stream_id, seq FROM log_leaves
              WHERE tenant_id = ? AND leaf >= ? ORDER BY leaf LIMIT ?) AS l
        CROSS JOIN log_entries AS e ON e.tenant_id = l.tenant_id AND e.stream_id = l.stream_id AND e.seq = l.seq
        LEFT JOIN log_payloads AS p ON p.tenant_id = e.tenant_id AND p.stream_id = e.stream_id AND p.seq = e.seq
        ORDER BY l.leaf";

const PLACES: &str = "-- sqlite: logged.places
    SELECT l.stream_id, l.seq, l.leaf FROM json_each(?2) AS w
        CROSS JOIN log_leaves AS l ON l.tenant_id = ?1 AND l.stream_id = w.value->>0 AND l.seq = w.value->>1";

const FILED: &str = "-- sqlite: logged.filed
    SELECT p.stream_id, p.seq, p.at, p.conversation_id, p.context_id, p.command_id, p.correlation_id, p.space_id,
           p.fact_uid FROM json_each(?2) AS w
        CROSS JOIN log_payloads AS p ON p.tenant_id = ?1 AND p.stream_id = w.value->>0 AND p.seq = w.value->>1";

const NAMES: &str = "-- sqlite: logged.names
    SELECT s.stream_id, s.kind, s.key FROM json_each(?2) AS w
        CROSS JOIN streams AS s ON s.tenant_id = ?1 AND s.stream_id = w.value";

const END: &str = "-- sqlite: logged.end
    SELECT l.seq, e.entry_hash FROM log_leaves AS l
        LEFT JOIN log_entries AS e ON e.tenant_id = l.tenant_id AND e.stream_id = l.stream_id AND e.seq = l.seq
        WHERE l.tenant_id = ? AND l.stream_id = ? AND l.leaf < ? ORDER BY l.seq DESC LIMIT 1";

fn filed(row: &SqliteRow) -> Result<(String, u64, Filed<String>), StorageError> {
    let name = |column: &str| row.try_get::<Option<String>, _>(column).map_err(unavailable);
    let filed = Filed {
        at: time(row, "at")?,
        conversation_id: name("conversation_id")?,
        context_id: name("context_id")?,
        command_id: name("command_id")?,
        correlation_id: name("correlation_id")?,
        space_id: name("space_id")?,
        fact_uid: name("fact_uid")?,
    };
    Ok((text(row, "stream_id")?, size(row, "seq")?, filed))
}

fn name(row: &SqliteRow) -> Result<StreamName, StorageError> {
    let stream_id = StreamId::parse(&text(row, "stream_id")?);
    let stream_id = stream_id.ok_or_else(|| impossible("streams", &"an unreadable stream id"))?;
    Ok(StreamName { stream_id, kind: text(row, "kind")?, key: text(row, "key")? })
}

fn end(row: &SqliteRow) -> Result<StreamEnd, StorageError> {
    let there: Option<&[u8]> = row.try_get("entry_hash").map_err(unavailable)?;
    let entry_hash = there.is_some().then(|| digest(row, "entry_hash")).transpose()?;
    Ok(StreamEnd { seq: size(row, "seq")?, entry_hash })
}

#[async_trait]
impl LoggedStore for SqliteStore {
    async fn stream_of(&self, tenant_id: &TenantId, key: &StreamKey) -> Result<Option<StreamId>, StorageError> {
        let query = sqlx::query(STREAM).bind(tenant_id.as_str()).bind(key.kind()).bind(key.key());
        let row = query.fetch_optional(&self.readers).await.map_err(unavailable)?;
        let read = |id: String| StreamId::parse(&id).ok_or_else(|| impossible("streams", &"an unreadable stream id"));
        row.map(|row| text(&row, "stream_id").and_then(read)).transpose()
    }

    async fn logged(&self, tenant_id: &TenantId, from: u64, limit: u32) -> Result<Vec<(u64, LogEntry)>, StorageError> {
        let query = sqlx::query(LOGGED).bind(tenant_id.as_str()).bind(stored(from)).bind(i64::from(limit));
        let rows = query.fetch_all(&self.readers).await.map_err(unavailable)?;
        rows.iter().map(|row| Ok((size(row, "leaf")?, entry(row)?))).collect()
    }

    async fn places(
        &self,
        tenant_id: &TenantId,
        entries: &[(StreamId, u64)],
    ) -> Result<Vec<Option<u64>>, StorageError> {
        let mut wanted = Rows::default();
        for entry in entries {
            wanted.add(entry);
        }
        let query = sqlx::query(PLACES).bind(tenant_id.as_str()).bind(wanted.into_array());
        let rows = query.fetch_all(&self.readers).await.map_err(unavailable)?;
        let place = |row| Ok((text(row, "stream_id")?, size(row, "seq")?, size(row, "leaf")?));
        Ok(in_order(entries, rows.iter().map(place).collect::<Result<Vec<_>, StorageError>>()?))
    }

    async fn end_in_tree(
        &self,
        tenant_id: &TenantId,
        stream_id: &StreamId,
        size: u64,
    ) -> Result<Option<StreamEnd>, StorageError> {
        let query = sqlx::query(END).bind(tenant_id.as_str()).bind(stream_id.as_str()).bind(stored(size));
        let row = query.fetch_optional(&self.readers).await.map_err(unavailable)?;
        row.as_ref().map(end).transpose()
    }

    async fn filed(
        &self,
        tenant_id: &TenantId,
        entries: &[(StreamId, u64)],
    ) -> Result<Vec<Option<Filed<String>>>, StorageError> {
        let mut wanted = Rows::default();
        for entry in entries {
            wanted.add(entry);
        }
        let query = sqlx::query(FILED).bind(tenant_id.as_str()).bind(wanted.into_array());
        let rows = query.fetch_all(&self.readers).await.map_err(unavailable)?;
        Ok(in_order(entries, rows.iter().map(filed).collect::<Result<Vec<_>, StorageError>>()?))
    }

    async fn names(&self, tenant_id: &TenantId, ids: &[StreamId]) -> Result<Vec<StreamName>, StorageError> {
        let mut wanted = Rows::default();
        for id in ids {
            wanted.add(id);
        }
        let query = sqlx::query(NAMES).bind(tenant_id.as_str()).bind(wanted.into_array());
        query.fetch_all(&self.readers).await.map_err(unavailable)?.iter().map(name).collect()
    }
}
