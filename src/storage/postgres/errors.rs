//! What the driver's errors mean.

use crate::storage::StorageError;

/// Converts a database error. The text names the kind of failure and contains no data.
#[expect(clippy::needless_pass_by_value, reason = "passed to map_err")]
pub(super) fn failed(error: sqlx::Error) -> StorageError {
    let unavailable = |what: &str| StorageError::Unavailable(what.to_owned());
    match &error {
        sqlx::Error::Database(database) => refused(database.code().as_deref().unwrap_or("")),
        sqlx::Error::PoolTimedOut => unavailable("no connection was free in time"),
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::ColumnNotFound(_) => {
            StorageError::Inconsistent { table: "unknown", what: "a column has another type".to_owned() }
        }
        sqlx::Error::Tls(_) => unavailable("the connection could not be made secure"),
        sqlx::Error::Io(_) => unavailable("input or output failed"),
        _ => unavailable("the connection failed"),
    }
}

/// The meaning of a database error code for callers.
fn refused(code: &str) -> StorageError {
    match code {
        // A lock was not released in time.
        "55P03" => StorageError::Contended,
        // Another process wrote that row first, or won a deadlock.
        "23505" | "40001" | "40P01" => StorageError::Conflict,
        // A violated constraint is a bug or a tampered database; repeating the call does not help.
        code if code.starts_with("23") => {
            StorageError::Inconsistent { table: "unknown", what: "a constraint of the schema was broken".to_owned() }
        }
        "28P01" | "28000" => StorageError::Unavailable("the database refuses the user or the password".to_owned()),
        "08P01" => StorageError::Unavailable(
            "a pooler between here and the database refuses the connection's settings: start with --postgres-pooler"
                .to_owned(),
        ),
        "3D000" => StorageError::Unavailable("there is no database of that name".to_owned()),
        "42501" => StorageError::Unavailable("the user lacks a right (PostgreSQL error 42501)".to_owned()),
        "42P01" | "42703" => StorageError::Schema("a table or a column is missing".to_owned()),
        "53100" => StorageError::Unavailable("the disk is full (PostgreSQL error 53100)".to_owned()),
        "53300" => StorageError::Unavailable("too many connections (PostgreSQL error 53300)".to_owned()),
        code => StorageError::Unavailable(format!("PostgreSQL error {code}")),
    }
}
