//! Errors of a database, grouped by what a caller can do about them.

/// Why the database failed. The text is for operators and contains no data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// It does not answer, is full, or is busy: repeat the call later.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// Another process held a lock for too long: nothing was written; repeat the call.
    #[error("another process holds the lock")]
    Contended,
    /// Another process wrote the same row first, or won a deadlock: nothing was written; repeat the call to see what
    /// the other one wrote.
    #[error("another process wrote the same row first")]
    Conflict,
    /// A row has a value that this program never writes: another program or another version changed the database.
    #[error("inconsistent {table} row: {what}")]
    Inconsistent {
        table: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// A row with this id exists.
    #[error("it exists already")]
    Exists,
    /// The schema is not the one this version needs.
    #[error("the schema does not fit this version: {0}")]
    Schema(String),
}
