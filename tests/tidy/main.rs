//! The rules of the house that the compiler cannot see, checked by reading the source.
//!
//! Every rule is a function from texts to findings; it has one test that reads this repository, and
//! others that feed it small strings to prove that it can fail. Lists of exceptions may only shrink:
//! an entry that nothing needs any more is itself a finding.

mod contract;
mod directions;
mod house;
mod links;
mod migrations;
mod operations;
mod purity;
mod scan;
mod shape;
mod statements;
mod verdicts;

use std::fs;
use std::path::{Path, PathBuf};

use scan::{Token, Views, tokens};

/// A place that breaks a rule.
#[derive(Debug, PartialEq)]
struct Finding {
    path: String,
    line: usize,
    why: String,
}

impl Finding {
    fn new(path: &str, line: usize, why: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, why: why.into() }
    }
}

/// A text file and where it stands in the repository, with `/` between the parts.
struct SourceFile {
    path: String,
    text: String,
}

impl SourceFile {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    fn is_rust(&self) -> bool {
        self.has_extension("rs")
    }

    fn has_extension(&self, wanted: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|e| e == wanted)
    }

    fn code_tokens(&self) -> Vec<Token> {
        tokens(&Views::of_rust(&self.text).code)
    }

    /// Where the file is in the module tree: `src/a/b.rs` and `src/a/b/mod.rs` are `a`, `b`.
    fn module(&self) -> Vec<String> {
        let inner = self.path.trim_start_matches("src/").trim_end_matches(".rs");
        let mut parts: Vec<String> = inner.split('/').map(str::to_owned).collect();
        if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            parts.pop();
        }
        parts
    }
}

/// Test runners start in the package's folder. The path that was compiled in may be another checkout's
/// when several share one target folder.
fn root() -> PathBuf {
    PathBuf::from(".")
}

/// What git does not track, by name: anywhere, and at the top.
const NOT_SOURCE: &[&str] = &[".git", "target", "node_modules", "__pycache__", ".venv"];
const NOT_SOURCE_AT_TOP: &[&str] = &["data"];

/// Every text file below `folder` (empty: the whole repository), in order of path.
fn files_in(folder: &str) -> Vec<SourceFile> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for (path, is_folder) in entries(&folder) {
            if is_folder {
                open.push(path);
            } else if let Ok(text) = fs::read_to_string(root().join(&path)) {
                found.push(SourceFile { path, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// What a folder holds: path in the repository, and whether it is a folder.
fn entries(folder: &str) -> Vec<(String, bool)> {
    let Ok(listing) = fs::read_dir(root().join(folder)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in listing.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let at_top = folder.is_empty();
        if NOT_SOURCE.contains(&name.as_str()) || (at_top && NOT_SOURCE_AT_TOP.contains(&name.as_str())) {
            continue;
        }
        let path = if at_top { name } else { format!("{folder}/{name}") };
        found.push((path, entry.path().is_dir()));
    }
    found
}

/// The Rust files of these folders.
fn rust_in(folders: &[&str]) -> Vec<SourceFile> {
    let all = folders.iter().flat_map(|folder| files_in(folder));
    all.filter(SourceFile::is_rust).collect()
}

/// All Rust of the repository but the rules themselves, which spell out what they forbid.
fn all_rust() -> Vec<SourceFile> {
    let files = rust_in(&["src", "tests", "benches", "examples"]);
    files.into_iter().filter(|f| !f.path.starts_with("tests/tidy/")).collect()
}

/// Runs a rule over files.
fn over(files: &[SourceFile], rule: impl Fn(&SourceFile) -> Vec<Finding>) -> Vec<Finding> {
    files.iter().flat_map(rule).collect()
}

/// Fails with every finding, one per line, in the form that editors can jump to.
fn expect_none(findings: &[Finding]) {
    let lines: Vec<String> = findings.iter().map(|f| format!("{}:{}: {}", f.path, f.line, f.why)).collect();
    assert!(findings.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn the_source_is_found() {
    let paths: Vec<String> = rust_in(&["src", "tests"]).into_iter().map(|f| f.path).collect();
    assert!(paths.contains(&"src/lib.rs".to_owned()) || paths.contains(&"src/main.rs".to_owned()));
    assert!(paths.contains(&"tests/tidy/main.rs".to_owned()));
}

#[test]
fn a_file_knows_its_module() {
    let module = |path: &str| SourceFile::new(path, "").module().join("::");
    assert_eq!(module("src/domain/ids.rs"), "domain::ids");
    assert_eq!(module("src/domain/mod.rs"), "domain");
    assert_eq!(module("src/config.rs"), "config");
    assert_eq!(module("src/lib.rs"), "");
}
