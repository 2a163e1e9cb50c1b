//! The transparency log's part of the port: entries that wait for their place, the tree as far as it has grown, and the
//! checkpoints that were signed.

use async_trait::async_trait;

use super::StorageError;
use crate::domain::canonical::Digest;
use crate::domain::id::{StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::evidence::tree::{Tile, TileId};

/// How far a tree has grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeHead {
    pub size: u64,
    pub root: Digest,
    /// Of how many leaves a checkpoint was signed last; 0 if none was.
    pub signed: u64,
}

/// An entry that is not in the tree yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub stream_id: StreamId,
    pub seq: u64,
    /// Its hash: the leaf.
    pub entry_hash: Digest,
}

/// Where the entries of a tenant are, counted at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    pub entries: u64,
    /// The leaves of the tree.
    pub leaves: u64,
    pub waiting: u64,
}

/// One step of a tree: what becomes of it when waiting entries are appended in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growth {
    /// The size that the leaves come after.
    pub from: u64,
    pub size: u64,
    pub root: Digest,
    /// The tiles that are new or wider.
    pub tiles: Vec<Tile>,
    /// The entries that became leaves, in order.
    pub leaves: Vec<Waiting>,
}

/// A checkpoint that was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCheckpoint {
    /// The size of the tree that it is of.
    pub size: u64,
    /// When it was signed.
    pub at: Timestamp,
    /// The signed note, as it is given out.
    pub note: String,
}

/// What a database keeps of the trees.
#[async_trait]
pub trait TreeStore: Send + Sync {
    /// Tenants after `after` with entries that wait, by id; with `unsigned` also those whose tree has grown since its last
    /// checkpoint.
    async fn behind(&self, after: Option<&TenantId>, unsigned: bool, limit: u32)
    -> Result<Vec<TenantId>, StorageError>;
    /// A tenant's tree; none before its first leaf.
    async fn tree(&self, tenant_id: &TenantId) -> Result<Option<TreeHead>, StorageError>;
    /// Entries that wait, those of one chain in their order. A row that no entry of that hash stands behind, or whose entry
    /// has its place already, is passed over: see [`MendingStore::set_aside`](super::MendingStore::set_aside).
    async fn waiting(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<Waiting>, StorageError>;
    /// Tiles as wide as they are now; one that is not there has no entry.
    async fn tiles(&self, tenant_id: &TenantId, ids: &[TileId]) -> Result<Vec<Tile>, StorageError>;
    /// Writes a step in one transaction: tiles, leaves and size, and the entries wait no longer. `false`, and nothing is
    /// written, if the tree is not of the size that it comes after, or one of the entries does not wait any more.
    async fn grow(&self, tenant_id: &TenantId, growth: &Growth) -> Result<bool, StorageError>;
    /// Which leaf an entry is; none while it waits.
    async fn leaf(&self, tenant_id: &TenantId, stream_id: &StreamId, seq: u64) -> Result<Option<u64>, StorageError>;
    /// Counts entries, leaves and what waits, all as of one moment. Reads an index of all entries.
    async fn placed(&self, tenant_id: &TenantId) -> Result<Placed, StorageError>;
    /// Keeps a checkpoint. One of the same size that is there already stays as it is.
    async fn keep_checkpoint(&self, tenant_id: &TenantId, checkpoint: &StoredCheckpoint) -> Result<(), StorageError>;
    async fn checkpoint(&self, tenant_id: &TenantId) -> Result<Option<StoredCheckpoint>, StorageError>;
}
