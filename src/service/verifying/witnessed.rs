//! Verifies cosignatures: each must verify with its stored key, for the checkpoint of its size.

use super::tree::{MOST, TreeFault, TreeReport};
use crate::domain::id::TenantId;
use crate::evidence::cosignature::WitnessKey;
use crate::evidence::note;
use crate::storage::{StorageError, Store, StoredCheckpoint, StoredCosignature};

/// Checkpoint sizes checked together.
const PAGE: u64 = 4_096;

/// Verifies every cosignature of a tenant with its checkpoint. Whether its key belongs to a trusted witness is for
/// callers who know the witnesses.
pub(super) async fn check(
    store: &dyn Store,
    tenant_id: &TenantId,
    report: &mut TreeReport,
) -> Result<(), StorageError> {
    let size = report.size;
    let pages = (0..size).step_by(usize::try_from(PAGE).unwrap_or(usize::MAX));
    let pages = pages.map(|after| (after, size.min(after + PAGE)));
    // The log may have grown since its size was read, so sizes beyond it are included.
    for (after, until) in pages.chain([(size, u64::MAX)]) {
        let cosignatures = store.cosignatures(tenant_id, after, until).await?;
        if cosignatures.is_empty() {
            continue;
        }
        // Read after the cosignatures, because a checkpoint is written before them.
        let checkpoints = store.checkpoints(tenant_id, after, until).await?;
        for cosignature in cosignatures {
            report.cosignatures += 1;
            let checkpoint = checkpoints.binary_search_by_key(&cosignature.size, |signed| signed.size);
            let checkpoint = checkpoint.ok().and_then(|at| checkpoints.get(at));
            if !checkpoint.is_some_and(|checkpoint| holds(&cosignature, checkpoint)) && report.faults.len() < MOST {
                report.faults.push(TreeFault::Cosignature(cosignature.size));
            }
        }
    }
    Ok(())
}

fn holds(cosignature: &StoredCosignature, checkpoint: &StoredCheckpoint) -> bool {
    let Ok(witness) = WitnessKey::parse(&cosignature.witness) else { return false };
    let Ok((text, _)) = note::taken_apart(&checkpoint.note) else { return false };
    matches!(witness.open(&cosignature.line, text), Ok(Some(_)))
}
