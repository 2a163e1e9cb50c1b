//! Who may name whom: `domain ← state_layer ← evidence ← storage ← committer ← service ← {http, cli}`.

use crate::scan::{self, paths, without_tests};
use crate::{Finding, SourceFile, expect_none, over, rust_in};

/// Each top-level module and the modules it may name beside itself.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("state_layer", &["domain"]),
    ("evidence", &["domain", "state_layer"]),
    // Reads policy files; what a policy means is the domain's.
    ("packs", &["domain"]),
    // Leaves: they carry settings, signals and the clock, and know nothing of use cases.
    ("config", &["domain", "packs"]),
    ("telemetry", &["domain", "config"]),
    // Implements the ports for time and randomness, wherever those are declared.
    ("system", &["domain", "storage"]),
    // Files that must survive a crash: it knows paths and bytes.
    ("files", &[]),
    ("storage", &["domain", "state_layer", "evidence", "config", "telemetry", "system", "files"]),
    // Decides under the lock: it knows the port, and no adapter.
    ("committer", &["domain", "state_layer", "evidence", "storage"]),
    // Time and ids are handed to a use case: it may not fetch them.
    (
        "service",
        &["domain", "state_layer", "evidence", "storage", "committer", "packs", "config", "telemetry", "files"],
    ),
    // A handler knows use cases: what the database can do is not its business.
    ("http", &["domain", "state_layer", "evidence", "service", "packs", "config", "telemetry", "system"]),
    (
        "cli",
        &[
            "domain",
            "state_layer",
            "evidence",
            "storage",
            "committer",
            "service",
            "packs",
            "config",
            "telemetry",
            "system",
            "http",
        ],
    ),
    ("main", &["cli"]),
];

const ADAPTERS: &[&str] = &["sqlite", "postgres"];

/// The top-level module that a file belongs to; none for `lib.rs`, which only lists them.
fn unit(file: &SourceFile) -> Option<String> {
    match file.path.as_str() {
        "src/lib.rs" => None,
        "src/main.rs" => Some("main".to_owned()),
        _ => file.module().first().cloned(),
    }
}

/// The path from the crate root, if it is one of ours.
fn resolve(module: &[String], path: &scan::Path) -> Option<Vec<String>> {
    let first = path.segments.first()?;
    let ups = path.segments.iter().take_while(|s| *s == "super").count();
    let mut base: Vec<String> = module.iter().chain(&path.inside).cloned().collect();
    let skip = match first.as_str() {
        "crate" | "cscp" => {
            base.clear();
            1
        }
        // `self::super::x` is legal and means `super::x`.
        "self" if path.segments.get(1).is_some_and(|s| s == "super") => {
            base.pop();
            2
        }
        "self" => 1,
        "super" => {
            base.truncate(base.len().saturating_sub(ups));
            ups
        }
        // Inside the port, a bare `sqlite::` is the adapter beside it.
        name if module == ["storage"] && ADAPTERS.contains(&name) => 0,
        _ => return None,
    };
    base.extend(path.segments.iter().skip(skip).cloned());
    Some(base)
}

/// A module names only what stands left of it.
fn left_never_names_right(file: &SourceFile) -> Vec<Finding> {
    let Some(unit) = unit(file) else {
        return Vec::new();
    };
    let Some((_, allowed)) = MAY_NAME.iter().find(|(name, _)| *name == unit) else {
        let why = format!("top-level module `{unit}` has no row in MAY_NAME: say what it may name");
        return vec![Finding::new(&file.path, 1, why)];
    };
    let module = file.module();
    let mut findings = Vec::new();
    for path in paths(&file.code_tokens()) {
        let Some(target) = resolve(&module, &path) else {
            continue;
        };
        let known = |name: &&String| MAY_NAME.iter().any(|(known, _)| known == name);
        let Some(named) = target.first().filter(known) else {
            continue;
        };
        if *named != unit && !allowed.contains(&named.as_str()) {
            let why = format!("`{unit}` may not name `{named}`: it stands right of it");
            findings.push(Finding::new(&file.path, path.line, why));
        }
    }
    findings
}

/// Only the command line chooses a database; an adapter does not know the other one.
fn only_cli_names_an_adapter(file: &SourceFile) -> Vec<Finding> {
    let module = file.module();
    let own_adapter = match module.as_slice() {
        [first, ..] if first == "cli" => return Vec::new(),
        [first, adapter, ..] if first == "storage" => Some(adapter.clone()),
        _ => None,
    };
    let mut findings = Vec::new();
    for path in paths(&without_tests(&file.code_tokens())) {
        let Some(target) = resolve(&module, &path) else {
            continue;
        };
        if let [first, adapter, ..] = target.as_slice()
            && first == "storage"
            && ADAPTERS.contains(&adapter.as_str())
            && own_adapter.as_ref() != Some(adapter)
        {
            let why = format!("names the adapter `{adapter}`: only `cli` may; use the port");
            findings.push(Finding::new(&file.path, path.line, why));
        }
    }
    findings
}

#[test]
fn imports_point_left() {
    expect_none(&over(&rust_in(&["src"]), left_never_names_right));
}

#[test]
fn adapters_are_named_by_cli_alone() {
    expect_none(&over(&rust_in(&["src"]), only_cli_names_an_adapter));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(path: &str, text: &str) -> usize {
        left_never_names_right(&SourceFile::new(path, text)).len()
    }

    fn adapter(path: &str, text: &str) -> usize {
        only_cli_names_an_adapter(&SourceFile::new(path, text)).len()
    }

    #[test]
    fn naming_right_is_found_however_it_is_written() {
        for text in [
            "use crate::service::Ask;",
            "use crate::{service::{Ask, Bind}};",
            "use super::super::service;",
            "fn f() { crate::service::ask(); }",
            "mod inner { fn f() { super::super::super::service::ask(); } }",
            "pub(in crate::service) fn f() {}",
        ] {
            assert!(direction("src/domain/frame.rs", text) > 0, "{text}");
        }
        assert_eq!(direction("src/domain/frame.rs", "\nuse crate::http::v1;"), 1);
        assert_eq!(direction("src/packs/read.rs", "use crate::state_layer::Fact;"), 1);
        assert_eq!(direction("src/storage/sqlite/rows.rs", "use crate::service::Ask;"), 1);
        assert_eq!(direction("src/domain/time.rs", "use crate::system::SystemClock;"), 1);
        assert_eq!(direction("src/main.rs", "fn main() { cscp::service::run() }"), 1);
    }

    #[test]
    fn naming_left_is_fine() {
        let text = "//! see crate::http\nuse crate::domain::Now;\nuse super::ids;\nuse tower::service::X;";
        assert_eq!(direction("src/state_layer/facts.rs", text), 0);
        assert_eq!(direction("src/http/v1/get.rs", "use crate::service::Ask; use super::super::problem;"), 0);
        assert_eq!(direction("src/main.rs", "fn main() { cscp::cli::run() }"), 0);
        assert_eq!(direction("src/domain/mod.rs", "mod tests { use super::*; }"), 0);
    }

    #[test]
    fn a_module_without_a_row_is_found() {
        assert_eq!(direction("src/helpers.rs", ""), 1);
        assert_eq!(direction("src/lib.rs", "pub mod helpers;"), 0);
    }

    #[test]
    fn naming_an_adapter_is_found() {
        assert_eq!(adapter("src/service/ask.rs", "use crate::storage::{sqlite::Db, Port};"), 1);
        assert_eq!(adapter("src/storage/mod.rs", "pub mod sqlite; pub use self::sqlite::Db;"), 1);
        assert_eq!(adapter("src/storage/mod.rs", "pub mod sqlite; pub use sqlite::Db;"), 1);
        assert_eq!(adapter("src/storage/sqlite/a.rs", "use crate::storage::postgres::Db;"), 1);
        assert_eq!(adapter("src/storage/sqlite/a.rs", "use super::rows; use crate::storage::sqlite::b;"), 0);
        assert_eq!(adapter("src/storage/mod.rs", "use sqlx::sqlite::Pool;"), 0);
        assert_eq!(adapter("src/cli/serve.rs", "use crate::storage::sqlite::Db;"), 0);
        let in_tests = "#[cfg(test)] mod tests { use crate::storage::sqlite::Db; }";
        assert_eq!(adapter("src/service/ask.rs", in_tests), 0);
    }
}
