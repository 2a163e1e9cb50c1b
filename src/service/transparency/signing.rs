//! The signer: the same secret for all tenants, with a name for each tenant.

use crate::evidence::note::{NoteError, SigningKey, VerifierKey};
use crate::storage::Tenant;

/// Signs checkpoints. Never printed.
pub struct Signer {
    prefix: String,
    seeds: Vec<[u8; 32]>,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").field("prefix", &self.prefix).field("keys", &self.seeds.len()).finish_non_exhaustive()
    }
}

impl Signer {
    /// Signs with each of these seeds, in this order: during key rotation both keys sign. `prefix` begins the name of
    /// every log, and must be unique to the deployment.
    #[must_use]
    pub fn new(prefix: String, seeds: Vec<[u8; 32]>) -> Self {
        Self { prefix, seeds }
    }

    /// The common prefix of the log names.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Fingerprints of the keys, independent of the name they sign under, newest first.
    pub fn fingerprints(&self) -> Result<Vec<String>, NoteError> {
        Ok(self.verifiers(&self.prefix)?.iter().map(VerifierKey::fingerprint).collect())
    }

    /// The name of a tenant's log.
    #[must_use]
    pub fn origin(&self, tenant: &Tenant) -> String {
        format!("{}/{}/{}", self.prefix, tenant.environment, tenant.tenant_id)
    }

    /// Whether this is the name of a tenant's log, in any environment.
    pub(super) fn names(&self, origin: &str, tenant: &Tenant) -> bool {
        let rest = origin.strip_prefix(&self.prefix).and_then(|rest| rest.strip_prefix('/'));
        let environment = rest.and_then(|rest| rest.strip_suffix(tenant.tenant_id.as_str())?.strip_suffix('/'));
        environment.is_some_and(|environment| !environment.is_empty() && !environment.contains('/'))
    }

    /// The keys of a log; an error if its name is not valid in a note.
    pub fn keys(&self, origin: &str) -> Result<Vec<SigningKey>, NoteError> {
        self.seeds.iter().map(|seed| SigningKey::from_seed(origin, *seed)).collect()
    }

    /// The keys that verify a log's checkpoints.
    pub fn verifiers(&self, origin: &str) -> Result<Vec<VerifierKey>, NoteError> {
        Ok(self.keys(origin)?.iter().map(SigningKey::verifier).collect())
    }
}
