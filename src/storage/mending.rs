//! What stands in the log's own tables and should not, and putting right what follows from the rest.

use async_trait::async_trait;

use super::{StorageError, StoredCheckpoint};
use crate::domain::canonical::Digest;
use crate::domain::id::TenantId;
use crate::evidence::tree::{Tile, TileId};

/// A row of the log's tables that does not belong to the others, all as of one moment. Stream ids are told as they are
/// stored: whoever planted a row may have made one up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    /// A payload without an entry.
    #[error("a payload is stored for entry {seq} of {stream_id}, and there is no such entry")]
    Payload {
        /// The chain that it names.
        stream_id: String,
        /// The place that it names there.
        seq: u64,
    },
    /// What waits for its place in the tree is no entry of that hash.
    #[error("a hash waits for its place as entry {seq} of {stream_id}, and no entry has it")]
    Waiting {
        /// The chain that it names.
        stream_id: String,
        /// The place that it names there.
        seq: u64,
    },
    /// What waits has its place already.
    #[error("entry {seq} of {stream_id} waits for its place, and has one")]
    Placed {
        /// The chain that it names.
        stream_id: String,
        /// The place that it names there.
        seq: u64,
    },
    /// A leaf beyond the end of the tree.
    #[error("leaf {0} lies beyond the end of the tree")]
    Leaf(u64),
    /// A tile that the tree does not have, or of another width than it has.
    #[error("tile {0} is of another width than the tree has it")]
    Tile(TileId),
    /// The tree says that a checkpoint was signed which is not the newest that is kept.
    #[error("the tree was signed at size {0}, it says, and the newest checkpoint is of another size")]
    Signed(u64),
}

impl Misplaced {
    /// What a row of the statement says.
    pub(super) fn read(what: &str, place: String, number: u64) -> Option<Self> {
        Some(match what {
            "payload" => Self::Payload { stream_id: place, seq: number },
            "waiting" => Self::Waiting { stream_id: place, seq: number },
            "placed" => Self::Placed { stream_id: place, seq: number },
            "leaf" => Self::Leaf(number),
            "tile" => Self::Tile(TileId { level: place.parse().ok()?, index: number }),
            "signed" => Self::Signed(number),
            _ => return None,
        })
    }
}

/// What is put right at once, of a tree that is still as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mending {
    /// The size of the tree.
    pub size: u64,
    pub root: Digest,
    /// Tiles as they follow from the leaves.
    pub tiles: Vec<Tile>,
    /// Tiles that the tree does not have.
    pub gone: Vec<TileId>,
}

/// What a database tells of the log's own tables, and what of them can be written anew.
#[async_trait]
pub trait MendingStore: Send + Sync {
    /// Rows that do not belong to the others.
    async fn misplaced(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<Misplaced>, StorageError>;
    /// Signed checkpoints of sizes above `after` and up to `until`, by size.
    async fn checkpoints(
        &self,
        tenant_id: &TenantId,
        after: u64,
        until: u64,
    ) -> Result<Vec<StoredCheckpoint>, StorageError>;
    /// How many rows wait for a place that they never get: no entry has their hash, or the entry has a place already.
    async fn set_aside(&self, tenant_id: &TenantId) -> Result<u64, StorageError>;
    /// Writes and deletes tiles, deletes what is set aside, and lets entries wait that neither have a place nor wait for
    /// one, in one transaction. `false`, and nothing is written, if the tree is not as it was read.
    async fn mend(&self, tenant_id: &TenantId, mending: &Mending) -> Result<bool, StorageError>;
}
