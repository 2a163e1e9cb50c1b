//! The vigil: asks the database whether it answers, and watches the clocks.
//!
//! A clock that is wrong erases for ever what it takes for old. So nothing is erased by age while a clock is known to be
//! ahead, or shows a time that nobody can vouch for: servers record every minute that they live, and a time that is
//! more than [`LONGEST_SILENCE`] after that is a wrong clock as likely as a server that was switched off.

mod steps;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use self::steps::{JUMP, Seen, Steps};
use super::Service;
use crate::domain::time::{Clock, Timestamp};
use crate::storage::{StorageError, Store};

const PAUSE: Duration = Duration::from_millis(500);
/// How often it is recorded that a server lives, and how often a time that nobody vouches for is looked at again.
const RECORD: Duration = Duration::from_mins(1);
const AGAIN: Duration = Duration::from_secs(5);
/// A look that takes longer says nothing about how far two clocks are apart.
const PROMPT: Duration = Duration::from_millis(500);
/// How long all servers may have been away before somebody has to say that the clock is right, in microseconds: 7 days.
pub const LONGEST_SILENCE: i64 = 7 * 24 * 3_600 * 1_000_000;

/// How the clocks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockState {
    /// Nothing is known against them.
    #[default]
    Ok,
    /// This server's clock, or the database's, was set by this many seconds.
    Jumped(i64),
    /// This server's clock is so many seconds ahead of the database's (behind it, if negative).
    Apart(i64),
    /// So many seconds have passed since a server last recorded that it lived: too many to believe the clock.
    Unproven(i64),
}

impl ClockState {
    /// Whether nothing may be erased by age: a clock shows too late a time, or may do so.
    #[must_use]
    pub fn is_ahead(self) -> bool {
        match self {
            Self::Ok => false,
            Self::Jumped(seconds) | Self::Apart(seconds) => seconds > 0,
            Self::Unproven(_) => true,
        }
    }
}

/// The clocks of this server and of its database, as they were found. Cheap to clone; without a vigil nothing is known
/// against them.
#[derive(Debug, Clone, Default)]
pub struct Clocks(Arc<Mutex<Found>>);

#[derive(Debug, Default)]
struct Found {
    server: Steps,
    database: Steps,
    apart: Option<i64>,
    unproven: Option<i64>,
}

/// What one look shows.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// The time of a clock that never jumps.
    pub steady: Duration,
    /// The time of this server's clock.
    pub server: Timestamp,
    /// The time of the database's clock, where it has one and told it promptly.
    pub database: Option<Timestamp>,
}

impl Clocks {
    fn found(&self) -> MutexGuard<'_, Found> {
        // A panic elsewhere leaves numbers that were all seen.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How they are: what is worst.
    #[must_use]
    pub fn state(&self) -> ClockState {
        let found = self.found();
        let seconds = |micros: i64| micros / 1_000_000;
        let jumps = [found.server.off(), found.database.off()];
        // Of two that jumped the one that is ahead: it is the one that erases.
        let jumped = jumps.into_iter().flatten().max().map(|off| ClockState::Jumped(seconds(off)));
        let apart = found.apart.map(|apart| ClockState::Apart(seconds(apart)));
        let unproven = found.unproven.map(|since| ClockState::Unproven(seconds(since)));
        let states = [unproven, jumped, apart];
        let ahead = states.into_iter().flatten().find(|state| state.is_ahead());
        ahead.or_else(|| states.into_iter().flatten().next()).unwrap_or_default()
    }

    /// Takes in one look, and says in the log what has changed.
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
                "this server's clock is not the database's: set the wrong one right"
            ),
            (true, None) => tracing::info!("this server's clock is the database's again"),
            _ => {}
        }
        // A server's clock that jumped and now shows what the database's does, which did not jump, was set right.
        if found.server.off().is_some() && found.apart.is_none() && found.database.off().is_none() {
            tell("server", found.server.accept());
        }
    }

    /// Holds the present against the last time that somebody vouched for. Says whether it may be vouched for.
    #[must_use]
    pub fn prove(&self, now: Timestamp, vouched: Option<Timestamp>) -> bool {
        let since = vouched.and_then(|vouched| silence(now, vouched));
        self.found().unproven = since;
        since.is_none() && !self.state().is_ahead()
    }
}

/// By how many microseconds the present is after what was vouched for, where that is too much to be believed.
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
            tracing::warn!(clock.whose = clock, clock.by_seconds = micros / 1_000_000, "a clock was set");
        }
        Seen::Right => tracing::info!(clock.whose = clock, "a clock that was set counts as right"),
    }
}

/// Looks at the database and the clocks, again and again.
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
    /// Over a database and this server's clock.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, clocks: Clocks) -> Self {
        Self { store, clock, clocks, began: Instant::now(), recorded: None, unproven: false }
    }

    /// One look, and now and then the record that this server lives.
    pub async fn look(&mut self) -> Result<(), StorageError> {
        let asked = Instant::now();
        let database = self.store.probe().await;
        // The server's clock is watched whether or not the database answers.
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

    /// Records the present, if it can be believed.
    async fn record(&mut self, now: Timestamp) -> Result<(), StorageError> {
        let vouched = self.store.vouched().await?;
        let proven = self.clocks.prove(now, vouched);
        let unproven = matches!(self.clocks.state(), ClockState::Unproven(_));
        if unproven && !self.unproven {
            tracing::error!(
                clock.shows = %now,
                clock.recorded = vouched.map(|at| at.to_string()),
                "no server recorded that it lived for more than 7 days before what the clock shows: nothing is erased by \
                 age until the clock is set right or `cscp purge --the-clock-is-right` says that it is"
            );
        }
        self.unproven = unproven;
        if proven { self.store.vouch(now).await } else { Ok(()) }
    }

    /// Looks until it is stopped.
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
                tracing::debug!(storage.reason = %error, "the database was asked in vain");
            }
        }
    }
}

impl Service {
    /// The clocks of this server and of its database.
    #[must_use]
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// What watches the database and the clocks of this service.
    #[must_use]
    pub fn vigil(&self) -> Vigil {
        Vigil::new(Arc::clone(&self.store), Arc::clone(&self.clock), self.clocks.clone())
    }
}

#[cfg(test)]
#[path = "vigil_tests.rs"]
mod tests;
