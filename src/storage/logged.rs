//! Reads the log in the order of the tree, for bundles and verification.

use std::collections::HashMap;

use async_trait::async_trait;

use super::StorageError;
use super::sql::{
    Column, Columns as _, Database, Row, Statement, Type, Value, digest, entry, first, impossible, size, text, time,
};
use crate::domain::canonical::Digest;
use crate::domain::event::{About, StreamKey};
use crate::domain::id::{CommandId, ContextId, ConversationId, CorrelationId, SpaceId, StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::evidence::entry::{Header, LogEntry};

/// The log in the order of the tree.
#[async_trait]
pub trait LoggedStore: Send + Sync {
    /// The id of a stream; none if it has no entries.
    async fn stream_of(&self, tenant_id: &TenantId, key: &StreamKey) -> Result<Option<StreamId>, StorageError>;
    /// The entries of up to `limit` leaves from `from` on, in order. A leaf whose entry is missing is left out.
    async fn logged(&self, tenant_id: &TenantId, from: u64, limit: u32) -> Result<Vec<(u64, LogEntry)>, StorageError>;
    /// The leaf indices of entries, in the order asked for; none for a waiting entry.
    async fn places(&self, tenant_id: &TenantId, entries: &[(StreamId, u64)])
    -> Result<Vec<Option<u64>>, StorageError>;
    /// The end of a stream in the tree of this size; none if none of its entries is in that tree.
    async fn end_in_tree(
        &self,
        tenant_id: &TenantId,
        stream_id: &StreamId,
        size: u64,
    ) -> Result<Option<StreamEnd>, StorageError>;
    /// The index columns of payloads, in the order asked for; none for a missing one.
    async fn filed(
        &self,
        tenant_id: &TenantId,
        entries: &[(StreamId, u64)],
    ) -> Result<Vec<Option<Filed<String>>>, StorageError>;
    /// The names of streams as they are stored, valid or not, in no particular order.
    async fn names(&self, tenant_id: &TenantId, ids: &[StreamId]) -> Result<Vec<StreamName>, StorageError>;
}

/// The index columns of a payload, by which queries and exports select it and erasures find it. They are erased with
/// the payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filed<T> {
    pub at: Timestamp,
    pub conversation_id: Option<T>,
    pub context_id: Option<T>,
    pub command_id: Option<T>,
    /// The caller's correlation id.
    pub correlation_id: Option<T>,
    pub space_id: Option<T>,
    /// The fact, or the reading from which it was made.
    pub fact_uid: Option<T>,
}

impl<'a> Filed<&'a str> {
    /// The index columns for an entry's payload. Both writing and verification use this.
    #[must_use]
    pub fn of(header: &Header, about: &'a About) -> Self {
        Self {
            at: header.at,
            conversation_id: about.conversation_id.as_ref().map(ConversationId::as_str),
            context_id: about.context_id.as_ref().map(ContextId::as_str),
            command_id: about.command_id.as_ref().map(CommandId::as_str),
            correlation_id: about.correlation_id.as_ref().map(CorrelationId::as_str),
            space_id: about.space_id.as_ref().map(SpaceId::as_str),
            fact_uid: about.of_fact(),
        }
    }
}

impl Filed<String> {
    #[must_use]
    pub fn as_str(&self) -> Filed<&str> {
        Filed {
            at: self.at,
            conversation_id: self.conversation_id.as_deref(),
            context_id: self.context_id.as_deref(),
            command_id: self.command_id.as_deref(),
            correlation_id: self.correlation_id.as_deref(),
            space_id: self.space_id.as_deref(),
            fact_uid: self.fact_uid.as_deref(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamName {
    pub stream_id: StreamId,
    /// Its kind, or `erased`.
    pub kind: String,
    /// Its key within the kind.
    pub key: String,
}

/// The last entry of a stream in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEnd {
    /// Its sequence number in the stream.
    pub seq: u64,
    /// Its hash; none if the entry is missing from the database although the tree has its leaf.
    pub entry_hash: Option<Digest>,
}

const STREAM: &str = "
    SELECT stream_id FROM streams
    WHERE tenant_id = :tenant AND kind = :kind AND key = :key AND stream_id IS NOT NULL";

const LOGGED: &str = "
    SELECT l.leaf, e.tenant_id, e.stream_id, e.seq, e.v, e.artifact_id, e.type, e.at, e.policy_hash,
           e.payload_commitment, e.prev_hash, e.entry_hash, p.salt, p.payload
        FROM (SELECT tenant_id, leaf, stream_id, seq FROM log_leaves
              WHERE tenant_id = :tenant AND leaf >= :from ORDER BY leaf LIMIT :limit) AS l
        {join} log_entries AS e ON e.tenant_id = l.tenant_id AND e.stream_id = l.stream_id AND e.seq = l.seq
        LEFT JOIN log_payloads AS p ON p.tenant_id = e.tenant_id AND p.stream_id = e.stream_id AND p.seq = e.seq
        ORDER BY l.leaf";

const PLACES: &str = "
    SELECT l.stream_id, l.seq, l.leaf FROM :wanted AS w
        {join} log_leaves AS l ON l.tenant_id = :tenant AND l.stream_id = w.stream_id AND l.seq = w.seq";

const FILED: &str = "
    SELECT p.stream_id, p.seq, p.at, p.conversation_id, p.context_id, p.command_id, p.correlation_id, p.space_id,
           p.fact_uid FROM :wanted AS w
        {join} log_payloads AS p ON p.tenant_id = :tenant AND p.stream_id = w.stream_id AND p.seq = w.seq";

const NAMES: &str = "
    SELECT stream_id, kind, key FROM streams WHERE tenant_id = :tenant AND stream_id IN (:ids)";

const END: &str = "
    SELECT l.seq, e.entry_hash FROM log_leaves AS l
        LEFT JOIN log_entries AS e ON e.tenant_id = l.tenant_id AND e.stream_id = l.stream_id AND e.seq = l.seq
        WHERE l.tenant_id = :tenant AND l.stream_id = :stream AND l.leaf < :size ORDER BY l.seq DESC LIMIT 1";

/// The place of an entry in its stream.
const PLACE: [Column; 2] = [("stream_id", Type::Text), ("seq", Type::Number)];

fn of_entries(name: &'static str, sql: &'static str, tenant_id: &TenantId, entries: &[(StreamId, u64)]) -> Statement {
    let wanted = entries.iter().map(|(stream, seq)| [stream.as_str().into(), (*seq).into()]);
    Statement::new(name, sql).bind("tenant", tenant_id.as_str()).bind("wanted", Value::rows(&PLACE, wanted))
}

/// The results for entries in the order in which they were asked for.
fn in_order<T>(
    entries: &[(StreamId, u64)],
    rows: &[Row],
    read: impl Fn(&Row) -> Result<T, StorageError>,
) -> Result<Vec<Option<T>>, StorageError> {
    let mut known = HashMap::new();
    for row in rows {
        known.insert((text(row, "stream_id")?, size(row, "seq")?), read(row)?);
    }
    Ok(entries.iter().map(|(stream, seq)| known.remove(&(stream.as_str().to_owned(), *seq))).collect())
}

fn stream_id(row: &Row) -> Result<StreamId, StorageError> {
    StreamId::parse(row.get("stream_id")?).ok_or_else(|| impossible("streams", &"an unreadable stream id"))
}

fn filed(row: &Row) -> Result<Filed<String>, StorageError> {
    Ok(Filed {
        at: time(row, "at")?,
        conversation_id: row.get("conversation_id")?,
        context_id: row.get("context_id")?,
        command_id: row.get("command_id")?,
        correlation_id: row.get("correlation_id")?,
        space_id: row.get("space_id")?,
        fact_uid: row.get("fact_uid")?,
    })
}

fn end(row: &Row) -> Result<StreamEnd, StorageError> {
    let hash: Option<&[u8]> = row.get("entry_hash")?;
    let entry_hash = hash.is_some().then(|| digest(row, "entry_hash")).transpose()?;
    Ok(StreamEnd { seq: size(row, "seq")?, entry_hash })
}

#[async_trait]
impl<D: Database> LoggedStore for D {
    async fn stream_of(&self, tenant_id: &TenantId, key: &StreamKey) -> Result<Option<StreamId>, StorageError> {
        let statement = Statement::new("logged.stream", STREAM)
            .bind("tenant", tenant_id.as_str())
            .bind("kind", key.kind())
            .bind("key", key.key());
        first(self, Some(tenant_id), statement).await?.as_ref().map(stream_id).transpose()
    }

    async fn logged(&self, tenant_id: &TenantId, from: u64, limit: u32) -> Result<Vec<(u64, LogEntry)>, StorageError> {
        let statement = Statement::new("logged.entries", LOGGED)
            .bind("tenant", tenant_id.as_str())
            .bind("from", from)
            .bind("limit", limit);
        let rows = self.rows(Some(tenant_id), statement).await?;
        rows.iter().map(|row| Ok((size(row, "leaf")?, entry(row)?))).collect()
    }

    async fn places(
        &self,
        tenant_id: &TenantId,
        entries: &[(StreamId, u64)],
    ) -> Result<Vec<Option<u64>>, StorageError> {
        let rows = self.rows(Some(tenant_id), of_entries("logged.places", PLACES, tenant_id, entries)).await?;
        in_order(entries, &rows, |row| size(row, "leaf"))
    }

    async fn end_in_tree(
        &self,
        tenant_id: &TenantId,
        stream_id: &StreamId,
        size: u64,
    ) -> Result<Option<StreamEnd>, StorageError> {
        let statement = Statement::new("logged.end", END)
            .bind("tenant", tenant_id.as_str())
            .bind("stream", stream_id.as_str())
            .bind("size", size);
        first(self, Some(tenant_id), statement).await?.as_ref().map(end).transpose()
    }

    async fn filed(
        &self,
        tenant_id: &TenantId,
        entries: &[(StreamId, u64)],
    ) -> Result<Vec<Option<Filed<String>>>, StorageError> {
        let rows = self.rows(Some(tenant_id), of_entries("logged.filed", FILED, tenant_id, entries)).await?;
        in_order(entries, &rows, filed)
    }

    async fn names(&self, tenant_id: &TenantId, ids: &[StreamId]) -> Result<Vec<StreamName>, StorageError> {
        let ids = Value::texts(ids.iter().map(StreamId::as_str));
        let statement = Statement::new("logged.names", NAMES).bind("tenant", tenant_id.as_str()).bind("ids", ids);
        let rows = self.rows(Some(tenant_id), statement).await?;
        let name =
            |row: &Row| Ok(StreamName { stream_id: stream_id(row)?, kind: text(row, "kind")?, key: text(row, "key")? });
        rows.iter().map(name).collect()
    }
}
