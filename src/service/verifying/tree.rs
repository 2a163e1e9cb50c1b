//! Verifying the tree: the leaves are the entries, each once, and tiles and root follow from them.

use crate::domain::id::{StreamId, TenantId};
use crate::evidence::checkpoint::Checkpoint;
use crate::evidence::tree::{Growing, Tile, TileSet, TreeError, empty_root, leaf_hash, right_edge, root};
use crate::storage::{Leaf, StorageError, Store};

/// Leaves looked at together: one tile of them.
const TILE: u32 = 256;
/// So many faults say enough.
const MOST: usize = 20;

/// How the tree does not fit the entries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeFault {
    /// A place without an entry, or the entry is gone.
    #[error("leaf {0} stands for no entry")]
    Leaf(u64),
    /// The entry's hash is not what was hashed into the leaf.
    #[error("leaf {leaf} is not entry {seq} of {stream_id}")]
    Entry {
        /// The leaf.
        leaf: u64,
        /// The entry's chain.
        stream_id: StreamId,
        /// The entry's place there.
        seq: u64,
    },
    /// The stored tiles or the stored root do not follow from the leaves.
    #[error("the stored tree does not follow from its leaves")]
    Root,
    /// The newest checkpoint is of another tree.
    #[error("the newest checkpoint is of another tree")]
    Checkpoint,
    /// Entries are neither in the tree nor wait for their place.
    #[error("{0} entries are neither in the tree nor wait for their place")]
    Lost(u64),
}

/// What was found of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeReport {
    /// Leaves checked.
    pub size: u64,
    /// Entries that wait for their place.
    pub waiting: u64,
    /// What does not fit; the first few.
    pub faults: Vec<TreeFault>,
}

/// Derives the tree anew from its leaves, a tile at a time: memory does not grow with the log. `entries` is how many
/// entries the chains have; what was written since they were counted waits, and is none the worse for it.
pub(super) async fn check(store: &dyn Store, tenant_id: &TenantId, entries: u64) -> Result<TreeReport, StorageError> {
    let head = store.tree(tenant_id).await?;
    let size = head.map_or(0, |head| head.size);
    let mut report = TreeReport { size, ..TreeReport::default() };
    let mut derived = Derived::default();
    while derived.size < size && report.faults.len() < MOST {
        let leaves = store.leaves(tenant_id, derived.size, TILE).await?;
        let id = crate::evidence::tree::TileId { level: 0, index: derived.size / u64::from(TILE) };
        let stored = store.tiles(tenant_id, &[id]).await?;
        let before = derived.size;
        derived.append(&leaves, size, stored.first(), &mut report.faults);
        if derived.size == before {
            break;
        }
    }
    let whole = report.faults.is_empty();
    let follows = derived.size == size && derived.root == head.map_or_else(empty_root, |head| head.root);
    if whole && !(follows && derived.edge_is_stored(store, tenant_id).await?) {
        report.faults.push(TreeFault::Root);
    }
    if whole && !checkpoint_fits(store, tenant_id, size).await? {
        report.faults.push(TreeFault::Checkpoint);
    }
    report.waiting = entries.saturating_sub(size);
    let waits = store.waiting_count(tenant_id).await?;
    if waits < report.waiting {
        report.faults.push(TreeFault::Lost(report.waiting - waits));
    }
    Ok(report)
}

/// The tree as it follows from the leaves.
struct Derived {
    size: u64,
    root: crate::domain::canonical::Digest,
    edge: Vec<Tile>,
}

impl Default for Derived {
    fn default() -> Self {
        Self { size: 0, root: empty_root(), edge: Vec::new() }
    }
}

impl Derived {
    /// Appends the entries of the next leaves, and compares each with the leaf as it is stored.
    fn append(&mut self, leaves: &[Leaf], size: u64, stored: Option<&Tile>, faults: &mut Vec<TreeFault>) {
        let Ok(mut growing) = Growing::new(self.size, std::mem::take(&mut self.edge)) else {
            faults.push(TreeFault::Root);
            return;
        };
        let until = size.min(self.size.saturating_add(u64::from(TILE)));
        let mut found = leaves.iter().peekable();
        for (place, index) in (self.size..until).enumerate() {
            let leaf = found.next_if(|leaf| leaf.index == index);
            let Some(Leaf { stream_id, seq, entry_hash: Some(hash), .. }) = leaf else {
                faults.push(TreeFault::Leaf(index));
                return;
            };
            let known = stored.and_then(|tile| tile.hashes().get(place));
            if known.is_some_and(|known| *known != leaf_hash(hash)) {
                faults.push(TreeFault::Entry { leaf: index, stream_id: stream_id.clone(), seq: *seq });
            }
            growing.push(hash);
        }
        let grown = growing.finish();
        let edge = right_edge(grown.size);
        let old = std::mem::take(&mut self.edge);
        let tiles: TileSet = old.into_iter().chain(grown.tiles).collect();
        self.edge = edge.iter().filter_map(|id| tiles.get(*id).cloned()).collect();
        (self.size, self.root) = (grown.size, grown.root);
    }

    /// Whether the tiles that the next leaves will be appended to are stored as they follow.
    async fn edge_is_stored(&self, store: &dyn Store, tenant_id: &TenantId) -> Result<bool, StorageError> {
        let stored: TileSet = store.tiles(tenant_id, &right_edge(self.size)).await?.into_iter().collect();
        Ok(self.edge.iter().all(|tile| stored.get(tile.id()) == Some(tile)))
    }
}

/// Whether the newest checkpoint tells the root that a tree of its size has. Who signed it is for those who hold the
/// key's name.
async fn checkpoint_fits(store: &dyn Store, tenant_id: &TenantId, size: u64) -> Result<bool, StorageError> {
    let Some(newest) = store.checkpoint(tenant_id).await? else { return Ok(true) };
    let body = newest.note.split_inclusive("\n\n").next().and_then(|body| body.strip_suffix('\n'));
    let Some(Ok(checkpoint)) = body.map(Checkpoint::parse) else { return Ok(false) };
    if checkpoint.size() != newest.size || newest.size > size {
        return Ok(false);
    }
    let tiles: TileSet = store.tiles(tenant_id, &right_edge(newest.size)).await?.into_iter().collect();
    let then: Result<_, TreeError> = root(newest.size, &tiles);
    Ok(then == Ok(checkpoint.root()))
}
