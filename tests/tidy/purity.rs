//! What a decision depends on is handed to it: no IO in the core, one clock, one source of randomness.

use crate::scan::{Views, is_word, paths};
use crate::{Finding, SourceFile, expect_none, files_in, over, rust_in};

/// Modules that compute and do nothing else.
const PURE: &[&str] = &["domain", "state_layer", "evidence"];

/// Crates and parts of the standard library that act on the world.
const IMPURE: &[&[&str]] = &[
    &["tokio"],
    &["sqlx"],
    &["axum"],
    &["tower"],
    &["tower_http"],
    &["tracing"],
    &["tracing_subscriber"],
    &["metrics"],
    &["metrics_exporter_prometheus"],
    &["reqwest"],
    &["async_trait"],
    &["getrandom"],
    &["rand"],
    &["std", "fs"],
    &["std", "env"],
    &["std", "io"],
    &["std", "net"],
    &["std", "process"],
    &["std", "thread"],
];

/// Calls that read the wall clock or draw randomness.
const AMBIENT: &[&[&str]] = &[
    &["SystemTime", "now"],
    &["Timestamp", "now"],
    &["Zoned", "now"],
    &["Utc", "now"],
    &["Local", "now"],
    &["OffsetDateTime", "now_utc"],
    &["Uuid", "new_v4"],
    &["Uuid", "now_v1"],
    &["Uuid", "now_v6"],
    &["Uuid", "now_v7"],
];

/// The one file that may.
const AMBIENT_HOME: &str = "src/system.rs";

/// What asks the database for the time.
const SQL_CLOCKS: &[&str] = &[
    "now()",
    "current_timestamp",
    "current_time",
    "current_date",
    "localtimestamp",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "unixepoch()",
    "'now'",
];

/// Files that may, each with the reason.
const SQL_CLOCK_HOMES: &[(&str, &str)] =
    &[("src/storage/postgres/clock.rs", "many processes decide by one clock: the database's, read after the locks")];

fn is_pure(file: &SourceFile) -> bool {
    file.module().first().is_some_and(|unit| PURE.contains(&unit.as_str()))
}

/// The core is synchronous functions over values.
fn core_does_no_io(file: &SourceFile) -> Vec<Finding> {
    if !is_pure(file) {
        return Vec::new();
    }
    let tokens = file.code_tokens();
    let mut findings = Vec::new();
    for path in paths(&tokens) {
        let mut impure = IMPURE.iter().filter(|wanted| path.starts_with(wanted));
        if let Some(impure) = impure.next() {
            let why = format!("`{}` in the pure core: pass the value in instead", impure.join("::"));
            findings.push(Finding::new(&file.path, path.line, why));
        }
        if path.ends_with(&["Instant", "now"]) {
            findings.push(Finding::new(&file.path, path.line, "`Instant::now` in the pure core: pass the time in"));
        }
    }
    for token in &tokens {
        if matches!(token.text.as_str(), "async" | "await" | "SystemTime") {
            let why = format!("`{}` in the pure core: it is synchronous and is told the time", token.text);
            findings.push(Finding::new(&file.path, token.line, why));
        }
    }
    findings
}

/// The wall clock and the OS randomness are read in one file.
fn one_clock(file: &SourceFile) -> Vec<Finding> {
    if file.path == AMBIENT_HOME {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for path in paths(&file.code_tokens()) {
        let randomness = ["getrandom", "rand"].iter().any(|name| path.starts_with(&[name]));
        if randomness || AMBIENT.iter().any(|wanted| path.ends_with(wanted)) {
            let why = format!("`{}` outside {AMBIENT_HOME}: take it as an argument", path.segments.join("::"));
            findings.push(Finding::new(&file.path, path.line, why));
        }
    }
    findings
}

/// Times in statements are bound, never asked of the database: two databases are two clocks.
fn no_sql_clock(file: &SourceFile) -> Vec<Finding> {
    let sql = if file.is_rust() {
        Views::of_rust(&file.text).literals
    } else if file.has_extension("sql") {
        without_sql_comments(&file.text)
    } else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for (number, line) in sql.lines().enumerate() {
        let line = line.to_lowercase();
        for clock in SQL_CLOCKS.iter().filter(|clock| has_word(&line, clock)) {
            let why = format!("SQL clock `{clock}`: bind the injected time");
            findings.push(Finding::new(&file.path, number + 1, why));
        }
    }
    findings
}

/// The statements of a migration, line for line.
pub(crate) fn without_sql_comments(sql: &str) -> String {
    let lines: Vec<&str> = sql.lines().map(|l| l.split("--").next().unwrap_or_default()).collect();
    lines.join("\n")
}

/// Whether the needle occurs with no letter, digit or underscore before or after it.
pub(crate) fn has_word(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(is_word);
        let ends_in_word = needle.chars().next_back().is_some_and(is_word);
        let after = line[at + needle.len()..].chars().next().is_some_and(is_word);
        !before && (!ends_in_word || !after)
    })
}

#[test]
fn the_core_is_pure() {
    expect_none(&over(&rust_in(&["src"]), core_does_no_io));
}

#[test]
fn time_and_randomness_have_one_source() {
    expect_none(&over(&rust_in(&["src"]), one_clock));
}

#[test]
fn statements_ask_no_clock() {
    let mut files = files_in("src");
    files.extend(files_in("migrations"));
    let (homes, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|f| SQL_CLOCK_HOMES.iter().any(|(home, _)| *home == f.path));
    let mut findings = over(&others, no_sql_clock);
    for (home, _) in SQL_CLOCK_HOMES {
        if !homes.iter().any(|f| f.path == *home && !no_sql_clock(f).is_empty()) {
            findings.push(Finding::new(home, 1, "needs no exception any more: take it out of SQL_CLOCK_HOMES"));
        }
    }
    expect_none(&findings);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn impure(text: &str) -> usize {
        core_does_no_io(&SourceFile::new("src/domain/frame.rs", text)).len()
    }

    fn ambient(path: &str, text: &str) -> usize {
        one_clock(&SourceFile::new(path, text)).len()
    }

    fn sql(path: &str, text: &str) -> usize {
        no_sql_clock(&SourceFile::new(path, text)).len()
    }

    #[test]
    fn io_in_the_core_is_found() {
        assert_eq!(impure("use std::{fmt, fs::File};"), 1);
        assert_eq!(impure("fn f() { tracing::info!(\"x\") }"), 1);
        assert_eq!(impure("async fn f() { g().await }"), 2);
        assert_eq!(impure("use std::time::SystemTime;"), 1);
        assert_eq!(impure("let t = std::time::Instant::now();"), 1);
    }

    #[test]
    fn values_comments_and_other_modules_are_fine() {
        assert_eq!(impure("// tokio::spawn, async\nlet metrics = \"std::fs\"; use std::fmt;"), 0);
        let service = SourceFile::new("src/service/ask.rs", "async fn f() { tokio::spawn(g()).await }");
        assert!(core_does_no_io(&service).is_empty());
    }

    #[test]
    fn a_second_clock_is_found() {
        assert_eq!(ambient("src/http/router.rs", "let t = chrono::Utc::now();"), 1);
        assert_eq!(ambient("src/http/router.rs", "let t = std::time::SystemTime::now();"), 1);
        assert_eq!(ambient("src/http/router.rs", "getrandom::fill(&mut bytes);"), 1);
        assert_eq!(ambient("src/http/router.rs", "let id = Uuid::now_v7();"), 1);
        assert_eq!(ambient("src/system.rs", "let t = chrono::Utc::now();"), 0);
        assert_eq!(ambient("src/http/router.rs", "let t = Instant::now(); clock.now();"), 0);
    }

    #[test]
    fn a_clock_in_a_statement_is_found() {
        assert_eq!(sql("migrations/sqlite/0001_a.sql", "x TEXT DEFAULT CURRENT_TIMESTAMP"), 1);
        assert_eq!(sql("src/storage/sqlite/a.rs", "query(\"SELECT datetime('now')\")"), 1);
        assert_eq!(sql("src/storage/postgres/a.rs", "query(r#\"select\n NOW()\"#)"), 1);
        assert_eq!(sql("src/storage/sqlite/a.rs", "let t = clock.now(); query(\"WHERE known()\")"), 0);
        assert_eq!(sql("migrations/sqlite/0001_a.sql", "a INT -- never now()"), 0);
    }
}
