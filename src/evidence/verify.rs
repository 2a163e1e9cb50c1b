//! Verification: derives a chain again from what is stored and reports the entry that does not fit.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::domain::canonical::{canonical, is_canonical};
use crate::domain::disposal::ErasedRange;
use crate::domain::event::{About, Event, StreamKey};
use crate::domain::id::{ArtifactId, ContextFrameId, StreamId, TenantId};
use crate::domain::policy::PolicyRef;
use crate::domain::world::StoredFrame;
use crate::evidence::deriving::{entry_hash, payload_commitment};
use crate::evidence::entry::{LogEntry, Logged, Payload, StreamHead};
use crate::evidence::erasures::Erasures;
use crate::state_layer::event::SpaceEvent;

/// What is wrong with a chain, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("entry {seq} ({}): {fault}", artifact_id.as_ref().map_or("none", ArtifactId::as_str))]
pub struct Broken {
    /// The sequence number at which the fault shows.
    pub seq: u64,
    /// The entry, if there is one.
    pub artifact_id: Option<ArtifactId>,
    pub fault: Fault,
}

/// How an entry does not fit its chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A number is missing or out of order.
    #[error("the sequence is broken: an entry is missing, repeated or out of order")]
    Sequence,
    /// It belongs to another stream or tenant.
    #[error("the entry belongs to another stream or tenant")]
    Foreign,
    /// It does not name its predecessor's hash.
    #[error("prev_hash is not the hash of the entry before")]
    Link,
    /// The frame that it captured is missing, or is not what was captured.
    #[error("the context frame is missing, or is not what was captured")]
    Frame,
    /// Its hash is not the hash of its content.
    #[error("entry_hash is not the hash of header, link and commitment")]
    Hash,
    /// Its payload is not what was committed to.
    #[error("the payload is not what was committed to")]
    Payload,
    /// Its payload is not in canonical form or not readable.
    #[error("the payload is not a canonical record of a known form")]
    Form,
    /// It says another type than its payload.
    #[error("the header's type is not the payload's")]
    Kind,
    /// It is earlier than its predecessor.
    #[error("the time runs backwards")]
    Time,
    /// The stream's head names another last entry, or another time of it: entries were cut off or added.
    #[error("the stream's head names another last entry")]
    Head,
    /// Its payload is indexed under another subject than it names: a search for the real one misses it.
    #[error("the payload is indexed under another subject than it names: searches and exports by subject miss it")]
    Filed,
    /// The stream's name is another stream's, or is missing although its entries name it.
    #[error("the stream's name is not the one that its entries name")]
    Name,
}

/// The checks of an entry that need no other entry. They are the expensive part and can run in parallel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// Whether it belongs to the tenant.
    is_own: bool,
    /// Whether its hash is the hash of its content.
    hash_holds: bool,
    /// What does not fit between its commitment, its payload and its header.
    fault: Option<Fault>,
    /// The frame that the payload captured.
    pub captured: Option<Captured>,
    /// Where the payload says that it belongs; none if the payload is erased or does not verify.
    pub told: Option<Box<Told>>,
}

/// What a payload says about where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The subjects that it names.
    pub about: About,
    /// The stream that it belongs to; none in a reader's.
    pub stream: Option<StreamKey>,
    /// The credential of a read.
    pub key_id: Option<String>,
    /// The payloads that a deletion erased, and the first entry from which deletions are accounted for by such lists.
    pub deleted: Option<(u64, Vec<ErasedRange>)>,
}

impl Looked {
    /// The same, with a fault that another check found, unless it has one of its own.
    #[must_use]
    pub fn or_fault(self, fault: Fault) -> Self {
        Self { fault: self.fault.or(Some(fault)), ..self }
    }
}

/// A frame as an entry captured it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    pub id: ContextFrameId,
    /// The frame without what is hidden from readers, in canonical form: 1.0 and 1 are the same number.
    canonical: Vec<u8>,
}

impl Captured {
    /// Whether the stored frame is the one that was captured.
    #[must_use]
    pub fn is(&self, stored: &StoredFrame) -> bool {
        canonical(stored) == self.canonical
    }
}

/// Checks an entry of a tenant's log by itself.
#[must_use]
pub fn look(tenant_id: &TenantId, entry: &LogEntry) -> Looked {
    let is_own = entry.header.tenant_id == *tenant_id;
    let hash_holds = entry.entry_hash == entry_hash(&entry.prev_hash, &entry.header, &entry.payload_commitment);
    let (fault, captured, told) = match opened(entry) {
        Ok((captured, told)) => (None, captured, told),
        Err(fault) => (Some(fault), None, None),
    };
    Looked { is_own, hash_holds, fault, captured, told }
}

/// Checks the payload, if it is there, against its commitment; returns the captured frame and what the payload says
/// about where it belongs.
fn opened(entry: &LogEntry) -> Result<(Option<Captured>, Option<Box<Told>>), Fault> {
    let Some(body) = &entry.body else { return Ok((None, None)) };
    if payload_commitment(&body.salt, body.payload.as_bytes()) != entry.payload_commitment {
        return Err(Fault::Payload);
    }
    if !is_canonical(&body.payload) {
        return Err(Fault::Form);
    }
    let (about, event) = event_of(&body.payload).ok_or(Fault::Form)?;
    if event.evidence_type() != entry.header.kind {
        return Err(Fault::Kind);
    }
    let key_id = match &event {
        Logged::Core(Event::ReadRecorded { read }) => Some(read.key_id.clone()),
        _ => None,
    };
    let deleted = match &event {
        Logged::Space(SpaceEvent::EvidenceErased { since, payloads, .. }) => Some((*since, payloads.clone())),
        _ => None,
    };
    let told = Some(Box::new(Told { stream: event.stream(&about), about, key_id, deleted }));
    let Logged::Core(Event::FrameCaptured { frame, salt, context_hash }) = event else { return Ok((None, told)) };
    if frame.context_hash(&salt) != context_hash {
        return Err(Fault::Frame);
    }
    let id = frame.context_frame_id.clone();
    Ok((Some(Captured { id, canonical: canonical(&StoredFrame { frame, salt, context_hash }) }), told))
}

/// The event and its subjects, if the payload is a record of a known form. Most records are of conversations: parsing
/// as one first is cheaper than detecting the kind.
fn event_of(payload: &str) -> Option<(About, Logged)> {
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "the form is all that matters")]
    struct OfCore {
        v: u32,
        about: About,
        policy: PolicyRef,
        event: Event,
    }
    if let Ok(OfCore { about, event, .. }) = serde_json::from_str(payload) {
        return Some((about, Logged::Core(event)));
    }
    serde_json::from_str::<Payload>(payload).ok().map(|payload| (payload.about, payload.event))
}

/// Verifies one stream, entry by entry. Memory grows with the number of unexplained missing payloads, not with the
/// chain.
#[derive(Debug)]
pub struct ChainCheck {
    head: StreamHead,
    pub entries: u64,
    /// Entries whose payload was erased with a record of it: in the disposal stream, or in a later entry of the stream
    /// about a deletion or the erasure of the space. Their links still verify.
    erased: u64,
    /// Entries whose payload is missing without an explanation so far, and whether each is about facts.
    gone: BTreeMap<u64, bool>,
    /// Deletions of facts for which no entry lists the erased payloads.
    deletions: BTreeSet<u64>,
}

/// The evidence type of a fact's deletion.
const FACT_DELETED: &str = "fact.deleted";
/// The evidence type of a read utterance: a deleted fact may have been made from it.
const OBSERVATION: &str = "observation.read";
/// The evidence types of a space's erasure and of its end: each explains every missing payload before it.
const SPACE_ERASED: &str = SpaceEvent::SPACE_ERASED;
const SPACE_ERASURE_COMPLETED: &str = SpaceEvent::SPACE_ERASURE_COMPLETED;

impl ChainCheck {
    /// Begins at the start of a stream.
    #[must_use]
    pub fn new(stream_id: StreamId) -> Self {
        let (gone, deletions) = (BTreeMap::new(), BTreeSet::new());
        Self { head: StreamHead::new(stream_id), entries: 0, erased: 0, gone, deletions }
    }

    /// The last entry that held.
    #[must_use]
    pub fn head(&self) -> &StreamHead {
        &self.head
    }

    /// Entries whose payload was erased with a record of it.
    #[must_use]
    pub fn erased(&self) -> u64 {
        self.erased.saturating_add(self.undetermined())
    }

    /// Erased payloads whose list is unknown: an entry of an earlier version records a deletion without listing what
    /// went with it, or the entry with the list was erased itself.
    #[must_use]
    pub fn undetermined(&self) -> u64 {
        let last = self.deletions.last().copied().unwrap_or(0);
        u64::try_from(self.gone.range(..last).filter(|(_, of_fact)| **of_fact).count()).unwrap_or(u64::MAX)
    }

    /// Entries whose payload is missing without an explanation.
    #[must_use]
    pub fn missing(&self) -> u64 {
        u64::try_from(self.gone.len()).unwrap_or(u64::MAX).saturating_sub(self.undetermined())
    }

    pub fn next(&mut self, tenant_id: &TenantId, entry: &LogEntry, erasures: &Erasures) -> Result<(), Broken> {
        self.take(entry, &look(tenant_id, entry), erasures)
    }

    /// Checks the next entry, using the result of [`look`].
    pub fn take(&mut self, entry: &LogEntry, looked: &Looked, erasures: &Erasures) -> Result<(), Broken> {
        let fault = self.fault(entry, looked);
        if let Some(fault) = fault {
            let artifact_id = Some(entry.header.artifact_id.clone());
            return Err(Broken { seq: entry.header.seq, artifact_id, fault });
        }
        self.head.seq = entry.header.seq;
        self.head.hash = entry.entry_hash;
        self.head.at = Some(entry.header.at);
        self.entries += 1;
        self.account(entry, looked.told.as_ref().and_then(|told| told.deleted.as_ref()), erasures);
        Ok(())
    }

    /// Records a missing payload, and what an entry explains about payloads missing before it.
    fn account(&mut self, entry: &LogEntry, deleted: Option<&(u64, Vec<ErasedRange>)>, erasures: &Erasures) {
        let header = &entry.header;
        let kind = header.kind.as_str();
        if entry.body.is_none() {
            if !erasures.explain(&header.stream_id, header.seq, header.at) {
                self.gone.insert(header.seq, kind.starts_with("fact.") || kind == OBSERVATION);
                return;
            }
            self.erased += 1;
        }
        // The header alone shows the erasure of a space or a deletion, so it counts even if the payload was erased
        // later.
        match kind {
            SPACE_ERASED | SPACE_ERASURE_COMPLETED => {
                self.erased += u64::try_from(self.gone.len()).unwrap_or(0);
                self.gone.clear();
                self.deletions.clear();
            }
            FACT_DELETED => drop(self.deletions.insert(header.seq)),
            _ => {}
        }
        if let Some((since, payloads)) = deleted {
            for range in payloads.iter().filter(|range| range.stream_id == header.stream_id) {
                let before = self.gone.len();
                self.gone.retain(|seq, _| !(range.first..=range.last).contains(seq));
                self.erased += u64::try_from(before - self.gone.len()).unwrap_or(0);
            }
            self.deletions.retain(|deletion| deletion < since);
        }
    }

    fn fault(&self, entry: &LogEntry, looked: &Looked) -> Option<Fault> {
        let header = &entry.header;
        if !looked.is_own || header.stream_id != self.head.stream_id {
            return Some(Fault::Foreign);
        }
        if header.seq != self.head.seq + 1 {
            return Some(Fault::Sequence);
        }
        if entry.prev_hash != self.head.hash {
            return Some(Fault::Link);
        }
        if !looked.hash_holds {
            return Some(Fault::Hash);
        }
        if self.head.at.is_some_and(|before| header.at < before) {
            return Some(Fault::Time);
        }
        looked.fault
    }

    /// Compares the end of the chain with the stored head of the stream.
    pub fn finish(&self, head: &StreamHead) -> Result<(), Broken> {
        if self.head == *head {
            return Ok(());
        }
        Err(Broken { seq: self.head.seq.max(head.seq), artifact_id: None, fault: Fault::Head })
    }
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
