//! The memory for request bodies: a limit for the whole server, and a share of it per key.
//!
//! Small bodies need no reservation: there are at most as many as connections. A larger body reserves memory step by
//! step as it arrives, so that an announced body alone reserves nothing. A reservation that cannot be made soon is
//! refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// The bytes that every body may have without a reservation.
pub(crate) const FREE: usize = 16 << 10;
/// One key may reserve this fraction of the memory.
const SHARES: usize = 4;

/// The reservations of all bodies.
#[derive(Debug)]
pub(crate) struct Bodies {
    most: usize,
    patience: Duration,
    held: Mutex<Held>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Held {
    in_all: usize,
    by_key: HashMap<Box<str>, usize>,
}

/// A reservation was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// This key has reserved its share.
    OfKey,
    /// All memory is reserved.
    AtAll,
}

impl NoPlace {
    fn as_str(self) -> &'static str {
        match self {
            Self::OfKey => "key",
            Self::AtAll => "all",
        }
    }
}

/// The reservation of one body, released when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    all: Arc<Bodies>,
    key: Box<str>,
    bytes: usize,
}

impl Bodies {
    /// The limit in bytes, and how long a reservation may wait.
    pub(crate) fn new(most: usize, patience: Duration) -> Self {
        Self { most, patience, held: Mutex::default(), freed: Notify::new() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Each change below is an addition or a subtraction, so the numbers are right after a panic elsewhere.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty reservation for a body of this key.
    pub(crate) fn place(self: &Arc<Self>, key: &str) -> Place {
        Place { all: Arc::clone(self), key: key.into(), bytes: 0 }
    }

    fn try_grow(&self, key: &str, by: usize) -> Result<(), NoPlace> {
        let mut held = self.held();
        let of_key = held.by_key.get(key).copied().unwrap_or(0);
        if of_key.saturating_add(by) > self.most / SHARES {
            return Err(NoPlace::OfKey);
        }
        if held.in_all.saturating_add(by) > self.most {
            return Err(NoPlace::AtAll);
        }
        held.in_all += by;
        held.by_key.insert(key.into(), of_key + by);
        show(held.in_all);
        Ok(())
    }
}

impl Place {
    /// Reserves memory for more of the body, waiting a little if necessary.
    pub(crate) async fn grow(&mut self, by: usize) -> Result<(), NoPlace> {
        let until = Instant::now() + self.all.patience;
        loop {
            let freed = self.all.freed.notified();
            let mut freed = std::pin::pin!(freed);
            // Registers for the notification before checking, so that a release in between is not missed.
            freed.as_mut().enable();
            let Err(why) = self.all.try_grow(&self.key, by) else {
                self.bytes += by;
                return Ok(());
            };
            if tokio::time::timeout_at(until, freed).await.is_err() {
                metrics::counter!("cscp_bodies_refused_total", "bound" => why.as_str()).increment(1);
                return Err(why);
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut held = self.all.held();
        held.in_all -= self.bytes;
        show(held.in_all);
        if let Some(of_key) = held.by_key.get_mut(&self.key) {
            *of_key -= self.bytes;
            if *of_key == 0 {
                held.by_key.remove(&self.key);
            }
        }
        drop(held);
        self.all.freed.notify_waiters();
    }
}

fn show(bytes: usize) {
    metrics::gauge!("cscp_body_bytes").set(f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)));
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn one_key_has_a_share_and_all_of_them_have_no_more_than_there_is() {
        let bodies = Arc::new(Bodies::new(400, Duration::ZERO));
        let mut loud = bodies.place("loud");
        loud.grow(60).await.unwrap();
        loud.grow(40).await.unwrap();
        assert_eq!(loud.grow(1).await, Err(NoPlace::OfKey));
        assert_eq!(bodies.place("loud").grow(1).await, Err(NoPlace::OfKey), "its other bodies count as well");
        let mut others = Vec::new();
        for key in ["a", "b", "c"] {
            others.push(bodies.place(key));
            others.last_mut().unwrap().grow(100).await.unwrap();
        }
        assert_eq!(bodies.place("d").grow(1).await, Err(NoPlace::AtAll));
        drop(loud);
        bodies.place("d").grow(100).await.unwrap();
        drop(others);
        let held = bodies.held();
        assert!(held.in_all == 0 && held.by_key.is_empty(), "what was given back is free: {held:?}");
    }

    #[tokio::test]
    async fn a_place_that_comes_free_is_taken_by_who_waits() {
        let bodies = Arc::new(Bodies::new(400, LONG));
        let mut first = bodies.place("a");
        first.grow(100).await.unwrap();
        let mut second = bodies.place("a");
        let mut waiting = std::pin::pin!(second.grow(100));
        let mut looked = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(waiting.as_mut().poll(&mut looked).is_pending());
        drop(first);
        waiting.await.unwrap();
    }
}
