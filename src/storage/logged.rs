//! Reading the log by the places of its entries in the tree: what bundles are made of.

use async_trait::async_trait;

use super::StorageError;
use crate::domain::canonical::Digest;
use crate::domain::event::{About, StreamKey};
use crate::domain::id::{CommandId, ContextId, ConversationId, CorrelationId, SpaceId, StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::evidence::entry::{Header, LogEntry};

/// The log as the tree has it.
#[async_trait]
pub trait LoggedStore: Send + Sync {
    /// The id of a stream; none if it has no entries.
    async fn stream_of(&self, tenant_id: &TenantId, key: &StreamKey) -> Result<Option<StreamId>, StorageError>;
    /// The entries of so many leaves from one on, in the order of leaves. A leaf whose entry is gone is left out.
    async fn logged(&self, tenant_id: &TenantId, from: u64, limit: u32) -> Result<Vec<(u64, LogEntry)>, StorageError>;
    /// Which leaves entries are, in the order asked for; none for one that waits.
    async fn places(&self, tenant_id: &TenantId, entries: &[(StreamId, u64)])
    -> Result<Vec<Option<u64>>, StorageError>;
    /// Where a stream ends in the tree of this size; none if none of its entries is in that tree.
    async fn end_in_tree(
        &self,
        tenant_id: &TenantId,
        stream_id: &StreamId,
        size: u64,
    ) -> Result<Option<StreamEnd>, StorageError>;
    /// What the payloads of entries are filed under, in the order asked for; none for one that is gone.
    async fn filed(
        &self,
        tenant_id: &TenantId,
        entries: &[(StreamId, u64)],
    ) -> Result<Vec<Option<Filed<String>>>, StorageError>;
    /// What streams are called, in no particular order: as it is stored, whether it can be read or not.
    async fn names(&self, tenant_id: &TenantId, ids: &[StreamId]) -> Result<Vec<StreamName>, StorageError>;
}

/// What a payload is filed under: the columns beside it, by which queries and exports select and erasures find it. When
/// the payload is erased, they go with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filed<T> {
    pub at: Timestamp,
    pub conversation_id: Option<T>,
    pub context_id: Option<T>,
    pub command_id: Option<T>,
    /// The caller's correlation id.
    pub correlation_id: Option<T>,
    pub space_id: Option<T>,
    /// The fact, or the reading that one was made of.
    pub fact_uid: Option<T>,
}

impl<'a> Filed<&'a str> {
    /// What an entry's payload has to be filed under. The rows are written by this, and verified by this.
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

/// What a stream is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamName {
    pub stream_id: StreamId,
    /// Its kind, or `erased`.
    pub kind: String,
    /// Its key within the kind.
    pub key: String,
}

/// The last entry of a stream that a tree holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEnd {
    /// Its place in the stream.
    pub seq: u64,
    /// Its hash; none if the entry itself is gone from the database though the tree has its leaf.
    pub entry_hash: Option<Digest>,
}

/// Puts what was found of entries into the order in which it was asked for.
pub(super) fn in_order<T>(
    entries: &[(StreamId, u64)],
    found: impl IntoIterator<Item = (String, u64, T)>,
) -> Vec<Option<T>> {
    let mut known: std::collections::HashMap<(String, u64), T> =
        found.into_iter().map(|(stream, seq, of)| ((stream, seq), of)).collect();
    entries.iter().map(|(stream, seq)| known.remove(&(stream.as_str().to_owned(), *seq))).collect()
}
