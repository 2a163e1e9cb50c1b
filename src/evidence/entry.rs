//! Entries of the evidence log and the hashes that link them.

use serde::{Deserialize, Serialize};

use crate::domain::canonical::{Digest, Purpose, canonical, commit, hash};
use crate::domain::disposal::DisposalEvent;
use crate::domain::event::{About, Event, Evidence, Recorded, StreamKey};
use crate::domain::id::{ArtifactId, Ids, StreamId, TenantId};
use crate::domain::policy::PolicyRef;
use crate::domain::time::Timestamp;
use crate::state_layer::event::SpaceEvent;

/// The format of header and payload.
pub const ENTRY_VERSION: u32 = 1;

/// The head of a stream's chain: what the next entry links to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamHead {
    pub stream_id: StreamId,
    /// The sequence number of its last entry; 0 before the first.
    pub seq: u64,
    /// The hash of its last entry; zero before the first.
    pub hash: Digest,
    /// The time of its last entry. The next one is no earlier.
    pub at: Option<Timestamp>,
}

impl StreamHead {
    /// A stream without entries.
    #[must_use]
    pub fn new(stream_id: StreamId) -> Self {
        Self { stream_id, seq: 0, hash: Digest::ZERO, at: None }
    }
}

/// The part of an entry that is hashed into the chain and is never erased. It contains nothing personal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub v: u32,
    pub tenant_id: TenantId,
    pub stream_id: StreamId,
    /// The sequence number, counted from 1.
    pub seq: u64,
    /// The entry's public id.
    pub artifact_id: ArtifactId,
    #[serde(rename = "type")]
    pub kind: String,
    pub at: Timestamp,
    /// The hash of the policy pack that decided.
    pub policy_hash: String,
}

/// What happened. Only a commitment to it is in the chain, so it can be erased.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    pub v: u32,
    /// The conversation, person or other record that the event is about.
    pub about: About,
    /// The pack that decided.
    pub policy: PolicyRef,
    pub event: Logged,
}

/// An event of either kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "entries are read one by one")]
pub enum Logged {
    /// Of a conversation, a principal or a reader.
    Core(Event),
    /// Of a fact space.
    Space(SpaceEvent),
    /// About the records themselves: erasures and holds.
    Disposal(DisposalEvent),
}

impl Logged {
    /// The event, if it is not of a fact space.
    #[must_use]
    pub fn core(&self) -> Option<&Event> {
        match self {
            Self::Core(event) => Some(event),
            Self::Space(_) | Self::Disposal(_) => None,
        }
    }

    #[must_use]
    pub fn evidence_type(&self) -> &'static str {
        match self {
            Self::Core(event) => event.evidence_type(),
            Self::Space(event) => event.evidence_type(),
            Self::Disposal(event) => event.evidence_type(),
        }
    }

    /// The stream that the event itself says it belongs to.
    #[must_use]
    pub fn stream(&self, about: &About) -> Option<StreamKey> {
        match self {
            Self::Core(event) => event.stream(about),
            Self::Space(event) => event.stream(about),
            Self::Disposal(event) => event.stream(about),
        }
    }
}

/// A [`Payload`] with borrowed members, for writing.
#[derive(Serialize)]
struct PayloadOf<'a, E> {
    v: u32,
    about: &'a About,
    policy: &'a PolicyRef,
    event: &'a E,
}

/// An entry as it is written, with everything needed to verify it.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEntry {
    pub header: Header,
    pub payload_commitment: Digest,
    pub prev_hash: Digest,
    pub entry_hash: Digest,
    /// The part that can be erased.
    pub body: Option<EntryBody>,
}

/// The erasable part of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryBody {
    /// The salt of the commitment. Exported only together with the payload.
    pub salt: Digest,
    /// The canonical bytes, exactly as committed to.
    pub payload: String,
}

/// An entry that was appended, before it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Appended {
    pub entry: LogEntry,
    /// The subjects that its payload names, by which an auditor searches.
    pub about: About,
}

/// `payload_commitment`: SHA-256("cscp.payload.v1" ‖ salt ‖ canonical bytes).
#[must_use]
pub fn payload_commitment(salt: &Digest, payload: &[u8]) -> Digest {
    commit(Purpose::Payload, salt, payload)
}

/// `entry_hash`: SHA-256("cscp.entry.v1" ‖ `prev_hash` ‖ header ‖ `payload_commitment`). Only the header varies in
/// length, so the parts cannot be shifted against each other.
#[must_use]
pub fn entry_hash(prev_hash: &Digest, header: &Header, payload_commitment: &Digest) -> Digest {
    hash(Purpose::Entry, &[prev_hash.as_bytes(), &canonical(header), payload_commitment.as_bytes()])
}

/// Appends an event to a stream and advances its head.
pub fn append<E: Evidence>(
    head: &mut StreamHead,
    tenant_id: &TenantId,
    recorded: &Recorded<E>,
    policy: &PolicyRef,
    at: Timestamp,
    ids: &mut Ids<'_>,
) -> Appended {
    // Verification derives a stream's name from its entries.
    debug_assert!(recorded.event.stream(&recorded.about).is_none_or(|told| told == recorded.stream));
    let header = Header {
        v: ENTRY_VERSION,
        tenant_id: tenant_id.clone(),
        stream_id: head.stream_id.clone(),
        seq: head.seq + 1,
        artifact_id: ids.artifact(),
        kind: recorded.event.evidence_type().to_owned(),
        at,
        policy_hash: policy.hash.clone(),
    };
    let payload = PayloadOf { v: ENTRY_VERSION, about: &recorded.about, policy, event: &recorded.event };
    let salt = ids.secret();
    let bytes = canonical(&payload);
    let commitment = payload_commitment(&salt, &bytes);
    let entry_hash = entry_hash(&head.hash, &header, &commitment);
    let prev_hash = head.hash;
    *head = StreamHead { stream_id: head.stream_id.clone(), seq: header.seq, hash: entry_hash, at: Some(at) };
    // Canonical JSON is always UTF-8.
    let payload = String::from_utf8(bytes).unwrap_or_default();
    let body = Some(EntryBody { salt, payload });
    let entry = LogEntry { header, payload_commitment: commitment, prev_hash, entry_hash, body };
    Appended { entry, about: recorded.about.clone() }
}
