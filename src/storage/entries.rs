//! Reads of the log by subject, by id and by stream.

use async_trait::async_trait;

use super::StorageError;
use super::sql::{Database, Dialect, Statement, entry, first, head, page};
use crate::domain::id::{
    ArtifactId, CommandId, ContextId, ConversationId, CorrelationId, FactUid, SpaceId, StreamId, TenantId,
};
use crate::domain::query::{EvidenceQuery, Page, Position};
use crate::evidence::entry::{LogEntry, StreamHead};

/// Reads of log entries and of the heads of streams.
#[async_trait]
pub trait EntryStore: Send + Sync {
    /// Log entries, oldest first.
    async fn entries(&self, tenant_id: &TenantId, query: &EvidenceQuery) -> Result<Page<LogEntry>, StorageError>;
    async fn entry(&self, tenant_id: &TenantId, id: &ArtifactId) -> Result<Option<LogEntry>, StorageError>;
    /// The heads of a tenant's streams after `after`, by stream id.
    async fn heads(
        &self,
        tenant_id: &TenantId,
        after: Option<&StreamId>,
        limit: u32,
    ) -> Result<Vec<StreamHead>, StorageError>;
    /// The entries of a stream after sequence number `after`, in order.
    async fn stream(
        &self,
        tenant_id: &TenantId,
        id: &StreamId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogEntry>, StorageError>;
}

/// The columns of an entry with its payload, unless that is erased.
macro_rules! entries_from {
    ($from:literal) => {
        concat!(
            "SELECT e.tenant_id, e.stream_id, e.seq, e.v, e.artifact_id, e.type, e.at, e.policy_hash,
                e.payload_commitment, e.prev_hash, e.entry_hash, p.salt, p.payload FROM ",
            $from,
            " ON p.tenant_id = e.tenant_id AND p.stream_id = e.stream_id AND p.seq = e.seq WHERE "
        )
    };
}

const ENTRIES: &str = entries_from!("log_entries AS e LEFT JOIN log_payloads AS p");
/// A subject has few payloads: they are found first.
const ENTRIES_ABOUT: &str = entries_from!("log_payloads AS p {join} log_entries AS e");

/// A position in the order of entries: its id is the stream's, a slash, and the number in the stream.
fn position(entry: &LogEntry) -> Position {
    let id = format!("{}/{:020}", entry.header.stream_id, entry.header.seq);
    Position { micros: entry.header.at.as_micros(), id }
}

fn after(search: &mut Statement, position: &Position) {
    let (stream, seq) = position.id.split_once('/').unwrap_or((&position.id, ""));
    search.when(" AND (e.at, e.stream_id, e.seq) > (:after, :stream, :seq)", "after", Some(position.micros));
    search.when("", "stream", Some(stream));
    search.when("", "seq", Some(seq.parse::<u64>().unwrap_or_default()));
}

#[async_trait]
impl<D: Database> EntryStore for D {
    async fn entries(&self, tenant_id: &TenantId, query: &EvidenceQuery) -> Result<Page<LogEntry>, StorageError> {
        let by_payload = query.command_id.is_some()
            || query.correlation_id.is_some()
            || query.conversation_id.is_some()
            || query.context_id.is_some()
            || query.space_id.is_some()
            || query.fact_uid.is_some();
        let mut list = Statement::new("entries.list", if by_payload { ENTRIES_ABOUT } else { ENTRIES });
        let of_tenant = if by_payload { "p.tenant_id = :tenant" } else { "e.tenant_id = :tenant" };
        list.when(of_tenant, "tenant", Some(tenant_id.as_str()));
        let (correlation, conversation) = (query.correlation_id.as_ref(), query.conversation_id.as_ref());
        list.when(" AND e.artifact_id = :artifact", "artifact", query.artifact_id.as_ref().map(ArtifactId::as_str));
        list.when(" AND p.command_id = :command", "command", query.command_id.as_ref().map(CommandId::as_str));
        list.when(" AND p.correlation_id = :correlation", "correlation", correlation.map(CorrelationId::as_str));
        list.when(" AND p.conversation_id = :conversation", "conversation", conversation.map(ConversationId::as_str));
        list.when(" AND p.space_id = :space", "space", query.space_id.as_ref().map(SpaceId::as_str));
        list.when(" AND p.fact_uid = :fact", "fact", query.fact_uid.as_ref().map(FactUid::as_str));
        list.when(" AND p.context_id = :context", "context", query.context_id.as_ref().map(ContextId::as_str));
        list.when(" AND e.type = :kind", "kind", query.kind.as_deref());
        list.when(" AND e.at >= :from", "from", query.from);
        list.when(" AND e.at < :until", "until", query.until);
        if let Some(position) = &query.after {
            after(&mut list, position);
        }
        // PostgreSQL would scan the whole log in the order of time until it has found a page of a subject's entries.
        // The addition makes it sort those that it finds by their payloads.
        let sorted = by_payload && self.dialect() == Dialect::Postgres;
        list.push(if sorted { " ORDER BY e.at + 0, " } else { " ORDER BY e.at, " });
        list.push("e.stream_id, e.seq");
        page(self, tenant_id, list, query.limit, entry, position).await
    }

    async fn entry(&self, tenant_id: &TenantId, id: &ArtifactId) -> Result<Option<LogEntry>, StorageError> {
        let mut one = Statement::new("entries.one", ENTRIES);
        one.when("e.tenant_id = :tenant", "tenant", Some(tenant_id.as_str()));
        one.when(" AND e.artifact_id = :artifact", "artifact", Some(id.as_str()));
        first(self, Some(tenant_id), one).await?.as_ref().map(entry).transpose()
    }

    async fn heads(
        &self,
        tenant_id: &TenantId,
        after: Option<&StreamId>,
        limit: u32,
    ) -> Result<Vec<StreamHead>, StorageError> {
        let sql = "
            SELECT stream_id AS c, seq, last_at, head_hash AS h FROM streams
            WHERE tenant_id = :tenant AND stream_id > :after ORDER BY stream_id LIMIT :limit";
        let heads = Statement::new("entries.heads", sql)
            .bind("tenant", tenant_id.as_str())
            .bind("after", after.map_or("", StreamId::as_str))
            .bind("limit", limit);
        self.rows(Some(tenant_id), heads).await?.iter().map(head).collect()
    }

    async fn stream(
        &self,
        tenant_id: &TenantId,
        id: &StreamId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogEntry>, StorageError> {
        let mut entries = Statement::new("entries.stream", ENTRIES);
        entries.when("e.tenant_id = :tenant", "tenant", Some(tenant_id.as_str()));
        entries.when(" AND e.stream_id = :stream", "stream", Some(id.as_str()));
        entries.when(" AND e.seq > :after ORDER BY e.seq", "after", Some(after));
        entries.when(" LIMIT :limit", "limit", Some(limit));
        self.rows(Some(tenant_id), entries).await?.iter().map(entry).collect()
    }
}
