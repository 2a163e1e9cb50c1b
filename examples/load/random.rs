//! Randomness from a seed: what is said next, and by whom.

/// A sequence that is the same for the same seed.
#[derive(Debug, Clone)]
pub(crate) struct Random(fastrand::Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// A number from 0 up to and without `end`; 0 if `end` is.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.0.u64(..end) }
    }

    /// True in so many cases of a hundred.
    pub(crate) fn percent(&mut self, share: u32) -> bool {
        self.below(100) < u64::from(share)
    }
}
