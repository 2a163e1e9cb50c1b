//! Verification: re-derives a chain from what is stored and names the entry that does not fit.

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
    /// The sequence number at which it shows.
    pub seq: u64,
    /// The entry, if there is one.
    pub artifact_id: Option<ArtifactId>,
    pub fault: Fault,
}

/// How an entry does not fit.
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
    /// Its payload is filed under something else than it says: who searches for what it is about does not find it.
    #[error("the payload is filed under something else than it tells: searches and exports by that miss it")]
    Filed,
    /// The stream has the name of another one, or none though its entries tell whose it is.
    #[error("the stream's name is not the one that its entries tell")]
    Name,
}

/// What can be said of an entry without the others: the costly part, which can be found out side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// Whether it belongs to the tenant.
    is_own: bool,
    /// Whether its hash is the hash of its content.
    hash_holds: bool,
    /// What does not fit between its commitment, its payload and its header.
    fault: Option<Fault>,
    /// The frame that its payload captured.
    pub captured: Option<Captured>,
    /// What its payload tells of where it belongs; none if that is gone or does not hold.
    pub told: Option<Box<Told>>,
}

/// What a payload tells of where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// What it is about.
    pub about: About,
    /// The stream that it belongs to; none in a reader's.
    pub stream: Option<StreamKey>,
    /// The credential that was read with.
    pub key_id: Option<String>,
    /// Which payloads a deletion took, and from which entry on deletions are accounted for by that.
    pub deleted: Option<(u64, Vec<ErasedRange>)>,
}

impl Looked {
    /// The same with a fault that others have found, unless it has one of its own.
    #[must_use]
    pub fn or_fault(self, fault: Fault) -> Self {
        Self { fault: self.fault.or(Some(fault)), ..self }
    }
}

/// A frame as an entry captured it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    pub id: ContextFrameId,
    /// What readers must be shown, as it is hashed: 1.0 and 1 are one number.
    canonical: Vec<u8>,
}

impl Captured {
    /// Whether readers are shown what was captured.
    #[must_use]
    pub fn is(&self, stored: &StoredFrame) -> bool {
        canonical(stored) == self.canonical
    }
}

/// Looks at an entry of a tenant's log by itself.
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

/// Whether the payload, if it is there, is what was committed to; the frame that it captured, and what it tells.
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

/// What happened and what it is about, if the payload is a record of a known form. Most are of conversations: to read one as such is cheaper
/// than to find out of which kind it is.
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

/// Follows one stream, entry by entry. Memory grows with the payloads that are gone and not explained, not with the chain.
#[derive(Debug)]
pub struct ChainCheck {
    head: StreamHead,
    pub entries: u64,
    /// Entries whose payload is gone, as the record says: the disposal stream, or a later entry of the stream, about a
    /// deletion or the erasure of the space. Their place in the chain still verifies.
    erased: u64,
    /// Entries whose payload is gone and that nothing explained so far, and whether each is about facts.
    gone: BTreeMap<u64, bool>,
    /// Deletions of facts of which no entry says which payloads went with them.
    deletions: BTreeSet<u64>,
}

/// The evidence type of a fact's deletion.
const FACT_DELETED: &str = "fact.deleted";
/// The evidence type of an utterance that was read: a deleted fact may have been made of it.
const OBSERVATION: &str = "observation.read";
/// The evidence type of a space's erasure: it explains whatever is missing before it.
const SPACE_ERASED: &str = "fact_space.erased";

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

    /// Entries whose payload is gone, as the record says.
    #[must_use]
    pub fn erased(&self) -> u64 {
        self.erased.saturating_add(self.undetermined())
    }

    /// Those of them of which it is not known that they are the ones: an entry of an earlier version says that a fact was
    /// deleted, and not what went with it, or what said it has gone itself.
    #[must_use]
    pub fn undetermined(&self) -> u64 {
        let last = self.deletions.last().copied().unwrap_or(0);
        u64::try_from(self.gone.range(..last).filter(|(_, of_fact)| **of_fact).count()).unwrap_or(u64::MAX)
    }

    /// Entries whose payload is gone, and nothing says why.
    #[must_use]
    pub fn missing(&self) -> u64 {
        u64::try_from(self.gone.len()).unwrap_or(u64::MAX).saturating_sub(self.undetermined())
    }

    /// Checks the next entry.
    pub fn next(&mut self, tenant_id: &TenantId, entry: &LogEntry, erasures: &Erasures) -> Result<(), Broken> {
        self.take(entry, &look(tenant_id, entry), erasures)
    }

    /// Checks the next entry, which was looked at before.
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

    /// Notes what is gone, and what an entry explains of what was gone before it.
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
        // An erasure of all and a deletion say so in the header, too: they still do when their own payload went with the
        // record's leave.
        match kind {
            SPACE_ERASED => {
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

    /// Compares the end of the chain with the head that the stream claims.
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
