//! A folder of packs that may change at any time, by any hand.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Found, PolicyFailure, PolicyOrigin};
use crate::domain::policy::PolicyError;
use crate::domain::rulebook::Rulebook;
use crate::packs::{Glance, PackFiles, PackSource, glance};

/// A folder, what of it is in force, and how it looked.
///
/// A change is taken up when the folder has looked the same twice: a file that is half written, or the second of two
/// that belong together, need not fail to load.
pub(super) struct FolderWatch {
    source: PackSource,
    folder: PathBuf,
    /// What is in force.
    files: PackFiles,
    /// What does not load.
    broken: Option<PackFiles>,
    /// How it looked last.
    seen: Option<Glance>,
    /// How it looked when it was last found to hold what is in force.
    settled: Option<Glance>,
}

impl FolderWatch {
    pub(super) fn new(folder: PathBuf) -> Result<(Self, Arc<Rulebook>), PolicyFailure> {
        let source = PackSource::Folder(folder.clone());
        let files = source.files().map_err(broken)?;
        let rules = files.load().map_err(broken)?;
        Ok((Self { source, folder, files, broken: None, seen: None, settled: None }, Arc::new(rules)))
    }

    /// Looks at the folder, and reads it only if it looks different.
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

    /// The folder is read once more after this: within one tick of the file system's clock a file can change again and
    /// look the same.
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
