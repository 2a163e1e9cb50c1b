//! Verifying what is stored: the log from its first leaf to its last, re-derived entry by entry, and every chain to its
//! head.
//!
//! The log is read in the order in which it was written, and pages of it are looked at side by side; what needs the order
//! is done in order. Memory grows by the end of each chain, not by its length. A live server may go on meanwhile: what it
//! changes between two reads is no fault.

mod bundle;
mod chains;
mod kept;
mod naming;
mod pages;
mod policies;
mod rebuilding;
mod recorded;
mod tree;
mod witnessed;

pub use bundle::BundleCheck;
pub use kept::check_checkpoint;
pub use policies::verify_policies;
pub use rebuilding::{RebuildRefusal, Rebuilding, rebuild_tree};
pub use recorded::RowFault;
pub use tree::{TreeFault, TreeReport};

use futures_util::{StreamExt as _, TryStreamExt as _};

use crate::domain::id::TenantId;
use crate::evidence::note::VerifierKey;
use crate::evidence::verify::Broken;
use crate::storage::{StorageError, Store};
use chains::Chains;
use tree::Derived;

/// What was found in one tenant's log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TenantReport {
    pub streams: u64,
    pub entries: u64,
    /// Entries whose payload was erased, as later entries say.
    pub erased: u64,
    /// Those of them that an earlier version only says a number of: it may have been others.
    pub undetermined: u64,
    /// Entries whose payload is gone, and nothing says why.
    pub missing: u64,
    /// What does not fit, by stream id.
    pub broken: Vec<(String, Broken)>,
    /// The tree over the entries.
    pub tree: TreeReport,
    /// Rows beside the log that are not what entries say.
    pub rows: Vec<RowFault>,
}

impl TenantReport {
    /// Whether the record is as it was written. A payload that is gone without an entry that says why was taken away by
    /// other hands.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.broken.is_empty() && self.missing == 0 && self.tree.faults.is_empty() && self.rows.is_empty()
    }
}

/// Verifies a tenant's log: every entry, every chain, every captured frame, the tree over them, and the rows of erasures and
/// holds.
pub async fn verify_tenant(store: &dyn Store, tenant_id: &TenantId) -> Result<TenantReport, StorageError> {
    verify_signed(store, tenant_id, &[]).await
}

/// The same, with receipts of erasures opened with the keys that sign for the log.
pub async fn verify_signed(
    store: &dyn Store,
    tenant_id: &TenantId,
    keys: &[VerifierKey],
) -> Result<TenantReport, StorageError> {
    let mut chains = Chains::new(store, tenant_id).await?;
    let mut derived = Derived::new(tenant_id, store.tree(tenant_id).await?);
    let size = derived.target();
    let mut pages = futures_util::stream::iter(pages::of(size))
        .map(|from| pages::read(store, tenant_id, from, size))
        .buffered(pages::AT_ONCE);

    while let Some(page) = pages.try_next().await? {
        derived.append(&page);
        derived.compare(store).await?;
        page.entries.iter().for_each(|(_, entry, looked)| chains.take(entry, looked));
    }
    let mut report = TenantReport::default();
    chains.finish(&mut report).await?;
    report.tree = derived.finish(store).await?;
    witnessed::check(store, tenant_id, &mut report.tree).await?;
    if let Some(tenant) = store.tenant(tenant_id).await? {
        report.rows = recorded::check(store, &tenant, keys).await?;
    }
    Ok(report)
}
