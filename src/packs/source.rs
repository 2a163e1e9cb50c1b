//! Where packs come from: the shipped set, or a folder.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::text::{MAX_FILE_BYTES, too_large};
use super::{read_pack, shipped, yaml};
use crate::domain::lexicon::LexiconFile;
use crate::domain::policy::{PolicyBook, PolicyError};
use crate::domain::rulebook::{Rulebook, RulebookError};

/// Most files that are read from one folder.
const MAX_FILES: usize = 256;

/// A file name and its text.
pub type NamedText = (String, String);

/// Where packs and lexicons are read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackSource {
    /// What the program brings along.
    Shipped,
    /// A folder with packs (`*.yaml`, `*.yml`, `*.json`) and, in `lexicons/`, lexicons (`*.yaml`). Its packs replace
    /// the shipped ones; its lexicons replace shipped ones of the same file name and add to the rest.
    Folder(PathBuf),
}

/// The texts of a source, sorted by file name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackFiles {
    /// Packs.
    pub packs: Vec<NamedText>,
    /// Lexicons.
    pub lexicons: Vec<NamedText>,
}

impl PackSource {
    /// Reads the texts. Blocks on the disk.
    pub fn files(&self) -> Result<PackFiles, Vec<PolicyError>> {
        let shipped = PackFiles { packs: owned(&shipped::PACKS), lexicons: owned(&shipped::LEXICONS) };
        let Self::Folder(folder) = self else {
            return Ok(shipped);
        };
        let mut errors = Vec::new();
        let packs = read_folder(folder, "", &["yaml", "yml", "json"], &mut errors);
        let words = folder.join("lexicons");
        let mut lexicons =
            if words.is_dir() { read_folder(&words, "lexicons/", &["yaml"], &mut errors) } else { Vec::new() };
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
        if errors.is_empty() { Ok(PackFiles { packs, lexicons }) } else { Err(errors) }
    }

    /// Reads and checks everything: all packs and lexicons load, or none does. Blocks on the disk.
    pub fn load(&self) -> Result<Rulebook, Vec<PolicyError>> {
        let files = self.files()?;
        let book = read_policies(&files.packs);
        let lexicons = read_lexicons(&files.lexicons);
        match (book, lexicons) {
            (Ok(book), Ok(lexicons)) => Rulebook::new(book, &lexicons).map_err(unfitting),
            (book, lexicons) => Err(book.err().into_iter().chain(lexicons.err()).flatten().collect()),
        }
    }
}

fn unfitting(errors: Vec<RulebookError>) -> Vec<PolicyError> {
    let complain = |error: RulebookError| {
        let instead = "Name only locales that a file in lexicons/ has, and keep one word to one meaning.";
        PolicyError::at("/answers/lexicons", error.to_string(), instead)
    };
    errors.into_iter().map(complain).collect()
}

/// Reads all lexicons. The complaints about all files come together.
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

/// Reads all packs and binds them into a book. The complaints about all files come together.
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

/// Reads every visible file of the folder with one of these endings. Folders below it are left alone.
fn read_folder(folder: &Path, prefix: &str, endings: &[&str], errors: &mut Vec<PolicyError>) -> Vec<NamedText> {
    let listed = match names(folder, endings) {
        Ok(listed) => listed,
        Err(error) => {
            let problem = format!("the folder cannot be read ({error})");
            let instead = "Check that it exists and that the server may read it.";
            errors.push(PolicyError::at("", problem, instead).in_file(&folder.to_string_lossy()));
            return Vec::new();
        }
    };
    if listed.len() > MAX_FILES {
        let problem = format!("the folder holds {} files, more than {MAX_FILES}", listed.len());
        errors.push(PolicyError::at("", problem, "Keep only files that are in use there."));
        return Vec::new();
    }
    let mut texts = Vec::new();
    for name in listed {
        let shown = format!("{prefix}{name}");
        match read_bounded(&folder.join(&name)) {
            Ok(Some(text)) => texts.push((name, text)),
            Ok(None) => errors.push(too_large(&shown)),
            Err(error) => {
                let problem = format!("the file cannot be read ({error})");
                let instead = "Check that it is UTF-8 text and that the server may read it.";
                errors.push(PolicyError::at("", problem, instead).in_file(&shown));
            }
        }
    }
    texts
}

fn names(folder: &Path, endings: &[&str]) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let wanted = ending.is_some_and(|ending| endings.contains(&ending));
        if wanted && !name.starts_with('.') && path.is_file() {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The text, or nothing if it is larger than a file may be.
fn read_bounded(path: &Path) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let limit = MAX_FILE_BYTES as u64 + 1;
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_FILE_BYTES {
        return Ok(None);
    }
    String::from_utf8(bytes).map(Some).map_err(io::Error::other)
}
