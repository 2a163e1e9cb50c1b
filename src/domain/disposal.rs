//! Erasing, as the record tells of it: what went and why, and what must not go. Nothing here is personal, so it stays for
//! ever, in a stream of the tenant's own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::canonical::Digest;
use super::event::Evidence;
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
    Subject {
        /// By which erasure.
        erasure_id: ErasureId,
    },
}

/// What happened to records as such.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum DisposalEvent {
    /// Records and payloads were erased, in the transaction that wrote this entry. It explains why a payload is gone that
    /// was written before it.
    RecordsErased {
        /// Why.
        cause: ErasureCause,
        /// Whose payloads went.
        payloads: Vec<ErasedRange>,
        /// How many rows of each kind went.
        counts: BTreeMap<String, u64>,
    },
    /// An erasure at a subject's wish came to its end.
    ErasureCompleted {
        /// Which.
        erasure_id: ErasureId,
        /// Who it was about: a digest under a secret that only whoever asked has.
        subject_commitment: Digest,
        /// How many rows of each kind went in all.
        counts: BTreeMap<String, u64>,
    },
    /// Something must not be erased until further notice.
    HoldPlaced {
        /// Which hold.
        hold_id: HoldId,
        /// What it holds: a digest under a secret that goes when the hold is lifted.
        subject_commitment: Digest,
        /// The credential that placed it.
        key_id: KeyId,
    },
    /// A hold was lifted.
    HoldLifted {
        /// Which.
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
}
