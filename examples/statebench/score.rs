//! The probe's scorer: what of a query's required and forbidden phrases stands in a context. Deterministic, no model.

use std::collections::BTreeMap;

use serde_json::Value;

/// What was asked of one query at one budget, counted.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub track: String,
    pub timeline: String,
    pub must: usize,
    pub must_hit: usize,
    pub attainable: usize,
    pub attainable_hit: usize,
    pub forbidden: usize,
    pub forbidden_hit: usize,
    pub forbidden_current: usize,
    pub decisions: usize,
    pub decisions_hit: usize,
    pub stale: usize,
    pub stale_hit: usize,
    pub tokens: u32,
    pub over: bool,
    pub missed: Vec<String>,
    pub exposed: Vec<String>,
    pub stale_texts: Vec<String>,
}

/// Figures over many rows, in percent where the probe prints percent.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    pub queries: usize,
    pub cov: f64,
    pub cov_a: f64,
    pub exp: f64,
    pub exp_c: f64,
    pub qexp: f64,
    pub perf: f64,
    pub dec: f64,
    pub stale: f64,
    pub tok: f64,
    pub p95: u32,
    pub max: u32,
    pub over: f64,
}

/// A phrase of the ground truth: a string, or an object with one.
pub fn phrase_of(value: &Value) -> &str {
    value.as_str().or_else(|| value["phrase"].as_str()).unwrap_or_default()
}

/// A list of phrases of the ground truth.
pub fn phrases<'a>(truth: &'a Value, member: &str) -> impl Iterator<Item = &'a str> {
    truth[member].as_array().into_iter().flatten().map(phrase_of)
}

/// StateBench's own matching rule: substring in any case, `a|b` alternatives, do not / don't variants.
pub fn contains_phrase(text: &str, phrase: &str) -> bool {
    let (text, phrase) = (text.to_lowercase(), phrase.trim().to_lowercase());
    let text = text.trim();
    assert!(!phrase.starts_with("regex:"), "no phrase of the release is a pattern: {phrase}");
    if phrase.contains('|') {
        return phrase.split('|').any(|one| text.contains(one.trim()));
    }
    if text.contains(&phrase) {
        return true;
    }
    const VARIANTS: [(&str, &str); 3] = [("do not ", "don't "), ("cannot ", "can't "), ("should not ", "shouldn't ")];
    VARIANTS.iter().flat_map(|(a, b)| [(a, b), (b, a)]).any(|(from, to)| {
        let variant = phrase.replace(from, to);
        variant != phrase && text.contains(&variant)
    })
}

const FLAGS: [&str; 11] = [
    "[superseded",
    "[hypothetical",
    "[draft",
    "[invalidated",
    "[restricted",
    "[historical",
    "[stale",
    "[overridden",
    "[contested",
    "[scope:",
    "[tentative",
];

/// The lines that present their content as current: no mark, not under a flagged heading.
pub fn unflagged(text: &str) -> String {
    let mut flagged_section = false;
    let mut out = Vec::new();
    for line in text.lines() {
        let lower = line.to_lowercase();
        if line.starts_with("## ") {
            flagged_section =
                ["invalidated", "superseded", "historical", "known unknown"].iter().any(|word| lower.contains(word));
            continue;
        }
        let marked = FLAGS.iter().any(|flag| lower.contains(flag))
            || lower.contains("[past")
            || line.contains('❌')
            || lower.contains("(was:")
            || lower.contains("(formerly")
            || line.trim_start().starts_with("~~");
        if !flagged_section && !marked {
            out.push(line);
        }
    }
    out.join("\n")
}

/// Facts that explicit pointers put out of force before an event: (id, key) → (old value, new value).
pub fn explicit_gold(timeline: &Value, upto: usize) -> BTreeMap<(String, String), (String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut facts: Vec<(String, String, String)> = Vec::new();
    for fact in timeline["initial_state"]["persistent_facts"].as_array().into_iter().flatten() {
        facts.push((text(&fact["id"]), text(&fact["key"]), text(&fact["value"])));
    }
    let mut dead = BTreeMap::new();
    for event in timeline["events"].as_array().into_iter().flatten().take(upto) {
        if !matches!(event["type"].as_str(), Some("state_write" | "supersession")) {
            continue;
        }
        for write in event["writes"].as_array().into_iter().flatten() {
            if write["layer"] != "persistent_facts" {
                continue;
            }
            if let Some(pointer) = write["supersedes"].as_str().filter(|pointer| !pointer.is_empty()) {
                let old = facts.iter().rev().find(|(id, key, _)| id == pointer || key == pointer);
                if let Some((id, key, value)) = old {
                    dead.insert((id.clone(), key.clone()), (value.clone(), text(&write["value"])));
                }
            }
            facts.push((text(&write["id"]), text(&write["key"]), text(&write["value"])));
        }
    }
    dead
}

/// Whether an old value stands in a text as a whole: not inside a word, an amount or a percentage.
fn stands_in(old: &str, text: &str) -> bool {
    text.match_indices(old).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + old.len()..].chars().next();
        let word = |c: char| c.is_alphanumeric() || c == '_';
        !before.is_some_and(|c| word(c) || c == '$') && !after.is_some_and(|c| word(c) || c == '%')
    })
}

/// Scores one context. `said`: all input text before the query.
pub fn score_query(
    timeline: &Value,
    event: usize,
    query: &Value,
    context: &str,
    tokens: u32,
    budget: u32,
    said: &str,
) -> Row {
    let truth = &query["ground_truth"];
    let mut row = Row {
        track: timeline["track"].as_str().unwrap_or_default().to_owned(),
        timeline: timeline["id"].as_str().unwrap_or_default().to_owned(),
        tokens,
        over: tokens > budget,
        ..Row::default()
    };
    let current = unflagged(context);
    for phrase in phrases(truth, "must_mention") {
        row.must += 1;
        let hit = contains_phrase(context, phrase);
        if contains_phrase(said, phrase) {
            row.attainable += 1;
            row.attainable_hit += usize::from(hit);
            if !hit {
                row.missed.push(phrase.to_owned());
            }
        }
        row.must_hit += usize::from(hit);
    }
    for phrase in phrases(truth, "must_not_mention") {
        row.forbidden += 1;
        if contains_phrase(context, phrase) {
            row.forbidden_hit += 1;
            row.exposed.push(phrase.to_owned());
        }
        row.forbidden_current += usize::from(contains_phrase(&current, phrase));
    }
    let decision = truth["decision"].as_str().unwrap_or_default().to_lowercase();
    if decision != "yes" && decision != "no" && said.to_lowercase().contains(&decision) {
        row.decisions = 1;
        row.decisions_hit = usize::from(context.to_lowercase().contains(&decision));
    }
    // The detection track's reversion re-instates an explicitly superseded value.
    if row.track != "supersession_detection" {
        let current = current.to_lowercase();
        for (old, new) in explicit_gold(timeline, event).into_values() {
            let old = old.to_lowercase();
            if new.to_lowercase().contains(&old) || old.chars().count() < 2 {
                continue;
            }
            row.stale += 1;
            if stands_in(&old, &current) {
                row.stale_hit += 1;
                row.stale_texts.push(old);
            }
        }
    }
    row
}

fn percent(part: usize, whole: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    if whole == 0 { f64::NAN } else { 100.0 * part as f64 / whole as f64 }
}

/// Adds rows up.
pub fn figures<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Figures {
    let rows: Vec<&Row> = rows.into_iter().collect();
    let sum = |count: fn(&Row) -> usize| rows.iter().map(|row| count(row)).sum::<usize>();
    let mut sizes: Vec<u32> = rows.iter().map(|row| row.tokens).collect();
    sizes.sort_unstable();
    let asked: Vec<&&Row> = rows.iter().filter(|row| row.must > 0 || row.forbidden > 0).collect();
    let guarded: Vec<&&Row> = rows.iter().filter(|row| row.forbidden > 0).collect();
    let perfect = asked.iter().filter(|row| row.must_hit == row.must && row.forbidden_hit == 0).count();
    Figures {
        queries: rows.len(),
        cov: percent(sum(|row| row.must_hit), sum(|row| row.must)),
        cov_a: percent(sum(|row| row.attainable_hit), sum(|row| row.attainable)),
        exp: percent(sum(|row| row.forbidden_hit), sum(|row| row.forbidden)),
        exp_c: percent(sum(|row| row.forbidden_current), sum(|row| row.forbidden)),
        qexp: percent(guarded.iter().filter(|row| row.forbidden_hit > 0).count(), guarded.len()),
        perf: percent(perfect, asked.len()),
        dec: percent(sum(|row| row.decisions_hit), sum(|row| row.decisions)),
        stale: percent(sum(|row| row.stale_hit), sum(|row| row.stale)),
        tok: percent(sizes.iter().map(|size| *size as usize).sum(), rows.len()) / 100.0,
        p95: sizes.get((sizes.len() * 95 / 100).min(sizes.len().saturating_sub(1))).copied().unwrap_or(0),
        max: sizes.last().copied().unwrap_or(0),
        over: percent(sum(|row| usize::from(row.over)), rows.len()),
    }
}

/// One row of the probe's table.
pub fn table_row(name: &str, figures: &Figures) -> String {
    let cell = |value: f64| if value.is_nan() { "-".to_owned() } else { format!("{value:.1}") };
    let percents = [
        figures.cov,
        figures.cov_a,
        figures.exp,
        figures.exp_c,
        figures.qexp,
        figures.perf,
        figures.dec,
        figures.stale,
    ];
    let cells: Vec<String> = percents.into_iter().map(cell).collect();
    format!(
        "| {name} | {} | {} | {:.0} | {} | {} | {} |",
        figures.queries,
        cells.join(" | "),
        figures.tok,
        figures.p95,
        figures.max,
        cell(figures.over)
    )
}
