//! Links in the documents lead to files and headings that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::scan::is_word;
use crate::{Finding, SourceFile, expect_none, files_in};

/// Folders with documents, besides the ones at the top.
const FOLDERS: &[&str] = &["docs", "deploy", "policies", "examples", "clients", ".ci"];
/// Documents at the top.
const AT_THE_TOP: &[&str] = &["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];

/// The names by which the headings of a text are linked to.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let kept = |c: &char| is_word(*c) || matches!(c, ' ' | '-');
    let anchor = |line: &str| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        heading.chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// The path that a link means, seen from the file that holds it.
fn target(from: &str, link: &str) -> String {
    let mut path = PathBuf::from(from);
    path.pop();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path.to_string_lossy().into_owned()
}

/// The relative links of a Markdown text, with their lines.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for after in line.split("](").skip(1) {
            let Some((link, _)) = after.split_once(')') else { continue };
            if !link.contains("://") && !link.contains(' ') {
                found.push((number + 1, link.to_owned()));
            }
        }
    }
    found
}

/// Links of one document that lead nowhere. `exists` says whether there is a file or folder at a path.
fn dead(file: &SourceFile, headings: &BTreeMap<String, BTreeSet<String>>, exists: fn(&str) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, link) in links(&file.text) {
        let (path, heading) = link.split_once('#').map_or((link.as_str(), None), |(path, to)| (path, Some(to)));
        let path = if path.is_empty() { file.path.clone() } else { target(&file.path, path) };
        let there = match (heading, headings.get(&path)) {
            (Some(heading), Some(known)) => known.contains(heading),
            _ => exists(&path),
        };
        if !there {
            findings.push(Finding::new(&file.path, line, format!("the link `{link}` leads nowhere")));
        }
    }
    findings
}

fn documents() -> Vec<SourceFile> {
    let is_markdown = |file: &SourceFile| Path::new(&file.path).extension().is_some_and(|ending| ending == "md");
    let mut found: Vec<SourceFile> = FOLDERS.iter().flat_map(|folder| files_in(folder)).filter(is_markdown).collect();
    found.extend(AT_THE_TOP.iter().filter_map(|path| {
        std::fs::read_to_string(crate::root().join(path)).ok().map(|text| SourceFile::new(path, &text))
    }));
    found
}

#[test]
fn every_link_leads_somewhere() {
    let documents = documents();
    assert!(documents.len() > 30, "only {} documents were found", documents.len());
    let headings = documents.iter().map(|file| (file.path.clone(), anchors(&file.text))).collect();
    let findings: Vec<Finding> =
        documents.iter().flat_map(|file| dead(file, &headings, |path| crate::root().join(path).exists())).collect();
    expect_none(&findings);
}

#[test]
fn every_alert_leads_to_a_runbook() {
    let alerts = files_in("deploy").into_iter().find(|file| file.path == "deploy/alerts.yml").unwrap();
    let rules = alerts.text.matches("- alert: ").count();
    let pages: Vec<&str> =
        alerts.text.split(" runbook: \"").skip(1).filter_map(|after| after.split('"').next()).collect();
    assert!(rules > 10 && rules == pages.len(), "{rules} alerts, {} of them with a runbook", pages.len());
    for page in pages {
        let path = page.split('#').next().unwrap_or_default();
        assert!(crate::root().join(path).exists(), "an alert names {path}, which is missing");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_link_is_found() {
        let headings = BTreeMap::from([("docs/a.md".to_owned(), anchors("# A\n## Slow, or `dead`?\ntext"))]);
        let found = |text: &str| dead(&SourceFile::new("docs/a.md", text), &headings, |path| path == "README.md").len();
        assert_eq!((found("[x](#slow-or-dead)"), found("[x](#a) [y](#slow)")), (0, 1));
        assert_eq!((found("[x](../README.md)"), found("[x](README.md)"), found("[x](https://a.b/c)")), (0, 1, 0));
        assert_eq!((found("[x](a.md#a)"), found("[x](a.md#b)")), (0, 1));
    }
}
