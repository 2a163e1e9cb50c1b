//! A folder of packs whose files may change at any time.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Found, PolicyFailure, PolicyOrigin};
use crate::domain::policy::PolicyError;
use crate::domain::rulebook::Rulebook;
use crate::packs::{Glance, PackFiles, PackSource, glance};

/// Watches a folder.
///
/// A change is loaded only after the folder looked the same twice, so that a half-written file, or the first of two
/// related files, is not loaded.
pub(super) struct FolderWatch {
    source: PackSource,
    folder: PathBuf,
    /// The files in force.
    files: PackFiles,
    /// The files that failed to load.
    broken: Option<PackFiles>,
    /// The folder's appearance at the last look.
    seen: Option<Glance>,
    /// The folder's appearance when it last contained the files in force.
    settled: Option<Glance>,
}

impl FolderWatch {
    pub(super) fn new(folder: PathBuf) -> Result<(Self, Arc<Rulebook>), PolicyFailure> {
        let source = PackSource::Folder(folder.clone());
        let files = source.files().map_err(broken)?;
        let rules = files.load().map_err(broken)?;
        Ok((Self { source, folder, files, broken: None, seen: None, settled: None }, Arc::new(rules)))
    }

    /// Reads the folder if its appearance changed.
    pub(super) fn look(&mut self) -> Found {
        let looks = glance(&self.folder);
        if self.settled.as_ref() == Some(&looks) {
            return Found::Same;
        }
        if self.seen.as_ref() != Some(&looks) {
            self.seen = Some(looks);
            return Found::Unsettled;
        }
        let read = self.source.files();
        if glance(&self.folder) != looks {
            self.seen = None;
            return Found::Unsettled;
        }
        match read {
            Ok(files) if files == self.files => {
                self.broken = None;
                self.settled = Some(looks);
                Found::Same
            }
            Ok(files) if self.broken.as_ref() == Some(&files) => Found::Failing,
            Ok(files) => self.take_up(files),
            Err(errors) => {
                self.broken = None;
                Found::Failed(broken(errors))
            }
        }
    }

    /// The folder is read once more afterwards: within one tick of the file system's clock, a file can change again
    /// without changing its appearance.
    fn take_up(&mut self, files: PackFiles) -> Found {
        self.settled = None;
        match files.load() {
            Ok(rules) => {
                self.files = files;
                self.broken = None;
                Found::New(Arc::new(rules), PolicyOrigin::Folder, None)
            }
            Err(errors) => {
                self.broken = Some(files);
                Found::Failed(broken(errors))
            }
        }
    }
}

fn broken(errors: Vec<PolicyError>) -> PolicyFailure {
    PolicyFailure::Broken { what: "the packs in the folder".to_owned(), errors }
}
