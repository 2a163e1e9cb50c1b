//! Building proofs from tiles. Only a log does this; a verifier needs `verifying` only.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::canonical::Digest;
use crate::evidence::tree::tiles::{Subtree, TileId, TileSet};
use crate::evidence::tree::{TreeError, empty_root, node_hash};

/// Leaves side by side, from `start` to before `end`: at least one, and `start` a multiple of the smallest power of two
/// that is not less than their number. Every part that RFC 6962 divides a tree into is one.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u64,
    end: u64,
}

impl Span {
    /// Splits off the largest power of two smaller than the whole, as its left part. None for a single leaf.
    fn parts(self) -> Option<(Self, Self)> {
        let last = self.end - self.start - 1;
        let middle = self.start + (1_u64 << last.checked_ilog2()?);
        Some((Self { end: middle, ..self }, Self { start: middle, ..self }))
    }

    /// The perfect subtrees it is made of, from the left: one for each binary digit of its length.
    fn subtrees(self) -> Vec<Subtree> {
        let mut found = Vec::new();
        let mut start = self.start;
        while let Some(level) = (self.end - start).checked_ilog2() {
            found.push(Subtree { start, level });
            start += 1 << level;
        }
        found
    }

    /// The root over its leaves.
    fn root(self, tiles: &TileSet) -> Result<Digest, TreeError> {
        let mut right: Option<Digest> = None;
        for subtree in self.subtrees().into_iter().rev() {
            let left = tiles.hash_of(subtree)?;
            right = Some(right.map_or(left, |right| node_hash(&left, &right)));
        }
        Ok(right.unwrap_or_else(empty_root))
    }
}

/// The root of a tree of this size. Needs the tiles of its [`right_edge`](super::right_edge), which may have grown
/// since.
pub fn root(size: u64, tiles: &TileSet) -> Result<Digest, TreeError> {
    Span { start: 0, end: size }.root(tiles)
}

/// The tiles from which [`inclusion_proof`] is computed. Fails with [`TreeError::Outside`] if there is no such leaf.
pub fn inclusion_tiles(index: u64, size: u64) -> Result<Vec<TileId>, TreeError> {
    inclusion_spans(index, size).map(tiles_of)
}

/// The proof that the tree of this size has the record at this position, from the leaf up (RFC 6962, 2.1.1). The tiles
/// may belong to a larger tree.
pub fn inclusion_proof(index: u64, size: u64, tiles: &TileSet) -> Result<Vec<Digest>, TreeError> {
    inclusion_spans(index, size)?.into_iter().map(|span| span.root(tiles)).collect()
}

/// Builds many inclusion proofs from the same tiles: neighbouring leaves share most of their proofs, and what is shared
/// is computed once.
#[derive(Debug)]
pub struct Prover<'a> {
    tiles: &'a TileSet,
    size: u64,
    known: BTreeMap<(u64, u64), Digest>,
}

impl<'a> Prover<'a> {
    /// Proofs in the tree of this size. The tiles may belong to a larger tree.
    #[must_use]
    pub fn new(tiles: &'a TileSet, size: u64) -> Self {
        Self { tiles, size, known: BTreeMap::new() }
    }

    /// What [`inclusion_proof`] gives.
    pub fn inclusion_proof(&mut self, index: u64) -> Result<Vec<Digest>, TreeError> {
        inclusion_spans(index, self.size)?.into_iter().map(|span| self.root(span)).collect()
    }

    fn root(&mut self, span: Span) -> Result<Digest, TreeError> {
        if let Some(known) = self.known.get(&(span.start, span.end)) {
            return Ok(*known);
        }
        let root = span.root(self.tiles)?;
        self.known.insert((span.start, span.end), root);
        Ok(root)
    }
}

/// The tiles from which [`consistency_proof`] is computed. Fails with [`TreeError::Outside`] if the old tree is larger
/// than the new one.
pub fn consistency_tiles(old: u64, new: u64) -> Result<Vec<TileId>, TreeError> {
    consistency_spans(old, new).map(tiles_of)
}

/// The proof that the tree of the new size begins with the tree of the old one (RFC 6962, 2.1.2). Empty if the sizes
/// are equal, or nothing was in the old tree. The tiles may belong to a larger tree.
pub fn consistency_proof(old: u64, new: u64, tiles: &TileSet) -> Result<Vec<Digest>, TreeError> {
    consistency_spans(old, new)?.into_iter().map(|span| span.root(tiles)).collect()
}

/// The parts of the tree whose roots prove a leaf: the siblings of its path to the root.
fn inclusion_spans(index: u64, size: u64) -> Result<Vec<Span>, TreeError> {
    if index >= size {
        return Err(TreeError::Outside { wanted: index, size });
    }
    let mut way = Span { start: 0, end: size };
    let mut beside = Vec::new();
    while let Some((left, right)) = way.parts() {
        let (next, other) = if index < left.end { (left, right) } else { (right, left) };
        way = next;
        beside.push(other);
    }
    beside.reverse();
    Ok(beside)
}

/// The parts of the new tree whose roots prove that it begins with the old one: the siblings of the path to the old
/// tree's end, and the last part of the old tree unless that is the old tree itself.
fn consistency_spans(old: u64, new: u64) -> Result<Vec<Span>, TreeError> {
    if old > new {
        return Err(TreeError::Outside { wanted: old, size: new });
    }
    if old == 0 || old == new {
        return Ok(Vec::new());
    }
    let mut way = Span { start: 0, end: new };
    let mut spans = Vec::new();
    while way.end != old {
        let Some((left, right)) = way.parts() else { break };
        let (next, other) = if old <= left.end { (left, right) } else { (right, left) };
        way = next;
        spans.push(other);
    }
    if way.start > 0 {
        spans.push(way);
    }
    spans.reverse();
    Ok(spans)
}

/// The tiles below these parts, each once.
fn tiles_of(spans: Vec<Span>) -> Vec<TileId> {
    let tiles: BTreeSet<TileId> = spans.into_iter().flat_map(Span::subtrees).map(Subtree::tile).collect();
    tiles.into_iter().collect()
}

#[cfg(test)]
#[path = "proofs_tests.rs"]
mod tests;
