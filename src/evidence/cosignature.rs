//! Cosignatures (C2SP tlog-cosignature, `cosignature/v1` with Ed25519): a witness's word that a checkpoint goes on from
//! every other one that it has seen of the log, and when it saw it.
//!
//! ```text
//! — witness name base64(key id ‖ seconds since 1970, 8 bytes ‖ signature)
//! ```
//!
//! What is signed is `cosignature/v1`, `time <seconds>` and the checkpoint's text, each from a new line.

use std::fmt;

use crate::evidence::note::{self, KeyId, NoteError};

/// What the algorithm of timestamped Ed25519 cosignatures is called in a key.
const COSIGNATURE_V1: u8 = 4;
/// The last second that can be written as a date of four-digit years; no clock shows a later one.
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

    /// Whose key it is.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What stands before each of its signatures: no proof of anything.
    #[must_use]
    pub fn id(&self) -> [u8; 4] {
        self.id
    }

    /// SHA-256 of the public key in hexadecimal: the same under every name, and also for a key that signs notes.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        note::fingerprint(&self.key)
    }

    /// Reads a signature line, without its line break, under a checkpoint's text: when the witness saw the checkpoint, in
    /// seconds since 1970, by its own clock; none if the line is of another name or key id.
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

    /// When this witness saw the checkpoint of a note, of several cosignatures the latest. The signatures of others, the
    /// log's own among them, are not looked at.
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

/// What a witness signs of a checkpoint's text.
fn signed_text(time: u64, text: &str) -> String {
    format!("cosignature/v1\ntime {time}\n{text}")
}

#[cfg(test)]
#[path = "cosignature_tests.rs"]
mod tests;
