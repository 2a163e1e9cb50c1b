//! The parts of a sentence that say something each: "the class moves to 8pm and the fee goes up to $45".

use super::clause::Clause;
use super::lexicon::Sign;

/// Words that join two parts, as they are written: a Portuguese "é" is none.
const JOINTS: &[&str] = &[
    "and", "so", "but", "because", "since", "e", "y", "mas", "pero", "então", "entao", "entonces", "porque", "pois",
    "pues",
];

/// The classes of words without which a part says nothing.
const SAYING: &[Sign] = &[
    Sign::Move,
    Sign::Swap,
    Sign::End,
    Sign::Gone,
    Sign::Begin,
    Sign::Leave,
    Sign::Over,
    Sign::Choose,
    Sign::Is,
    Sign::Direct,
    Sign::Back,
    Sign::Status,
    Sign::NoLonger,
    Sign::Make,
    Sign::Now,
];

/// The most parts of a sentence.
const MOST: usize = 6;

impl Clause {
    /// The parts of the sentence, in order; the sentence itself is none of them if it has only one.
    pub(super) fn segments(&self) -> Vec<Self> {
        let says = |from: usize, to: usize| {
            self.marks.iter().any(|mark| mark.at >= from && mark.end <= to && SAYING.contains(&mark.sign))
                || (from..to).any(|at| self.word(at).is_some_and(|word| word.name && word.value.is_none()))
                || ((from..to).any(|at| self.kind(at).is_some())
                    && (from..to).any(|at| {
                        self.kind(at).is_none()
                            && !self.small(at)
                            && self.word(at).is_some_and(|word| !word.sign && word.plain.len() > 2)
                    }))
        };
        let mut starts = vec![0];
        let mut from = 0;
        for (at, word) in self.words.iter().enumerate() {
            let joint = word.value.is_none()
                && (word.is(',')
                    || word.is('—')
                    || word.is('–')
                    || word.is('-')
                    || (word.is(':') && self.kind(at + 1).is_none())
                    || word.is('('))
                || (!word.sign && JOINTS.contains(&word.written.to_lowercase().as_str()));
            if joint && starts.len() < MOST && says(from, at) && says(at + 1, self.words.len()) {
                starts.push(at + 1);
                from = at + 1;
            }
        }
        if starts.len() < 2 {
            return Vec::new();
        }
        let ends = starts.iter().skip(1).map(|start| start - 1).chain(std::iter::once(self.words.len()));
        let parts = starts.iter().zip(ends).filter(|(from, to)| **from < *to);
        parts
            .filter_map(|(from, to)| self.words.get(*from..to))
            .map(|words| Self::of(words.to_vec(), false, self.tongue))
            .collect()
    }
}
