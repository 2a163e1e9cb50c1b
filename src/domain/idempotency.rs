//! Idempotency: what identifies a request that carries an `Idempotency-Key`.

use crate::domain::canonical::Digest;

/// The name of an idempotency row: keyed digest of the `Idempotency-Key`, and of the request made with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// Digest of the key.
    pub key: Digest,
    /// Digest of the request.
    pub request: Digest,
}
