//! The database's clock: the same for all processes, read in a separate statement after the locks are held. The
//! statement also checks that the server may be written to.

use std::sync::Arc;

use super::judge::Judge;
use super::preflight::{standing, timeline};
use super::session::Session;
use crate::domain::time::{Clock, Timestamp};
use crate::storage::StorageError;
use crate::storage::sql::number;

// Only `clock_timestamp()` is suitable: every other clock stops at the start of the transaction or statement, so that
// the time spent waiting for a lock would be lost.
pub(super) const NOW: &str = concat!(
    "
    -- postgres: clock.now
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS micros, ",
    standing!()
);

/// The same for a server that reports its timeline.
const NOW_RANKED: &str = concat!(
    "
    -- postgres: clock.now_ranked
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS micros, ",
    standing!(),
    ", ",
    timeline!()
);

/// The present, by the injected clock if there is one. Fails on a server that must not be written to, and closes its
/// connection.
pub(super) async fn now(
    session: &mut Session,
    injected: Option<&Arc<dyn Clock>>,
    judge: &Judge,
) -> Result<Timestamp, StorageError> {
    if let Some(clock) = injected {
        return Ok(clock.now());
    }
    let ranked = judge.ranks();
    let row = session.one(sqlx::query(if ranked { NOW_RANKED } else { NOW })).await?;
    if let Err(refused) = judge.weigh(&row, ranked) {
        session.give_up();
        return Err(refused);
    }
    number(&row, "micros").map(Timestamp::from_micros)
}
