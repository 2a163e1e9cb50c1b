//! What lies on this host's disk outside every database: the key that signs checkpoints, what was signed last, and what was
//! seen of database servers.

mod guard;
mod keys;
mod timelines;

use std::fs::{DirBuilder, File};
use std::io::Write as _;
use std::path::Path;

pub use guard::{FileGuard, Opening};
pub use keys::{KeyError, seeds_from, seeds_of};
pub use timelines::FileTimelines;

/// Makes the name of a file durable.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Replaces a file as a whole: the new text is durable under another name before it takes the place of the old one.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let fresh = path.with_extension("next");
    let mut file = File::create(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)?;
    sync_folder(path)
}

/// Makes a folder that only its owner may look into.
fn create_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
