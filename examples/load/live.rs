//! What can be seen while it runs: a line a second.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::histogram::Histogram;

/// Counts that all threads share.
#[derive(Debug, Default)]
pub(crate) struct Live {
    shown: AtomicBool,
    turns: AtomicU64,
    pub(crate) under_way: AtomicI64,
    pub(crate) wrong: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) broken: AtomicU64,
    recent: Mutex<Histogram>,
}

impl Live {
    /// Counts that will be shown or not.
    pub(crate) fn new(shown: bool) -> Self {
        Self { shown: shown.into(), ..Self::default() }
    }

    /// A request was answered.
    pub(crate) fn request(&self, micros: u64) {
        if self.shown.load(Ordering::Relaxed) {
            self.recent.lock().unwrap_or_else(PoisonError::into_inner).record(micros);
        }
    }

    /// A turn came to its end.
    pub(crate) fn turn(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// Shows a line a second, until there is nobody left at the other end.
    pub(crate) fn show(&self, warmup: Duration, ended: &Receiver<()>) {
        let began = Instant::now();
        let (mut turns, mut at) = (0, began);
        while ended.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
            let recent = std::mem::take(&mut *self.recent.lock().unwrap_or_else(PoisonError::into_inner));
            let (now_turns, now) = (self.turns.load(Ordering::Relaxed), Instant::now());
            let seconds = now.duration_since(at).as_secs_f64();
            let rate = |count: u64| crate::report::float(count) / seconds;
            let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            eprintln!(
                "{:>5.0} s{} {:>7.0} turns/s {:>7.0} requests/s  p99 {:>8.2} ms  max {:>8.2} ms  under way {:>4}  \
                 wrong {} refused {} unanswered {}",
                now.duration_since(began).as_secs_f64(),
                if now.duration_since(began) <= warmup { " (warm-up)" } else { "" },
                rate(now_turns - turns),
                rate(recent.total()),
                crate::report::millis(recent.at(990)),
                crate::report::millis(recent.longest()),
                self.under_way.load(Ordering::Relaxed),
                count(&self.wrong),
                count(&self.refused),
                count(&self.broken),
            );
            (turns, at) = (now_turns, now);
        }
    }
}
