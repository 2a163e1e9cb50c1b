//! What an operator reads and loads names only what the program really says.

use std::collections::{BTreeMap, BTreeSet};

use crate::scan::is_word;
use crate::{Finding, SourceFile, expect_none, files_in, rust_in};

/// Files that ask for metrics.
const ASKING: &[&str] = &["deploy/alerts.yml", "deploy/grafana.json"];
/// The file that explains all of them.
const GUIDE: &str = "docs/OPERATIONS.md";
/// How the names of metrics begin, ours and those that all programs share.
const BEGINNINGS: &[&str] = &["cscp_", "process_"];
/// What the exporter adds to the name of a histogram.
const PARTS: &[&str] = &["_bucket", "_sum", "_count"];
/// Calls that emit a metric; their first argument is its name.
const EMITTERS: &[&str] = &["metrics::counter!(", "metrics::gauge!(", "metrics::histogram!("];

/// Words that look like the name of a metric, and the lines they stand in.
fn names_in(text: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        for word in line.split(|c: char| !is_word(c)) {
            if BEGINNINGS.iter().any(|beginning| word.starts_with(beginning) && word.len() > beginning.len()) {
                found.entry(word.to_owned()).or_insert(number + 1);
            }
        }
    }
    found
}

/// The metrics that this source emits; `true` for histograms.
fn emitted(files: &[SourceFile]) -> BTreeMap<String, bool> {
    let mut found = BTreeMap::new();
    for emitter in EMITTERS {
        for after in files.iter().flat_map(|file| file.text.split(emitter).skip(1)) {
            if let Some(name) = after.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next()) {
                found.insert(name.to_owned(), emitter.contains("histogram"));
            }
        }
    }
    found
}

/// Names that nothing emits. A histogram is there in its parts only.
fn unknown_names(file: &SourceFile, emitted: &BTreeMap<String, bool>) -> Vec<Finding> {
    let known = |name: &str| match PARTS.iter().find_map(|part| name.strip_suffix(part)) {
        Some(whole) if emitted.get(whole) == Some(&true) => true,
        _ => emitted.get(name) == Some(&false),
    };
    let unknown = names_in(&file.text).into_iter().filter(|(name, _)| !known(name));
    unknown.map(|(name, line)| Finding::new(&file.path, line, format!("nothing emits `{name}`"))).collect()
}

/// Metrics that nobody explains.
fn unexplained(guide: &SourceFile, emitted: &BTreeMap<String, bool>) -> Vec<Finding> {
    let explained: BTreeSet<String> = names_in(&guide.text).into_keys().collect();
    let missing = emitted.keys().filter(|name| !explained.contains(*name));
    missing.map(|name| Finding::new(&guide.path, 1, format!("does not explain `{name}`"))).collect()
}

fn read(path: &str) -> SourceFile {
    let folder = path.split('/').next().unwrap_or_default();
    let found = files_in(folder).into_iter().find(|file| file.path == path);
    found.unwrap_or_else(|| panic!("{path} is missing"))
}

#[test]
fn alerts_and_dashboard_ask_for_what_is_there() {
    let emitted = emitted(&rust_in(&["src"]));
    assert!(emitted.len() > 10, "{emitted:?}");
    for path in ASKING {
        let file = read(path);
        assert!(names_in(&file.text).len() > 5, "{path} asks for next to nothing");
        expect_none(&unknown_names(&file, &emitted));
    }
}

#[test]
fn every_metric_is_explained() {
    expect_none(&unexplained(&read(GUIDE), &emitted(&rust_in(&["src"]))));
}

#[test]
fn the_dashboard_can_be_imported() {
    let dashboard: serde_json::Value = serde_json::from_str(&read("deploy/grafana.json").text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
    assert!(panels.len() > 10 && ids.len() == panels.len(), "panels need ids of their own");
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        let (uid, targets) = (&panel["datasource"]["uid"], &panel["targets"]);
        assert_eq!(uid, "${datasource}", "{}", panel["title"]);
        assert!(targets.as_array().is_some_and(|targets| !targets.is_empty()), "{}", panel["title"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invented_metric_is_found() {
        let source =
            "metrics::counter!(\"cscp_a_total\").increment(1); metrics::histogram!(\n    \"cscp_b_seconds\", x)";
        let emitted = emitted(&[SourceFile::new("src/a.rs", source)]);
        let found = |text: &str| unknown_names(&SourceFile::new("deploy/alerts.yml", text), &emitted).len();
        assert_eq!(found("rate(cscp_a_total[5m]) / cscp_b_seconds_bucket"), 0);
        assert_eq!(found("cscp_c_total"), 1);
        assert_eq!(found("cscp_b_seconds"), 1, "a histogram has no series of its own name");
        assert_eq!(found("cscp_a_total_bucket"), 1);
        assert_eq!(unexplained(&SourceFile::new("docs/x.md", "`cscp_a_total`"), &emitted).len(), 1);
    }
}
