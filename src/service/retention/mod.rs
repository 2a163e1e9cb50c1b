//! Retention: what is past its time goes, kind by kind and tenant by tenant, in small batches, and each batch leaves an
//! entry in the tenant's disposal stream that says what went and under which policy.
//!
//! Of several servers on one database one does it at a time: whoever holds the lease. Nothing would break if two did:
//! each batch holds the tenant's disposal stream, looks again at what it found, and leaves alone what is gone.

mod batch;
mod plan;
mod proof;
mod sweeping;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub use self::proof::Unproven;
use super::vigil::Clocks;
use crate::committer::RulesInForce;
use crate::domain::id::{Entropy, TenantId};
use crate::domain::policy::{RecordKind, RetentionRules};
use crate::domain::time::{Clock, Timestamp};
use crate::storage::{AgedQuery, StorageError, Store, Tenant};

/// What went of one tenant, or would go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Disposed {
    /// Records by kind of the policy.
    pub records: BTreeMap<RecordKind, u64>,
    /// Rows by the table that they stood in.
    pub rows: BTreeMap<&'static str, u64>,
    /// Batches, each with an entry of its own.
    pub batches: u64,
    /// Records that stay although their time is over: held, or not over yet in another way.
    pub kept: BTreeMap<RecordKind, u64>,
    /// By how many seconds the oldest record was past its time when it was found.
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

/// How a tenant is gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// What is past its time goes.
    Live,
    /// Nothing is changed; it is only said what would go.
    Dry,
}

/// Where a tenant's round stands: which kinds are done, and how many of each stay.
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

    /// What went so far.
    #[must_use]
    pub fn disposed(&self) -> &Disposed {
        &self.done
    }

    /// Whether nothing is left to be looked at.
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
    /// Over a database, by the rules in force. `entropy` is for the ids and salts of its entries.
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

    /// Begins with a tenant.
    #[must_use]
    pub fn round(tenant: Tenant, mode: Mode) -> Round {
        let open = RecordKind::ALL.iter().rev().copied().collect();
        Round { tenant, mode, open, skip: BTreeMap::new(), done: Disposed::default() }
    }

    /// One batch of one kind: the next step of a tenant's round. Tenants take turns step by step, so that none keeps the
    /// others waiting.
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

    /// Everything of one tenant that is past its time.
    pub async fn finish(&self, tenant: Tenant, mode: Mode) -> Result<Disposed, StorageError> {
        let mut round = Self::round(tenant, mode);
        while !round.is_over() {
            self.step(&mut round).await?;
        }
        Ok(round.done)
    }

    /// Everything of every tenant that is past its time, tenants in turn. One that fails does not keep the others from it.
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

    /// One step of each tenant's round. A round that fails is given up until the next time.
    async fn turn(&self, rounds: &mut [Round]) {
        for round in rounds {
            if let Err(error) = self.step(round).await {
                metrics::counter!("cscp_retention_failures_total").increment(1);
                tracing::warn!(tenant = %round.tenant_id(), retention.error = %error, "records past their time stay");
                round.open.clear();
            }
        }
    }

    /// The periods in force for a tenant, and where they are written.
    fn periods(&self, tenant: &Tenant) -> (RetentionRules, crate::domain::policy::PolicyRef) {
        let book = self.rules.now();
        let rules = book.rules(&tenant.policy_scope());
        (rules.policy.pack().retention.clone(), rules.policy.reference().clone())
    }

    fn with_entropy<T>(&self, use_it: impl FnOnce(&mut dyn Entropy) -> T) -> T {
        // A source that panicked once has no state that could be half changed.
        use_it(self.entropy.lock().unwrap_or_else(PoisonError::into_inner).as_mut())
    }

    fn asked(kind: RecordKind, cutoff: Timestamp, now: Timestamp, skip: u64) -> AgedQuery {
        AgedQuery { kind, cutoff, now, skip, limit: batch::limit(kind) }
    }
}
