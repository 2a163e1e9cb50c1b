//! The transparency log: what it costs a turn, how fast it grows, how fast it is taken home and verified.
//!
//! Four parts: the tree in memory (`tree`), turns with the tree and without it on both databases (`turns`), the evidence
//! that those turns left, exported and verified (`evidence`), and a log that has to catch up (`backlog`). Ratios are of the
//! same run; without the tree means that a trigger keeps the outbox empty and nobody sequences.
//!
//! `cargo bench --bench log` · `-- --short` for a quick look · `-- --backlog 1000000` for that part alone, so long

#![expect(clippy::unwrap_used, reason = "a log that cannot be made is nothing to measure")]

mod backlog;
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
    let arguments: Vec<String> = std::env::args().collect();
    let short = arguments.iter().any(|argument| argument == "--short");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if let Some(at) = arguments.iter().position(|argument| argument == "--backlog") {
        let turns = arguments.get(at + 1).and_then(|turns| turns.parse().ok());
        return runtime.block_on(backlog::measure(turns.unwrap()));
    }
    tree::measure(if short { 100_000 } else { 1_000_000 });
    let turns = if short { 2_000 } else { 20_000 };
    let kept = runtime.block_on(turns::measure(turns, if short { 1 } else { 3 }));
    runtime.block_on(evidence::measure(&kept));
    runtime.block_on(backlog::measure(turns));
}
