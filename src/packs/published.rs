//! The form of a published set: files by path, as in a folder, and one hash over all of them.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::{CaseReport, NamedText, PackFiles, folder, run_cases};
use crate::domain::policy::{PolicyBook, PolicyError};

/// The prefix of the hash of a set, so that no other kind of hash equals it.
const HASH_DOMAIN: &[u8] = b"cscp.policies.v1";

impl PackFiles {
    /// The files by path, sorted: packs at the top, lexicons and case files in folders of those names.
    #[must_use]
    pub fn to_paths(&self) -> Vec<NamedText> {
        let below = |name: &str, files: &[NamedText]| -> Vec<NamedText> {
            files.iter().map(|(file, text)| (format!("{name}/{file}"), text.clone())).collect()
        };
        let mut files = self.packs.clone();
        files.extend(below(folder::LEXICONS, &self.lexicons));
        files.extend(below(folder::CASES, &self.cases));
        files.sort_unstable();
        files
    }

    /// Parses paths. A kind of file that this program does not know is an error, because it might decide something.
    pub(super) fn from_paths(files: &[NamedText]) -> Result<Self, Vec<PolicyError>> {
        let mut read = Self::default();
        let mut errors = Vec::new();
        for (path, text) in files {
            let (below, name) = path.split_once('/').unwrap_or(("", path));
            let (kind, endings) = match below {
                "" => (&mut read.packs, folder::PACKS),
                folder::LEXICONS => (&mut read.lexicons, folder::YAML),
                folder::CASES => (&mut read.cases, folder::YAML),
                _ => {
                    errors.push(unknown(path));
                    continue;
                }
            };
            if name.contains(['/', '\\']) || !folder::is_wanted(name, endings) {
                errors.push(unknown(path));
            } else {
                kind.push((name.to_owned(), text.clone()));
            }
        }
        if read.packs.is_empty() && errors.is_empty() {
            errors.push(PolicyError::at("", "the set holds no pack", "Publish a folder of packs."));
        }
        if errors.is_empty() { Ok(read) } else { Err(errors) }
    }

    /// Runs the case files of the set, each with its name.
    pub fn run_cases(&self, book: &PolicyBook) -> Result<Vec<(String, CaseReport)>, Vec<PolicyError>> {
        let mut reports = Vec::new();
        let mut errors = Vec::new();
        for (file, text) in &self.cases {
            let shown = format!("{}/{file}", folder::CASES);
            match run_cases(&shown, text, book) {
                Ok(report) => reports.push((shown, report)),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(reports) } else { Err(errors) }
    }
}

fn unknown(path: &str) -> PolicyError {
    let instead = "If a newer version of the program published it, install that version here.";
    PolicyError::at("", "this version of the program does not know this kind of file", instead).in_file(path)
}

/// The hash that names a set: `sha256:` and the hex SHA-256 of `cscp.policies.v1` followed by the canonical JSON
/// (RFC 8785) of an object with the text of each file by its path.
pub fn set_hash(files: &[NamedText]) -> Result<String, PolicyError> {
    let by_path: BTreeMap<&String, &String> = files.iter().map(|(path, text)| (path, text)).collect();
    let canonical = serde_json_canonicalizer::to_vec(&by_path).map_err(|error| {
        PolicyError::at("", format!("the set has no canonical form ({error})"), "Write the files as UTF-8 text.")
    })?;
    let digest = Sha256::new().chain_update(HASH_DOMAIN).chain_update(canonical).finalize();
    Ok(format!("sha256:{}", hex::encode(digest)))
}
