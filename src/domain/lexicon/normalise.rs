//! Folding a text to the one form in which texts are compared.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

const ZERO_WIDTH_JOINER: char = '\u{200D}';
const ENCLOSING_KEYCAP: char = '\u{20E3}';

/// Folds a text: lower case, without accents, punctuation, skin tones, variation selectors and
/// invisible characters, its tokens separated by single spaces.
///
/// A token is a word, or one symbol (an emoji, with the parts that a zero-width joiner binds to
/// it). Punctuation separates words, except apostrophes, which join them (`don't` is `dont`).
/// A mark that changes what is said rather than how it is spelt stays, so that struck-through
/// letters, or a thumb in a prohibition circle, do not fold to the plain word or thumb.
///
/// Idempotent, total, and linear in the length of the text.
///
/// ```
/// use cscp::domain::lexicon::normalise;
/// assert_eq!(normalise("  NÃO,obrigado!👍🏽"), "nao obrigado 👍");
/// ```
#[must_use]
pub fn normalise(text: &str) -> String {
    if is_folded(text) {
        return text.to_owned();
    }
    let mut folded = Folded::new(text.len());
    let visible = text.chars().filter(|c| !is_invisible(*c));
    for c in visible.flat_map(spread).nfkd().flat_map(char::to_lowercase) {
        folded.push(c);
    }
    // What was dropped may have kept two marks apart: put them in canonical order again.
    folded.out.nfkd().collect()
}

/// Whether a text is small letters and digits of ASCII with one space between words, as most words of a lexicon are. Such a
/// text is folded; others may be, too.
fn is_folded(text: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    text.split(' ').all(is_word)
}

/// The characters a reader sees, compatibility forms as what they stand for (`…` as `...`), without
/// what folding drops from inside a word: only apostrophes stay.
pub(super) fn shown(text: &str) -> impl Iterator<Item = char> {
    let visible = text.chars().filter(|c| !is_invisible(*c));
    let is_hidden =
        |c: &char| matches!(*c, ZERO_WIDTH_JOINER | ENCLOSING_KEYCAP) || is_invisible(*c) || is_spelling(*c);
    visible.flat_map(spread).nfkd().filter(move |c| !is_hidden(c))
}

/// Whether a folded token is a symbol rather than a word.
pub(super) fn is_symbol(token: &str) -> bool {
    token.chars().next().is_some_and(|c| !c.is_alphanumeric())
}

/// The folded text with every run of one letter cut to that letter.
pub(super) fn squeeze(folded: &str) -> String {
    let mut out = String::with_capacity(folded.len());
    let mut last = None;
    for c in folded.chars() {
        if last != Some(c) || !c.is_alphabetic() {
            out.push(c);
        }
        last = Some(c);
    }
    out
}

/// Whether `text` is `entry` with letters repeated: the same letters in the same order, each run
/// at least as long. `siim` prolongs `sim`; `iso` does not prolong `isso`.
pub(super) fn prolongs(text: &str, entry: &str) -> bool {
    let mut of_text = Runs(text.chars().peekable());
    let mut of_entry = Runs(entry.chars().peekable());
    loop {
        match (of_text.next(), of_entry.next()) {
            (None, None) => return true,
            (Some((a, long)), Some((b, short))) if a == b && long >= short => {}
            _ => return false,
        }
    }
}

struct Runs<'a>(std::iter::Peekable<std::str::Chars<'a>>);

impl Iterator for Runs<'_> {
    type Item = (char, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.0.next()?;
        let mut length = 1;
        while self.0.next_if_eq(&first).is_some() {
            length += 1;
        }
        Some((first, length))
    }
}

/// A character with what must happen to it before decomposition: circled numbers are kept apart
/// (`①②` is not `12`), and a spacing accent becomes the sign that it is typed for.
fn spread(c: char) -> impl Iterator<Item = char> {
    let parts = match c {
        '´' => [None, Some('\''), None],
        '¸' => [None, Some(','), None],
        '˜' => [None, Some('~'), None],
        '\u{2460}'..='\u{24FF}' | '\u{1F100}'..='\u{1F1AD}' => [Some(' '), Some(c), Some(' ')],
        _ => [None, Some(c), None],
    };
    parts.into_iter().flatten()
}

enum Class {
    Dropped,
    Separator,
    Word,
    Symbol,
    Mark,
    Joiner,
}

fn class(c: char) -> Class {
    match c {
        ZERO_WIDTH_JOINER => Class::Joiner,
        ENCLOSING_KEYCAP => Class::Separator,
        _ if is_invisible(c) || is_apostrophe(c) => Class::Dropped,
        _ if is_spelling(c) => Class::Dropped,
        _ if is_combining_mark(c) => Class::Mark,
        _ if c.is_whitespace() || c.is_control() || is_punctuation(c) => Class::Separator,
        _ if c.is_alphanumeric() => Class::Word,
        _ => Class::Symbol,
    }
}

/// Characters without a shape of their own: joiners other than ZWJ, direction marks, fillers,
/// variation selectors, tags; and the skin tones, which change no meaning.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}' | '\u{200C}' | '\u{200E}' | '\u{200F}'
        | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FEFF}'
        | '\u{FFA0}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0000}'..='\u{E0FFF}'
        | '\u{1F3FB}'..='\u{1F3FF}')
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '`' | '‘' | '’' | '‛' | 'ʼ' | 'ʹ' | 'ʻ' | '′')
}

/// The combining accents with which the supported languages spell, and which people leave out:
/// grave, acute, circumflex, tilde, diaeresis, ring, caron, cedilla. A list, not a category: any
/// other mark (`s̅i̅m̅`, `s̽i̽m̽`) may be a stroke through or over the word, and stays.
fn is_spelling(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{303}' | '\u{308}' | '\u{30A}' | '\u{30C}' | '\u{327}')
}

/// Punctuation that carries no answer. A list, not a category: a symbol that is not known here
/// stays as a token of its own, so that an unknown sign can never vanish next to a "yes".
pub(super) fn is_punctuation(c: char) -> bool {
    let is_known = matches!(c,
        '\u{2010}'..='\u{2027}' | '\u{2032}'..='\u{205E}' | '\u{2800}' | '\u{2E00}'..='\u{2E5D}'
        | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301F}' | '\u{3030}'
        | '¡' | '¿' | '«' | '»' | '·' | '՞' | '،' | '؛' | '؟' | '۔' | '।' | '॥' | '፧'
        | '❓' | '❔' | '❕' | '❗');
    is_known || (c.is_ascii_punctuation() && !matches!(c, '$' | '%' | '+'))
}

#[derive(Clone, Copy, PartialEq)]
enum Last {
    Gap,
    Word,
    Symbol,
    JoinedSymbol,
}

/// The folded text as far as it is written, and what it ends with.
struct Folded {
    out: String,
    last: Last,
}

impl Folded {
    fn new(capacity: usize) -> Self {
        Self { out: String::with_capacity(capacity), last: Last::Gap }
    }

    fn push(&mut self, c: char) {
        match (class(c), self.last) {
            (Class::Separator, _) => self.last = Last::Gap,
            (Class::Joiner, Last::Symbol) => self.last = Last::JoinedSymbol,
            (Class::Dropped | Class::Joiner, _) => {}
            (Class::Word, Last::Word) | (Class::Mark, Last::Word | Last::Symbol) => {
                self.out.push(c);
            }
            (Class::Mark, Last::JoinedSymbol) => {
                self.out.push(c);
                self.last = Last::Symbol;
            }
            (Class::Symbol, Last::JoinedSymbol) => {
                self.out.push(ZERO_WIDTH_JOINER);
                self.out.push(c);
                self.last = Last::Symbol;
            }
            (Class::Word | Class::Mark, _) => self.begin(c, Last::Word),
            (Class::Symbol, _) => self.begin(c, Last::Symbol),
        }
    }

    fn begin(&mut self, c: char, last: Last) {
        if !self.out.is_empty() {
            self.out.push(' ');
        }
        self.out.push(c);
        self.last = last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_what_only_looks_different() {
        for (text, folded) in [
            ("Não", "nao"),
            ("Na\u{303}o", "nao"),
            ("àáâãäåčç ñ Å", "aaaaaacc n a"),
            ("a\u{300}a\u{301}a\u{302}a\u{303}a\u{308}a\u{30A}c\u{30C}c\u{327} n\u{303}", "aaaaaacc n"),
            ("ＳＩＭ！", "sim"),
            ("\u{200F}s\u{200B}i\u{AD}m\u{2069}", "sim"),
            ("don’t", "dont"),
            ("don´t", "dont"),
            ("o.k.", "o k"),
            ("sim/não", "sim nao"),
            ("sim,mas", "sim mas"),
            ("a\u{0}b\r\nc\u{2800}d", "a b c d"),
            ("2,5 kg", "2 5 kg"),
            ("10% ou R$ 10", "10 % ou r $ 10"),
            ("1️⃣2️⃣", "1 2"),
            ("①②", "1 2"),
            ("👍🏽👍️", "👍 👍"),
            ("sim👍", "sim 👍"),
            ("🙅🏿‍♀️", "🙅\u{200D}♀"),
            ("❤️‍🔥", "❤\u{200D}🔥"),
            ("a\u{200D}b", "ab"),
            ("👍\u{200D}a", "👍 a"),
            ("", ""),
            (" \t\n", ""),
            ("?!…—", ""),
        ] {
            assert_eq!(normalise(text), folded, "{text:?}");
        }
    }

    #[test]
    fn keeps_what_changes_the_meaning() {
        assert_ne!(normalise("s\u{336}i\u{336}m\u{336}"), "sim");
        for mark in '\u{300}'..='\u{36F}' {
            let is_accent = "\u{300}\u{301}\u{302}\u{303}\u{308}\u{30A}\u{30C}\u{327}".contains(mark);
            // Three marks decompose into accents, and one is invisible.
            let is_accent = is_accent || matches!(mark, '\u{340}' | '\u{341}' | '\u{344}' | '\u{34F}');
            assert_eq!(normalise(&format!("s{mark}i{mark}m{mark}")) == "sim", is_accent, "{mark:?}");
        }
        assert_ne!(normalise("👍\u{20E0}"), "👍");
        assert_ne!(normalise("¬sim"), "sim");
        assert_ne!(normalise("か"), normalise("が"));
        assert_ne!(normalise("हा"), normalise("ही"));
    }

    #[test]
    fn folding_twice_is_folding_once_for_every_character() {
        for c in '\0'..=char::MAX {
            let once = normalise(&format!("{c} a{c}\u{336}b 👍\u{200D}{c}"));
            assert_eq!(normalise(&once), once, "{c:?}");
        }
    }

    #[test]
    fn knows_prolonged_words() {
        assert!(prolongs("siiimm", "sim"));
        assert!(prolongs("issso", "isso"));
        assert!(!prolongs("iso", "isso"));
        assert!(!prolongs("sin", "sim"));
        assert!(!prolongs("si", "sim"));
        assert_eq!(squeeze("siim 11 👍"), "sim 11 👍");
    }
}
