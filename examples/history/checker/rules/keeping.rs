//! What was acknowledged stays, and the same request has the same answer.

use std::collections::HashMap;

use super::super::facts::{Bound, Facts, Judged};
use super::super::record::{Answer, Op, Record};
use super::super::seen::{Item, Seen};
use super::Finding;

pub(super) fn acknowledged_is_kept(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = commands_are_kept(facts);
    findings.extend(items_are_kept(facts));
    findings.extend(messages_are_kept(facts));
    findings.extend(contexts_are_kept(facts));
    findings
}

/// Whether a record certainly came after something that had been answered.
fn later(record: &Record, earlier: &Record) -> bool {
    record.begin > earlier.end
}

fn commands_are_kept(facts: &Facts<'_>) -> Vec<Finding> {
    let mut results: HashMap<&str, Vec<(&Record, &str)>> = HashMap::new();
    for (record, _) in facts.done(|op| matches!(op, Op::Report { .. })) {
        if let Op::Report { command, summary } = &record.call.op {
            results.entry(command).or_default().push((record, summary));
        }
    }
    let mut findings = Vec::new();
    for record in facts.history.records.iter().filter(|record| record.acknowledged().is_some()) {
        let Op::ReadCommand { command } = &record.call.op else { continue };
        let seen = record.done();
        for bound in facts.bound_by_command.get(command.as_str()).into_iter().flatten() {
            if later(record, bound.record) && !seen.is_some_and(|seen| is_that_binding(bound, seen)) {
                findings.push(Finding::new(command, [bound.record, record]));
            }
        }
        for (reported, summary) in results.get(command.as_str()).into_iter().flatten() {
            let count = seen.map_or(0, |seen| seen.results.iter().filter(|kept| kept.summary == *summary).count());
            if later(record, reported) && count != 1 {
                findings.push(Finding::new(command, [*reported, record]));
            }
        }
    }
    findings
}

fn is_that_binding(bound: &Bound<'_>, seen: &Seen) -> bool {
    let frame = |seen: &Seen| seen.context_ref.as_ref().map(|frame| frame.context_hash.clone());
    let replaced = seen.execution.as_ref().is_some_and(|execution| {
        execution.attempt_id == bound.attempt || execution.replaced_attempt_ids.iter().any(|old| old == bound.attempt)
    });
    (seen.attempt_id == bound.attempt || replaced)
        && seen.item.confirmation_id == bound.seen.item.confirmation_id
        && seen.item.approval_id == bound.seen.item.approval_id
        && frame(seen) == frame(bound.seen)
        && seen.bound_at == bound.seen.bound_at
}

/// The states of a question that was decided so, or that it may have come to from there.
fn after(verdict: &str) -> &'static [&'static str] {
    match verdict {
        "confirmed" => &["confirmed", "declined", "spent", "expired", "voided"],
        "declined" => &["declined", "voided"],
        "selected" => &["selected"],
        "approved" => &["open", "approved", "rejected", "spent", "expired", "voided"],
        "rejected" => &["rejected", "voided"],
        _ => &[],
    }
}

fn items_are_kept(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut attached: HashMap<&str, Vec<(&str, &Record)>> = HashMap::new();
    for (prompt, items) in &facts.attached {
        for (item, record) in items {
            attached.entry(item).or_default().push((prompt, record));
        }
    }
    for record in facts.history.records.iter().filter(|record| record.acknowledged().is_some()) {
        let Op::ReadItem { item } = &record.call.op else { continue };
        let seen = record.done();
        let state = seen.map_or("", |seen| seen.item.state.as_str());
        if let Some(asked) = facts.asked.get(item.as_str()) {
            let same = seen.is_some_and(|seen| same_question(&asked.seen.item, &seen.item));
            if later(record, asked.record) && !same {
                findings.push(Finding::new(item, [asked.record, record]));
            }
        }
        for judged in facts.judged_by_item.get(item.as_str()).into_iter().flatten() {
            let states = after(&judged.verdict.code);
            if later(record, judged.record) && !states.is_empty() && !states.contains(&state) {
                findings.push(Finding::new(item, [judged.record, record]));
            }
        }
        let bound = facts.bound_by_item.get(item.as_str()).into_iter().flatten();
        for bound in bound.filter(|bound| later(record, bound.record) && state != "spent") {
            findings.push(Finding::new(item, [bound.record, record]));
        }
        for (prompt, attached) in attached.get(item.as_str()).into_iter().flatten() {
            let kept = seen.is_some_and(|seen| seen.prompts.iter().any(|kept| kept.message_id == *prompt));
            if later(record, attached) && !kept {
                findings.push(Finding::new(item, [*attached, record]));
            }
        }
    }
    findings
}

fn same_question(asked: &Item, kept: &Item) -> bool {
    let of = |item: &Item| {
        let Item { context_id, command_id, command_name, idempotency_key, target_fingerprint, .. } = item.clone();
        (context_id, command_id, command_name, idempotency_key, target_fingerprint)
    };
    asked.id() == kept.id() && of(asked) == of(kept)
}

/// A message that was answered is known: delivered again, it is a duplicate.
fn messages_are_kept(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut first: HashMap<(&str, &str), &Record> = HashMap::new();
    for judged in &facts.judged {
        let key = (judged.said.message_id.as_str(), judged.record.call.body.as_str());
        let earliest = first.entry(key).or_insert(judged.record);
        if judged.record.end < earliest.end {
            *earliest = judged.record;
        }
    }
    for judged in &facts.judged {
        let key = (judged.said.message_id.as_str(), judged.record.call.body.as_str());
        let Some(first) = first.get(&key) else { continue };
        let anew = judged.record.done().and_then(|seen| seen.duplicate) == Some(false);
        if anew && judged.record.since > first.end {
            findings.push(Finding::new(&judged.said.message_id, [*first, judged.record]));
        }
    }
    findings
}

/// A context that was shown is there, and no older than it was shown.
fn contexts_are_kept(facts: &Facts<'_>) -> Vec<Finding> {
    let mut newest: HashMap<&str, (u64, &Record)> = HashMap::new();
    for record in &facts.history.records {
        let shown = record.done().and_then(|seen| seen.context.as_ref());
        let Some(context) = shown.filter(|context| !context.context_id.is_empty()) else { continue };
        let known = newest.entry(&context.context_id).or_insert((context.revision, record));
        if context.revision > known.0 {
            *known = (context.revision, record);
        }
    }
    let mut findings = Vec::new();
    for record in facts.history.records.iter().filter(|record| record.acknowledged().is_some()) {
        let Op::ReadContext { context } = &record.call.op else { continue };
        let Some((revision, shown)) = newest.get(context.as_str()) else { continue };
        let kept = record.done().and_then(|seen| seen.revision).is_some_and(|read| read >= *revision);
        if later(record, shown) && !kept {
            findings.push(Finding::new(context, [*shown, record]));
        }
    }
    findings
}

/// What stays the same of an answer however often the request is made.
fn lasting(answer: &Answer) -> (u16, String, String, String) {
    let Seen { code, item, button_ids, .. } = &answer.seen;
    (answer.status, code.clone(), item.id().to_owned(), button_ids.join(" "))
}

pub(super) fn same_again(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = verdicts_are_repeated(facts);
    let mut first: HashMap<&str, &Record> = HashMap::new();
    for record in &facts.history.records {
        let (Some(claim), Some(answer)) = (&record.call.claim, record.acknowledged()) else { continue };
        if answer.seen.code == "idempotency_key_reused" {
            continue;
        }
        let earlier = first.entry(claim).or_insert(record);
        let same_request = earlier.call.identity() == record.call.identity();
        let same = earlier.answer.as_ref().is_some_and(|earlier| lasting(earlier) == lasting(answer));
        // Another request under the same key may be refused for a reason of its own, and never be done.
        let both_done = earlier.done().is_some() && record.done().is_some();
        if (same_request && !same) || (!same_request && both_done) {
            findings.push(Finding::new(claim, [*earlier, record]));
        }
    }
    findings
}

fn verdicts_are_repeated(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut by_message: HashMap<&str, Vec<&Judged<'_>>> = HashMap::new();
    for judged in &facts.judged {
        by_message.entry(&judged.said.message_id).or_default().push(judged);
    }
    let mut sent: HashMap<&str, (i64, u32)> = HashMap::new();
    for record in &facts.history.records {
        if let Op::Say(said) = &record.call.op {
            let (since, times) = sent.entry(&said.message_id).or_insert((record.since, 0));
            *since = record.since.min(*since);
            *times += 1;
        }
    }
    for (message, judged) in by_message {
        let first = judged[0];
        let other = judged.iter().find(|other| {
            other.verdict.lasting() != first.verdict.lasting() || other.record.call.body != first.record.call.body
        });
        findings.extend(other.map(|other| Finding::new(message, [first.record, other.record])));
        let is =
            |judged: &&&Judged<'_>, duplicate| judged.record.done().and_then(|seen| seen.duplicate) == Some(duplicate);
        let anew: Vec<&&Judged<'_>> = judged.iter().filter(|judged| is(judged, false)).collect();
        if let [one, other, ..] = anew[..] {
            findings.push(Finding::new(message, [one.record, other.record]));
        }
        let repeated = judged.iter().find(|judged| is(judged, true));
        if let Some(repeated) = repeated.filter(|_| sent.get(message).is_some_and(|(_, times)| *times == 1)) {
            findings.push(Finding::new(message, [repeated.record]));
        }
    }
    findings
}

pub(super) fn no_lost_update(facts: &Facts<'_>) -> Vec<Finding> {
    let mut by_revision: HashMap<(&str, u64), &Record> = HashMap::new();
    let mut findings = Vec::new();
    for (record, _) in facts.done(|op| matches!(op, Op::Slots { .. })) {
        let Op::Slots { context, revision } = &record.call.op else { continue };
        let first = by_revision.entry((context, *revision)).or_insert(record);
        if first.call.claim != record.call.claim {
            findings.push(Finding::new(context, [*first, record]));
        }
    }
    findings
}

pub(super) fn no_server_error(facts: &Facts<'_>) -> Vec<Finding> {
    let failed = facts
        .history
        .records
        .iter()
        .filter(|record| record.answer.as_ref().is_some_and(|answer| answer.status >= 500 && answer.status != 503));
    failed.map(|record| Finding::new(&record.call.path, [record])).collect()
}

pub(super) fn readable(facts: &Facts<'_>) -> Vec<Finding> {
    let unreadable =
        facts.history.records.iter().filter(|record| record.acknowledged().is_some_and(|answer| !answer.readable));
    unreadable.map(|record| Finding::new(&record.call.path, [record])).collect()
}
