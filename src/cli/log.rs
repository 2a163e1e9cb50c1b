//! The transparency log as the settings want it: who signs, and what remembers what was signed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Failure;
use crate::config::{DatabaseUrl, ServeSettings, Settings};
use crate::service::transparency::{Guard, NoGuard, Signer, Transparency};
use crate::storage::Store;
use crate::system::{SystemClock, SystemEntropy};
use crate::vault::{FileGuard, seeds_from, seeds_of};

/// A file or folder beside a database file.
fn beside(settings: &Settings, ending: &str) -> Option<PathBuf> {
    match &settings.database {
        DatabaseUrl::Sqlite(path) => Some(path.with_extension(ending)),
        DatabaseUrl::Postgres(_) => None,
    }
}

/// The folder that remembers what was signed last, if there is one.
pub(super) fn guard_folder(settings: &Settings, serve: &ServeSettings) -> Option<PathBuf> {
    serve.log_guard.clone().or_else(|| beside(settings, "guard"))
}

/// Opens the log. A key that is missing is made; a key or a guard that cannot be used stops the start.
pub(super) fn open(settings: &Settings, serve: &ServeSettings, store: Arc<dyn Store>) -> Result<Transparency, Failure> {
    let key = serve.signing_key.clone().or_else(|| beside(settings, "signing-key"));
    let signer = seeds(serve, key.as_deref())?.map(|seeds| Signer::new(serve.log_name.clone(), seeds));
    if signer.is_none() {
        tracing::warn!("no checkpoints of the evidence log are signed: name a file with --signing-key");
    }
    let guard = guard(guard_folder(settings, serve))?;
    Ok(Transparency::new(store, Arc::new(SystemClock), signer, guard))
}

fn seeds(serve: &ServeSettings, file: Option<&Path>) -> Result<Option<Vec<[u8; 32]>>, Failure> {
    // An empty variable is one that nobody has set.
    if let Some(seed) = serve.signing_seed.as_ref().filter(|seed| !seed.expose().trim().is_empty()) {
        return seeds_from(seed.expose()).map(Some).map_err(Failure::new);
    }
    file.map(|path| seeds_of(path, &mut SystemEntropy)).transpose().map_err(Failure::new)
}

fn guard(folder: Option<PathBuf>) -> Result<Arc<dyn Guard>, Failure> {
    match folder {
        Some(folder) => Ok(Arc::new(FileGuard::open(folder).map_err(Failure::new)?)),
        None => Ok(Arc::new(NoGuard)),
    }
}
