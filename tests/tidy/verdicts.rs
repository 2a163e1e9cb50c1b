//! The page that says what to do with a verdict, the contract, and the examples know the same words.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{Finding, SourceFile, expect_none, files_in};

const PAGE: &str = "docs/VERDICTS.md";
const CONTRACT: &str = "openapi.yaml";
/// A section of the page, and the enum that it explains.
const EXPLAINED: &[(&str, &str)] = &[("Next", "NextStep"), ("Reason", "VerdictReason"), ("Code", "VerdictCode")];
/// Programs that act on every `next`.
const ACTORS: &[&str] =
    &["examples/bots/python/bot.py", "examples/bots/typescript/bot.ts", "examples/whatsapp_webhook/shop.rs"];
/// What stands between two languages.
const BETWEEN: &str = " · ";

/// The rows of a section's table: line, first word, and the last cell.
fn rows<'a>(page: &'a SourceFile, section: &str) -> Vec<(usize, &'a str, &'a str)> {
    let begins = format!("## {section}");
    let lines = page.text.lines().enumerate().skip_while(|(_, line)| *line != begins).skip(1);
    let lines = lines.take_while(|(_, line)| !line.starts_with("## "));
    let cells = lines.filter_map(|(at, line)| {
        let word = line.strip_prefix("| `")?.split('`').next()?;
        let last = line.trim_end_matches('|').rsplit('|').next()?;
        Some((at + 1, word, last.trim()))
    });
    // The head of the table names the column.
    cells.filter(|(_, word, _)| *word != section.to_lowercase()).collect()
}

fn words(document: &Value, name: &str) -> BTreeSet<String> {
    let listed = document["components"]["schemas"][name]["enum"].as_array().into_iter().flatten();
    listed.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Words of the contract that the page does not explain, and words of the page that the contract does not have.
fn apart(page: &SourceFile, document: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (section, name) in EXPLAINED {
        let (explained, listed) = (rows(page, section), words(document, name));
        let known: BTreeSet<String> = explained.iter().map(|(_, word, _)| (*word).to_owned()).collect();
        findings.extend(
            listed.difference(&known).map(|word| Finding::new(&page.path, 1, format!("{section} lacks `{word}`"))),
        );
        for (line, word, _) in explained.iter().filter(|(_, word, _)| !listed.contains(*word)) {
            findings.push(Finding::new(&page.path, *line, format!("{name} has no `{word}`")));
        }
        let description = document["components"]["schemas"][*name]["description"].as_str().unwrap_or_default();
        for word in listed.iter().filter(|word| !description.contains(&format!("- `{word}`: "))) {
            findings.push(Finding::new(CONTRACT, 1, format!("the description of {name} does not explain `{word}`")));
        }
    }
    findings
}

/// Sentences that are not there in all three languages.
fn untranslated(page: &SourceFile) -> Vec<Finding> {
    let all = ["Next", "Reason"].into_iter().flat_map(|section| rows(page, section));
    // Several sentences for each language would have more between them; a quotation mark shows a sentence.
    let halves = all.filter(|(_, _, said)| said.contains('"') && said.matches(BETWEEN).count() != 2);
    halves
        .map(|(line, word, _)| Finding::new(&page.path, line, format!("`{word}` is not said in three languages")))
        .collect()
}

/// What a program does not act on.
fn ignored(actor: &SourceFile, next: &BTreeSet<String>) -> Vec<Finding> {
    let code = actor.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect::<BTreeSet<_>>();
    let missing = next.iter().filter(|word| !code.contains(word.as_str()));
    missing.map(|word| Finding::new(&actor.path, 1, format!("does not act on next `{word}`"))).collect()
}

fn read(path: &str) -> SourceFile {
    SourceFile::new(path, &std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}")))
}

fn document() -> Value {
    serde_saphyr::from_str(&read(CONTRACT).text).unwrap_or_else(|error| panic!("{CONTRACT}: {error}"))
}

#[test]
fn every_word_of_a_verdict_is_explained_and_said() {
    let page = read(PAGE);
    expect_none(&apart(&page, &document()));
    expect_none(&untranslated(&page));
    assert!(rows(&page, "Reason").len() > 40 && files_in("docs").iter().any(|file| file.path == PAGE));
}

#[test]
fn the_examples_act_on_every_next() {
    let next = words(&document(), "NextStep");
    assert!(next.len() > 10);
    for actor in ACTORS {
        expect_none(&ignored(&read(actor), &next));
    }
}

#[test]
fn the_rules_about_verdicts_can_fail() {
    let text = "## Next\n| `next` | it means | said |\n| `go` | on | \"a\" · \"b\" · \"c\" |\n| `stop` | x | \"a\" |\n## Reason\n";
    let page = SourceFile::new(PAGE, text);
    let document = serde_json::json!({"components": {"schemas": {"NextStep": {
        "enum": ["go", "wait"], "description": "- `go`: on\n"}}}});
    let found: Vec<String> = apart(&page, &document).into_iter().map(|finding| finding.why).collect();
    let expected =
        ["Next lacks `wait`", "NextStep has no `stop`", "the description of NextStep does not explain `wait`"];
    assert_eq!(found, expected);
    assert_eq!(untranslated(&page).len(), 1);
    let next = ["go".to_owned(), "wait".to_owned()].into();
    assert_eq!(ignored(&SourceFile::new("bot.py", "if next == 'go':"), &next).len(), 1);
}
