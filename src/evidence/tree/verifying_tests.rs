//! Whatever is changed in a proof or what it is about, it is refused, and nothing panics.

use proptest::prelude::*;

use super::*;
use crate::evidence::tree::reference::{Reference, consistent, included, leaves, record};

/// Positions and sizes whose ways to the root differ in kind.
const SAMPLES: [(usize, usize); 10] =
    [(0, 1), (0, 2), (1, 3), (2, 3), (5, 7), (6, 7), (3, 8), (255, 257), (256, 257), (77, 300)];
const PAIRS: [(usize, usize); 9] = [(1, 2), (2, 3), (3, 4), (3, 7), (4, 8), (6, 8), (255, 257), (256, 257), (77, 300)];

/// The digest with each of its bits turned in turn.
fn flips(digest: &Digest) -> impl Iterator<Item = Digest> {
    let bytes = *digest.as_bytes();
    (0..256).map(move |bit| {
        let mut bytes = bytes;
        bytes[bit / 8] ^= 1 << (bit % 8);
        Digest::from_bytes(bytes)
    })
}

fn changed(proof: &[Digest]) -> Vec<Vec<Digest>> {
    let mut all: Vec<Vec<Digest>> = Vec::new();
    for (at, hash) in proof.iter().enumerate() {
        all.extend(flips(hash).map(|other| {
            let mut proof = proof.to_vec();
            proof[at] = other;
            proof
        }));
        let mut shorter = proof.to_vec();
        shorter.remove(at);
        let mut longer = proof.to_vec();
        longer.insert(at, *hash);
        all.extend([shorter, longer]);
    }
    all.push([proof, &[Digest::ZERO]].concat());
    all
}

#[test]
fn inclusion_depends_on_every_bit() {
    for (index, size) in SAMPLES {
        let leaves = leaves(size);
        let mut reference = Reference::new(size);
        let (proof, root) = (reference.path(index, 0, size), reference.mth(0, size));
        let record = record(index);
        let (at, n) = (index as u64, size as u64);
        assert_eq!(verify_inclusion(&record, at, n, &proof, &root), Ok(()));
        for other in flips(&root) {
            assert_eq!(verify_inclusion(&record, at, n, &proof, &other), Err(ProofError::Root));
        }
        for other in flips(&record) {
            assert_eq!(verify_inclusion(&other, at, n, &proof, &root), Err(ProofError::Root));
        }
        for other in changed(&proof) {
            assert!(verify_inclusion(&record, at, n, &other, &root).is_err(), "{index} in {size}");
        }
        for bit in 0..64 {
            assert!(verify_inclusion(&record, at ^ (1 << bit), n, &proof, &root).is_err(), "{index} in {size}");
            let other = n ^ (1 << bit);
            // Another size may lead the same way to the root; the reference says when.
            let same = at < other && included(leaves[index], at, other, &proof) == Some(root);
            assert_eq!(verify_inclusion(&record, at, other, &proof, &root).is_ok(), same, "{index} in {size}");
        }
    }
}

#[test]
fn consistency_depends_on_every_bit() {
    for (old, new) in PAIRS {
        let mut reference = Reference::new(new);
        let (old_root, new_root) = (reference.mth(0, old), reference.mth(0, new));
        let proof = reference.subproof(old, 0, new, true);
        let (m, n) = (old as u64, new as u64);
        assert_eq!(verify_consistency(m, &old_root, n, &new_root, &proof), Ok(()));
        for other in flips(&old_root) {
            assert_eq!(verify_consistency(m, &other, n, &new_root, &proof), Err(ProofError::Root));
        }
        for other in flips(&new_root) {
            assert_eq!(verify_consistency(m, &old_root, n, &other, &proof), Err(ProofError::Root));
        }
        for other in changed(&proof) {
            assert!(verify_consistency(m, &old_root, n, &new_root, &other).is_err(), "{old} to {new}");
        }
        for bit in 0..64 {
            for (m, n) in [(m ^ (1 << bit), n), (m, n ^ (1 << bit))] {
                let fits = || consistent(m, n, Some(old_root), &proof) == Some((old_root, new_root));
                let same = 0 < m && m < n && fits();
                let found = verify_consistency(m, &old_root, n, &new_root, &proof);
                assert_eq!(found.is_ok(), same, "{old} to {new}, taken as {m} to {n}");
            }
        }
    }
}

#[test]
fn the_last_leaf_says_how_large_the_tree_is() {
    let mut reference = Reference::new(5);
    let (proof, root) = (reference.path(4, 0, 5), reference.mth(0, 5));
    let fits = (0..100).filter(|size| verify_inclusion(&record(4), 4, *size, &proof, &root).is_ok());
    assert_eq!(fits.collect::<Vec<_>>(), [5]);
}

#[test]
fn nothing_is_proven_where_nothing_is() {
    let root = empty_root();
    assert_eq!(verify_inclusion(&record(0), 0, 0, &[], &root), Err(ProofError::Outside));
    assert_eq!(verify_consistency(0, &root, 0, &root, &[]), Ok(()));
    assert_eq!(verify_consistency(0, &root, 3, &record(1), &[]), Ok(()));
    assert_eq!(verify_consistency(0, &root, 3, &record(1), &[root]), Err(ProofError::Length));
    assert_eq!(verify_consistency(0, &record(1), 3, &record(1), &[]), Err(ProofError::Root));
    assert_eq!(verify_consistency(0, &root, 0, &record(1), &[]), Err(ProofError::Root));
    assert_eq!(verify_consistency(0, &record(1), 0, &record(1), &[]), Err(ProofError::Root));
}

#[test]
fn a_tree_is_consistent_with_itself_alone() {
    let (one, other) = (record(1), record(2));
    assert_eq!(verify_consistency(3, &one, 3, &one, &[]), Ok(()));
    assert_eq!(verify_consistency(3, &one, 3, &other, &[]), Err(ProofError::Root));
    assert_eq!(verify_consistency(3, &one, 3, &one, &[one]), Err(ProofError::Length));
    assert_eq!(verify_consistency(4, &one, 3, &one, &[]), Err(ProofError::Outside));
    assert_eq!(verify_consistency(2, &one, 3, &one, &[]), Err(ProofError::Length));
    assert_eq!(verify_consistency(3, &one, 4, &one, &[]), Err(ProofError::Length));
}

fn any_size() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..20, any::<u64>(), (0_u32..64).prop_map(|bit| 1 << bit), Just(u64::MAX)]
}

proptest! {
    /// With the roots that the proof leads to, if it leads to any, it is accepted; without, refused.
    #[test]
    fn any_input_is_judged_as_the_reference_does(
        m in any_size(),
        n in any_size(),
        proof in proptest::collection::vec(any::<[u8; 32]>(), 0..70),
    ) {
        let proof: Vec<Digest> = proof.into_iter().map(Digest::from_bytes).collect();
        let leaf = record(0);
        if m < n {
            let root = included(leaf, m, n, &proof);
            prop_assert_eq!(verify_leaf(leaf, m, n, &proof, &root.unwrap_or(leaf)).is_ok(), root.is_some());
            if m > 0 {
                let roots = consistent(m, n, m.is_power_of_two().then_some(leaf), &proof);
                let (old, new) = roots.unwrap_or((leaf, leaf));
                prop_assert_eq!(verify_consistency(m, &old, n, &new, &proof).is_ok(), roots.is_some());
            }
        } else {
            prop_assert_eq!(verify_leaf(leaf, m, n, &proof, &leaf), Err(ProofError::Outside));
        }
    }

    /// Random proofs seldom have the right length: these always have.
    #[test]
    fn proofs_of_the_right_length_are_judged_alike(m in 1_u64..5_000, more in 1_u64..5_000) {
        let n = m + more;
        for length in 0..30 {
            let proof: Vec<Digest> = (0..length).map(record).collect();
            let root = included(record(99), m, n, &proof);
            let found = verify_leaf(record(99), m, n, &proof, &root.unwrap_or(Digest::ZERO));
            prop_assert_eq!(found, if root.is_some() { Ok(()) } else { Err(ProofError::Length) });
            let known = m.is_power_of_two().then_some(record(99));
            let roots = consistent(m, n, known, &proof);
            let (old, new) = roots.unwrap_or((record(99), record(99)));
            let found = verify_consistency(m, &old, n, &new, &proof);
            prop_assert_eq!(found, if roots.is_some() { Ok(()) } else { Err(ProofError::Length) });
        }
    }
}
