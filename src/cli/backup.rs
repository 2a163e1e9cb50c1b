//! `cscp backup`: a copy of a SQLite database while it is in use.

use std::ffi::OsString;
use std::fs::{File, remove_file, rename};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::{Failure, open};
use crate::config::{DatabaseUrl, Settings};
use crate::storage::sqlite;

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// The file to write; it must not exist yet
    file: PathBuf,
}

/// `cscp backup`. The file appears complete or not at all.
pub(super) async fn run(settings: &Settings, arguments: &BackupArguments) -> Result<ExitCode, Failure> {
    let DatabaseUrl::Sqlite(from) = settings.database() else {
        let how = "it copies SQLite databases; PostgreSQL brings pg_dump and pg_basebackup: see docs/OPERATIONS.md";
        return Err(Failure::new(how));
    };
    let to = &arguments.file;
    open::there(settings)?;
    if to.exists() {
        return Err(Failure::new(format!("{} exists already; a backup replaces nothing", to.display())));
    }
    let partial = beside(to);
    let written = write(from, &partial, to).await;
    if written.is_err() {
        // The partial file is useless; the first error matters more than a failed removal.
        drop(remove_file(&partial));
    }
    written?;
    println!("{0} holds the database as it was a moment ago. To check it: cscp verify --database {0}", to.display());
    Ok(ExitCode::SUCCESS)
}

async fn write(from: &Path, partial: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("{} cannot be written: {error}", to.display()));
    match remove_file(partial) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    open::keep_private(partial)?;
    sqlite::backup::copy(from, partial)
        .await
        .map_err(|error| Failure::new(format!("{} cannot be copied to {}: {error}", from.display(), to.display())))?;
    File::open(partial).and_then(|file| file.sync_all()).map_err(failed)?;
    rename(partial, to).map_err(failed)?;
    durable_name(to).map_err(failed)
}

/// The temporary name of the file while it is written.
fn beside(to: &Path) -> PathBuf {
    let mut name = OsString::from(to);
    name.push(".partial");
    name.into()
}

/// Syncs the folder: without that, a power failure could lose the new file.
#[cfg(unix)]
fn durable_name(file: &Path) -> std::io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn durable_name(_file: &Path) -> std::io::Result<()> {
    Ok(())
}
