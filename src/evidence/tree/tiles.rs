//! Tiles: rows of up to 256 neighbouring hashes of every eighth level, the stored form of a tree.

use std::collections::BTreeMap;
use std::fmt;

use crate::domain::canonical::Digest;
use crate::evidence::tree::{TreeError, empty_root, node_hash};

/// The number of tree levels that one tile covers; it stores the hashes of the lowest one.
const HEIGHT: u32 = 8;
/// The hashes of a full tile.
pub(super) const FULL: usize = 1 << HEIGHT;
const HASH_BYTES: usize = 32;
/// The levels of tiles that a tree can have: sizes are 64-bit numbers.
const LEVELS: u8 = 8;

/// Where a tile is. Its j-th hash is the root of the leaves from (256 · index + j) · 256^level on, 256^level of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileId {
    /// The level of tiles, 0 above the leaves.
    pub level: u8,
    /// Which tile of its level, from the left, counted from 0.
    pub index: u64,
}

impl fmt::Display for TileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.level, self.index)
    }
}

/// A tile: 1 to 256 hashes. It only ever grows to the right, so a wide tile serves older trees as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile {
    id: TileId,
    hashes: Vec<Digest>,
}

impl Tile {
    /// A tile of these hashes. Fails with [`TreeError::Length`] unless there are 1 to 256.
    pub fn new(id: TileId, hashes: Vec<Digest>) -> Result<Self, TreeError> {
        if hashes.is_empty() || hashes.len() > FULL {
            return Err(TreeError::Length(hashes.len().saturating_mul(HASH_BYTES)));
        }
        Ok(Self { id, hashes })
    }

    /// Reads the stored form. Fails with [`TreeError::Length`] unless it is 1 to 256 whole hashes.
    pub fn from_bytes(id: TileId, bytes: &[u8]) -> Result<Self, TreeError> {
        let (hashes, rest) = bytes.as_chunks::<HASH_BYTES>();
        if !rest.is_empty() || hashes.is_empty() || hashes.len() > FULL {
            return Err(TreeError::Length(bytes.len()));
        }
        Ok(Self { id, hashes: hashes.iter().copied().map(Digest::from_bytes).collect() })
    }

    /// The stored form: the hashes, one after the other.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.hashes.iter().flat_map(Digest::as_bytes).copied().collect()
    }

    #[must_use]
    pub fn id(&self) -> TileId {
        self.id
    }

    /// The hashes, from the left.
    #[must_use]
    pub fn hashes(&self) -> &[Digest] {
        &self.hashes
    }

    pub(super) fn into_hashes(self) -> Vec<Digest> {
        self.hashes
    }

    /// Whether it can grow no more.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.hashes.len() >= FULL
    }
}

/// Tiles that were loaded, by where they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TileSet(BTreeMap<TileId, Tile>);

impl TileSet {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tile, replacing one at the same place.
    pub fn insert(&mut self, tile: Tile) {
        self.0.insert(tile.id, tile);
    }

    #[must_use]
    pub fn get(&self, id: TileId) -> Option<&Tile> {
        self.0.get(&id)
    }

    /// The hash of a perfect subtree, computed from the tile below it.
    pub(super) fn hash_of(&self, subtree: Subtree) -> Result<Digest, TreeError> {
        let (id, start, width) = subtree.place();
        let tile = self.get(id).ok_or(TreeError::Missing(id))?;
        let row = tile.hashes.get(start..start + width).ok_or(TreeError::Narrow(id))?;
        Ok(row_root(row))
    }
}

impl FromIterator<Tile> for TileSet {
    fn from_iter<I: IntoIterator<Item = Tile>>(tiles: I) -> Self {
        Self(tiles.into_iter().map(|tile| (tile.id, tile)).collect())
    }
}

impl Extend<Tile> for TileSet {
    fn extend<I: IntoIterator<Item = Tile>>(&mut self, tiles: I) {
        tiles.into_iter().for_each(|tile| self.insert(tile));
    }
}

/// A subtree of 2^level leaves that begins at a multiple of its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subtree {
    pub(super) start: u64,
    /// The level of its root, 0 for a leaf.
    pub(super) level: u32,
}

impl Subtree {
    /// The tile that holds the hashes it is computed from.
    pub(super) fn tile(self) -> TileId {
        self.place().0
    }

    /// That tile, and where in it the hashes begin and how many there are. They never cross into the next tile: there
    /// are at most 128, and they begin at a multiple of their number.
    fn place(self) -> (TileId, usize, usize) {
        let level = self.level / HEIGHT;
        let row = self.start >> (level * HEIGHT);
        let id = TileId { level: u8::try_from(level).unwrap_or(LEVELS), index: row >> HEIGHT };
        (id, within_tile(row), 1 << (self.level % HEIGHT))
    }
}

/// The offset in its tile of a hash with this position in its level; or the width of the last tile of a level with this
/// many hashes, 0 if that tile is full.
fn within_tile(place: u64) -> usize {
    let [low, ..] = place.to_le_bytes();
    usize::from(low)
}

/// The tiles at the right edge of a tree that are not full, one a level at most, with their widths. They hold all that
/// is needed to append to the tree.
pub(super) fn partial_tiles(size: u64) -> impl Iterator<Item = (TileId, usize)> {
    let levels = (0..LEVELS).map(move |level| {
        let hashes = size >> (u32::from(level) * HEIGHT);
        (TileId { level, index: hashes >> HEIGHT }, within_tile(hashes))
    });
    levels.filter(|(_, width)| *width > 0)
}

/// The tiles that have to be loaded to append to a tree of this size, or to compute its root: the partial ones at its
/// right edge, one a level at most.
#[must_use]
pub fn right_edge(size: u64) -> Vec<TileId> {
    partial_tiles(size).map(|(id, _)| id).collect()
}

/// The root over neighbouring hashes (RFC 6962): the left part is the largest power of two smaller than the whole.
pub(super) fn row_root(row: &[Digest]) -> Digest {
    match row {
        [] => empty_root(),
        [only] => *only,
        _ => {
            let (left, right) = row.split_at(row.len().next_power_of_two() / 2);
            node_hash(&row_root(left), &row_root(right))
        }
    }
}

#[cfg(test)]
#[path = "tiles_tests.rs"]
mod tests;
