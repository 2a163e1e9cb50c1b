//! Reading a text as an answer: yes, no, an option's number, or nothing of the kind.
//!
//! A text is an answer only if the *whole* message, folded by [`normalise()`], is an entry of a
//! lexicon file, or is put together of entries of one polarity and words that the file lets stand
//! beside them. There is no fuzzy matching: every rule tried that tolerated a typo also let some
//! other word confirm (`poder`, `certa`, `now`). Whatever merely resembles an answer is
//! [`Reading::Qualified`], which never binds; the rest is [`Reading::Other`].
//!
//! Taking an answer back is made easier than giving one: [`Lexicon::withdrawal`] listens for it.

mod build;
mod composing;
mod composition;
mod explaining;
mod forms;
mod hearing;
mod hidden;
mod naming;
mod normalise;
mod option;
mod phrases;
mod plain;
mod reading;
mod withdrawal;

use serde::{Deserialize, Serialize};

use phrases::Phrases;

pub use build::LexiconError;
pub use composition::{Beside, BesideClass, Composing};
pub use explaining::{Explained, ExplainedPart, ReadBy};
pub use hidden::has_hidden;
pub use naming::{Naming, Says};
pub use normalise::normalise;
pub use option::read_number;
pub use plain::is_plain;
pub use reading::{MAX_ANSWER_CHARS, MAX_QUALIFIED_TOKENS};
pub use withdrawal::{MAX_HESITANT_TOKENS, MAX_NEGATED_TOKENS, MAX_WITHDRAWAL_CHARS, Withdrawal};

/// One locale's answers, as a file in `policies/lexicons/` holds them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LexiconFile {
    /// BCP 47 tag of the language the entries belong to, as `pt-BR`.
    pub locale: String,
    /// Version of this file; every reading carries it, so that an old decision can be explained.
    pub version: String,
    /// Messages that say yes when they are the whole message. Several words are one entry.
    pub affirmative: Vec<String>,
    /// Messages that say no when they are the whole message.
    pub negative: Vec<String>,
    /// Words that negate: an affirmative entry, of any file, that contains one is refused. They also take a yes back
    /// ([`Withdrawal::Refusal`]).
    pub negations: Vec<String>,
    /// Words that take an answer half back or put a condition on it, as `mas` or `but`.
    pub qualifiers: Vec<String>,
    /// Phrases that take a yes back wherever they stand ([`Withdrawal::CallOff`]), as `cancela` or `my mistake`.
    #[serde(default)]
    pub call_offs: Vec<String>,
    /// Words that do so only as the whole message, since among other words they mean something else, as `para`.
    #[serde(default)]
    pub call_offs_alone: Vec<String>,
    /// Phrases that put a yes off ([`Withdrawal::Hesitation`]), as `peraí` or `not yet`.
    #[serde(default)]
    pub hesitations: Vec<String>,
    /// Phrases that take nothing back although some have a negation in them, as `no problem`, and what may stand
    /// beside them, as `thanks`. They count only where they are the whole message.
    #[serde(default)]
    pub courtesies: Vec<String>,
    /// Words that mean *not* wherever they stand in the label of a button, so that it cannot be a yes. Words that mean
    /// something else in another language of the tenant's, as *no* does in Portuguese, do not belong here.
    #[serde(default)]
    pub label_negations: Vec<String>,
    /// Words that may stand before an option's number, as `opção` in "opção 2".
    #[serde(default)]
    pub option_words: Vec<String>,
    /// Ordinary words of this language that look like some entry. An entry of *another* file that
    /// is written like one is left out, and one that only becomes like it by repeated letters is
    /// then matched as written only.
    #[serde(default)]
    pub other_words: Vec<String>,
    /// How answers of several pieces are put together.
    #[serde(default)]
    pub composing: Composing,
}

/// Which version of which locale's file a [`Lexicon`] was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LexiconVersion {
    pub locale: String,
    pub version: String,
}

/// What a text is, taken as an answer. Only the first two can ever bind to a question.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Reading {
    /// The whole message is an affirmative entry.
    Affirmative {
        /// Locale of the file the entry stands in.
        locale: String,
        /// The entry as the file writes it.
        entry: String,
        /// Version of that file.
        version: String,
    },
    /// The whole message is a negative entry.
    Negative {
        /// Locale of the file the entry stands in.
        locale: String,
        /// The entry as the file writes it.
        entry: String,
        /// Version of that file.
        version: String,
    },
    /// Begins or ends like an answer but is not plainly one: it says more, says both yes and no,
    /// or is not plain ([`is_plain`]: asks, trails off, is struck through …). Never binds.
    Qualified {
        /// Locale of the file the entry stands in.
        locale: String,
        /// The entry the message begins (or else ends) with, as the file writes it.
        entry: String,
        /// Version of that file.
        version: String,
    },
    #[default]
    Other,
}

/// The answers of one or more files, folded and merged for reading.
#[derive(Debug, Clone)]
pub struct Lexicon {
    versions: Vec<LexiconVersion>,
    entries: phrases::Entries,
    qualifiers: Phrases,
    option_words: Phrases,
    withdrawals: withdrawal::WithdrawalPhrases,
    /// Words that say what has happened, in every language: "cancelled".
    states: Phrases,
    grammars: Vec<composing::Grammar>,
    forms: forms::Forms,
    /// The same for each language alone, where there are several.
    by_language: Vec<Lexicon>,
}

impl Lexicon {
    /// The files this lexicon was built from, in the order given to [`Lexicon::build`].
    #[must_use]
    pub fn versions(&self) -> &[LexiconVersion] {
        &self.versions
    }

    /// What reads a message in this locale: the files of exactly that locale, else those of its language, else all of
    /// them. Words that answer in their own language only are read by the first two.
    #[must_use]
    pub fn for_locale(&self, locale: Option<&str>) -> &Self {
        let Some(locale) = locale else { return self };
        let tongue = composition::language(locale);
        let exact = |lexicon: &&Self| lexicon.versions.iter().all(|own| own.locale.eq_ignore_ascii_case(locale));
        let speaks = |lexicon: &&Self| lexicon.versions.iter().any(|own| composition::language(&own.locale) == tongue);
        let picked = self.by_language.iter().find(exact).or_else(|| self.by_language.iter().find(speaks));
        picked.unwrap_or(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reading_is_tagged_on_the_wire() -> Result<(), serde_json::Error> {
        let (locale, entry, version) = ("es".into(), "sí".into(), "1".into());
        let reading = Reading::Affirmative { locale, entry, version };
        let wire = json!({"kind": "affirmative", "locale": "es", "entry": "sí", "version": "1"});
        assert_eq!(serde_json::to_value(&reading)?, wire);
        assert_eq!(serde_json::from_value::<Reading>(wire)?, reading);
        assert_eq!(serde_json::to_value(Reading::Other)?, json!({"kind": "other"}));
        Ok(())
    }
}
