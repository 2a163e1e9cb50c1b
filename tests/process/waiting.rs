//! Waiting for another process: nothing in this one wakes when the other is ready, so it is asked again and again.

use std::time::{Duration, Instant};

const AGAIN: Duration = Duration::from_millis(10);

/// Lets so much time pass.
pub(crate) async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Asks until there is an answer; panics when there is none in time.
pub(crate) async fn until<T>(what: &str, within: Duration, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(begun.elapsed() < within, "{what}: not within {within:?}");
        pass(AGAIN).await;
    }
}
