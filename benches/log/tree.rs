//! The tree in memory: appending, proving and verifying at a million leaves.
//!
//! The baseline of the same run is SHA-256 over as many pairs of hashes: what no tree can do without.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cscp::domain::canonical::Digest;
use cscp::evidence::tree::{
    Growing, TileSet, consistency_proof, consistency_tiles, inclusion_proof, inclusion_tiles, node_hash, right_edge,
    root, verify_inclusion,
};

/// Entries in one step, as the sequencer takes them.
const BATCH: u64 = 1_024;

fn record(number: u64) -> Digest {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    Digest::from_bytes(bytes)
}

/// The tiles of a tree, grown step by step, and how long the steps took.
fn grown(size: u64) -> (TileSet, Duration) {
    let mut tiles = TileSet::new();
    let mut spent = Duration::ZERO;
    let mut at = 0;
    while at < size {
        let until = size.min(at + BATCH);
        let edge = right_edge(at).into_iter().map(|id| tiles.get(id).unwrap().clone()).collect();
        let began = Instant::now();
        let mut growing = Growing::new(at, edge).unwrap();
        for number in at..until {
            growing.push(&record(number));
        }
        let step = growing.finish();
        spent += began.elapsed();
        tiles.extend(step.tiles);
        at = until;
    }
    (tiles, spent)
}

fn per(time: Duration, count: u64) -> f64 {
    time.as_secs_f64() * 1e6 / f64::from(u32::try_from(count).unwrap())
}

/// A tree of so many leaves.
pub(crate) fn measure(size: u64) {
    let began = Instant::now();
    let mut hash = record(0);
    for number in 0..size * 2 {
        hash = node_hash(&hash, &record(number));
    }
    black_box(hash);
    let plain = began.elapsed();
    let (tiles, appending) = grown(size);
    let whole = root(size, &tiles).unwrap();
    let leaves = (0..1_000).map(|n| n * (size / 1_000));
    let began = Instant::now();
    let proofs: Vec<_> = leaves.clone().map(|leaf| inclusion_proof(leaf, size, &tiles).unwrap()).collect();
    let proving = began.elapsed();
    let began = Instant::now();
    for (leaf, proof) in leaves.clone().zip(&proofs) {
        verify_inclusion(&record(leaf), leaf, size, proof, &whole).unwrap();
    }
    let verifying = began.elapsed();
    let began = Instant::now();
    for old in leaves.clone().map(|leaf| leaf + 1) {
        black_box(consistency_proof(old, size, &tiles).unwrap());
    }
    let consistent = began.elapsed();
    let most = |wanted: &dyn Fn(u64) -> usize| leaves.clone().map(wanted).max().unwrap();
    let rows = (
        most(&|leaf| inclusion_tiles(leaf, size).unwrap().len()),
        most(&|leaf| consistency_tiles(leaf + 1, size).unwrap().len()),
    );
    println!("{size} leaves, in steps of {BATCH}");
    println!("| what | microseconds each | |");
    println!("|---|---|---|");
    println!(
        "| append a leaf | {:.2} | {:.0} leaves/s, {:.2} times the hashing alone |",
        per(appending, size),
        1e6 / per(appending, size),
        appending.as_secs_f64() / plain.as_secs_f64()
    );
    println!("| inclusion proof | {:.1} | of at most {} tiles |", per(proving, 1_000), rows.0);
    println!("| consistency proof | {:.1} | of at most {} tiles |", per(consistent, 1_000), rows.1);
    println!(
        "| verify an inclusion | {:.1} | {} hashes |",
        per(verifying, 1_000),
        proofs.iter().map(Vec::len).max().unwrap()
    );
}
