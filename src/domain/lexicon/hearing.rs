//! A text as somebody says it: its tokens, and where a pause is between them.

use unicode_normalization::UnicodeNormalization;

use super::normalise::{is_symbol, normalise};
use super::phrases::Token;
use super::reading::squeeze_symbols;

/// The most tokens of a text that is read piece by piece.
pub(super) const MAX_HEARD_TOKENS: usize = 14;

/// A token with what folding drops of it.
#[derive(Debug)]
pub(super) struct Heard<'a> {
    pub(super) token: Token<'a>,
    /// Whether punctuation or an emoji parts it from the token before it.
    pub(super) after_pause: bool,
    /// Whether its word was written with an acute accent.
    pub(super) is_accented: bool,
}

/// How a token was written.
struct Written {
    after_pause: bool,
    is_accented: bool,
}

/// The tokens of a text that folds to `folded`; none if there are too many, or if they cannot be told apart from the
/// punctuation around them.
pub(super) fn hear<'a>(text: &str, folded: &'a str) -> Option<Vec<Heard<'a>>> {
    let words: Vec<&str> = squeeze_symbols(folded);
    if words.len() > MAX_HEARD_TOKENS {
        return None;
    }
    let mut written: Vec<(String, Written)> = Vec::new();
    let mut after_pause = false;
    for part in text.split_inclusive(is_pause) {
        for chunk in part.split_whitespace() {
            let is_accented = chunk.nfd().any(|c| c == '\u{301}');
            for token in normalise(chunk).split(' ').filter(|token| !token.is_empty()) {
                if written.last().is_none_or(|(last, _)| last != token || !is_symbol(token)) {
                    written.push((token.to_owned(), Written { after_pause, is_accented }));
                }
                after_pause = false;
            }
        }
        after_pause |= part.ends_with(is_pause);
    }
    let is_same = words.len() == written.len() && words.iter().zip(&written).all(|(word, (same, _))| word == same);
    is_same.then(|| {
        let mut after_symbol = false;
        let heard = words.iter().zip(written).map(|(word, (_, written))| {
            let parted = after_symbol || is_symbol(word);
            after_symbol = is_symbol(word);
            Heard {
                token: Token::new(word),
                after_pause: written.after_pause || parted,
                is_accented: written.is_accented,
            }
        });
        heard.collect()
    })
}

/// Punctuation after which somebody begins anew. What is not listed here parts nothing, which is the stricter reading.
fn is_pause(c: char) -> bool {
    matches!(c, ',' | '.' | '!' | ';' | ':' | '¡' | '—' | '–' | '\n' | '\r' | '，' | '！')
}
