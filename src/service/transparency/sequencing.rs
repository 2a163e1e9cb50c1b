//! The sequencer: appends waiting entries to the trees and signs the trees.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::{LogError, Signed, Transparency};
use crate::domain::id::TenantId;
use crate::evidence::checkpoint::Checkpoint;
use crate::evidence::tree::{Growing, right_edge};
use crate::storage::{Growth, StoredCheckpoint, Tenant};

const BATCH: u32 = 1_024;
/// Steps of one tenant per round, so that no tenant delays the others.
const STEPS: usize = 16;
const ROUND: u32 = 256;
/// Pause after a round that was not full.
const PAUSE: Duration = Duration::from_millis(500);
/// The name of the sequencer's lease.
const LEASE: &str = "sequencer";
/// Seconds until another server may take the lease of one that is gone. Longer than a round takes.
const LEASE_SECONDS: u32 = 15;
/// How often the lease is renewed.
const RENEW: Duration = Duration::from_secs(5);

impl Transparency {
    /// One round; returns how many entries were appended.
    pub async fn sequence_once(&self) -> Result<usize, LogError> {
        let mut appended = 0;
        for tenant_id in self.next_tenants().await? {
            match self.sequence(&tenant_id).await {
                Ok(count) => appended += count,
                // A tree that cannot be continued must not stop the others.
                Err(error) => {
                    metrics::counter!("cscp_log_failures_total").increment(1);
                    tracing::warn!(
                        tenant = %tenant_id, log.error = %error,
                        "entries of this tenant wait for their place in the log; the next round tries again"
                    );
                }
            }
        }
        Ok(appended)
    }

    /// The tenants of this round: those after the last round's, then from the beginning.
    async fn next_tenants(&self) -> Result<Vec<TenantId>, LogError> {
        let after = self.last.lock().unwrap_or_else(PoisonError::into_inner).take();
        let unsigned = self.signer.is_some();
        let mut tenants = self.store.behind(after.as_ref(), unsigned, ROUND).await?;
        if tenants.is_empty() && after.is_some() {
            tenants = self.store.behind(None, unsigned, ROUND).await?;
        }
        let full = usize::try_from(ROUND).is_ok_and(|round| tenants.len() == round);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = tenants.last().filter(|_| full).cloned();
        // Tenants with skipped rows are checked again, so that it is noticed when the rows are gone.
        let again: Vec<TenantId> = self.set_aside().into_keys().filter(|id| !tenants.contains(id)).collect();
        tenants.extend(again);
        Ok(tenants)
    }

    async fn sequence(&self, tenant_id: &TenantId) -> Result<usize, LogError> {
        let mut appended = 0;
        for _ in 0..STEPS {
            let count = self.step(tenant_id).await?;
            appended += count;
            if count < usize::try_from(BATCH).unwrap_or(usize::MAX) {
                break;
            }
        }
        self.note_aside(tenant_id, self.store.set_aside(tenant_id).await?);
        if let Some(tenant) = self.store.tenant(tenant_id).await? {
            self.sign(&tenant).await?;
        }
        Ok(appended)
    }

    /// Appends one batch; 0 if nothing waits, or if another process appended first.
    async fn step(&self, tenant_id: &TenantId) -> Result<usize, LogError> {
        let waiting = self.store.waiting(tenant_id, BATCH).await?;
        if waiting.is_empty() {
            return Ok(0);
        }
        let head = self.store.tree(tenant_id).await?;
        let from = head.map_or(0, |head| head.size);
        let edge = self.store.tiles(tenant_id, &right_edge(from)).await?;
        let mut growing = Growing::new(from, edge)?;
        // Tampered tiles must not be continued.
        if head.is_some_and(|head| growing.root() != head.root) {
            return Err(LogError::Tampered);
        }
        for entry in &waiting {
            growing.push(&entry.entry_hash);
        }
        let grown = growing.finish();
        let count = waiting.len();
        let growth = Growth { from, size: grown.size, root: grown.root, tiles: grown.tiles, leaves: waiting };
        if !self.store.grow(tenant_id, &growth).await? {
            return Ok(0);
        }
        metrics::counter!("cscp_log_leaves_total").increment(u64::try_from(count).unwrap_or(0));
        Ok(count)
    }

    /// Signs the tree if it has grown since the last checkpoint and extends it.
    async fn sign(&self, tenant: &Tenant) -> Result<(), LogError> {
        let (Some(signer), Some(head)) = (&self.signer, self.store.tree(&tenant.tenant_id).await?) else {
            return Ok(());
        };
        if head.signed >= head.size {
            return Ok(());
        }
        let origin = signer.origin(tenant);
        let keys = signer.keys(&origin)?;
        let known = self.last_signed(&tenant.tenant_id).await?;
        let before = match &known {
            Some(known) => Some(known.clone()),
            None => self.signed_before(tenant).await?,
        };
        let refusal = match &before {
            Some(before) => self.contradicts(tenant, Some(&head), before).await?,
            None => None,
        };
        self.note(&tenant.tenant_id, refusal);
        let now = Signed { origin: origin.clone(), size: head.size, root: head.root };
        if refusal.is_some() || known.as_ref() != Some(&now) && !self.move_guard(tenant, known, now).await? {
            return Ok(());
        }
        let note = Checkpoint::new(&origin, head.size, head.root)?.sign(&keys)?;
        let stored = StoredCheckpoint { size: head.size, at: self.clock.now(), note };
        self.store.keep_checkpoint(&tenant.tenant_id, &stored).await?;
        self.publish_signed(&tenant.tenant_id, stored.size).await?;
        metrics::counter!("cscp_log_checkpoints_total").increment(1);
        Ok(())
    }

    /// Advances the guard. If another process has advanced it first, that one signs, and this one checks again in the
    /// next round.
    pub(super) async fn move_guard(&self, tenant: &Tenant, from: Option<Signed>, to: Signed) -> Result<bool, LogError> {
        let tenant_id = tenant.tenant_id.clone();
        Ok(self.guarded(move |guard| guard.advance(&tenant_id, from.as_ref(), &to)).await?)
    }

    /// Appends and signs while it holds the lease, until the server stops.
    pub async fn sequence_until(&self, holder: &str, stopped: impl Future<Output = ()>) {
        tokio::select! {
            () = self.sequence_in_turn(holder) => {}
            () = stopped => {}
        }
        if let Err(error) = self.store.release_lease(LEASE, holder).await {
            tracing::debug!(
                log.error = %error,
                "the sequencer's lease could not be released; another server can take it when it expires"
            );
        }
    }

    async fn sequence_in_turn(&self, holder: &str) {
        let mut ticks = tokio::time::interval(PAUSE);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut taken: Option<Instant> = None;
        loop {
            ticks.tick().await;
            if taken.is_none_or(|at| at.elapsed() >= RENEW) {
                let held = self.store.take_lease(LEASE, holder, LEASE_SECONDS).await.unwrap_or_else(|error| {
                    tracing::warn!(
                        log.error = %error,
                        "the sequencer's lease could not be taken or renewed; this server appends nothing meanwhile"
                    );
                    false
                });
                taken = held.then(Instant::now);
                metrics::gauge!("cscp_sequencer").set(f64::from(u8::from(held)));
            }
            if taken.is_none() {
                continue;
            }
            self.sequence_all(taken).await;
        }
    }

    /// Runs rounds without a pause while there is much to do, but stops in time to renew the lease.
    async fn sequence_all(&self, taken: Option<Instant>) {
        while taken.is_some_and(|at| at.elapsed() < RENEW) {
            match self.sequence_once().await {
                Ok(appended) if usize::try_from(BATCH).is_ok_and(|batch| appended >= batch) => {}
                Ok(_) => return,
                Err(error) => {
                    metrics::counter!("cscp_log_failures_total").increment(1);
                    tracing::warn!(
                        log.error = %error,
                        "a sequencer round failed; entries wait for their place in the log until the next one"
                    );
                    return;
                }
            }
        }
    }
}
