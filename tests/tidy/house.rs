//! What the repository must hold, and what must not leak into it.

use std::collections::BTreeSet;

use crate::{Finding, SourceFile, entries, expect_none, files_in, over};

/// What a stranger needs to use, judge and change the server. Asked for from the day there is one to call.
const HOUSE: &[&str] = &["CHANGELOG.md", "LICENSE", "README.md", "docs/ARCHITECTURE.md", "openapi.yaml", "policies"];
const SERVER: &str = "src/http";

/// The hidden files that the project has a use for.
const HIDDEN: &[&str] =
    &[".cargo", ".ci", ".config", ".dockerignore", ".editorconfig", ".git", ".gitattributes", ".gitignore", ".sqlx"];

/// Beginnings of paths that exist on somebody's machine only.
const MACHINE_PATHS: &[&str] = &["/work/", "/root/", "/home/", "/Users/", "/tmp/"];

/// Missing pieces of the house.
fn missing(present: &BTreeSet<String>) -> Vec<Finding> {
    let absent = HOUSE.iter().filter(|path| !present.contains(**path));
    absent.map(|path| Finding::new(path, 1, "is missing")).collect()
}

/// Settings of editors and other tools of one person belong to that person's global ignore list.
fn only_known_hidden_files(names: &[String]) -> Vec<Finding> {
    let hidden = names.iter().filter(|name| name.starts_with('.'));
    let unknown = hidden.filter(|name| !HIDDEN.contains(&name.as_str()));
    unknown.map(|name| Finding::new(name, 1, "is no file of the project's: keep it out, or add it to HIDDEN")).collect()
}

/// A path of one machine means nothing on the next.
fn no_machine_paths(file: &SourceFile) -> Vec<Finding> {
    let may_use_tmp = file.path.starts_with("tests/");
    let mut findings = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        for wanted in MACHINE_PATHS {
            let excused = may_use_tmp && *wanted == "/tmp/";
            if !excused && line.match_indices(wanted).any(|(at, _)| begins_a_path(&line[..at])) {
                let why = format!("`{wanted}` is a path of one machine");
                findings.push(Finding::new(&file.path, number + 1, why));
            }
        }
    }
    findings
}

/// Whether a path can begin after this text: inside a longer path or an address it cannot.
fn begins_a_path(before: &str) -> bool {
    let last = before.chars().next_back();
    !last.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '}' | ')' | '>' | '*' | '$'))
}

#[test]
fn the_house_is_complete() {
    let mut present = BTreeSet::new();
    for folder in ["", "docs", "src"] {
        present.extend(entries(folder).into_iter().map(|(path, _)| path));
    }
    if present.contains(SERVER) {
        expect_none(&missing(&present));
    }
}

#[test]
fn hidden_files_are_the_projects_own() {
    let names: Vec<String> = entries("").into_iter().map(|(path, _)| path).collect();
    expect_none(&only_known_hidden_files(&names));
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    let files = files_in("").into_iter().filter(|f| !f.path.starts_with("tests/tidy/"));
    expect_none(&over(&files.collect::<Vec<_>>(), no_machine_paths));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaks(path: &str, text: &str) -> usize {
        no_machine_paths(&SourceFile::new(path, text)).len()
    }

    #[test]
    fn a_missing_piece_is_found() {
        let mut present: BTreeSet<String> = HOUSE.iter().map(|p| (*p).to_owned()).collect();
        assert_eq!(missing(&present).len(), 0);
        present.remove("LICENSE");
        assert_eq!(missing(&present), [Finding::new("LICENSE", 1, "is missing")]);
    }

    #[test]
    fn a_personal_file_is_found() {
        let names = [".gitignore", ".editor-of-mine", "src"].map(str::to_owned);
        assert_eq!(only_known_hidden_files(&names).len(), 1);
    }

    #[test]
    fn a_machine_path_is_found() {
        assert_eq!(leaks("README.md", "cd /work/cscp"), 1);
        assert_eq!(leaks("src/cli/serve.rs", "\"/tmp/cscp.db\""), 1);
        assert_eq!(leaks("docs/a.md", "(/root/.cargo)\nx=/home/me/y"), 2);
        assert_eq!(leaks("tests/api/main.rs", "\"/tmp/cscp.db\""), 0);
        assert_eq!(leaks("openapi.yaml", "/v1/evidence/root/{id}\nhttps://a.example/home/x"), 0);
    }
}
