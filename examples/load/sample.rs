//! A fair sample of what was acknowledged, to look it up afterwards.

use crate::random::Random;

/// A binding that the server has acknowledged, by the ids of what it connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) command: String,
    pub(crate) attempt: String,
    pub(crate) confirmation: String,
    pub(crate) frame: String,
}

/// Every binding has the same chance to be in it.
#[derive(Debug)]
pub(crate) struct Sample {
    size: usize,
    offered: u64,
    random: Random,
    kept: Vec<Binding>,
}

impl Sample {
    /// A sample of at most so many.
    pub(crate) fn new(size: usize, random: Random) -> Self {
        Self { size, offered: 0, random, kept: Vec::new() }
    }

    /// Offers a binding.
    pub(crate) fn offer(&mut self, binding: Binding) {
        self.offered += 1;
        if self.kept.len() < self.size {
            self.kept.push(binding);
            return;
        }
        let place = usize::try_from(self.random.below(self.offered)).unwrap_or(usize::MAX);
        if let Some(kept) = self.kept.get_mut(place) {
            *kept = binding;
        }
    }

    /// What is in it.
    pub(crate) fn take(&mut self) -> Vec<Binding> {
        std::mem::take(&mut self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_and_late_have_the_same_chance() {
        let mut sample = Sample::new(1_000, Random::new(9));
        for number in 0..20_000 {
            let command = number.to_string();
            let (attempt, confirmation, frame) = (String::new(), String::new(), String::new());
            sample.offer(Binding { command, attempt, confirmation, frame });
        }
        let kept = sample.take();
        let early = kept.iter().filter(|kept| kept.command.parse::<u32>().unwrap() < 10_000).count();
        assert_eq!(kept.len(), 1_000);
        assert!((440..560).contains(&early), "{early}");
    }
}
