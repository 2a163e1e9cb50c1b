//! Reading the number of an option.

use super::Lexicon;
use super::hidden::has_hidden;
use super::normalise::normalise;
use super::plain::is_plain;

/// Longest text, in characters, that can name an option by its number.
const MAX_OPTION_CHARS: usize = 40;

/// Reads a text that is nothing but a number from 1 to 99: `2`, `2.`, `2)`, `２` or `2️⃣`.
///
/// No other shape: not `-2`, `2,5`, `2?`, `02`, `2️⃣3️⃣`, `②` or `2²`, which say something else or
/// may; and not if a character in it cannot be seen.
#[must_use]
pub fn read_number(text: &str) -> Option<u32> {
    if text.chars().nth(MAX_OPTION_CHARS).is_some() || has_hidden(text) {
        return None;
    }
    number(text.trim_matches(is_blank))
}

impl Lexicon {
    /// Reads a text that names an option by its number, alone as in [`read_number`] or after one
    /// of the files' `option_words` ("opção 2"). Only if the text is plain ([`is_plain`]).
    #[must_use]
    pub fn read_option(&self, text: &str) -> Option<u32> {
        if text.chars().nth(MAX_OPTION_CHARS).is_some() || !is_plain(text) {
            return None;
        }
        let text = text.trim_matches(is_blank);
        let Some((words, last)) = text.rsplit_once(char::is_whitespace) else {
            return number(text);
        };
        let is_named = is_only_words(words) && self.option_words.contains(&normalise(words));
        is_named.then(|| number(last)).flatten()
    }
}

/// Whether the words before a number are only words, so that no sign before it is overlooked.
fn is_only_words(words: &str) -> bool {
    let mut chars = words.trim_end_matches(':').chars();
    chars.all(|c| c.is_alphabetic() || c == ' ' || matches!(c, '\u{300}'..='\u{303}'))
}

fn number(token: &str) -> Option<u32> {
    let visible: String = token.chars().filter(|c| !is_unseen(*c)).collect();
    if visible == "🔟" {
        return Some(10);
    }
    let digits = match visible.strip_suffix('\u{20E3}') {
        Some(key) if key.chars().count() == 1 => key,
        Some(_) => return None,
        None => visible.strip_suffix(['.', ')']).unwrap_or(&visible),
    };
    let value = digits.chars().try_fold(0_u32, |value, c| {
        let more = value.checked_mul(10)?.checked_add(digit(c)?)?;
        (1..=99).contains(&more).then_some(more)
    })?;
    (value > 0).then_some(value)
}

fn digit(c: char) -> Option<u32> {
    match c {
        '０'..='９' => Some(u32::from(c) - u32::from('０')),
        _ => c.to_digit(10),
    }
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || is_unseen(c)
}

/// What phones put around a typed number, or into a keycap, without showing it.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202C}' | '\u{2066}'..='\u{2069}' | '\u{FE0E}'
        | '\u{FE0F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_small_positive_numbers() {
        for (text, number) in [
            ("2", 2),
            (" 2\n", 2),
            ("2.", 2),
            ("2)", 2),
            ("2️⃣", 2),
            ("2\u{20E3}", 2),
            ("🔟", 10),
            ("２", 2),
            ("\u{200E}12\u{200F}", 12),
            ("99", 99),
        ] {
            assert_eq!(read_number(text), Some(number), "{text:?}");
        }
    }

    #[test]
    fn reads_no_other_shape() {
        for text in [
            "",
            " ",
            "0",
            "02",
            "00",
            "100",
            "-2",
            "+2",
            "2,5",
            "2.5",
            "2..",
            "2?",
            "¿2",
            "2%",
            "R$2",
            "R$ 2",
            "1 2",
            "1/2",
            "½",
            "2²",
            "²",
            "②",
            "①②",
            "1️⃣2️⃣",
            "12️⃣",
            ".",
            ")",
            ".2",
            "2a",
            "a",
            "٢",
            "II",
            "dois",
            "opção 2",
            "99999999999999999999",
            "\u{20E3}",
            "~2~",
            "2\n3",
            "2\u{200B}",
            "1\u{200E}2",
            "\u{FEFF}2",
            "2\u{FE0F}",
            "2\u{0}",
        ] {
            assert_eq!(read_number(text), None, "{text:?}");
        }
        assert_eq!(read_number(&"1".repeat(200_000)), None);
    }
}
