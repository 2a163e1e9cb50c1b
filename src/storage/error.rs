//! What can go wrong with a database, as far as callers can do something about it.

/// Why the database did not do what was asked. The text is for operators and carries no data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// It does not answer, is full, or is busy: try again later.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// Another process holds what is needed, and did so for too long: nothing was written; repeat it.
    #[error("another process holds the lock")]
    Contended,
    /// Another process wrote the same row first, or went on when the database broke a deadlock: nothing was written;
    /// repeat it, and what the other one wrote will be seen.
    #[error("another process wrote the same row first")]
    Conflict,
    /// A row cannot be what it says: the database was changed by other hands or by another version.
    #[error("inconsistent {table} row: {what}")]
    Inconsistent {
        table: &'static str,
        /// What is impossible about it.
        what: String,
    },
    /// What should be created exists.
    #[error("it exists already")]
    Exists,
    /// The schema is not the one this version needs.
    #[error("the schema does not fit this version: {0}")]
    Schema(String),
}
