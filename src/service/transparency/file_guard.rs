//! A guard in a folder: one small file for each log, always replaced as a whole.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::domain::id::TenantId;
use crate::evidence::checkpoint::Checkpoint;
use crate::files::{create_private, replace};
use crate::service::transparency::{Guard, GuardError, Protection, Signed};

/// The extension of every file.
const ENDING: &str = "checkpoint";

/// Parameters of the guard.
#[derive(Debug)]
pub struct Opening {
    /// The folder. It is created if it is missing, and several deployments may share it.
    pub folder: PathBuf,
    /// How well the folder is separated from the database.
    pub protection: Protection,
    /// The common prefix of the deployment's log names.
    pub prefix: String,
    /// The fingerprints of the signing keys, newest first.
    pub keys: Vec<String>,
    /// Folders that earlier versions of this program used.
    pub former: Vec<PathBuf>,
}

/// A folder with a subfolder for each key, and in it one small file for each log. It must not be restored together with
/// the database.
///
/// A file's path depends on the deployment's name, the tenant and the key. The database alone determines none of these,
/// so write access to the database cannot redirect the guard to another file.
#[derive(Debug)]
pub struct FileGuard {
    opening: Opening,
}

impl FileGuard {
    /// Opens the folder and imports what earlier versions stored.
    pub fn open(opening: Opening) -> Result<Self, GuardError> {
        let guard = Self { opening };
        for folder in guard.subfolders() {
            create_private(&folder).map_err(failed)?;
        }
        for (tenant_id, signed) in guard.formerly_remembered()? {
            let known = guard.latest(&tenant_id)?;
            if known.as_ref().is_none_or(|known| known.size < signed.size) {
                guard.advance(&tenant_id, known.as_ref(), &signed)?;
            }
        }
        Ok(guard)
    }

    fn subfolders(&self) -> impl Iterator<Item = PathBuf> {
        self.opening.keys.iter().map(|key| self.opening.folder.join(key))
    }

    fn name(&self, tenant_id: &TenantId) -> String {
        // Names may be long and contain any character, so the file name is a hash.
        let hasher = Sha256::new().chain_update(&self.opening.prefix).chain_update([0]);
        format!("{}.{ENDING}", hex::encode(hasher.chain_update(tenant_id.as_str()).finalize()))
    }

    /// What earlier versions stored for this deployment's logs: files named by the log, without the tenant.
    fn formerly_remembered(&self) -> Result<Vec<(TenantId, Signed)>, GuardError> {
        let mut found = Vec::new();
        for folder in self.opening.former.iter().chain([&self.opening.folder]) {
            for path in files_of(folder).map_err(failed)? {
                let text = std::fs::read_to_string(path).map_err(failed)?;
                let signed = signed_in(&text)?;
                let rest = signed.origin.strip_prefix(&self.opening.prefix).and_then(|rest| rest.strip_prefix('/'));
                let tenant = rest.and_then(|rest| rest.split_once('/')).map(|(_environment, tenant)| tenant.to_owned());
                found.extend(tenant.and_then(|id| TenantId::new(id).ok()).map(|tenant_id| (tenant_id, signed)));
            }
        }
        Ok(found)
    }
}

impl Guard for FileGuard {
    fn protection(&self) -> Protection {
        self.opening.protection
    }

    fn latest(&self, tenant_id: &TenantId) -> Result<Option<Signed>, GuardError> {
        let name = self.name(tenant_id);
        let mut latest: Option<Signed> = None;
        for folder in self.subfolders() {
            let Some((of, signed)) = read(&folder.join(&name))? else { continue };
            if of != *tenant_id {
                return Err(GuardError("it remembers the log of another tenant under this name".to_owned()));
            }
            // During key rotation each key has a file; the largest size counts.
            latest = latest.into_iter().chain([signed]).max_by_key(|signed| signed.size);
        }
        Ok(latest)
    }

    fn remembered(&self) -> Result<Vec<(TenantId, Signed)>, GuardError> {
        let mut found: Vec<TenantId> = Vec::new();
        for folder in self.subfolders() {
            for path in files_of(&folder).map_err(failed)? {
                let Some((tenant_id, _)) = read(&path)? else { continue };
                // Another deployment with the same key has another name, and so other files.
                if path.file_name().is_some_and(|name| *name == *self.name(&tenant_id)) {
                    found.push(tenant_id);
                }
            }
        }
        found.sort();
        found.dedup();
        let read = found.into_iter().map(|id| Ok(self.latest(&id)?.map(|signed| (id, signed))));
        read.filter_map(Result::transpose).collect()
    }

    fn advance(&self, tenant_id: &TenantId, from: Option<&Signed>, to: &Signed) -> Result<bool, GuardError> {
        // Locked until the file is closed, across processes.
        let lock = File::create(self.opening.folder.join("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        if self.latest(tenant_id)?.as_ref() != from {
            return Ok(false);
        }
        let checkpoint =
            Checkpoint::new(&to.origin, to.size, to.root).map_err(|error| GuardError(error.to_string()))?;
        let text = format!("{tenant_id}\n{}", checkpoint.body());
        for folder in self.subfolders() {
            replace(&folder.join(self.name(tenant_id)), &text).map_err(failed)?;
        }
        Ok(true)
    }
}

/// The content of a file and its tenant; none if there is no such file.
fn read(path: &Path) -> Result<Option<(TenantId, Signed)>, GuardError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let unreadable = || GuardError(format!("{} cannot be read", path.display()));
    let (tenant, body) = text.split_once('\n').ok_or_else(unreadable)?;
    let tenant_id = TenantId::new(tenant.to_owned()).map_err(|_| unreadable())?;
    Ok(Some((tenant_id, signed_in(body).map_err(|_| unreadable())?)))
}

fn signed_in(body: &str) -> Result<Signed, GuardError> {
    let checkpoint = Checkpoint::parse(body).map_err(|error| GuardError(error.to_string()))?;
    Ok(Signed { origin: checkpoint.origin().to_owned(), size: checkpoint.size(), root: checkpoint.root() })
}

/// The guard files of a folder; none if there is no such folder.
fn files_of(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    Ok(paths?.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == ENDING)).collect())
}

#[expect(clippy::needless_pass_by_value, reason = "passed to map_err")]
fn failed(error: std::io::Error) -> GuardError {
    GuardError(error.to_string())
}

#[cfg(test)]
#[path = "file_guard_tests.rs"]
mod tests;
