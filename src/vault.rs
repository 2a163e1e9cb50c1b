//! What lies on this host's disk outside every database: the key that signs checkpoints, and what was signed last.

mod guard;
mod keys;

use std::fs::File;
use std::path::Path;

pub use guard::{FileGuard, Opening};
pub use keys::{KeyError, seeds_from, seeds_of};

/// Makes the name of a file durable.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
