//! Reading one text.

use unicode_normalization::UnicodeNormalization as _;

use super::composing::Part;
use super::hearing::hear;
use super::normalise::{is_symbol, normalise};
use super::phrases::{Entry, Polarity};
use super::plain::is_plain;
use super::{Lexicon, Reading};

/// The longest text, in characters, that can be an answer. Of a longer one only the beginning is
/// looked at, and it is at most [`Reading::Qualified`].
pub const MAX_ANSWER_CHARS: usize = 200;

/// The most tokens a text may have to be [`Reading::Qualified`] without a qualifier in it. Beyond,
/// it is taken for an ordinary message that happens to begin with "no" or end with "ok".
pub const MAX_QUALIFIED_TOKENS: usize = 4;

/// A message made of nothing but entries.
pub(super) enum Whole<'a> {
    /// They say the same.
    Agreed(&'a Entry),
    /// Some say yes and some no.
    Mixed(&'a Entry),
}

impl Whole<'_> {
    pub(super) fn is_agreed(&self) -> bool {
        matches!(self, Self::Agreed(_))
    }
}

impl Lexicon {
    /// Reads a text as an answer.
    ///
    /// Affirmative or negative only if the text is plain ([`is_plain`]) and the whole of it is one
    /// entry, that entry repeated ("sim sim"), either with emoji entries of the same polarity
    /// before or after it, or an answer composed of several pieces of one language
    /// (`policies/lexicons/README.md`). Other sequences of entries are no answer even where all
    /// agree: "não cancela" means do *not* cancel.
    ///
    /// Deterministic, total, and bounded by [`MAX_ANSWER_CHARS`] whatever the length of the text.
    #[must_use]
    pub fn read(&self, text: &str) -> Reading {
        let (head, is_cut) = head(text);
        let folded = normalise(head);
        let tokens = squeeze_symbols(&folded);
        if is_cut {
            return self.read_long(&tokens);
        }
        match self.whole(&tokens).or_else(|| self.composed(text, &folded)) {
            Some(Whole::Agreed(entry))
                if is_plain(text)
                    && !self.stands_apart(&tokens)
                    && (entry.polarity == Polarity::Negative || !self.has_other_form(text)) =>
            {
                entry.plain()
            }
            Some(Whole::Agreed(entry) | Whole::Mixed(entry)) => entry.qualified(),
            None => self.read_part(&tokens),
        }
    }

    /// Whether a word of the text ends in a letter that makes another form of it, and no list has it so: "confirmó", where
    /// *confirmo* is an entry.
    pub(super) fn has_other_form(&self, text: &str) -> bool {
        if self.forms.endings.is_empty() {
            return false;
        }
        let composed: String = text.nfc().flat_map(char::to_lowercase).collect();
        let words = composed.split(|c: char| !c.is_alphanumeric());
        words.into_iter().any(|word| self.forms.is_other(word))
    }

    /// Whether words stand together that mean something else than each of them does: "yeah yeah".
    pub(super) fn stands_apart(&self, tokens: &[&str]) -> bool {
        self.grammars.iter().any(|grammar| grammar.stands_apart(tokens))
    }

    /// What the text says if it is put together of several pieces, all of one language.
    fn composed(&self, text: &str, folded: &str) -> Option<Whole<'_>> {
        let heard = hear(text, folded)?;
        let composed = self.grammars.iter().filter_map(|grammar| grammar.compose(&heard));
        let mut entries = composed.filter_map(|parts| parts.iter().find_map(Part::entry));
        let first = entries.next()?;
        let agree = entries.all(|entry| entry.polarity == first.polarity);
        Some(if agree { Whole::Agreed(first) } else { Whole::Mixed(first) })
    }

    fn read_long(&self, head: &[&str]) -> Reading {
        match self.entries.leading(head) {
            Some(entry) if self.qualifiers.find_in(head).is_some() => entry.qualified(),
            _ => Reading::Other,
        }
    }

    fn read_part(&self, tokens: &[&str]) -> Reading {
        let leading = self.entries.leading(tokens);
        let trailing = self.entries.trailing(tokens);
        let Some(entry) = leading.or(trailing) else {
            return Reading::Other;
        };
        let is_mixed = leading.zip(trailing).is_some_and(|(a, b)| a.polarity != b.polarity);
        let is_short = tokens.len() <= MAX_QUALIFIED_TOKENS;
        if is_short || is_mixed || self.qualifiers.find_in(tokens).is_some() {
            entry.qualified()
        } else {
            Reading::Other
        }
    }

    pub(super) fn whole(&self, tokens: &[&str]) -> Option<Whole<'_>> {
        if let Some(entry) = self.once_or_repeated(tokens) {
            return Some(Whole::Agreed(entry));
        }
        let before = tokens.iter().take_while(|token| is_symbol(token)).count();
        let (before, rest) = tokens.split_at(before);
        let after = rest.iter().rev().take_while(|token| is_symbol(token)).count();
        let (words, after) = rest.split_at(rest.len() - after);

        let mut found = Vec::with_capacity(tokens.len());
        if !words.is_empty() {
            found.push(self.once_or_repeated(words)?);
        }
        for symbol in before.iter().chain(after) {
            found.push(self.entries.get(&[symbol])?);
        }
        let first = *found.first()?;
        let agreed = found.iter().all(|entry| entry.polarity == first.polarity);
        Some(if agreed { Whole::Agreed(first) } else { Whole::Mixed(first) })
    }

    fn once_or_repeated(&self, tokens: &[&str]) -> Option<&Entry> {
        (1..=tokens.len()).rev().filter(|n| tokens.len().is_multiple_of(*n)).find_map(|n| {
            let mut repeats = tokens.chunks(n).map(|repeat| self.entries.get(repeat));
            let first = repeats.next()??;
            let is_first = |entry: Option<&Entry>| entry.is_some_and(|entry| entry.squeezed == first.squeezed);
            repeats.all(is_first).then_some(first)
        })
    }
}

/// The part of the text that is looked at, and whether there is more.
fn head(text: &str) -> (&str, bool) {
    match text.char_indices().nth(MAX_ANSWER_CHARS) {
        Some((end, _)) => (text.get(..end).unwrap_or_default(), true),
        None => (text, false),
    }
}

/// The tokens of a folded text, a symbol repeated in a row counted once.
pub(super) fn squeeze_symbols(folded: &str) -> Vec<&str> {
    let mut tokens: Vec<&str> = folded.split_whitespace().collect();
    tokens.dedup_by(|next, token| next == token && is_symbol(token));
    tokens
}
