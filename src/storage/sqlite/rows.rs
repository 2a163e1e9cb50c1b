//! Rows for statements of the write path, and what the driver's errors mean.

use serde::Serialize;

use crate::storage::StorageError;

/// Rows for a statement, as one JSON array. They are serialized directly, without building a JSON tree.
#[derive(Debug, Default)]
pub(super) struct Rows(String);

impl Rows {
    /// Adds a row, given as a tuple of its columns.
    pub(super) fn add(&mut self, row: &impl Serialize) {
        self.0.push(if self.0.is_empty() { '[' } else { ',' });
        // If a row cannot be serialized, the array is invalid and SQLite refuses the batch.
        self.0.push_str(&serde_json::to_string(row).unwrap_or_default());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_array(mut self) -> String {
        self.0.push_str(if self.0.is_empty() { "[]" } else { "]" });
        self.0
    }
}

/// Converts a database error. The text names the kind of failure and contains no data.
#[expect(clippy::needless_pass_by_value, reason = "passed to map_err")]
pub(super) fn unavailable(error: sqlx::Error) -> StorageError {
    // A violated constraint is a bug or a tampered database; repeating the call does not help.
    if let sqlx::Error::Database(database) = &error
        && !matches!(database.kind(), sqlx::error::ErrorKind::Other)
    {
        return StorageError::Inconsistent {
            table: "unknown",
            what: "a constraint of the schema was broken".to_owned(),
        };
    }
    let what = match &error {
        sqlx::Error::Database(database) => match database.code() {
            Some(code) => format!("SQLite error {code}"),
            None => "SQLite error".to_owned(),
        },
        sqlx::Error::PoolTimedOut => "no connection was free in time".to_owned(),
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::ColumnNotFound(_) => {
            return StorageError::Inconsistent { table: "unknown", what: "a column has another type".to_owned() };
        }
        sqlx::Error::Io(_) => "input or output failed".to_owned(),
        _ => "the connection failed".to_owned(),
    };
    StorageError::Unavailable(what)
}
