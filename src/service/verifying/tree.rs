//! Verifying the tree: the leaves are the entries, each once, and tiles and root follow from them.

use super::pages::{Page, TILE};
use crate::domain::canonical::Digest;
use crate::domain::id::{StreamId, TenantId};
use crate::evidence::checkpoint::Checkpoint;
use crate::evidence::entry::LogEntry;
use crate::evidence::tree::{Growing, Tile, TileSet, TreeError, empty_root, leaf_hash, right_edge, root};
use crate::storage::{StorageError, Store, StoredCheckpoint, TreeHead};

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

/// The tree as it follows from the leaves, a tile at a time: memory does not grow with the log.
pub(super) struct Derived {
    head: Option<TreeHead>,
    size: u64,
    root: Digest,
    edge: Vec<Tile>,
    faults: Vec<TreeFault>,
    /// A leaf is gone: nothing after it can be derived.
    ends: bool,
}

impl Derived {
    /// Begins with no leaf. What grows beyond the head as it was read is none of its business.
    pub(super) fn new(head: Option<TreeHead>) -> Self {
        Self { head, size: 0, root: empty_root(), edge: Vec::new(), faults: Vec::new(), ends: false }
    }

    /// The size that will be reached.
    pub(super) fn target(&self) -> u64 {
        self.head.map_or(0, |head| head.size)
    }

    /// Appends the entries of the next leaves, and compares each with the leaf as it is stored.
    pub(super) fn append(&mut self, page: &Page) {
        let mut found = page.entries.iter().peekable();
        for from in (page.from..page.until).step_by(usize::try_from(TILE).unwrap_or(usize::MAX)) {
            let until = page.until.min(from + TILE);
            let stored = page.tiles.iter().find(|tile| tile.id().index == from / TILE);
            let mut leaves = Vec::new();
            while let Some((leaf, entry, _)) = found.next_if(|(leaf, ..)| *leaf < until) {
                leaves.push((*leaf, entry));
            }
            if !self.ends && self.faults.len() < MOST {
                self.append_tile(until, &leaves, stored);
            }
        }
    }

    fn append_tile(&mut self, until: u64, leaves: &[(u64, &LogEntry)], stored: Option<&Tile>) {
        // The edge stays: tiles of higher levels do not change with every step and are needed again.
        let Ok(mut growing) = Growing::new(self.size, self.edge.clone()) else {
            self.ends = true;
            return self.faults.push(TreeFault::Root);
        };
        let mut found = leaves.iter().peekable();
        for (place, index) in (self.size..until).enumerate() {
            let Some((_, entry)) = found.next_if(|(leaf, _)| *leaf == index) else {
                self.ends = true;
                return self.faults.push(TreeFault::Leaf(index));
            };
            let known = stored.and_then(|tile| tile.hashes().get(place));
            if known.is_some_and(|known| *known != leaf_hash(&entry.entry_hash)) {
                let header = &entry.header;
                let stream_id = header.stream_id.clone();
                self.faults.push(TreeFault::Entry { leaf: index, stream_id, seq: header.seq });
            }
            growing.push(&entry.entry_hash);
        }
        let grown = growing.finish();
        let old = std::mem::take(&mut self.edge);
        let tiles: TileSet = old.into_iter().chain(grown.tiles).collect();
        self.edge = right_edge(grown.size).iter().filter_map(|id| tiles.get(*id).cloned()).collect();
        (self.size, self.root) = (grown.size, grown.root);
    }

    /// What was found, once all leaves were appended.
    pub(super) async fn finish(
        mut self,
        store: &dyn Store,
        tenant_id: &TenantId,
        checkpoint: Option<&StoredCheckpoint>,
    ) -> Result<TreeReport, StorageError> {
        let size = self.target();
        if self.faults.is_empty() {
            let follows = self.size == size && self.root == self.head.map_or_else(empty_root, |head| head.root);
            if !(follows && self.edge_is_stored(store, tenant_id).await?) {
                self.faults.push(TreeFault::Root);
            }
            if !checkpoint_fits(store, tenant_id, checkpoint, size).await? {
                self.faults.push(TreeFault::Checkpoint);
            }
        }
        let placed = store.placed(tenant_id).await?;
        let lost = placed.entries.saturating_sub(placed.leaves.saturating_add(placed.waiting));
        if lost > 0 {
            self.faults.push(TreeFault::Lost(lost));
        }
        Ok(TreeReport { size, waiting: placed.waiting, faults: self.faults })
    }

    /// Whether the tiles that the next leaves will be appended to are stored as they follow. They may have grown since.
    async fn edge_is_stored(&self, store: &dyn Store, tenant_id: &TenantId) -> Result<bool, StorageError> {
        let stored: TileSet = store.tiles(tenant_id, &right_edge(self.size)).await?.into_iter().collect();
        let begins = |tile: &Tile| stored.get(tile.id()).is_some_and(|now| now.hashes().starts_with(tile.hashes()));
        Ok(self.edge.iter().all(begins))
    }
}

/// Whether the newest checkpoint tells the root that a tree of its size has. Who signed it is for those who hold the
/// key's name.
async fn checkpoint_fits(
    store: &dyn Store,
    tenant_id: &TenantId,
    newest: Option<&StoredCheckpoint>,
    size: u64,
) -> Result<bool, StorageError> {
    let Some(newest) = newest else { return Ok(true) };
    let body = newest.note.split_inclusive("\n\n").next().and_then(|body| body.strip_suffix('\n'));
    let Some(Ok(checkpoint)) = body.map(Checkpoint::parse) else { return Ok(false) };
    if checkpoint.size() != newest.size || newest.size > size {
        return Ok(false);
    }
    let tiles: TileSet = store.tiles(tenant_id, &right_edge(newest.size)).await?.into_iter().collect();
    let then: Result<_, TreeError> = root(newest.size, &tiles);
    Ok(then == Ok(checkpoint.root()))
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::domain::event::{About, Event, ReadRecord, Recorded, StreamKey};
    use crate::domain::id::{Entropy, Ids};
    use crate::domain::policy::PolicyRef;
    use crate::domain::time::Timestamp;
    use crate::evidence::entry::{StreamHead, append};
    use crate::evidence::verify::look;
    use crate::service::verifying::pages;

    struct Same;
    impl Entropy for Same {
        fn bytes(&mut self) -> [u8; 32] {
            [7; 32]
        }
    }

    fn entry() -> LogEntry {
        let mut source = Same;
        let mut ids = Ids::new(Timestamp::from_micros(1), &mut source);
        let read = serde_json::json!({"operation": "look", "key_id": "k", "refused": false, "records": 1});
        let read: ReadRecord = serde_json::from_value(read).unwrap();
        let event = Event::ReadRecorded { read };
        let recorded = Recorded { stream: StreamKey::Access("k".to_owned()), about: About::default(), event };
        let policy = PolicyRef { pack_id: "basic".to_owned(), version: "1.0.0".to_owned(), hash: "h".to_owned() };
        let mut head = StreamHead::new(ids.stream());
        append(&mut head, &TenantId::new("t").unwrap(), &recorded, &policy, Timestamp::from_micros(1), &mut ids).entry
    }

    fn hash(leaf: u64) -> Digest {
        Digest::from_bytes(Sha256::digest(leaf.to_be_bytes()).into())
    }

    /// Beyond 65,536 leaves there is a third level, which most steps leave as it is.
    #[test]
    fn a_tree_of_three_levels_follows_from_its_leaves() {
        let (entry, tenant_id) = (entry(), TenantId::new("t").unwrap());
        let looked = look(&tenant_id, &entry);
        for size in [1, 256, 257, 65_536, 65_537, 66_300, 131_900] {
            let mut growing = Growing::new(0, Vec::new()).unwrap();
            (0..size).for_each(|leaf| growing.push(&hash(leaf)));
            let head = TreeHead { size, root: growing.finish().root, signed: 0 };
            let mut derived = Derived::new(Some(head));
            for from in pages::of(size) {
                let until = size.min(from + 512);
                let of = |leaf| (leaf, LogEntry { entry_hash: hash(leaf), ..entry.clone() }, looked.clone());
                let entries = (from..until).map(of).collect();
                derived.append(&Page { from, until, entries, tiles: Vec::new() });
            }
            assert_eq!((derived.faults.as_slice(), derived.size), (&[][..], size));
            assert!(derived.root == head.root, "{size}");
        }
    }
}
