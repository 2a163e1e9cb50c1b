//! One round: so many clients, each sending its next message when the last one is stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Way;

/// Numbers that no message had before, in this run of the program.
static NEXT: AtomicU64 = AtomicU64::new(1_000_000);

/// What a round gave.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    /// Messages per second.
    pub(crate) rate: f64,
    /// The median of the latencies, in milliseconds.
    pub(crate) p50: f64,
    /// Their 99th percentile.
    pub(crate) p99: f64,
}

/// Runs one; the first fifth is not counted.
pub(crate) async fn round(way: &Arc<dyn Way>, clients: u64, conversations: u64, each: Duration) -> Round {
    let counted_from = Instant::now() + each / 5;
    let until = Instant::now() + each;
    let tasks: Vec<_> = (0..clients)
        .map(|client| {
            let way = Arc::clone(way);
            tokio::spawn(async move {
                let mut latencies = Vec::new();
                loop {
                    let began = Instant::now();
                    if began >= until {
                        return latencies;
                    }
                    let number = NEXT.fetch_add(1, Ordering::Relaxed);
                    // Spread without order: neighbours in time are not neighbours in an index.
                    way.message(client, number, number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % conversations).await;
                    if began >= counted_from {
                        latencies.push(began.elapsed());
                    }
                }
            })
        })
        .collect();
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.unwrap());
    }
    let counted = counted_from.elapsed();
    latencies.sort();
    let at = |share: usize| latencies[(latencies.len() - 1) * share / 100].as_secs_f64() * 1_000.0;
    let messages = f64::from(u32::try_from(latencies.len()).unwrap());
    Round { rate: messages / counted.as_secs_f64(), p50: at(50), p99: at(99) }
}

/// Figure by figure.
pub(crate) fn median(rounds: &[Round]) -> Round {
    let middle = |of: fn(&Round) -> f64| {
        let mut figures: Vec<f64> = rounds.iter().map(of).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    Round { rate: middle(|round| round.rate), p50: middle(|round| round.p50), p99: middle(|round| round.p99) }
}
