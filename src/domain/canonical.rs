//! One way to read JSON, one way to write it, one way to hash it.
//!
//! Two different inputs must never hash alike, so what RFC 8785 would silently merge (duplicate keys, numbers that are
//! not exactly what a double's shortest form says) is refused when it is read. Every hash names its purpose, so that a digest made
//! for one use proves nothing in another.

mod form;
mod number;
mod strict;

use std::fmt;

pub use form::is_canonical;
use hmac::{Hmac, KeyInit, Mac};
pub use number::Step;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
pub use strict::{Json, JsonError, MAX_DEPTH, MAX_SAFE_INTEGER, Text, parse, parse_borrowed};

/// The RFC 8785 form of a value.
///
/// Falls back to `null` only for what JSON cannot write at all, which no type of this project holds.
#[must_use]
pub fn canonical<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).unwrap_or_else(|_| b"null".to_vec())
}

/// 256 bits: a hash, a salt or a key. Written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// 32 zero bytes: what the first entry of a chain names as its predecessor.
    pub const ZERO: Self = Self([0; 32]);

    /// Takes 32 bytes as they are.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// 64 hexadecimal digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        hex::encode(self.0)
    }

    /// Reads 64 hexadecimal digits.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0_u8; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// `sha256:` and 64 hexadecimal digits: the form that goes on the wire.
    #[must_use]
    pub fn prefixed(&self) -> String {
        format!("sha256:{}", self.to_hex())
    }

    /// Whether two digests are equal, in a time that does not depend on where they differ.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

/// Salts and keys have this type too, so `Debug` shows nothing of it.
impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(…)")
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::from_hex(&text).ok_or("not 64 hexadecimal digits")
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_hex()
    }
}

/// What a hash is made for. The label is hashed first and no label is the beginning of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A link of a stream's chain.
    Entry,
    /// The salted commitment to an entry's payload.
    Payload,
    /// A context frame (`context_hash`).
    Frame,
    /// What will be done, and to what.
    Fingerprint,
    Envelope,
    /// The text and buttons of a prompt, as shown.
    Prompt,
    Message,
    /// The key of a dedupe row.
    Dedupe,
    Nonce,
    /// The body of a request, to tell a repetition from a reuse.
    Request,
    /// The title of an option.
    Option,
    /// A slot that policy stores as a digest.
    Slot,
    ApiKey,
    /// The uid of a fact made from a reading.
    Reading,
    /// What a model was shown (`pack_hash`).
    Pack,
    /// The order of statements with one time.
    Statement,
    /// Whom an erasure or a hold is about, under a secret of its own.
    Subject,
    /// The id or the idempotency key of a command.
    CommandName,
    /// A row that was erased.
    ErasedRow,
}

impl Purpose {
    fn label(self) -> &'static [u8] {
        match self {
            Self::Entry => b"cscp.entry.v1",
            Self::Payload => b"cscp.payload.v1",
            Self::Frame => b"cscp.frame.v1",
            Self::Fingerprint => b"cscp.fingerprint.v1",
            Self::Envelope => b"cscp.envelope.v1",
            Self::Prompt => b"cscp.prompt.v1",
            Self::Message => b"cscp.message.v1",
            Self::Dedupe => b"cscp.dedupe.v1",
            Self::Nonce => b"cscp.nonce.v1",
            Self::Request => b"cscp.request.v1",
            Self::Option => b"cscp.option.v1",
            Self::Slot => b"cscp.slot.v1",
            Self::ApiKey => b"cscp.api-key.v1",
            Self::Reading => b"cscp.reading.v1",
            Self::Pack => b"cscp.pack.v1",
            Self::Statement => b"cscp.statement.v1",
            Self::Subject => b"cscp.subject.v1",
            Self::CommandName => b"cscp.command-name.v1",
            Self::ErasedRow => b"cscp.erased-row.v1",
        }
    }
}

/// SHA-256 over the purpose and the parts. At most one part may vary in length.
#[must_use]
pub fn hash(purpose: Purpose, parts: &[&[u8]]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(purpose.label());
    for part in parts {
        hasher.update(part);
    }
    Digest(hasher.finalize().into())
}

/// A commitment that cannot be guessed from its content: SHA-256 over purpose, salt and bytes.
#[must_use]
pub fn commit(purpose: Purpose, salt: &Digest, bytes: &[u8]) -> Digest {
    hash(purpose, &[salt.as_bytes(), bytes])
}

/// HMAC-SHA-256 under a key that can be destroyed.
#[must_use]
pub fn keyed(key: &Digest, purpose: Purpose, bytes: &[u8]) -> Digest {
    // A 32-byte key is always accepted; the zero digest is never a key, so it could not go unnoticed.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.as_bytes()) else {
        return Digest::ZERO;
    };
    mac.update(purpose.label());
    mac.update(bytes);
    Digest(mac.finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_sort_by_utf16_as_rfc_8785_asks() {
        let value = json!({"\u{fb33}": 1, "\u{1f600}": 2, "a": 3});
        assert_eq!(String::from_utf8(canonical(&value)).unwrap(), "{\"a\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}");
    }

    #[test]
    fn a_purpose_separates_equal_inputs() {
        let salt = Digest::from_bytes([1; 32]);
        assert_ne!(commit(Purpose::Frame, &salt, b"x"), commit(Purpose::Payload, &salt, b"x"));
        assert_eq!(
            hash(Purpose::Nonce, &[b"abc"]).to_hex(),
            "b7194bc5a20d532bbf8b12986a62d38ba0e58e672ee156a2880d3d5b6f0d952c"
        );
    }

    proptest! {
        #[test]
        fn canonical_form_is_a_fixed_point(text in ".{0,40}", number in -1_000_000_i64..1_000_000, real in -1e9_f64..1e9) {
            let bytes = canonical(&json!({"t": text, "n": number, "r": real, "l": [text, null, true]}));
            prop_assert_eq!(canonical(&parse(&bytes).unwrap()), bytes);
        }
    }
}
