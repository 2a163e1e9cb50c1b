//! Verifies what is stored: the log from first to last leaf, entry by entry, and every chain up to its head.
//!
//! The log is read in the order in which it was written; pages are checked in parallel, and only what needs the order
//! is done in order. Memory grows with the number of chains, not with their length. A live server may go on: what it
//! changes between two reads is not a fault.

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

/// The result for one tenant's log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TenantReport {
    pub streams: u64,
    pub entries: u64,
    /// Entries whose payload was erased with a record of it.
    pub erased: u64,
    /// Erased payloads accounted for by number only, by entries of an earlier version: other payloads may be meant.
    pub undetermined: u64,
    /// Entries whose payload is missing without an explanation.
    pub missing: u64,
    /// Faults, by stream id.
    pub broken: Vec<(String, Broken)>,
    pub tree: TreeReport,
    /// Rows outside the log that differ from what entries record.
    pub rows: Vec<RowFault>,
}

impl TenantReport {
    /// Whether the record is intact. A payload that is missing without an entry about it was deleted by something else
    /// than this program.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.broken.is_empty() && self.missing == 0 && self.tree.faults.is_empty() && self.rows.is_empty()
    }
}

/// Verifies a tenant's log: every entry, chain and captured frame, the tree over them, and the rows of erasures and
/// holds.
pub async fn verify_tenant(store: &dyn Store, tenant_id: &TenantId) -> Result<TenantReport, StorageError> {
    verify_signed(store, tenant_id, &[]).await
}

/// The same, and verifies receipts of erasures with the log's keys.
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
