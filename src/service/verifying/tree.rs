//! Verifies the tree: each leaf is one entry, tiles and root follow from the leaves, and every signed checkpoint
//! matches the tree at its size.

use super::pages::{Page, TILE};
use crate::domain::canonical::Digest;
use crate::domain::id::{StreamId, TenantId};
use crate::evidence::checkpoint::Checkpoint;
use crate::evidence::entry::LogEntry;
use crate::evidence::tree::{Growing, Tile, TileId, TileSet, empty_root, leaf_hash, right_edge};
use crate::storage::{Misplaced, StorageError, Store, StoredCheckpoint, TreeHead};

/// The most faults that are listed.
pub(super) const MOST: usize = 20;

/// How the tree does not match the entries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeFault {
    /// A leaf without an entry.
    #[error("leaf {0} has no entry")]
    Leaf(u64),
    /// The leaf is not the entry's hash.
    #[error("leaf {leaf} is not entry {seq} of {stream_id}")]
    Entry {
        leaf: u64,
        stream_id: StreamId,
        /// The entry's sequence number there.
        seq: u64,
    },
    /// A tile is missing, too short or wrong, so that proofs cannot be made.
    #[error("tile {0} is missing or does not follow from the leaves")]
    Tile(TileId),
    /// The stored root does not follow from the leaves.
    #[error("the stored tree does not follow from its leaves")]
    Root,
    /// A checkpoint is of another tree, or of another log.
    #[error("the checkpoint of size {0} is of another tree, or of another log")]
    Checkpoint(u64),
    /// A cosignature does not verify with its key, or its checkpoint is missing.
    #[error("a cosignature under the checkpoint of size {0} is not by its witness, or there is no such checkpoint")]
    Cosignature(u64),
    /// Entries are neither in the tree nor wait for their place.
    #[error("{0} entries are neither in the tree nor wait for their place")]
    Lost(u64),
    /// A row of the log's tables has no counterpart in the others.
    #[error("{0}")]
    Misplaced(#[from] Misplaced),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeReport {
    pub size: u64,
    pub checkpoints: u64,
    pub cosignatures: u64,
    /// Entries that wait for a leaf.
    pub waiting: u64,
    pub faults: Vec<TreeFault>,
}

/// The tree as derived from the leaves, one tile at a time: memory does not grow with the log.
pub(super) struct Derived {
    tenant_id: TenantId,
    head: Option<TreeHead>,
    size: u64,
    root: Digest,
    edge: Vec<Tile>,
    /// Full tiles above the leaves that were not compared yet.
    full: Vec<Tile>,
    checkpoints: u64,
    /// The log name of the newest checkpoint.
    origin: Option<String>,
    faults: Vec<TreeFault>,
    /// The right form of tiles that are stored differently.
    pub(super) wrong: Vec<Tile>,
    /// A leaf is missing, so nothing after it can be derived.
    ends: bool,
}

impl Derived {
    /// Starts without leaves. Leaves beyond the head read earlier are ignored.
    pub(super) fn new(tenant_id: &TenantId, head: Option<TreeHead>) -> Self {
        Self {
            tenant_id: tenant_id.clone(),
            head,
            size: 0,
            root: empty_root(),
            edge: Vec::new(),
            full: Vec::new(),
            checkpoints: 0,
            origin: None,
            faults: Vec::new(),
            wrong: Vec::new(),
            ends: false,
        }
    }

    /// The size to reach.
    pub(super) fn target(&self) -> u64 {
        self.head.map_or(0, |head| head.size)
    }

    fn fault(&mut self, fault: TreeFault) {
        if self.faults.len() < MOST {
            self.faults.push(fault);
        }
    }

    /// Appends the entries of the next leaves, and compares each with the stored leaf.
    pub(super) fn append(&mut self, page: &Page) {
        let mut found = page.entries.iter().peekable();
        for from in (page.from..page.until).step_by(usize::try_from(TILE).unwrap_or(usize::MAX)) {
            let until = page.until.min(from + TILE);
            let stored = page.tiles.iter().find(|tile| tile.id().index == from / TILE);
            let mut leaves = Vec::new();
            while let Some((leaf, entry, _)) = found.next_if(|(leaf, ..)| *leaf < until) {
                leaves.push((*leaf, entry));
            }
            if !self.ends {
                let signed = page.checkpoints.iter().filter(|signed| (from + 1..=until).contains(&signed.size));
                self.append_tile(until, &leaves, &signed.collect::<Vec<_>>(), stored);
            }
        }
    }

    fn append_tile(
        &mut self,
        until: u64,
        leaves: &[(u64, &LogEntry)],
        signed: &[&StoredCheckpoint],
        stored: Option<&Tile>,
    ) {
        // The edge is kept: tiles of higher levels change rarely and are needed again.
        let Ok(mut growing) = Growing::new(self.size, self.edge.clone()) else {
            self.ends = true;
            return self.fault(TreeFault::Root);
        };
        let (mut found, mut signed) = (leaves.iter().peekable(), signed.iter().peekable());
        for (place, index) in (self.size..until).enumerate() {
            let Some((_, entry)) = found.next_if(|(leaf, _)| *leaf == index) else {
                self.ends = true;
                return self.fault(TreeFault::Leaf(index));
            };
            let known = stored.and_then(|tile| tile.hashes().get(place));
            if known.is_some_and(|known| *known != leaf_hash(&entry.entry_hash)) {
                let header = &entry.header;
                let stream_id = header.stream_id.clone();
                self.fault(TreeFault::Entry { leaf: index, stream_id, seq: header.seq });
            }
            growing.push(&entry.entry_hash);
            if let Some(signed) = signed.next_if(|signed| signed.size == growing.size()) {
                self.look_at(signed, &growing.root());
            }
        }
        let grown = growing.finish();
        for tile in &grown.tiles {
            if tile.id().level > 0 {
                self.full.extend(tile.is_full().then(|| tile.clone()));
            } else if !stored.is_some_and(|stored| stored.hashes().starts_with(tile.hashes())) {
                let is_short = stored.is_none_or(|stored| stored.hashes().len() < tile.hashes().len());
                is_short.then(|| self.fault(TreeFault::Tile(tile.id())));
                self.wrong.push(tile.clone());
            }
        }
        let old = std::mem::take(&mut self.edge);
        let tiles: TileSet = old.into_iter().chain(grown.tiles).collect();
        self.edge = right_edge(grown.size).iter().filter_map(|id| tiles.get(*id).cloned()).collect();
        (self.size, self.root) = (grown.size, grown.root);
    }

    /// Checks that a checkpoint has the tree's root at its size, and a name of this tenant's log. Its signature is
    /// checked by callers who know the keys.
    fn look_at(&mut self, signed: &StoredCheckpoint, root: &Digest) {
        self.checkpoints += 1;
        let body = signed.note.split_inclusive("\n\n").next().and_then(|body| body.strip_suffix('\n'));
        let own = format!("/{}", self.tenant_id);
        let read = body.and_then(|body| Checkpoint::parse(body).ok()).filter(|read| read.origin().ends_with(&own));
        match read.filter(|read| read.size() == signed.size && read.root() == *root) {
            Some(read) => self.origin = Some(read.origin().to_owned()),
            None => self.fault(TreeFault::Checkpoint(signed.size)),
        }
    }

    /// Compares tiles above the leaves with what is stored.
    pub(super) async fn compare(&mut self, store: &dyn Store) -> Result<(), StorageError> {
        let tiles = std::mem::take(&mut self.full);
        self.compare_with(store, tiles).await
    }

    /// Stored tiles may have grown since, so only their beginning is compared.
    async fn compare_with(&mut self, store: &dyn Store, tiles: Vec<Tile>) -> Result<(), StorageError> {
        let ids: Vec<TileId> = tiles.iter().map(Tile::id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let stored: TileSet = store.tiles(&self.tenant_id, &ids).await?.into_iter().collect();
        for tile in tiles {
            if !stored.get(tile.id()).is_some_and(|now| now.hashes().starts_with(tile.hashes())) {
                self.fault(TreeFault::Tile(tile.id()));
                self.wrong.push(tile);
            }
        }
        Ok(())
    }

    /// Compares the end after all leaves. Returns whether the leaves give the stored tree.
    pub(super) async fn end(&mut self, store: &dyn Store) -> Result<bool, StorageError> {
        if self.ends {
            return Ok(false);
        }
        let edge = self.edge.iter().filter(|tile| tile.id().level > 0).cloned().collect();
        self.compare_with(store, edge).await?;
        let follows = self.size == self.target() && self.root == self.head.map_or_else(empty_root, |head| head.root);
        if !follows {
            self.fault(TreeFault::Root);
        }
        Ok(follows)
    }

    /// The report, after all leaves were appended.
    pub(super) async fn finish(mut self, store: &dyn Store) -> Result<TreeReport, StorageError> {
        self.end(store).await?;
        let limit = u32::try_from(MOST).unwrap_or(u32::MAX);
        for misplaced in store.misplaced(&self.tenant_id, limit).await? {
            self.fault(misplaced.into());
        }
        if let (Some(origin), Some(tenant)) = (&self.origin, store.tenant(&self.tenant_id).await?)
            && !origin.ends_with(&format!("/{}/{}", tenant.environment, tenant.tenant_id))
        {
            self.fault(TreeFault::Checkpoint(self.head.map_or(0, |head| head.signed)));
        }
        let placed = store.placed(&self.tenant_id).await?;
        let lost = placed.entries.saturating_sub(placed.leaves.saturating_add(placed.waiting));
        if lost > 0 {
            self.fault(TreeFault::Lost(lost));
        }
        let (size, checkpoints) = (self.target(), self.checkpoints);
        Ok(TreeReport { size, checkpoints, cosignatures: 0, waiting: placed.waiting, faults: self.faults })
    }

    /// Whether all signed checkpoints match this tree.
    pub(super) fn fits_checkpoints(&self) -> bool {
        !self.faults.iter().any(|fault| matches!(fault, TreeFault::Checkpoint(_)))
    }
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

    /// From 65,536 leaves on there is a third level, which most steps leave unchanged.
    #[test]
    fn a_tree_of_three_levels_follows_from_its_leaves() {
        let (entry, tenant_id) = (entry(), TenantId::new("t").unwrap());
        let looked = look(&tenant_id, &entry);
        for size in [1, 256, 257, 65_536, 65_537, 66_300, 131_900] {
            let mut growing = Growing::new(0, Vec::new()).unwrap();
            (0..size).for_each(|leaf| growing.push(&hash(leaf)));
            let grown = growing.finish();
            let head = TreeHead { size, root: grown.root, signed: 0 };
            let tiles: Vec<Tile> = grown.tiles.into_iter().filter(|tile| tile.id().level == 0).collect();
            let mut derived = Derived::new(&tenant_id, Some(head));
            for from in pages::of(size) {
                let until = size.min(from + 512);
                let tiles = tiles.iter().filter(|tile| (from / 256..until.div_ceil(256)).contains(&tile.id().index));
                let (tiles, checkpoints) = (tiles.cloned().collect(), Vec::new());
                let of = |leaf| (leaf, LogEntry { entry_hash: hash(leaf), ..entry.clone() }, looked.clone());
                let entries = (from..until).map(of).collect();
                derived.append(&Page { from, until, entries, tiles, checkpoints });
            }
            assert_eq!((derived.faults.as_slice(), derived.size), (&[][..], size));
            assert!(derived.root == head.root, "{size}");
        }
    }
}
