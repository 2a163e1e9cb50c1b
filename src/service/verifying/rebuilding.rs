//! Rebuilds what follows from the leaves of a tree: tiles and the outbox. Leaves, roots and checkpoints are never made:
//! if the leaves do not give the signed root, nothing is written.

use futures_util::{StreamExt as _, TryStreamExt as _};

use super::tree::Derived;
use super::{pages, verify_tenant};
use crate::domain::id::TenantId;
use crate::evidence::tree::TileId;
use crate::storage::{Mending, Misplaced, StorageError, Store};

/// The most rows that are listed; further ones are repaired too.
const TOLD: u32 = 10_000;

/// Why a tree is not rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RebuildRefusal {
    /// An entry or its chain is invalid, so nothing derived from it would be evidence.
    #[error("a chain is invalid, so nothing derived from its entries would be evidence. Restore a backup")]
    Chains,
    /// The leaves do not give the stored root.
    #[error("the leaves do not give the stored root, and leaves cannot be rebuilt. Restore a backup")]
    Leaves,
    /// The leaves do not give the root of a checkpoint that was signed.
    #[error(
        "the leaves do not give the root of a checkpoint that was signed: this is another history. Restore a backup"
    )]
    Checkpoints,
    /// The tree grew meanwhile.
    #[error("the tree has grown meanwhile: run it again, or stop the servers first")]
    Grown,
}

/// The repairs that are made or would be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rebuilding {
    /// Tiles that are written as derived from the leaves.
    pub tiles: Vec<TileId>,
    /// Tiles that the tree does not have, which are deleted.
    pub gone: Vec<TileId>,
    /// Waiting rows that cannot get a leaf, which are deleted.
    pub set_aside: u64,
    /// Entries without a leaf that did not wait for one; they wait again.
    pub waits_again: u64,
}

impl Rebuilding {
    /// Whether there is nothing to repair.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Derives a tenant's tree from its leaves and returns the differences; with `write` they are repaired.
pub async fn rebuild_tree(
    store: &dyn Store,
    tenant_id: &TenantId,
    write: bool,
) -> Result<Result<Rebuilding, RebuildRefusal>, StorageError> {
    let head = store.tree(tenant_id).await?;
    let mut derived = Derived::new(tenant_id, head);
    let size = derived.target();
    let mut pages = futures_util::stream::iter(pages::of(size))
        .map(|from| pages::read(store, tenant_id, from, size))
        .buffered(pages::AT_ONCE);
    while let Some(page) = pages.try_next().await? {
        derived.append(&page);
        derived.compare(store).await?;
    }
    if !derived.end(store).await? {
        return Ok(Err(RebuildRefusal::Leaves));
    }
    if !derived.fits_checkpoints() {
        return Ok(Err(RebuildRefusal::Checkpoints));
    }
    if !verify_tenant(store, tenant_id).await?.broken.is_empty() {
        return Ok(Err(RebuildRefusal::Chains));
    }
    let Some(mut rebuilding) = planned(store, tenant_id).await? else { return Ok(Err(RebuildRefusal::Leaves)) };
    let misfits = std::mem::take(&mut rebuilding.gone);
    rebuilding.tiles = derived.wrong.iter().map(crate::evidence::tree::Tile::id).collect();
    rebuilding.gone = misfits.into_iter().filter(|id| !has(size, *id)).collect();
    if !write || rebuilding.is_nothing() {
        return Ok(Ok(rebuilding));
    }
    let root = head.map_or_else(crate::evidence::tree::empty_root, |head| head.root);
    let mending = Mending { size, root, tiles: derived.wrong, gone: rebuilding.gone.clone() };
    let done = store.mend(tenant_id, &mending).await?;
    Ok(if done { Ok(rebuilding) } else { Err(RebuildRefusal::Grown) })
}

/// Whether a tree of this size has this tile.
fn has(size: u64, id: TileId) -> bool {
    let hashes = size.checked_shr(8 * u32::from(id.level)).unwrap_or(0);
    id.index.checked_mul(256).is_some_and(|first| first < hashes)
}

/// The misplaced rows that can be repaired; none if there are leaves beyond the end of the tree.
async fn planned(store: &dyn Store, tenant_id: &TenantId) -> Result<Option<Rebuilding>, StorageError> {
    let mut rebuilding = Rebuilding { set_aside: store.set_aside(tenant_id).await?, ..Rebuilding::default() };
    for misplaced in store.misplaced(tenant_id, TOLD).await? {
        match misplaced {
            Misplaced::Leaf(_) => return Ok(None),
            Misplaced::Tile(id) => rebuilding.gone.push(id),
            Misplaced::Payload { .. } | Misplaced::Waiting { .. } | Misplaced::Placed { .. } | Misplaced::Signed(_) => {
            }
        }
    }
    let placed = store.placed(tenant_id).await?;
    let waiting = placed.waiting.saturating_sub(rebuilding.set_aside);
    rebuilding.waits_again = placed.entries.saturating_sub(placed.leaves.saturating_add(waiting));
    Ok(Some(rebuilding))
}
