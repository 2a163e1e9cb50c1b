//! Stems of one pack, as numbers: a word is stemmed once, and sets of stems are compared without their letters.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use super::said::{Word, carries_meaning, words};
use crate::state_layer::language::terms::{Language, Stemming};

/// A stem. Equal stems have equal numbers; the numbers themselves mean nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Stem {
    number: u32,
    /// Whether it is a word with a digit, which is its own stem.
    pub has_digit: bool,
}

/// Stems all words of a pack in one language: the question's. What is said in another language still meets itself.
#[derive(Debug)]
pub(super) struct Stems {
    stemming: Stemming,
    known: RefCell<Known>,
}

#[derive(Debug, Default)]
struct Known {
    forms: HashMap<String, Option<Stem>>,
    numbers: HashMap<String, u32>,
}

impl Stems {
    pub(super) fn new(language: Language) -> Self {
        Self { stemming: Stemming::of(language), known: RefCell::default() }
    }

    /// The stem of a folded word; none for one that carries no meaning.
    pub(super) fn of(&self, form: &str) -> Option<Stem> {
        if let Some(stem) = self.known.borrow().forms.get(form) {
            return *stem;
        }
        let has_digit = form.bytes().any(|byte| byte.is_ascii_digit());
        let stem = if has_digit {
            Some(form.to_owned())
        } else if carries_meaning(form) {
            self.stemming.stem(form)
        } else {
            None
        };
        let mut known = self.known.borrow_mut();
        let next = u32::try_from(known.numbers.len()).unwrap_or(u32::MAX);
        let stem = stem.map(|stem| Stem { number: *known.numbers.entry(stem).or_insert(next), has_digit });
        known.forms.insert(form.to_owned(), stem);
        stem
    }

    /// The stems of these words.
    pub(super) fn set<'w>(&self, words: impl IntoIterator<Item = &'w Word>) -> BTreeSet<Stem> {
        words.into_iter().filter_map(|word| self.of(&word.form)).collect()
    }

    /// The stems of a text.
    pub(super) fn of_text(&self, text: &str) -> BTreeSet<Stem> {
        self.set(&words(text))
    }
}
