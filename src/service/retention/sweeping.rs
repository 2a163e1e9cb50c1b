//! The sweeper of what is past its time: a round now and then, by whoever holds the lease.

use std::time::{Duration, Instant};

use super::{Mode, Retention, Round};
use crate::storage::StorageError;

/// Between two rounds: periods are days.
const PAUSE: Duration = Duration::from_mins(5);
/// A round begins up to so much later, so that not everything that runs every few minutes runs at once.
const JITTER: Duration = Duration::from_mins(1);
/// Between two turns of a round: those who write go first.
const BREATH: Duration = Duration::from_millis(20);
/// The lease of whoever erases.
const LEASE: &str = "retention";
/// How long one that is gone is waited for, in seconds. Longer than a turn takes.
const LEASE_SECONDS: u32 = 60;
/// How long the lease is relied on before it is renewed.
const RENEW: Duration = Duration::from_secs(10);

impl Retention {
    /// Erases in rounds while it holds the lease, until it is told to stop. What a round leaves, the next one takes.
    pub async fn sweep_until(&self, holder: &str, stopped: impl Future<Output = ()>) {
        tokio::select! {
            () = self.sweep_in_turn(holder) => {}
            () = stopped => {}
        }
        if let Err(error) = self.store.release_lease(LEASE, holder).await {
            tracing::debug!(retention.error = %error, "the lease of retention was left to run out");
        }
    }

    async fn sweep_in_turn(&self, holder: &str) {
        // Those who only wait for their turn ask more often than they would have to erase.
        let mut next = Instant::now() + self.jitter();
        let mut ticks = ticks(RENEW);
        loop {
            ticks.tick().await;
            let held = self.take_turn(holder).await;
            metrics::gauge!("cscp_retention_sweeper").set(f64::from(u8::from(held)));
            if !held {
                // Whoever erases says how far behind it is.
                metrics::gauge!("cscp_retention_lag_seconds").set(0.0);
            }
            if !held || Instant::now() < next {
                continue;
            }
            let round = self.sweep(holder).await;
            let outcome = if round.is_ok() { "done" } else { "failed" };
            metrics::counter!("cscp_retention_rounds_total", "outcome" => outcome).increment(1);
            if let Err(error) = round {
                tracing::warn!(retention.error = %error, "a round of retention failed and will be repeated");
            }
            next = Instant::now() + PAUSE + self.jitter();
        }
    }

    /// Whether it is this holder's turn.
    pub async fn take_turn(&self, holder: &str) -> bool {
        self.store.take_lease(LEASE, holder, LEASE_SECONDS).await.unwrap_or_else(|error| {
            tracing::warn!(retention.error = %error, "the lease of retention could not be asked for");
            false
        })
    }

    /// One round over every tenant, for as long as the lease is held.
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
        // Metrics are numbers with a fraction: what is lost of a lag in seconds is nothing.
        metrics::gauge!("cscp_retention_lag_seconds").set(u32::try_from(lag).map_or(f64::from(u32::MAX), f64::from));
        Ok(())
    }

    fn jitter(&self) -> Duration {
        let byte = self.with_entropy(|entropy| entropy.bytes()[0]);
        JITTER * u32::from(byte) / 255
    }
}

/// Ticks so far apart, however long what is done between two of them takes.
fn ticks(apart: Duration) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(apart);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ticks
}
