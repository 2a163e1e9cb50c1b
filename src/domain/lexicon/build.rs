//! Building a lexicon from its files, and refusing files with which a wrong yes could be read.

use std::collections::BTreeSet;

use super::composition::{grammar, language};
use super::forms::Forms;
use super::normalise::{normalise, squeeze};
use super::phrases::{Conflict, Entries, Entry, Phrases, Polarity, SpokenPhrases};
use super::plain::is_plain;
use super::reading::MAX_ANSWER_CHARS;
use super::withdrawal::WithdrawalPhrases;
use super::{Lexicon, LexiconFile, LexiconVersion};

/// Why lexicon files cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LexiconError {
    /// A file does not say which locale or version it is.
    #[error("lexicon file {position}: `locale` and `version` must not be blank")]
    Unnamed {
        /// Position of the file among those given, from 1.
        position: usize,
    },
    /// An entry of which nothing is left to compare.
    #[error("lexicon {locale}: {entry:?} has neither a word nor an emoji")]
    EmptyEntry {
        locale: String,
        /// The entry as written.
        entry: String,
    },
    /// An entry longer than any text that is read as an answer.
    #[error("lexicon {locale}: {entry:?} is longer than {MAX_ANSWER_CHARS} characters")]
    LongEntry {
        locale: String,
        /// The entry as written.
        entry: String,
    },
    /// An entry that is not plain ([`is_plain`]): such a text is never an answer.
    #[error(
        "lexicon {locale}: {entry:?} is a question, quoted, struck through, negated, left open or has hidden characters"
    )]
    NoAnswer {
        locale: String,
        /// The entry as written.
        entry: String,
    },
    /// Two entries that read alike, repeated letters aside, and say the opposite.
    #[error(
        "{affirmative:?} says yes in lexicon {affirmative_locale} but reads like {negative:?}, \
         which says no in lexicon {negative_locale}"
    )]
    Conflict {
        /// The affirmative entry as written.
        affirmative: String,
        /// Locale of the file it stands in.
        affirmative_locale: String,
        /// The negative entry as written.
        negative: String,
        /// Locale of the file it stands in.
        negative_locale: String,
    },
    /// An affirmative entry that contains a negation or a negative entry.
    #[error("lexicon {locale}: affirmative {entry:?} contains {negation:?}, which says no")]
    NegatedAffirmative {
        locale: String,
        /// The affirmative entry as written.
        entry: String,
        /// The negation in it, folded.
        negation: String,
    },
    /// An affirmative entry that contains one of its own file's qualifiers.
    #[error("lexicon {locale}: affirmative {entry:?} contains the qualifier {qualifier:?}")]
    QualifiedEntry {
        locale: String,
        /// The affirmative entry as written.
        entry: String,
        /// The qualifier in it, folded.
        qualifier: String,
    },
    /// Words that may stand beside an answer and say not, or put a condition.
    #[error(
        "lexicon {locale}: {entry:?} is to stand beside an answer, but {word:?} in it says not or puts a condition"
    )]
    MeansSomething {
        locale: String,
        /// The words as written.
        entry: String,
        /// What is wrong in them, folded.
        word: String,
    },
    /// A class of entries with something that is no entry of the file.
    #[error("lexicon {locale}: `composing` counts {entry:?} among its entries, and it is none of them")]
    NoEntry {
        locale: String,
        /// The words as written.
        entry: String,
    },
    /// A file that lists a word both as an answer and as an ordinary word.
    #[error("lexicon {locale}: {entry:?} is an answer and also one of `other_words`")]
    OtherWord {
        locale: String,
        /// The entry as written.
        entry: String,
    },
}

/// What is heard in every language, whatever the locale of a message: all of it counts against a yes.
struct Everywhere {
    withdrawals: WithdrawalPhrases,
    states: Phrases,
    forms: Forms,
}

impl Lexicon {
    /// Merges files into one lexicon, or says why they must not be used together.
    ///
    /// When two files have the same entry, readings name the file given first.
    pub fn build(files: &[LexiconFile]) -> Result<Self, LexiconError> {
        let everywhere = Everywhere {
            withdrawals: withdrawal_phrases(files)?,
            states: phrases(files, |file| &file.composing.states)?,
            forms: Forms::of(files),
        };
        let mut lexicon = Self::merge(files, &everywhere)?;
        let mut locales: Vec<&str> = files.iter().map(|file| file.locale.as_str()).collect();
        locales.sort_unstable();
        locales.dedup();
        let mut tongues: Vec<String> = locales.iter().map(|locale| language(locale)).collect();
        let only_tags = tongues.len();
        tongues.dedup();
        let of = |is_one: &dyn Fn(&LexiconFile) -> bool| {
            let own: Vec<LexiconFile> = files.iter().filter(|file| is_one(file)).cloned().collect();
            Self::merge(&own, &everywhere)
        };
        if locales.len() > 1 {
            for tag in &locales {
                lexicon.by_language.push(of(&|file| file.locale == **tag)?);
            }
            let several = tongues.iter().filter(|_| tongues.len() < only_tags);
            for tongue in several {
                lexicon.by_language.insert(0, of(&|file| language(&file.locale) == *tongue)?);
            }
        }
        Ok(lexicon)
    }

    /// One lexicon of `files`, with what counts against a yes in every language.
    fn merge(files: &[LexiconFile], everywhere: &Everywhere) -> Result<Self, LexiconError> {
        let languages: BTreeSet<String> = files.iter().map(|file| language(&file.locale)).collect();
        let several = languages.len() > 1;
        let mut lexicon = Self {
            versions: versions(files)?,
            entries: Entries::default(),
            qualifiers: phrases(files, |file| &file.qualifiers)?,
            option_words: phrases(files, |file| &file.option_words)?,
            withdrawals: everywhere.withdrawals.clone(),
            states: everywhere.states.clone(),
            grammars: Vec::new(),
            forms: everywhere.forms.clone(),
            by_language: Vec::new(),
        };
        let other_words = phrases(files, |file| &file.other_words)?;
        let negations = phrases(files, |file| &file.negations)?;
        for file in files {
            for word in file.other_words.iter().chain(&file.composing.not_prolonged) {
                lexicon.entries.keep_as_written(&fold(file, word)?);
            }
        }
        for file in files {
            let only_here = phrases(std::slice::from_ref(file), |file| &file.composing.only_here)?;
            let mut own = lexicon.entries.without_entries();
            let is_left_out =
                |entry: &Entry| other_words.contains(&entry.folded) || (several && only_here.contains(&entry.folded));
            let listed = entries_of(file)?;
            for entry in listed.iter().filter(|entry| !is_left_out(entry)) {
                own.add(entry.clone())?;
                lexicon.entries.add(entry.clone())?;
            }
            lexicon.grammars.push(grammar(file, &listed, own, &negations)?);
        }
        refuse_negated(&lexicon.entries, negations)?;
        Ok(lexicon)
    }
}

fn versions(files: &[LexiconFile]) -> Result<Vec<LexiconVersion>, LexiconError> {
    let version_of = |(index, file): (usize, &LexiconFile)| {
        if file.locale.trim().is_empty() || file.version.trim().is_empty() {
            return Err(LexiconError::Unnamed { position: index + 1 });
        }
        Ok(source(file))
    };
    files.iter().enumerate().map(version_of).collect()
}

fn source(file: &LexiconFile) -> LexiconVersion {
    LexiconVersion { locale: file.locale.clone(), version: file.version.clone() }
}

pub(super) fn phrases(
    files: &[LexiconFile],
    list: impl Fn(&LexiconFile) -> &Vec<String>,
) -> Result<Phrases, LexiconError> {
    let mut phrases = Phrases::default();
    for file in files {
        for written in list(file) {
            phrases.add(fold(file, written)?);
        }
    }
    Ok(phrases)
}

fn withdrawal_phrases(files: &[LexiconFile]) -> Result<WithdrawalPhrases, LexiconError> {
    let other_words = phrases(files, |file| &file.other_words)?;
    let spoken = |list: fn(&LexiconFile) -> &Vec<String>| -> Result<SpokenPhrases, LexiconError> {
        let phrases = phrases(files, list)?;
        Ok(SpokenPhrases::new(&phrases, &other_words))
    };
    Ok(WithdrawalPhrases {
        negations: spoken(|file| &file.negations)?,
        call_offs: spoken(|file| &file.call_offs)?,
        call_offs_alone: spoken(|file| &file.call_offs_alone)?,
        hesitations: spoken(|file| &file.hesitations)?,
        courtesies: spoken(|file| &file.courtesies)?,
        label_negations: spoken(|file| &file.label_negations)?,
    })
}

pub(super) fn fold(file: &LexiconFile, written: &str) -> Result<String, LexiconError> {
    let (locale, entry) = (file.locale.clone(), written.to_owned());
    if written.chars().nth(MAX_ANSWER_CHARS).is_some() {
        return Err(LexiconError::LongEntry { locale, entry });
    }
    let folded = normalise(written);
    if folded.is_empty() {
        return Err(LexiconError::EmptyEntry { locale, entry });
    }
    if !is_plain(written) {
        return Err(LexiconError::NoAnswer { locale, entry });
    }
    Ok(folded)
}

/// The entries of a file, unless it contradicts itself.
fn entries_of(file: &LexiconFile) -> Result<Vec<Entry>, LexiconError> {
    let own = std::slice::from_ref(file);
    let own_other_words = phrases(own, |file| &file.other_words)?;
    let own_qualifiers = phrases(own, |file| &file.qualifiers)?;
    let affirmative = file.affirmative.iter().map(|entry| (Polarity::Affirmative, entry));
    let negative = file.negative.iter().map(|entry| (Polarity::Negative, entry));
    let mut entries = Vec::new();
    for (polarity, written) in affirmative.chain(negative) {
        let entry = entry(file, polarity, written)?;
        let locale = file.locale.clone();
        if own_other_words.contains(&entry.folded) {
            return Err(LexiconError::OtherWord { locale, entry: entry.written });
        }
        let qualifier = own_qualifiers.find_in(&tokens(&entry));
        if let (Polarity::Affirmative, Some(qualifier)) = (polarity, qualifier) {
            let qualifier = qualifier.to_owned();
            return Err(LexiconError::QualifiedEntry { locale, entry: entry.written, qualifier });
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn entry(file: &LexiconFile, polarity: Polarity, written: &str) -> Result<Entry, LexiconError> {
    let folded = fold(file, written)?;
    let squeezed = squeeze(&folded);
    Ok(Entry { polarity, source: source(file), written: written.to_owned(), folded, squeezed })
}

fn tokens(entry: &Entry) -> Vec<&str> {
    entry.folded.split(' ').collect()
}

fn refuse_negated(entries: &Entries, mut negations: Phrases) -> Result<(), LexiconError> {
    for negative in entries.all().filter(|entry| entry.polarity == Polarity::Negative) {
        negations.add(negative.folded.clone());
    }
    for entry in entries.all().filter(|entry| entry.polarity == Polarity::Affirmative) {
        if let Some(negation) = negations.find_in(&tokens(entry)) {
            return Err(LexiconError::NegatedAffirmative {
                locale: entry.source.locale.clone(),
                entry: entry.written.clone(),
                negation: negation.to_owned(),
            });
        }
    }
    Ok(())
}

impl From<Conflict> for LexiconError {
    fn from(Conflict { entry, opposite }: Conflict) -> Self {
        let (affirmative, negative) = match entry.polarity {
            Polarity::Affirmative => (entry, opposite),
            Polarity::Negative => (opposite, entry),
        };
        Self::Conflict {
            affirmative: affirmative.written,
            affirmative_locale: affirmative.source.locale,
            negative: negative.written,
            negative_locale: negative.source.locale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::lexicon::Composing;

    fn file(locale: &str, affirmative: &[&str], negative: &[&str]) -> LexiconFile {
        let owned = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
        LexiconFile {
            locale: locale.into(),
            version: "1".into(),
            affirmative: owned(affirmative),
            negative: owned(negative),
            negations: vec!["nem".into()],
            qualifiers: vec!["mas".into(), "só que".into()],
            call_offs: Vec::new(),
            call_offs_alone: Vec::new(),
            hesitations: Vec::new(),
            courtesies: Vec::new(),
            label_negations: Vec::new(),
            option_words: Vec::new(),
            other_words: Vec::new(),
            composing: Composing::default(),
        }
    }

    #[test]
    fn a_word_must_not_say_yes_here_and_no_there() {
        for (yes, no) in [("no", "no"), ("Nó!", "no"), ("noo", "no"), ("no", "noo"), ("👌🏽", "👌")] {
            let error = Lexicon::build(&[file("cs", &[yes], &[]), file("es", &[], &[no])]).unwrap_err();
            let expected = LexiconError::Conflict {
                affirmative: yes.into(),
                affirmative_locale: "cs".into(),
                negative: no.into(),
                negative_locale: "es".into(),
            };
            assert_eq!(error, expected);
            assert!(error.to_string().contains("lexicon cs") && error.to_string().contains("lexicon es"));
            assert_eq!(Lexicon::build(&[file("es", &[], &[no]), file("cs", &[yes], &[])]).unwrap_err(), expected);
        }
    }

    #[test]
    fn files_with_which_a_wrong_yes_could_be_read_are_refused() {
        let refused = |file: LexiconFile| Lexicon::build(&[file]).unwrap_err().to_string();
        assert!(refused(file("pt", &["nem doido"], &[])).contains("\"nem\""));
        assert!(refused(file("pt", &["pode parar"], &["parar"])).contains("\"parar\""));
        assert!(refused(file("pt", &["ok 👎"], &["👎"])).contains("says no"));
        assert!(refused(file("pt", &["sim mas"], &[])).contains("qualifier"));
        assert!(refused(file("pt", &["sim só que"], &[])).contains("qualifier"));
        assert!(refused(file("pt", &["bora?"], &[])).contains("question"));
        assert!(refused(file("pt", &["~sim~"], &[])).contains("struck"));
        assert!(refused(file("pt", &["!sim"], &[])).contains("negated"));
        assert!(refused(file("pt", &["sim,"], &[])).contains("left open"));
        assert!(refused(file("pt", &["sim\u{200B}"], &[])).contains("hidden"));
        assert!(refused(file("pt", &["..."], &[])).contains("neither"));
        assert!(refused(file("pt", &[&"s".repeat(201)], &[])).contains("longer"));
        assert!(refused(file(" ", &[], &[])).contains("blank"));
        let same = LexiconFile { other_words: vec!["Sim".into()], ..file("pt", &["sim"], &[]) };
        assert!(refused(same).contains("other_words"));
    }
}
