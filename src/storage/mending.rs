//! Finds rows of the log's tables that should not exist, and repairs what can be derived from the others.

use async_trait::async_trait;

use super::{StorageError, StoredCheckpoint};
use crate::domain::canonical::Digest;
use crate::domain::id::TenantId;
use crate::evidence::tree::{Tile, TileId};

/// A row of the log's tables without its counterpart, all from one snapshot. Stream ids are reported as stored, because
/// a tampered row may contain anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    /// A payload without an entry.
    #[error("a payload is stored for entry {seq} of {stream_id}, and there is no such entry")]
    Payload {
        /// The stream id in the row.
        stream_id: String,
        /// The sequence number in the row.
        seq: u64,
    },
    /// A waiting row without an entry of that hash.
    #[error("a hash waits for its place as entry {seq} of {stream_id}, and no entry has it")]
    Waiting {
        /// The stream id in the row.
        stream_id: String,
        /// The sequence number in the row.
        seq: u64,
    },
    /// A waiting row whose entry is in the tree.
    #[error("entry {seq} of {stream_id} waits for its place, and has one")]
    Placed {
        /// The stream id in the row.
        stream_id: String,
        /// The sequence number in the row.
        seq: u64,
    },
    /// A leaf beyond the end of the tree.
    #[error("leaf {0} lies beyond the end of the tree")]
    Leaf(u64),
    /// A tile that the tree does not have, or of the wrong width.
    #[error("tile {0} has another width than in the tree")]
    Tile(TileId),
    /// The last signed size of the tree differs from the newest stored checkpoint.
    #[error("the tree records a signature at size {0}, and the newest checkpoint has another size")]
    Signed(u64),
}

impl Misplaced {
    /// Converts a row of the statement.
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

/// A repair, applied if the tree is unchanged since it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mending {
    pub size: u64,
    pub root: Digest,
    /// Tiles as derived from the leaves.
    pub tiles: Vec<Tile>,
    /// Tiles that the tree does not have, to be deleted.
    pub gone: Vec<TileId>,
}

/// Checks and repairs of the log's tables.
#[async_trait]
pub trait MendingStore: Send + Sync {
    /// Rows without their counterpart in other tables.
    async fn misplaced(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<Misplaced>, StorageError>;
    /// Signed checkpoints of sizes above `after` and up to `until`, by size.
    async fn checkpoints(
        &self,
        tenant_id: &TenantId,
        after: u64,
        until: u64,
    ) -> Result<Vec<StoredCheckpoint>, StorageError>;
    /// How many waiting rows can never be appended: no entry has their hash, or the entry is in the tree.
    async fn set_aside(&self, tenant_id: &TenantId) -> Result<u64, StorageError>;
    /// Writes and deletes tiles, deletes the rows of [`Self::set_aside`], and adds entries that are neither in the tree
    /// nor waiting to the outbox, in one transaction. `false`, without a change, if the tree has changed since it was
    /// read.
    async fn mend(&self, tenant_id: &TenantId, mending: &Mending) -> Result<bool, StorageError>;
}
