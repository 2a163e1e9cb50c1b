//! Questions and their answers: once, in time, and taken back where somebody takes them back.

use std::collections::HashMap;

use super::super::facts::{Bound, Facts, Judged};
use super::super::record::{Op, Record};
use super::super::seen::{Item, Seen};
use super::Finding;

/// The verdicts that grant something.
const GRANTED: &[&str] = &["confirmed", "selected"];
/// The ends of a question that are written down, none of which can become another. A question whose time is over is
/// left out: a reader may see that before somebody else's timely answer is stored.
const ENDS: &[&str] = &["declined", "rejected", "voided", "spent", "selected"];

fn is_granted(judged: &Judged<'_>) -> bool {
    GRANTED.contains(&judged.verdict.code.as_str())
}

pub(super) fn confirmed_once(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (item, judged) in &facts.judged_by_item {
        let mut granted = judged.iter().filter(|judged| is_granted(judged));
        let Some(first) = granted.next() else { continue };
        let other = granted.find(|other| other.said.message_id != first.said.message_id);
        findings.extend(other.map(|other| Finding::new(item, [first.record, other.record])));
    }
    findings
}

pub(super) fn confirmed_in_time(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (item, judged) in &facts.judged_by_item {
        let Some(asked) = facts.asked.get(item) else { continue };
        let deadline = asked.seen.item.expires_at.as_str();
        let grants = |judged: &&Judged<'_>| is_granted(judged) || judged.verdict.code == "approved";
        for judged in judged.iter().filter(grants) {
            if facts.certainly_past(deadline, judged.window.since) {
                findings.push(Finding::new(item, [asked.record, judged.record]));
            }
        }
    }
    findings
}

/// What may take a yes back and says that it did: no order of the two requests makes both answers right.
pub(super) fn taken_back(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (item, bound) in &facts.bound_by_item {
        let judged = facts.judged_by_item.get(item).into_iter().flatten();
        let backs = judged.filter(|judged| matches!(judged.verdict.code.as_str(), "declined" | "rejected"));
        let backs = backs.map(|judged| judged.record);
        let refused = facts.history.records.iter().filter(|record| {
            let about_it = matches!(&record.call.op, Op::Decide { approval, approve: false, .. } if approval == item);
            about_it && record.done().is_some()
        });
        findings.extend(backs.chain(refused).next().map(|back| Finding::new(item, [back, bound[0].record])));
    }
    findings
}

/// A yes that was deleted or edited, by the one who gave it, before the binding was sent.
pub(super) fn every_no_counts(facts: &Facts<'_>) -> Vec<Finding> {
    let mut given: HashMap<&str, &Judged<'_>> = HashMap::new();
    for judged in facts.judged.iter().filter(|judged| is_granted(judged)) {
        given.entry(&judged.said.message_id).or_insert(judged);
    }
    let mut findings = Vec::new();
    for back in facts.judged.iter().filter(|judged| judged.said.undoes) {
        let Some(yes) = back.said.reply_to.as_deref().and_then(|yes| given.get(yes)) else { continue };
        let own = yes.said.actor == back.said.actor && yes.said.conversation == back.said.conversation;
        let bound = facts.bound_by_item.get(yes.item()).into_iter().flatten();
        let after = |bound: &&Bound<'_>| {
            let tried = facts.first_tried.get(&(bound.command, bound.attempt));
            bound.replaces.is_none() && tried.is_some_and(|since| *since > back.window.end)
        };
        // The attempt that is told so later may have been bound before: only what none of them can have tried counts.
        let bound: Vec<&Bound<'_>> = bound.collect();
        // A deletion that overtook its message says nothing about it.
        if own && back.window.after(yes.window) && !bound.is_empty() && bound.iter().all(after) {
            findings.push(Finding::new(yes.item(), [yes.record, back.record, bound[0].record]));
        }
    }
    findings
}

fn shown(seen: &Seen) -> impl Iterator<Item = &Item> {
    let verdict = seen.verdict.as_ref().and_then(|verdict| verdict.item());
    verdict.into_iter().chain(Some(&seen.item).filter(|item| !item.id().is_empty() && !item.state.is_empty()))
}

pub(super) fn one_end(facts: &Facts<'_>) -> Vec<Finding> {
    let mut ends: HashMap<&str, (&str, &Record)> = HashMap::new();
    let mut findings = Vec::new();
    for record in &facts.history.records {
        let Some(seen) = record.done() else { continue };
        for item in shown(seen).filter(|item| ENDS.contains(&item.state.as_str())) {
            let (state, first) = ends.entry(item.id()).or_insert((&item.state, record));
            if *state != item.state {
                findings.push(Finding::new(item.id(), [*first, record]));
            }
        }
    }
    // A bound command has spent what it names, whatever is shown of that elsewhere.
    for (item, bound) in &facts.bound_by_item {
        if let Some((state, record)) = ends.get(item).filter(|(state, _)| *state != "spent") {
            debug_assert!(ENDS.contains(state), "{state}");
            findings.push(Finding::new(item, [*record, bound[0].record]));
        }
    }
    findings
}

pub(super) fn asked_before_bound(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for asked in facts.asked.values() {
        let Some(spec) = asked.spec else { continue };
        let bound = facts.bound_by_command.get(spec.command_id.as_str()).into_iter().flatten();
        let before = bound.filter(|bound| asked.window.after(bound.window)).min_by_key(|bound| bound.window.end);
        findings.extend(before.map(|bound| Finding::new(&spec.command_id, [bound.record, asked.record])));
    }
    findings
}

pub(super) fn key_asked_before_bound(facts: &Facts<'_>) -> Vec<Finding> {
    let mut by_key: HashMap<&str, &Bound<'_>> = HashMap::new();
    for bound in &facts.bound {
        let Some(spec) = bound.spec else { continue };
        let first = by_key.entry(&spec.key).or_insert(bound);
        if bound.window.end < first.window.end {
            *first = bound;
        }
    }
    let mut findings = Vec::new();
    for asked in facts.asked.values() {
        let Some(spec) = asked.spec else { continue };
        let Some(bound) = by_key.get(spec.key.as_str()) else { continue };
        if bound.command != spec.command_id && asked.window.after(bound.window) {
            findings.push(Finding::new(&spec.key, [bound.record, asked.record]));
        }
    }
    findings
}

/// One question was answered with yes after a second one, elsewhere, had been asked after the first: it was live all
/// the time.
pub(super) fn asked_in_one_place(facts: &Facts<'_>) -> Vec<Finding> {
    let mut by_command: HashMap<&str, Vec<_>> = HashMap::new();
    for asked in facts.asked.values() {
        if let Some(spec) = asked.spec {
            by_command.entry(&spec.command_id).or_default().push(asked);
        }
    }
    let mut findings = Vec::new();
    for (command, asked) in by_command {
        for first in &asked {
            let judged = facts.judged_by_item.get(first.seen.item.id()).into_iter().flatten();
            let Some(yes) = judged.filter(|judged| is_granted(judged)).max_by_key(|judged| judged.window.since) else {
                continue;
            };
            let second = asked.iter().find(|second| {
                second.context != first.context
                    && second.kind == first.kind
                    && second.window.after(first.window)
                    && yes.window.since > second.window.end
            });
            findings.extend(second.map(|second| Finding::new(command, [first.record, second.record, yes.record])));
        }
    }
    findings
}
