//! Verifying what is stored: every chain of a tenant, re-derived entry by entry.

use crate::domain::id::TenantId;
use crate::evidence::verify::{Broken, ChainCheck};
use crate::storage::{StorageError, Store};

/// Streams and entries read at once; memory does not grow with the log.
const PAGE: u32 = 500;

/// What was found in one tenant's log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TenantReport {
    /// Streams followed.
    pub streams: u64,
    /// Entries checked.
    pub entries: u64,
    /// Entries whose payload has been erased.
    pub erased: u64,
    /// What does not fit, by stream id.
    pub broken: Vec<(String, Broken)>,
}

/// Follows every stream of a tenant to its head.
pub async fn verify_tenant(store: &dyn Store, tenant_id: &TenantId) -> Result<TenantReport, StorageError> {
    let mut report = TenantReport::default();
    let mut after = None;
    loop {
        let heads = store.heads(tenant_id, after.as_ref(), PAGE).await?;
        let Some(last) = heads.last() else { return Ok(report) };
        after = Some(last.stream_id.clone());
        for head in heads {
            report.streams += 1;
            let mut chain = ChainCheck::new(tenant_id.as_str(), head.stream_id.clone());
            let followed = follow(store, tenant_id, &mut chain, head.seq).await?;
            let whole = followed.and_then(|()| chain.finish(head.seq, &head.hash));
            report.entries += chain.entries;
            report.erased += chain.erased;
            if let Err(broken) = whole {
                report.broken.push((head.stream_id.to_string(), broken));
            }
        }
    }
}

async fn follow(
    store: &dyn Store,
    tenant_id: &TenantId,
    chain: &mut ChainCheck,
    last: u64,
) -> Result<Result<(), Broken>, StorageError> {
    let stream_id = chain.stream_id().clone();
    let mut after = 0;
    loop {
        let entries = store.stream(tenant_id, &stream_id, after, PAGE).await?;
        let Some(newest) = entries.last() else { return Ok(Ok(())) };
        after = newest.header.seq;
        // What was appended since the head was read is none of its business: a live server goes on.
        for entry in entries.iter().filter(|entry| entry.header.seq <= last) {
            if let Err(broken) = chain.next(entry) {
                return Ok(Err(broken));
            }
        }
        if after >= last {
            return Ok(Ok(()));
        }
    }
}
