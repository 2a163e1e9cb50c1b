//! Whether a clock runs as time does, held against one that never jumps.

use std::time::Duration;

use crate::domain::time::Timestamp;

/// A clock that is set in one go by this much or more has jumped, in microseconds. What keeps clocks right sets them in
/// far smaller steps.
pub(super) const JUMP: i64 = 2_000_000;
/// A clock that jumped and then ran as time does for so long is taken for right.
const ACCEPTED: Duration = Duration::from_hours(1);

/// What was seen of one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// It runs as time does.
    Nothing,
    /// It was set by so many microseconds.
    Jumped(i64),
    /// It is right again, or taken for right.
    Right,
}

/// One clock, as it was looked at again and again.
#[derive(Debug, Default)]
pub(super) struct Steps {
    last: Option<(Duration, Timestamp)>,
    /// By how much it is off since it began to jump, in microseconds.
    off: i64,
    /// When it jumped last.
    jumped: Option<Duration>,
}

impl Steps {
    /// By how many microseconds it is ahead of where it would be without its jumps.
    pub(super) fn off(&self) -> Option<i64> {
        self.jumped.map(|_| self.off)
    }

    /// The clock shows `now`; `steady` is the time of a clock that never jumps.
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

    /// It is right as it is.
    pub(super) fn accept(&mut self) -> Seen {
        (self.off, self.jumped) = (0, None);
        Seen::Right
    }
}
