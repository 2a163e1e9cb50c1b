//! Proof that Meta sent this, and nothing else about it.
//!
//! Meta signs the bytes it sends, and it sends non-ASCII text escaped (`\u00e4`). A body that was parsed and written
//! again is another body and does not verify. So: the bytes as received, before parsing, in constant time.
//! The signature carries no time and no nonce, so a captured delivery verifies for ever; cscp's memory of message ids
//! and its single-use confirmations are what stop a replay.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The header that carries the signature.
pub(crate) const HEADER: &str = "x-hub-signature-256";

type HmacSha256 = Hmac<Sha256>;

/// A key for HMAC-SHA256: the app secret. Never empty, because anybody can sign with an empty key.
#[derive(Clone)]
pub(crate) struct AppSecret(String);

/// An empty secret, which would let everybody in.
#[derive(Debug, thiserror::Error)]
#[error("must not be empty")]
pub(crate) struct EmptySecret;

impl std::str::FromStr for AppSecret {
    type Err = EmptySecret;

    fn from_str(secret: &str) -> Result<Self, EmptySecret> {
        if secret.is_empty() {
            return Err(EmptySecret);
        }
        Ok(Self(secret.to_owned()))
    }
}

impl std::fmt::Debug for AppSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AppSecret(..)")
    }
}

impl AppSecret {
    /// Whether `header` is the signature of exactly these bytes.
    pub(crate) fn signed(&self, header: &[u8], body: &[u8]) -> bool {
        let Some(digits) = header.strip_prefix(b"sha256=") else {
            return false;
        };
        let mut tag = [0_u8; 32];
        if hex::decode_to_slice(digits, &mut tag).is_err() {
            return false;
        }
        self.mac(&[body]).is_some_and(|mac| mac.verify_slice(&tag).is_ok())
    }

    /// Whether two secrets are the same, in a time that tells nothing: their tags under this key are compared, so
    /// neither length nor common prefix shows.
    pub(crate) fn same(&self, expected: &str, given: &str) -> bool {
        let tag = self.mac(&[expected.as_bytes()]).map(Mac::finalize);
        let given = self.mac(&[given.as_bytes()]).map(Mac::finalize);
        tag.is_some() && tag == given
    }

    /// An id that follows from a message id and hides it. The same message always yields the same id, which is what
    /// makes a second delivery harmless; a plain hash would not do, because phone numbers can be counted through.
    pub(crate) fn derived_id(&self, purpose: &str, message_id: &str) -> String {
        let tag = self
            .mac(&[b"whatsapp_webhook.id.v1\0", purpose.as_bytes(), b"\0", message_id.as_bytes()])
            .map(|mac| hex::encode(&mac.finalize().into_bytes()[..16]));
        format!("{purpose}_{}", tag.unwrap_or_default())
    }

    /// HMAC takes a key of any length, so the `None` never happens; it reads as "not signed" rather than as a panic.
    fn mac(&self, parts: &[&[u8]]) -> Option<HmacSha256> {
        let mut mac = HmacSha256::new_from_slice(self.0.as_bytes()).ok()?;
        for part in parts {
            mac.update(part);
        }
        Some(mac)
    }
}
