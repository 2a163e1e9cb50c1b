//! The log by the places of its entries in the tree.

use async_trait::async_trait;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::rows::{Rows, digest, entry, impossible, text, unavailable};
use super::tree::{size, stored};
use crate::domain::event::StreamKey;
use crate::domain::id::{StreamId, TenantId};
use crate::evidence::entry::LogEntry;
use crate::storage::logged::in_order;
use crate::storage::{LoggedStore, StorageError, StreamEnd};

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

const END: &str = "-- sqlite: logged.end
    SELECT l.seq, e.entry_hash FROM log_leaves AS l
        LEFT JOIN log_entries AS e ON e.tenant_id = l.tenant_id AND e.stream_id = l.stream_id AND e.seq = l.seq
        WHERE l.tenant_id = ? AND l.stream_id = ? AND l.leaf < ? ORDER BY l.seq DESC LIMIT 1";

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
}
