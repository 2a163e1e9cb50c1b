//! The words that tell how an utterance is meant and what it does to a fact, by class; one table a language.
//! All in plain letters. A phrase may end in `*`: any word that starts so.

mod en;
mod es;
mod pt;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::{Tongue, Word};

/// A class of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Sign {
    Ask,
    If,
    /// Wishes, opinions, suggestions, uncertainty.
    Wish,
    /// A draft, an idea.
    Draft,
    Past,
    /// For this once, for now.
    Once,
    Keep,
    /// No change is wanted.
    NoNeed,
    Remind,
    Hearsay,
    /// Something more, not something else.
    Add,
    /// A part that was spent, paid or reached.
    Part,
    Other,
    /// A relation of the speaker's.
    Relation,
    /// An actor that decides for others: a board, the company, the team.
    Ruler,
    /// A polite opening of a request.
    Request,
    /// `Y` is replaced: what comes next is the old value.
    Instead,
    Not,
    NoLonger,
    /// Swap, replace: old value, then new value.
    Swap,
    Over,
    Leave,
    /// Changes to another value.
    Move,
    /// Ends, without a new value.
    End,
    /// Is no more: broke, fell through, ran out.
    Gone,
    /// In somebody's or something's place.
    Stead,
    /// Begins, takes, wants, uses: what comes next is in the place of something else.
    Begin,
    Status,
    /// Goes back to an earlier value.
    Back,
    /// A choice that was made.
    Choose,
    Now,
    /// Tells somebody to use, send, call.
    Direct,
    Correct,
    Make,
    Is,
    /// Before a new value.
    To,
    /// Before an old value.
    From,
    /// Before the size of a change.
    By,
    And,
    /// A word with no content.
    Stop,
}

/// One class with its phrases, separated by `|`.
pub(super) type Class = (Sign, &'static str);

/// A phrase found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub sign: Sign,
    pub at: usize,
    /// The word after its last.
    pub end: usize,
}

struct Phrase {
    sign: Sign,
    words: Vec<&'static str>,
}

struct Index {
    by_start: HashMap<&'static str, Vec<Phrase>>,
}

/// Phrases are kept by the first three letters of their first word.
fn start_of(word: &str) -> &str {
    word.char_indices().nth(3).map_or(word, |(at, _)| word.get(..at).unwrap_or(word))
}

fn index(classes: &'static [Class]) -> Index {
    let mut by_start: HashMap<&'static str, Vec<Phrase>> = HashMap::new();
    for (sign, phrases) in classes {
        for phrase in phrases.split('|').map(str::trim).filter(|phrase| !phrase.is_empty()) {
            let words: Vec<&'static str> = phrase.split_whitespace().collect();
            if let Some(first) = words.first() {
                by_start.entry(start_of(first.trim_end_matches('*'))).or_default().push(Phrase { sign: *sign, words });
            }
        }
    }
    Index { by_start }
}

static PORTUGUESE: LazyLock<Index> = LazyLock::new(|| index(pt::CLASSES));
static SPANISH: LazyLock<Index> = LazyLock::new(|| index(es::CLASSES));
static ENGLISH: LazyLock<Index> = LazyLock::new(|| index(en::CLASSES));

fn fits(pattern: &str, word: &Word) -> bool {
    pattern.strip_suffix('*').map_or(pattern == word.plain, |stem| word.plain.starts_with(stem))
}

/// Every phrase of a language in these words, in order.
pub(super) fn marks(words: &[Word], tongue: Tongue) -> Vec<Mark> {
    let tables: &[&LazyLock<Index>] = match tongue {
        Tongue::Portuguese => &[&PORTUGUESE],
        Tongue::Spanish => &[&SPANISH],
        Tongue::English => &[&ENGLISH],
        Tongue::Unknown => &[&PORTUGUESE, &SPANISH, &ENGLISH],
    };
    let mut found: Vec<Mark> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        for table in tables {
            let Some(phrases) = table.by_start.get(start_of(&word.plain)) else {
                continue;
            };
            for phrase in phrases {
                let end = at + phrase.words.len();
                let here = words
                    .get(at..end)
                    .is_some_and(|here| phrase.words.iter().zip(here).all(|(pattern, word)| fits(pattern, word)));
                let again = found.iter().any(|mark| mark.sign == phrase.sign && mark.at == at && mark.end >= end);
                if here && !again {
                    found.push(Mark { sign: phrase.sign, at, end });
                }
            }
        }
    }
    found
}

/// States that no verb tells of.
const STATES: &str = "pending active inactive open closed draft new scheduled available unavailable enabled disabled valid \
    pendente ativo ativa inativo aberto aberta fechado novo nova agendado agendada disponivel vigente pendiente activo activa \
    inactivo abierto abierta cerrado nuevo nueva programado programada ok yes no sim nao si true false";

/// Whether a word in plain letters names a state.
pub(super) fn is_state(word: &str) -> bool {
    let listed = |table: &LazyLock<Index>| {
        table.by_start.get(start_of(word)).is_some_and(|phrases| {
            phrases
                .iter()
                .any(|phrase| phrase.sign == Sign::Status && matches!(phrase.words.as_slice(), [only] if *only == word))
        })
    };
    STATES.split_whitespace().any(|state| state == word) || [&PORTUGUESE, &SPANISH, &ENGLISH].into_iter().any(listed)
}
