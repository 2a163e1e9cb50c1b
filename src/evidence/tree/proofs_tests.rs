//! Proofs are those of RFC 6962, and are computed from the tiles that are named.

use super::*;
use crate::evidence::tree::reference::{Reference, leaves, record, tiles};
use crate::evidence::tree::{right_edge, verify_consistency, verify_inclusion};

/// Only those of the tiles that are named: a proof must not need another.
fn only(all: &TileSet, ids: Vec<TileId>) -> TileSet {
    ids.into_iter().map(|id| all.get(id).unwrap().clone()).collect()
}

#[test]
fn every_pair_of_sizes_up_to_256_from_the_tiles_of_a_larger_tree() {
    let mut reference = Reference::new(600);
    let newest = tiles(&leaves(600));
    let roots: Vec<Digest> = (0..=256).map(|size| reference.mth(0, size)).collect();
    for (new, new_root) in roots.iter().enumerate() {
        let size = new as u64;
        assert_eq!(root(size, &only(&newest, right_edge(size))).unwrap(), *new_root);
        for (old, old_root) in roots.iter().enumerate().take(new + 1) {
            let at = old as u64;
            let named = only(&newest, consistency_tiles(at, size).unwrap());
            let proof = consistency_proof(at, size, &named).unwrap();
            let want = if old == 0 { Vec::new() } else { reference.subproof(old, 0, new, true) };
            assert_eq!(proof, want, "{old} to {new}");
            assert_eq!(verify_consistency(at, old_root, size, new_root, &proof), Ok(()), "{old} to {new}");
            if old < new {
                let named = only(&newest, inclusion_tiles(at, size).unwrap());
                let proof = inclusion_proof(at, size, &named).unwrap();
                assert_eq!(proof, reference.path(old, 0, new), "{old} in {new}");
                assert_eq!(verify_inclusion(&record(old), at, size, &proof, new_root), Ok(()), "{old} in {new}");
            }
        }
    }
}

#[test]
fn corners_of_tiles_and_levels() {
    let mut reference = Reference::new(70_000);
    let newest = tiles(&leaves(70_000));
    let sizes = [1, 2, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537, 65_792, 65_793, 69_999, 70_000];
    let roots: Vec<Digest> = sizes.iter().map(|size| reference.mth(0, *size)).collect();
    for (new, new_root) in sizes.into_iter().zip(&roots) {
        let size = new as u64;
        for (old, old_root) in sizes.into_iter().zip(&roots).filter(|(old, _)| *old <= new) {
            let (at, leaf) = (old as u64, old - 1);
            let named = only(&newest, consistency_tiles(at, size).unwrap());
            let proof = consistency_proof(at, size, &named).unwrap();
            assert_eq!(proof, reference.subproof(old, 0, new, true), "{old} to {new}");
            assert_eq!(verify_consistency(at, old_root, size, new_root, &proof), Ok(()), "{old} to {new}");
            let named = only(&newest, inclusion_tiles(leaf as u64, size).unwrap());
            let proof = inclusion_proof(leaf as u64, size, &named).unwrap();
            assert_eq!(proof, reference.path(leaf, 0, new), "{leaf} in {new}");
            assert_eq!(verify_inclusion(&record(leaf), leaf as u64, size, &proof, new_root), Ok(()), "{leaf} in {new}");
        }
    }
}

#[test]
fn what_the_tree_does_not_have_is_outside() {
    let nothing = TileSet::new();
    for (index, size) in [(0, 0), (5, 5), (6, 5), (u64::MAX, u64::MAX)] {
        let outside = TreeError::Outside { wanted: index, size };
        assert_eq!(inclusion_tiles(index, size), Err(outside));
        assert_eq!(inclusion_proof(index, size, &nothing), Err(outside));
    }
    let outside = TreeError::Outside { wanted: 6, size: 5 };
    assert_eq!(consistency_tiles(6, 5), Err(outside));
    assert_eq!(consistency_proof(6, 5, &nothing), Err(outside));
}

#[test]
fn a_missing_or_older_tile_is_named() {
    let leaves = leaves(600);
    let id = TileId { level: 0, index: 2 };
    let older = tiles(&leaves[..550]);
    assert_eq!(root(600, &older), Err(TreeError::Narrow(id)));
    assert_eq!(inclusion_proof(3, 600, &older), Err(TreeError::Narrow(id)));
    assert_eq!(consistency_proof(550, 600, &older), Err(TreeError::Narrow(id)));
    assert_eq!(root(600, &TileSet::new()).unwrap_err(), TreeError::Missing(TileId { level: 0, index: 2 }));
}

#[test]
fn the_largest_sizes_have_tiles_too() {
    for size in [1 << 63, u64::MAX] {
        for index in [0, size / 3, size - 1] {
            let tiles = inclusion_tiles(index, size).unwrap();
            assert!(!tiles.is_empty() && tiles.len() <= 16, "{} tiles", tiles.len());
            assert!(consistency_tiles(index + 1, size).unwrap().len() <= 16);
        }
        assert!(root(size, &TileSet::new()).is_err());
    }
}
