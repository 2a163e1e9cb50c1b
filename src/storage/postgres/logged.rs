//! Reads the log in the order of the tree.

use async_trait::async_trait;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::PostgresStore;
use super::rows::{digest, entry, failed, impossible, text, time};
use super::tree::{size, stored};
use crate::domain::event::StreamKey;
use crate::domain::id::{StreamId, TenantId};
use crate::evidence::entry::LogEntry;
use crate::storage::logged::in_order;
use crate::storage::{Filed, LoggedStore, StorageError, StreamEnd, StreamName};

/// A row that was created only to be locked has no id and names no stream.
const STREAM: &str = "-- postgres: logged.stream
    SELECT stream_id FROM streams WHERE tenant_id = $1 AND kind = $2 AND key = $3 AND stream_id IS NOT NULL";

const LOGGED: &str = "-- postgres: logged.entries
    SELECT l.leaf, e.tenant_id, e.stream_id, e.seq, e.v, e.artifact_id, e.type, e.at, e.policy_hash,
           e.payload_commitment, e.prev_hash, e.entry_hash, p.salt, p.payload
        FROM (SELECT tenant_id, leaf, stream_id, seq FROM log_leaves
              WHERE tenant_id = $1 AND leaf >= $2 ORDER BY leaf LIMIT $3) AS l
        JOIN log_entries AS e ON e.tenant_id = l.tenant_id AND e.stream_id = l.stream_id AND e.seq = l.seq
        LEFT JOIN log_payloads AS p ON p.tenant_id = e.tenant_id AND p.stream_id = e.stream_id AND p.seq = e.seq
        ORDER BY l.leaf";

const PLACES: &str = "-- postgres: logged.places
    SELECT l.stream_id, l.seq, l.leaf FROM unnest($2::text[], $3::int8[]) AS w (stream_id, seq)
        JOIN log_leaves AS l ON l.tenant_id = $1 AND l.stream_id = w.stream_id AND l.seq = w.seq";

const FILED: &str = "-- postgres: logged.filed
    SELECT p.stream_id, p.seq, p.at, p.conversation_id, p.context_id, p.command_id, p.correlation_id, p.space_id,
           p.fact_uid FROM unnest($2::text[], $3::int8[]) AS w (stream_id, seq)
        JOIN log_payloads AS p ON p.tenant_id = $1 AND p.stream_id = w.stream_id AND p.seq = w.seq";

const NAMES: &str = "-- postgres: logged.names
    SELECT stream_id, kind, key FROM streams WHERE tenant_id = $1 AND stream_id = ANY($2)";

const END: &str = "-- postgres: logged.end
    SELECT l.seq, e.entry_hash FROM log_leaves AS l
        LEFT JOIN log_entries AS e ON e.tenant_id = l.tenant_id AND e.stream_id = l.stream_id AND e.seq = l.seq
        WHERE l.tenant_id = $1 AND l.stream_id = $2 AND l.leaf < $3 ORDER BY l.seq DESC LIMIT 1";

fn filed(row: &PgRow) -> Result<(String, u64, Filed<String>), StorageError> {
    let name = |column: &str| row.try_get::<Option<String>, _>(column).map_err(failed);
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

fn name(row: &PgRow) -> Result<StreamName, StorageError> {
    let stream_id = StreamId::parse(&text(row, "stream_id")?);
    let stream_id = stream_id.ok_or_else(|| impossible("streams", &"an unreadable stream id"))?;
    Ok(StreamName { stream_id, kind: text(row, "kind")?, key: text(row, "key")? })
}

fn end(row: &PgRow) -> Result<StreamEnd, StorageError> {
    let there: Option<&[u8]> = row.try_get("entry_hash").map_err(failed)?;
    let entry_hash = there.is_some().then(|| digest(row, "entry_hash")).transpose()?;
    Ok(StreamEnd { seq: size(row, "seq")?, entry_hash })
}

#[async_trait]
impl LoggedStore for PostgresStore {
    async fn stream_of(&self, tenant_id: &TenantId, key: &StreamKey) -> Result<Option<StreamId>, StorageError> {
        let tenant = tenant_id.as_str();
        let rows = self.rest.rows(tenant, sqlx::query(STREAM).bind(tenant).bind(key.kind()).bind(key.key())).await?;
        let read = |id: String| StreamId::parse(&id).ok_or_else(|| impossible("streams", &"an unreadable stream id"));
        rows.first().map(|row| text(row, "stream_id").and_then(read)).transpose()
    }

    async fn logged(&self, tenant_id: &TenantId, from: u64, limit: u32) -> Result<Vec<(u64, LogEntry)>, StorageError> {
        let tenant = tenant_id.as_str();
        let query = sqlx::query(LOGGED).bind(tenant).bind(stored(from)).bind(i64::from(limit));
        let rows = self.rest.rows(tenant, query).await?;
        rows.iter().map(|row| Ok((size(row, "leaf")?, entry(row)?))).collect()
    }

    async fn places(
        &self,
        tenant_id: &TenantId,
        entries: &[(StreamId, u64)],
    ) -> Result<Vec<Option<u64>>, StorageError> {
        let tenant = tenant_id.as_str();
        let (streams, seqs): (Vec<&str>, Vec<i64>) =
            entries.iter().map(|(stream, seq)| (stream.as_str(), stored(*seq))).unzip();
        let rows = self.rest.rows(tenant, sqlx::query(PLACES).bind(tenant).bind(streams).bind(seqs)).await?;
        let place = |row| Ok((text(row, "stream_id")?, size(row, "seq")?, size(row, "leaf")?));
        Ok(in_order(entries, rows.iter().map(place).collect::<Result<Vec<_>, StorageError>>()?))
    }

    async fn end_in_tree(
        &self,
        tenant_id: &TenantId,
        stream_id: &StreamId,
        size: u64,
    ) -> Result<Option<StreamEnd>, StorageError> {
        let tenant = tenant_id.as_str();
        let query = sqlx::query(END).bind(tenant).bind(stream_id.as_str()).bind(stored(size));
        self.rest.rows(tenant, query).await?.first().map(end).transpose()
    }

    async fn filed(
        &self,
        tenant_id: &TenantId,
        entries: &[(StreamId, u64)],
    ) -> Result<Vec<Option<Filed<String>>>, StorageError> {
        let tenant = tenant_id.as_str();
        let (streams, seqs): (Vec<&str>, Vec<i64>) =
            entries.iter().map(|(stream, seq)| (stream.as_str(), stored(*seq))).unzip();
        let rows = self.rest.rows(tenant, sqlx::query(FILED).bind(tenant).bind(streams).bind(seqs)).await?;
        Ok(in_order(entries, rows.iter().map(filed).collect::<Result<Vec<_>, StorageError>>()?))
    }

    async fn names(&self, tenant_id: &TenantId, ids: &[StreamId]) -> Result<Vec<StreamName>, StorageError> {
        let tenant = tenant_id.as_str();
        let ids: Vec<&str> = ids.iter().map(StreamId::as_str).collect();
        self.rest.rows(tenant, sqlx::query(NAMES).bind(tenant).bind(ids)).await?.iter().map(name).collect()
    }
}
