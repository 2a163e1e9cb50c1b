//! The words of an utterance, as the rules of reading see them.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::slots;
use crate::state_layer::language::folding::{plain, plain_text};
use crate::state_layer::language::value::{TypedValue, values};

/// In which tongue a text is, as far as its small words tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    Portuguese,
    Spanish,
    English,
    /// The words do not tell.
    Unknown,
}

/// A word, a typed value, or one sign of punctuation.
#[derive(Debug, Clone)]
pub(super) struct Word {
    /// As it was written.
    pub written: String,
    pub plain: String,
    pub stem: String,
    /// Where it starts, in bytes.
    pub start: usize,
    /// Where it ends, in bytes.
    pub end: usize,
    /// The typed value that it is.
    pub value: Option<TypedValue>,
    /// Whether it is punctuation.
    pub sign: bool,
    /// Whether it is written with a capital although it opens no sentence.
    pub name: bool,
}

impl Word {
    /// As it was written.
    pub(super) fn text(&self) -> String {
        self.value.as_ref().map_or_else(|| self.written.clone(), |value| value.text.clone())
    }

    /// Whether it is this sign of punctuation.
    pub(super) fn is(&self, sign: char) -> bool {
        self.sign && self.plain.starts_with(sign)
    }
}

/// Words of which each tongue has its own; the commoner ones are listed once.
const TELLING: &[(Tongue, &str)] = &[
    (
        Tongue::Portuguese,
        "o os um uma do da dos das no na nos nas em pra pro pras nao e mais ao pelo pela eu voce vc vcs gente meu minha seu sua \
        foi ficou agora hoje amanha ja tambem tb so esta ta vai tem isso esse essa ate com para sao segunda terca quarta quinta sexta pfv mudou \
        muda troca que por as aos dele dela num numa nossa nosso em deixa faz melhor verdade prazo reuniao passa moro entrega pedido",
    ),
    (
        Tongue::Spanish,
        "el la los las un una del en para con no es y mas al lo mi tu su fue quedo ahora hoy manana ya tambien esta va tiene eso \
        ese esa hasta yo usted se me te le son lunes martes miercoles jueves viernes porfa cambio paso mejor por que nuestro nuestra unos cambia \
        mis sus hay muy pero desde le les vez verdad plazo realidad pasa vivo entrega pedido",
    ),
    (
        Tongue::English,
        "the an of to in for with is are was it we i you my our now not and at be that this has have from will they your its it's \
        i'm we're by but please make go can does let's there been instead actually",
    ),
];

/// Which tongues a word tells of, in their order.
static TELLS: LazyLock<HashMap<&'static str, [bool; 3]>> = LazyLock::new(|| {
    let mut found: HashMap<&'static str, [bool; 3]> = HashMap::new();
    for (at, (_, list)) in TELLING.iter().enumerate() {
        for word in list.split_whitespace() {
            if let Some(tells) = found.entry(word).or_default().get_mut(at) {
                *tells = true;
            }
        }
    }
    found
});

/// The tongue of a text by its small words.
pub(super) fn tongue(words: &[Word]) -> Tongue {
    let mut scores = [0_usize; 3];
    for word in words.iter().filter(|word| !word.sign).take(60) {
        if let Some(tells) = TELLS.get(word.plain.as_str()) {
            for (score, tells) in scores.iter_mut().zip(tells) {
                *score += usize::from(*tells);
            }
        }
    }
    let best = scores.iter().copied().max().unwrap_or(0);
    let mut leaders = TELLING.iter().zip(scores).filter(|(_, score)| *score == best && best > 0);
    match (leaders.next(), leaders.next()) {
        (Some(((tongue, _), _)), None) => *tongue,
        _ => Tongue::Unknown,
    }
}

/// The stem of a word as it is written.
pub(super) fn stem_of(written: &str) -> String {
    let mut stem = plain_text(written);
    stem_in_place(&mut stem);
    stem
}

/// A stem that is the same for the number and gender of a word and for the commonest English endings.
pub(super) fn stem(word: &str) -> String {
    let mut stem = word.to_owned();
    stem_in_place(&mut stem);
    stem
}

/// Makes a stem of a word in plain letters.
pub(super) fn stem_in_place(word: &mut String) {
    match word.as_bytes() {
        [.., b'\'', b's'] => word.truncate(word.len() - 2),
        [.., b'\''] => word.truncate(word.len() - 1),
        _ => {}
    }
    let length = word.len();
    match word.as_bytes() {
        [.., b'o' | b'a', b'e', b's'] => replace_end(word, 3, "ao"),
        [.., b'c', b'i', b'o', b'n', b'e', b's'] => replace_end(word, 6, "cion"),
        [.., b'i', b'e', b's'] if length > 4 => replace_end(word, 3, "y"),
        [.., b'a', b'i', b's'] if length > 4 => replace_end(word, 3, "al"),
        [.., b's' | b'u' | b'i', b's'] => {}
        [.., b's'] if length > 3 => replace_end(word, 1, ""),
        _ => {}
    }
    let participle = match word.as_bytes() {
        [.., b'i', b'n', b'g'] if word.len() >= 6 => 3,
        [.., b'e', b'd'] if word.len() >= 6 => 2,
        _ => 0,
    };
    replace_end(word, participle, "");
    match word.as_bytes() {
        [_, _, .., one, other] if participle > 0 && one == other && !matches!(one, b'l' | b's') => {
            word.pop();
        }
        _ => {}
    }
    if word.len() > 4 && word.ends_with(['a', 'o', 'e']) {
        word.pop();
    }
}

/// Puts an ending in the place of so many letters at the end, none of them longer than a byte.
fn replace_end(word: &mut String, letters: usize, ending: &str) {
    word.truncate(word.len() - letters);
    word.push_str(ending);
}

/// Whether two stems are of one root: `traduca` and `traduzir`, `cosech` and `cosechar`.
pub(super) fn kin(one: &str, other: &str) -> bool {
    let short = one.len().min(other.len());
    if short < 6 || one.as_bytes().first() != other.as_bytes().first() {
        return false;
    }
    // Who does something is not what is done.
    let agent =
        |stem: &str| ["dor", "tor", "ador", "dora", "tora", "ora", "er", "ist"].iter().any(|end| stem.ends_with(end));
    if agent(one) != agent(other) {
        return false;
    }
    let common = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    common >= (short - 2).max(5) && common + 5 >= one.len().max(other.len())
}

/// Words that end in a full stop without ending a sentence.
const ABBREVIATED: &str =
    "mr mrs ms dr dra sr sra srta prof profa st ave av rd no vs inc ltd jr sgt eng av. r c dept ext tel num";

/// Whether a full stop after this word ends no sentence.
pub(super) fn is_abbreviated(word: &str) -> bool {
    ABBREVIATED.split_whitespace().any(|short| short == word)
}

impl Word {
    fn of_value(value: TypedValue, end: usize) -> Self {
        let plain = plain_text(&value.text);
        Self {
            written: String::new(),
            stem: plain.clone(),
            plain,
            start: value.span.start,
            end,
            value: Some(value),
            sign: false,
            name: false,
        }
    }

    /// `opens`: it is the first word of a sentence, where capitals say nothing.
    fn of_letters(written: &str, start: usize, opens: bool) -> Self {
        let plain = plain_text(written);
        let own = plain == "i" || plain.starts_with("i'");
        let name = written.starts_with(char::is_uppercase) && !opens && (!own || plain == "i");
        let (stem, end) = (stem(&plain), start + written.len());
        Self { written: written.to_owned(), stem, plain, start, end, value: None, sign: false, name }
    }

    fn of_sign(letter: char, start: usize) -> Self {
        let plain = plain(letter).to_string();
        let (stem, end) = (String::new(), start + letter.len_utf8());
        Self { written: plain.clone(), stem, plain, start, end, value: None, sign: true, name: false }
    }
}

/// The words of a text.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut typed = values(text).into_iter().peekable();
    let mut found: Vec<Word> = Vec::new();
    let mut opens = true;
    let mut at = 0;
    while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
        if let Some(value) = typed.next_if(|value| value.span.start <= at) {
            let end = value.span.end.max(at + letter.len_utf8());
            found.push(Word::of_value(value, end));
            opens = false;
            at = end;
            continue;
        }
        let limit = typed.peek().map_or(text.len(), |value| value.span.start);
        let end = word_end(text, at, limit);
        if end > at {
            found.push(Word::of_letters(text.get(at..end).unwrap_or_default(), at, opens));
            opens = false;
            at = end;
            continue;
        }
        let end = at + letter.len_utf8();
        if letter == '&' {
            found.push(Word { sign: false, name: true, ..Word::of_sign(letter, at) });
        }
        if matches!(letter, '.' | ',' | '!' | '?' | ';' | ':' | '\n' | '(' | ')' | '—' | '–' | '-' | '/') {
            let abbreviated =
                letter == '.' && found.last().is_some_and(|word| word.end == at && is_abbreviated(&word.plain));
            if !abbreviated {
                found.push(Word::of_sign(letter, at));
                opens |= matches!(letter, '.' | '!' | '?' | '\n' | ';' | ':');
            }
        }
        at = end;
    }
    found
}

/// Where the word that starts here ends; letters, digits, and signs between letters.
fn word_end(text: &str, at: usize, limit: usize) -> usize {
    let mut end = at;
    let Some(rest) = text.get(at..limit.max(at)) else {
        return at;
    };
    let mut letters = rest.char_indices().peekable();
    while let Some((offset, letter)) = letters.next() {
        let joins = matches!(letter, '\'' | '’' | '-' | '.' | '&' | '/')
            && offset > 0
            && letters.peek().is_some_and(|(_, next)| next.is_alphanumeric());
        if letter.is_alphanumeric() || letter == '_' || joins || (letter == '+' && offset > 0) {
            end = at + offset + letter.len_utf8();
        } else {
            break;
        }
    }
    end
}

/// The words of a key or a value: letters and digits.
pub(super) fn lexemes(text: &str) -> Lexemes<'_> {
    Lexemes { rest: text }
}

/// Words one after the other. Every fact's are looked through for every utterance, so plain signs are told by bytes.
pub(super) struct Lexemes<'a> {
    rest: &'a str,
}

impl<'a> Lexemes<'a> {
    /// The next word of a text with letters beyond ASCII in it.
    fn next_of(&mut self, text: &'a str) -> Option<&'a str> {
        let from = text.trim_start_matches(|letter: char| !letter.is_alphanumeric());
        let end = from.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(from.len());
        let (word, rest) = from.split_at_checked(end)?;
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

impl<'a> Iterator for Lexemes<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest;
        let mut start = text.len();
        for (at, byte) in text.bytes().enumerate() {
            if byte.is_ascii_alphanumeric() {
                start = start.min(at);
            } else if !byte.is_ascii() {
                return self.next_of(text.get(start.min(at)..)?);
            } else if start < at {
                self.rest = text.get(at..)?;
                return text.get(start..at);
            }
        }
        self.rest = "";
        text.get(start..).filter(|word| !word.is_empty())
    }
}

/// The stems of a key's or a value's words, with the slots that they name.
pub(super) fn terms(text: &str) -> Vec<(String, &'static [&'static str])> {
    lexemes(text)
        .map(|word| {
            let stem = stem_of(word);
            let slots = slots::of(&stem);
            (stem, slots)
        })
        .collect()
}
