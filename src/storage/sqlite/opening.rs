//! How a database file is opened.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

/// How long a writer waits for another process's transaction, such as a `cscp key create` beside the server.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// What every connection has: the write-ahead log, commits that are durable, and nothing left of what is deleted.
pub(super) fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        // NORMAL may lose the last commits when the power goes: acknowledged means durable.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_TIMEOUT)
        // The log is folded into the file when it has 32 MiB, not 4: a page that many commits changed is copied once.
        .pragma("wal_autocheckpoint", "8192")
        .pragma("secure_delete", "ON")
        .pragma("trusted_schema", "OFF")
}
