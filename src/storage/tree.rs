//! The transparency log's part of the port: entries that wait for a leaf, the tree, and the signed checkpoints.

use async_trait::async_trait;

use super::StorageError;
use crate::domain::canonical::Digest;
use crate::domain::id::{StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::evidence::tree::{Tile, TileId};

/// The size and root of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeHead {
    pub size: u64,
    pub root: Digest,
    /// The size of the newest signed checkpoint; 0 if there is none.
    pub signed: u64,
}

/// An entry that is not in the tree yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub stream_id: StreamId,
    pub seq: u64,
    /// Its hash, which becomes the leaf.
    pub entry_hash: Digest,
}

/// How many entries of a tenant are where, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    pub entries: u64,
    pub leaves: u64,
    pub waiting: u64,
}

/// One step of a tree: appends waiting entries in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growth {
    /// The size before the step.
    pub from: u64,
    pub size: u64,
    pub root: Digest,
    /// The new and the changed tiles.
    pub tiles: Vec<Tile>,
    /// The entries appended as leaves, in order.
    pub leaves: Vec<Waiting>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCheckpoint {
    /// The size of its tree.
    pub size: u64,
    pub at: Timestamp,
    /// The signed note that is sent to readers.
    pub note: String,
}

/// Storage of the trees.
#[async_trait]
pub trait TreeStore: Send + Sync {
    /// Tenants after `after` with waiting entries, by id; with `unsigned` also those whose tree has grown since its
    /// last checkpoint.
    async fn behind(&self, after: Option<&TenantId>, unsigned: bool, limit: u32)
    -> Result<Vec<TenantId>, StorageError>;
    /// A tenant's tree; none before its first leaf.
    async fn tree(&self, tenant_id: &TenantId) -> Result<Option<TreeHead>, StorageError>;
    /// Waiting entries, those of one chain in order. Rows without an entry of that hash, and rows whose entry is in the
    /// tree, are skipped: see [`MendingStore::set_aside`](super::MendingStore::set_aside).
    async fn waiting(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<Waiting>, StorageError>;
    /// Tiles as wide as they are now; one that is not there has no entry.
    async fn tiles(&self, tenant_id: &TenantId, ids: &[TileId]) -> Result<Vec<Tile>, StorageError>;
    /// Writes a step in one transaction: tiles, leaves and size, and removes the entries from the outbox. `false`,
    /// without a change, if the tree has another size than the step starts from, or if an entry no longer waits.
    async fn grow(&self, tenant_id: &TenantId, growth: &Growth) -> Result<bool, StorageError>;
    /// The leaf index of an entry; none while it waits.
    async fn leaf(&self, tenant_id: &TenantId, stream_id: &StreamId, seq: u64) -> Result<Option<u64>, StorageError>;
    /// Counts entries, leaves and waiting entries at one moment. Reads an index of all entries.
    async fn placed(&self, tenant_id: &TenantId) -> Result<Placed, StorageError>;
    /// Stores a checkpoint. An existing one of the same size is not replaced.
    async fn keep_checkpoint(&self, tenant_id: &TenantId, checkpoint: &StoredCheckpoint) -> Result<(), StorageError>;
    async fn checkpoint(&self, tenant_id: &TenantId) -> Result<Option<StoredCheckpoint>, StorageError>;
}
