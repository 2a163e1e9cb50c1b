//! How a database file is opened.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

/// How long a writer waits for another process's transaction, such as a `cscp key create` next to the server.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Options of every connection: write-ahead log, durable commits, and overwriting of deleted data.
pub(super) fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        // NORMAL may lose the last commits in a power failure, but an acknowledged commit must be durable.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_TIMEOUT)
        // The log is folded into the file at 32 MiB instead of 4: a page that many commits changed is copied once.
        .pragma("wal_autocheckpoint", "8192")
        .pragma("secure_delete", "ON")
        .pragma("trusted_schema", "OFF")
}
