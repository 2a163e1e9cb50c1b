//! What witnesses signed under the checkpoints of a log, and which checkpoint is given out to anybody.

use async_trait::async_trait;

use super::{StorageError, StoredCheckpoint};
use crate::domain::id::TenantId;

/// A witness's signature under a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCosignature {
    /// The size of the tree that the checkpoint is of.
    pub size: u64,
    /// The witness's key (vkey): it says what the line was verified with.
    pub witness: String,
    /// The signature line, without its line break.
    pub line: String,
}

/// What a database keeps of witnesses.
#[async_trait]
pub trait WitnessStore: Send + Sync {
    /// Keeps cosignatures, all or none. Where a witness has one under the same checkpoint, that one stays; says how many
    /// are new.
    async fn keep_cosignatures(
        &self,
        tenant_id: &TenantId,
        cosignatures: &[StoredCosignature],
    ) -> Result<u64, StorageError>;
    /// Cosignatures under checkpoints of sizes above `after` and up to `until`, by size and witness.
    async fn cosignatures(
        &self,
        tenant_id: &TenantId,
        after: u64,
        until: u64,
    ) -> Result<Vec<StoredCosignature>, StorageError>;
    /// From now on the checkpoint of this size is given out to anybody, unless a newer one is already.
    async fn publish_checkpoint(&self, tenant_id: &TenantId, size: u64) -> Result<(), StorageError>;
    /// The newest checkpoint that was given out to anybody.
    async fn published_checkpoint(&self, tenant_id: &TenantId) -> Result<Option<StoredCheckpoint>, StorageError>;
}
