//! Binding: once, for what was agreed to, in time.

use std::collections::HashMap;

use super::Finding;

use super::super::clock::moment;
use super::super::facts::{Bound, Facts};
use super::super::record::{Op, Record};

/// The last of a command's windows in which it can have been bound: the earliest acknowledged one.
fn first<'f, 'a>(bound: &'f [Bound<'a>]) -> Option<&'f Bound<'a>> {
    bound.iter().min_by_key(|bound| bound.window.end)
}

pub(super) fn bound_once(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (command, bound) in &facts.bound_by_command {
        // A take-over shows itself by its request, whichever answer told the attempt to go on.
        let told: Vec<&Bound<'_>> = bound.iter().filter(|bound| bound.execute).collect();
        let took_over = |attempt: &str| bound.iter().any(|bound| bound.replaces.is_some() && bound.attempt == attempt);
        let mut roots: HashMap<&str, &Record> = HashMap::new();
        for bound in told.iter().filter(|bound| !took_over(bound.attempt)) {
            roots.entry(bound.attempt).or_insert(bound.record);
        }
        if roots.len() > 1 {
            findings.push(Finding::new(command, roots.into_values()));
        }
        for replaced in bound.iter().filter(|bound| bound.replaces.is_some()) {
            let later = told
                .iter()
                .find(|later| Some(later.attempt) == replaced.replaces && later.record.since > replaced.window.end);
            findings.extend(later.map(|later| Finding::new(command, [replaced.record, later.record])));
        }
    }
    findings
}

pub(super) fn spent_once(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (item, bound) in &facts.bound_by_item {
        let other = bound.iter().find(|other| other.command != bound[0].command);
        findings.extend(other.map(|other| Finding::new(item, [bound[0].record, other.record])));
    }
    findings
}

pub(super) fn key_bound_once(facts: &Facts<'_>) -> Vec<Finding> {
    let mut by_key: HashMap<&str, &Bound<'_>> = HashMap::new();
    let mut findings = Vec::new();
    for bound in &facts.bound {
        let Some(spec) = bound.spec else { continue };
        let first = by_key.entry(&spec.key).or_insert(bound);
        if first.command != bound.command {
            findings.push(Finding::new(&spec.key, [first.record, bound.record]));
        }
    }
    findings
}

pub(super) fn attempt_of_one_command(facts: &Facts<'_>) -> Vec<Finding> {
    let mut by_attempt: HashMap<&str, &Bound<'_>> = HashMap::new();
    let mut findings = Vec::new();
    for bound in &facts.bound {
        let first = by_attempt.entry(bound.attempt).or_insert(bound);
        if first.command != bound.command {
            findings.push(Finding::new(bound.attempt, [first.record, bound.record]));
        }
    }
    findings
}

pub(super) fn bound_as_agreed(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for bound in &facts.bound {
        let Some(spec) = bound.spec else { continue };
        for item in [&bound.seen.item.confirmation_id, &bound.seen.item.approval_id] {
            let Some(asked) = facts.asked.get(item.as_str()) else { continue };
            let fingerprint = &asked.seen.item.target_fingerprint;
            let same = asked.spec == Some(spec)
                && (item != &bound.seen.item.confirmation_id || fingerprint == &bound.seen.item.target_fingerprint);
            if !same {
                findings.push(Finding::new(bound.command, [asked.record, bound.record]));
            }
        }
    }
    for asked in facts.asked.values() {
        let (Some(spec), item) = (asked.spec, &asked.seen.item) else { continue };
        if (&item.command_id, &item.command_name, &item.idempotency_key) != (&spec.command_id, &spec.name, &spec.key) {
            findings.push(Finding::new(item.id(), [asked.record]));
        }
    }
    findings.extend(agreed_and_refused(facts));
    findings
}

/// A binding of exactly what every question about the command was about, refused because it is something else.
fn agreed_and_refused(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for record in facts.history.records.iter().filter(|record| record.refused() == "target_mismatch") {
        let Op::Bind { spec, .. } = &record.call.op else { continue };
        let asked = facts.specs.get(spec.command_id.as_str());
        if asked.is_some_and(|asked| asked.iter().all(|asked| *asked == spec)) {
            let questions = facts.asked.values().filter(|asked| asked.spec == Some(spec)).map(|asked| asked.record);
            findings.push(Finding::new(&spec.command_id, questions.chain([record])));
        }
    }
    findings
}

pub(super) fn bound_after_a_yes(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (item, bound) in &facts.bound_by_item {
        let Some(bound) = first(bound) else { continue };
        let Some(asked) = facts.asked.get(item).filter(|_| item.starts_with("cnf_")) else { continue };
        // Any yes of the person asked that was sent before: which question a bare one meant, the servers know.
        let yes = facts.first_yes.get(&(asked.conversation, asked.actor));
        if yes.is_none_or(|since| *since >= bound.window.end) {
            findings.push(Finding::new(item, [asked.record, bound.record]));
        }
    }
    findings
}

pub(super) fn bound_in_time(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (item, bound) in &facts.bound_by_item {
        let judged = facts.judged_by_item.get(item).into_iter().flatten();
        let granted = judged.filter_map(|judged| Some((judged.record, judged.verdict.item()?.bind_by.as_str())));
        for (record, bind_by) in granted.filter(|(_, bind_by)| !bind_by.is_empty()) {
            for bound in bound {
                let said = moment(&bound.seen.bound_at).zip(moment(bind_by)).is_some_and(|(at, by)| at >= by);
                let sent = facts.first_tried.get(&(bound.command, bound.attempt));
                let late = sent.is_some_and(|since| facts.certainly_past(bind_by, *since));
                if said || (late && bound.replaces.is_none()) {
                    findings.push(Finding::new(item, [record, bound.record]));
                }
            }
        }
    }
    findings
}
