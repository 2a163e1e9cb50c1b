//! The bounded queue in front of the writer, fair between tenants.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::{Busy, Limits, Waiting, WriteHealth};
use crate::domain::id::TenantId;

/// How long a caller is asked to stay away when the queue is full, in seconds.
const RETRY_AFTER_SECONDS: u32 = 1;

/// How long a failed commit counts as the state of things when nothing has been tried since.
const FAILURE_COUNTS: Duration = Duration::from_secs(10);

/// How long a clock that was found behind is told of.
const CLOCK_COUNTS: Duration = Duration::from_mins(1);

/// Operations that wait, one line per tenant; lines take turns.
pub(super) struct Queue {
    limits: Limits,
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Default)]
struct State {
    lines: HashMap<TenantId, VecDeque<Waiting>>,
    /// Tenants whose lines are not empty, in the order of their turns.
    turns: VecDeque<TenantId>,
    waiting: usize,
    closed: bool,
    /// When a commit failed last, if none has succeeded since.
    failed_at: Option<Instant>,
    /// Since when a commit has been under way.
    under_way: Option<Instant>,
    /// When the clock was last found behind what was recorded, and by how many seconds.
    behind: Option<(Instant, u32)>,
}

/// A commit that is under way.
pub(super) struct UnderWay<'a>(&'a Queue);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.state().under_way = None;
    }
}

impl Queue {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, state: Mutex::new(State::default()), arrived: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves the lines whole: every change below is one push or one pop.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> usize {
        self.state().waiting
    }

    pub(super) fn push(&self, waiting: Waiting) -> Result<(), Busy> {
        let mut guard = self.state();
        let state = &mut *guard;
        if state.closed {
            return Err(Busy::Stopping);
        }
        let tenant_id = &waiting.submission.tenant.tenant_id;
        let in_line = state.lines.get(tenant_id).map_or(0, VecDeque::len);
        if state.waiting >= self.limits.queued || in_line >= self.limits.queued_per_tenant {
            return Err(Busy::Full { retry_after_seconds: RETRY_AFTER_SECONDS });
        }
        if in_line == 0 {
            state.turns.push_back(tenant_id.clone());
        }
        state.waiting += 1;
        state.lines.entry(tenant_id.clone()).or_default().push_back(waiting);
        drop(guard);
        self.arrived.notify_one();
        Ok(())
    }

    /// Puts skipped operations back where they were: at the front of their lines, in order.
    pub(super) fn put_back(&self, skipped: Vec<Waiting>) {
        let mut guard = self.state();
        let state = &mut *guard;
        for waiting in skipped.into_iter().rev() {
            let tenant_id = waiting.submission.tenant.tenant_id.clone();
            let line = state.lines.entry(tenant_id.clone()).or_default();
            if line.is_empty() {
                state.turns.push_back(tenant_id);
            }
            line.push_front(waiting);
            state.waiting += 1;
        }
        drop(guard);
        self.arrived.notify_one();
    }

    /// Up to `most` operations, one from each tenant in turn, or of one tenant only. Waits for the first; `None` when
    /// the queue is closed and empty.
    pub(super) async fn take(&self, most: usize, one_tenant: bool) -> Option<Vec<Waiting>> {
        loop {
            let arrived = self.arrived.notified();
            {
                let mut state = self.state();
                if state.waiting > 0 {
                    return Some(if one_tenant { state.take_turn(most) } else { state.take(most) });
                }
                if state.closed {
                    return None;
                }
            }
            arrived.await;
        }
    }

    pub(super) fn commit_failed(&self) {
        self.state().failed_at = Some(Instant::now());
    }

    pub(super) fn commit_succeeded(&self) {
        self.state().failed_at = None;
    }

    /// A commit is under way until what is returned here is dropped.
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
        // Whoever routes around a failing server sends it nothing that could succeed: so the verdict wears off.
        let failing = state.failed_at.is_some_and(|at| at.elapsed() < FAILURE_COUNTS);
        let stalled = state.under_way.is_some_and(|since| since.elapsed() >= self.limits.stalled_after);
        match (state.closed, failing, stalled) {
            (true, ..) => WriteHealth::Stopped,
            (false, true, _) => WriteHealth::Failing,
            (false, false, true) => WriteHealth::Stalled,
            (false, false, false) => WriteHealth::Ok,
        }
    }

    /// Takes no more work and answers what waits: there is nobody left to do it.
    pub(super) fn abandon(&self) {
        let left: Vec<Waiting> = {
            let mut state = self.state();
            (state.closed, state.waiting) = (true, 0);
            state.turns.clear();
            state.lines.drain().flat_map(|(_, line)| line).collect()
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

impl State {
    fn take(&mut self, most: usize) -> Vec<Waiting> {
        let mut batch = Vec::with_capacity(most.min(self.waiting));
        while batch.len() < most {
            let Some(tenant_id) = self.turns.pop_front() else { break };
            let Some(line) = self.lines.get_mut(&tenant_id) else { continue };
            batch.extend(line.pop_front());
            if line.is_empty() {
                self.lines.remove(&tenant_id);
            } else {
                self.turns.push_back(tenant_id);
            }
        }
        self.waiting -= batch.len();
        batch
    }

    /// What the tenant whose turn it is has waiting.
    fn take_turn(&mut self, most: usize) -> Vec<Waiting> {
        let Some(tenant_id) = self.turns.pop_front() else { return Vec::new() };
        let Some(line) = self.lines.get_mut(&tenant_id) else { return Vec::new() };
        let batch: Vec<Waiting> = line.drain(..line.len().min(most)).collect();
        if line.is_empty() {
            self.lines.remove(&tenant_id);
        } else {
            self.turns.push_back(tenant_id);
        }
        self.waiting -= batch.len();
        batch
    }
}
