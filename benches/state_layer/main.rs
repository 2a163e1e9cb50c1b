//! The state layer: what a pack and an observation cost in memory, and what a pack costs over HTTP against a bare read
//! of the same rows.
//!
//! Every figure stands beside a baseline of the same run: in memory a plain scan of the same text for the query's words,
//! over HTTP one `SELECT` of the same bodies by hand, on a connection that is open. Both take turns.
//!
//! `cargo bench --bench state_layer` · `-- --pure` for the part in memory alone · `-- --short` for a quick look

#![expect(clippy::unwrap_used, reason = "a database or a server that cannot be started is nothing to measure")]

mod corpus;
mod over_http;
#[path = "../../tests/postgres/mod.rs"]
mod postgres;
mod pure;

use std::time::{Duration, Instant};

/// What a PostgreSQL is set to that is started for this: nothing but its own defaults.
const SERVER: &[&str] = &[];

/// The median time of so many runs.
fn median(runs: usize, mut run: impl FnMut()) -> Duration {
    run();
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let began = Instant::now();
            run();
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let runs = if has("--short") { 5 } else { 101 };
    pure::report(runs);
    if !has("--pure") {
        over_http::report(runs).await;
    }
}
