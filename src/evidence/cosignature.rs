//! Cosignatures (C2SP tlog-cosignature, `cosignature/v1` with Ed25519): a witness signs that a checkpoint extends every
//! checkpoint of the log that it has seen, and when it saw it.
//!
//! ```text
//! — witness name base64(key id ‖ seconds since 1970, 8 bytes ‖ signature)
//! ```
//!
//! Signed are `cosignature/v1`, `time <seconds>` and the checkpoint's text, each starting on a new line.

use std::fmt;

use crate::evidence::note::{self, KeyId, NoteError};

/// The algorithm number of timestamped Ed25519 cosignatures.
const COSIGNATURE_V1: u8 = 4;
/// The last second of the year 9999; dates have four-digit years.
const LAST_SECOND: u64 = 253_402_300_799;

/// The key of a witness. Its text form, the vkey, is `name+key id in hexadecimal+base64(0x04 ‖ public key)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessKey {
    name: String,
    id: KeyId,
    key: ed25519_dalek::VerifyingKey,
}

impl WitnessKey {
    /// Reads the text form. Fails with [`NoteError::Key`] on any other, also on another algorithm (the key of a log, for
    /// instance) and on public keys under which more than one text has the same signature.
    pub fn parse(vkey: &str) -> Result<Self, NoteError> {
        let read = note::read_vkey(COSIGNATURE_V1, vkey).map(|(name, key)| {
            let id = note::key_id(COSIGNATURE_V1, name, key.as_bytes());
            Self { name: name.to_owned(), id, key }
        });
        read.filter(|key| key.to_string() == vkey).ok_or(NoteError::Key)
    }

    /// The name of the witness.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key id at the start of each of its signatures: it helps to find the key and proves nothing.
    #[must_use]
    pub fn id(&self) -> [u8; 4] {
        self.id
    }

    /// SHA-256 of the public key in hexadecimal: the same under every name, and for a key that signs notes.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        note::fingerprint(&self.key)
    }

    /// Reads a signature line, without its line break, for a checkpoint's text. Returns when the witness saw the
    /// checkpoint by its own clock, in seconds since 1970; none if the line has another name or key id.
    ///
    /// Fails with [`NoteError::Malformed`] if it is no signature line, and with [`NoteError::Forged`] if it is under the
    /// name and id of this witness and is not its cosignature of this text.
    pub fn open(&self, line: &str, text: &str) -> Result<Option<u64>, NoteError> {
        let (name, id, signature) = note::read_signature(line).ok_or(NoteError::Malformed)?;
        if name != self.name || id != self.id {
            return Ok(None);
        }
        self.check(&signature, text).map(Some).ok_or_else(|| NoteError::Forged(self.name.clone()))
    }

    fn check(&self, signature: &[u8], text: &str) -> Option<u64> {
        let (time, signature) = signature.split_first_chunk()?;
        let time = Some(u64::from_be_bytes(*time)).filter(|time| (1..=LAST_SECOND).contains(time))?;
        let signature = ed25519_dalek::Signature::from_slice(signature).ok()?;
        self.key.verify_strict(signed_text(time, text).as_bytes(), &signature).ok()?;
        Some(time)
    }

    /// When this witness saw the checkpoint of a note: the latest of several cosignatures. Signatures of others,
    /// including the log's own, are ignored.
    ///
    /// Fails as [`open`](Self::open) does, and with [`NoteError::Unsigned`] if there is none of this witness.
    pub fn cosigned(&self, note: &str) -> Result<u64, NoteError> {
        let (text, lines) = note::taken_apart(note)?;
        let mut latest = None;
        for line in lines {
            latest = latest.max(self.open(line, text)?);
        }
        latest.ok_or(NoteError::Unsigned)
    }
}

impl fmt::Display for WitnessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        note::write_vkey(f, COSIGNATURE_V1, &self.name, &self.key)
    }
}

/// The text that a witness signs.
fn signed_text(time: u64, text: &str) -> String {
    format!("cosignature/v1\ntime {time}\n{text}")
}

#[cfg(test)]
#[path = "cosignature_tests.rs"]
mod tests;
