//! The retention sweeper: runs a round every few minutes while this server holds the lease.

use std::time::{Duration, Instant};

use super::{Mode, Retention, Round};
use crate::storage::StorageError;

/// Time between rounds. Retention periods are days, so minutes do not matter.
const PAUSE: Duration = Duration::from_mins(5);
/// A round starts up to this much later, so that periodic tasks do not all run at once.
const JITTER: Duration = Duration::from_mins(1);
/// Pause between the turns of a round, so that requests come first.
const BREATH: Duration = Duration::from_millis(20);
/// The name of the lease for erasing by age.
const LEASE: &str = "retention";
/// Seconds until another server may take the lease of one that is gone. Longer than a turn takes.
const LEASE_SECONDS: u32 = 60;
/// How often the lease is renewed.
const RENEW: Duration = Duration::from_secs(10);

impl Retention {
    /// Runs rounds while it holds the lease, until the server stops. The next round continues an interrupted one.
    pub async fn sweep_until(&self, holder: &str, stopped: impl Future<Output = ()>) {
        tokio::select! {
            () = self.sweep_in_turn(holder) => {}
            () = stopped => {}
        }
        if let Err(error) = self.store.release_lease(LEASE, holder).await {
            tracing::debug!(
                retention.error = %error,
                "the retention lease could not be released; another server can take it when it expires"
            );
        }
    }

    async fn sweep_in_turn(&self, holder: &str) {
        // The lease is asked for more often than a round runs, so that another server takes over soon.
        let mut next = Instant::now() + self.jitter();
        let mut ticks = ticks(RENEW);
        loop {
            ticks.tick().await;
            let held = self.take_turn(holder).await;
            metrics::gauge!("cscp_retention_sweeper").set(f64::from(u8::from(held)));
            if !held {
                // The lease holder reports the lag.
                metrics::gauge!("cscp_retention_lag_seconds").set(0.0);
            }
            if held && let Err(error) = self.finish_spaces().await {
                tracing::warn!(retention.error = %error, "erasures of fact spaces could not be looked for; tried again");
            }
            if !held || Instant::now() < next {
                continue;
            }
            let round = self.sweep(holder).await;
            let outcome = if round.is_ok() { "done" } else { "failed" };
            metrics::counter!("cscp_retention_rounds_total", "outcome" => outcome).increment(1);
            if let Err(error) = round {
                tracing::warn!(retention.error = %error, "a round of retention failed; the next one tries again");
            }
            next = Instant::now() + PAUSE + self.jitter();
        }
    }

    /// Takes or renews the lease; whether this server holds it.
    pub async fn take_turn(&self, holder: &str) -> bool {
        self.store.take_lease(LEASE, holder, LEASE_SECONDS).await.unwrap_or_else(|error| {
            tracing::warn!(
                retention.error = %error,
                "the retention lease could not be taken or renewed; this server erases nothing by age meanwhile"
            );
            false
        })
    }

    /// Runs one round over every tenant while the lease is held.
    async fn sweep(&self, holder: &str) -> Result<(), StorageError> {
        if let Err(why) = self.proven().await? {
            tracing::warn!(retention.reason = %why, "nothing is erased by age until the clock is right");
            return Ok(());
        }
        let tenants = self.store.tenants().await?;
        let mut rounds: Vec<Round> = tenants.into_iter().map(|tenant| Self::round(tenant, Mode::Live)).collect();
        let mut renewed = Instant::now();
        let mut lag = 0;
        let mut breath = ticks(BREATH);
        while !rounds.is_empty() {
            self.turn(&mut rounds).await;
            lag = rounds.iter().map(|round| round.disposed().lag_seconds).max().unwrap_or(0).max(lag);
            rounds.retain(|round| !round.is_over());
            breath.tick().await;
            if renewed.elapsed() >= RENEW {
                if !self.take_turn(holder).await || self.proven().await?.is_err() {
                    return Ok(());
                }
                renewed = Instant::now();
            }
        }
        // A gauge is a float; the rounding of a lag in seconds does not matter.
        metrics::gauge!("cscp_retention_lag_seconds").set(u32::try_from(lag).map_or(f64::from(u32::MAX), f64::from));
        Ok(())
    }

    fn jitter(&self) -> Duration {
        let byte = self.with_entropy(|entropy| entropy.bytes()[0]);
        JITTER * u32::from(byte) / 255
    }
}

/// Ticks with this time between them, however long the work between two of them takes.
fn ticks(apart: Duration) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(apart);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ticks
}
