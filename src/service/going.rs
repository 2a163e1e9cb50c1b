//! Erases what is stored of a fact space, in steps of bounded work ([ADR
//! 37](../../docs/adr/0037-a-space-is-erased-in-steps.md)).
//!
//! A space goes in three acts. The first is an entry, and the mark in the space's record: from its commit on there is no
//! such space, for readers and writers alike. The second are steps, each a short transaction: packs of other spaces that
//! show something of it, kept answers, its records, and what the log says. The third takes the record itself and says
//! that nothing is left. Whoever finds the mark can go on, from wherever another one stopped: each step looks for what is
//! left, and two at once do no harm.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::ServiceError;
use crate::domain::disposal::ErasedRange;
use crate::domain::event::{About, Recorded, StreamKey};
use crate::domain::id::{Entropy, ErasureId, PrincipalId, SpaceId, StreamId, TenantId};
use crate::domain::policy::PolicyRef;
use crate::evidence::entry::{LogEntry, StreamHead};
use crate::state_layer::decide::erased;
use crate::state_layer::event::SpaceEvent;
use crate::state_layer::operation::SpaceAnswer;
use crate::state_layer::refusal::SpaceRefusal;
use crate::state_layer::request::{Answered, Refused};
use crate::state_layer::space::{Space, SpaceRecord};
use crate::storage::{
    Counts, Disposal, Disposing, Found, SpaceRow, SpaceRowKind, SpaceWant, StorageError, Store, StoredClaim, Table,
    Tenant,
};

/// Rows in one step.
const ROWS: usize = 200;
/// Bytes of bodies in one step. A single row may be larger.
const BYTES: u64 = 256 * 1024;
/// Packs that are looked through at a time, without a lock.
const PACKS: u32 = 16;
/// Rows that are read at a time, without a lock.
const PAGE: u32 = 400;
/// The entries at the end of a space's stream among which the one about its erasure is: at most one more is written in
/// the same transaction.
const LAST: u64 = 4;

/// The erasure of one fact space.
pub(super) struct Going<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) tenant: &'a Tenant,
    pub(super) space_id: &'a SpaceId,
    pub(super) policy: PolicyRef,
    pub(super) entropy: &'a Mutex<Box<dyn Entropy>>,
}

/// Where the log says that the space is erased.
struct Intent {
    stream_id: StreamId,
    seq: u64,
    record: SpaceRecord,
}

/// A row that goes, with the bytes of its body.
type Weighed<T> = (T, u64);

/// Parts of rows that fit a step each.
fn portions<T>(rows: Vec<Weighed<T>>) -> Vec<Vec<T>> {
    let mut portions: Vec<Vec<T>> = Vec::new();
    let mut bytes = 0;
    for (row, weight) in rows {
        match portions.last_mut() {
            Some(last) if last.len() < ROWS && bytes + weight <= BYTES => last.push(row),
            _ => {
                bytes = 0;
                portions.push(vec![row]);
            }
        }
        bytes += weight;
    }
    portions
}

impl Going<'_> {
    /// Begins the erasure of a space as part of a person's, if it is there and not begun. Otherwise a decision begins it.
    pub(super) async fn begin(&self, erasure_id: &ErasureId) -> Result<(), ServiceError> {
        // The space is read without a lock, and its stream has not moved when it is locked: nothing changed.
        let head = self.store.stream_head(&self.tenant.tenant_id, &self.stream()).await?;
        let mut space = Space::default();
        for (_, row) in self.store.spaces(&[SpaceWant { live: true, ..self.want() }]).await? {
            row.put(&mut space);
        }
        let Some(record) = space.record.filter(|record| record.erasure_id.is_none()) else { return Ok(()) };
        let mut disposing = Disposing::begin(self.store, self.tenant, [self.stream()]).await?;
        if disposing.head(&self.stream()) != head.as_ref() {
            return Err(StorageError::Contended.into());
        }
        let event = erased(&record, &space.facts, Some(erasure_id.clone()), disposing.now());
        let SpaceEvent::SpaceErased { going: Some(going), .. } = &event else { return Ok(()) };
        let row = (self.tenant.tenant_id.clone(), self.space_id.clone(), SpaceRow::Space(SpaceRecord::clone(going)));
        disposing.writes().space_rows.push(row);
        self.append(&mut disposing, event);
        Ok(disposing.commit().await?)
    }

    /// Erases all that is left. Fails with [`ServiceError::LegalHold`] if the person whose memory it is has been put under
    /// a hold: it stays as it is until the hold is lifted. A space that goes with a person is left to that erasure, and
    /// the caller is asked to come again.
    pub(super) async fn finish(&self) -> Result<(), ServiceError> {
        let Some(intent) = self.intent().await? else { return Ok(()) };
        if intent.record.erasure_id.is_some() {
            return Err(ServiceError::Busy { retry_after_seconds: 5 });
        }
        or_done(self.empty(&intent).await)?;
        or_done(self.complete(&intent).await)
    }

    /// Erases everything but the record, for an erasure that takes the record and the name of the stream itself. Returns
    /// how many rows of each kind went.
    pub(super) async fn drain(&self) -> Result<Counts, ServiceError> {
        match self.intent().await? {
            Some(intent) => or_done(self.empty(&intent).await),
            None => Ok(Counts::new()),
        }
    }

    async fn empty(&self, intent: &Intent) -> Result<Counts, ServiceError> {
        let mut counts = Counts::new();
        // What shows facts of the space is found by these facts, so it goes before them; entries go last, so that what
        // is left can be compared with them until it is gone.
        self.packs_elsewhere(intent, &mut counts).await?;
        self.answers(intent, &mut counts).await?;
        self.records(intent, &mut counts).await?;
        self.payloads(intent, &mut counts).await?;
        Ok(counts)
    }

    async fn packs_elsewhere(&self, intent: &Intent, counts: &mut Counts) -> Result<(), ServiceError> {
        let mut after = None;
        loop {
            let found = self.store.packs_showing(&self.tenant.tenant_id, self.space_id, after.as_ref(), PACKS).await?;
            let packs = found.packs.into_iter();
            let packs = packs.map(|(place, id, bytes)| ((place, SpaceRowKind::Pack, id.as_str().to_owned()), bytes));
            for space_records in portions(packs.collect()) {
                self.step(intent, &Disposal { space_records, ..Disposal::default() }, counts).await?;
            }
            after = found.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Kept answers say that there is no such space, but for the one that says that it was erased. With a person they go.
    async fn answers(&self, intent: &Intent, counts: &mut Counts) -> Result<(), ServiceError> {
        let mut after = None;
        loop {
            let page = self.store.answers_about(&self.tenant.tenant_id, self.space_id, after.as_ref(), PACKS).await?;
            let Some((last, ..)) = page.last() else { return Ok(()) };
            after = Some(*last);
            let telling = page.into_iter().filter(|(_, claim, _)| {
                let bare = matches!(
                    claim.result,
                    Ok(Answered::Space(SpaceAnswer::Done)) | Err(Refused::Space(SpaceRefusal::SpaceNotFound))
                );
                intent.record.erasure_id.is_some() || !bare
            });
            for claims in portions(telling.map(|(key, _, bytes)| (key, bytes)).collect()) {
                if intent.record.erasure_id.is_some() {
                    self.step(intent, &Disposal { claims, ..Disposal::default() }, counts).await?;
                    continue;
                }
                let began = Instant::now();
                let mut disposing = self.locked(intent).await?;
                disposing.transaction().withdraw(&self.tenant.tenant_id, self.space_id, &claims).await?;
                disposing.commit().await?;
                rest(began).await;
            }
        }
    }

    async fn records(&self, intent: &Intent, counts: &mut Counts) -> Result<(), ServiceError> {
        loop {
            // The space's own record comes last in the order of the kinds.
            let page = self.store.live_records(&self.tenant.tenant_id, self.space_id, ("", ""), PAGE).await?;
            let weighed = page.iter().filter_map(|row| {
                let (kind, id) = row.id.split_once('/')?;
                let kind = SpaceRowKind::parse(kind).filter(|kind| *kind != SpaceRowKind::Space)?;
                let bytes = u64::try_from(row.body.to_string().len()).unwrap_or(u64::MAX);
                Some(((self.space_id.clone(), kind, id.to_owned()), bytes))
            });
            let weighed: Vec<_> = weighed.collect();
            if weighed.is_empty() {
                return Ok(());
            }
            for space_records in portions(weighed) {
                self.step(intent, &Disposal { space_records, ..Disposal::default() }, counts).await?;
            }
        }
    }

    async fn payloads(&self, intent: &Intent, counts: &mut Counts) -> Result<(), ServiceError> {
        let mut after = 0;
        loop {
            let page = self.store.stream(&self.tenant.tenant_id, &intent.stream_id, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.header.seq;
            let stored = page.iter().filter(|entry| entry.header.seq < intent.seq);
            let weighed = stored.filter_map(|entry| {
                let bytes = u64::try_from(entry.body.as_ref()?.payload.len()).unwrap_or(u64::MAX);
                Some((entry.header.seq, bytes))
            });
            for seqs in portions(weighed.collect()) {
                let payloads = ErasedRange::of(&intent.stream_id, &seqs);
                self.step(intent, &Disposal { payloads, ..Disposal::default() }, counts).await?;
            }
        }
    }

    /// The last step: the record, the payload of the entry that has it, and the entry that says so.
    async fn complete(&self, intent: &Intent) -> Result<(), ServiceError> {
        let mut disposing = self.locked(intent).await?;
        let Some(last) = disposing.head(&self.stream()).map(|head| head.seq) else { return Ok(()) };
        let whole = ErasedRange { stream_id: intent.stream_id.clone(), first: 1, last };
        let own = (self.space_id.clone(), SpaceRowKind::Space, String::new());
        let disposal = Disposal { payloads: vec![whole.clone()], space_records: vec![own], ..Disposal::default() };
        disposing.erase(&disposal).await?;
        let event = SpaceEvent::SpaceErasureCompleted { space_id: self.space_id.clone(), payloads: whole };
        self.append(&mut disposing, event);
        disposing.commit().await?;
        metrics::counter!("cscp_spaces_erased_total").increment(1);
        Ok(())
    }

    /// One step, and a pause as long as it took: whoever else writes has at least every second turn.
    async fn step(&self, intent: &Intent, disposal: &Disposal, counts: &mut Counts) -> Result<(), ServiceError> {
        let began = Instant::now();
        let mut disposing = self.locked(intent).await?;
        for (kind, count) in disposing.erase(disposal).await? {
            *counts.entry(kind).or_default() += count;
        }
        disposing.commit().await?;
        metrics::histogram!("cscp_erasing_step_seconds").record(began.elapsed().as_secs_f64());
        rest(began).await;
        Ok(())
    }

    /// A transaction with the lock of the space, which is still going and is not held. Fails with
    /// [`ServiceError::NotFound`] if another one has finished this erasure.
    async fn locked(&self, intent: &Intent) -> Result<Disposing, ServiceError> {
        let mut disposing = Disposing::begin(self.store, self.tenant, [self.stream()]).await?;
        let rows = disposing.transaction().load_spaces(&[self.want()]).await?;
        let record = rows.into_iter().find_map(|(_, _, row)| going(row));
        let record = record.filter(|record| record.erased_at == intent.record.erased_at);
        let record = record.ok_or(ServiceError::NotFound("fact space"))?;
        let held = disposing.held().await?;
        let whose = record.memory_of().and_then(|id| PrincipalId::new(id.to_owned()).ok());
        if whose.is_some_and(|whose| held.holds_principal(&whose)) {
            return Err(ServiceError::LegalHold);
        }
        Ok(disposing)
    }

    /// The entry that says that the space is erased; none if it is not. A mark that no entry explains erases nothing.
    async fn intent(&self) -> Result<Option<Intent>, ServiceError> {
        let rows = self.store.spaces(&[self.want()]).await?;
        let Some(record) = rows.into_iter().find_map(|(_, row)| going(row)) else { return Ok(None) };
        let tenant_id = &self.tenant.tenant_id;
        let head = self.store.stream_head(tenant_id, &self.stream()).await?;
        let unexplained = || {
            tracing::error!(
                "a fact space is marked as being erased, and its log does not say so: nothing of it is erased; see cscp \
                 verify --replay"
            );
            ServiceError::Internal
        };
        let StreamHead { stream_id, seq, .. } = head.ok_or_else(unexplained)?;
        let last = self.store.stream(tenant_id, &stream_id, seq.saturating_sub(LAST), PAGE).await?;
        let says = |entry: &LogEntry| entry.header.kind == SpaceEvent::SPACE_ERASED;
        match last.iter().rev().find(|entry| says(entry)).map(|entry| entry.header.seq) {
            Some(seq) => Ok(Some(Intent { stream_id, seq, record })),
            // It may have been finished since the record was read.
            None if self.store.spaces(&[self.want()]).await?.into_iter().find_map(|(_, row)| going(row)).is_none() => {
                Ok(None)
            }
            None => Err(unexplained()),
        }
    }

    fn append(&self, disposing: &mut Disposing, event: SpaceEvent) {
        let about = About { space_id: Some(self.space_id.clone()), ..About::default() };
        let recorded = Recorded { stream: self.stream(), about, event };
        // After a panic the source of randomness is still whole, so a poisoned lock is used.
        let mut entropy = self.entropy.lock().unwrap_or_else(PoisonError::into_inner);
        disposing.append(&recorded, &self.policy, entropy.as_mut());
    }

    fn stream(&self) -> StreamKey {
        StreamKey::FactSpace(self.space_id.clone())
    }

    /// The space's record alone.
    fn want(&self) -> SpaceWant {
        SpaceWant {
            tenant_id: self.tenant.tenant_id.clone(),
            space_id: self.space_id.clone(),
            live: false,
            whole: false,
            named: vec![String::new()],
        }
    }
}

fn going(row: SpaceRow) -> Option<SpaceRecord> {
    match row {
        SpaceRow::Space(record) if record.is_going() => Some(record),
        _ => None,
    }
}

/// It is done if another one has done it.
fn or_done<T: Default>(result: Result<T, ServiceError>) -> Result<T, ServiceError> {
    match result {
        Err(ServiceError::NotFound(_)) => Ok(T::default()),
        result => result,
    }
}

/// As long as the work took.
async fn rest(since: Instant) {
    tokio::time::sleep(since.elapsed()).await;
}

/// The spaces that are being erased, by their chains. To readers what they said is erased. Asked for before entries are read.
#[derive(Debug)]
pub(super) struct Fading(BTreeMap<StreamId, SpaceId>);

impl Fading {
    pub(super) async fn of(store: &dyn Store, tenant_id: &TenantId) -> Result<Self, StorageError> {
        let mut chains = BTreeMap::new();
        for SpaceRecord { space_id, .. } in store.going_spaces(tenant_id).await? {
            let head = store.stream_head(tenant_id, &StreamKey::FactSpace(space_id.clone())).await?;
            chains.extend(head.map(|head| (head.stream_id, space_id)));
        }
        Ok(Self(chains))
    }

    /// Whether what was found by a search is of one of them: a record, a kept answer, or what an entry says.
    pub(super) fn hides(&self, table: Table, found: &Found) -> bool {
        let space = match table {
            Table::SpaceRecords => found.place.first().cloned(),
            Table::Claims => serde_json::from_str::<StoredClaim>(&found.body)
                .ok()
                .and_then(|claim| claim.space_id)
                .map(|space_id| space_id.as_str().to_owned()),
            Table::LogPayloads => {
                return found
                    .place
                    .first()
                    .and_then(|id| StreamId::parse(id))
                    .is_some_and(|id| self.0.contains_key(&id));
            }
            _ => None,
        };
        space.is_some_and(|space| self.0.values().any(|going| going.as_str() == space))
    }

    /// The entry as it may be shown.
    pub(super) fn shown(&self, entry: LogEntry) -> LogEntry {
        if self.0.contains_key(&entry.header.stream_id) { LogEntry { body: None, ..entry } } else { entry }
    }
}

/// Goes on with the spaces of a tenant that are being erased, in case whoever began was interrupted.
pub(super) async fn resume(
    store: &dyn Store,
    tenant: &Tenant,
    policy: &PolicyRef,
    entropy: &Mutex<Box<dyn Entropy>>,
) -> Result<(), StorageError> {
    for record in store.going_spaces(&tenant.tenant_id).await? {
        if record.erasure_id.is_some() {
            continue;
        }
        let going = Going { store, tenant, space_id: &record.space_id, policy: policy.clone(), entropy };
        match going.finish().await {
            Ok(()) => {}
            Err(ServiceError::LegalHold) => {
                tracing::info!("a fact space that was deleted is under a legal hold: what is stored of it stays");
            }
            Err(error) => tracing::warn!(reason = %error, "a deleted fact space could not be erased yet; tried again"),
        }
    }
    Ok(())
}
