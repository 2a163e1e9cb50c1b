//! Verifies rows outside the log against the disposal stream: erasures with their receipts, and legal holds.

use std::collections::BTreeMap;

use serde_json::json;

use super::super::privacy::Progress;
use crate::domain::canonical::{Digest, Purpose, canonical, keyed};
use crate::domain::disposal::{DisposalEvent, ErasureCause};
use crate::domain::id::{ArtifactId, ErasureId, HoldId, KeyId, StreamId};
use crate::domain::time::Timestamp;
use crate::evidence::entry::{LogEntry, Logged, Payload, StreamHead};
use crate::evidence::note::{self, VerifierKey};
use crate::storage::{ErasureRow, HoldRow, StorageError, Store, Tenant};

/// Rows or entries per read.
const PAGE: u32 = 500;
/// How often the check is repeated if something was recorded meanwhile.
const LOOKS: usize = 5;

/// A row that differs from the record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowFault {
    #[error("the row of erasure {0} differs from the disposal stream or from its receipt")]
    Erasure(String),
    #[error("the row of hold {0} differs from the disposal stream")]
    Hold(String),
    /// A version of the published policies.
    #[error("version {0} of the published policies is missing or does not match its hash")]
    Policies(u64),
}

/// The content of the disposal stream.
#[derive(Default)]
struct Told {
    erasures: BTreeMap<ErasureId, Erasure>,
    holds: BTreeMap<HoldId, Hold>,
}

#[derive(Default)]
struct Erasure {
    counts: BTreeMap<String, u64>,
    entries: Vec<(ArtifactId, Digest)>,
    completed: Option<(Timestamp, BTreeMap<String, u64>, Digest)>,
}

struct Hold {
    at: Timestamp,
    key_id: KeyId,
    commitment: Digest,
}

/// Compares every erasure and every hold of a tenant with the disposal stream. Receipts are verified with the known
/// keys, if there are any.
pub(super) async fn check(
    store: &dyn Store,
    tenant: &Tenant,
    keys: &[VerifierKey],
) -> Result<Vec<RowFault>, StorageError> {
    let mut before: Option<(StreamId, u64)> = None;
    let mut faults = Vec::new();
    for _ in 0..LOOKS {
        let head = store.disposal_head(&tenant.tenant_id).await?;
        let now = head.as_ref().map(|head| (head.stream_id.clone(), head.seq));
        if !faults.is_empty() && now == before {
            break;
        }
        faults = compared(store, tenant, keys, head.as_ref()).await?;
        before = now;
        if faults.is_empty() {
            break;
        }
    }
    Ok(faults)
}

async fn compared(
    store: &dyn Store,
    tenant: &Tenant,
    keys: &[VerifierKey],
    head: Option<&StreamHead>,
) -> Result<Vec<RowFault>, StorageError> {
    let mut told = Told::default();
    let mut after = 0;
    while let Some(head) = head.filter(|head| after < head.seq) {
        let entries = store.stream(&tenant.tenant_id, &head.stream_id, after, PAGE).await?;
        let Some(last) = entries.last() else { break };
        after = last.header.seq;
        for entry in &entries {
            told.learn(entry);
        }
    }
    let mut faults = Vec::new();
    let mut last: Option<ErasureId> = None;
    loop {
        let rows = store.erasures(&tenant.tenant_id, last.as_ref(), PAGE).await?;
        let Some(newest) = rows.last() else { break };
        last = Some(newest.erasure_id.clone());
        for row in &rows {
            let is_told = told.erasures.remove(&row.erasure_id).unwrap_or_default();
            if !is_told.is(tenant, row, keys) {
                faults.push(RowFault::Erasure(row.erasure_id.to_string()));
            }
        }
    }
    faults.extend(told.erasures.into_keys().map(|id| RowFault::Erasure(id.to_string())));
    let mut last: Option<HoldId> = None;
    loop {
        let rows = store.holds(&tenant.tenant_id, last.as_ref(), PAGE).await?;
        let Some(newest) = rows.last() else { break };
        last = Some(newest.hold_id.clone());
        for row in &rows {
            if !told.holds.remove(&row.hold_id).is_some_and(|hold| hold.is(row)) {
                faults.push(RowFault::Hold(row.hold_id.to_string()));
            }
        }
    }
    faults.extend(told.holds.into_keys().map(|id| RowFault::Hold(id.to_string())));
    Ok(faults)
}

impl Told {
    fn learn(&mut self, entry: &LogEntry) {
        let payload = entry.body.as_ref().and_then(|body| serde_json::from_str::<Payload>(&body.payload).ok());
        let Some(Logged::Disposal(event)) = payload.map(|payload| payload.event) else { return };
        let (at, written) = (entry.header.at, (entry.header.artifact_id.clone(), entry.entry_hash));
        match event {
            DisposalEvent::RecordsErased { cause: ErasureCause::Subject { erasure_id }, counts, .. } => {
                let erasure = self.erasures.entry(erasure_id).or_default();
                erasure.entries.push(written);
                for (kind, count) in counts {
                    *erasure.counts.entry(kind).or_default() += count;
                }
            }
            DisposalEvent::RecordsErased { cause: ErasureCause::Retention { .. }, .. } => {}
            DisposalEvent::ErasureCompleted { erasure_id, subject_commitment, counts } => {
                let erasure = self.erasures.entry(erasure_id).or_default();
                erasure.entries.push(written);
                erasure.completed = Some((at, counts, subject_commitment));
            }
            DisposalEvent::HoldPlaced { hold_id, subject_commitment: commitment, key_id } => {
                self.holds.insert(hold_id, Hold { at, key_id, commitment });
            }
            DisposalEvent::HoldLifted { hold_id, .. } => drop(self.holds.remove(&hold_id)),
        }
    }
}

impl Erasure {
    /// Whether a row agrees with the record: what was erased and by which entries, when it ended, and its receipt.
    fn is(&self, tenant: &Tenant, row: &ErasureRow, keys: &[VerifierKey]) -> bool {
        let Ok(progress) = Progress::read(row) else { return false };
        let ended = match &self.completed {
            None => row.finished_at.is_none() && progress.receipt.is_none() && progress.subject_commitment.is_none(),
            Some((at, counts, commitment)) => {
                row.finished_at == Some(*at)
                    && progress.counts == *counts
                    && progress.subject_commitment == Some(*commitment)
                    && is_receipt(&progress, &progress.lines(tenant, row), keys)
            }
        };
        ended && progress.counts == self.counts && progress.entries == self.entries
    }
}

/// Whether a receipt has this text, and is signed if the row says so.
fn is_receipt(progress: &Progress, text: &str, keys: &[VerifierKey]) -> bool {
    let Some(receipt) = &progress.receipt else { return false };
    if !progress.signed {
        return receipt == text;
    }
    let signed = receipt.strip_prefix(text).is_some_and(|signatures| signatures.starts_with("\n\u{2014} "));
    signed && (keys.is_empty() || note::open(receipt, keys).is_ok())
}

impl Hold {
    /// Whether a row names the subject that was committed to.
    fn is(&self, row: &HoldRow) -> bool {
        let named = json!({ row.kind.as_str(): row.subject });
        self.at == row.placed_at
            && self.key_id == row.terms.key_id
            && self.commitment == keyed(&row.terms.salt, Purpose::Subject, &canonical(&named))
    }
}
