//! The time of this program, in microseconds since 1970, and the times in the servers' answers.

use std::time::{Instant, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};

/// A moment that never comes: what was not answered may take effect at any time.
pub(crate) const NEVER: i64 = i64::MAX;
/// Microseconds in a second.
pub(crate) const SECOND: i64 = 1_000_000;

/// Counts on from the wall clock as it stood at the start, so that no correction of the clock changes an order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    base: i64,
    started: Instant,
}

impl Clock {
    /// A clock that starts now.
    #[expect(clippy::disallowed_methods, reason = "this program stands outside the server and has only its own clock")]
    pub(crate) fn start() -> Self {
        Self { base: DateTime::<Utc>::from(SystemTime::now()).timestamp_micros(), started: Instant::now() }
    }

    /// The present moment.
    pub(crate) fn now(&self) -> i64 {
        self.base.saturating_add(i64::try_from(self.started.elapsed().as_micros()).unwrap_or(NEVER))
    }
}

/// A moment as `WhatsApp` writes it: whole seconds.
pub(crate) fn whole_seconds(micros: i64) -> String {
    let second = DateTime::from_timestamp_secs(micros.div_euclid(SECOND)).unwrap_or_default();
    second.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// The moment that a text names, if it names one.
pub(crate) fn moment(text: &str) -> Option<i64> {
    DateTime::parse_from_rfc3339(text).ok().map(|moment| moment.timestamp_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_they_are_written() {
        let micros = moment("2026-11-20T15:04:05.250Z").unwrap();
        assert_eq!(micros.rem_euclid(SECOND), 250_000);
        assert_eq!(whole_seconds(micros), "2026-11-20T15:04:05Z");
        assert_eq!(moment("yesterday"), None);
    }
}
