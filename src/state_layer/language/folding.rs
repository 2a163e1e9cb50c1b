//! Letters without case and accents, one for one: a folded text has as many letters as the text it came from.

use std::borrow::Cow;

/// The lower-case letter without its accent; any other sign as it is.
#[must_use]
pub fn plain(letter: char) -> char {
    if letter.is_ascii() {
        return letter.to_ascii_lowercase();
    }
    let lower = letter.to_lowercase().next().unwrap_or(letter);
    match lower {
        'á' | 'à' | 'â' | 'ã' | 'ä' | 'å' | 'ª' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'í' | 'ì' | 'î' | 'ï' => 'i',
        'ó' | 'ò' | 'ô' | 'õ' | 'ö' | 'º' => 'o',
        'ú' | 'ù' | 'û' | 'ü' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        'ý' | 'ÿ' => 'y',
        '\u{2018}' | '\u{2019}' | '\u{00b4}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        '\u{2013}' | '\u{2014}' => '-',
        '\u{00a0}' | '\u{202f}' => ' ',
        other => other,
    }
}

/// A text in plain letters.
#[must_use]
pub fn plain_text(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.chars().map(plain).collect() }
}

/// A text in plain letters, without a copy where it is already.
#[must_use]
pub fn plain_words(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_plain { Cow::Borrowed(text) } else { Cow::Owned(plain_text(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_lose_case_and_accent_and_nothing_else() {
        assert_eq!(plain_text("Às 15h, AÇÃO — Señor’s 1ª"), "as 15h, acao - senor's 1a");
        assert_eq!(plain_text("日本 €"), "日本 €");
        for text in ["as 15h, acao", "Às 15h", "ação", "R$ 5", ""] {
            assert_eq!(plain_words(text), plain_text(text));
        }
    }
}
