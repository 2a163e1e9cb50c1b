//! Compares a database with knowledge from outside: the keys that must have signed, and a checkpoint kept earlier.

use crate::domain::id::TenantId;
use crate::evidence::auditing::{Flaw, Trusted};
use crate::evidence::checkpoint::Checkpoint;
use crate::evidence::tree::{TileSet, right_edge, root};
use crate::storage::{StorageError, Store};

const PAGE: u64 = 4_096;

/// Checks every checkpoint of a tenant, and the tree of the newest, against keys and a kept checkpoint from outside.
/// The kept checkpoint counts if a known key has signed it.
pub async fn check_checkpoint(
    store: &dyn Store,
    tenant_id: &TenantId,
    trusted: &Trusted,
) -> Result<Option<Flaw>, StorageError> {
    if trusted.keys.is_empty() {
        return Ok(None);
    }
    let newest = store.checkpoint(tenant_id).await?;
    let Some(Ok(newest)) = newest.map(|newest| Checkpoint::open(&newest.note, &trusted.keys)) else {
        return Ok(Some(Flaw::Checkpoint));
    };
    for after in (0..newest.size()).step_by(usize::try_from(PAGE).unwrap_or(usize::MAX)) {
        let signed = store.checkpoints(tenant_id, after, newest.size().min(after + PAGE)).await?;
        if signed.iter().any(|signed| Checkpoint::open(&signed.note, &trusted.keys).is_err()) {
            return Ok(Some(Flaw::Checkpoint));
        }
    }
    let Some(kept) = &trusted.kept else { return Ok(None) };
    let Ok(kept) = Checkpoint::open(kept, &trusted.keys) else { return Ok(Some(Flaw::Consistency)) };
    if kept.origin() != newest.origin() {
        return Ok(Some(Flaw::Consistency));
    }
    if kept.size() > newest.size() {
        return Ok(Some(Flaw::RolledBack));
    }
    let tiles: TileSet = store.tiles(tenant_id, &right_edge(kept.size())).await?.into_iter().collect();
    let then = root(kept.size(), &tiles);
    Ok((then != Ok(kept.root())).then_some(Flaw::Forked))
}
