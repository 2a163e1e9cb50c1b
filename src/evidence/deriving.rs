//! The hashes of an entry, implemented a second time for verification, so that a bug in the writing code cannot hide.
//!
//! Only the types and SHA-256 are shared with `entry`: not the labels, and not the canonical form.

use sha2::{Digest as _, Sha256};

use crate::domain::canonical::Digest;
use crate::evidence::entry::Header;

/// The commitment to a payload: SHA-256 of the label, the salt and the bytes.
pub(super) fn payload_commitment(salt: &Digest, payload: &[u8]) -> Digest {
    let hasher = Sha256::new().chain_update("cscp.payload.v1").chain_update(salt.as_bytes()).chain_update(payload);
    Digest::from_bytes(hasher.finalize().into())
}

/// The hash of an entry: SHA-256 of the label, the link, the header and the commitment.
pub(super) fn entry_hash(prev_hash: &Digest, header: &Header, commitment: &Digest) -> Digest {
    let hasher = Sha256::new().chain_update("cscp.entry.v1").chain_update(prev_hash.as_bytes());
    let hasher = hasher.chain_update(header_text(header)).chain_update(commitment.as_bytes());
    Digest::from_bytes(hasher.finalize().into())
}

/// The header in canonical form (RFC 8785). Its members are fixed, so their order is written out here.
fn header_text(header: &Header) -> String {
    format!(
        "{{\"artifact_id\":{},\"at\":{},\"policy_hash\":{},\"seq\":{},\"stream_id\":{},\"tenant_id\":{},\"type\":{},\"v\":{}}}",
        quoted(header.artifact_id.as_str()),
        quoted(&header.at.to_string()),
        quoted(&header.policy_hash),
        header.seq,
        quoted(header.stream_id.as_str()),
        quoted(header.tenant_id.as_str()),
        quoted(&header.kind),
        header.v,
    )
}

/// A JSON string in canonical form: only what RFC 8785 requires is escaped.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    // Nearly every text needs no escapes.
    if !text.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..b' ')) {
        quoted.push_str(text);
        quoted.push('"');
        return quoted;
    }
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{8}' => quoted.push_str("\\b"),
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\u{c}' => quoted.push_str("\\f"),
            '\r' => quoted.push_str("\\r"),
            // Control characters take two hexadecimal digits at most.
            c if c < ' ' => {
                quoted.push_str("\\u00");
                quoted.push_str(&hex::encode([u8::try_from(c).unwrap_or_default()]));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::canonical::canonical;
    use crate::domain::id::{ArtifactId, StreamId, TenantId};
    use crate::domain::time::Timestamp;
    use crate::evidence::entry;

    proptest! {
        #[test]
        fn both_derivations_agree(
            kind in any::<String>(), policy_hash in any::<String>(), seq in 1_u64..9_007_199_254_740_991,
            at in any::<i64>(), tenant in "[a-z0-9._-]{1,30}", bytes in any::<[u8; 32]>(), payload in any::<Vec<u8>>(),
        ) {
            let digest = Digest::from_bytes(bytes);
            let id = |prefix: &str| format!("{prefix}_{}", &digest.to_hex()[..32]);
            let header = Header {
                v: 1,
                tenant_id: TenantId::new(tenant).unwrap(),
                stream_id: StreamId::parse(&id("str")).unwrap(),
                seq,
                artifact_id: ArtifactId::parse(&id("art")).unwrap(),
                kind,
                at: Timestamp::from_micros(at),
                policy_hash,
            };
            prop_assert_eq!(header_text(&header).into_bytes(), canonical(&header));
            prop_assert_eq!(
                entry_hash(&digest, &header, &digest).to_hex(),
                entry::entry_hash(&digest, &header, &digest).to_hex()
            );
            prop_assert_eq!(
                payload_commitment(&digest, &payload).to_hex(),
                entry::payload_commitment(&digest, &payload).to_hex()
            );
        }
    }
}
