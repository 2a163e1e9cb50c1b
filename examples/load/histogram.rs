//! Durations of requests, counted.

use hdrhistogram::Histogram as Counts;

/// Counts of durations in microseconds. Percentiles are within a thousandth of the truth.
#[derive(Debug, Clone)]
pub(crate) struct Histogram(Counts<u64>);

impl Default for Histogram {
    #[expect(clippy::expect_used, reason = "0 to 5 digits are allowed")]
    fn default() -> Self {
        Self(Counts::new(3).expect("three digits can be kept"))
    }
}

impl Histogram {
    pub(crate) fn record(&mut self, micros: u64) {
        self.0.saturating_record(micros);
    }

    /// Takes over what another one counted.
    #[expect(clippy::expect_used, reason = "a histogram that grows by itself takes every value of another one")]
    pub(crate) fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("both grow as far as is needed");
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.len()
    }

    /// The longest duration, in microseconds; 0 of nothing.
    pub(crate) fn longest(&self) -> u64 {
        self.0.max()
    }

    /// The mean, in microseconds; 0 of nothing.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of durations is one")]
    pub(crate) fn mean(&self) -> u64 {
        self.0.mean() as u64
    }

    /// The duration that so many thousandths of all do not exceed, in microseconds; 0 of nothing.
    #[expect(clippy::cast_precision_loss, reason = "thousandths are at most a thousand")]
    pub(crate) fn at(&self, thousandths: u64) -> u64 {
        self.0.value_at_quantile(thousandths as f64 / 1_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_values() {
        let (mut low, mut high) = (Histogram::default(), Histogram::default());
        (1..=50).for_each(|micros| low.record(micros));
        (51..=100).for_each(|micros| high.record(micros));
        low.add(&high);
        assert_eq!([500, 900, 990, 1_000].map(|at| low.at(at)), [50, 90, 99, 100]);
        assert_eq!((low.total(), low.longest(), low.mean()), (100, 100, 50));
    }

    #[test]
    fn nothing_counted_is_zero() {
        let nothing = Histogram::default();
        assert_eq!((nothing.at(990), nothing.mean(), nothing.longest()), (0, 0, 0));
    }
}
