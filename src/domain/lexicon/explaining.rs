//! Why a text reads as it does, for people who write lexicons.

use serde::Serialize;

use super::composing::{Part, Piece};
use super::hearing::hear;
use super::normalise::normalise;
use super::plain::is_plain;
use super::reading::{MAX_ANSWER_CHARS, squeeze_symbols};
use super::{Lexicon, Reading};

/// By which rule a text was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadBy {
    /// The whole text is one entry, perhaps repeated or with emoji of the same polarity.
    Entry,
    /// It is put together of entries and of words that may stand beside them.
    Composed,
    /// It would be an answer, but asks, trails off, is struck through or the like.
    NotPlain,
    /// It begins or ends with an entry and says more, or says both yes and no.
    More,
    /// Nothing in it reads as an answer.
    Nothing,
}

/// One piece of a text that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedPart {
    /// The words, folded.
    pub words: String,
    /// `affirmative`, `negative`, `object`, or a class of the lexicon's `composing.beside`.
    pub class: String,
    /// The entry as its file writes it; of an answer only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
}

/// How a text was read, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    pub reading: Reading,
    pub read_by: ReadBy,
    /// The pieces of an answer, in order; empty where it is none.
    pub parts: Vec<ExplainedPart>,
}

impl Lexicon {
    /// How the text reads ([`Lexicon::read`]), and why.
    #[must_use]
    pub fn explain(&self, text: &str) -> Explained {
        let reading = self.read(text);
        let folded = normalise(text);
        let is_answer = matches!(reading, Reading::Affirmative { .. } | Reading::Negative { .. });
        let is_long = text.chars().nth(MAX_ANSWER_CHARS).is_some();
        let words = squeeze_symbols(&folded);
        let whole = !is_long && self.whole(&words).is_some_and(|whole| whole.is_agreed());
        let composed = if whole || is_long { None } else { self.composed_parts(text, &folded) };
        let read_by = match (&reading, whole, &composed) {
            (_, true, _) if is_answer => ReadBy::Entry,
            (_, _, Some(_)) if is_answer => ReadBy::Composed,
            (Reading::Qualified { .. }, whole, composed) if (whole || composed.is_some()) && !is_plain(text) => {
                ReadBy::NotPlain
            }
            (Reading::Qualified { .. }, ..) => ReadBy::More,
            _ => ReadBy::Nothing,
        };
        let shown = |part: &Part<'_>| {
            let said = words.get(part.start..part.end).unwrap_or_default().join(" ");
            explained(said, part)
        };
        let parts = match (&composed, read_by) {
            (Some(parts), _) => parts.iter().map(shown).collect(),
            (None, ReadBy::Entry) => whole_part(&reading, folded.clone()).into_iter().collect(),
            (None, _) => Vec::new(),
        };
        Explained { reading, read_by, parts }
    }

    fn composed_parts(&self, text: &str, folded: &str) -> Option<Vec<Part<'_>>> {
        let heard = hear(text, folded)?;
        self.grammars.iter().find_map(|grammar| grammar.compose(&heard))
    }
}

fn explained(words: String, part: &Part<'_>) -> ExplainedPart {
    let class = match part.piece {
        Piece::Entry(entry) => entry.polarity.as_str(),
        Piece::Beside(class) => class.as_str(),
        Piece::Object => "object",
        Piece::Named => "says",
    };
    ExplainedPart { words, class: class.to_owned(), entry: part.entry().map(|entry| entry.written.clone()) }
}

fn whole_part(reading: &Reading, words: String) -> Option<ExplainedPart> {
    let (class, entry) = match reading {
        Reading::Affirmative { entry, .. } => ("affirmative", entry),
        Reading::Negative { entry, .. } => ("negative", entry),
        Reading::Qualified { .. } | Reading::Other => return None,
    };
    Some(ExplainedPart { words, class: class.to_owned(), entry: Some(entry.clone()) })
}
