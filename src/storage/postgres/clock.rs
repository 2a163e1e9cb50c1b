//! The database's clock: one for all processes, read in a statement of its own after the locks are held.

use std::sync::Arc;

use super::rows::number;
use super::session::Session;
use crate::domain::time::{Clock, Timestamp};
use crate::storage::StorageError;

// `clock_timestamp()` and nothing else: every other clock stands still from the start of the transaction or the
// statement, so that waiting for a lock would not count.
pub(super) const NOW: &str = "
    -- postgres: clock.now
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS micros";

/// The present, by the injected clock if there is one.
pub(super) async fn now(session: &mut Session, injected: Option<&Arc<dyn Clock>>) -> Result<Timestamp, StorageError> {
    if let Some(clock) = injected {
        return Ok(clock.now());
    }
    let row = session.one(sqlx::query(NOW)).await?;
    number(&row, "micros").map(Timestamp::from_micros)
}
