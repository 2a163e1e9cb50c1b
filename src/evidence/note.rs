//! Signed notes (C2SP signed-note) with Ed25519: a readable text followed by signatures.
//!
//! ```text
//! text, one line or more
//!
//! — name base64(key id ‖ signature)
//! ```

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signer as _;
use sha2::{Digest as _, Sha256};

/// The longest note that is read, in bytes.
pub const MAX_NOTE_BYTES: usize = 1_000_000;
/// The most signatures that are read.
pub const MAX_SIGNATURES: usize = 100;

/// The algorithm number of Ed25519 in a key.
const ED25519: u8 = 1;
/// What a signature line begins with: an em dash and a space.
const DASH: &str = "— ";

/// Why a note or a key is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// A name that is empty or holds white space, a control character or `+`.
    #[error("a key's name is neither empty nor holds space or plus")]
    Name,
    /// Not the text form of an Ed25519 verifier key, or its key id is not that of its name and key.
    #[error("not a verifier key")]
    Key,
    /// Longer than [`MAX_NOTE_BYTES`], or with more signatures than [`MAX_SIGNATURES`].
    #[error("the note is too large")]
    TooLarge,
    /// Not a text, an empty line and signature lines, or with a control character.
    #[error("not a signed note")]
    Malformed,
    /// The signature of a known key is not one of this text.
    #[error("the signature of {0} does not verify")]
    Forged(String),
    #[error("no known key has signed")]
    Unsigned,
    /// The text is signed, and is not a checkpoint.
    #[error("not a checkpoint")]
    Checkpoint,
}

/// Identifies a signature's key together with the name; proves nothing.
pub(super) type KeyId = [u8; 4];

pub struct SigningKey {
    name: String,
    id: KeyId,
    key: ed25519_dalek::SigningKey,
}

/// The seed is a secret: `Debug` shows only the key's name.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("name", &self.name)
            .field("id", &hex::encode(self.id))
            .finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Makes a key with this name from a secret seed. Fails with [`NoteError::Name`].
    pub fn from_seed(name: &str, seed: [u8; 32]) -> Result<Self, NoteError> {
        let key = ed25519_dalek::SigningKey::from_bytes(&seed);
        let id = key_id(ED25519, checked_name(name)?, key.verifying_key().as_bytes());
        Ok(Self { name: name.to_owned(), id, key })
    }

    /// The public half, for opening notes.
    #[must_use]
    pub fn verifier(&self) -> VerifierKey {
        VerifierKey { name: self.name.clone(), id: self.id, key: self.key.verifying_key() }
    }

    fn signature_line(&self, text: &str) -> String {
        let signature = self.key.sign(text.as_bytes()).to_bytes();
        format!("{DASH}{} {}\n", self.name, STANDARD.encode([self.id.as_slice(), &signature].concat()))
    }
}

/// A key that opens notes. Its text form, the vkey, is `name+key id in hexadecimal+base64(0x01 ‖ public key)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    id: KeyId,
    key: ed25519_dalek::VerifyingKey,
}

impl VerifierKey {
    /// Reads the text form. Fails with [`NoteError::Key`] on any other form or algorithm, and on public keys under
    /// which several texts have the same signature.
    pub fn parse(vkey: &str) -> Result<Self, NoteError> {
        Self::read(vkey).filter(|key| key.to_string() == vkey).ok_or(NoteError::Key)
    }

    fn read(vkey: &str) -> Option<Self> {
        let (name, key) = read_vkey(ED25519, vkey)?;
        Some(Self { name: name.to_owned(), id: key_id(ED25519, name, key.as_bytes()), key })
    }

    /// The name of the key's owner.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// SHA-256 of the public key in hexadecimal: the same under every name.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.key)
    }

    fn check(&self, text: &str, signature: &[u8]) -> Result<(), NoteError> {
        let signature = ed25519_dalek::Signature::from_slice(signature);
        let verified = signature.and_then(|signature| self.key.verify_strict(text.as_bytes(), &signature));
        verified.map_err(|_| NoteError::Forged(self.name.clone()))
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_vkey(f, ED25519, &self.name, &self.key)
    }
}

/// Signs a text with every key; during key rotation that is the old and the new one. Without keys the note is unsigned,
/// and [`open`] refuses it. Fails with [`NoteError::Malformed`] if the text contains control characters or does not end
/// with a line break.
pub fn sign(text: &str, keys: &[SigningKey]) -> Result<String, NoteError> {
    if !is_text(text) {
        return Err(NoteError::Malformed);
    }
    let signatures: String = keys.iter().map(|key| key.signature_line(text)).collect();
    Ok(format!("{text}\n{signatures}"))
}

/// The text of a note that at least one of these keys has signed.
///
/// Signatures by other keys are ignored. A signature with the name and id of a known key must verify, or the note is
/// refused whatever else is signed.
pub fn open<'a>(note: &'a str, keys: &[VerifierKey]) -> Result<&'a str, NoteError> {
    let (text, lines) = taken_apart(note)?;
    let mut known = false;
    for line in lines {
        let (name, id, signature) = read_signature(line).ok_or(NoteError::Malformed)?;
        for key in keys.iter().filter(|key| key.name == name && key.id == id) {
            key.check(text, &signature)?;
            known = true;
        }
    }
    if known { Ok(text) } else { Err(NoteError::Unsigned) }
}

/// Splits a note into its text with the last line break and its signature lines without theirs. Verifies nothing.
pub fn taken_apart(note: &str) -> Result<(&str, Vec<&str>), NoteError> {
    if note.len() > MAX_NOTE_BYTES {
        return Err(NoteError::TooLarge);
    }
    let (text, signatures) = split(note).ok_or(NoteError::Malformed)?;
    let lines: Vec<&str> = signatures.split_terminator('\n').collect();
    if lines.len() > MAX_SIGNATURES { Err(NoteError::TooLarge) } else { Ok((text, lines)) }
}

/// The text with its last line break, and the signature lines. The text may hold empty lines itself.
fn split(note: &str) -> Option<(&str, &str)> {
    let end = note.rfind("\n\n")? + 1;
    let text = note.get(..end).filter(|text| is_text(text))?;
    let signatures = note.get(end + 1..).filter(|signatures| signatures.ends_with('\n'))?;
    Some((text, signatures))
}

fn is_text(text: &str) -> bool {
    text.ends_with('\n') && text.chars().all(|c| c == '\n' || c >= ' ')
}

pub(super) fn read_signature(line: &str) -> Option<(&str, KeyId, Vec<u8>)> {
    let (name, encoded) = line.strip_prefix(DASH)?.split_once(' ')?;
    let bytes = STANDARD.decode(encoded).ok()?;
    let (id, signature) = bytes.split_first_chunk()?;
    (!signature.is_empty()).then_some((checked_name(name).ok()?, *id, signature.to_vec()))
}

fn checked_name(name: &str) -> Result<&str, NoteError> {
    let unfit = |c: char| c == '+' || c.is_whitespace() || c.is_control();
    if name.is_empty() || name.contains(unfit) { Err(NoteError::Name) } else { Ok(name) }
}

/// The first bytes of SHA-256(name ‖ "\n" ‖ algorithm ‖ public key).
pub(super) fn key_id(algorithm: u8, name: &str, public: &[u8; 32]) -> KeyId {
    let hasher = Sha256::new().chain_update(name).chain_update(b"\n").chain_update(public_form(algorithm, public));
    let [a, b, c, d, ..]: [u8; 32] = hasher.finalize().into();
    [a, b, c, d]
}

/// Name and key of a text form with this algorithm. The caller checks that it is the only form by writing it again.
pub(super) fn read_vkey(algorithm: u8, vkey: &str) -> Option<(&str, ed25519_dalek::VerifyingKey)> {
    // Base64 may hold a plus, a name may not.
    let (name, rest) = vkey.split_once('+')?;
    let (_, encoded) = rest.split_once('+')?;
    let bytes = STANDARD.decode(encoded).ok()?;
    let (_, public) = bytes.split_first().filter(|(first, _)| **first == algorithm)?;
    let key = ed25519_dalek::VerifyingKey::from_bytes(public.try_into().ok()?).ok().filter(|key| !key.is_weak())?;
    Some((checked_name(name).ok()?, key))
}

/// Writes the text form of a key of this algorithm.
pub(super) fn write_vkey(
    f: &mut fmt::Formatter<'_>,
    algorithm: u8,
    name: &str,
    key: &ed25519_dalek::VerifyingKey,
) -> fmt::Result {
    let (id, public) =
        (key_id(algorithm, name, key.as_bytes()), STANDARD.encode(public_form(algorithm, key.as_bytes())));
    write!(f, "{name}+{}+{public}", hex::encode(id))
}

/// Identifies a key whatever its name and algorithm.
pub(super) fn fingerprint(key: &ed25519_dalek::VerifyingKey) -> String {
    hex::encode(Sha256::digest(key.as_bytes()))
}

fn public_form(algorithm: u8, public: &[u8; 32]) -> Vec<u8> {
    [[algorithm].as_slice(), public].concat()
}

#[cfg(test)]
#[path = "note_tests.rs"]
mod tests;
