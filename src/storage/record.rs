//! Records outside the domain: tenants, credentials, idempotency rows, published policies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::canonical::Digest;
use crate::domain::id::{KeyId, PrincipalId, SpaceId, TenantId};
use crate::domain::operation::CredentialKind;
use crate::domain::policy::{PolicyRef, PolicyScope};
use crate::domain::scope::Scope;
use crate::domain::speaking::{Capability, SpeaksFor, Voice};
use crate::domain::time::Timestamp;
use crate::state_layer::request::{Answered, Refused};
use crate::storage::StorageError;

/// One customer of this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    pub tenant_id: TenantId,
    /// `production`, `staging`, …; policy selects by it and evidence contains it.
    pub environment: String,
    /// The pack assigned to it; if none, selectors choose.
    pub policy_pack: Option<String>,
    /// The key of its dedupe rows and stored digests.
    pub key: Digest,
    /// Whether its credentials work.
    pub enabled: bool,
    pub created_at: Timestamp,
}

impl Tenant {
    /// What policy packs are selected by.
    #[must_use]
    pub fn policy_scope(&self) -> PolicyScope {
        PolicyScope {
            tenant_id: self.tenant_id.as_str().to_owned(),
            environment: self.environment.clone(),
            attached_pack: self.policy_pack.clone(),
        }
    }
}

/// An API key. Only its digest is stored: 256 random bits need no salt and no slow hash (ASVS 6.5.2).
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub key_id: KeyId,
    pub tenant_id: TenantId,
    /// Digest of the secret.
    pub digest: Digest,
    pub kind: CredentialKind,
    /// The operations that it permits.
    pub scopes: BTreeSet<Scope>,
    /// The principal on whose behalf it acts, for operators, auditors and approvers.
    pub principal_id: Option<PrincipalId>,
    /// The principals for whom it may read facts.
    pub speaks_for: SpeaksFor,
    /// Its owner's name for it.
    pub label: String,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

/// Writes a right to speak as the columns of a key.
pub(super) fn voice_columns(speaks_for: &SpeaksFor) -> (&'static str, Option<&str>) {
    match &speaks_for.voice {
        Voice::Nobody => ("nobody", None),
        Voice::Principal(id) => ("principal", Some(id.as_str())),
        Voice::Anyone => ("anyone", None),
    }
}

/// Reads a right to speak from the columns of a key; none if they are invalid.
pub(super) fn speaks_for(
    word: &str,
    viewer: Option<String>,
    capability: (Option<String>, Option<String>),
) -> Option<SpeaksFor> {
    let voice = match (word, viewer) {
        ("nobody", None) => Voice::Nobody,
        ("anyone", None) => Voice::Anyone,
        ("principal", Some(id)) => Voice::Principal(PrincipalId::new(id).ok()?),
        _ => return None,
    };
    let capability = match capability {
        (Some(organization), Some(capability)) => Some(Capability { organization, capability }),
        (None, None) => None,
        _ => return None,
    };
    Some(SpeaksFor { voice, capability })
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKey").field("key_id", &self.key_id).field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// The stored answer to a request with an `Idempotency-Key`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredClaim {
    /// Keyed digest of the request, to distinguish a repetition from another request with the same key.
    pub request: Digest,
    /// The answer, refusals included.
    pub result: Result<Answered, Refused>,
    /// When it was decided.
    pub at: Timestamp,
    /// When the row may be deleted.
    pub expires_at: Timestamp,
    /// The fact space that the answer contains data of: the row is deleted with that data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_id: Option<SpaceId>,
    /// Conversations and principals of the request: the row is deleted with them, even if the answer does not name
    /// them, because the request's digest may be that of a telephone number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<String>,
}

/// The files of published policies, and their parsed summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySet {
    /// `sha256:` and the hex digest of all files.
    pub hash: String,
    pub packs: Vec<PolicyRef>,
    /// Path and text of each file, sorted by path.
    pub files: Vec<(String, String)>,
}

impl PolicySet {
    /// Packs and files as they are stored.
    pub(in crate::storage) fn columns(&self) -> Result<(String, String), StorageError> {
        let files: BTreeMap<&str, &str> =
            self.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        match (serde_json::to_string(&self.packs), serde_json::to_string(&files)) {
            (Ok(packs), Ok(files)) => Ok((packs, files)),
            _ => Err(unreadable("it cannot be written as JSON")),
        }
    }

    /// Reads the stored form; none without files.
    pub(in crate::storage) fn from_columns(
        hash: Option<String>,
        packs: &str,
        files: Option<String>,
    ) -> Result<Option<Self>, StorageError> {
        let (Some(hash), Some(files)) = (hash, files) else { return Ok(None) };
        let files: BTreeMap<String, String> = serde_json::from_str(&files).map_err(|_| unreadable("no files"))?;
        let packs = serde_json::from_str(packs).map_err(|_| unreadable("no list of packs"))?;
        Ok(Some(Self { hash, packs, files: files.into_iter().collect() }))
    }
}

fn unreadable(what: &str) -> StorageError {
    StorageError::Inconsistent { table: "policy_versions", what: what.to_owned() }
}

/// A version of the policies of every server on a database, except servers that were started with a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyVersion {
    /// Counted from 1, without a gap.
    pub version: u64,
    pub published_at: Timestamp,
    pub note: Option<String>,
    /// The hash of the set; none if this version returned to the built-in packs.
    pub hash: Option<String>,
    pub packs: Vec<PolicyRef>,
}
