//! The transparency log: what it costs a turn, how fast it grows, how fast it is taken home and verified.
//!
//! Three parts: the tree in memory (`tree`), turns with the tree and without it on both databases (`turns`), and the
//! evidence that those turns left, exported and verified (`evidence`). Ratios are of the same run; without the tree means
//! that a trigger keeps the outbox empty and nobody sequences.
//!
//! `cargo bench --bench log` · `-- --short` for a quick look

#![expect(clippy::unwrap_used, reason = "a log that cannot be made is nothing to measure")]

mod evidence;
#[path = "../../tests/postgres/mod.rs"]
mod postgres;
mod tree;
mod turns;

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a PostgreSQL is set to that is started for this: its own defaults.
const SERVER: &[&str] = &[];

fn main() {
    let short = std::env::args().any(|argument| argument == "--short");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    tree::measure(if short { 100_000 } else { 1_000_000 });
    let turns = if short { 2_000 } else { 20_000 };
    let kept = runtime.block_on(turns::measure(turns, if short { 1 } else { 3 }));
    runtime.block_on(evidence::measure(&kept));
}
