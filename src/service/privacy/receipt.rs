//! The record of an erasure: its progress, and a signed receipt at the end. It contains nothing that identifies the
//! person.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::ServiceError;
use super::super::transparency::Transparency;
use crate::domain::canonical::Digest;
use crate::domain::id::{ArtifactId, ErasureId};
use crate::domain::time::Timestamp;
use crate::storage::{ErasureRow, Tenant};

/// The first line of every receipt.
const TITLE: &str = "cscp erasure receipt v1";

/// The progress of an erasure, written with each of its transactions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::service) struct Progress {
    /// Why, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::service) reason: Option<String>,
    /// The numbers of records erased so far.
    pub(in crate::service) counts: BTreeMap<String, u64>,
    /// The entries of the disposal stream for this erasure, with their hashes.
    pub(in crate::service) entries: Vec<(ArtifactId, Digest)>,
    /// The commitment to the person. Only the requester has the secret that opens it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::service) subject_commitment: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::service) receipt: Option<String>,
    /// Whether the receipt is signed.
    #[serde(default)]
    pub(in crate::service) signed: bool,
}

impl Progress {
    pub(in crate::service) fn read(row: &ErasureRow) -> Result<Self, ServiceError> {
        serde_json::from_str(&row.body).map_err(|_| ServiceError::Internal)
    }

    pub(super) fn text(&self) -> String {
        // Serialization cannot fail; an empty body would be refused when it is read.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn add(&mut self, counts: &BTreeMap<String, u64>) {
        for (kind, count) in counts {
            let sum = self.counts.entry(kind.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// Writes the receipt, signed by the tenant's log if the log has a key.
    pub(super) fn sign(&mut self, log: &Transparency, tenant: &Tenant, row: &ErasureRow) -> Result<(), ServiceError> {
        let text = self.lines(tenant, row);
        let signed = log.sign_text(tenant, &text).map_err(|error| {
            tracing::error!(log.error = %error, "the receipt of an erasure could not be signed; it stays open");
            ServiceError::Internal
        })?;
        self.signed = signed.is_some();
        self.receipt = Some(signed.unwrap_or(text));
        Ok(())
    }

    /// The lines of the receipt of a completed erasure.
    pub(in crate::service) fn lines(&self, tenant: &Tenant, row: &ErasureRow) -> String {
        let mut text = format!("{TITLE}\ntenant {}\nerasure {}\n", tenant.tenant_id, row.erasure_id);
        let mut line = |line: std::fmt::Arguments<'_>| {
            text.push_str(&line.to_string());
            text.push('\n');
        };
        line(format_args!("begun {}", row.started_at));
        if let Some(at) = row.finished_at {
            line(format_args!("completed {at}"));
        }
        if let Some(reason) = &self.reason {
            line(format_args!("reason {reason}"));
        }
        if let Some(commitment) = &self.subject_commitment {
            line(format_args!("subject-commitment {}", commitment.to_hex()));
        }
        for (kind, count) in &self.counts {
            line(format_args!("records {kind} {count}"));
        }
        for (artifact_id, hash) in &self.entries {
            line(format_args!("entry {artifact_id} {}", hash.to_hex()));
        }
        text
    }
}

/// An erasure as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErasureShown {
    pub erasure_id: ErasureId,
    /// `running` or `completed`.
    pub state: &'static str,
    pub started_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// Why, in a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The numbers of erased records by kind.
    pub counts: BTreeMap<String, u64>,
    /// The entries about the erasure.
    pub artifact_ids: Vec<ArtifactId>,
    /// The commitment to the person; the requester got its secret once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject_commitment: Option<Digest>,
    /// The receipt: a signed note, or its text if it is unsigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    /// Whether the receipt is signed.
    pub signed: bool,
}

impl ErasureShown {
    pub(super) fn of(row: &ErasureRow) -> Result<Self, ServiceError> {
        let progress = Progress::read(row)?;
        Ok(Self {
            erasure_id: row.erasure_id.clone(),
            state: if row.finished_at.is_some() { "completed" } else { "running" },
            started_at: row.started_at,
            completed_at: row.finished_at,
            reason: progress.reason,
            counts: progress.counts,
            artifact_ids: progress.entries.into_iter().map(|(artifact_id, _)| artifact_id).collect(),
            subject_commitment: progress.subject_commitment,
            receipt: progress.receipt,
            signed: progress.signed,
        })
    }
}
