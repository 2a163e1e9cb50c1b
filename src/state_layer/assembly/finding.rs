//! Where a text repeats what is dead.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

use super::dead::{Because, DeadValues, Figure, Phrase, Reach, is_camel};
use super::said::{Said, Word};
use super::stems::Stem;
use crate::state_layer::language::value::ValueKind;

/// A place in a sentence, and what the sentence speaks of beside it.
struct Place<'s, 'a> {
    said: &'s Said<'a>,
    span: Range<usize>,
    beside: OnceCell<BTreeSet<Stem>>,
}

impl<'s, 'a> Place<'s, 'a> {
    fn new(said: &'s Said<'a>, span: Range<usize>) -> Self {
        Self { said, span, beside: OnceCell::new() }
    }

    /// Whether the sentence speaks of this: it shares a word with it beside the place, or has no other word to share.
    fn is_about(&self, topic: Option<&BTreeSet<Stem>>) -> bool {
        let beside = self.beside.get_or_init(|| {
            let outside = |word: &&Word| word.span.end <= self.span.start || word.span.start >= self.span.end;
            let stems = self.said.all_stems().set(self.said.words.iter().filter(outside));
            stems.into_iter().filter(|stem| !stem.has_digit).collect()
        });
        beside.is_empty() || topic.is_some_and(|topic| beside.iter().any(|stem| topic.contains(stem)))
    }

    /// Whether the place is written as a name: with a capital where the sentence does not ask for one.
    fn is_named(&self) -> bool {
        let written = self.said.text.get(self.span.clone()).unwrap_or_default();
        let capital = written.chars().next().is_some_and(char::is_uppercase);
        let first = self.said.words.first().is_some_and(|word| word.span.start == self.span.start);
        is_camel(written) || capital && !first
    }
}

impl DeadValues<'_> {
    /// Where a sentence repeats what is dead. A fact that stands is held only against what was replaced: that it may be
    /// shown was decided before.
    pub(super) fn spans(&self, said: &Said<'_>, is_fact: bool) -> Vec<Range<usize>> {
        let counts = |index: usize| self.because(index).is_some_and(|because| !is_fact || because == Because::Replaced);
        let mut spans = Vec::new();
        for (at, word) in said.words.iter().enumerate() {
            for phrase in self.phrases.get(&word.form).into_iter().flatten().filter(|phrase| counts(phrase.index)) {
                let found = said.words.get(at..at + phrase.forms.len()).unwrap_or_default();
                if fits(phrase, found)
                    && let (Some(first), Some(last)) = (found.first(), found.last())
                {
                    let place = Place::new(said, first.span.start..last.span.end);
                    if self.reaches(phrase, &place) {
                        spans.push(place.span);
                    }
                }
            }
            if let Some(leads) = self.names.get(&word.form) {
                let place = Place::new(said, word.span.clone());
                if leads.iter().any(|index| counts(*index) && place.is_about(self.topic(*index))) {
                    spans.push(place.span);
                }
            }
        }
        if !self.figures.is_empty() && said.words.iter().any(|word| self.may_be_figure(&word.form)) {
            self.figure_spans(said, counts, &mut spans);
        }
        spans
    }

    fn figure_spans(&self, said: &Said<'_>, counts: impl Fn(usize) -> bool, spans: &mut Vec<Range<usize>>) {
        for value in said.values() {
            let figure = (value.kind, value.canonical.clone());
            let Some(leads) = self.figures.get(&figure) else { continue };
            let shared = self.shared.contains(&figure);
            let sure = is_specific(&figure) && !shared;
            let place = Place::new(said, value.span.clone());
            let is_dead = |index: &usize| match self.because(*index) {
                Some(Because::Replaced) => sure || place.is_about(self.topic(*index)),
                Some(Because::Withheld) => !shared && (is_name(&figure) || place.is_about(self.topic(*index))),
                None => false,
            };
            if leads.iter().any(|index| counts(*index) && is_dead(index)) {
                spans.push(place.span);
            }
        }
    }

    fn reaches(&self, phrase: &Phrase, place: &Place<'_, '_>) -> bool {
        match phrase.reach {
            Reach::Anywhere => true,
            Reach::AsName => place.is_named() || place.is_about(self.topic(phrase.index)),
            Reach::OnTopic => place.is_about(self.topic(phrase.index)),
        }
    }
}

fn fits(phrase: &Phrase, found: &[Word]) -> bool {
    found.len() == phrase.forms.len() && found.iter().zip(&phrase.forms).all(|(word, form)| word.form == *form)
}

/// Whether a value is one of its own: not a weekday, an hour or a bare number, which could be about anything.
fn is_specific((kind, canonical): &Figure) -> bool {
    match kind {
        ValueKind::Money | ValueKind::Percent | ValueKind::Code | ValueKind::Place | ValueKind::Contact => true,
        ValueKind::Date => canonical.bytes().any(|byte| byte.is_ascii_digit()),
        ValueKind::Time | ValueKind::Duration | ValueKind::Number | ValueKind::Word => false,
    }
}

/// Whether a value names one thing and no other.
fn is_name((kind, _): &Figure) -> bool {
    matches!(kind, ValueKind::Code | ValueKind::Contact)
}
