//! Writes a batch in one statement: whatever the batch's size, there is one round trip.

use sqlx::postgres::PgRow;

use super::database::query;
use super::session::Session;
use crate::domain::time::Timestamp;
use crate::storage::sql::{Statement, With, number};
use crate::storage::write_parts::{IDENTITY, PARTS};
use crate::storage::written::Batch;
use crate::storage::{StorageError, Writes};

/// Writes a batch. If one statement fails, the transaction is dropped and nothing is written.
pub(super) async fn write(session: &mut Session, writes: &Writes, now: Timestamp) -> Result<(), StorageError> {
    let mut batch = Batch::of(writes);
    let (mut with, mut rows, mut counted) = (With::default(), Vec::new(), Vec::new());
    // The parts run on one snapshot.
    for part in PARTS {
        let Some((values, number)) = batch.take(part) else { continue };
        with.add(&format!("{}_written AS", part.name), &part.text());
        rows.push((part.name, values));
        if part.counted {
            counted.push((part.name, number));
        }
    }
    if !rows.is_empty() {
        let counts = counted.iter().map(|(name, _)| format!("(SELECT count(*) FROM {name}_written) AS {name}"));
        let text = with.then(&format!("SELECT {}", counts.collect::<Vec<_>>().join(", ")));
        let statement = Statement::new("write.batch", text).bind("now", now);
        let statement = rows.into_iter().fold(statement, |statement, (name, values)| statement.bind(name, values));
        let row = session.one(query(statement)).await?;
        // A replacement name may be taken already; nothing else is written together with rewritten rows.
        if writes.rewritten.is_empty() {
            expect_all(&row, &counted)?;
        }
    }
    for part in IDENTITY {
        if let Some((statement, _)) = batch.statement(part) {
            session.count(query(statement)).await?;
        }
    }
    Ok(())
}

/// Checks that heads and changed rows existed and new rows did not; otherwise another process was faster.
fn expect_all(row: &PgRow, counted: &[(&'static str, usize)]) -> Result<(), StorageError> {
    for (name, expected) in counted {
        let reached = usize::try_from(number(row, name)?) == Ok(*expected);
        match *name {
            _ if reached => {}
            "heads" => {
                let what = "a head that was locked is gone".to_owned();
                return Err(StorageError::Inconsistent { table: "streams", what });
            }
            _ => return Err(StorageError::Conflict),
        }
    }
    Ok(())
}
