//! Checking proofs, as RFC 9162 describes it: 2.1.3.2 and 2.1.4.2.
//!
//! Shares nothing with what builds them but the two hash functions, so that one mistake cannot hide in both. Accepts any
//! numbers and any bytes, and never panics.

use crate::domain::canonical::Digest;
use crate::evidence::tree::{empty_root, leaf_hash, node_hash};

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The position lies outside the tree, or the old tree is larger than the new one.
    #[error("the position or the older size lies outside the tree")]
    Outside,
    /// The proof does not have the length that these sizes need.
    #[error("the proof has another length than these sizes ask for")]
    Length,
    /// The proof leads to another root.
    #[error("the proof leads to another root")]
    Root,
}

/// Checks that the tree of this size and root has the record at this position.
///
/// The size must be the one in the same checkpoint as the root: a proof can fit several sizes if the path from the leaf
/// to the root is the same in them.
pub fn verify_inclusion(
    record: &Digest,
    index: u64,
    size: u64,
    proof: &[Digest],
    root: &Digest,
) -> Result<(), ProofError> {
    verify_leaf(leaf_hash(record), index, size, proof, root)
}

/// The same for the hash of a leaf.
pub(super) fn verify_leaf(
    leaf: Digest,
    index: u64,
    size: u64,
    proof: &[Digest],
    root: &Digest,
) -> Result<(), ProofError> {
    if index >= size {
        return Err(ProofError::Outside);
    }
    let mut way = Way { node: index, last: size - 1 };
    let mut hash = leaf;
    for beside in proof {
        hash = match way.up()? {
            Side::Left => node_hash(beside, &hash),
            Side::Right => node_hash(&hash, beside),
        };
    }
    way.arrived()?;
    if hash == *root { Ok(()) } else { Err(ProofError::Root) }
}

/// Checks that the tree of the new size and root begins with the tree of the old size and root.
///
/// Equal sizes need equal roots and no proof. Every tree begins with the empty one, so an old size of 0 needs the root
/// of the empty tree and no proof, and says nothing about the new root.
pub fn verify_consistency(
    old_size: u64,
    old_root: &Digest,
    new_size: u64,
    new_root: &Digest,
    proof: &[Digest],
) -> Result<(), ProofError> {
    if old_size > new_size {
        return Err(ProofError::Outside);
    }
    if old_size == 0 || old_size == new_size {
        return without_proof(old_size, old_root, new_size, new_root, proof);
    }
    // An old tree that is perfect is a node of the new one: the proof omits its root, which the verifier has.
    let (first, rest) =
        if old_size.is_power_of_two() { (old_root, proof) } else { proof.split_first().ok_or(ProofError::Length)? };
    let mut way = Way { node: old_size - 1, last: new_size - 1 };
    way.skip_right_children();
    let (mut old, mut new) = (*first, *first);
    for beside in rest {
        match way.up()? {
            Side::Left => {
                old = node_hash(beside, &old);
                new = node_hash(beside, &new);
            }
            Side::Right => new = node_hash(&new, beside),
        }
    }
    way.arrived()?;
    if old == *old_root && new == *new_root { Ok(()) } else { Err(ProofError::Root) }
}

/// The cases of consistency in which there is nothing to compute.
fn without_proof(
    old_size: u64,
    old_root: &Digest,
    new_size: u64,
    new_root: &Digest,
    proof: &[Digest],
) -> Result<(), ProofError> {
    if !proof.is_empty() {
        return Err(ProofError::Length);
    }
    let old_fits = old_size > 0 || *old_root == empty_root();
    let new_fits = old_size < new_size || old_root == new_root;
    if old_fits && new_fits { Ok(()) } else { Err(ProofError::Root) }
}

/// The side of the path on which the next hash of a proof is.
enum Side {
    Left,
    Right,
}

/// The path from a node to the root: `fn` and `sn` of RFC 9162.
struct Way {
    /// The node's place in its level.
    node: u64,
    /// The place of the last node of that level.
    last: u64,
}

impl Way {
    /// Goes up to the next node that has two children, and says where the other child is. Fails if this is the root.
    fn up(&mut self) -> Result<Side, ProofError> {
        if self.last == 0 {
            return Err(ProofError::Length);
        }
        let side = if self.node & 1 == 1 || self.node == self.last {
            // The last node of a level may have no neighbour: it is the same node on the levels above, up to the one
            // on which it is a right child.
            while self.node & 1 == 0 && self.node != 0 {
                self.climb();
            }
            Side::Left
        } else {
            Side::Right
        };
        self.climb();
        Ok(side)
    }

    /// Goes up as long as the node is a right child: to the largest subtree that ends where the first node ends.
    fn skip_right_children(&mut self) {
        while self.node & 1 == 1 {
            self.climb();
        }
    }

    fn climb(&mut self) {
        self.node >>= 1;
        self.last >>= 1;
    }

    fn arrived(&self) -> Result<(), ProofError> {
        if self.last == 0 { Ok(()) } else { Err(ProofError::Length) }
    }
}

#[cfg(test)]
#[path = "verifying_tests.rs"]
mod tests;
