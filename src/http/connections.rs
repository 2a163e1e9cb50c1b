//! The connections that are open: how many, whose, what each of them does, and which one gives way.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The limits of what one connection may wait for.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How long the head of a request may take: from the start of the connection, and later from its first byte.
    pub head: Duration,
    /// How long a connection may be idle between two requests.
    pub idle: Duration,
    /// How long an answer may lie there that the other side does not take.
    pub taking: Duration,
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Not one byte has come yet.
    New,
    /// The head of a request has begun.
    Head,
    /// The last request was answered, and no other has begun.
    Idle,
    /// A request is being answered.
    Working,
}

/// Why a connection ends before the other side wants it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The head of a request did not come in time.
    SlowHead,
    /// Nothing was asked for too long.
    Idle,
    /// The other side does not take its answer.
    NotTaken,
    /// Its place is needed.
    GaveWay,
}

impl Ending {
    /// The word for it in the metrics.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::SlowHead => "slow_head",
            Self::Idle => "idle",
            Self::NotTaken => "not_taken",
            Self::GaveWay => "gave_way",
        }
    }
}

/// What one connection does, known to whoever serves it and to the list of all of them.
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
    /// Since when bytes of an answer wait for the other side.
    stuck: Option<Instant>,
    /// Whether its place was given to another one.
    replaced: bool,
    /// Whether a body was answered that was not read to its end.
    unread: bool,
}

impl Pulse {
    /// A connection that begins now.
    pub(super) fn new(address: IpAddr) -> Self {
        let state = State { phase: Phase::New, since: Instant::now(), stuck: None, replaced: false, unread: false };
        Self { address, state: Mutex::new(state), changed: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change below is one assignment or two: a panic elsewhere leaves nothing half done.
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

    /// A request has come; it is answered when what is returned here is dropped.
    pub(super) fn work(self: &Arc<Self>) -> Working {
        self.enter(Phase::Working);
        Working(Arc::clone(self))
    }

    /// Whether bytes of an answer wait for the other side to take them.
    pub(super) fn stuck(&self, is: bool) {
        let mut state = self.state();
        if state.stuck.is_some() != is {
            state.stuck = is.then(Instant::now);
            drop(state);
            self.changed.notify_one();
        }
    }

    /// A request was answered, and its body not read to the end: the other side may still be sending.
    pub(super) fn leave_unread(&self) {
        self.state().unread = true;
    }

    /// Whether the other side may still be sending when this one closes.
    pub(super) fn may_be_sending(&self) -> bool {
        let state = self.state();
        state.unread || matches!(state.phase, Phase::Head | Phase::Working)
    }

    /// Whether a connection that ends for this reason may answer a request that has come meanwhile.
    pub(super) fn may_answer(&self, why: Ending) -> bool {
        let begun = matches!(self.state().phase, Phase::Idle | Phase::Working);
        begun && matches!(why, Ending::Idle | Ending::GaveWay)
    }

    /// When this connection ends if nothing happens on it, and why. One that is `leaving` already ends by itself when it
    /// has answered.
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

    /// Waits until this connection has to end.
    pub(super) async fn ended(&self, patience: &Patience, leaving: bool) -> Ending {
        loop {
            let changed = self.changed.notified();
            match self.ends(patience, leaving) {
                Some((at, why)) if at <= Instant::now() => return why,
                Some((at, _)) => {
                    // Either way it is looked again.
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

/// Whom a connection is counted for: an address, and with IPv6 the network of a customer, who has all addresses in it.
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

/// A connection that was taken; it is open until this is dropped.
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

    /// Takes a connection under a name that no other has. Where its address or all of them together have as many as they
    /// may, the one gives way that has waited longest for a request; `None` if all of them are being answered.
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

    /// Lets the connection go that has waited longest, for want of descriptors. Says whether there was one.
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

    /// Lets the connection of this address go that has waited longest; without one, a connection of the address that has
    /// most of them waiting. Those on which nothing was asked yet go before the others. Says whether there was one.
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
