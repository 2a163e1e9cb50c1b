//! Which question an answer is about.

use std::collections::HashMap;

use super::super::facts::{Asked, Facts, Judged};
use super::super::record::Kind;
use super::Finding;

/// The verdicts that decide something.
const DECIDES: &[&str] = &["confirmed", "declined", "selected", "approved", "rejected"];

/// The reasons with which a yes is taken back.
const STOPS: &[&str] = &["taken_back", "postponed"];

fn deciding<'f, 'a>(facts: &'f Facts<'a>) -> impl Iterator<Item = &'f Judged<'a>> {
    facts.judged.iter().filter(|judged| DECIDES.contains(&judged.verdict.code.as_str()))
}

pub(super) fn names_its_item(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for judged in deciding(facts) {
        let item = judged.item();
        let (message, own) = (&judged.said.message_id, judged.record);
        // Words against a yes stop whatever this person agreed to here, even where they quote another question.
        let stops = STOPS.contains(&judged.verdict.reason.as_str());
        if !stops && judged.said.taps.as_ref().is_some_and(|tapped| tapped != item) {
            findings.push(Finding::new(message, [own]));
        }
        let quoted = judged.said.reply_to.as_deref().filter(|_| !stops && !judged.said.undoes);
        for (shown, attached) in quoted.and_then(|quoted| facts.attached.get(quoted)).into_iter().flatten() {
            // Known before the message was sent: then it was the only question that it can have quoted.
            if *shown != item && attached.end < judged.window.since {
                findings.push(Finding::new(message, [*attached, own]));
            }
        }
        let Some(asked) = facts.asked.get(item) else { continue };
        let elsewhere = asked.conversation != judged.said.conversation || asked.actor != judged.said.actor;
        if asked.kind != Kind::Approval && elsewhere {
            findings.push(Finding::new(message, [asked.record, own]));
        }
    }
    findings
}

pub(super) fn bare_answers_the_last(facts: &Facts<'_>) -> Vec<Finding> {
    let mut by_conversation: HashMap<&str, Vec<&Asked<'_>>> = HashMap::new();
    for asked in facts.asked.values() {
        by_conversation.entry(asked.conversation).or_default().push(asked);
    }
    // A question may be shown again, which renews it.
    let mut shown: HashMap<&str, (i64, i64)> = HashMap::new();
    for (item, record) in facts.attached.values().flatten() {
        let since = facts.window(record).since;
        let (first, last) = shown.entry(item).or_insert((since, since));
        (*first, *last) = (since.min(*first), record.since.max(*last));
    }
    let mut findings = Vec::new();
    for judged in deciding(facts).filter(|judged| judged.said.bare && judged.verdict.code == "confirmed") {
        let Some(asked) = facts.asked.get(judged.item()) else { continue };
        if judged.window.end < asked.window.since {
            findings.push(Finding::new(&judged.said.message_id, [asked.record, judged.record]));
        }
        let (first, last) = shown.get(judged.item()).copied().unwrap_or((i64::MAX, i64::MIN));
        let others = by_conversation.get(asked.conversation).into_iter().flatten();
        let between = others.into_iter().find(|other| {
            other.kind != Kind::Approval
                && other.window.after(asked.window)
                && judged.window.after(other.window)
                && last < other.window.since
        });
        findings.extend(
            between.map(|other| Finding::new(&judged.said.message_id, [asked.record, other.record, judged.record])),
        );
        if first > judged.window.end {
            findings.push(Finding::new(&judged.said.message_id, [asked.record, judged.record]));
        }
    }
    findings
}

pub(super) fn prompt_of_one_item(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (prompt, attached) in &facts.attached {
        let (item, first) = attached[0];
        let other = attached.iter().find(|(other, _)| *other != item);
        findings.extend(other.map(|(_, other)| Finding::new(prompt, [first, *other])));
    }
    findings
}
