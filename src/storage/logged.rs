//! Reading the log by the places of its entries in the tree: what bundles are made of.

use async_trait::async_trait;

use super::StorageError;
use crate::domain::canonical::Digest;
use crate::domain::event::StreamKey;
use crate::domain::id::{StreamId, TenantId};
use crate::evidence::entry::LogEntry;

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
}

/// The last entry of a stream that a tree holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEnd {
    /// Its place in the stream.
    pub seq: u64,
    /// Its hash; none if the entry itself is gone from the database though the tree has its leaf.
    pub entry_hash: Option<Digest>,
}

/// Puts places into the order in which they were asked for.
pub(super) fn in_order(
    entries: &[(StreamId, u64)],
    found: impl IntoIterator<Item = (String, u64, u64)>,
) -> Vec<Option<u64>> {
    let known: std::collections::HashMap<(String, u64), u64> =
        found.into_iter().map(|(stream, seq, leaf)| ((stream, seq), leaf)).collect();
    entries.iter().map(|(stream, seq)| known.get(&(stream.as_str().to_owned(), *seq)).copied()).collect()
}
