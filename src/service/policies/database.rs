//! Policies that were published for every server on a database.

use std::sync::Arc;

use super::{Found, PolicyFailure, PolicyOrigin};
use crate::domain::policy::PolicyError;
use crate::domain::rulebook::Rulebook;
use crate::packs::{PackSource, set_hash};
use crate::storage::{PolicySet, Store};

/// A database, the version in force, and a version that failed to load.
pub(super) struct DatabaseWatch {
    store: Arc<dyn Store>,
    version: u64,
    broken: Option<u64>,
}

impl DatabaseWatch {
    pub(super) async fn new(
        store: Arc<dyn Store>,
    ) -> Result<(Self, Arc<Rulebook>, PolicyOrigin, Option<u64>), PolicyFailure> {
        let version = store.policies_version().await?;
        let (rules, origin) = read(store.as_ref(), version).await?;
        Ok((Self { store, version, broken: None }, rules, origin, shown(version)))
    }

    /// Asks for the newest version, and reads it if it is new.
    pub(super) async fn look(&mut self) -> Found {
        let newest = match self.store.policies_version().await {
            Ok(newest) => newest,
            Err(error) => return Found::Failed(error.into()),
        };
        if newest == self.version {
            return Found::Same;
        }
        // A published version never changes, so this program can never load it.
        if self.broken == Some(newest) {
            return Found::Failing;
        }
        match read(self.store.as_ref(), newest).await {
            Ok((rules, origin)) => {
                self.version = newest;
                self.broken = None;
                Found::New(rules, origin, shown(newest))
            }
            Err(failure) => {
                if matches!(failure, PolicyFailure::Broken { .. }) {
                    self.broken = Some(newest);
                }
                Found::Failed(failure)
            }
        }
    }
}

fn shown(version: u64) -> Option<u64> {
    (version > 0).then_some(version)
}

/// The rules of a version. Version 0, and a version without a set, mean the built-in packs.
pub(super) async fn read(store: &dyn Store, version: u64) -> Result<(Arc<Rulebook>, PolicyOrigin), PolicyFailure> {
    let set = if version == 0 { None } else { store.policy_set(version).await? };
    let origin = if set.is_some() { PolicyOrigin::Published } else { PolicyOrigin::Shipped };
    // Checking packs takes milliseconds; on another thread, requests do not wait for it.
    let loaded = tokio::task::spawn_blocking(move || set.map_or_else(|| PackSource::Shipped.load(), load)).await;
    let loaded = loaded.map_err(|_| PolicyFailure::Lost)?;
    let what = format!("the policies that were published as version {version}");
    let rules = loaded.map_err(|errors| PolicyFailure::Broken { what, errors })?;
    Ok((Arc::new(rules), origin))
}

fn load(set: PolicySet) -> Result<Rulebook, Vec<PolicyError>> {
    if set_hash(&set.files).map_err(|error| vec![error])? != set.hash {
        let problem = "the set is not what was published";
        return Err(vec![PolicyError::at("", problem, "Publish it again, and find out who changed the database.")]);
    }
    PackSource::Published(set.files).load()
}
