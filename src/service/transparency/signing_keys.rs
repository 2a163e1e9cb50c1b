//! The keys that sign checkpoints: a file that only its owner may read.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use crate::domain::canonical::Digest;
use crate::domain::id::Entropy;
use crate::files::sync_folder;

/// Why the signing key cannot be used. Never contains the file's content.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("the signing key {path}: {what}")]
    File { path: String, what: String },
    /// A line that is no key.
    #[error("the signing key: line {0} is not a key; write 64 hexadecimal digits per line, or # and a comment")]
    Line(usize),
    /// No key at all.
    #[error("the signing key: it contains no key; write 64 hexadecimal digits per line")]
    Empty,
}

/// Parses keys: 64 hexadecimal digits per line. All of them sign; the first is the newest.
pub fn seeds_from(text: &str) -> Result<Vec<[u8; 32]>, KeyError> {
    let lines = text.lines().map(str::trim).zip(1..);
    let lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let seeds: Result<Vec<[u8; 32]>, KeyError> = lines
        .map(|(line, number)| Digest::from_hex(line).map(|seed| *seed.as_bytes()).ok_or(KeyError::Line(number)))
        .collect();
    seeds.and_then(|seeds| if seeds.is_empty() { Err(KeyError::Empty) } else { Ok(seeds) })
}

/// Reads the keys of a file, or makes the file with a new key if it is missing. Only its owner may read it.
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
fn is_readable_by_others(path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_readable_by_others(_path: &Path) -> std::io::Result<bool> {
    Ok(false)
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
}
