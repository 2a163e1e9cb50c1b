//! Erasing, as the record tells of it: what went and why, and what must not go. Nothing here is personal, so it stays for
//! ever, in a stream of the tenant's own.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::canonical::{Digest, Purpose, keyed};
use super::event::{About, Evidence, StreamKey};
use super::id::{ErasureId, HoldId, KeyId, StreamId};
use super::time::Timestamp;

/// Entries of one stream, side by side, whose payloads and salts went. Some may have been gone before.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ErasedRange {
    /// Of which stream. Random: it names nobody.
    pub stream_id: StreamId,
    /// The first of them, counted from 1.
    pub first: u64,
    /// The last of them.
    pub last: u64,
}

impl ErasedRange {
    /// Numbers in their order as ranges of a stream, one where they are side by side.
    #[must_use]
    pub fn of(stream_id: &StreamId, seqs: &[u64]) -> Vec<Self> {
        let mut ranges: Vec<Self> = Vec::new();
        for seq in seqs {
            match ranges.last_mut() {
                Some(range) if range.last.checked_add(1) == Some(*seq) => range.last = *seq,
                _ => ranges.push(Self { stream_id: stream_id.clone(), first: *seq, last: *seq }),
            }
        }
        ranges
    }
}

/// Why records were erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ErasureCause {
    /// Their time was over, as the policy pack says that the payload names.
    Retention {
        /// Up to when records of each kind had to be to go.
        before: BTreeMap<String, Timestamp>,
    },
    /// Somebody's data was erased at their wish.
    Subject { erasure_id: ErasureId },
}

/// The kinds of rows that are named when they go while the log still tells of them; see [`ErasedRows`].
pub mod named {
    /// Contexts, by their id; with each its questions, their prompts, its commands and their attempts.
    pub const CONTEXTS: &str = "contexts";
    /// Messages, by their keyed digest.
    pub const MESSAGES: &str = "messages";
    /// Records of fact spaces, by the stream of the space, their kind and their id.
    pub const SPACE_RECORDS: &str = "space_records";
}

/// The bytes of a name. Enough that no row has the name of another one by chance.
const NAME_BYTES: usize = 12;

/// Which rows went, by names that tell nothing: cut digests under the tenant's key, of ids that nobody chose as far as there
/// are such. A row that is gone and that the log still tells of is excused if it is named here, and not otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedRows(BTreeMap<String, RowNames>);

/// Names of rows of one kind, side by side in base64.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct RowNames(BTreeSet<[u8; NAME_BYTES]>);

impl From<RowNames> for String {
    fn from(names: RowNames) -> Self {
        STANDARD.encode(names.0.into_iter().flatten().collect::<Vec<u8>>())
    }
}

impl TryFrom<String> for RowNames {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bytes = STANDARD.decode(text).map_err(|_| "no base64")?;
        let (names, rest) = bytes.as_chunks::<NAME_BYTES>();
        if rest.is_empty() { Ok(Self(names.iter().copied().collect())) } else { Err("a cut name") }
    }
}

impl ErasedRows {
    /// Adds a row of a kind.
    pub fn add(&mut self, tenant_key: &Digest, kind: &str, id: &str) {
        self.0.entry(kind.to_owned()).or_default().0.insert(name(tenant_key, kind, id));
    }

    /// Adds what another one names.
    pub fn join(&mut self, other: Self) {
        for (kind, names) in other.0 {
            self.0.entry(kind).or_default().0.extend(names.0);
        }
    }

    /// Whether it names a row.
    #[must_use]
    pub fn names(&self, tenant_key: &Digest, kind: &str, id: &str) -> bool {
        self.0.get(kind).is_some_and(|names| names.0.contains(&name(tenant_key, kind, id)))
    }
}

fn name(tenant_key: &Digest, kind: &str, id: &str) -> [u8; NAME_BYTES] {
    let digest = keyed(tenant_key, Purpose::ErasedRow, format!("{kind}\u{0}{id}").as_bytes());
    digest.as_bytes().first_chunk().copied().unwrap_or_default()
}

/// What happened to records as such.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum DisposalEvent {
    /// Records and payloads were erased, in the transaction that wrote this entry. It explains why a payload is gone that
    /// was written before it.
    RecordsErased {
        cause: ErasureCause,
        payloads: Vec<ErasedRange>,
        /// How many rows of each kind went.
        counts: BTreeMap<String, u64>,
        /// Which of them the log still tells of. None in entries of versions that only counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rows: Option<ErasedRows>,
    },
    /// An erasure at a subject's wish came to its end.
    ErasureCompleted {
        erasure_id: ErasureId,
        /// Who it was about: a digest under a secret that only whoever asked has.
        subject_commitment: Digest,
        /// How many rows of each kind went in all.
        counts: BTreeMap<String, u64>,
    },
    /// Something must not be erased until further notice.
    HoldPlaced {
        hold_id: HoldId,
        /// What it holds: a digest under a secret that goes when the hold is lifted.
        subject_commitment: Digest,
        /// The credential that placed it.
        key_id: KeyId,
    },
    /// A hold was lifted.
    HoldLifted {
        hold_id: HoldId,
        /// The credential that lifted it.
        key_id: KeyId,
    },
}

impl DisposalEvent {
    /// The evidence type of [`Self::RecordsErased`].
    pub const RECORDS_ERASED: &'static str = "records.erased";
}

impl Evidence for DisposalEvent {
    fn evidence_type(&self) -> &'static str {
        match self {
            Self::RecordsErased { .. } => Self::RECORDS_ERASED,
            Self::ErasureCompleted { .. } => "erasure.completed",
            Self::HoldPlaced { .. } => "hold.placed",
            Self::HoldLifted { .. } => "hold.lifted",
        }
    }

    fn stream(&self, _about: &About) -> Option<StreamKey> {
        Some(StreamKey::Disposal)
    }
}
