//! One batch of retention: found without a lock, then locked, checked again, erased and logged.

use std::collections::BTreeMap;

use super::plan::{Plan, quiet_conversations, streams};
use super::{Mode, Retention};
use crate::domain::disposal::{DisposalEvent, ErasedRows, ErasureCause, named};
use crate::domain::event::StreamKey;
use crate::domain::policy::{PolicyRef, RecordKind, RetentionRules};
use crate::domain::time::Timestamp;
use crate::storage::{Counts, Disposing, StorageError, Tenant, count_kinds};

#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) went: u64,
    /// Rows deleted, by table.
    pub(super) rows: BTreeMap<&'static str, u64>,
    /// Records past their time that must stay.
    pub(super) kept: u64,
    /// Records that the next batch of this round skips.
    pub(super) passed_over: u64,
    /// Whether nothing is left after this batch.
    pub(super) is_last: bool,
    /// How long the oldest record was past its time, in seconds.
    pub(super) lag_seconds: u64,
}

/// Records per batch. Kinds that must be locked, because others may change them, come in smaller batches.
pub(super) fn limit(kind: RecordKind) -> u32 {
    match kind {
        RecordKind::IdempotencyAnswer | RecordKind::Message | RecordKind::EvidencePayload => 500,
        RecordKind::Frame | RecordKind::WorkingItem | RecordKind::SavedPack => 200,
        RecordKind::ClosedContext | RecordKind::ExpiredContext | RecordKind::FactHistory => 100,
    }
}

/// The instants by which a batch is judged.
pub(super) struct Judged<'a> {
    pub(super) tenant: &'a Tenant,
    pub(super) kind: RecordKind,
    pub(super) rules: &'a RetentionRules,
    pub(super) now: Timestamp,
    pub(super) cutoff: Timestamp,
    pub(super) skip: u64,
}

impl Retention {
    /// Erases one batch of a kind, skipping the `skip` oldest records.
    pub(super) async fn batch(
        &self,
        tenant: &Tenant,
        kind: RecordKind,
        skip: u64,
        mode: Mode,
    ) -> Result<Done, StorageError> {
        let (rules, policy) = self.periods(tenant);
        let nothing = Done { is_last: true, ..Done::default() };
        let now = self.clock.now();
        let Some(cutoff) = rules.cutoff(kind, now) else { return Ok(nothing) };
        let found = self.store.aged(&tenant.tenant_id, &Self::asked(kind, cutoff, now, skip)).await?;
        let Some(oldest) = found.first().map(|aged| aged.at) else { return Ok(nothing) };
        let is_last = u32::try_from(found.len()).is_ok_and(|count| count < limit(kind));
        let judged = Judged { tenant, kind, rules: &rules, now, cutoff, skip };
        let mut done = match mode {
            Mode::Dry => {
                let held = self.store.held(&tenant.tenant_id).await?;
                let plan = self.plan(&judged, &found, &held).await?;
                Done { rows: plan.rows(), passed_over: count(found.len()), ..done(&plan) }
            }
            Mode::Live => self.erase(judged, &policy, &found).await?,
        };
        done.is_last = is_last;
        if done.went > 0 {
            done.lag_seconds = oldest.seconds_until(cutoff);
        }
        Ok(done)
    }

    /// Under the locks, checks the found records again, and erases those that may be erased together with the entry
    /// about it.
    async fn erase(
        &self,
        judged: Judged<'_>,
        policy: &PolicyRef,
        found: &[crate::storage::Aged],
    ) -> Result<Done, StorageError> {
        let tenant_id = &judged.tenant.tenant_id;
        let locked = self.names_to_lock(&judged, found).await?;
        let streams = streams(judged.kind, found).chain(locked);
        let mut disposing = Disposing::begin(self.store.as_ref(), judged.tenant, streams).await?;
        // If this server's clock is ahead, the database's clock decides.
        let now = judged.now.min(disposing.now());
        let cutoff = judged.rules.cutoff(judged.kind, now).unwrap_or(judged.cutoff).min(judged.cutoff);
        let judged = Judged { now, cutoff, ..judged };
        let held = disposing.held().await?;
        let again = self.store.aged(tenant_id, &Self::asked(judged.kind, cutoff, now, judged.skip)).await?;
        let still: Vec<_> = found.iter().filter(|aged| again.contains(aged)).cloned().collect();
        let mut plan = self.plan(&judged, &still, &held).await?;
        let quiet = quiet_conversations(&judged, &held, &disposing);
        self.add_names(&judged, quiet, &mut plan).await?;
        if plan.is_empty() {
            return Ok(Done { passed_over: count(found.len()), ..done(&plan) });
        }
        let counts = disposing.erase(&plan.disposal).await?;
        // Another server erased them first.
        if counts.values().all(|count| *count == 0) {
            return Ok(Done { passed_over: count(found.len()), ..Done::default() });
        }
        disposing.writes().space_rows.append(&mut plan.rewritten);
        let event = erased(&judged, &plan, &counts, named(&judged, &plan, &disposing));
        self.with_entropy(|entropy| disposing.record(event, policy, entropy));
        disposing.commit().await?;
        note(&counts);
        Ok(Done { passed_over: count(found.len()) - plan.went, rows: counts, ..done(&plan) })
    }
}

fn done(plan: &Plan) -> Done {
    Done { went: plan.went, kept: plan.kept, ..Done::default() }
}

/// The rows to list in the entry: those that other entries may still mention. A frame is explained by its erased
/// payload, and a conversation by the removed name of its stream.
fn named(judged: &Judged<'_>, plan: &Plan, disposing: &Disposing) -> ErasedRows {
    let (key, going) = (&judged.tenant.key, &plan.disposal);
    let mut rows = ErasedRows::default();
    going.contexts.iter().for_each(|id| rows.add(key, named::CONTEXTS, id.as_str()));
    going.messages.iter().for_each(|id| rows.add(key, named::MESSAGES, &id.to_hex()));
    for (space_id, kind, id) in &going.space_records {
        if let Some(head) = disposing.head(&StreamKey::FactSpace(space_id.clone())) {
            rows.add(key, named::SPACE_RECORDS, &format!("{}/{}/{id}", head.stream_id, kind.as_str()));
        }
    }
    rows
}

fn erased(judged: &Judged<'_>, plan: &Plan, counts: &Counts, rows: ErasedRows) -> DisposalEvent {
    let before = BTreeMap::from([(judged.kind.as_str().to_owned(), judged.cutoff)]);
    DisposalEvent::RecordsErased {
        cause: ErasureCause::Retention { before },
        payloads: plan.disposal.payloads.clone(),
        counts: count_kinds(counts),
        rows: Some(rows),
    }
}

fn note(counts: &Counts) {
    for (table, count) in counts.iter().filter(|(_, count)| **count > 0) {
        metrics::counter!("cscp_retention_rows_total", "kind" => *table).increment(*count);
    }
    metrics::counter!("cscp_retention_batches_total").increment(1);
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
