//! Bundles: a part of the evidence for offline audit, as lines of JSON.
//!
//! A bundle belongs to one checkpoint. Each line is an object whose one member says what the line is; the last line
//! contains the number and hash of the lines, signed by the log's key. Hashed data is included as the exact string that
//! was hashed, so that no verifier has to reproduce a form. `docs/EVIDENCE.md` is the specification for other programs;
//! `auditing` reads bundles here and shares nothing with this module.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::domain::canonical::Digest;
use crate::domain::id::{ContextFrameId, StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::evidence::note::{self, NoteError, SigningKey};

/// The format's name, in the first line and in the note at the end.
pub const FORMAT: &str = "cscp-evidence-bundle/v2";
/// The JSON Schema (2020-12) of an artifact.
pub const ARTIFACT_SCHEMA: &str = include_str!("../../schemas/evidence-artifact.schema.json");
/// The JSON Schema (2020-12) of a line of a bundle.
pub const BUNDLE_SCHEMA: &str = include_str!("../../schemas/evidence-bundle.schema.json");

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line: what the bundle is.
    Bundle(Opening),
    /// The signed checkpoint that everything is proven against.
    Checkpoint(String),
    /// The keys that sign for the log (C2SP vkey). A reader compares them with the keys it trusts.
    Keys(Vec<String>),
    /// The proof that an older tree is the beginning of the checkpoint's.
    Consistency(Consistency),
    Schema(Value),
    /// A policy pack that entries name.
    Policy(Pack),
    Entry(Entry),
    Frame(FrameLine),
    Summary(Summary),
    End(Closing),
}

#[derive(Debug, Serialize)]
pub struct Opening {
    pub format: &'static str,
    /// The name of the log.
    pub origin: String,
    pub tenant_id: TenantId,
    pub environment: String,
    /// When the bundle was made, by the server's clock.
    pub created_at: Timestamp,
    pub selection: Value,
    /// Which entries the bundle promises to contain.
    pub coverage: Coverage,
}

/// Which entries a bundle promises to contain: a missing one is a fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Coverage {
    /// Every entry of the checkpoint's tree.
    Whole,
    /// Every entry of these chains, up to the checkpoint.
    Streams {
        /// The chains, each with its end.
        chains: Vec<Chain>,
    },
    Selection,
}

/// A chain that is included as a whole, and its end in the checkpoint's tree. The signature over the bundle makes this
/// the log's own statement: a later entry of the chain in the same tree would contradict it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Chain {
    pub stream_id: StreamId,
    /// How many of its entries the checkpoint's tree holds.
    pub entries: u64,
    /// The hash of the last of them; none if the chain is empty or the database has lost the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Consistency {
    pub from: u64,
    pub proof: Vec<String>,
}

/// A policy pack as its author wrote it.
#[derive(Debug, Serialize)]
pub struct Pack {
    /// `sha256:` and the SHA-256 of `cscp.policy.v1` followed by the document.
    pub hash: String,
    /// The document as canonical JSON; none if it is no longer available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Entry {
    /// The header as it was hashed.
    pub header: String,
    /// The hash of the entry before it in its chain.
    pub prev_hash: String,
    pub payload_commitment: String,
    pub entry_hash: String,
    /// Its index in the tree, counted from 0.
    pub leaf_index: u64,
    /// The sibling hashes on the path to the root, from the leaf upwards.
    pub proof: Vec<String>,
    /// The payload as it was committed to, if the reader may see all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// The salt of the commitment, only together with the payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    /// The entry as this reader may see it. Without the payload, nothing but the header is proven.
    pub artifact: Value,
}

#[derive(Debug, Serialize)]
pub struct FrameLine {
    pub context_frame_id: ContextFrameId,
    /// Its hash in the command envelope.
    pub context_hash: String,
    /// The frame as it was hashed, if the reader may see all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// The salt of the hash: only with the frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    /// The frame as this reader may see it, if that is not all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<Value>,
}

/// The last line but one.
#[derive(Debug, Serialize)]
pub struct Summary {
    pub entries: u64,
    pub frames: u64,
    /// Entries that match the request but are not in the checkpoint yet.
    pub waiting: u64,
    /// What was redacted, as slot and method.
    pub redacted: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Closing {
    /// The SHA-256 of all lines before this one, with their line breaks.
    pub sha256: String,
    /// Format, origin, number of lines and that hash, signed.
    pub note: String,
}

/// Writes a bundle line by line and hashes the lines.
#[derive(Debug, Default)]
pub struct Writer {
    hasher: Sha256,
    lines: u64,
    entries: u64,
    frames: u64,
}

impl Writer {
    /// The bytes of the next line.
    pub fn line(&mut self, line: &Line) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.hasher.update(&bytes);
        self.lines += 1;
        match line {
            Line::Entry(_) => self.entries += 1,
            Line::Frame(_) => self.frames += 1,
            _ => {}
        }
        Ok(bytes)
    }

    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The summary line. `waiting` entries are not in the checkpoint yet.
    #[must_use]
    pub fn summary(&self, waiting: u64, redacted: Vec<String>) -> Line {
        Line::Summary(Summary { entries: self.entries, frames: self.frames, waiting, redacted })
    }

    pub fn end(self, origin: &str, keys: &[SigningKey]) -> Result<Line, NoteError> {
        let digest = Digest::from_bytes(self.hasher.finalize().into()).prefixed();
        let text = format!("{FORMAT}\n{origin}\n{} lines\n{digest}\n", self.lines);
        let note = note::sign(&text, keys)?;
        Ok(Line::End(Closing { sha256: digest, note }))
    }
}
