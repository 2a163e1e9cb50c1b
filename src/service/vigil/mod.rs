//! The vigil: checks regularly whether the database answers, and whether the clocks are right.
//!
//! A clock that is ahead makes records look old, and erasing them cannot be undone. So nothing is erased by age while a
//! clock is known to be ahead or shows an untrusted time. Servers record every minute that they run; a time more than
//! [`LONGEST_SILENCE`] after the last such record may be a wrong clock as well as a server that was switched off.

mod steps;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use self::steps::{JUMP, Seen, Steps};
use super::Service;
use crate::domain::time::{Clock, Timestamp};
use crate::storage::{StorageError, Store};

const PAUSE: Duration = Duration::from_millis(500);
/// How often a running server is recorded, and how often an untrusted time is checked again.
const RECORD: Duration = Duration::from_mins(1);
const AGAIN: Duration = Duration::from_secs(5);
/// A look that takes longer than this is not used to compare two clocks.
const PROMPT: Duration = Duration::from_millis(500);
/// How long all servers may have been off before an operator has to confirm the clock, in microseconds: 7 days.
pub const LONGEST_SILENCE: i64 = 7 * 24 * 3_600 * 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockState {
    /// No fault is known.
    #[default]
    Ok,
    /// This server's clock, or the database's, was set by this many seconds.
    Jumped(i64),
    /// This server's clock is so many seconds ahead of the database's (behind it, if negative).
    Apart(i64),
    /// So many seconds have passed since a server last recorded that it runs: too many to trust the clock.
    Unproven(i64),
}

impl ClockState {
    /// Whether nothing may be erased by age: a clock is ahead, or may be.
    #[must_use]
    pub fn is_ahead(self) -> bool {
        match self {
            Self::Ok => false,
            Self::Jumped(seconds) | Self::Apart(seconds) => seconds > 0,
            Self::Unproven(_) => true,
        }
    }
}

/// The observed state of the server's and the database's clock. Cheap to clone; without a vigil no faults are known.
#[derive(Debug, Clone, Default)]
pub struct Clocks(Arc<Mutex<Found>>);

#[derive(Debug, Default)]
struct Found {
    server: Steps,
    database: Steps,
    apart: Option<i64>,
    unproven: Option<i64>,
}

#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// The time of a monotonic clock.
    pub steady: Duration,
    /// The time of this server's clock.
    pub server: Timestamp,
    /// The time of the database's clock, if it has one and answered promptly.
    pub database: Option<Timestamp>,
}

impl Clocks {
    fn found(&self) -> MutexGuard<'_, Found> {
        // After a panic elsewhere the numbers are still real observations, so a poisoned lock is used.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[must_use]
    pub fn state(&self) -> ClockState {
        let found = self.found();
        let seconds = |micros: i64| micros / 1_000_000;
        let jumps = [found.server.off(), found.database.off()];
        // Of two clocks that jumped, the one that is ahead counts: it would cause erasures.
        let jumped = jumps.into_iter().flatten().max().map(|off| ClockState::Jumped(seconds(off)));
        let apart = found.apart.map(|apart| ClockState::Apart(seconds(apart)));
        let unproven = found.unproven.map(|since| ClockState::Unproven(seconds(since)));
        let states = [unproven, jumped, apart];
        let ahead = states.into_iter().flatten().find(|state| state.is_ahead());
        ahead.or_else(|| states.into_iter().flatten().next()).unwrap_or_default()
    }

    /// Adds an observation, and logs what has changed.
    pub fn look(&self, look: Look) {
        let mut found = self.found();
        tell("server", found.server.look(look.steady, look.server));
        let Some(database) = look.database else { return };
        let of_database = found.database.look(look.steady, database);
        tell("database", of_database);
        let apart = look.server.as_micros().saturating_sub(database.as_micros());
        #[expect(clippy::cast_precision_loss, reason = "a gauge shows what a person reads")]
        metrics::gauge!("cscp_clock_apart_seconds").set(apart as f64 / 1e6);
        let was = found.apart.is_some();
        found.apart = (apart.saturating_abs() >= JUMP).then_some(apart);
        match (was, found.apart) {
            (false, Some(apart)) => tracing::warn!(
                clock.apart_seconds = apart / 1_000_000,
                "this server's clock and the database's differ; correct the wrong one"
            ),
            (true, None) => tracing::info!("this server's clock and the database's agree again"),
            _ => {}
        }
        // If the server's clock jumped and now agrees with the database's, which did not jump, it was corrected.
        if found.server.off().is_some() && found.apart.is_none() && found.database.off().is_none() {
            tell("server", found.server.accept());
        }
    }

    /// Compares the present with the last trusted time. Returns whether the present can be trusted.
    #[must_use]
    pub fn prove(&self, now: Timestamp, vouched: Option<Timestamp>) -> bool {
        let since = vouched.and_then(|vouched| silence(now, vouched));
        self.found().unproven = since;
        since.is_none() && !self.state().is_ahead()
    }
}

/// The microseconds from the last trusted time to the present, if these are too many to trust the clock.
#[must_use]
pub fn silence(now: Timestamp, vouched: Timestamp) -> Option<i64> {
    let since = now.as_micros().saturating_sub(vouched.as_micros());
    (since > LONGEST_SILENCE).then_some(since)
}

fn tell(clock: &'static str, seen: Seen) {
    match seen {
        Seen::Nothing => {}
        Seen::Jumped(micros) => {
            metrics::counter!("cscp_clock_jumps_total", "clock" => clock).increment(1);
            tracing::warn!(clock.whose = clock, clock.by_seconds = micros / 1_000_000, "a clock jumped");
        }
        Seen::Right => tracing::info!(clock.whose = clock, "a clock that jumped is trusted again"),
    }
}

/// Watches the database and the clocks.
pub struct Vigil {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    clocks: Clocks,
    began: Instant,
    recorded: Option<Instant>,
    unproven: bool,
}

impl std::fmt::Debug for Vigil {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vigil").field("clocks", &self.clocks).finish_non_exhaustive()
    }
}

impl Vigil {
    /// A vigil over this database and this server's clock.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, clocks: Clocks) -> Self {
        Self { store, clock, clocks, began: Instant::now(), recorded: None, unproven: false }
    }

    /// One observation, and every minute the record that this server runs.
    pub async fn look(&mut self) -> Result<(), StorageError> {
        let asked = Instant::now();
        let database = self.store.probe().await;
        // The server's clock is observed whether or not the database answers.
        let prompt = asked.elapsed() <= PROMPT;
        let told = database.as_ref().ok().copied().flatten();
        let (steady, server) = (self.began.elapsed(), self.clock.now());
        self.clocks.look(Look { steady, server, database: told.filter(|_| prompt) });
        metrics::gauge!("cscp_clock_ok").set(f64::from(u8::from(self.clocks.state() == ClockState::Ok)));
        database?;
        let pause = if self.unproven { AGAIN } else { RECORD };
        if self.recorded.is_none_or(|at| at.elapsed() >= pause) {
            self.record(told.unwrap_or(server)).await?;
            self.recorded = Some(Instant::now());
        }
        Ok(())
    }

    /// Records the present, if it can be trusted.
    async fn record(&mut self, now: Timestamp) -> Result<(), StorageError> {
        let vouched = self.store.vouched().await?;
        let proven = self.clocks.prove(now, vouched);
        let unproven = matches!(self.clocks.state(), ClockState::Unproven(_));
        if unproven && !self.unproven {
            tracing::error!(
                clock.shows = %now,
                clock.recorded = vouched.map(|at| at.to_string()),
                "the clock is more than 7 days after the last time that a server recorded: nothing is erased by age \
                 until the clock is corrected, or confirmed with `cscp purge --the-clock-is-right`"
            );
        }
        self.unproven = unproven;
        if proven { self.store.vouch(now).await } else { Ok(()) }
    }

    /// Observes regularly until it is stopped.
    pub async fn keep_until(mut self, stopped: impl Future<Output = ()>) {
        let mut ticks = tokio::time::interval(PAUSE);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut stopped = std::pin::pin!(stopped);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = &mut stopped => return,
            }
            if let Err(error) = self.look().await {
                tracing::debug!(storage.reason = %error, "the database did not answer; the next look asks again");
            }
        }
    }
}

impl Service {
    /// The observed state of the clocks.
    #[must_use]
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// The task that watches the database and the clocks.
    #[must_use]
    pub fn vigil(&self) -> Vigil {
        Vigil::new(Arc::clone(&self.store), Arc::clone(&self.clock), self.clocks.clone())
    }
}

#[cfg(test)]
#[path = "vigil_tests.rs"]
mod tests;
