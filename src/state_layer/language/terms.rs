//! Words: folding, language, stems. Tables are built once.

use std::collections::HashSet;
use std::sync::OnceLock;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

pub use super::sentence::sentences;

/// A text of fewer words than this is too short for statistics of letters: its little words tell more.
const SHORT: usize = 12;
/// Longer words than this are no words, and stemming them costs.
const LONGEST_WORD: usize = 64;

/// The languages with stemming and stop words of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    Portuguese,
    Spanish,
    English,
    Other,
}

struct Tables {
    portuguese: HashSet<String>,
    spanish: HashSet<String>,
    english: HashSet<String>,
}

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let list = |code: &str| stop_words::lookup(code).unwrap_or_default().iter().map(|word| folded(word)).collect();
        Tables { portuguese: list("pt"), spanish: list("es"), english: list("en") }
    })
}

impl Language {
    /// The languages with tables of their own.
    pub const KNOWN: [Self; 3] = [Self::Portuguese, Self::Spanish, Self::English];

    fn stop_words(self) -> Option<&'static HashSet<String>> {
        match self {
            Self::Portuguese => Some(&tables().portuguese),
            Self::Spanish => Some(&tables().spanish),
            Self::English => Some(&tables().english),
            Self::Other => None,
        }
    }
}

/// The language of a text; short texts are guessed.
///
/// The little words and letters of its own decide in a short text, statistics of letters in a long one. What could be
/// either is taken for English.
#[must_use]
pub fn language(text: &str) -> Language {
    let words: Vec<String> = text.unicode_words().take(SHORT).map(folded).collect();
    let guess = match whichlang::detect_language(text) {
        whichlang::Lang::Por => Language::Portuguese,
        whichlang::Lang::Spa => Language::Spanish,
        whichlang::Lang::Eng => Language::English,
        _ => Language::Other,
    };
    if words.len() >= SHORT || text.chars().any(|c| c.is_alphabetic() && c > '\u{024F}') {
        return guess;
    }
    let marks = own_letters(text);
    let scores = Language::KNOWN.map(|language| {
        let little = words.iter().filter(|word| language.stop_words().is_some_and(|list| list.contains(*word))).count();
        little * 2 + usize::from(marks == Some(language)) * 4 + usize::from(guess == language)
    });
    let best = scores.iter().copied().max().unwrap_or_default();
    let mut leaders =
        Language::KNOWN.into_iter().zip(scores).filter(|(_, score)| *score == best).map(|(language, _)| language);
    match (leaders.next(), leaders.next()) {
        (Some(only), None) => only,
        _ => Language::English,
    }
}

/// The language whose spelling alone has these letters.
fn own_letters(text: &str) -> Option<Language> {
    text.chars().find_map(|c| match c {
        'ã' | 'õ' | 'ç' | 'â' | 'ê' | 'ô' | 'Ã' | 'Õ' | 'Ç' | 'Â' | 'Ê' | 'Ô' => Some(Language::Portuguese),
        'ñ' | 'Ñ' | '¿' | '¡' => Some(Language::Spanish),
        _ => None,
    })
}

/// Lower case without accents, and nothing else changed: compatibility forms are spelt out (`…` is `...`).
#[must_use]
pub fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let accent = |c: &char| ('\u{0300}'..='\u{036F}').contains(c);
    let lower: String = text.nfkd().filter(|c| !accent(c)).flat_map(char::to_lowercase).collect();
    // Lower case may bring marks of its own, and letters that decompose.
    lower.nfkd().filter(|c| !accent(c)).collect()
}

/// The words of a text that carry meaning, stemmed in its language, in order, with repetitions.
#[must_use]
pub fn stems(text: &str, language: Language) -> Vec<String> {
    let stemmer = Stemming::of(language);
    words(text).filter_map(|word| stemmer.stem(word)).collect()
}

/// The words of a text as they are written; a raw key such as `project_budget` is two.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.unicode_words().flat_map(|word| word.split('_')).filter(|word| !word.is_empty())
}

/// Whether a word carries no meaning of its own in a language.
#[must_use]
pub fn is_stop_word(folded_word: &str, language: Language) -> bool {
    language.stop_words().is_some_and(|list| list.contains(folded_word))
}

/// Stemming in one language.
pub struct Stemming {
    language: Language,
    stemmer: Option<Stemmer>,
}

impl std::fmt::Debug for Stemming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stemming").field("language", &self.language).finish_non_exhaustive()
    }
}

impl Stemming {
    /// Stemming in this language; in others, words stay as they are but for folding.
    #[must_use]
    pub fn of(language: Language) -> Self {
        let algorithm = match language {
            Language::Portuguese => Some(Algorithm::Portuguese),
            Language::Spanish => Some(Algorithm::Spanish),
            Language::English => Some(Algorithm::English),
            Language::Other => None,
        };
        Self { language, stemmer: algorithm.map(Stemmer::create) }
    }

    /// The stem of a word, folded; none for a word without meaning of its own.
    #[must_use]
    pub fn stem(&self, word: &str) -> Option<String> {
        if word.len() > LONGEST_WORD {
            return Some(folded(word));
        }
        // Typographic apostrophes are apostrophes to the lists.
        let lower = word.to_lowercase().replace('’', "'");
        if is_stop_word(&folded(&lower), self.language) {
            return None;
        }
        let stem = self.stemmer.as_ref().map_or(lower.clone(), |stemmer| stemmer.stem(&lower).into_owned());
        let stem = folded(&stem);
        if stem.is_empty() { Some(folded(&lower)) } else { Some(stem) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn languages_are_told_apart_even_in_short_texts() {
        let cases = [
            ("Qual é o endereço de entrega?", Language::Portuguese),
            ("o desconto agora é de 25%", Language::Portuguese),
            ("muda a reunião para quinta", Language::Portuguese),
            ("¿Cuál es la dirección?", Language::Spanish),
            ("la reunión es el jueves", Language::Spanish),
            ("cambia la entrega al lunes", Language::Spanish),
            ("What's the project budget?", Language::English),
            ("the meeting is on Thursday", Language::English),
            ("$50,000", Language::English),
            ("", Language::English),
            ("Мы переехали в новый офис", Language::Other),
        ];
        for (text, want) in cases {
            assert_eq!(language(text), want, "{text}");
        }
    }

    #[test]
    fn inflections_and_accents_meet_in_one_stem() {
        let cases = [
            (Language::Portuguese, "endereços de entrega", "Endereço das entregas"),
            (Language::Spanish, "direcciones", "dirección"),
            (Language::English, "The meetings", "meeting"),
            (Language::English, "project_budget", "Project budgets"),
        ];
        for (language, a, b) in cases {
            assert_eq!(stems(a, language), stems(b, language), "{a} / {b}");
            assert!(!stems(a, language).is_empty());
        }
        assert_eq!(stems("don’t it's the", Language::English), Vec::<String>::new());
        assert_eq!(stems("№5 ABC-12", Language::Other), ["5", "abc", "12"]);
    }

    proptest! {
        #[test]
        fn folding_is_idempotent(text in "\\PC{0,40}") {
            prop_assert_eq!(folded(&folded(&text)), folded(&text));
        }

        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,80}") {
            let language = language(&text);
            prop_assert!(stems(&text, language).iter().all(|stem| !stem.is_empty()));
        }
    }
}
