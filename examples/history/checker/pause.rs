//! Waiting: the one place of this program that sleeps. A server that is away tells nobody when it is back.

use std::time::Duration;

/// Stays away from a server for so long.
pub(crate) async fn stay_away(time: Duration) {
    tokio::time::sleep(time).await;
}
