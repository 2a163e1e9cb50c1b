//! A sentence taken apart: its words with their places, its stems, its typed values.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

use super::stems::{Stem, Stems};
use crate::state_layer::language::terms::{Language, folded, is_stop_word};
use crate::state_layer::language::value::{TypedValue, values};

/// A word of a text, a value's signs included: `$50`, `10%`, `#4521` and `1.500,00` are one word each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub form: String,
    /// Where it stands, in bytes.
    pub span: Range<usize>,
}

/// A text taken apart.
#[derive(Debug)]
pub(super) struct Said<'a> {
    pub text: &'a str,
    /// Its words, in order.
    pub words: Vec<Word>,
    all: &'a Stems,
    stems: OnceCell<BTreeSet<Stem>>,
    values: OnceCell<Vec<TypedValue>>,
}

impl<'a> Said<'a> {
    /// Takes a text apart.
    pub(super) fn new(text: &'a str, all: &'a Stems) -> Self {
        Self { text, words: words(text), all, stems: OnceCell::new(), values: OnceCell::new() }
    }

    /// The stems of the words that carry meaning; made when they are first asked for.
    pub(super) fn stems(&self) -> &BTreeSet<Stem> {
        self.stems.get_or_init(|| self.all.set(&self.words))
    }

    /// The stems of the pack.
    pub(super) fn all_stems(&self) -> &Stems {
        self.all
    }

    /// The typed values; read when they are first asked for.
    pub(super) fn values(&self) -> &[TypedValue] {
        self.values.get_or_init(|| values(self.text))
    }

    /// The words in a row, between single spaces: ` we moved to $50 `.
    pub(super) fn spaced(&self) -> String {
        spaced(&self.words)
    }
}

/// Words in a row, between single spaces.
pub(super) fn spaced(words: &[Word]) -> String {
    let mut row = String::from(" ");
    for word in words {
        row.push_str(&word.form);
        row.push(' ');
    }
    row
}

/// Whether a word carries meaning, in any of the known languages.
pub(super) fn carries_meaning(form: &str) -> bool {
    form.chars().count() > 1 && !Language::KNOWN.iter().any(|language| is_stop_word(form, *language))
}

/// The words of a text. Underscores part words, so that a raw key is its words.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut signs = text.char_indices().peekable();
    let mut begin: Option<usize> = None;
    let mut last = ' ';
    while let Some((at, c)) = signs.next() {
        let next = signs.peek().map_or(' ', |(_, next)| *next);
        let inner = match c {
            c if c.is_alphanumeric() => true,
            '$' | '€' | '£' | '#' | '@' => next.is_alphanumeric() || c == '@' && last.is_alphanumeric(),
            '%' => last.is_ascii_digit(),
            '.' | ',' | ':' => last.is_ascii_digit() && next.is_ascii_digit(),
            '\'' | '’' => last.is_alphabetic() && next.is_alphabetic(),
            _ => false,
        };
        if inner {
            // A sign of money or number begins a word of its own, but for the `R` of `R$`.
            if matches!(c, '$' | '€' | '£' | '#') && begin.is_some_and(|begin| !is_r(text, begin, at)) {
                close(&mut found, text, begin.take(), at);
            }
            begin.get_or_insert(at);
        } else {
            close(&mut found, text, begin.take(), at);
        }
        last = c;
    }
    close(&mut found, text, begin, text.len());
    found
}

fn is_r(text: &str, begin: usize, at: usize) -> bool {
    text.get(begin..at).is_some_and(|word| word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_uppercase()))
}

fn close(found: &mut Vec<Word>, text: &str, begin: Option<usize>, end: usize) {
    let Some(begin) = begin else { return };
    let form = folded(text.get(begin..end).unwrap_or_default()).replace('’', "'");
    found.push(Word { form, span: begin..end });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_word() {
        let forms = |text: &str| words(text).into_iter().map(|word| word.form).collect::<Vec<_>>();
        assert_eq!(forms("Pay $50, not $500."), ["pay", "$50", "not", "$500"]);
        assert_eq!(forms("R$ 1.500,00 (10%)"), ["r", "1.500,00", "10%"]);
        assert_eq!(forms("R$50 às 14:30"), ["r$50", "as", "14:30"]);
        assert_eq!(
            forms("PO #4521: it's F-12 / project_budget"),
            ["po", "#4521", "it's", "f", "12", "project", "budget"]
        );
        assert_eq!(forms("a@b.com"), ["a@b", "com"]);
    }
}
