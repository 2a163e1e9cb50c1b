//! The transparency log: every entry of a tenant gets a leaf in one Merkle tree, whose checkpoints are signed.
//!
//! Entries wait in an outbox, which is filled in the transaction that writes them. One server at a time appends them to
//! the tree in batches, and each step is conditional on the tree's size, so that of two concurrent steps only one
//! succeeds. Then the checkpoint is signed: first the guard is advanced, then the note is signed and stored. A server
//! that stops in between signs the same tree again.

mod file_guard;
mod guard;
mod proofs;
mod publishing;
mod sequencing;
mod signing;
mod signing_keys;
mod watching;
mod witnesses;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub use file_guard::{FileGuard, Opening};
pub use guard::{Guard, GuardError, NoGuard, Protection, Signed};
pub(super) use proofs::broken;
pub use proofs::{CheckpointShown, ConsistencyShown, InclusionShown};
pub use signing::Signer;
pub use signing_keys::{KeyError, seeds_from, seeds_of};
pub use witnesses::{CosignRefusal, CosignatureShown, CosignedShown, Witnesses, WitnessesError};

use crate::domain::id::TenantId;
use crate::domain::time::Clock;
use crate::evidence::note::{self, NoteError};
use crate::evidence::tree::TreeError;
use crate::storage::{StorageError, Store, Tenant};

/// Why no checkpoint is signed. An operator has to resolve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The tree is smaller than a signed one: an old backup was restored.
    #[error("the database is behind the last checkpoint that was signed: a backup was put back")]
    Behind,
    /// The tree does not extend the signed one: two databases are signed with one key.
    #[error("the database holds another history than the one that was signed: two signers use one key")]
    Forked,
    /// The log was signed under another name: the tenant's environment is part of the name and was changed in the
    /// database.
    #[error("the log was signed under another name: the tenant's environment was changed in the database")]
    Renamed,
}

impl Refusal {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Behind => "behind",
            Self::Forked => "forked",
            Self::Renamed => "renamed",
        }
    }
}

/// Why a round ended early. It is tried again.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The stored tree is invalid.
    #[error("the stored tree cannot be continued: {0}")]
    Tree(#[from] TreeError),
    /// The stored tree was changed by something else than this program.
    #[error("the stored tiles are not those of the stored root")]
    Tampered,
    #[error("the checkpoint cannot be signed: {0}")]
    Note(#[from] NoteError),
    #[error(transparent)]
    Guard(#[from] GuardError),
}

/// The transparency log over one database.
pub struct Transparency {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    pub(super) signer: Option<Signer>,
    guard: Arc<dyn Guard>,
    /// Whether checkpoints and tiles are public.
    published: bool,
    /// The trusted witnesses, and how many must cosign a checkpoint before it is public.
    witnesses: Witnesses,
    refused: Mutex<BTreeMap<TenantId, Refusal>>,
    /// Waiting rows without an entry, by tenant.
    aside: Mutex<BTreeMap<TenantId, u64>>,
    /// The last tenant of the last round: the next round starts after it.
    last: Mutex<Option<TenantId>>,
}

impl std::fmt::Debug for Transparency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transparency").field("signs", &self.signer.is_some()).finish_non_exhaustive()
    }
}

impl Transparency {
    /// A log with this signer, if any, and this guard.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, signer: Option<Signer>, guard: Arc<dyn Guard>) -> Self {
        let (refused, aside, last) = (Mutex::default(), Mutex::default(), Mutex::default());
        let witnesses = Witnesses::default();
        Self { store, clock, signer, guard, published: false, witnesses, refused, aside, last }
    }

    /// With public checkpoints and tiles: monitors and witnesses have no API keys.
    #[must_use]
    pub fn published(self, published: bool) -> Self {
        Self { published, ..self }
    }

    /// The guard that keeps a restored backup from being signed.
    #[must_use]
    pub fn protection(&self) -> Protection {
        self.guard.protection()
    }

    /// Tenants whose checkpoints are not signed, and why.
    #[must_use]
    pub fn refused(&self) -> BTreeMap<TenantId, Refusal> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tenants with waiting rows that have no entry, and the number of rows. These rows are skipped and never signed;
    /// everything else goes on.
    #[must_use]
    pub fn set_aside(&self) -> BTreeMap<TenantId, u64> {
        self.aside.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_aside(&self, tenant_id: &TenantId, rows: u64) {
        let mut aside = self.aside.lock().unwrap_or_else(PoisonError::into_inner);
        let before = if rows > 0 { aside.insert(tenant_id.clone(), rows) } else { aside.remove(tenant_id) };
        if rows > before.unwrap_or(0) {
            tracing::error!(
                tenant = %tenant_id, log.set_aside = rows,
                "rows without an entry wait for a place in the log: another program wrote them; they are never signed"
            );
        }
        let count = aside.values().fold(0_u64, |sum, rows| sum.saturating_add(*rows));
        metrics::gauge!("cscp_log_set_aside_rows").set(f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
    }

    /// Signs a text with the keys of the tenant's log; none if it has no key.
    pub fn sign_text(&self, tenant: &Tenant, text: &str) -> Result<Option<String>, NoteError> {
        let Some(signer) = &self.signer else { return Ok(None) };
        note::sign(text, &signer.keys(&signer.origin(tenant))?).map(Some)
    }

    /// Asks the guard on another thread, because it waits for a disk.
    async fn guarded<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Guard) -> Result<T, GuardError> + Send + 'static,
    ) -> Result<T, GuardError> {
        let guard = Arc::clone(&self.guard);
        let asked = tokio::task::spawn_blocking(move || ask(guard.as_ref())).await;
        asked.unwrap_or_else(|error| Err(GuardError(error.to_string())))
    }

    fn note(&self, tenant_id: &TenantId, refusal: Option<Refusal>) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match refusal {
            Some(refusal) => refused.insert(tenant_id.clone(), refusal),
            None => refused.remove(tenant_id),
        };
        if let Some(refusal) = refusal.filter(|refusal| before != Some(*refusal)) {
            tracing::error!(
                tenant = %tenant_id, log.refusal = %refusal,
                "no checkpoint is signed for this tenant until an operator resolves the refusal"
            );
        }
        let count = u32::try_from(refused.len()).unwrap_or(u32::MAX);
        metrics::gauge!("cscp_log_refused_tenants").set(f64::from(count));
    }
}
