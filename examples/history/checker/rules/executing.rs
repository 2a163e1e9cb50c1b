//! Carrying out: once, by its owner, who can be replaced when it has died.

use std::collections::{HashMap, HashSet};

use super::super::facts::{Bound, Facts};
use super::super::record::{Executed, Op, Record};
use super::Finding;

/// The acknowledged take-overs of a command, as who replaced whom.
fn replaced<'f, 'a>(facts: &'f Facts<'a>, command: &str) -> impl Iterator<Item = (&'a str, &'f Bound<'a>)> {
    let bound = facts.bound_by_command.get(command).into_iter().flatten();
    bound.filter_map(|bound| Some((bound.replaces?, bound)))
}

/// Whether one attempt took over from another, by itself or through others between them.
fn took_over(facts: &Facts<'_>, command: &str, by: &str, from: &str) -> bool {
    let mut owner = from;
    for _ in 0..=facts.bound_by_command.get(command).map_or(0, Vec::len) {
        let Some((_, next)) = replaced(facts, command).find(|(old, _)| *old == owner) else { return false };
        if next.attempt == by {
            return true;
        }
        owner = next.attempt;
    }
    false
}

fn told<'a>(facts: &Facts<'a>, executed: &Executed) -> Option<&'a Record> {
    let bound = facts.bound_by_command.get(executed.command.as_str()).into_iter().flatten();
    bound.filter(|bound| bound.execute && bound.attempt == executed.attempt).map(|bound| bound.record).next()
}

pub(super) fn executed_once(facts: &Facts<'_>) -> Vec<Finding> {
    let mut by_key: HashMap<&str, Vec<&Executed>> = HashMap::new();
    for executed in &facts.history.executed {
        by_key.entry(&executed.key).or_default().push(executed);
    }
    let mut findings = Vec::new();
    for (key, executed) in by_key {
        for pair in executed.windows(2) {
            let [first, second] = pair else { continue };
            let replaced =
                first.command == second.command && took_over(facts, &first.command, &second.attempt, &first.attempt);
            if !replaced {
                let records = pair.iter().filter_map(|executed| told(facts, executed));
                findings.push(Finding::new(key, records.collect::<Vec<_>>()));
            }
        }
    }
    findings
}

pub(super) fn not_executed_after_result(facts: &Facts<'_>) -> Vec<Finding> {
    let mut results: HashMap<&str, &Record> = HashMap::new();
    for (record, _) in facts.done(|op| matches!(op, Op::Report { .. })) {
        let Op::Report { command, .. } = &record.call.op else { continue };
        let first = results.entry(command).or_insert(record);
        if record.end < first.end {
            *first = record;
        }
    }
    let mut findings = Vec::new();
    for bound in facts.bound.iter().filter(|bound| bound.execute) {
        let sent = bound.record.since;
        let result = results.get(bound.command).filter(|result| sent > result.end);
        findings.extend(result.map(|result| Finding::new(bound.command, [*result, bound.record])));
        let report_by = bound.seen.execution.as_ref().map_or("", |execution| execution.report_by.as_str());
        if facts.certainly_past(report_by, sent) {
            findings.push(Finding::new(bound.command, [bound.record]));
        }
    }
    findings
}

pub(super) fn not_taken_over_early(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (command, bound) in &facts.bound_by_command {
        for (owner, by) in replaced(facts, command) {
            for before in bound.iter().filter(|before| before.attempt == owner) {
                let execution = before.seen.execution.as_ref().filter(|execution| execution.attempt_id == owner);
                let report_by = execution.map_or("", |execution| execution.report_by.as_str());
                if facts.certainly_before(report_by, by.window.end) {
                    findings.push(Finding::new(command, [before.record, by.record]));
                }
            }
            let reported = facts.done(|op| matches!(op, Op::Report { .. })).find(|(record, _)| {
                let about_it = matches!(&record.call.op, Op::Report { command: of, .. } if of == command);
                about_it && by.window.since > record.end
            });
            findings.extend(reported.map(|(record, _)| Finding::new(command, [record, by.record])));
        }
    }
    findings
}

pub(super) fn replaced_once(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for command in facts.bound_by_command.keys() {
        let mut by_owner: HashMap<&str, &Bound<'_>> = HashMap::new();
        for (owner, by) in replaced(facts, command) {
            let first = by_owner.entry(owner).or_insert(by);
            if first.attempt != by.attempt {
                findings.push(Finding::new(command, [first.record, by.record]));
            }
        }
    }
    findings
}

pub(super) fn listed_until_reported(facts: &Facts<'_>) -> Vec<Finding> {
    let mut results: HashMap<&str, &Record> = HashMap::new();
    for (record, _) in facts.done(|op| matches!(op, Op::Report { .. })) {
        if let Op::Report { command, .. } = &record.call.op {
            let first = results.entry(command).or_insert(record);
            if record.end < first.end {
                *first = record;
            }
        }
    }
    let mut findings = Vec::new();
    for (record, seen) in facts.done(|op| matches!(op, Op::ListExecutions { .. })) {
        for listed in &seen.items {
            let command = listed.item.command_id.as_str();
            let result = results.get(command).filter(|result| record.since > result.end);
            findings.extend(result.map(|result| Finding::new(command, [*result, record])));
        }
    }
    findings.extend(not_listed(facts));
    findings
}

/// Commands for which no result was ever sent, and which are on no page of a list that was read to its end.
fn not_listed(facts: &Facts<'_>) -> Vec<Finding> {
    let pages: Vec<(&Record, _)> = facts.done(|op| matches!(op, Op::ListExecutions { sweeps: true })).collect();
    let (Some((first, _)), Some((last, end))) = (pages.first(), pages.last()) else { return Vec::new() };
    if end.next_cursor.is_some() {
        return Vec::new();
    }
    let listed = pages.iter().flat_map(|(_, seen)| &seen.items).map(|command| command.item.command_id.as_str());
    let mut known: HashSet<&str> = listed.collect();
    known.extend(facts.history.records.iter().filter_map(|record| match &record.call.op {
        Op::Report { command, .. } => Some(command.as_str()),
        _ => None,
    }));
    let missing = facts.bound.iter().filter(|bound| bound.record.end < first.begin && !known.contains(bound.command));
    missing.map(|bound| Finding::new(bound.command, [bound.record, *last])).collect()
}
