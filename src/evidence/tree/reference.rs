//! RFC 6962 word for word over all leaves, and trees to compare with it. Slow, and obviously right.

use std::collections::BTreeMap;

use crate::domain::canonical::Digest;
use crate::evidence::tree::{Growing, Grown, Tile, TileId, TileSet, empty_root, node_hash, right_edge};

/// The largest power of two less than n, for n > 1.
fn split(n: usize) -> usize {
    let mut k = 1;
    while k * 2 < n {
        k *= 2;
    }
    k
}

/// `MTH` of 2.1, over the hashes of leaves.
pub(super) fn mth(leaves: &[Digest]) -> Digest {
    match leaves {
        [] => empty_root(),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(split(leaves.len()));
            node_hash(&mth(left), &mth(right))
        }
    }
}

/// The leaves of every test with the roots over parts of them that were computed before.
pub(super) struct Reference {
    leaves: Vec<Digest>,
    known: BTreeMap<(usize, usize), Digest>,
}

impl Reference {
    pub(super) fn new(size: usize) -> Self {
        Self { leaves: leaves(size), known: BTreeMap::new() }
    }

    /// `MTH` of 2.1 of the leaves from `start` to before `end`.
    pub(super) fn mth(&mut self, start: usize, end: usize) -> Digest {
        if end - start < 2 {
            return mth(&self.leaves[start..end]);
        }
        if let Some(root) = self.known.get(&(start, end)) {
            return *root;
        }
        let middle = start + split(end - start);
        let root = node_hash(&self.mth(start, middle), &self.mth(middle, end));
        self.known.insert((start, end), root);
        root
    }

    /// `PATH` of 2.1.1 for the leaf `m` of those from `start` to before `end`.
    pub(super) fn path(&mut self, m: usize, start: usize, end: usize) -> Vec<Digest> {
        if end - start == 1 {
            return Vec::new();
        }
        let k = split(end - start);
        let middle = start + k;
        let (mut proof, other) = if m < k {
            (self.path(m, start, middle), self.mth(middle, end))
        } else {
            (self.path(m - k, middle, end), self.mth(start, middle))
        };
        proof.push(other);
        proof
    }

    /// `SUBPROOF` of 2.1.2 for the first `m` of the leaves from `start` to before `end`.
    pub(super) fn subproof(&mut self, m: usize, start: usize, end: usize, known: bool) -> Vec<Digest> {
        if m == end - start {
            return if known { Vec::new() } else { vec![self.mth(start, end)] };
        }
        let k = split(end - start);
        let middle = start + k;
        let (mut proof, other) = if m <= k {
            (self.subproof(m, start, middle, known), self.mth(middle, end))
        } else {
            (self.subproof(m - k, middle, end, false), self.mth(start, middle))
        };
        proof.push(other);
        proof
    }
}

/// The root that a proof of inclusion leads to, taken from the top down; none if it has another length.
pub(super) fn included(leaf: Digest, m: u64, n: u64, proof: &[Digest]) -> Option<Digest> {
    if n == 1 {
        return proof.is_empty().then_some(leaf);
    }
    let (other, rest) = proof.split_last()?;
    let k = 1 << (n - 1).ilog2();
    if m < k {
        Some(node_hash(&included(leaf, m, k, rest)?, other))
    } else {
        Some(node_hash(other, &included(leaf, m - k, n - k, rest)?))
    }
}

/// The old and the new root that a proof of consistency leads to, taken from the top down.
pub(super) fn consistent(m: u64, n: u64, old_root: Option<Digest>, proof: &[Digest]) -> Option<(Digest, Digest)> {
    if m == n {
        return match (old_root, proof) {
            (Some(root), []) => Some((root, root)),
            (None, [root]) => Some((*root, *root)),
            _ => None,
        };
    }
    let (other, rest) = proof.split_last()?;
    let k = 1 << (n - 1).ilog2();
    if m <= k {
        let (old, new) = consistent(m, k, old_root, rest)?;
        Some((old, node_hash(&new, other)))
    } else {
        let (old, new) = consistent(m - k, n - k, None, rest)?;
        Some((node_hash(other, &old), node_hash(other, &new)))
    }
}

/// The tiles of a tree, by their definition.
pub(super) fn tiles(leaves: &[Digest]) -> TileSet {
    let mut all = TileSet::new();
    let mut row = leaves.to_vec();
    for level in 0.. {
        for (index, hashes) in (0..).zip(row.chunks(256)) {
            all.insert(Tile::new(TileId { level, index }, hashes.to_vec()).unwrap());
        }
        row = row.chunks_exact(256).map(mth).collect();
        if row.is_empty() {
            break;
        }
    }
    all
}

/// The record i of every test.
pub(super) fn record(i: usize) -> Digest {
    let mut bytes = [0xa5; 32];
    bytes[..8].copy_from_slice(&(i as u64).to_be_bytes());
    Digest::from_bytes(bytes)
}

/// The hashes of the first leaves.
pub(super) fn leaves(n: usize) -> Vec<Digest> {
    (0..n).map(|i| crate::evidence::tree::leaf_hash(&record(i))).collect()
}

/// Appends to what is stored, as a log does: loads the right edge, stores what changed.
pub(super) fn append(stored: &mut TileSet, size: u64, leaves: &[Digest]) -> Grown {
    let edge = right_edge(size).into_iter().map(|id| stored.get(id).unwrap().clone()).collect();
    let mut growing = Growing::new(size, edge).unwrap();
    for leaf in leaves {
        growing.push_leaf(*leaf);
    }
    let grown = growing.finish();
    stored.extend(grown.tiles.iter().cloned());
    grown
}
