//! Whose turn it is: which of the operations that wait make up the next batch.
//!
//! Tenants take turns, one operation each. A tenant has two lines: what concerns its conversations, and what concerns its
//! fact spaces, which can cost a thousand times as much. Within a line the order of arrival is kept; operations of one
//! conversation, and of one space, stand in one line.
//!
//! While several tenants are at it, a batch is short, an operation that is dear makes up a batch by itself, and a line whose
//! batch took long pauses for a multiple of that time: the writer stands still rather than make others wait. A tenant that
//! is alone is not held up. Nothing here reads a clock: instants are microseconds since the queue was made.

use std::collections::{HashMap, VecDeque};

use crate::domain::id::TenantId;

/// The most work of a batch while only one tenant is at it, in microseconds as far as they can be told beforehand.
pub(super) const ALONE: u64 = 50_000;
/// The same while several are.
pub(super) const SHARED: u64 = 3_000;
/// How long a tenant counts as being at it after it has brought something.
pub(super) const AT_IT: u64 = 2_000_000;
/// A batch that takes no longer than this is never paused for: ordinary writes are not held up.
const BRIEF: u64 = 20_000;
/// What the briefest batches take, as long as that is not known.
const ASSUMED: u64 = 5_000;
/// Nor is one paused for that takes no more than so many times as long as the briefest: a slow disk is nobody's fault.
const BRIEFEST_TIMES: u64 = 3;
/// A line pauses so many times as long as its batch took: it has about a twentieth of the writer. More would keep a tenant with
/// large spaces from working, less would let its writes make up what a neighbour waits for.
const PAUSE_TIMES: u64 = 20;
/// The longest pause: whoever waits is answered long before a request's time is over.
pub(super) const LONGEST_PAUSE: u64 = 3_000_000;

/// What an operation concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    /// Conversations, and all else that costs little.
    Conversations,
    Spaces,
}

/// Where an operation waits, and what it will cost in microseconds, as far as that can be told beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) tenant_id: TenantId,
    pub(super) lane: Lane,
    pub(super) cost: u64,
}

type Key = (TenantId, Lane);

/// What is known of a line.
#[derive(Debug, Default)]
struct Known {
    /// When it was last brought something.
    seen: u64,
    /// Until when it pauses.
    paused_until: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<T> {
    /// These, in this order.
    Batch(Vec<T>),
    /// All that waits pauses until then, unless something else comes.
    Pause(u64),
    Nothing,
}

#[derive(Debug)]
pub(super) struct Turns<T> {
    lines: HashMap<Key, VecDeque<(u64, T)>>,
    /// Lines that are not empty, in the order of their turns.
    order: VecDeque<Key>,
    known: HashMap<Key, Known>,
    /// When what is known was last tidied.
    tidied: u64,
    waiting: usize,
    /// What the briefest batches take, in microseconds; it follows slowly where they take longer.
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

    /// How many wait for a tenant.
    pub(super) fn of(&self, tenant_id: &TenantId) -> usize {
        let lanes = [Lane::Conversations, Lane::Spaces];
        lanes.into_iter().filter_map(|lane| self.lines.get(&(tenant_id.clone(), lane))).map(VecDeque::len).sum()
    }

    /// Something new, at the end of its line.
    pub(super) fn push(&mut self, place: Place, what: T, now: u64) {
        let key = (place.tenant_id, place.lane);
        self.tidy(now);
        self.known.entry(key.clone()).or_default().seen = now;
        self.line(key).push_back((place.cost, what));
        self.waiting += 1;
    }

    /// What could not be done, at the front of its line.
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

    /// Everything, in no order.
    pub(super) fn drain(&mut self) -> Vec<T> {
        self.order.clear();
        self.waiting = 0;
        self.lines.drain().flat_map(|(_, line)| line).map(|(_, what)| what).collect()
    }

    /// Up to `most` of them, one from each line in turn, or of one tenant only.
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
            // What is dearer than a whole batch may be comes first in one, or not at all.
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
        // Whoever was passed over comes first next time.
        for key in left.into_iter().rev() {
            self.order.push_front(key);
        }
        self.waiting -= batch.len();
        if batch.is_empty() { Next::Pause(self.first_free(now)) } else { Next::Batch(batch) }
    }

    /// Whether more than one tenant is at it.
    fn is_shared(&self, now: u64) -> bool {
        let recent = self.known.iter().filter(|(_, known)| now.saturating_sub(known.seen) <= AT_IT);
        let mut at_it = self.order.iter().chain(recent.map(|(key, _)| key)).map(|(tenant_id, _)| tenant_id);
        at_it.next().is_some_and(|first| at_it.any(|other| other != first))
    }

    /// Forgets lines in which nothing happens any more, now and then.
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

    /// Notes how long a batch of fact spaces' operations took: those lines pause for a while if that was long.
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
