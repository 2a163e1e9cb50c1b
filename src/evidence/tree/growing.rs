//! Appending to a tree: from the partial tiles of the old one to the changed tiles of the new one.

use crate::domain::canonical::Digest;
use crate::evidence::tree::tiles::{FULL, Tile, TileId, partial_tiles, row_root};
use crate::evidence::tree::{MAX_SIZE, TreeError, empty_root, leaf_hash};

/// A tree that is being appended to. Holds the partial tile of each level and the tiles that were filled since, so
/// appending k leaves takes O(k + log n) time and room.
#[derive(Debug, Clone)]
pub struct Growing {
    size: u64,
    /// From the leaves up.
    edge: Vec<Edge>,
    filled: Vec<Tile>,
}

/// The tile of a level that is not full yet, possibly without hashes.
#[derive(Debug, Clone, Default)]
struct Edge {
    index: u64,
    hashes: Vec<Digest>,
    changed: bool,
}

/// The result of appending to a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grown {
    pub size: u64,
    pub root: Digest,
    /// The tiles that are new or have grown, as they are now. All others are as they were.
    pub tiles: Vec<Tile>,
}

impl Growing {
    /// Resumes a tree of this size from the tiles of its [`right_edge`](super::right_edge), in any order.
    ///
    /// Fails if a tile is missing, does not belong there or has another width: appending to wrong tiles would write a
    /// second history over the first. Whether the hashes are right is checked by comparing [`root`](Self::root).
    pub fn new(size: u64, tiles: Vec<Tile>) -> Result<Self, TreeError> {
        if size >= MAX_SIZE {
            return Err(TreeError::TooLarge(size));
        }
        let mut edge = Vec::new();
        let mut tiles = tiles;
        for (id, width) in partial_tiles(size) {
            let at = tiles.iter().position(|tile| tile.id() == id).ok_or(TreeError::Missing(id))?;
            let tile = tiles.swap_remove(at);
            if tile.hashes().len() != width {
                return Err(TreeError::Misfit(id));
            }
            // Levels between partial ones end with a full tile.
            let level = usize::from(id.level);
            edge.resize_with(level, Edge::default);
            edge.push(Edge { index: id.index, hashes: tile.into_hashes(), changed: false });
        }
        if let Some(tile) = tiles.first() {
            return Err(TreeError::Misfit(tile.id()));
        }
        Ok(Self { size, edge: with_indices(edge, size), filled: Vec::new() })
    }

    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Its root. Right after resuming, the caller compares it with the stored root to detect wrong tiles.
    #[must_use]
    pub fn root(&self) -> Digest {
        let lower = self.edge.iter().fold(None, |lower: Option<Digest>, level| {
            // The hashes to the right of a level's full ones make one more, incomplete hash of that level.
            let row: Vec<Digest> = level.hashes.iter().copied().chain(lower).collect();
            (!row.is_empty()).then(|| row_root(&row))
        });
        lower.unwrap_or_else(empty_root)
    }

    pub fn push(&mut self, record: &Digest) {
        self.push_leaf(leaf_hash(record));
    }

    pub(super) fn push_leaf(&mut self, leaf: Digest) {
        self.size += 1;
        let mut carried = leaf;
        for level in 0_u8.. {
            let at = usize::from(level);
            if self.edge.len() <= at {
                self.edge.push(Edge::default());
            }
            let filled = self.edge.get_mut(at).and_then(|edge| edge.push(level, carried));
            let Some((tile, root)) = filled else { return };
            self.filled.push(tile);
            carried = root;
        }
    }

    /// The tree as it is now, and what has to be stored.
    #[must_use]
    pub fn finish(self) -> Grown {
        let root = self.root();
        let mut tiles = self.filled;
        for (level, edge) in (0_u8..).zip(self.edge).filter(|(_, edge)| edge.changed) {
            let id = TileId { level, index: edge.index };
            tiles.extend(Tile::new(id, edge.hashes));
        }
        Grown { size: self.size, root, tiles }
    }
}

impl Edge {
    /// Adds a hash. When that fills the tile: the tile and the root over it, which is a hash of the next level.
    fn push(&mut self, level: u8, hash: Digest) -> Option<(Tile, Digest)> {
        self.hashes.push(hash);
        self.changed = self.hashes.len() < FULL;
        if self.changed {
            return None;
        }
        let id = TileId { level, index: self.index };
        self.index += 1;
        let hashes = std::mem::take(&mut self.hashes);
        let root = row_root(&hashes);
        Some((Tile::new(id, hashes).ok()?, root))
    }
}

/// Computes the index of each level's next tile.
fn with_indices(mut edge: Vec<Edge>, size: u64) -> Vec<Edge> {
    let mut hashes = size;
    for level in &mut edge {
        hashes >>= 8;
        level.index = hashes;
    }
    edge
}

#[cfg(test)]
#[path = "growing_tests.rs"]
mod tests;
