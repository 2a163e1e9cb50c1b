//! The forms in which people say that something changes: what is new, what is old, and which words gave it away.

mod ending;
mod moving;
mod people;
mod replacing;
mod stating;

use super::Act;
use super::clause::{Clause, Span};
use super::lexicon::Sign;
use crate::state_layer::language::value::ValueKind;

/// One change as a sentence puts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub act: Act,
    /// The class of the words that gave it away.
    pub cue: &'static str,
    pub new: Option<Span>,
    /// The value that is no longer so.
    pub old: Option<Span>,
    /// The words that say what it is about, where they are told apart: the subject or the object.
    pub head: Option<Span>,
}

impl Change {
    fn set(cue: &'static str, new: Option<Span>, old: Option<Span>) -> Self {
        Self { act: Act::Set, cue, new, old, head: None }
    }

    /// What comes in the place of something that is no more.
    pub(super) fn replacing(new: Span) -> Self {
        Self::set("replaced", Some(new), None)
    }

    fn about(mut self, head: Option<Span>) -> Self {
        self.head = head;
        self
    }
}

/// The forms, the more telling first.
const FORMS: &[fn(&Clause) -> Option<Change>] = &[
    replacing::instead,
    replacing::not_but,
    replacing::now_is,
    people::leave,
    people::over,
    replacing::no_longer,
    replacing::swap,
    moving::back,
    moving::moved,
    ending::status,
    ending::end,
    stating::chosen,
    stating::made,
    stating::stated_now,
    stating::corrected,
    ending::passive,
    stating::directed,
    stating::stated,
    stating::begun,
];

pub(super) use stating::valued;

/// Whether a part is the talk that goes on: "anyway, moving on to other items".
pub(super) fn goes_on(clause: &Clause) -> bool {
    clause.each(Sign::Move).any(|mark| moving::goes_on(clause, mark))
}

/// Whether words are no value: "other things".
pub(super) fn is_vague(clause: &Clause, new: &Span) -> bool {
    const VAGUE: &[&str] =
        &["other", "another", "otro", "otra", "otros", "otras", "outro", "outra", "outros", "outras"];
    clause.kind(new.start).is_none() && clause.word(new.start).is_some_and(|word| VAGUE.contains(&word.plain.as_str()))
}

/// The change that a sentence tells of, if it does.
pub(super) fn of(clause: &Clause) -> Option<Change> {
    FORMS
        .iter()
        .find_map(|form| form(clause))
        .filter(|change| change.new.is_some() || change.act == Act::Cancel)
        .filter(|change| change.new.as_ref().is_none_or(|new| !is_vague(clause, new)))
}

/// The last typed value of a kind before a word.
pub(super) fn typed_before(clause: &Clause, end: usize, kind: ValueKind) -> Option<Span> {
    let at = (0..end).rev().find(|at| clause.kind(*at) == Some(kind))?;
    Some(at..clause.measured(at).min(end))
}

/// The first typed value from a word on that is none of an old one.
fn typed_from(clause: &Clause, start: usize, old: Option<&Span>) -> Option<Span> {
    let at =
        (start..clause.words.len()).find(|at| clause.kind(*at).is_some() && old.is_none_or(|old| !old.contains(at)))?;
    Some(at..clause.measured(at))
}

/// Prepositions that only lead to where something goes.
const TOWARDS: &[&str] =
    &["to", "onto", "into", "para", "pra", "pro", "pras", "pros", "p", "al", "ao", "hasta", "ate", "until", "till"];
