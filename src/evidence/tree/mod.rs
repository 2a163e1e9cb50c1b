//! The Merkle tree over a tenant's entries, as RFC 6962 defines it.
//!
//! Leaf i is the record i, in order of appending; a record here is an entry's hash. The hashes of every eighth level
//! are stored, 256 to a tile (C2SP tlog-tiles); all other hashes are computed from them. Nothing here does I/O: a
//! caller asks which tiles are needed, loads them and passes them in.

mod growing;
mod path;
mod proofs;
mod tiles;
mod verifying;

use sha2::{Digest as _, Sha256};

pub use growing::{Growing, Grown};
pub use path::{TileKind, TilePath};
pub use proofs::{Prover, consistency_proof, consistency_tiles, inclusion_proof, inclusion_tiles, root};
pub use tiles::{Tile, TileId, TileSet, right_edge};
pub use verifying::{ProofError, verify_consistency, verify_inclusion};

use crate::domain::canonical::Digest;

/// The largest number of leaves: 2^63, so that sizes fit a signed column and no sum of positions overflows.
pub const MAX_SIZE: u64 = 1 << 63;

/// Why a computation on a tree fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// More leaves than [`MAX_SIZE`], or no room for another.
    #[error("a tree of {0} leaves is too large")]
    TooLarge(u64),
    /// A position or an older size that the tree of this size does not have.
    #[error("{wanted} lies outside a tree of {size} leaves")]
    Outside {
        /// The position or older size.
        wanted: u64,
        size: u64,
    },
    /// A needed tile was not passed in.
    #[error("the tile {0} is missing")]
    Missing(TileId),
    /// A tile holds fewer hashes than a tree of the size has there.
    #[error("the tile {0} is too narrow")]
    Narrow(TileId),
    /// A tile that is no partial tile of a tree of the size, or not as wide as it must be.
    #[error("the tile {0} does not belong to a tree of that size")]
    Misfit(TileId),
    /// Bytes or hashes that are no tile: none, more than 256, or a part of one.
    #[error("{0} bytes are no tile")]
    Length(usize),
}

/// The root of the tree without leaves: SHA-256 of nothing.
#[must_use]
pub fn empty_root() -> Digest {
    Digest::from_bytes(Sha256::new().finalize().into())
}

/// The hash of a leaf: SHA-256(0x00 ‖ record).
#[must_use]
pub fn leaf_hash(record: &Digest) -> Digest {
    leaf_hash_of(record.as_bytes())
}

/// The hash of a leaf whose record may have any length, as the published test vectors have.
fn leaf_hash_of(record: &[u8]) -> Digest {
    let hasher = Sha256::new().chain_update([0]).chain_update(record);
    Digest::from_bytes(hasher.finalize().into())
}

/// The hash of an inner node: SHA-256(0x01 ‖ left ‖ right).
#[must_use]
pub fn node_hash(left: &Digest, right: &Digest) -> Digest {
    let hasher = Sha256::new().chain_update([1]).chain_update(left.as_bytes()).chain_update(right.as_bytes());
    Digest::from_bytes(hasher.finalize().into())
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "reference.rs"]
mod reference;
