//! The published vectors of the CT reference tree, and another crate's view of a larger one.

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use sha2::Sha256;

use super::reference::{append, leaves, mth, record};
use super::verifying::verify_leaf;
use super::*;

/// The records of the reference tree, and the root after each.
const VECTORS: [(&str, &str); 8] = [
    ("", "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
    ("00", "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
    ("10", "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
    ("2021", "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"),
    ("3031", "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"),
    ("40414243", "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"),
    ("5051525354555657", "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"),
    ("606162636465666768696a6b6c6d6e6f", "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
];

fn known_leaves() -> Vec<Digest> {
    VECTORS.iter().map(|(record, _)| leaf_hash_of(&hex::decode(record).unwrap())).collect()
}

#[test]
fn the_known_roots_come_out() {
    assert_eq!(empty_root().to_hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    let leaves = known_leaves();
    let mut stored = TileSet::new();
    for (size, (_, want)) in (0_u64..).zip(VECTORS) {
        let at = usize::try_from(size).unwrap();
        let grown = append(&mut stored, size, &leaves[at..=at]);
        assert_eq!(grown.root.to_hex(), want);
        assert_eq!(root(size + 1, &stored).unwrap().to_hex(), want);
        assert_eq!(mth(&leaves[..=at]).to_hex(), want);
    }
}

#[test]
fn the_known_proofs_hold() {
    let leaves = known_leaves();
    let mut stored = TileSet::new();
    append(&mut stored, 0, &leaves);
    let hex = |proof: Vec<Digest>| proof.iter().map(Digest::to_hex).collect::<Vec<_>>();
    assert_eq!(
        hex(inclusion_proof(5, 8, &stored).unwrap()),
        [
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ]
    );
    assert_eq!(
        hex(consistency_proof(6, 8, &stored).unwrap()),
        [
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ]
    );
    let root = Digest::from_hex(VECTORS[7].1).unwrap();
    let proof = inclusion_proof(5, 8, &stored).unwrap();
    assert_eq!(verify_leaf(leaves[5], 5, 8, &proof, &root), Ok(()));
}

#[test]
fn another_implementation_agrees() {
    let size: u32 = 1_000;
    let mut theirs = MemoryBackedTree::<Sha256, Vec<u8>>::new();
    for i in 0..1_000 {
        theirs.push(record(i).as_bytes().to_vec());
    }
    let mut stored = TileSet::new();
    let grown = append(&mut stored, 0, &leaves(1_000));
    assert_eq!(theirs.root().as_bytes().as_slice(), grown.root.as_bytes());
    let bytes = |proof: Vec<Digest>| proof.iter().flat_map(|hash| *hash.as_bytes()).collect::<Vec<u8>>();
    for at in 0..size {
        let ours = inclusion_proof(at.into(), size.into(), &stored).unwrap();
        assert_eq!(theirs.prove_inclusion(at as usize).as_bytes(), bytes(ours), "leaf {at}");
        if at > 0 {
            let ours = consistency_proof((size - at).into(), size.into(), &stored).unwrap();
            assert_eq!(theirs.prove_consistency(at as usize).as_bytes(), bytes(ours), "{at} added");
        }
    }
}
