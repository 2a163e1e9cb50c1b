//! Verification: re-derives a chain from what is stored and names the entry that does not fit.

use serde::Deserialize;

use crate::domain::canonical::{Digest, canonical, is_canonical};
use crate::domain::event::{About, Event};
use crate::domain::id::{ArtifactId, ContextFrameId, StreamId, TenantId};
use crate::domain::policy::PolicyRef;
use crate::domain::world::StoredFrame;
use crate::evidence::deriving::{entry_hash, payload_commitment};
use crate::evidence::entry::{LogEntry, Logged, Payload, StreamHead};
use crate::evidence::erasures::Erasures;

/// What is wrong with a chain, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("entry {seq} ({}): {fault}", artifact_id.as_ref().map_or("none", ArtifactId::as_str))]
pub struct Broken {
    /// The sequence number at which it shows.
    pub seq: u64,
    /// The entry, if there is one.
    pub artifact_id: Option<ArtifactId>,
    /// How.
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
    /// The stream's head names another last entry: entries were cut off or added.
    #[error("the stream's head names another last entry")]
    Head,
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
    /// Its id.
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
    let (fault, captured) = match opened(entry) {
        Ok(captured) => (None, captured),
        Err(fault) => (Some(fault), None),
    };
    Looked { is_own, hash_holds, fault, captured }
}

/// Whether the payload, if it is there, is what was committed to; and the frame that it captured.
fn opened(entry: &LogEntry) -> Result<Option<Captured>, Fault> {
    let Some(body) = &entry.body else { return Ok(None) };
    if payload_commitment(&body.salt, body.payload.as_bytes()) != entry.payload_commitment {
        return Err(Fault::Payload);
    }
    if !is_canonical(&body.payload) {
        return Err(Fault::Form);
    }
    let event = event_of(&body.payload).ok_or(Fault::Form)?;
    if event.evidence_type() != entry.header.kind {
        return Err(Fault::Kind);
    }
    let Logged::Core(Event::FrameCaptured { frame, salt, context_hash }) = event else { return Ok(None) };
    if frame.context_hash(&salt) != context_hash {
        return Err(Fault::Frame);
    }
    let id = frame.context_frame_id.clone();
    Ok(Some(Captured { id, canonical: canonical(&StoredFrame { frame, salt, context_hash }) }))
}

/// What happened, if the payload is a record of a known form. Most are of conversations: to read one as such is cheaper
/// than to find out of which kind it is.
fn event_of(payload: &str) -> Option<Logged> {
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "the form is all that matters")]
    struct OfCore {
        v: u32,
        about: About,
        policy: PolicyRef,
        event: Event,
    }
    if let Ok(OfCore { event, .. }) = serde_json::from_str(payload) {
        return Some(Logged::Core(event));
    }
    serde_json::from_str::<Payload>(payload).ok().map(|payload| payload.event)
}

/// Follows one stream, entry by entry, in constant memory.
#[derive(Debug)]
pub struct ChainCheck {
    head: StreamHead,
    /// Entries seen.
    pub entries: u64,
    /// Entries whose payload is gone, as the record says: a later entry of the stream, about a deleted fact or an erased
    /// space, or the disposal stream. Their place in the chain still verifies.
    pub erased: u64,
    /// Entries whose payload is gone, and nothing says why.
    pub missing: u64,
    /// Of those, the entries about facts.
    missing_facts: u64,
}

/// The evidence type of a fact's deletion: it explains what is missing about facts before it.
const FACT_DELETED: &str = "fact.deleted";
/// The evidence type of an utterance that was read: a deleted fact may have been made of it.
const OBSERVATION: &str = "observation.read";
/// The evidence type of a space's erasure: it explains whatever is missing before it.
const SPACE_ERASED: &str = "fact_space.erased";

impl ChainCheck {
    /// Begins at the start of a stream.
    #[must_use]
    pub fn new(stream_id: StreamId) -> Self {
        Self { head: StreamHead::new(stream_id), entries: 0, erased: 0, missing: 0, missing_facts: 0 }
    }

    /// The last entry that held.
    #[must_use]
    pub fn head(&self) -> &StreamHead {
        &self.head
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
        self.account(entry, erasures);
        Ok(())
    }

    /// Which fact an entry was about is gone with its payload, so a deletion explains all that is missing about facts.
    fn account(&mut self, entry: &LogEntry, erasures: &Erasures) {
        let header = &entry.header;
        let kind = header.kind.as_str();
        if entry.body.is_none() {
            if !erasures.explain(&header.stream_id, header.seq, header.at) {
                self.missing += 1;
                self.missing_facts += u64::from(kind.starts_with("fact.") || kind == OBSERVATION);
                return;
            }
            self.erased += 1;
        }
        // A deletion says so in its header, too: it still does when its own payload went with the record's leave.
        let explained = match kind {
            SPACE_ERASED => self.missing,
            FACT_DELETED => self.missing_facts,
            _ => return,
        };
        self.erased += explained;
        self.missing -= explained;
        self.missing_facts = 0;
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
    pub fn finish(&self, seq: u64, hash: &Digest) -> Result<(), Broken> {
        if self.head.seq == seq && self.head.hash == *hash {
            return Ok(());
        }
        Err(Broken { seq: self.head.seq.max(seq), artifact_id: None, fault: Fault::Head })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::{About, Event, ReadRecord, Recorded, StreamKey};
    use crate::domain::id::{Entropy, Ids};
    use crate::domain::policy::PolicyRef;
    use crate::domain::time::Timestamp;
    use crate::evidence::entry::append;

    struct Counter(u8);
    impl Entropy for Counter {
        fn bytes(&mut self) -> [u8; 32] {
            self.0 = self.0.wrapping_add(1);
            [self.0; 32]
        }
    }

    fn chain(length: u8) -> (StreamHead, Vec<LogEntry>) {
        let mut source = Counter(0);
        let mut ids = Ids::new(Timestamp::from_micros(1_700_000_000_000_000), &mut source);
        let tenant = TenantId::new("t").unwrap();
        let policy =
            PolicyRef { pack_id: "basic".to_owned(), version: "1.0.0".to_owned(), hash: "sha256:x".to_owned() };
        let mut head = StreamHead::new(ids.stream());
        let read = |n: u8| ReadRecord {
            operation: format!("test {n}"),
            key_id: "k".to_owned(),
            viewer_id: None,
            detail: None,
            conversation_id: None,
            context_id: None,
            command_id: None,
            space_id: None,
            pack_id: None,
            ids: Vec::new(),
            ids_digest: None,
            refused: false,
            records: 0,
        };
        let entries = (0..length).map(|n| {
            let recorded = Recorded {
                stream: StreamKey::Access("k".to_owned()),
                about: About::default(),
                event: Event::ReadRecorded { read: read(n) },
            };
            let at = Timestamp::from_micros(1_700_000_000_000_000 + i64::from(n));
            append(&mut head, &tenant, &recorded, &policy, at, &mut ids).entry
        });
        let entries = entries.collect();
        (head, entries)
    }

    fn check(head: &StreamHead, entries: &[LogEntry]) -> Result<ChainCheck, Broken> {
        let mut chain = ChainCheck::new(head.stream_id.clone());
        let tenant_id = TenantId::new("t").unwrap();
        entries.iter().try_for_each(|entry| chain.next(&tenant_id, entry, &Erasures::default()))?;
        chain.finish(head.seq, &head.hash)?;
        Ok(chain)
    }

    #[test]
    fn an_untouched_chain_verifies_and_so_does_one_without_some_payloads() {
        let (head, mut entries) = chain(5);
        assert!(check(&head, &entries).is_ok());
        entries[2].body = None;
        let chain = check(&head, &entries).unwrap();
        assert_eq!((chain.erased, chain.missing), (0, 1), "nothing says why it is gone");
    }

    #[test]
    fn what_is_missing_is_explained_by_a_deletion_after_it_and_by_nothing_else() {
        let (head, entries) = chain(6);
        let of_kinds = |kinds: [&str; 6]| {
            let mut entries = entries.clone();
            for (entry, kind) in entries.iter_mut().zip(kinds) {
                entry.header.kind = kind.trim_start_matches('-').to_owned();
                entry.body = entry.body.take().filter(|_| !kind.starts_with('-'));
            }
            let mut chain = ChainCheck::new(head.stream_id.clone());
            for entry in &entries {
                chain.account(entry, &Erasures::default());
            }
            (chain.erased, chain.missing)
        };
        let (written, gone, observed) = ("fact.written", "-fact.written", "-observation.read");
        assert_eq!(of_kinds([written, gone, FACT_DELETED, written, written, written]), (1, 0));
        assert_eq!(of_kinds([written, observed, FACT_DELETED, gone, written, written]), (1, 1));
        assert_eq!(of_kinds([written, "-environment.set", FACT_DELETED, gone, written, written]), (0, 2));
        assert_eq!(of_kinds([gone, observed, gone, SPACE_ERASED, written, gone]), (3, 1));
        assert_eq!(of_kinds([gone, "-fact_space.erased", written, written, written, written]), (0, 2));
    }

    #[test]
    fn every_kind_of_change_is_found_at_the_right_entry() {
        type Tamper = fn(&mut Vec<LogEntry>);
        let (head, entries) = chain(5);
        let cases: [(&str, Tamper, u64, Fault); 9] = [
            ("delete", |e| drop(e.remove(2)), 4, Fault::Sequence),
            ("truncate", |e| drop(e.pop()), 5, Fault::Head),
            ("repeat", |e| e.insert(2, e[1].clone()), 2, Fault::Sequence),
            ("swap", |e| e.swap(1, 2), 3, Fault::Sequence),
            ("link", |e| e[3].prev_hash = Digest::ZERO, 4, Fault::Link),
            ("time", |e| e[3].header.at = Timestamp::from_micros(0), 4, Fault::Hash),
            ("tenant", |e| e[3].header.tenant_id = TenantId::new("u").unwrap(), 4, Fault::Foreign),
            ("payload", |e| e[1].body.as_mut().unwrap().payload.push(' '), 2, Fault::Payload),
            ("salt", |e| e[1].body.as_mut().unwrap().salt = Digest::ZERO, 2, Fault::Payload),
        ];
        for (name, tamper, seq, fault) in cases {
            let mut changed = entries.clone();
            tamper(&mut changed);
            let broken = check(&head, &changed).unwrap_err();
            assert_eq!((broken.seq, broken.fault), (seq, fault), "{name}");
        }
    }

    #[test]
    fn a_change_with_every_later_hash_recomputed_shows_at_the_head() {
        let (head, mut entries) = chain(4);
        entries[1].header.kind = "access.other".to_owned();
        for index in 1..entries.len() {
            entries[index].prev_hash = entries[index - 1].entry_hash;
            entries[index].entry_hash =
                entry_hash(&entries[index].prev_hash, &entries[index].header, &entries[index].payload_commitment);
        }
        entries[1].body = None;
        assert_eq!(check(&head, &entries).unwrap_err().fault, Fault::Head);
    }
}
