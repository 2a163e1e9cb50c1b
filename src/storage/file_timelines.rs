//! The highest timeline seen of each PostgreSQL system: a folder with one small file for each.

use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;

use crate::files::{create_private, replace};
use crate::storage::Timelines;

/// A folder outside the database, so that restoring a backup does not change it.
#[derive(Debug)]
pub struct FileTimelines {
    folder: PathBuf,
}

impl FileTimelines {
    /// Opens the folder, and makes it if it is missing.
    pub fn open(folder: PathBuf) -> std::io::Result<Self> {
        create_private(&folder)?;
        Ok(Self { folder })
    }

    fn file(&self, system: &str) -> Result<PathBuf, String> {
        // A 64-bit number, used as a file name.
        let number = !system.is_empty() && system.bytes().all(|byte| byte.is_ascii_digit());
        number.then(|| self.folder.join(system)).ok_or_else(|| "the system's identifier is no number".to_owned())
    }
}

impl Timelines for FileTimelines {
    fn highest(&self, system: &str) -> Result<i64, String> {
        let file = self.file(system)?;
        match std::fs::read_to_string(&file) {
            Ok(text) => text.trim().parse().map_err(|_| format!("{} holds no number", file.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
            Err(error) => Err(format!("{}: {error}", file.display())),
        }
    }

    fn raise(&self, system: &str, timeline: i64) -> Result<(), String> {
        let file = self.file(system)?;
        let failed = |error: std::io::Error| format!("{}: {error}", file.display());
        // Locked until the file is closed, across processes.
        let lock = File::create(self.folder.join("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        if self.highest(system).is_ok_and(|highest| highest >= timeline) {
            return Ok(());
        }
        replace(&file, &format!("{timeline}\n")).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_of_each_system_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let open = || FileTimelines::open(folder.path().join("timelines")).unwrap();
        assert_eq!(open().highest("7"), Ok(0));
        for (timeline, highest) in [(2, 2), (1, 2), (5, 5)] {
            open().raise("7", timeline).unwrap();
            assert_eq!(open().highest("7"), Ok(highest));
        }
        assert_eq!(open().highest("70"), Ok(0));
        assert!(open().raise("../7", 1).is_err() && open().raise("", 1).is_err());
        std::fs::write(folder.path().join("timelines/7"), "many").unwrap();
        assert!(open().highest("7").is_err(), "what cannot be read is not taken for nothing");
    }
}
