//! StateBench timelines, read in place.

use std::path::PathBuf;

use serde_json::Value;

/// The folder with the release's files: `CSCP_STATEBENCH`, or beside the project.
pub(crate) fn folder() -> PathBuf {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/statebench");
    setting("CSCP_STATEBENCH").map_or_else(beside, PathBuf::from)
}

/// A setting of this test.
#[expect(clippy::disallowed_methods, reason = "tests are told by the environment where the benchmark is")]
pub(crate) fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The timelines of a split; none, said aloud, where the file is not there.
pub(crate) fn split(name: &str) -> Option<Vec<Value>> {
    let path = folder().join("data").join(format!("{name}.jsonl"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("SKIPPED: {} is not there; set CSCP_STATEBENCH to a folder with data/{name}.jsonl", path.display());
        return None;
    };
    Some(text.lines().filter(|line| !line.trim().is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect())
}
