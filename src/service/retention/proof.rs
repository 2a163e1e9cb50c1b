//! Whether the clock may be believed: what is erased by a wrong one is gone for ever.

use super::Retention;
use crate::domain::time::Timestamp;
use crate::service::vigil::{ClockState, Clocks, silence};
use crate::storage::StorageError;

/// Why nothing is erased by age.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// The clock shows a time long after the last one that somebody vouched for.
    #[error("the clock shows {now}, and the last that is known of any server is that it lived at {vouched}")]
    Silence {
        /// What the clock shows.
        now: Timestamp,
        /// The last time that is known to be right.
        vouched: Timestamp,
    },
    /// A clock was set ahead, or two clocks differ.
    #[error("a clock was set ahead, or this server's clock is ahead of the database's")]
    Ahead,
}

impl Retention {
    /// The same, with what a vigil finds out about the clocks.
    #[must_use]
    pub fn watched(self, clocks: Clocks) -> Self {
        Self { clocks, ..self }
    }

    /// Whether something may be erased by age now. A clock that shows too late a time takes everything for old.
    pub async fn proven(&self) -> Result<Result<(), Unproven>, StorageError> {
        // A time that nobody vouched for is judged by what is recorded, not by what was found a while ago.
        let state = self.clocks.state();
        if state.is_ahead() && !matches!(state, ClockState::Unproven(_)) {
            return Ok(Err(Unproven::Ahead));
        }
        let now = self.clock.now();
        let unproven = |vouched| silence(now, vouched).map(|_| Unproven::Silence { now, vouched });
        Ok(self.store.vouched().await?.and_then(unproven).map_or(Ok(()), Err))
    }

    /// Records that the clock is right, because somebody says so.
    pub async fn vouch(&self) -> Result<(), StorageError> {
        self.store.vouch(self.clock.now()).await
    }
}
