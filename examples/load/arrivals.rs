//! When turns begin: arrivals at random moments, from a seed.

use std::time::Duration;

use crate::random::Random;

/// How many different fractions are drawn: as many as a floating-point number between 0 and 1 can hold exactly.
const FRACTIONS: u64 = 1 << 53;

/// From 0 up to and without 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
fn unit(random: &mut Random) -> f64 {
    random.below(FRACTIONS) as f64 / FRACTIONS as f64
}

/// A waiting time whose mean is 1.
fn exponential(random: &mut Random) -> f64 {
    -(1.0 - unit(random)).ln()
}

/// Arrivals of a Poisson process: when each is due, counted from the beginning. They do not wait for one another, as
/// customers do not.
#[derive(Debug, Clone)]
pub(crate) struct Arrivals {
    random: Random,
    per_second: f64,
    seconds: f64,
}

impl Arrivals {
    /// So many a second on average.
    pub(crate) fn new(random: Random, per_second: f64) -> Self {
        Self { random, per_second, seconds: 0.0 }
    }
}

impl Iterator for Arrivals {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.seconds += exponential(&mut self.random) / self.per_second;
        Duration::try_from_secs_f64(self.seconds).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_keep_their_rate() {
        let last = Arrivals::new(Random::new(5), 1_000.0).nth(99_999).unwrap();
        // 100,000 arrivals at 1,000 a second: 100 s, with a standard deviation of 0.32 s.
        assert!((last.as_secs_f64() - 100.0).abs() < 1.3, "{last:?}");
    }

    #[test]
    fn arrivals_come_in_bursts_as_poisson_says() {
        // In intervals with 4 expected: the variance equals the mean, and e^-4 = 1.8 % of the intervals are empty.
        let (mut counts, mut arrivals) = (vec![0_u32; 25_000], Arrivals::new(Random::new(11), 4.0));
        while let Some(at) = arrivals.next().filter(|at| at.as_secs() < 25_000) {
            counts[usize::try_from(at.as_secs()).unwrap()] += 1;
        }
        let mean = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / 25_000.0;
        let variance = counts.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum::<f64>() / 25_000.0;
        let empty = counts.iter().filter(|count| **count == 0).count();
        assert!((mean - 4.0).abs() < 0.06 && (variance - 4.0).abs() < 0.2, "{mean} {variance}");
        assert!((380..=540).contains(&empty), "{empty}");
    }
}
