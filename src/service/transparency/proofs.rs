//! Reads of the log: its newest checkpoint, and proofs for it.

use serde::Serialize;

use super::Transparency;
use crate::domain::canonical::Digest;
use crate::domain::id::{ArtifactId, TenantId};
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::evidence::tree::{
    TileId, TileSet, TreeError, consistency_proof, consistency_tiles, inclusion_proof, inclusion_tiles,
};
use crate::service::{Caller, Service, ServiceError};
use crate::storage::StoredCheckpoint;

/// The newest checkpoint of a tenant's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckpointShown {
    /// The name of the log.
    pub origin: String,
    pub size: u64,
    /// The signed note (C2SP) with its cosignatures, for an auditor to keep.
    pub note: String,
    /// When it was signed, by this server's clock, which proves nothing.
    pub signed_at: Timestamp,
    /// The keys that sign it, in the form for verifiers (C2SP vkey).
    pub keys: Vec<String>,
}

/// A proof that an entry is in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InclusionShown {
    pub artifact_id: ArtifactId,
    /// The entry's hash; its 32 bytes are the leaf's record.
    pub entry_hash: String,
    /// Its index, counted from 0.
    pub leaf_index: u64,
    /// The size of the tree that the proof is for.
    pub tree_size: u64,
    /// The sibling hashes on the path to the root, from the leaf upwards.
    pub proof: Vec<String>,
    /// The checkpoint of that size.
    pub checkpoint: String,
}

/// A proof that an older tree is the beginning of a newer one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConsistencyShown {
    pub from: u64,
    /// The newer size: that of the newest checkpoint.
    pub to: u64,
    pub proof: Vec<String>,
    /// The checkpoint of the newer size.
    pub checkpoint: String,
}

impl Transparency {
    async fn load(&self, tenant_id: &TenantId, wanted: &[TileId]) -> Result<TileSet, ServiceError> {
        Ok(self.store.tiles(tenant_id, wanted).await?.into_iter().collect())
    }

    /// The newest checkpoint with its cosignatures; none before the first.
    pub(in crate::service) async fn newest(
        &self,
        tenant_id: &TenantId,
    ) -> Result<Option<StoredCheckpoint>, ServiceError> {
        match self.store.checkpoint(tenant_id).await? {
            Some(newest) => self.with_cosignatures(tenant_id, newest).await.map(Some),
            None => Ok(None),
        }
    }
}

fn shown(proof: &[Digest]) -> Vec<String> {
    proof.iter().map(Digest::prefixed).collect()
}

/// If the stored tree gives no proof, it is not the tree that this program wrote.
pub(in crate::service) fn broken(error: TreeError) -> ServiceError {
    tracing::error!(log.error = %error, "the stored tree gives no proof: it is damaged; run cscp verify");
    ServiceError::Internal
}

impl Service {
    /// The newest checkpoint. It contains no data of a person, so the read is not recorded.
    pub async fn checkpoint(&self, caller: &Caller) -> Result<CheckpointShown, ServiceError> {
        caller.require(Scope::EvidenceRead)?;
        let newest = self.log.newest(&caller.tenant.tenant_id).await?;
        let StoredCheckpoint { size, at, note } = newest.ok_or(ServiceError::NotFound("checkpoint"))?;
        let signer = self.log.signer.as_ref().ok_or(ServiceError::NotFound("checkpoint"))?;
        let origin = signer.origin(&caller.tenant);
        let keys = signer.verifiers(&origin).map_err(|_| ServiceError::Internal)?;
        let keys = keys.iter().map(ToString::to_string).collect();
        Ok(CheckpointShown { origin, size, note, signed_at: at, keys })
    }

    /// A proof that an entry is in the tree of the newest checkpoint; refused for a while after the entry was written.
    pub async fn inclusion(&self, caller: &Caller, id: &ArtifactId) -> Result<InclusionShown, ServiceError> {
        let tenant_id = &caller.tenant.tenant_id;
        let entry = self.entry_to_prove(caller, id).await?;
        let newest = self.log.newest(tenant_id).await?.ok_or(ServiceError::NotInLogYet)?;
        let leaf = self.store.leaf(tenant_id, &entry.header.stream_id, entry.header.seq).await?;
        let leaf_index = leaf.filter(|leaf| *leaf < newest.size).ok_or(ServiceError::NotInLogYet)?;
        let tiles = self.log.load(tenant_id, &inclusion_tiles(leaf_index, newest.size).map_err(broken)?).await?;
        let proof = inclusion_proof(leaf_index, newest.size, &tiles).map_err(broken)?;
        Ok(InclusionShown {
            artifact_id: id.clone(),
            entry_hash: entry.entry_hash.prefixed(),
            leaf_index,
            tree_size: newest.size,
            proof: shown(&proof),
            checkpoint: newest.note,
        })
    }

    /// A proof that the tree of an older size is the beginning of the newest checkpoint's.
    pub async fn consistency(&self, caller: &Caller, from: u64) -> Result<ConsistencyShown, ServiceError> {
        caller.require(Scope::EvidenceRead)?;
        let tenant_id = &caller.tenant.tenant_id;
        let newest = self.log.newest(tenant_id).await?.ok_or(ServiceError::NotFound("checkpoint"))?;
        if from == 0 || from > newest.size {
            return Err(ServiceError::NotFound("tree of that size"));
        }
        let tiles = self.log.load(tenant_id, &consistency_tiles(from, newest.size).map_err(broken)?).await?;
        let proof = consistency_proof(from, newest.size, &tiles).map_err(broken)?;
        Ok(ConsistencyShown { from, to: newest.size, proof: shown(&proof), checkpoint: newest.note })
    }
}
