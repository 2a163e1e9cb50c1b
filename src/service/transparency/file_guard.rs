//! A guard in a folder: one small file for each log, which is replaced as a whole.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::domain::id::TenantId;
use crate::evidence::checkpoint::Checkpoint;
use crate::files::{create_private, replace};
use crate::service::transparency::{Guard, GuardError, Protection, Signed};

/// What every file ends with.
const ENDING: &str = "checkpoint";

/// What a guard is opened for.
#[derive(Debug)]
pub struct Opening {
    /// The folder. It is made if it is missing. Several deployments may share it.
    pub folder: PathBuf,
    /// How far it is from the database.
    pub protection: Protection,
    /// How the names of the deployment's logs begin.
    pub prefix: String,
    /// The fingerprints of the keys that sign, the newest first.
    pub keys: Vec<String>,
    /// Folders in which earlier versions of this program kept the same.
    pub former: Vec<PathBuf>,
}

/// A folder with a subfolder for each key and in it one small file for each log. It must not be part of what is restored
/// with the database.
///
/// A file is named by the deployment's name and the tenant, and lies below its key. Nothing of that stands in the database
/// alone, so that whoever writes to the database cannot have the guard look elsewhere.
#[derive(Debug)]
pub struct FileGuard {
    opening: Opening,
}

impl FileGuard {
    /// Opens the folder, and takes over what an earlier version remembered.
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
        // Names may be long and hold anything.
        let hasher = Sha256::new().chain_update(&self.opening.prefix).chain_update([0]);
        format!("{}.{ENDING}", hex::encode(hasher.chain_update(tenant_id.as_str()).finalize()))
    }

    /// What earlier versions remembered of this deployment's logs: files named by the log, without its tenant.
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
            // While keys are replaced each has a file; the newest word counts.
            latest = latest.into_iter().chain([signed]).max_by_key(|signed| signed.size);
        }
        Ok(latest)
    }

    fn remembered(&self) -> Result<Vec<(TenantId, Signed)>, GuardError> {
        let mut found: Vec<TenantId> = Vec::new();
        for folder in self.subfolders() {
            for path in files_of(&folder).map_err(failed)? {
                let Some((tenant_id, _)) = read(&path)? else { continue };
                // Another deployment with the same key has its own name, and its own files.
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
        // Held until the file is closed, by whichever process has it.
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

/// What a file remembers, and of whom; none if there is no such file.
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

/// The files of a folder in which something is remembered; none if there is no such folder.
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
