//! Runs an erasure. Each transaction erases some records and logs it; the same request again continues an interrupted
//! erasure.
//!
//! The order makes that safe: the records by which others are found are erased last. First others' records that mention
//! the person, then their memories, then their conversations (contexts and messages in the last transaction of each),
//! then their registration. A repeated request finds what is left by the same names.

use std::collections::BTreeSet;

use super::super::{Caller, Service, ServiceError};
use super::batch::{Batch, OfConversations};
use super::receipt::Progress;
use super::scrubbing;
use super::subject::{Search, Subject};
use super::surveying::{ORDER, stands_in_the_way};
use crate::domain::disposal::{DisposalEvent, ErasedRange, ErasedRows, ErasureCause};
use crate::domain::event::StreamKey;
use crate::domain::id::{ErasureId, SpaceId, StreamId};
use crate::domain::policy::PolicyRef;
use crate::storage::{Counts, Disposal, Disposing, ErasureRow, Kept, SpaceRowKind, count_kinds};

/// Payloads erased in one transaction.
const CHUNK: u64 = 500;
/// How long the dedupe key of an erased message is kept, in seconds: a day longer than channels redeliver.
const TOMBSTONE_SECONDS: u32 = 8 * 24 * 60 * 60;

pub(super) struct Erasing<'a> {
    pub(super) service: &'a Service,
    pub(super) caller: &'a Caller,
    pub(super) policy: PolicyRef,
    pub(super) row: ErasureRow,
    pub(super) progress: Progress,
    /// What went in steps and is to be told with what goes next.
    pub(super) drained: Counts,
}

/// The pseudonym that replaces the person's name in records that are kept.
pub(in crate::service) fn pseudonym(erasure_id: &ErasureId) -> String {
    let id = erasure_id.as_str();
    format!("erased-{}", id.get(id.len().saturating_sub(12)..).unwrap_or_default())
}

impl Erasing<'_> {
    /// The pseudonym of this erasure.
    fn pseudonym(&self) -> String {
        pseudonym(&self.row.erasure_id)
    }

    pub(super) async fn begin(
        &self,
        streams: BTreeSet<StreamKey>,
        named: Vec<crate::domain::operation::Needs>,
        subject: &Subject,
    ) -> Result<Disposing, ServiceError> {
        let (store, tenant) = (self.service.store.as_ref(), &self.caller.tenant);
        let mut disposing = Disposing::begin_with(store, tenant, streams.clone(), named).await?;
        if stands_in_the_way(&disposing.held().await?, subject, &streams) {
            return Err(ServiceError::LegalHold);
        }
        Ok(disposing)
    }

    /// Searches everything once and erases what it finds, except the registration; returns whether there was anything.
    pub(super) async fn round(&mut self, subject: &Subject) -> Result<bool, ServiceError> {
        let tenant_id = self.caller.tenant.tenant_id.clone();
        let store = std::sync::Arc::clone(&self.service.store);
        let mut own = OfConversations::new();
        let mut any = false;
        for table in ORDER {
            let mut search = Search::new(store.as_ref(), &tenant_id, table, &subject.identifiers);
            while let Some(page) = search.next().await? {
                let batch = Batch::of(table, page, subject, &mut own);
                any |= self.apply(subject, batch).await?;
            }
        }
        for space in &subject.spaces {
            any |= self.space(subject, space).await?;
        }
        for conversation in &subject.conversations {
            let mut batch = own.remove(conversation).unwrap_or_default();
            batch.disposal.conversations.push(conversation.clone());
            any |= self.stream(subject, StreamKey::Conversation(conversation.clone()), batch).await?;
        }
        Ok(any)
    }

    /// Erases a memory: in steps, as every space is, and at the end together with the name of its stream.
    async fn space(&mut self, subject: &Subject, space_id: &SpaceId) -> Result<bool, ServiceError> {
        let going = self.service.going(self.caller, space_id);
        going.begin(&self.row.erasure_id).await?;
        self.drained = going.drain().await?;
        let disposal = Disposal {
            space_records: vec![(space_id.clone(), SpaceRowKind::Space, String::new())],
            ..Disposal::default()
        };
        self.stream(subject, StreamKey::FactSpace(space_id.clone()), Batch { disposal, ..Batch::default() }).await
    }

    /// Erases what a page of a search found outside the person's own streams.
    async fn apply(&mut self, subject: &Subject, mut batch: Batch) -> Result<bool, ServiceError> {
        let tenant_id = self.caller.tenant.tenant_id.clone();
        let streams: Vec<StreamId> = batch.payloads.keys().cloned().collect();
        if !streams.is_empty() {
            for (key, head) in self.service.store.named_streams(&tenant_id, &streams).await? {
                if subject.owns(&key) {
                    batch.payloads.remove(&head.stream_id);
                } else {
                    batch.locks.insert(key);
                }
            }
        }
        if batch.is_empty() {
            return Ok(false);
        }
        let mut disposing = self.begin(batch.locks.clone(), batch.needs(), subject).await?;
        let scrubbed =
            scrubbing::scrub(&mut disposing, &tenant_id, &mut batch, &subject.identifiers, &self.pseudonym()).await?;
        batch.disposal.payloads =
            batch.payloads.iter().flat_map(|(stream, seqs)| ErasedRange::of(stream, seqs)).collect();
        self.commit(disposing, batch, scrubbed).await
    }

    /// Erases a stream of the person: payloads, rows and name. Payloads are erased from the end, so that the entries by
    /// which the rest is found are erased last.
    async fn stream(&mut self, subject: &Subject, key: StreamKey, mut batch: Batch) -> Result<bool, ServiceError> {
        let mut any = false;
        let mut last = None;
        loop {
            let disposing = self.begin(BTreeSet::from([key.clone()]), Vec::new(), subject).await?;
            let head = disposing.head(&key).cloned();
            let upto = last.or(head.as_ref().map(|head| head.seq)).unwrap_or(0);
            let (Some(head), true) = (&head, upto > CHUNK) else {
                if let Some(head) = head {
                    let stream_id = head.stream_id.clone();
                    batch.disposal.streams.push(stream_id.clone());
                    batch.disposal.payloads.push(ErasedRange { stream_id, first: 1, last: head.seq });
                }
                return Ok(self.commit(disposing, batch, 0).await? || any);
            };
            let first = upto - CHUNK + 1;
            let range = ErasedRange { stream_id: head.stream_id.clone(), first, last: upto };
            let disposal = Disposal { payloads: vec![range], ..Disposal::default() };
            any |= self.commit(disposing, Batch { disposal, ..Batch::default() }, 0).await?;
            last = Some(first - 1);
        }
    }

    /// Erases and logs it; returns whether there was anything.
    async fn commit(
        &mut self,
        mut disposing: Disposing,
        mut batch: Batch,
        scrubbed: u64,
    ) -> Result<bool, ServiceError> {
        let until = disposing.now().plus_seconds(TOMBSTONE_SECONDS);
        batch.disposal.tombstones.extend(batch.messages.iter().map(|key| (*key, until)));
        let mut counts = disposing.erase(&batch.disposal).await?;
        if scrubbed > 0 {
            // Scrubbed rows were deleted and written again without the name, so they do not count as erased.
            for (kind, rows) in scrubbing::kinds(&batch.scrubs) {
                counts.entry(kind).and_modify(|count| *count = count.saturating_sub(rows));
            }
            counts.insert("scrubbed", scrubbed);
        }
        if counts.values().all(|count| *count == 0) {
            // Removes stream names that were created only to be locked.
            disposing.commit().await?;
            return Ok(false);
        }
        self.record(&mut disposing, &batch.disposal.payloads, &counts);
        self.keep(&mut disposing).await?;
        disposing.commit().await?;
        Ok(true)
    }

    pub(super) fn record(&mut self, disposing: &mut Disposing, payloads: &[ErasedRange], counts: &Counts) {
        let mut all = std::mem::take(&mut self.drained);
        for (kind, count) in counts {
            *all.entry(kind).or_default() += count;
        }
        let counts = count_kinds(&all);
        self.progress.add(&counts);
        let cause = ErasureCause::Subject { erasure_id: self.row.erasure_id.clone() };
        // The list of rows is empty: entries about these rows are erased too, so no remaining entry mentions them.
        let rows = Some(ErasedRows::default());
        self.tell(disposing, DisposalEvent::RecordsErased { cause, payloads: payloads.to_vec(), counts, rows });
    }

    pub(super) fn tell(&mut self, disposing: &mut Disposing, event: DisposalEvent) {
        let mut entropy = self.service.entropy.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (artifact_id, hash) = disposing.record(event, &self.policy, entropy.as_mut());
        self.progress.entries.push((artifact_id, hash));
    }

    pub(super) async fn keep(&mut self, disposing: &mut Disposing) -> Result<(), ServiceError> {
        self.row.body = self.progress.text();
        let kept = Kept::Erasure(self.row.clone());
        Ok(disposing.transaction().keep(&self.caller.tenant.tenant_id, &kept).await?)
    }

    /// Erases the registration and completes the erasure.
    pub(super) async fn finish(
        &mut self,
        subject: &Subject,
        commitment: crate::domain::canonical::Digest,
    ) -> Result<(), ServiceError> {
        let tenant_id = self.caller.tenant.tenant_id.clone();
        let mut disposing = self.begin(subject.streams.clone(), Vec::new(), subject).await?;
        let heads = subject.streams.iter().filter_map(|key| disposing.head(key)).cloned().collect::<Vec<_>>();
        let whole = |head: &crate::evidence::entry::StreamHead| ErasedRange {
            stream_id: head.stream_id.clone(),
            first: 1,
            last: head.seq,
        };
        let disposal = Disposal {
            payloads: heads.iter().map(whole).collect(),
            streams: heads.iter().map(|head| head.stream_id.clone()).collect(),
            principals: subject.people.iter().cloned().collect(),
            ..Disposal::default()
        };
        let counts = disposing.erase(&disposal).await?;
        let people = subject.people.iter().cloned().collect();
        let no_keys = Kept::NoKeysOf(people, disposing.now());
        disposing.transaction().keep(&tenant_id, &no_keys).await?;
        if counts.values().any(|count| *count > 0) {
            self.record(&mut disposing, &disposal.payloads, &counts);
        }
        let event = DisposalEvent::ErasureCompleted {
            erasure_id: self.row.erasure_id.clone(),
            subject_commitment: commitment,
            counts: self.progress.counts.clone(),
        };
        self.tell(&mut disposing, event);
        self.row.finished_at = Some(disposing.now());
        self.progress.subject_commitment = Some(commitment);
        self.progress.sign(self.service.transparency(), &self.caller.tenant, &self.row)?;
        self.keep(&mut disposing).await?;
        disposing.commit().await?;
        Ok(())
    }
}
