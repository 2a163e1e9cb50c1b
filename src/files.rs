//! Files of this host that must survive a crash: private folders, and whole files replaced durably.

use std::fs::{DirBuilder, File};
use std::io::Write as _;
use std::path::Path;

/// Makes the name of a file durable.
pub(crate) fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Replaces a file as a whole: the new text is durable under another name before it takes the place of the old one.
pub(crate) fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let fresh = path.with_extension("next");
    let mut file = File::create(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)?;
    sync_folder(path)
}

/// Makes a folder that only its owner may look into.
pub(crate) fn create_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
