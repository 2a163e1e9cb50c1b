//! The database's clock: one for all processes, read in a statement of its own after the locks are held. The same
//! statement asks whether this is a server that may be written to.

use std::sync::Arc;

use super::judge::Judge;
use super::preflight::{standing, timeline};
use super::rows::number;
use super::session::Session;
use crate::domain::time::{Clock, Timestamp};
use crate::storage::StorageError;

// `clock_timestamp()` and nothing else: every other clock stands still from the start of the transaction or the
// statement, so that waiting for a lock would not count.
pub(super) const NOW: &str = concat!(
    "
    -- postgres: clock.now
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS micros, ",
    standing!()
);

/// The same of a server that tells which timeline it writes.
const NOW_RANKED: &str = concat!(
    "
    -- postgres: clock.now_ranked
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS micros, ",
    standing!(),
    ", ",
    timeline!()
);

/// The present, by the injected clock if there is one. Fails on a server that nothing may be entrusted to, and has its
/// connection closed.
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
