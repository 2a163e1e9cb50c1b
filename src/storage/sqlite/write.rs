//! Writes a batch: one statement per table, whatever the batch's size.

use sqlx::SqliteConnection;

use super::database::change;
use crate::storage::write_parts::{IDENTITY, PARTS};
use crate::storage::written::Batch;
use crate::storage::{StorageError, Writes};

/// Writes a batch. If one statement fails, the transaction is dropped and nothing is written.
pub(super) async fn write(connection: &mut SqliteConnection, writes: &Writes) -> Result<(), StorageError> {
    let mut batch = Batch::of(writes);
    for part in PARTS.into_iter().chain(IDENTITY) {
        let Some((statement, rows)) = batch.statement(part) else { continue };
        let reached = change(connection, statement).await?;
        // A replacement name may be taken already; nothing else is written together with rewritten rows.
        if part.counted && writes.rewritten.is_empty() && usize::try_from(reached) != Ok(rows) {
            return Err(StorageError::Conflict);
        }
    }
    Ok(())
}
