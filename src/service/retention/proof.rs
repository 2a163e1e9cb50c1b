//! Whether the clock is trusted: erasing by a wrong clock cannot be undone.

use super::Retention;
use crate::domain::time::Timestamp;
use crate::service::vigil::{ClockState, Clocks, silence};
use crate::storage::StorageError;

/// Why nothing is erased by age.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// The clock is far ahead of the last trusted time.
    #[error("the clock shows {now}, and the last time that any server recorded is {vouched}")]
    Silence {
        /// What the clock shows.
        now: Timestamp,
        /// The last time known to be right.
        vouched: Timestamp,
    },
    /// A clock was set forward, or the clocks of server and database differ.
    #[error("a clock was set forward, or this server's clock is ahead of the database's")]
    Ahead,
}

impl Retention {
    /// With the state of the clocks that a vigil observes.
    #[must_use]
    pub fn watched(self, clocks: Clocks) -> Self {
        Self { clocks, ..self }
    }

    /// Whether records may be erased by age now. If a clock is ahead, records look older than they are.
    pub async fn proven(&self) -> Result<Result<(), Unproven>, StorageError> {
        // The trusted time is read from the database now: an earlier observation may be outdated.
        let state = self.clocks.state();
        if state.is_ahead() && !matches!(state, ClockState::Unproven(_)) {
            return Ok(Err(Unproven::Ahead));
        }
        let now = self.clock.now();
        let unproven = |vouched| silence(now, vouched).map(|_| Unproven::Silence { now, vouched });
        Ok(self.store.vouched().await?.and_then(unproven).map_or(Ok(()), Err))
    }

    /// Records that the clock is right, on the word of an operator.
    pub async fn vouch(&self) -> Result<(), StorageError> {
        self.store.vouch(self.clock.now()).await
    }
}
