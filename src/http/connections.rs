//! Open connections: how many, from which address, their state, and which one is closed when there are too many.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Time limits of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// The time for the head of a request: from the start of the connection, and later from its first byte.
    pub head: Duration,
    /// How long a connection may be idle between two requests.
    pub idle: Duration,
    /// How long bytes of an answer may wait for the client to read them.
    pub taking: Duration,
}

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// No byte has come yet.
    New,
    /// The head of a request has begun.
    Head,
    /// The last request was answered, and no further one has begun.
    Idle,
    /// A request is being answered.
    Working,
}

/// Why the server closes a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The head of a request did not come in time.
    SlowHead,
    /// It was idle for too long.
    Idle,
    /// The client does not read its answer.
    NotTaken,
    /// Another connection needs its place.
    GaveWay,
}

impl Ending {
    /// The name in metrics.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::SlowHead => "slow_head",
            Self::Idle => "idle",
            Self::NotTaken => "not_taken",
            Self::GaveWay => "gave_way",
        }
    }
}

/// The state of one connection, shared by its task and the list of all connections.
#[derive(Debug)]
pub(super) struct Pulse {
    address: IpAddr,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    since: Instant,
    /// Since when bytes of an answer wait for the client.
    stuck: Option<Instant>,
    /// Whether another connection got its place.
    replaced: bool,
    /// Whether a request was answered whose body was not read to the end.
    unread: bool,
}

impl Pulse {
    pub(super) fn new(address: IpAddr) -> Self {
        let state = State { phase: Phase::New, since: Instant::now(), stuck: None, replaced: false, unread: false };
        Self { address, state: Mutex::new(state), changed: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change below is one or two assignments, so the state is right after a panic elsewhere.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, phase: Phase) {
        let mut state = self.state();
        (state.phase, state.since) = (phase, Instant::now());
        drop(state);
        if phase != Phase::Working {
            self.changed.notify_one();
        }
    }

    pub(super) fn heard(&self) {
        let phase = self.state().phase;
        match phase {
            // The time for the first head runs from the start of the connection.
            Phase::New => self.state().phase = Phase::Head,
            Phase::Idle => self.enter(Phase::Head),
            Phase::Head | Phase::Working => {}
        }
    }

    /// Marks a request as being answered until the returned guard is dropped.
    pub(super) fn work(self: &Arc<Self>) -> Working {
        self.enter(Phase::Working);
        Working(Arc::clone(self))
    }

    /// Notes whether bytes of an answer wait for the client.
    pub(super) fn stuck(&self, is: bool) {
        let mut state = self.state();
        if state.stuck.is_some() != is {
            state.stuck = is.then(Instant::now);
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Notes that a request was answered before its body was read: the client may still be sending.
    pub(super) fn leave_unread(&self) {
        self.state().unread = true;
    }

    /// Whether the client may still be sending when this connection closes.
    pub(super) fn may_be_sending(&self) -> bool {
        let state = self.state();
        state.unread || matches!(state.phase, Phase::Head | Phase::Working)
    }

    /// Whether a connection that is closed for this reason still answers a request that has just come.
    pub(super) fn may_answer(&self, why: Ending) -> bool {
        let begun = matches!(self.state().phase, Phase::Idle | Phase::Working);
        begun && matches!(why, Ending::Idle | Ending::GaveWay)
    }

    /// When and why this connection is closed if nothing more happens on it. A connection that is `leaving` closes by
    /// itself after its answer.
    fn ends(&self, patience: &Patience, leaving: bool) -> Option<(Instant, Ending)> {
        let state = self.state();
        if state.replaced && !leaving {
            return Some((state.since, Ending::GaveWay));
        }
        let waiting = match state.phase {
            Phase::New | Phase::Head => Some((state.since + patience.head, Ending::SlowHead)),
            Phase::Idle if !leaving => Some((state.since + patience.idle, Ending::Idle)),
            Phase::Idle | Phase::Working => None,
        };
        let taking = state.stuck.map(|since| (since + patience.taking, Ending::NotTaken));
        [waiting, taking].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// Waits until this connection has to be closed.
    pub(super) async fn ended(&self, patience: &Patience, leaving: bool) -> Ending {
        loop {
            let changed = self.changed.notified();
            match self.ends(patience, leaving) {
                Some((at, why)) if at <= Instant::now() => return why,
                Some((at, _)) => {
                    // The state is checked again in either case.
                    drop(tokio::time::timeout_at(at.into(), changed).await);
                }
                None => changed.await,
            }
        }
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Working(Arc<Pulse>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.enter(Phase::Idle);
    }
}

/// The address that connections are counted for; with IPv6 the customer's network, which has many addresses.
fn counted_for(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            Ipv6Addr::from(network).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[derive(Debug)]
pub(super) struct Connections {
    in_all: usize,
    of_one_address: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    by_name: HashMap<u64, Arc<Pulse>>,
    by_address: HashMap<IpAddr, usize>,
}

/// A registered connection; dropping this removes it.
#[derive(Debug)]
pub(super) struct Taken {
    all: Arc<Connections>,
    name: u64,
    pub(super) pulse: Arc<Pulse>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.all.open().remove(self.name);
    }
}

impl Connections {
    pub(super) fn new(in_all: usize, of_one_address: usize) -> Self {
        Self { in_all, of_one_address, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a connection under a unique number. If its address, or all addresses together, have reached the limit,
    /// the connection that has waited longest for a request is closed; `None` if all are being answered.
    pub(super) fn take(self: &Arc<Self>, name: u64, address: IpAddr) -> Option<Taken> {
        let address = counted_for(address);
        let mut open = self.open();
        let of_address = open.by_address.get(&address).copied().unwrap_or(0);
        let has_place = if of_address >= self.of_one_address {
            open.give_way(Some(address))
        } else {
            open.by_name.len() < self.in_all || open.give_way(None)
        };
        if !has_place {
            return None;
        }
        let pulse = Arc::new(Pulse::new(address));
        open.by_name.insert(name, Arc::clone(&pulse));
        *open.by_address.entry(address).or_default() += 1;
        drop(open);
        Some(Taken { all: Arc::clone(self), name, pulse })
    }

    /// Closes the connection that has waited longest, to free a file descriptor. Returns whether there was one.
    pub(super) fn let_one_go(&self) -> bool {
        self.open().give_way(None)
    }
}

impl Open {
    fn remove(&mut self, name: u64) -> Option<Arc<Pulse>> {
        let pulse = self.by_name.remove(&name)?;
        if let Some(count) = self.by_address.get_mut(&pulse.address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&pulse.address);
            }
        }
        Some(pulse)
    }

    /// Closes the connection of this address that has waited longest; without an address, one of the address with the
    /// most waiting connections. Connections without a request so far are closed first. Returns whether there was one.
    fn give_way(&mut self, address: Option<IpAddr>) -> bool {
        let mut waiting: HashMap<IpAddr, (usize, (Phase, Instant), u64)> = HashMap::new();
        for (name, pulse) in self.by_name.iter().filter(|(_, pulse)| address.is_none_or(|own| own == pulse.address)) {
            let state = pulse.state();
            if state.phase != Phase::Working {
                let rank = (state.phase, state.since);
                let (count, first, whose) = waiting.entry(pulse.address).or_insert((0, rank, *name));
                *count += 1;
                if rank < *first {
                    (*first, *whose) = (rank, *name);
                }
            }
        }
        let most = waiting.into_values().max_by_key(|(count, ..)| *count);
        let Some(pulse) = most.and_then(|(_, _, name)| self.remove(name)) else { return false };
        pulse.state().replaced = true;
        pulse.changed.notify_one();
        true
    }
}

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
