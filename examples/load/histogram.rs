//! A histogram of durations: log-linear buckets, every percentile within half a percent of the truth.

/// So many bits of a value are kept: 128 buckets for each doubling, so a bucket is at most 1/128 of its value wide.
const KEPT_BITS: u32 = 7;
const PER_DOUBLING: u64 = 1 << KEPT_BITS;
/// Longer than nineteen hours, in microseconds: longer values are counted as this.
const LONGEST: u64 = (1 << 36) - 1;

/// Counts of durations in microseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Histogram {
    /// As long as the longest value asked for.
    counts: Vec<u64>,
    total: u64,
    longest: u64,
    sum: u64,
}

impl Histogram {
    /// Counts a duration, in microseconds.
    pub(crate) fn record(&mut self, micros: u64) {
        let index = bucket(micros.min(LONGEST));
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
        self.total += 1;
        self.longest = self.longest.max(micros);
        self.sum = self.sum.saturating_add(micros);
    }

    /// Takes over what another one counted.
    pub(crate) fn add(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// How many durations were counted.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The longest one, exactly, in microseconds.
    pub(crate) fn longest(&self) -> u64 {
        self.longest
    }

    /// The mean, exactly, in microseconds; 0 of nothing.
    pub(crate) fn mean(&self) -> u64 {
        self.sum.checked_div(self.total).unwrap_or(0)
    }

    /// The duration that so many thousandths of all do not exceed, in microseconds; 0 of nothing.
    pub(crate) fn at(&self, thousandths: u64) -> u64 {
        // Nearest rank: the smallest value with at least that many at or below it.
        let rank = (u128::from(self.total) * u128::from(thousandths)).div_ceil(1_000).max(1);
        let mut seen = 0_u128;
        for (index, count) in self.counts.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= rank {
                return middle(index).min(self.longest);
            }
        }
        self.longest
    }
}

/// The bucket of a value. Values below two doublings have one each.
fn bucket(value: u64) -> usize {
    let shift = value.max(1).ilog2().saturating_sub(KEPT_BITS);
    let index = u64::from(shift) * PER_DOUBLING + (value >> shift);
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// The value in the middle of a bucket.
fn middle(index: usize) -> u64 {
    let index = u64::try_from(index).unwrap_or(u64::MAX);
    let shift = (index / PER_DOUBLING).saturating_sub(1);
    let first = (index - shift * PER_DOUBLING) << shift;
    first + (1_u64 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn buckets_follow_one_another_without_a_gap() {
        let mut last = 0;
        for value in 0..1_000_000 {
            let index = bucket(value);
            assert!(index == last || index == last + 1, "{value} jumps from {last} to {index}");
            last = index;
        }
        assert!(bucket(LONGEST) < 4_000);
    }

    #[test]
    fn a_bucket_tells_its_values_within_half_a_percent() {
        let mut value = 1_u64;
        while value < LONGEST {
            let error = middle(bucket(value)).abs_diff(value);
            assert!(error * 200 <= value, "{value} is told as {}", middle(bucket(value)));
            value += value / 97 + 1;
        }
    }

    #[test]
    fn small_values_are_exact() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|micros| histogram.record(micros));
        assert_eq!([500, 900, 990, 1_000].map(|at| histogram.at(at)), [50, 90, 99, 100]);
        assert_eq!((histogram.total(), histogram.longest(), histogram.mean()), (100, 100, 50));
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_values() {
        let mut random = Random::new(7);
        let mut values: Vec<u64> = (0..50_000)
            .map(|_| {
                let doublings = 8 + random.below(12);
                200 + random.below(1 << doublings)
            })
            .collect();
        let mut histogram = Histogram::default();
        for value in &values {
            histogram.record(*value);
        }
        values.sort_unstable();
        for thousandths in [1, 100, 500, 900, 990, 999, 1_000] {
            let rank = (values.len() * thousandths).div_ceil(1_000).max(1);
            let (truth, told) = (values[rank - 1], histogram.at(u64::try_from(thousandths).unwrap()));
            assert!(told.abs_diff(truth) * 100 <= truth, "{thousandths}: {truth} is told as {told}");
        }
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let (mut whole, mut parts) = (Histogram::default(), [Histogram::default(), Histogram::default()]);
        for value in 0..5_000 {
            whole.record(value * 3);
            parts[usize::from(value % 7 == 0)].record(value * 3);
        }
        let [mut sum, rest] = parts;
        sum.add(&rest);
        assert_eq!(
            (sum.counts, sum.total, sum.longest, sum.sum),
            (whole.counts, whole.total, whole.longest, whole.sum)
        );
    }

    #[test]
    fn nothing_counted_and_far_too_long_are_no_accidents() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.at(990), histogram.mean()), (0, 0));
        histogram.record(u64::MAX);
        assert_eq!(histogram.longest(), u64::MAX);
        assert!(histogram.at(500) >= LONGEST - LONGEST / 128);
    }
}
