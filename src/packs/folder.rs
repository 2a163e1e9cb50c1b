//! Folders of packs: their files, and whether one has changed.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use super::NamedText;
use super::text::{MAX_FILE_BYTES, too_large};
use crate::domain::policy::PolicyError;

/// The most files that are read from one folder.
const MAX_FILES: usize = 256;

pub(super) const PACKS: &[&str] = &["yaml", "yml", "json"];
/// The extension of all other files.
pub(super) const YAML: &[&str] = &["yaml"];
/// The folder of the lexicons, below that of the packs.
pub(super) const LEXICONS: &str = "lexicons";
/// The folder of the case files, below that of the packs.
pub(super) const CASES: &str = "cases";

/// The metadata of a folder: names, sizes and times, and no content. If two differ, something may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance(Vec<Result<Vec<(String, Looks)>, io::ErrorKind>>);

/// The metadata of a file. The time of the inode's change cannot be set, so it reveals a change even if the
/// modification time was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Looks {
    size: u64,
    written: Option<SystemTime>,
    changed: (u64, i64, i64),
}

#[cfg(unix)]
fn changed(metadata: &Metadata) -> (u64, i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn changed(_metadata: &Metadata) -> (u64, i64, i64) {
    (0, 0, 0)
}

/// Reads the metadata of a folder of packs. Blocks on the disk.
#[must_use]
pub fn glance(folder: &Path) -> Glance {
    let look = |folder: &Path, endings: &[&str]| -> Result<Vec<(String, Looks)>, io::ErrorKind> {
        let mut seen = Vec::new();
        for name in names(folder, endings).map_err(|error| error.kind())? {
            let found = fs::metadata(folder.join(&name)).map_err(|error| error.kind())?;
            let looks = Looks { size: found.len(), written: found.modified().ok(), changed: changed(&found) };
            seen.push((name, looks));
        }
        Ok(seen)
    };
    Glance(vec![look(folder, PACKS), look(&folder.join(LEXICONS), YAML)])
}

/// Reads every visible file of the folder with one of these extensions. Subfolders are ignored.
pub(super) fn read(folder: &Path, prefix: &str, endings: &[&str], errors: &mut Vec<PolicyError>) -> Vec<NamedText> {
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

/// The same for an optional folder.
pub(super) fn read_if_there(folder: &Path, name: &str, errors: &mut Vec<PolicyError>) -> Vec<NamedText> {
    let folder = folder.join(name);
    if folder.is_dir() { read(&folder, &format!("{name}/"), YAML, errors) } else { Vec::new() }
}

/// Whether a file of this name is read.
pub(super) fn is_wanted(name: &str, endings: &[&str]) -> bool {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| endings.contains(&ending)) && !name.starts_with('.')
}

fn names(folder: &Path, endings: &[&str]) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if is_wanted(name, endings) && path.is_file() {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The text; none if it is larger than allowed.
fn read_bounded(path: &Path) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let limit = MAX_FILE_BYTES as u64 + 1;
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_FILE_BYTES {
        return Ok(None);
    }
    String::from_utf8(bytes).map(Some).map_err(io::Error::other)
}
