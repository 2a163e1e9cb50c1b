//! Words that an accent at their end makes another form of: Spanish *confirmo*, I confirm, and *confirmó*, they confirmed.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization as _;

use super::LexiconFile;

/// The fewest letters of a word that has such forms. Shorter ones ("sé", "né") are particles.
const FEWEST_LETTERS: usize = 4;

/// Endings that count, and the words that are listed with them.
#[derive(Debug, Clone, Default)]
pub(super) struct Forms {
    pub(super) endings: BTreeSet<char>,
    listed: BTreeSet<String>,
}

impl Forms {
    /// The endings of all files, and the words that any of them writes so.
    pub(super) fn of(files: &[LexiconFile]) -> Self {
        let letters = files.iter().flat_map(|file| &file.composing.endings).flat_map(|letter| letter.nfc());
        let mut forms = Self { endings: letters.collect(), listed: BTreeSet::new() };
        let phrases = files.iter().flat_map(|file| {
            let beside = file.composing.beside.lists().into_iter().flat_map(|(_, list)| list);
            file.affirmative.iter().chain(beside)
        });
        let composed = phrases.map(|phrase| phrase.nfc().flat_map(char::to_lowercase).collect::<String>());
        let words = composed.flat_map(|phrase| phrase.split(' ').map(str::to_owned).collect::<Vec<_>>());
        forms.listed = words.filter(|word| forms.ends_so(word)).collect();
        forms
    }

    /// Whether a word, composed and in small letters, is another form of what folding makes of it.
    pub(super) fn is_other(&self, word: &str) -> bool {
        self.ends_so(word) && !self.listed.contains(word)
    }

    fn ends_so(&self, word: &str) -> bool {
        word.chars().count() >= FEWEST_LETTERS && word.chars().last().is_some_and(|last| self.endings.contains(&last))
    }
}
