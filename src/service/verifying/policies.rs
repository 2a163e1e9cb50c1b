//! Verifies published policies: the hash by which evidence names packs must follow from their files.

use super::super::policies::packs_of;
use super::RowFault;
use crate::packs::{PackSource, set_hash};
use crate::storage::{PolicySet, StorageError, Store};

const PAGE: u32 = 100;

/// Checks every published version: none is missing between the first and the newest, and each matches its hash. A
/// version deleted at the end cannot be detected.
pub async fn verify_policies(store: &dyn Store) -> Result<Vec<RowFault>, StorageError> {
    let newest = store.policies_version().await?;
    let (mut faults, mut before) = (Vec::new(), None);
    let mut expected = newest;
    loop {
        let versions = store.policy_versions(before, PAGE).await?;
        let Some(last) = versions.last() else { break };
        before = Some(last.version);
        for version in versions {
            while expected > version.version {
                faults.push(RowFault::Policies(expected));
                expected -= 1;
            }
            expected = version.version.saturating_sub(1);
            let set = store.policy_set(version.version).await?;
            let fits = match set {
                None => version.hash.is_none() && version.packs.is_empty(),
                Some(set) => is_whole(&set),
            };
            if !fits {
                faults.push(RowFault::Policies(version.version));
            }
        }
    }
    faults.extend((1..=expected).map(RowFault::Policies));
    Ok(faults)
}

/// Whether a set's hash matches its files, and its list names the packs in them.
fn is_whole(set: &PolicySet) -> bool {
    let is_hashed = set_hash(&set.files).is_ok_and(|hash| hash == set.hash);
    is_hashed
        && PackSource::Published(set.files.clone()).load().is_ok_and(|rules| packs_of(&rules).eq(set.packs.iter()))
}
