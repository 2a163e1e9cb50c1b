//! Chooses which waiting operations make up the next batch.
//!
//! Tenants take turns, one operation each. A tenant has two lines: one for its conversations, and one for its fact
//! spaces, which can cost a thousand times as much. A line keeps the order of arrival; operations of one conversation
//! or one space are in the same line.
//!
//! While several tenants are active, batches are short, an expensive operation is a batch by itself, and a line whose
//! batch took long pauses for a multiple of that time, even if the writer is idle meanwhile, so that others need not
//! wait. A tenant that is alone is never held up. Nothing here reads a clock: instants are microseconds since the queue
//! was made.

use std::collections::{HashMap, VecDeque};

use crate::domain::id::TenantId;

/// The largest estimated cost of a batch, in microseconds, while one tenant is active.
pub(super) const ALONE: u64 = 50_000;
/// The same while several tenants are active.
pub(super) const SHARED: u64 = 3_000;
/// How long a tenant counts as active after its last operation.
pub(super) const AT_IT: u64 = 2_000_000;
/// A batch up to this long causes no pause: ordinary writes are not held up.
const BRIEF: u64 = 20_000;
/// The time of the shortest batches, until one was measured.
const ASSUMED: u64 = 5_000;
/// A batch up to this many times the shortest one causes no pause: on a slow disk every batch takes long.
const BRIEFEST_TIMES: u64 = 3;
/// A line pauses this many times as long as its batch took, so it gets about a twentieth of the writer. With a longer
/// pause, a tenant with large spaces could not work; with a shorter one, its writes would dominate its neighbours'
/// waiting time.
const PAUSE_TIMES: u64 = 20;
/// The longest pause: well below the time limit of a request.
pub(super) const LONGEST_PAUSE: u64 = 3_000_000;

/// The kind of work in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    /// Conversations, and everything else that costs little.
    Conversations,
    Spaces,
}

/// Where an operation waits, and its estimated cost in microseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) tenant_id: TenantId,
    pub(super) lane: Lane,
    pub(super) cost: u64,
}

type Key = (TenantId, Lane);

/// State of a line.
#[derive(Debug, Default)]
struct Known {
    /// When an operation was last added.
    seen: u64,
    /// Until when it pauses.
    paused_until: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<T> {
    /// Commit these, in this order.
    Batch(Vec<T>),
    /// Everything that waits is paused until this instant, unless something new arrives.
    Pause(u64),
    Nothing,
}

#[derive(Debug)]
pub(super) struct Turns<T> {
    lines: HashMap<Key, VecDeque<(u64, T)>>,
    /// Lines that are not empty, in the order of their turns.
    order: VecDeque<Key>,
    known: HashMap<Key, Known>,
    /// When idle lines were last forgotten.
    tidied: u64,
    waiting: usize,
    /// The time of the shortest batches, in microseconds. It rises slowly when batches take longer.
    briefest: u64,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self {
            lines: HashMap::new(),
            order: VecDeque::new(),
            known: HashMap::new(),
            tidied: 0,
            waiting: 0,
            briefest: ASSUMED,
        }
    }
}

impl<T> Turns<T> {
    pub(super) fn len(&self) -> usize {
        self.waiting
    }

    /// How many operations of a tenant wait.
    pub(super) fn of(&self, tenant_id: &TenantId) -> usize {
        let lanes = [Lane::Conversations, Lane::Spaces];
        lanes.into_iter().filter_map(|lane| self.lines.get(&(tenant_id.clone(), lane))).map(VecDeque::len).sum()
    }

    /// Adds an operation at the end of its line.
    pub(super) fn push(&mut self, place: Place, what: T, now: u64) {
        let key = (place.tenant_id, place.lane);
        self.tidy(now);
        self.known.entry(key.clone()).or_default().seen = now;
        self.line(key).push_back((place.cost, what));
        self.waiting += 1;
    }

    /// Puts a skipped operation back at the front of its line.
    pub(super) fn put_back(&mut self, place: Place, what: T) {
        self.line((place.tenant_id, place.lane)).push_front((place.cost, what));
        self.waiting += 1;
    }

    fn line(&mut self, key: Key) -> &mut VecDeque<(u64, T)> {
        let line = self.lines.entry(key.clone()).or_default();
        if line.is_empty() {
            self.order.push_back(key);
        }
        line
    }

    /// Removes everything, in no order.
    pub(super) fn drain(&mut self) -> Vec<T> {
        self.order.clear();
        self.waiting = 0;
        self.lines.drain().flat_map(|(_, line)| line).map(|(_, what)| what).collect()
    }

    /// Up to `most` operations, one from each line in turn, or of one tenant only.
    pub(super) fn next(&mut self, most: usize, one_tenant: bool, now: u64) -> Next<T> {
        if self.waiting == 0 {
            return Next::Nothing;
        }
        let shared = self.is_shared(now);
        let mut room = if shared { SHARED } else { ALONE };
        let mut batch = Vec::with_capacity(most.min(self.waiting));
        let mut left: VecDeque<Key> = VecDeque::new();
        let mut of: Option<TenantId> = None;
        while batch.len() < most {
            let Some(key) = self.order.pop_front() else { break };
            let other = one_tenant && of.as_ref().is_some_and(|of| *of != key.0);
            let paused = shared && self.known.get(&key).is_some_and(|known| known.paused_until > now);
            let Some(line) = self.lines.get_mut(&key) else { continue };
            // An operation whose cost exceeds a whole batch is taken only as the first of one.
            let fits = line.front().is_some_and(|(cost, _)| *cost <= room || batch.is_empty());
            if other || paused || !fits {
                left.push_back(key);
                continue;
            }
            let Some((cost, what)) = line.pop_front() else { continue };
            batch.push(what);
            room = room.saturating_sub(cost);
            of.get_or_insert_with(|| key.0.clone());
            if line.is_empty() {
                self.lines.remove(&key);
            } else {
                self.order.push_back(key);
            }
        }
        // Lines that were passed over come first next time.
        for key in left.into_iter().rev() {
            self.order.push_front(key);
        }
        self.waiting -= batch.len();
        if batch.is_empty() { Next::Pause(self.first_free(now)) } else { Next::Batch(batch) }
    }

    /// Whether more than one tenant is active.
    fn is_shared(&self, now: u64) -> bool {
        let recent = self.known.iter().filter(|(_, known)| now.saturating_sub(known.seen) <= AT_IT);
        let mut at_it = self.order.iter().chain(recent.map(|(key, _)| key)).map(|(tenant_id, _)| tenant_id);
        at_it.next().is_some_and(|first| at_it.any(|other| other != first))
    }

    /// Forgets idle lines, at most once in a while.
    fn tidy(&mut self, now: u64) {
        if now.saturating_sub(self.tidied) > AT_IT {
            self.tidied = now;
            self.known.retain(|_, known| known.paused_until > now || now.saturating_sub(known.seen) <= AT_IT);
        }
    }

    fn first_free(&self, now: u64) -> u64 {
        let until = self.order.iter().filter_map(|key| self.known.get(key)).map(|known| known.paused_until);
        until.min().unwrap_or(now).max(now)
    }

    /// Notes how long a batch took: if it was long, lines of fact spaces pause.
    pub(super) fn took(&mut self, lines: impl Iterator<Item = (TenantId, Lane)>, micros: u64, now: u64) {
        let slower = self.briefest.saturating_add(self.briefest / 64).saturating_add(1);
        self.briefest = micros.min(slower);
        if micros <= BRIEF.max(self.briefest.saturating_mul(BRIEFEST_TIMES)) {
            return;
        }
        let pause = micros.saturating_mul(PAUSE_TIMES).min(LONGEST_PAUSE);
        for key in lines.filter(|(_, lane)| *lane == Lane::Spaces) {
            let known = self.known.entry(key).or_default();
            known.paused_until = known.paused_until.max(now.saturating_add(pause));
        }
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
