//! Copies a database file that is in use.

use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::BUSY_TIMEOUT;
use super::rows::unavailable;
use crate::storage::StorageError;

/// Copies the database `from`, as of one moment, into the file `to`, which has to be empty or missing, and checks every
/// page of the copy. Writers are not blocked, and nothing of `from` changes, not even its schema.
pub async fn copy(from: &Path, to: &Path) -> Result<(), StorageError> {
    // SQLite would parse a name that begins with `file:` as a URI.
    let whole = std::path::absolute(to).ok().and_then(|path| path.to_str().map(str::to_owned));
    let whole = whole.ok_or_else(|| StorageError::Unavailable("the name of the copy is not UTF-8".to_owned()))?;
    let mut source = open(from).await?;
    let sql = "-- sqlite: backup.copy\nVACUUM INTO ?";
    sqlx::query(sql).bind(whole).execute(&mut source).await.map_err(unavailable)?;
    source.close().await.map_err(unavailable)?;
    let mut copy = open(to).await?;
    let sql = "-- sqlite: backup.check\nPRAGMA integrity_check";
    let found: String = sqlx::query_scalar(sql).fetch_one(&mut copy).await.map_err(unavailable)?;
    copy.close().await.map_err(unavailable)?;
    if found != "ok" {
        return Err(StorageError::Unavailable("the copy is damaged, and so may be the database".to_owned()));
    }
    Ok(())
}

async fn open(path: &Path) -> Result<SqliteConnection, StorageError> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true).busy_timeout(BUSY_TIMEOUT);
    options.connect().await.map_err(unavailable)
}
