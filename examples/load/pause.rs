//! Waiting for a moment: the one place of this program that sleeps. Time is what it measures with, and a client that
//! was told to come back later has nothing else to wait for.

use std::time::{Duration, Instant};

/// Holds this thread until then. Finer than the timers of the runtime, which tick in whole milliseconds.
pub(crate) fn until(moment: Instant) {
    std::thread::sleep(moment.saturating_duration_since(Instant::now()));
}

/// Stays away from a server for so long.
pub(crate) async fn stay_away(time: Duration) {
    tokio::time::sleep(time).await;
}
