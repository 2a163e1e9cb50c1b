//! Reads the log in the order of the tree, for bundles and verification.

use async_trait::async_trait;

use super::StorageError;
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

/// Sorts the results for entries into the order in which they were asked for.
pub(super) fn in_order<T>(
    entries: &[(StreamId, u64)],
    found: impl IntoIterator<Item = (String, u64, T)>,
) -> Vec<Option<T>> {
    let mut known: std::collections::HashMap<(String, u64), T> =
        found.into_iter().map(|(stream, seq, of)| ((stream, seq), of)).collect();
    entries.iter().map(|(stream, seq)| known.remove(&(stream.as_str().to_owned(), *seq))).collect()
}
