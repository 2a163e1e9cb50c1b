//! Randomness from a seed: what is said next, and by whom.

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
}
