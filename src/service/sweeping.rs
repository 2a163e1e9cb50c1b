//! The sweeper: makes due deadlines durable in time. What has served its time goes by [`super::retention`].
//!
//! It decides nothing. It asks which conversations have something due and submits an ordinary operation for each;
//! the decision expires what is due under the lock, exactly as it would when the next message came. Of several servers
//! on one database one sweeps at a time: whoever holds the lease, and when it is gone, whoever takes it over. Nothing
//! would break if two did; it would be done twice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Service, ServiceError};
use crate::committer::Submission;
use crate::domain::id::{ConversationId, TenantId};
use crate::domain::operation::{Operation, Sweep};

/// Conversations looked at in one round.
const ROUND: u32 = 500;
/// Contexts put off in one round.
const POSTPONE: u32 = 1_000;
/// Between two rounds that found little.
const PAUSE: Duration = Duration::from_secs(1);
/// The lease of whoever sweeps.
const LEASE: &str = "sweeper";
/// How long a sweeper that is gone is waited for, in seconds. Longer than a round takes.
const LEASE_SECONDS: u32 = 15;
/// How long it is relied on before it is renewed: an idle server need not write every second.
const RENEW: Duration = Duration::from_secs(5);

impl Service {
    /// One round: how many conversations had something due.
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
            // One conversation that cannot be read must not keep the others from expiring.
            match self.sweep(&tenant_id, conversation_id).await {
                Ok(()) => swept += 1,
                Err(error) => {
                    metrics::counter!("cscp_sweep_failures_total").increment(1);
                    tracing::warn!(tenant = %tenant_id, sweep.error = %error, "a conversation could not be swept");
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

    /// Sweeps while it holds the lease, until it is told to stop. A round that fails is tried again; expiry does not
    /// depend on it.
    pub async fn sweep_until(self, stopped: impl Future<Output = ()>) {
        let holder = self.fresh_secret().to_hex();
        tokio::select! {
            () = self.sweep_in_turn(&holder) => {}
            () = stopped => {}
        }
        // Whoever takes over need not wait until the lease runs out.
        if let Err(error) = self.store.release_lease(LEASE, &holder).await {
            tracing::debug!(sweep.error = %error, "the sweeper's lease was left to run out");
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
                Err(error) => tracing::warn!(sweep.error = %error, "a sweep failed and will be repeated"),
            }
        }
    }

    /// Whether it is this holder's turn to sweep.
    pub async fn take_turn(&self, holder: &str) -> bool {
        let taken = self.store.take_lease(LEASE, holder, LEASE_SECONDS).await;
        let first = taken.unwrap_or_else(|error| {
            tracing::warn!(sweep.error = %error, "the sweeper's lease could not be asked for");
            false
        });
        metrics::gauge!("cscp_sweeper").set(f64::from(u8::from(first)));
        if !first {
            // Whoever sweeps counts them.
            metrics::gauge!("cscp_due_conversations").set(0.0);
        }
        first
    }
}
