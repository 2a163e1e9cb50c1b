//! Hearing that somebody takes an answer back.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::hidden::without_hidden;
use super::normalise::normalise;
use super::phrases::{Entry, Polarity, SpokenPhrases, Token};
use super::reading::{Whole, squeeze_symbols};
use super::{Lexicon, Reading};

/// How much of a message, in characters, is searched for a withdrawal: as much as the longest transcript that is taken.
pub const MAX_WITHDRAWAL_CHARS: usize = 65_536;

/// The most tokens a message may have so that a word of a file's `negations` counts wherever it stands.
pub const MAX_NEGATED_TOKENS: usize = 6;

/// The most tokens a message may have so that a phrase of a file's `hesitations` counts wherever it stands.
pub const MAX_HESITANT_TOKENS: usize = 8;

/// In a longer message, a phrase counts that begins among this many first tokens ("please do not", "oh sorry wait") …
const LEADING_TOKENS: usize = 3;

/// … or ends among this many last ones ("I said no thanks").
const TRAILING_TOKENS: usize = 2;

/// What a message says against an answer that was given before and is not carried out yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Withdrawal {
    /// It refuses: a no, alone or with more.
    Refusal,
    /// It calls the matter off.
    CallOff,
    /// It asks to wait.
    Hesitation,
}

/// The phrases of all files by which an answer is taken back.
#[derive(Debug, Clone, Default)]
pub(super) struct WithdrawalPhrases {
    pub(super) negations: SpokenPhrases,
    pub(super) call_offs: SpokenPhrases,
    pub(super) call_offs_alone: SpokenPhrases,
    pub(super) hesitations: SpokenPhrases,
    pub(super) courtesies: SpokenPhrases,
    pub(super) label_negations: SpokenPhrases,
}

impl Lexicon {
    /// What the text says against a yes that was given before, if it says anything against it.
    ///
    /// To be asked only while that yes can still be stopped. Then a false alarm costs one more question, and a miss
    /// carries out what nobody wants any more; so more is heard here than [`Lexicon::read`] accepts as an answer:
    /// letters repeated, phrases among other words, words with hidden characters in them. `policies/lexicons/README.md`
    /// has the rules as a table.
    ///
    /// A text that [`Lexicon::read`] reads as affirmative withdraws nothing. Deterministic, total, and bounded by
    /// [`MAX_WITHDRAWAL_CHARS`].
    #[must_use]
    pub fn withdrawal(&self, text: &str) -> Option<Withdrawal> {
        let end = text.char_indices().nth(MAX_WITHDRAWAL_CHARS).map_or(text.len(), |(end, _)| end);
        let text = text.get(..end).unwrap_or_default();
        // A hidden character may stand inside a word, or stand for the space between two.
        let joined = without_hidden(text, "");
        let parted = without_hidden(text, " ");
        let first = self.heard(&joined);
        if joined == parted {
            return first;
        }
        let heard = [first, self.heard(&parted)].into_iter().flatten();
        heard.min_by_key(|heard| *heard == Withdrawal::Hesitation)
    }

    /// Whether the text calls things off by more than a no: then it is not about one question alone.
    #[must_use]
    pub fn calls_everything_off(&self, text: &str) -> bool {
        let folded = normalise(&without_hidden(text, ""));
        let words = squeeze_symbols(&folded);
        let tokens: Vec<Token<'_>> = words.iter().map(|word| Token::new(word)).collect();
        self.calls_off(&tokens)
    }

    /// Whether the label of a button says not, or nothing but to wait, so that it can mean no yes. A word that calls
    /// something off, or puts it off, may be the yes to just that: "cancel the order", "postpone delivery".
    #[must_use]
    pub fn is_no_label_of_yes(&self, label: &str) -> bool {
        let folded = normalise(label);
        let words = squeeze_symbols(&folded);
        let tokens: Vec<Token<'_>> = words.iter().map(|word| Token::new(word)).collect();
        let says_not = !self.withdrawals.label_negations.find(&tokens).is_empty();
        says_not || self.withdrawals.hesitations.cover(&tokens, |_| false)
    }

    fn heard(&self, text: &str) -> Option<Withdrawal> {
        let reading = self.read(text);
        match reading {
            Reading::Affirmative { .. } => return None,
            Reading::Negative { .. } => return Some(Withdrawal::Refusal),
            Reading::Qualified { .. } | Reading::Other => {}
        }
        let folded = normalise(text);
        let words = squeeze_symbols(&folded);
        let tokens: Vec<Token<'_>> = words.iter().map(|word| Token::new(word)).collect();
        let waits = self.withdrawals.hesitations.find(&tokens);
        let is_courteous = self.is_courteous(&tokens);
        let answers_no = matches!(reading, Reading::Qualified { .. }) && self.answers_no(&words, &waits);
        if answers_no && !is_courteous {
            Some(Withdrawal::Refusal)
        } else if self.calls_off(&tokens) || self.is_struck_yes(text) {
            Some(Withdrawal::CallOff)
        } else if is_courteous {
            None
        } else if self.negates(&tokens, &waits) {
            Some(Withdrawal::Refusal)
        } else {
            let is_heard = |span: &Range<usize>| counts(span, tokens.len(), MAX_HESITANT_TOKENS);
            // A yes with a condition, after a plain one, puts the condition on it.
            let is_conditional =
                matches!(reading, Reading::Qualified { .. }) && self.qualifiers.find_in(&words).is_some();
            (is_conditional || waits.iter().any(is_heard)).then_some(Withdrawal::Hesitation)
        }
    }

    /// Whether the answer that the text begins or ends with is a no. "Not yet" is none: its *no* is part of a
    /// hesitation.
    fn answers_no(&self, words: &[&str], waits: &[Range<usize>]) -> bool {
        let says_no = |entry: &&Entry| entry.polarity == Polarity::Negative;
        if let Some(whole) = self.whole(words) {
            return match whole {
                Whole::Agreed(entry) => says_no(&entry),
                Whole::Mixed(_) => true,
            };
        }
        let leading = self.entries.leading(words).filter(says_no).map(|entry| 0..entry.tokens());
        let trailing = self.entries.trailing(words).filter(says_no);
        let trailing = trailing.map(|entry| words.len() - entry.tokens()..words.len());
        leading.into_iter().chain(trailing).any(|span| !is_within(&span, waits))
    }

    fn calls_off(&self, tokens: &[Token<'_>]) -> bool {
        let phrases = &self.withdrawals;
        !phrases.call_offs.find(tokens).is_empty() || phrases.call_offs_alone.cover(tokens, |_| false)
    }

    fn negates(&self, tokens: &[Token<'_>], waits: &[Range<usize>]) -> bool {
        let negations = self.withdrawals.negations.find(tokens);
        negations.iter().any(|span| counts(span, tokens.len(), MAX_NEGATED_TOKENS) && !is_within(span, waits))
    }

    /// Whether the text is nothing but courtesies, of which some have a negation in them ("no problem, thanks"), and
    /// words that say yes.
    fn is_courteous(&self, tokens: &[Token<'_>]) -> bool {
        let says_yes = |words: &[Token<'_>]| {
            let words: Vec<&str> = words.iter().map(|token| token.text).collect();
            self.entries.get(&words).is_some_and(|entry| entry.polarity == Polarity::Affirmative)
        };
        self.withdrawals.courtesies.cover(tokens, says_yes)
    }

    /// Whether the text would be a yes if nothing in it were struck through.
    fn is_struck_yes(&self, text: &str) -> bool {
        let tildes = text.chars().filter(|c| is_tilde(*c)).count();
        let is_stroke = |c: char| is_overlay(c) || (tildes > 1 && is_tilde(c));
        let unstruck: String = text.chars().filter(|c| !is_stroke(*c)).collect();
        unstruck.len() < text.len() && matches!(self.read(&unstruck), Reading::Affirmative { .. })
    }
}

/// Whether a phrase stands where it speaks for the whole message.
fn counts(span: &Range<usize>, tokens: usize, anywhere_up_to: usize) -> bool {
    tokens <= anywhere_up_to || span.start < LEADING_TOKENS || span.end + TRAILING_TOKENS > tokens
}

fn is_within(span: &Range<usize>, others: &[Range<usize>]) -> bool {
    others.iter().any(|other| other.start <= span.start && span.end <= other.end)
}

fn is_tilde(c: char) -> bool {
    matches!(c, '~' | '～')
}

/// A combining stroke through a letter, or a prohibition sign over a symbol.
fn is_overlay(c: char) -> bool {
    matches!(c, '\u{334}'..='\u{338}' | '\u{20D2}' | '\u{20D3}' | '\u{20E0}' | '\u{20E5}' | '\u{20E6}' | '\u{20EB}')
}
