//! Verifying what is stored: every chain of a tenant, re-derived entry by entry, and the tree over all of them.

mod bundle;
mod kept;
mod tree;

pub use bundle::BundleCheck;
pub use kept::check_checkpoint;
pub use tree::{TreeFault, TreeReport};

use crate::domain::canonical::canonical;
use crate::domain::event::Event;
use crate::domain::id::TenantId;
use crate::domain::world::StoredFrame;
use crate::evidence::entry::{LogEntry, Logged, Payload};
use crate::evidence::erasures::Erasures;
use crate::evidence::verify::{Broken, ChainCheck, Fault};
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
    /// Entries whose payload was erased, as later entries say.
    pub erased: u64,
    /// Entries whose payload is gone, and nothing says why.
    pub missing: u64,
    /// What does not fit, by stream id.
    pub broken: Vec<(String, Broken)>,
    /// The tree over the entries.
    pub tree: TreeReport,
}

impl TenantReport {
    /// Whether the record is as it was written. A payload that is gone without an entry that says why was taken away by
    /// other hands.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.broken.is_empty() && self.missing == 0 && self.tree.faults.is_empty()
    }
}

/// Follows every stream of a tenant to its head. The disposal stream comes first: it says what was erased.
pub async fn verify_tenant(store: &dyn Store, tenant_id: &TenantId) -> Result<TenantReport, StorageError> {
    let mut report = TenantReport::default();
    let erasures = erasures(store, tenant_id).await?;
    let mut after = None;
    loop {
        let heads = store.heads(tenant_id, after.as_ref(), PAGE).await?;
        let Some(last) = heads.last() else {
            report.tree = tree::check(store, tenant_id, report.entries).await?;
            return Ok(report);
        };
        after = Some(last.stream_id.clone());
        for head in heads {
            report.streams += 1;
            let mut chain = ChainCheck::new(tenant_id.as_str(), head.stream_id.clone());
            let mut check = |chain: &mut ChainCheck, entry: &LogEntry| chain.next(entry, &erasures);
            let followed = follow(store, tenant_id, &mut chain, head.seq, &mut check).await?;
            let whole = followed.and_then(|()| chain.finish(head.seq, &head.hash));
            report.entries += chain.entries;
            report.erased += chain.erased;
            report.missing += chain.missing;
            if let Err(broken) = whole {
                report.broken.push((head.stream_id.to_string(), broken));
            }
        }
    }
}

/// What the record says was erased. A disposal stream that does not hold is reported when its turn comes, and explains
/// nothing.
async fn erasures(store: &dyn Store, tenant_id: &TenantId) -> Result<Erasures, StorageError> {
    let mut erasures = Erasures::default();
    let Some(head) = store.disposal_head(tenant_id).await? else { return Ok(erasures) };
    let mut chain = ChainCheck::new(tenant_id.as_str(), head.stream_id.clone());
    let mut learn = |chain: &mut ChainCheck, entry: &LogEntry| {
        chain.next(entry, &Erasures::default())?;
        erasures.learn(entry);
        Ok(())
    };
    let followed = follow(store, tenant_id, &mut chain, head.seq, &mut learn).await?;
    let whole = followed.and_then(|()| chain.finish(head.seq, &head.hash));
    Ok(if whole.is_ok() { erasures } else { Erasures::default() })
}

/// How the next entry of a chain is checked.
type Check<'a> = dyn FnMut(&mut ChainCheck, &LogEntry) -> Result<(), Broken> + Send + 'a;

async fn follow(
    store: &dyn Store,
    tenant_id: &TenantId,
    chain: &mut ChainCheck,
    last: u64,
    check: &mut Check<'_>,
) -> Result<Result<(), Broken>, StorageError> {
    let stream_id = chain.stream_id().clone();
    let mut after = 0;
    loop {
        let entries = store.stream(tenant_id, &stream_id, after, PAGE).await?;
        let Some(newest) = entries.last() else { return Ok(Ok(())) };
        after = newest.header.seq;
        // What was appended since the head was read is none of its business: a live server goes on.
        for entry in entries.iter().filter(|entry| entry.header.seq <= last) {
            if let Err(broken) = check(chain, entry) {
                return Ok(Err(broken));
            }
            if !frame_stands(store, tenant_id, entry).await? {
                let artifact_id = Some(entry.header.artifact_id.clone());
                return Ok(Err(Broken { seq: entry.header.seq, artifact_id, fault: Fault::Frame }));
            }
        }
        if after >= last {
            return Ok(Ok(()));
        }
    }
}

/// Whether the frame that an entry captured is still what readers are shown.
async fn frame_stands(store: &dyn Store, tenant_id: &TenantId, entry: &LogEntry) -> Result<bool, StorageError> {
    let captured = entry.body.as_ref().filter(|_| entry.header.kind == "context.frame_captured");
    let Some(body) = captured else { return Ok(true) };
    let Ok(Payload { event: Logged::Core(Event::FrameCaptured { frame, salt, context_hash }), .. }) =
        serde_json::from_str::<Payload>(&body.payload)
    else {
        return Ok(false);
    };
    let stored = store.frame(tenant_id, &frame.context_frame_id).await?;
    // As they are hashed: 1.0 and 1 are one number, and the log has the shorter one.
    let captured = canonical(&StoredFrame { frame, salt, context_hash });
    Ok(stored.is_some_and(|stored| canonical(&stored) == captured))
}
