//! What stands between blanks, without the punctuation around it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::str::SplitWhitespace;
use std::sync::LazyLock;

use crate::state_layer::language::folding::plain_words;

/// One run of signs between blanks.
#[derive(Debug, Clone)]
pub(super) struct Chunk<'a> {
    /// Without punctuation at its ends.
    pub text: &'a str,
    /// The same in plain letters.
    pub plain: Cow<'a, str>,
    /// Where it starts, in bytes.
    pub start: usize,
    /// Where it ends, in bytes.
    pub end: usize,
    /// Whether a comma, full stop or the like follows it.
    pub closed: bool,
    /// Whether it opens a sentence.
    pub opens: bool,
}

/// Words that open a value although they have no digit, in plain letters. Weekdays and months are in `dates`.
const OPENERS: &str = "a as at las the dia dias end fim fin final meio mediodia meio-dia meia-noite midday medianoche midnight noon today tomorrow tonight hoje \
    amanha hoy manana next this proxima proximo semana mes this esta este essa esse";

/// All words that may open a value without a digit.
static OPENING: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let words = OPENERS.split_whitespace().chain(super::dates::opening_words()).chain(super::number::small_words());
    words.chain(super::places::opening_words()).collect()
});

impl Chunk<'_> {
    /// Whether the readers have to be asked at all: most words are not part of any value.
    pub(super) fn may_hold_value(&self) -> bool {
        let Some(first) = self.text.chars().next() else {
            return false;
        };
        self.text.bytes().any(|byte| byte.is_ascii_digit())
            || first.is_uppercase()
            || !first.is_alphabetic()
            || self.text.contains('@')
            || OPENING.contains(&*self.plain)
            || self.plain.strip_suffix('s').is_some_and(|word| OPENING.contains(word))
            || self.plain.ends_with("-feira")
    }
}

/// Whether a sign is taken off the front of a chunk.
fn opening(sign: char) -> bool {
    matches!(sign, '(' | '[' | '{' | '"' | '\'' | '“' | '‘' | '«' | '¿' | '¡' | '*' | '~' | '#' | '—' | '–')
}

/// Whether a sign is taken off the end of a chunk.
fn closing(sign: char) -> bool {
    matches!(sign, ')' | ']' | '}' | '"' | '\'' | '”' | '’' | '»' | '?' | '!' | '.' | ',' | ';' | ':' | '*' | '~' | '…')
}

/// The chunks of a text, one after the other.
#[derive(Debug)]
pub(super) struct Chunks<'a> {
    text: &'a str,
    pieces: SplitWhitespace<'a>,
    opens: bool,
}

impl<'a> Chunks<'a> {
    /// The chunks of this text.
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, pieces: text.split_whitespace(), opens: true }
    }

    /// Whether there are no more.
    pub(super) fn is_done(&self) -> bool {
        self.pieces.clone().next().is_none()
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Chunk<'a>> {
        loop {
            let piece = self.pieces.next()?;
            let offset = piece.as_ptr() as usize - self.text.as_ptr() as usize;
            let phone =
                piece.starts_with('(') && piece.ends_with(')') && piece.bytes().any(|byte| byte.is_ascii_digit());
            let opened = if phone { piece } else { piece.trim_start_matches(opening) };
            let within = if phone { piece } else { opened.trim_end_matches(closing) };
            let start = offset + (piece.len() - opened.len());
            let tail = opened.get(within.len()..).unwrap_or_default();
            let opens = std::mem::replace(&mut self.opens, tail.contains(['.', '!', '?', ';', ':']));
            if !within.is_empty() {
                let (end, plain) = (start + within.len(), plain_words(within));
                return Some(Chunk { text: within, plain, start, end, closed: !tail.is_empty(), opens });
            }
        }
    }
}
