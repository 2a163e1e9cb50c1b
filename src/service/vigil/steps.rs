//! Detects jumps of a clock by comparing it with a monotonic clock.

use std::time::Duration;

use crate::domain::time::Timestamp;

/// A step of at least this size is a jump, in microseconds. Time synchronisation makes far smaller steps.
pub(super) const JUMP: i64 = 2_000_000;
/// A clock that ran regularly for this long after a jump is trusted again.
const ACCEPTED: Duration = Duration::from_hours(1);

/// The result of one observation of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    Nothing,
    /// It jumped by so many microseconds.
    Jumped(i64),
    /// It was corrected, or is trusted again.
    Right,
}

/// The observations of one clock.
#[derive(Debug, Default)]
pub(super) struct Steps {
    last: Option<(Duration, Timestamp)>,
    /// The sum of its jumps, in microseconds.
    off: i64,
    /// When it jumped last.
    jumped: Option<Duration>,
}

impl Steps {
    /// The sum of its jumps in microseconds; none if it is trusted.
    pub(super) fn off(&self) -> Option<i64> {
        self.jumped.map(|_| self.off)
    }

    /// The clock shows `now`; `steady` is the time of a monotonic clock.
    pub(super) fn look(&mut self, steady: Duration, now: Timestamp) -> Seen {
        let Some((steady_then, then)) = self.last.replace((steady, now)) else { return Seen::Nothing };
        let passed = i64::try_from(steady.saturating_sub(steady_then).as_micros()).unwrap_or(i64::MAX);
        let step = now.as_micros().saturating_sub(then.as_micros()).saturating_sub(passed);
        if step.saturating_abs() < JUMP {
            let Some(jumped) = self.jumped else { return Seen::Nothing };
            return if steady.saturating_sub(jumped) >= ACCEPTED { self.accept() } else { Seen::Nothing };
        }
        self.off = self.off.saturating_add(step);
        if self.off.saturating_abs() < JUMP {
            return self.accept();
        }
        self.jumped = Some(steady);
        Seen::Jumped(step)
    }

    /// Trusts the clock as it is.
    pub(super) fn accept(&mut self) -> Seen {
        (self.off, self.jumped) = (0, None);
        Seen::Right
    }
}
