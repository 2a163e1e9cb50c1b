//! Files and functions that fit a screen and a head, names that say something, nothing left lying about.

use crate::purity::has_word;
use crate::scan::{Token, Views, closing_brace, is_ident, paths};
use crate::{Finding, SourceFile, all_rust, expect_none, over, rust_in};

const FILE_LINES_MAX: usize = 400;
const FUNCTION_LINES_MAX: usize = 70;

/// Files over the limit. May only shrink.
const LONG_FILES: &[&str] = &[];
/// Functions over the limit, as `path::function`. May only shrink.
const LONG_FUNCTIONS: &[&str] = &[];

/// Files that may sleep, each with what they wait for that cannot wake them.
const SLEEPERS: &[(&str, &str)] = &[
    ("tests/process/waiting.rs", "another process: nothing in the test's own wakes when that one is ready or gone"),
    ("src/committer/batch.rs", "a database that restarts: nothing in this process wakes when it is back"),
    ("src/service/going.rs", "time: a writer that has worked rests for as long, so that others have their turns"),
    ("examples/statebench/memory.rs", "a busy server says to come back later: nothing here wakes when it has time"),
    ("examples/history/checker/pause.rs", "a server that was killed: nothing in this process wakes when it is back"),
    ("examples/load/pause.rs", "time: turns begin when they are due, and a busy server says how long to stay away"),
];

/// Words that name no thing.
const EMPTY_WORDS: &[&str] = &["manager", "helper", "helpers", "util", "utils", "processor"];

/// Work that is not done.
const UNDONE_MACROS: &[&str] = &["todo", "unimplemented", "dbg"];
const UNDONE_MARKS: &[&str] = &["FIXME", "XXX", "HACK"];

/// The reader learns first what a file is for.
fn begins_with_a_module_doc(file: &SourceFile) -> Vec<Finding> {
    if file.text.starts_with("//!") {
        return Vec::new();
    }
    vec![Finding::new(&file.path, 1, "begins without a `//!` line that says what the module is for")]
}

fn file_fits(file: &SourceFile) -> Vec<Finding> {
    let lines = file.text.lines().count();
    if lines <= FILE_LINES_MAX {
        return Vec::new();
    }
    let why = format!("{lines} lines, more than {FILE_LINES_MAX}: it holds more than one idea");
    vec![Finding::new(&file.path, 1, why)]
}

/// A function and the lines it spans.
struct Function {
    name: String,
    line: usize,
    lines: usize,
}

fn functions(tokens: &[Token]) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        let [keyword, name] = pair else { continue };
        if keyword.text != "fn" || !is_ident(name) {
            continue;
        }
        if let Some(open) = body(tokens, at) {
            let last = &tokens[closing_brace(tokens, open) - 1];
            found.push(Function { name: name.text.clone(), line: keyword.line, lines: last.line - keyword.line + 1 });
        }
    }
    found
}

/// Where the body of the function at `at` opens; none for a declaration.
fn body(tokens: &[Token], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(at) {
        match token.text.as_str() {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "{" if depth == 0 => return Some(at),
            ";" if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn long_functions(file: &SourceFile) -> Vec<(String, Finding)> {
    let functions = functions(&file.code_tokens()).into_iter();
    let long = functions.filter(|f| f.lines > FUNCTION_LINES_MAX);
    let described = long.map(|f| {
        let why = format!("`{}` has {} lines, more than {FUNCTION_LINES_MAX}", f.name, f.lines);
        (format!("{}::{}", file.path, f.name), Finding::new(&file.path, f.line, why))
    });
    described.collect()
}

/// What is not done is an issue, not a mark in the source.
fn nothing_undone(file: &SourceFile) -> Vec<Finding> {
    let views = Views::of_rust(&file.text);
    let tokens = file.code_tokens();
    let calls = tokens.windows(2).filter(|pair| UNDONE_MACROS.contains(&pair[0].text.as_str()) && pair[1].text == "!");
    let mut findings: Vec<Finding> =
        calls.map(|pair| Finding::new(&file.path, pair[0].line, format!("`{}!` left in", pair[0].text))).collect();
    for (number, line) in views.comments.lines().enumerate() {
        for mark in UNDONE_MARKS.iter().filter(|mark| has_word(line, mark)) {
            findings.push(Finding::new(&file.path, number + 1, format!("`{mark}`: do it, or file it")));
        }
    }
    findings
}

/// A lint is silenced only where it would fire, and with a reason; no test is switched off.
fn attributes_are_honest(file: &SourceFile) -> Vec<Finding> {
    let tokens = file.code_tokens();
    let mut findings = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |n| tokens[n].text.as_str());
        let after = tokens.get(at + 1).map_or("", |t| t.text.as_str());
        let in_attribute = before == "[" && at > 1 && matches!(tokens[at - 2].text.as_str(), "#" | "!");
        let in_condition = before == "," && in_cfg_attr(&tokens[..at]);
        if !in_attribute && !in_condition {
            continue;
        }
        let why = match token.text.as_str() {
            "allow" if after == "(" => "`allow`: use `expect` with a reason, it says when it is no longer needed",
            "expect" if after == "(" && !gives_reason(&tokens[at..]) => "`expect` without a reason",
            "ignore" => "an ignored test protects nothing",
            _ => continue,
        };
        findings.push(Finding::new(&file.path, token.line, why));
    }
    findings
}

/// Whether the tokens end inside an open `cfg_attr(…`.
fn in_cfg_attr(before: &[Token]) -> bool {
    let open = before.iter().rposition(|t| t.text == "cfg_attr");
    open.is_some_and(|at| before[at..].iter().all(|t| t.text != "]"))
}

fn gives_reason(attribute: &[Token]) -> bool {
    let inside = attribute.iter().take_while(|t| t.text != "]");
    inside.into_iter().any(|t| t.text == "reason")
}

/// A sleep is a guess about time: wait for the event, or move the injected clock.
fn nobody_sleeps(file: &SourceFile) -> Vec<Finding> {
    let all = paths(&file.code_tokens()).into_iter();
    let sleeps = all.filter(|p| p.ends_with(&["thread", "sleep"]) || p.ends_with(&["time", "sleep"]));
    sleeps.map(|p| Finding::new(&file.path, p.line, "sleeps: wait for the event, or move the clock")).collect()
}

/// `HTTPUtil_x` is `http`, `util`, `x`; a run of capitals is one word.
fn words(name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut previous = '_';
    let chars: Vec<char> = name.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        let next_is_small = chars.get(at + 1).is_some_and(|n| n.is_lowercase());
        let starts = c.is_uppercase() && (!previous.is_uppercase() || next_is_small);
        match found.last_mut() {
            Some(word) if *c != '_' && previous != '_' && !starts => word.extend(c.to_lowercase()),
            _ if *c != '_' => found.push(c.to_lowercase().collect()),
            _ => {}
        }
        previous = *c;
    }
    found
}

/// Types and modules are named after what they are.
fn names_say_something(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut judge = |name: &str, line: usize| {
        if let Some(word) = words(name).iter().find(|w| EMPTY_WORDS.contains(&w.as_str())) {
            findings.push(Finding::new(&file.path, line, format!("`{name}`: `{word}` names no thing")));
        }
        if name == "Frame" {
            let why = "`Frame` is two things here: say ContextFrame or WorkFrame";
            findings.push(Finding::new(&file.path, line, why));
        }
    };
    for pair in file.code_tokens().windows(2) {
        let declares = matches!(pair[0].text.as_str(), "struct" | "enum" | "trait" | "type" | "union" | "mod");
        if declares && is_ident(&pair[1]) {
            judge(&pair[1].text, pair[1].line);
        }
    }
    for part in file.path.trim_end_matches(".rs").split('/') {
        judge(part, 1);
    }
    findings
}

#[test]
fn every_module_says_what_it_is_for() {
    expect_none(&over(&rust_in(&["src"]), begins_with_a_module_doc));
}

#[test]
fn files_and_functions_fit_a_screen() {
    let files = rust_in(&["src"]);
    let (excepted, others): (Vec<_>, Vec<_>) = files.iter().partition(|f| LONG_FILES.contains(&f.path.as_str()));
    let mut findings: Vec<Finding> = others.into_iter().flat_map(file_fits).collect();
    let needed = |path: &str| excepted.iter().any(|f| f.path == path && !file_fits(f).is_empty());
    for path in LONG_FILES.iter().filter(|path| !needed(path)) {
        findings.push(Finding::new(path, 1, "fits now: take it out of LONG_FILES"));
    }
    let long: Vec<(String, Finding)> = files.iter().flat_map(long_functions).collect();
    for name in LONG_FUNCTIONS.iter().filter(|name| !long.iter().any(|(long, _)| long == *name)) {
        findings.push(Finding::new(name, 1, "fits now: take it out of LONG_FUNCTIONS"));
    }
    let unexcepted = long.into_iter().filter(|(name, _)| !LONG_FUNCTIONS.contains(&name.as_str()));
    findings.extend(unexcepted.map(|(_, finding)| finding));
    expect_none(&findings);
}

#[test]
fn nothing_is_left_undone() {
    expect_none(&over(&all_rust(), nothing_undone));
}

#[test]
fn lints_are_silenced_with_a_reason_and_tests_are_not() {
    expect_none(&over(&all_rust(), attributes_are_honest));
}

#[test]
fn nothing_waits_by_guessing() {
    let mut findings = Vec::new();
    for file in all_rust() {
        let sleeps = nobody_sleeps(&file);
        let excepted = SLEEPERS.iter().any(|(path, _)| *path == file.path);
        if excepted && sleeps.is_empty() {
            findings.push(Finding::new(&file.path, 1, "sleeps no more: take it out of SLEEPERS"));
        } else if !excepted {
            findings.extend(sleeps);
        }
    }
    expect_none(&findings);
}

#[test]
fn names_are_names() {
    expect_none(&over(&all_rust(), names_say_something));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> SourceFile {
        SourceFile::new("src/domain/ids.rs", text)
    }

    #[test]
    fn a_missing_doc_and_a_long_file_are_found() {
        assert_eq!(begins_with_a_module_doc(&file("use std::fmt;")).len(), 1);
        assert_eq!(begins_with_a_module_doc(&file("//! Ids.")).len(), 0);
        assert_eq!(file_fits(&file(&"//\n".repeat(FILE_LINES_MAX + 1))).len(), 1);
        assert_eq!(file_fits(&file(&"//\n".repeat(FILE_LINES_MAX))).len(), 0);
    }

    #[test]
    fn a_long_function_is_found() {
        let of = |lines: usize| file(&format!("fn f(x: [u8; 2]) {{\n{}}}\nfn g();", "x;\n".repeat(lines - 2)));
        assert_eq!(long_functions(&of(FUNCTION_LINES_MAX + 1))[0].0, "src/domain/ids.rs::f");
        assert!(long_functions(&of(FUNCTION_LINES_MAX)).is_empty());
    }

    #[test]
    fn undone_work_is_found() {
        assert_eq!(nothing_undone(&file("fn f() { todo!() }\n// FIXME later")).len(), 2);
        assert_eq!(nothing_undone(&file("let s = \"FIXME\"; let todo = HACKS;")).len(), 0);
    }

    #[test]
    fn dishonest_attributes_are_found() {
        for text in [
            "#[allow(dead_code)]",
            "#![allow(dead_code)]",
            "#[cfg_attr(test, allow(dead_code))]",
            "#[expect(dead_code)]",
            "#[ignore]",
            "#[ignore = \"slow\"]",
        ] {
            assert_eq!(attributes_are_honest(&file(text)).len(), 1, "{text}");
        }
        for text in ["#[expect(dead_code, reason = \"why\")]", "f(a, allow(b)); x.expect(\"y\"); [ignore]"] {
            assert_eq!(attributes_are_honest(&file(text)).len(), 0, "{text}");
        }
    }

    #[test]
    fn sleeping_is_found() {
        assert_eq!(nobody_sleeps(&file("std::thread::sleep(d); tokio::time::sleep(d).await;")).len(), 2);
        assert_eq!(nobody_sleeps(&file("use tokio::time::{sleep, timeout};")).len(), 1);
        assert_eq!(nobody_sleeps(&file("tokio::time::timeout(d, f).await;")).len(), 0);
    }

    #[test]
    fn empty_names_are_found() {
        let found = |text: &str| names_say_something(&file(text)).len();
        assert_eq!(found("struct FrameManager;"), 1);
        assert_eq!(found("mod string_utils {}"), 1);
        assert_eq!(found("pub struct Frame { }"), 1);
        assert_eq!(found("struct ContextFrame; enum Utility {} fn helper() {}"), 0);
        assert_eq!(names_say_something(&SourceFile::new("tests/api/helpers.rs", "")).len(), 1);
        assert_eq!(words("HTTPUtil_xY"), ["http", "util", "x", "y"]);
    }
}
