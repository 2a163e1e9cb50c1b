//! The bounded queue in front of the writer, fair between tenants.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::turns::{Next, Place, Turns};
use super::{Busy, Limits, Waiting, WriteHealth};

/// Seconds after which a caller may try again when the queue is full.
const RETRY_AFTER_SECONDS: u32 = 1;

/// A failed commit makes the server unhealthy for this long, if nothing is committed in between.
const FAILURE_COUNTS: Duration = Duration::from_secs(10);

/// How long a clock found behind is reported.
const CLOCK_COUNTS: Duration = Duration::from_mins(1);

/// Operations that wait; tenants take turns.
pub(super) struct Queue {
    limits: Limits,
    state: Mutex<State>,
    arrived: Notify,
    began: Instant,
}

#[derive(Default)]
struct State {
    turns: Turns<Waiting>,
    closed: bool,
    /// Time of the last failed commit, if none has succeeded since.
    failed_at: Option<Instant>,
    /// Start of the commit that is under way.
    under_way: Option<Instant>,
    /// When the clock was last found behind what was recorded, and by how many seconds.
    behind: Option<(Instant, u32)>,
}

/// Marks a commit as under way until it is dropped.
pub(super) struct UnderWay<'a>(&'a Queue);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.state().under_way = None;
    }
}

impl Queue {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, state: Mutex::new(State::default()), arrived: Notify::new(), began: Instant::now() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The queues stay whole after a panic elsewhere: every change below is one push or one pop.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> usize {
        self.state().turns.len()
    }

    pub(super) fn push(&self, waiting: Waiting) -> Result<(), Busy> {
        let mut guard = self.state();
        let state = &mut *guard;
        if state.closed {
            return Err(Busy::Stopping);
        }
        let in_line = state.turns.of(&waiting.place.tenant_id);
        if state.turns.len() >= self.limits.queued || in_line >= self.limits.queued_per_tenant {
            return Err(Busy::Full { retry_after_seconds: RETRY_AFTER_SECONDS });
        }
        state.turns.push(waiting.place.clone(), waiting, self.now());
        drop(guard);
        self.arrived.notify_one();
        Ok(())
    }

    /// Puts skipped operations back at the front of their lines, in their old order.
    pub(super) fn put_back(&self, skipped: Vec<Waiting>) {
        let mut guard = self.state();
        for waiting in skipped.into_iter().rev() {
            guard.turns.put_back(waiting.place.clone(), waiting);
        }
        drop(guard);
        self.arrived.notify_one();
    }

    /// Microseconds since this queue was made.
    fn now(&self) -> u64 {
        micros(self.began.elapsed())
    }

    /// Up to `most` operations, one from each tenant in turn, or of one tenant only. Waits for the first; `None` when
    /// the queue is closed and empty.
    pub(super) async fn take(&self, most: usize, one_tenant: bool) -> Option<Vec<Waiting>> {
        loop {
            let arrived = self.arrived.notified();
            let mut pause = None;
            {
                let mut state = self.state();
                // When the server is stopping, no line pauses any more.
                let now = if state.closed { u64::MAX } else { self.now() };
                match state.turns.next(most, one_tenant, now) {
                    Next::Batch(batch) => return Some(batch),
                    Next::Pause(until) => pause = Some(Duration::from_micros(until.saturating_sub(now))),
                    Next::Nothing if state.closed => return None,
                    Next::Nothing => {}
                }
            }
            match pause {
                None => arrived.await,
                Some(pause) => drop(tokio::time::timeout(pause, arrived).await),
            }
        }
    }

    /// Notes how long a batch with operations of these lines took.
    pub(super) fn took(&self, places: Vec<Place>, time: Duration) {
        let lines = places.into_iter().map(|place| (place.tenant_id, place.lane));
        let now = self.now();
        self.state().turns.took(lines, micros(time), now);
    }

    pub(super) fn commit_failed(&self) {
        self.state().failed_at = Some(Instant::now());
    }

    pub(super) fn commit_succeeded(&self) {
        self.state().failed_at = None;
    }

    /// Marks a commit as under way until the returned guard is dropped.
    pub(super) fn commit(&self) -> UnderWay<'_> {
        self.state().under_way = Some(Instant::now());
        UnderWay(self)
    }

    /// How long a commit has been under way.
    pub(super) fn under_way(&self) -> Option<Duration> {
        self.state().under_way.map(|since| since.elapsed())
    }

    pub(super) fn clock_was_behind(&self, seconds: u32) {
        self.state().behind = Some((Instant::now(), seconds));
    }

    pub(super) fn clock_behind(&self) -> Option<u32> {
        self.state().behind.filter(|(at, _)| at.elapsed() < CLOCK_COUNTS).map(|(_, seconds)| seconds)
    }

    pub(super) fn health(&self) -> WriteHealth {
        let state = self.state();
        // The verdict expires: a load balancer that avoids this server sends it nothing whose success could end it.
        let failing = state.failed_at.is_some_and(|at| at.elapsed() < FAILURE_COUNTS);
        let stalled = state.under_way.is_some_and(|since| since.elapsed() >= self.limits.stalled_after);
        match (state.closed, failing, stalled) {
            (true, ..) => WriteHealth::Stopped,
            (false, true, _) => WriteHealth::Failing,
            (false, false, true) => WriteHealth::Stalled,
            (false, false, false) => WriteHealth::Ok,
        }
    }

    /// Takes no more work and answers everything queued: no writer is left.
    pub(super) fn abandon(&self) {
        let left: Vec<Waiting> = {
            let mut state = self.state();
            state.closed = true;
            state.turns.drain()
        };
        for waiting in left {
            waiting.reply(Err(Busy::Stopping));
        }
    }

    pub(super) fn close(&self) {
        self.state().closed = true;
        self.arrived.notify_one();
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
