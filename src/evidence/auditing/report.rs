//! The result of an audit.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::Flaw;

/// Where the trusted keys came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The auditor named the keys.
    Given,
    /// The bundle names its own keys, so anybody could have made it.
    #[default]
    Bundle,
}

/// How far a valid bundle proves that nothing was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Completeness {
    /// Not at all: the tree does not show which entries are about a subject, so one may have been left out.
    #[default]
    NotShown,
    /// No entry of the chains is missing between the first and the last one here. Version 1 bundles do not state where
    /// chains end.
    ChainsWithoutEnd,
    /// Every entry of the chains is here, up to the end that the log's signer states.
    Chains,
    /// Every leaf of the tree is here.
    Whole,
}

/// A fault, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The line, counted from 1; one past the last if something is missing at the end.
    pub line: u64,
    #[serde(rename = "code", serialize_with = "code")]
    pub flaw: Flaw,
    /// The entry, where it is known.
    pub artifact_id: Option<String>,
    pub stream_id: Option<String>,
    /// Its sequence number there.
    pub seq: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives the field by reference")]
fn code<S: Serializer>(flaw: &Flaw, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(flaw.code())
}

/// The result of auditing a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct BundleReport {
    /// The name of the log.
    pub origin: String,
    /// The tenant whose evidence it is.
    pub tenant_id: String,
    /// The size of the checkpoint's tree.
    pub size: u64,
    pub entries: u64,
    /// Entries that are proven to be in the checkpoint's tree.
    pub in_tree: u64,
    /// Entries whose payload is present and matches the commitment.
    pub proven: u64,
    /// Entries that show more than their header without a payload that proves it.
    pub shown: u64,
    /// Entries whose payload was erased.
    pub erased: u64,
    /// Chains that entries belong to.
    pub streams: u64,
    pub frames: u64,
    /// Frames that match their hash, where a proven entry names that hash.
    pub frames_proven: u64,
    pub policies: u64,
    /// Entries that match the request but were not in the checkpoint yet.
    pub waiting: u64,
    /// The request as the first line states it; empty for the whole log.
    pub selection: BTreeMap<&'static str, String>,
    /// How far the bundle proves that nothing was left out, if it is valid.
    pub completeness: Completeness,
    /// Whose word for the keys was taken.
    #[serde(rename = "keys")]
    pub trust: Trust,
    #[serde(rename = "fault_count")]
    pub count: u64,
    /// The faults, in the order of lines; the first hundred.
    #[serde(rename = "faults")]
    pub found: Vec<Found>,
}

impl BundleReport {
    /// Whether there are no faults. Who signed it is a separate question: see [`trust`](Self::trust).
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.count == 0
    }
}
