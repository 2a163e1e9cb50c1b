//! Which facts a reading can bear on at all, told by single words: a sieve before the comparison, which takes a hundred
//! times as long. It lets through what turns out to have nothing in common, and never holds back what has.

use std::collections::HashSet;

use super::fitting::Asked;
use super::words::{lexemes, stem, stem_in_place, terms};
use super::{Act, classes, slots};
use crate::state_layer::fact::Fact;
use crate::state_layer::language::folding::plain;
use crate::state_layer::language::value::{ValueKind, words_for};

/// So long is the beginning that two stems of one root share, and so long are they at least.
const ROOT: usize = 5;

/// What the claims of a reading look for.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Any fact may hold it: there is no word to tell it by.
    anything: bool,
    /// Whether something goes back to a former value.
    former: bool,
    /// Stems of words, in keys or values.
    words: HashSet<String>,
    /// Stems of words that name a slot, in keys.
    slots: HashSet<&'static str>,
    /// Beginnings of stems, in keys.
    roots: HashSet<[u8; ROOT]>,
    /// How the words begin, as they are looked for in keys: most others are told by these.
    in_keys: Openings,
    /// The same for values.
    in_values: Openings,
    /// Digits of numbers without separators and outer zeros, in values.
    digits: Vec<String>,
    /// All digits of codes, which may be written in several parts.
    codes: Vec<String>,
}

impl Wanted {
    /// What these claims look for.
    pub(super) fn by(claims: &[Asked<'_>]) -> Self {
        let mut wanted = Self::default();
        for asked in claims {
            wanted.add(asked);
        }
        let words = || wanted.words.iter().map(String::as_bytes);
        let slots = wanted.slots.iter().map(|slot| slot.as_bytes());
        let roots = wanted.roots.iter().map(<[u8; ROOT]>::as_slice);
        let (in_keys, in_values) = (words().chain(slots).chain(roots).collect(), words().collect());
        Self { in_keys, in_values, ..wanted }
    }

    fn add(&mut self, asked: &Asked<'_>) {
        let claim = asked.claim;
        if claim.about.is_empty() && claim.new_value.is_none() && claim.old_value.is_none() {
            return;
        }
        self.former |= claim.act == Act::Revert;
        let plain_terms = claim.about.iter().filter(|term| !term.starts_with('#'));
        // Without a word of its own, not even a repetition could be told by its words.
        self.anything |= asked.words.is_empty() && plain_terms.clone().next().is_none();
        self.words.extend(asked.words.iter().chain(plain_terms).cloned());
        for term in &claim.about {
            match term.strip_prefix('#') {
                Some(slot) => self.slots.extend(slots::stems_of(slot)),
                None => self.roots.extend(root(term)),
            }
        }
        if let Some(class) = asked.class {
            self.words.extend(classes::stems_of(class).map(str::to_owned));
        }
        for name in &claim.names {
            self.add_pieces(name);
        }
        if let Some((kind, form)) = &claim.old_value {
            self.add_value(*kind, form);
        }
    }

    fn add_pieces(&mut self, text: &str) {
        let pieces = terms(text).into_iter().map(|(stem, _)| stem);
        self.words.extend(pieces.chain([text.to_owned()]));
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        self.codes.extend(Some(digits).filter(|digits| !digits.is_empty()));
    }

    /// By what a typed value can be told, however it is written.
    fn add_value(&mut self, kind: ValueKind, form: &str) {
        match kind {
            ValueKind::Word | ValueKind::Code | ValueKind::Place => self.add_pieces(form),
            ValueKind::Money | ValueKind::Percent | ValueKind::Number => {
                let number = form.split(' ').next().unwrap_or(form);
                self.digits.extend(significant(number));
                self.anything |= significant(number).is_none();
                self.add_pieces(form);
                self.words.extend(words_for(kind, form).map(stem));
            }
            ValueKind::Date if form.starts_with("weekday-") => {
                self.words.extend(words_for(kind, form).map(stem));
            }
            ValueKind::Date | ValueKind::Time | ValueKind::Duration | ValueKind::Contact => self.anything = true,
        }
    }

    /// Whether a fact has a word that is looked for. `stem` is room to work in.
    pub(super) fn may_mean(&self, fact: &Fact, stem: &mut String) -> bool {
        if self.anything || self.former && !fact.former.is_empty() {
            return true;
        }
        let text = fact.words();
        any_stem(&fact.key, &self.in_keys, stem, |stem| self.is_named(stem))
            || any_stem(&text, &self.in_values, stem, |stem| self.words.contains(stem))
            || fact
                .former
                .iter()
                .any(|former| any_stem(&former.text, &self.in_values, stem, |stem| self.words.contains(stem)))
            || self.has_digits(&text)
    }

    fn is_named(&self, stem: &str) -> bool {
        self.words.contains(stem)
            || self.slots.contains(stem)
            || root(stem).is_some_and(|root| self.roots.contains(&root))
    }

    fn has_digits(&self, text: &str) -> bool {
        let numbers = || text.split(|sign: char| !sign.is_ascii_digit() && sign != '.' && sign != ',');
        let runs = || text.split(|sign: char| !sign.is_ascii_digit()).filter(|run| !run.is_empty());
        !self.digits.is_empty() && numbers().filter_map(significant).any(|digits| self.digits.contains(&digits))
            || !self.codes.is_empty() && runs().any(|run| self.codes.iter().any(|code| code.contains(run)))
    }
}

/// Whether any word of a text has a stem that is wanted. Words that begin as none does are not made stems of.
fn any_stem(text: &str, openings: &Openings, stem: &mut String, is_wanted: impl Fn(&str) -> bool) -> bool {
    lexemes(text).any(|word| {
        if word.is_ascii() {
            if !openings.may_open(word.as_bytes()) {
                return false;
            }
            stem.clear();
            stem.push_str(word);
            stem.make_ascii_lowercase();
        } else {
            stem.clear();
            stem.extend(word.chars().map(plain));
            if !openings.may_open(stem.as_bytes()) {
                return false;
            }
        }
        stem_in_place(stem);
        is_wanted(stem)
    })
}

/// The first two letters of words: for each first letter a set of second ones. Letters that share their last bits are
/// taken for one another, as those in capitals and small ones are.
#[derive(Debug, Default)]
struct Openings([u32; 32]);

impl<'a> FromIterator<&'a [u8]> for Openings {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(words: I) -> Self {
        let mut openings = Self::default();
        for word in words {
            let [first, rest @ ..] = word else { continue };
            if let Some(seconds) = openings.0.get_mut(usize::from(first & 31)) {
                // A word of one letter is its own stem, and a set of no letters would say that there is none.
                *seconds |= rest.first().map_or(1, |second| 1 << (second & 31));
            }
        }
        openings
    }
}

impl Openings {
    /// Whether the stem of a word may begin as one of these does.
    fn may_open(&self, word: &[u8]) -> bool {
        let seconds = |first: &u8| self.0.get(usize::from(first & 31)).copied().unwrap_or(0);
        match word {
            // `oes` and `aes` at the end become `ao`: of so short words not much is left.
            [_, b'e' | b'E', b's' | b'S'] | [] => true,
            [first, _, b'e' | b'E', b's' | b'S'] | [first] => seconds(first) != 0,
            [first, second, ..] => seconds(first) & (1 << (second & 31)) != 0,
        }
    }
}

/// The beginning of a stem that is long enough to have a root in common with another.
fn root(stem: &str) -> Option<[u8; ROOT]> {
    (stem.len() > ROOT).then(|| stem.as_bytes().first_chunk().copied()).flatten()
}

/// The digits of a number without separators and the zeros at its ends, which a scale may stand for: `1.5k` is `1,500`.
fn significant(number: &str) -> Option<String> {
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    let bare = digits.trim_matches('0');
    (!digits.is_empty()).then(|| bare.to_owned())
}

#[cfg(test)]
#[path = "candidates_tests.rs"]
mod tests;
