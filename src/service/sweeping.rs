//! The sweeper: records due expiries soon after their deadline. Erasing by age is done by [`super::retention`].
//!
//! It decides nothing. It asks which conversations have something due and submits an ordinary operation for each; the
//! decision expires what is due under the lock, exactly as it would when the next message came. Of several servers on
//! one database, the holder of a lease sweeps; if it is gone, another one takes the lease. Two at once would do no harm
//! except work twice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Service, ServiceError};
use crate::committer::Submission;
use crate::domain::id::{ConversationId, TenantId};
use crate::domain::operation::{Operation, Sweep};

const ROUND: u32 = 500;
/// Contexts postponed per round.
const POSTPONE: u32 = 1_000;
/// Pause after a round that was not full.
const PAUSE: Duration = Duration::from_secs(1);
/// The name of the sweeper's lease.
const LEASE: &str = "sweeper";
/// Seconds until another server may take the lease of one that is gone. Longer than a round takes.
const LEASE_SECONDS: u32 = 15;
/// How often the lease is renewed: an idle server need not write every second.
const RENEW: Duration = Duration::from_secs(5);

impl Service {
    /// One round; returns how many conversations had something due.
    pub async fn sweep_once(&self) -> Result<usize, ServiceError> {
        let now = self.now();
        self.store.postpone(now, POSTPONE).await?;
        if !self.clocks().state().is_ahead() {
            self.store.forget_erasure_keys(now, POSTPONE).await?;
        }
        let due = self.store.due(now, ROUND).await?;
        metrics::gauge!("cscp_due_conversations").set(f64::from(u32::try_from(due.len()).unwrap_or(ROUND)));
        let mut swept = 0;
        for (tenant_id, conversation_id) in due {
            // A conversation that cannot be read must not stop the expiry of others.
            match self.sweep(&tenant_id, conversation_id).await {
                Ok(()) => swept += 1,
                Err(error) => {
                    metrics::counter!("cscp_sweep_failures_total").increment(1);
                    tracing::warn!(
                        tenant = %tenant_id, sweep.error = %error,
                        "a conversation could not be swept; its expiries are recorded late"
                    );
                }
            }
        }
        Ok(swept)
    }

    async fn sweep(&self, tenant_id: &TenantId, conversation_id: ConversationId) -> Result<(), ServiceError> {
        let Some(tenant) = self.store.tenant(tenant_id).await? else { return Ok(()) };
        let operation = Operation::Sweep(Sweep { conversation_id });
        self.committer.submit(Submission { tenant: Arc::new(tenant), operation, claim: None }).await?;
        Ok(())
    }

    /// Sweeps while it holds the lease, until the server stops. A failed round is tried again; expiry itself does not
    /// depend on it.
    pub async fn sweep_until(self, stopped: impl Future<Output = ()>) {
        let holder = self.fresh_secret().to_hex();
        tokio::select! {
            () = self.sweep_in_turn(&holder) => {}
            () = stopped => {}
        }
        // Releases the lease, so that another server need not wait until it expires.
        if let Err(error) = self.store.release_lease(LEASE, &holder).await {
            tracing::debug!(
                sweep.error = %error,
                "the sweeper's lease could not be released; another server can take it when it expires"
            );
        }
    }

    async fn sweep_in_turn(&self, holder: &str) {
        let mut ticks = tokio::time::interval(PAUSE);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut taken: Option<Instant> = None;
        loop {
            ticks.tick().await;
            if taken.is_none_or(|at| at.elapsed() >= RENEW) {
                taken = self.take_turn(holder).await.then(Instant::now);
            }
            if taken.is_none() {
                continue;
            }
            let round = self.sweep_once().await;
            let outcome = if round.is_ok() { "done" } else { "failed" };
            metrics::counter!("cscp_sweep_rounds_total", "outcome" => outcome).increment(1);
            match round {
                Ok(0) => {}
                Ok(swept) => metrics::counter!("cscp_swept_total").increment(u64::try_from(swept).unwrap_or(0)),
                Err(error) => tracing::warn!(
                    sweep.error = %error,
                    "a sweep failed and will be repeated; expiries are recorded late meanwhile"
                ),
            }
        }
    }

    /// Takes or renews the lease; whether this server holds it.
    pub async fn take_turn(&self, holder: &str) -> bool {
        let taken = self.store.take_lease(LEASE, holder, LEASE_SECONDS).await;
        let first = taken.unwrap_or_else(|error| {
            tracing::warn!(
                sweep.error = %error,
                "the sweeper's lease could not be taken or renewed; this server does not sweep meanwhile"
            );
            false
        });
        metrics::gauge!("cscp_sweeper").set(f64::from(u8::from(first)));
        if !first {
            // The lease holder reports the number.
            metrics::gauge!("cscp_due_conversations").set(0.0);
        }
        first
    }
}
