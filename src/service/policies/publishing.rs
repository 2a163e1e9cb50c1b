//! Publishing: a set is stored only after the same checks that every server makes when it loads it.

use super::database::read;
use super::{PolicyFailure, packs_of};
use crate::domain::id::TenantId;
use crate::domain::policy::{PolicyError, PolicyRef};
use crate::domain::rulebook::Rulebook;
use crate::domain::time::Timestamp;
use crate::packs::{NamedText, PackSource, set_hash};
use crate::storage::{PolicySet, StorageError, Store};

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PublishError {
    /// It does not load.
    #[error("the set does not load")]
    Broken(Vec<PolicyError>),
    /// Some of its own cases fail; each line names a file, a case and the difference.
    #[error("{} cases failed", .0.len())]
    Cases(Vec<String>),
    /// A pack was edited and kept its version, by which people and evidence name it.
    #[error(
        "pack {pack_id} is published or shipped as version {version} with another content; raise `version` in its file and publish again"
    )]
    SameVersion { pack_id: String, version: String },
    /// The newest version cannot be read for comparison.
    #[error("{0}")]
    Policies(#[from] PolicyFailure),
    #[error("{0}")]
    Storage(#[from] StorageError),
}

/// The set that is published now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Its version; 0 if nothing was ever published.
    pub version: u64,
    /// Whether a new version was made; otherwise the newest was already the same.
    pub new: bool,
    pub packs: Vec<PolicyRef>,
    pub passed: usize,
    /// Tenants attached to a pack that the set lacks: each of their commands is treated as S3.
    pub without_pack: Vec<TenantId>,
}

/// Checks a set, cases included, and publishes it for every server on the database. Blocks on the disk.
pub async fn publish_policies(
    store: &dyn Store,
    source: &PackSource,
    note: Option<&str>,
    at: Timestamp,
) -> Result<Published, PublishError> {
    let files = source.files_with_cases().map_err(PublishError::Broken)?;
    let paths = files.to_paths();
    // Checks the file texts that will be stored, instead of reading the folder again.
    let rules = PackSource::Published(paths.clone()).load().map_err(PublishError::Broken)?;
    let reports = files.run_cases(rules.book()).map_err(PublishError::Broken)?;
    let failures = reports
        .iter()
        .flat_map(|(file, report)| report.failures.iter().map(move |failure| format!("{file}: {failure}")));
    let failures: Vec<String> = failures.collect();
    if !failures.is_empty() {
        return Err(PublishError::Cases(failures));
    }
    let hash = set_hash(&paths).map_err(|error| PublishError::Broken(vec![error]))?;
    let packs: Vec<PolicyRef> = packs_of(&rules).cloned().collect();
    let same = same(store, &hash, &paths).await?;
    if same.is_none() {
        refuse_same_version(store, &packs).await?;
    }
    let version = if let Some(version) = same {
        version
    } else {
        let set = PolicySet { hash, packs: packs.clone(), files: paths };
        store.publish_policies(Some(&set), note, at).await?
    };
    let passed = reports.iter().map(|(_, report)| report.passed).sum();
    Ok(Published {
        version,
        new: same.is_none(),
        packs,
        passed,
        without_pack: attached_elsewhere(store, &rules).await?,
    })
}

/// How many published versions are compared with a new one.
const COMPARED_VERSIONS: u32 = 200;

/// Refuses a pack that has the name and the version of an earlier one, or of one that the program brings along, and another
/// content.
async fn refuse_same_version(store: &dyn Store, packs: &[PolicyRef]) -> Result<(), PublishError> {
    let shipped = PackSource::Shipped.load().map_err(PublishError::Broken)?;
    let published = store.policy_versions(None, COMPARED_VERSIONS).await?;
    let known = published.into_iter().flat_map(|version| version.packs).chain(packs_of(&shipped).cloned());
    for earlier in known {
        let is_edited = |pack: &&PolicyRef| {
            pack.pack_id == earlier.pack_id && pack.version == earlier.version && pack.hash != earlier.hash
        };
        if let Some(PolicyRef { pack_id, version, .. }) = packs.iter().find(is_edited).cloned() {
            return Err(PublishError::SameVersion { pack_id, version });
        }
    }
    Ok(())
}

/// The newest version, if it is this set. A version with the same hash and other files was tampered with.
async fn same(store: &dyn Store, hash: &str, files: &[NamedText]) -> Result<Option<u64>, StorageError> {
    let newest = store.policy_versions(None, 1).await?.pop();
    let Some(newest) = newest.filter(|newest| newest.hash.as_deref() == Some(hash)) else { return Ok(None) };
    let set = store.policy_set(newest.version).await?;
    Ok(set.is_some_and(|set| set.files == files).then_some(newest.version))
}

/// Publishes a version that returns to the built-in packs.
pub async fn withdraw_policies(
    store: &dyn Store,
    note: Option<&str>,
    at: Timestamp,
) -> Result<Published, PublishError> {
    let newest = store.policy_versions(None, 1).await?.pop();
    let (version, new) = match newest {
        Some(newest) if newest.hash.is_some() => (store.publish_policies(None, note, at).await?, true),
        newest => (newest.map_or(0, |newest| newest.version), false),
    };
    let (rules, _) = read(store, 0).await?;
    let packs = packs_of(&rules).cloned().collect();
    Ok(Published { version, new, packs, passed: 0, without_pack: attached_elsewhere(store, &rules).await? })
}

/// Tenants attached to a pack that these rules lack.
async fn attached_elsewhere(store: &dyn Store, rules: &Rulebook) -> Result<Vec<TenantId>, StorageError> {
    let tenants = store.tenants().await?.into_iter();
    let lost =
        tenants.filter(|tenant| tenant.policy_pack.as_ref().is_some_and(|pack| rules.book().pack(pack).is_none()));
    Ok(lost.map(|tenant| tenant.tenant_id).collect())
}
