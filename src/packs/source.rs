//! Sources of packs: the built-in set, a folder, or a published set.

use std::path::PathBuf;

use super::{folder, read_pack, shipped, yaml};
use crate::domain::lexicon::LexiconFile;
use crate::domain::policy::{PolicyBook, PolicyError};
use crate::domain::rulebook::{Rulebook, RulebookError};

/// A file name and its text.
pub type NamedText = (String, String);

/// Where packs and lexicons are read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackSource {
    Shipped,
    /// A folder with packs (`*.yaml`, `*.yml`, `*.json`) and, in `lexicons/`, lexicons (`*.yaml`). Its packs replace
    /// the built-in ones; its lexicons replace built-in ones of the same file name and add to the rest.
    Folder(PathBuf),
    /// A published set: exactly its files, by path.
    Published(Vec<NamedText>),
}

/// The texts of a source, sorted by file name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackFiles {
    pub packs: Vec<NamedText>,
    pub lexicons: Vec<NamedText>,
    /// Case files, which decide nothing.
    pub cases: Vec<NamedText>,
}

impl PackSource {
    /// Reads the texts of packs and lexicons. Blocks on the disk.
    pub fn files(&self) -> Result<PackFiles, Vec<PolicyError>> {
        let shipped =
            PackFiles { packs: owned(&shipped::PACKS), lexicons: owned(&shipped::LEXICONS), cases: Vec::new() };
        let folder = match self {
            Self::Shipped => return Ok(shipped),
            Self::Published(files) => return PackFiles::from_paths(files),
            Self::Folder(folder) => folder,
        };
        let mut errors = Vec::new();
        let packs = folder::read(folder, "", folder::PACKS, &mut errors);
        let mut lexicons = folder::read_if_there(folder, folder::LEXICONS, &mut errors);
        for (name, text) in shipped.lexicons {
            if !lexicons.iter().any(|(own, _)| *own == name) {
                lexicons.push((name, text));
            }
        }
        lexicons.sort_unstable();
        if packs.is_empty() && errors.is_empty() {
            errors.push(PolicyError::at(
                "",
                "the policy folder holds no pack",
                "Put at least one *.yaml file into it, for instance a copy of policies/basic.yaml.",
            ));
        }
        if errors.is_empty() { Ok(PackFiles { packs, lexicons, cases: Vec::new() }) } else { Err(errors) }
    }

    /// The same, with case files. Blocks on the disk.
    pub fn files_with_cases(&self) -> Result<PackFiles, Vec<PolicyError>> {
        let mut errors = Vec::new();
        let cases = match self {
            Self::Folder(folder) => folder::read_if_there(folder, folder::CASES, &mut errors),
            Self::Shipped | Self::Published(_) => Vec::new(),
        };
        match self.files() {
            Ok(files) if errors.is_empty() => Ok(if cases.is_empty() { files } else { PackFiles { cases, ..files } }),
            files => Err(files.err().into_iter().flatten().chain(errors).collect()),
        }
    }

    /// Reads and checks everything: all packs and lexicons load, or none does. Blocks on the disk.
    pub fn load(&self) -> Result<Rulebook, Vec<PolicyError>> {
        self.files()?.load()
    }
}

impl PackFiles {
    /// Checks everything: all packs and lexicons load, or none does.
    pub fn load(&self) -> Result<Rulebook, Vec<PolicyError>> {
        let book = read_policies(&self.packs);
        let lexicons = read_lexicons(&self.lexicons);
        match (book, lexicons) {
            (Ok(book), Ok(lexicons)) => Rulebook::new(book, &lexicons).map_err(unfitting),
            (book, lexicons) => Err(book.err().into_iter().chain(lexicons.err()).flatten().collect()),
        }
    }
}

fn unfitting(errors: Vec<RulebookError>) -> Vec<PolicyError> {
    let complain = |error: RulebookError| {
        let (at, instead) = match &error {
            RulebookError::NamesNothing { .. } => {
                ("/commands", "List only words that name what the command does, without yes, no, not or all.")
            }
            RulebookError::NoSuchLexicon { .. } | RulebookError::Contradiction { .. } => (
                "/answers/lexicons",
                "Name only locales that a file in lexicons/ has, and keep one word to one meaning.",
            ),
        };
        PolicyError::at(at, error.to_string(), instead)
    };
    errors.into_iter().map(complain).collect()
}

/// Reads all lexicons. The errors of all files are reported together.
fn read_lexicons(files: &[NamedText]) -> Result<Vec<LexiconFile>, Vec<PolicyError>> {
    let mut lexicons = Vec::new();
    let mut errors = Vec::new();
    for (file, text) in files {
        let shown = format!("lexicons/{file}");
        let instead = "See policies/lexicons/README.md for the form of a lexicon.";
        let read = yaml::read(text).and_then(|document| {
            serde_json::from_value::<LexiconFile>(document.value)
                .map_err(|error| PolicyError::at("", format!("this is no lexicon ({error})"), instead))
        });
        match read {
            Ok(lexicon) => lexicons.push(lexicon),
            Err(error) => errors.push(error.in_file(&shown)),
        }
    }
    if errors.is_empty() { Ok(lexicons) } else { Err(errors) }
}

/// Reads all packs into a book. The errors of all files are reported together.
pub fn read_policies(files: &[NamedText]) -> Result<PolicyBook, Vec<PolicyError>> {
    let mut packs = Vec::new();
    let mut errors = Vec::new();
    for (file, text) in files {
        match read_pack(file, text) {
            Ok(pack) => packs.push(pack),
            Err(mut found) => errors.append(&mut found),
        }
    }
    if errors.is_empty() {
        return PolicyBook::new(packs);
    }
    errors.append(&mut PolicyBook::conflicts(&packs));
    Err(errors)
}

fn owned(files: &[(&str, &str)]) -> Vec<NamedText> {
    let pairs = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    pairs.collect()
}
