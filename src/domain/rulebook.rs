//! The rules of every tenant: policy packs and the lexicons they name, loaded together.

use std::collections::HashMap;
use std::sync::Arc;

use super::decide::Rules;
use super::lexicon::{Lexicon, LexiconError, LexiconFile};
use super::policy::{PolicyBook, PolicyPack, PolicyScope};

/// A pack names lexicons that do not fit together, or that do not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulebookError {
    /// A lexicon that no file provides.
    #[error("pack {pack_id}: answers.lexicons names {locale}, and no lexicon file has that locale")]
    NoSuchLexicon { pack_id: String, locale: String },
    /// Words that are to name a command and say something else.
    #[error("pack {pack_id}: `says` of command {command} has {words:?}, and {found:?} in it does not name a command")]
    NamesNothing { pack_id: String, command: String, words: String, found: String },
    /// Lexicons that contradict each other.
    #[error("pack {pack_id}: {source}")]
    Contradiction { pack_id: String, source: LexiconError },
}

/// Everything that decisions are made by. Immutable.
#[derive(Debug)]
pub struct Rulebook {
    book: PolicyBook,
    /// By pack. Packs that name the same locales share a lexicon.
    lexicons: HashMap<String, Arc<Lexicon>>,
    empty: Lexicon,
}

impl Rulebook {
    /// Builds the lexicon of each pack. All complaints come together.
    pub fn new(book: PolicyBook, files: &[LexiconFile]) -> Result<Self, Vec<RulebookError>> {
        let mut lexicons = HashMap::new();
        let mut built: HashMap<&[String], Arc<Lexicon>> = HashMap::new();
        let mut errors = Vec::new();
        for pack in book.packs() {
            let locales = pack.answers.lexicons.as_slice();
            let lexicon = match built.get(locales) {
                Some(lexicon) => Ok(Arc::clone(lexicon)),
                None => lexicon_of(&pack.pack_id, locales, files).map(Arc::new),
            };
            match lexicon {
                Ok(lexicon) => {
                    errors.extend(misnamed(pack, &lexicon));
                    built.insert(locales, Arc::clone(&lexicon));
                    lexicons.insert(pack.pack_id.clone(), lexicon);
                }
                Err(error) => errors.push(error),
            }
        }
        let empty = Lexicon::build(&[]);
        match (errors.is_empty(), empty) {
            (true, Ok(empty)) => Ok(Self { book, lexicons, empty }),
            (_, Err(source)) => Err(vec![RulebookError::Contradiction { pack_id: String::new(), source }]),
            (false, Ok(_)) => Err(errors),
        }
    }

    #[must_use]
    pub fn book(&self) -> &PolicyBook {
        &self.book
    }

    /// The rules in force for a tenant. A pack without a lexicon reads nothing as an answer.
    #[must_use]
    pub fn rules(&self, scope: &PolicyScope) -> Rules<'_> {
        let policy = self.book.view(scope);
        let lexicon = self.lexicons.get(&policy.reference().pack_id).map_or(&self.empty, AsRef::as_ref);
        Rules { policy, lexicon }
    }
}

/// The words of a pack's commands that cannot name them.
fn misnamed(pack: &PolicyPack, lexicon: &Lexicon) -> Vec<RulebookError> {
    let words = pack.commands.iter().flat_map(|command| {
        let lists = command.says.iter().flat_map(|(locale, list)| list.iter().map(move |words| (locale, words)));
        lists.map(move |(locale, words)| (&command.name, locale, words))
    });
    let errors = words.filter_map(|(command, locale, words)| {
        let found = lexicon.cannot_name(words, locale)?;
        let (pack_id, command, words) = (pack.pack_id.clone(), command.clone(), words.clone());
        Some(RulebookError::NamesNothing { pack_id, command, words, found })
    });
    errors.collect()
}

fn lexicon_of(pack_id: &str, locales: &[String], files: &[LexiconFile]) -> Result<Lexicon, RulebookError> {
    let find = |locale: &String| {
        let missing = || RulebookError::NoSuchLexicon { pack_id: pack_id.to_owned(), locale: locale.clone() };
        files.iter().find(|file| file.locale == *locale).cloned().ok_or_else(missing)
    };
    let chosen: Vec<LexiconFile> = locales.iter().map(find).collect::<Result<_, _>>()?;
    Lexicon::build(&chosen).map_err(|source| RulebookError::Contradiction { pack_id: pack_id.to_owned(), source })
}
