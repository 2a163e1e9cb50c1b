//! What came of an audit.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::Flaw;

/// Whose word for the log's keys was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Whoever audits named the keys.
    Given,
    /// The bundle names them itself: it may have been made by anybody who says so.
    #[default]
    Bundle,
}

/// What a bundle in which everything fits shows of what might have been left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Completeness {
    /// Nothing: which entries are about something is not in the tree, so that one may have been left out.
    #[default]
    NotShown,
    /// No entry of the chains is missing between their first and the last one here. Where they end is not stated, because
    /// the bundle is of the first format.
    ChainsWithoutEnd,
    /// Every entry of the chains is here, up to where the log's signer states that they end.
    Chains,
    /// Every leaf of the tree is here.
    Whole,
}

/// Something that does not fit, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The line, counted from 1; one past the last for what is missing at the end.
    pub line: u64,
    #[serde(rename = "code", serialize_with = "code")]
    pub flaw: Flaw,
    /// The entry, where it is known.
    pub artifact_id: Option<String>,
    pub stream_id: Option<String>,
    /// The entry's place there.
    pub seq: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives the field by reference")]
fn code<S: Serializer>(flaw: &Flaw, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(flaw.code())
}

/// What was found in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct BundleReport {
    /// The name of the log.
    pub origin: String,
    /// Whose evidence it is.
    pub tenant_id: String,
    /// The size of the checkpoint's tree.
    pub size: u64,
    pub entries: u64,
    /// Of those, the ones that are shown to be in the checkpoint's tree.
    pub in_tree: u64,
    /// Of those, the ones whose payload is there and is what was committed to.
    pub proven: u64,
    /// Of those, the ones that tell more than their header without a payload that proves it.
    pub shown: u64,
    /// Of those, the ones whose payload was erased.
    pub erased: u64,
    /// Chains that entries belong to.
    pub streams: u64,
    pub frames: u64,
    /// Of those, the ones that are there as they were hashed and whose hash a proven entry names.
    pub frames_proven: u64,
    pub policies: u64,
    /// Entries that were asked for and were not in the checkpoint yet.
    pub waiting: u64,
    /// What was asked for, as the first line says; empty for the whole log.
    pub selection: BTreeMap<&'static str, String>,
    /// What is shown of what might have been left out, if everything fits.
    pub completeness: Completeness,
    /// Whose word for the keys was taken.
    #[serde(rename = "keys")]
    pub trust: Trust,
    /// How many faults there are.
    #[serde(rename = "fault_count")]
    pub count: u64,
    /// The faults, in the order of lines; the first hundred.
    #[serde(rename = "faults")]
    pub found: Vec<Found>,
}

impl BundleReport {
    /// Whether everything fits. By whom it is signed is another question: see [`trust`](Self::trust).
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.count == 0
    }
}
