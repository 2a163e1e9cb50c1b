//! Randomness from a seed: what is said next, by whom, and when.

use std::time::Duration;

/// `SplitMix64`: small, fast, and the same everywhere for the same seed.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to and without `end`; 0 if `end` is.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        let product = u128::from(self.next()) * u128::from(end);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// True in so many cases of a hundred.
    pub(crate) fn percent(&mut self, share: u32) -> bool {
        self.below(100) < u64::from(share)
    }

    /// From 0 up to and without 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A waiting time whose mean is 1.
    fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
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
        self.seconds += self.random.exponential() / self.per_second;
        Duration::try_from_secs_f64(self.seconds).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_sequence_and_another_seed_another() {
        let of = |seed| {
            let mut random = Random::new(seed);
            [(); 8].map(|()| random.below(1_000))
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn numbers_below_an_end_are_even() {
        let (mut random, mut counts) = (Random::new(3), [0_u32; 10]);
        for _ in 0..100_000 {
            counts[usize::try_from(random.below(10)).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..=10_400).contains(count)), "{counts:?}");
        assert_eq!(random.below(0), 0);
    }

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
