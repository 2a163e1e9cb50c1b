//! What lies on this host's disk outside every database: the key that signs checkpoints, and what was signed last.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::domain::canonical::Digest;
use crate::domain::id::Entropy;
use crate::evidence::checkpoint::Checkpoint;
use crate::service::transparency::{Guard, GuardError, Signed};
use sha2::{Digest as _, Sha256};

/// Why the signing key cannot be used. Never repeats what the file holds.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file.
    #[error("the signing key {path}: {what}")]
    File {
        /// Its path.
        path: String,
        /// What is the matter with it.
        what: String,
    },
    /// A line that is no key.
    #[error("the signing key: line {0} is no key; a key is 64 hexadecimal digits, one a line, and # begins a remark")]
    Line(usize),
    /// No key at all.
    #[error("the signing key: there is no key in it")]
    Empty,
}

/// Reads keys from text: 64 hexadecimal digits a line. All of them sign; the first is the newest.
pub fn seeds_from(text: &str) -> Result<Vec<[u8; 32]>, KeyError> {
    let lines = text.lines().map(str::trim).zip(1..);
    let lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let seeds: Result<Vec<[u8; 32]>, KeyError> = lines
        .map(|(line, number)| Digest::from_hex(line).map(|seed| *seed.as_bytes()).ok_or(KeyError::Line(number)))
        .collect();
    seeds.and_then(|seeds| if seeds.is_empty() { Err(KeyError::Empty) } else { Ok(seeds) })
}

/// Reads the keys of a file, and makes the file with a new key if it is missing. Nobody but its owner may read it.
pub fn seeds_of(path: &Path, entropy: &mut dyn Entropy) -> Result<Vec<[u8; 32]>, KeyError> {
    let failed = |what: String| KeyError::File { path: path.display().to_string(), what };
    match create_private(path) {
        Ok(mut file) => {
            let seed = Digest::from_bytes(entropy.bytes()).to_hex();
            let text =
                format!("# signs the checkpoints of the evidence log; back it up, and show it to nobody\n{seed}\n");
            let written =
                file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| sync_folder(path));
            written.map_err(|error| failed(format!("it cannot be written: {error}")))?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(format!("it cannot be made: {error}"))),
    }
    if is_readable_by_others(path).map_err(|error| failed(error.to_string()))? {
        return Err(failed("others than its owner may read it; take that away (chmod 600)".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(format!("it cannot be read: {error}")))?;
    seeds_from(&text)
}

#[cfg(unix)]
fn create_private(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(unix)]
fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)
}

#[cfg(unix)]
fn is_readable_by_others(path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_readable_by_others(_path: &Path) -> std::io::Result<bool> {
    Ok(false)
}

/// Makes the name of a file durable.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// A folder with one small file a log. It must not be part of what is restored with the database.
#[derive(Debug)]
pub struct FileGuard {
    folder: PathBuf,
}

impl FileGuard {
    /// Opens the folder, and makes it if it is missing, for its owner alone.
    pub fn open(folder: PathBuf) -> Result<Self, GuardError> {
        make_private(&folder).map_err(failed)?;
        Ok(Self { folder })
    }

    fn file(&self, origin: &str) -> PathBuf {
        // Origins hold slashes and may be long.
        self.folder.join(format!("{}.checkpoint", hex::encode(Sha256::digest(origin.as_bytes()))))
    }

    fn read(&self, origin: &str) -> Result<Option<Signed>, GuardError> {
        let text = match std::fs::read_to_string(self.file(origin)) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let checkpoint = Checkpoint::parse(&text).map_err(|error| GuardError(error.to_string()))?;
        if checkpoint.origin() != origin {
            return Err(GuardError("it remembers another log under this name".to_owned()));
        }
        Ok(Some(Signed { size: checkpoint.size(), root: checkpoint.root() }))
    }

    /// The new text is durable under another name before it takes the place of the old one.
    fn write(&self, origin: &str, body: &str) -> std::io::Result<()> {
        let path = self.file(origin);
        let fresh = path.with_extension("next");
        let mut file = File::create(&fresh)?;
        file.write_all(body.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&fresh, &path)?;
        sync_folder(&path)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "passed to map_err")]
fn failed(error: std::io::Error) -> GuardError {
    GuardError(error.to_string())
}

impl Guard for FileGuard {
    fn kind(&self) -> &'static str {
        "file"
    }

    fn latest(&self, origin: &str) -> Result<Option<Signed>, GuardError> {
        self.read(origin)
    }

    fn advance(&self, origin: &str, from: Option<Signed>, to: Signed) -> Result<bool, GuardError> {
        // Held until the file is closed, by whichever process has it.
        let lock = File::create(self.folder.join("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        if self.read(origin)? != from {
            return Ok(false);
        }
        let checkpoint = Checkpoint::new(origin, to.size, to.root).map_err(|error| GuardError(error.to_string()))?;
        self.write(origin, &checkpoint.body()).map_err(failed)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sevens;
    impl Entropy for Sevens {
        fn bytes(&mut self) -> [u8; 32] {
            [7; 32]
        }
    }

    fn signed(size: u64) -> Signed {
        Signed { size, root: Digest::from_bytes([u8::try_from(size).unwrap(); 32]) }
    }

    #[test]
    fn a_key_is_made_once_and_read_by_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        assert_eq!(seeds_of(&path, &mut Sevens).unwrap(), [[7; 32]]);
        assert_eq!(seeds_of(&path, &mut Sevens).unwrap(), [[7; 32]]);
        let two = format!("# new\n{}\n{}\n", "01".repeat(32), "02".repeat(32));
        std::fs::write(&path, two).unwrap();
        assert_eq!(seeds_of(&path, &mut Sevens).unwrap(), [[1; 32], [2; 32]]);
        std::fs::write(&path, "# none\n").unwrap();
        assert!(matches!(seeds_of(&path, &mut Sevens), Err(KeyError::Empty)));
        std::fs::write(&path, "#\n\nsecret words").unwrap();
        let error = seeds_of(&path, &mut Sevens).unwrap_err().to_string();
        assert!(error.contains("line 3") && !error.contains("secret"), "{error}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
            assert!(seeds_of(&path, &mut Sevens).unwrap_err().to_string().contains("chmod 600"));
        }
    }

    #[test]
    fn a_guard_moves_on_only_from_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let open = || FileGuard::open(folder.path().join("guard")).unwrap();
        let (guard, other) = (open(), open());
        assert_eq!(guard.latest("a").unwrap(), None);
        assert!(guard.advance("a", None, signed(3)).unwrap());
        assert!(!other.advance("a", None, signed(4)).unwrap(), "somebody else was first");
        assert_eq!(other.latest("a").unwrap(), Some(signed(3)));
        assert!(other.advance("a", Some(signed(3)), signed(9)).unwrap());
        assert_eq!((guard.latest("a").unwrap(), guard.latest("b").unwrap()), (Some(signed(9)), None));
        let only = std::fs::read_dir(folder.path().join("guard")).unwrap();
        let file = only.map(|file| file.unwrap().path()).find(|path| path.extension().is_some()).unwrap();
        std::fs::write(file, "nonsense").unwrap();
        assert!(guard.latest("a").is_err(), "what cannot be read is not taken for nothing");
    }
}
