//! One server per database file, and checks of file permissions.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use super::Failure;
use crate::config::{DatabaseUrl, Settings};

/// The lock of the only server on a database file. The system releases it when the process ends, in whatever way; the
/// file itself stays. Commands such as `cscp verify` do not take it.
#[derive(Debug)]
pub(super) struct Sole {
    _held: Option<File>,
}

impl Sole {
    /// Takes the lock of a database file; on PostgreSQL any number of servers may share a database.
    pub(super) fn server(settings: &Settings) -> Result<Self, Failure> {
        let DatabaseUrl::Sqlite(path) = settings.database() else { return Ok(Self { _held: None }) };
        if has_other_names(path) {
            return Err(Failure::new(format!(
                "{} has more than one name (a hard link): SQLite keeps its log under the name that it is opened by, and two \
                 names would damage the database; remove the other one",
                path.display()
            )));
        }
        let path = lock_file(path);
        let failed =
            |error: &dyn std::fmt::Display| Failure::new(format!("{} cannot be locked: {error}", path.display()));
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(|error| failed(&error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _held: Some(file) }),
            Err(TryLockError::WouldBlock) => Err(Failure::new(format!(
                "another server works on this database file (it holds {}); stop it first, or use PostgreSQL for several",
                path.display()
            ))),
            Err(TryLockError::Error(error)) => Err(failed(&error)),
        }
    }
}

/// Next to the database itself, with links resolved. Locking the database's own file would interfere with SQLite's
/// locks.
fn lock_file(database: &Path) -> PathBuf {
    let database = database.canonicalize().unwrap_or_else(|_| database.to_owned());
    let mut name = database.file_name().map(std::ffi::OsStr::to_owned).unwrap_or_default();
    name.push(".server-lock");
    database.with_file_name(name)
}

#[cfg(unix)]
fn has_other_names(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.nlink() > 1)
}

#[cfg(not(unix))]
fn has_other_names(_path: &Path) -> bool {
    false
}

/// Warns if others than its owner can read or change the database file: it contains personal data and keys.
pub(super) fn warn_of_database(settings: &Settings) {
    if let DatabaseUrl::Sqlite(path) = settings.database() {
        warn_of(path, "the database file", "chmod 600");
    }
}

/// The same for a guard's folder: it keeps this server from signing another history.
pub(super) fn warn_of_guard(folder: &Path) {
    warn_of(folder, "the folder of the guard", "chmod 700");
}

fn warn_of(path: &Path, what: &str, mend: &str) {
    if others_may(path) {
        let path = path.display();
        tracing::warn!("{what} {path} can be read or changed by others than its owner; take that away ({mend})");
    }
}

#[cfg(unix)]
fn others_may(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    // A missing or unreadable file is reported when it is used.
    std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn others_may(_path: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_lies_beside_the_database_that_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("real.db");
        std::fs::write(&real, "").unwrap();
        assert_eq!(lock_file(&real), real.with_file_name("real.db.server-lock"));
        #[cfg(unix)]
        {
            let link = folder.path().join("link.db");
            std::os::unix::fs::symlink(&real, &link).unwrap();
            assert_eq!(lock_file(&link), lock_file(&real));
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_others_may_read_or_change_is_known() {
        use std::os::unix::fs::PermissionsExt as _;
        let file = tempfile::NamedTempFile::new().unwrap();
        for (mode, others) in
            [(0o600, false), (0o700, false), (0o640, true), (0o604, true), (0o602, true), (0o666, true)]
        {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(others_may(file.path()), others, "{mode:o}");
        }
    }
}
