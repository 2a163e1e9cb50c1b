//! The memory for request bodies: a limit for the whole server, and a share of it per key.
//!
//! Small bodies need no reservation: there are at most as many as connections. A larger body reserves memory step by
//! step as it arrives, so that an announced body alone reserves nothing. A reservation that cannot be made soon is
//! refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

/// The bytes that every body may have without a reservation.
pub(crate) const FREE: usize = 16 << 10;
/// One key may reserve this fraction of the memory.
const SHARES: usize = 4;

/// Places beside the threads that answer, where large bodies are read and written: a few at a time, so that the other
/// processors answer what is small.
#[derive(Debug, Clone)]
pub(crate) struct Desks(Arc<Semaphore>);

impl Desks {
    /// As many as half of the processors, and one at least.
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::of((processors / 2).max(1))
    }

    fn of(desks: usize) -> Self {
        Self(Arc::new(Semaphore::new(desks)))
    }

    /// Does what takes long; none if it panicked.
    pub(crate) async fn apart<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let desk = Arc::clone(&self.0).acquire_owned().await;
        let working = move || {
            // Given back when the work is done, even if nobody waits for it any more.
            let _desk = desk;
            work()
        };
        tokio::task::spawn_blocking(working).await.ok()
    }

    /// Reads a body: a large one at a desk, a small one at once.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        bytes: Vec<u8>,
        read: impl FnOnce(&[u8]) -> T + Send + 'static,
    ) -> Option<T> {
        if bytes.len() > FREE { self.apart(move || read(&bytes)).await } else { Some(read(&bytes)) }
    }
}

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

    /// Work that says when it has begun and ends when it is told to.
    #[derive(Default)]
    struct Gate {
        inside: std::sync::atomic::AtomicUsize,
        most: std::sync::atomic::AtomicUsize,
        open: Mutex<bool>,
        opened: std::sync::Condvar,
    }

    impl Gate {
        fn work(&self) {
            use std::sync::atomic::Ordering::SeqCst;
            self.most.fetch_max(self.inside.fetch_add(1, SeqCst) + 1, SeqCst);
            drop(self.opened.wait_while(self.open.lock().unwrap(), |open| !*open).unwrap());
            self.inside.fetch_sub(1, SeqCst);
        }

        async fn until_inside(&self, many: usize) {
            while self.inside.load(std::sync::atomic::Ordering::SeqCst) < many {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Lets everything that is ready go as far as it gets, beside the threads that answer as well.
    async fn settle() {
        for _ in 0..50 {
            tokio::task::spawn_blocking(std::thread::yield_now).await.unwrap();
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn so_many_large_bodies_are_read_at_a_time_and_small_ones_do_not_wait() {
        let (desks, gate) = (Desks::of(2), Arc::new(Gate::default()));
        let large = |_: usize| {
            let (desks, gate) = (desks.clone(), Arc::clone(&gate));
            tokio::spawn(async move { desks.read(vec![0; FREE + 1], move |_| gate.work()).await })
        };
        let mut reading: Vec<_> = (0..8).map(large).collect();
        gate.until_inside(2).await;
        settle().await;
        // Who goes away does not make room: the work goes on until it is done.
        reading.drain(..4).for_each(|gone| gone.abort());
        settle().await;
        let read = tokio::time::timeout(LONG, desks.read(vec![0; FREE], <[u8]>::len)).await;
        assert_eq!(read.unwrap(), Some(FREE), "a small one is read while all desks are taken");
        *gate.open.lock().unwrap() = true;
        gate.opened.notify_all();
        for done in reading {
            assert_eq!(done.await.unwrap(), Some(()));
        }
        assert_eq!(gate.most.load(std::sync::atomic::Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_panic_at_a_desk_costs_one_answer_and_no_desk() {
        let desks = Desks::of(1);
        assert_eq!(desks.apart(|| -> usize { panic!("a bug") }).await, None);
        assert_eq!(desks.apart(|| 7).await, Some(7));
    }
}
