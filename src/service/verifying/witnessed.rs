//! Verifying what witnesses cosigned: every cosignature is by the key that stands beside it, and under the checkpoint of
//! its size.

use super::tree::{MOST, TreeFault, TreeReport};
use crate::domain::id::TenantId;
use crate::evidence::cosignature::WitnessKey;
use crate::evidence::note;
use crate::storage::{StorageError, Store, StoredCheckpoint, StoredCosignature};

/// Sizes of checkpoints that are looked at together.
const PAGE: u64 = 4_096;

/// Holds every cosignature of a tenant against the checkpoint that it is under. Whether a key is that of a witness whom
/// somebody trusts is for those who know the witness.
pub(super) async fn check(
    store: &dyn Store,
    tenant_id: &TenantId,
    report: &mut TreeReport,
) -> Result<(), StorageError> {
    let size = report.size;
    let pages = (0..size).step_by(usize::try_from(PAGE).unwrap_or(usize::MAX));
    let pages = pages.map(|after| (after, size.min(after + PAGE)));
    // The log may have grown since its size was read. What lies beyond its end is under no checkpoint.
    for (after, until) in pages.chain([(size, u64::MAX)]) {
        let cosignatures = store.cosignatures(tenant_id, after, until).await?;
        if cosignatures.is_empty() {
            continue;
        }
        // Read after them: a cosignature comes after its checkpoint.
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
