//! Retention: erases records past their time, by kind and tenant, in small batches. Each batch writes an entry to the
//! tenant's disposal stream that lists what was erased, and under which policy.
//!
//! Of several servers on one database, the holder of a lease does it. Two at once would do no harm: each batch locks
//! the tenant's disposal stream, checks again what it found, and skips what is gone.

mod batch;
mod plan;
mod proof;
mod sweeping;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub use self::proof::Unproven;
use super::going;
use super::vigil::Clocks;
use crate::committer::RulesInForce;
use crate::domain::id::{Entropy, TenantId};
use crate::domain::policy::{RecordKind, RetentionRules};
use crate::domain::time::{Clock, Timestamp};
use crate::storage::{AgedQuery, StorageError, Store, Tenant};

/// What was erased for one tenant, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Disposed {
    /// Records by kind of the policy.
    pub records: BTreeMap<RecordKind, u64>,
    pub rows: BTreeMap<&'static str, u64>,
    /// Batches, each with its own entry.
    pub batches: u64,
    /// Records past their time that stay: under a hold, or still needed in another way.
    pub kept: BTreeMap<RecordKind, u64>,
    /// How long the oldest record was past its time when it was found, in seconds.
    pub lag_seconds: u64,
}

impl Disposed {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.values().all(|count| *count == 0)
    }

    fn add(&mut self, kind: RecordKind, batch: &batch::Done) {
        if batch.went > 0 {
            *self.records.entry(kind).or_default() += batch.went;
            self.batches += 1;
        }
        for (table, count) in batch.rows.iter().filter(|(_, count)| **count > 0) {
            *self.rows.entry(*table).or_default() += count;
        }
    }
}

/// Whether a round changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Records past their time are erased.
    Live,
    /// Nothing is changed; the report shows what would be erased.
    Dry,
}

/// The progress of a tenant's round: kinds that are done, and how many records of each stay.
#[derive(Debug)]
pub struct Round {
    tenant: Tenant,
    mode: Mode,
    open: Vec<RecordKind>,
    skip: BTreeMap<RecordKind, u64>,
    done: Disposed,
}

impl Round {
    #[must_use]
    pub fn tenant_id(&self) -> &TenantId {
        &self.tenant.tenant_id
    }

    /// What was erased so far.
    #[must_use]
    pub fn disposed(&self) -> &Disposed {
        &self.done
    }

    /// Whether the round is complete.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.open.is_empty()
    }
}

/// Enforces the periods of the policy packs.
#[derive(Clone)]
pub struct Retention {
    store: Arc<dyn Store>,
    rules: RulesInForce,
    clock: Arc<dyn Clock>,
    entropy: Arc<Mutex<Box<dyn Entropy>>>,
    clocks: Clocks,
}

impl std::fmt::Debug for Retention {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retention").finish_non_exhaustive()
    }
}

impl Retention {
    /// Retention for this store, by the rules in force. `entropy` is for the ids and salts of entries.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        rules: impl Into<RulesInForce>,
        clock: Arc<dyn Clock>,
        entropy: Box<dyn Entropy>,
    ) -> Self {
        let clocks = Clocks::default();
        Self { store, rules: rules.into(), clock, entropy: Arc::new(Mutex::new(entropy)), clocks }
    }

    /// Goes on with the fact spaces that are being erased: who began may have been interrupted. Does not go by the clock.
    pub async fn finish_spaces(&self) -> Result<(), StorageError> {
        for tenant in self.store.tenants().await? {
            let (_, policy) = self.periods(&tenant);
            going::resume(self.store.as_ref(), &tenant, &policy, &self.entropy).await?;
        }
        Ok(())
    }

    #[must_use]
    pub fn round(tenant: Tenant, mode: Mode) -> Round {
        let open = RecordKind::ALL.iter().rev().copied().collect();
        Round { tenant, mode, open, skip: BTreeMap::new(), done: Disposed::default() }
    }

    /// Erases one batch of one kind. Tenants take turns after each batch, so that none waits for another's whole round.
    pub async fn step(&self, round: &mut Round) -> Result<(), StorageError> {
        let Some(kind) = round.open.last().copied() else { return Ok(()) };
        let skip = round.skip.get(&kind).copied().unwrap_or(0);
        let done = self.batch(&round.tenant, kind, skip, round.mode).await?;
        round.done.lag_seconds = round.done.lag_seconds.max(done.lag_seconds);
        round.done.add(kind, &done);
        if done.kept > 0 {
            *round.done.kept.entry(kind).or_default() += done.kept;
        }
        *round.skip.entry(kind).or_default() += done.passed_over;
        if done.is_last {
            round.open.pop();
        }
        Ok(())
    }

    /// Erases everything of one tenant that is past its time.
    pub async fn finish(&self, tenant: Tenant, mode: Mode) -> Result<Disposed, StorageError> {
        let mut round = Self::round(tenant, mode);
        while !round.is_over() {
            self.step(&mut round).await?;
        }
        Ok(round.done)
    }

    /// Erases everything of every tenant that is past its time, tenants in turn. A failure of one does not stop the
    /// others.
    pub async fn sweep_once(&self, mode: Mode) -> Result<BTreeMap<TenantId, Disposed>, StorageError> {
        let mut rounds: Vec<Round> =
            self.store.tenants().await?.into_iter().map(|tenant| Self::round(tenant, mode)).collect();
        let mut disposed = BTreeMap::new();
        while !rounds.is_empty() {
            self.turn(&mut rounds).await;
            for round in rounds.extract_if(.., |round| round.is_over()) {
                disposed.insert(round.tenant.tenant_id, round.done);
            }
        }
        Ok(disposed)
    }

    /// One batch of each tenant's round. A failed round is abandoned until the next one.
    async fn turn(&self, rounds: &mut [Round]) {
        for round in rounds {
            if let Err(error) = self.step(round).await {
                metrics::counter!("cscp_retention_failures_total").increment(1);
                tracing::warn!(
                    tenant = %round.tenant_id(), retention.error = %error,
                    "records past their time stay until the next round: a batch failed"
                );
                round.open.clear();
            }
        }
    }

    /// The retention periods of a tenant, and the pack that defines them.
    fn periods(&self, tenant: &Tenant) -> (RetentionRules, crate::domain::policy::PolicyRef) {
        let book = self.rules.now();
        let rules = book.rules(&tenant.policy_scope());
        (rules.policy.pack().retention.clone(), rules.policy.reference().clone())
    }

    fn with_entropy<T>(&self, use_it: impl FnOnce(&mut dyn Entropy) -> T) -> T {
        // After a panic the source of randomness is still whole, so a poisoned lock is used.
        use_it(self.entropy.lock().unwrap_or_else(PoisonError::into_inner).as_mut())
    }

    fn asked(kind: RecordKind, cutoff: Timestamp, now: Timestamp, skip: u64) -> AgedQuery {
        AgedQuery { kind, cutoff, now, skip, limit: batch::limit(kind) }
    }
}
