//! Approvals: by enough people, each counted once, and not by the one who asked.

use std::collections::{BTreeSet, HashMap};

use super::super::facts::Facts;
use super::super::record::{Op, Record};
use super::Finding;

/// Everybody who was told that they approved something: by a message, or by a decision.
fn approvals<'a>(facts: &Facts<'a>) -> HashMap<&'a str, Vec<(&'a str, &'a str, &'a Record)>> {
    let mut given: HashMap<&str, Vec<_>> = HashMap::new();
    for judged in facts.judged.iter().filter(|judged| judged.verdict.code == "approved") {
        let item = judged.verdict.item().map_or("", |item| item.id());
        given.entry(item).or_default().push((
            judged.said.actor.as_str(),
            judged.said.message_id.as_str(),
            judged.record,
        ));
    }
    for record in facts.history.records.iter().filter(|record| record.done().is_some()) {
        if let Op::Decide { approval, approver, approve: true } = &record.call.op {
            let by = record.call.claim.as_deref().unwrap_or_default();
            given.entry(approval).or_default().push((approver, by, record));
        }
    }
    given
}

pub(super) fn approver_counts_once(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let given = approvals(facts);
    for (item, given) in &given {
        let mut counted: HashMap<&str, (&str, &Record)> = HashMap::new();
        for (approver, by, record) in given {
            let (first, earlier) = counted.entry(facts.person(approver)).or_insert((by, record));
            if first != by {
                findings.push(Finding::new(item, [*earlier, *record]));
            }
        }
    }
    // Whoever tried may have been counted without an answer; nobody else can have been.
    let mut tried: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for record in &facts.history.records {
        match &record.call.op {
            Op::Say(said) => {
                let quoted = said.reply_to.as_deref().and_then(|quoted| facts.attached.get(quoted));
                let named = quoted.into_iter().flatten().map(|(item, _)| *item).chain(said.taps.as_deref());
                for item in named {
                    tried.entry(item).or_default().insert(facts.person(&said.actor));
                }
            }
            Op::Decide { approval, approver, approve: true } => {
                tried.entry(approval).or_default().insert(facts.person(approver));
            }
            _ => {}
        }
    }
    for (record, seen) in facts.done(|op| matches!(op, Op::ReadItem { .. } | Op::Decide { .. })) {
        let item = seen.item.approval_id.as_str();
        let people = tried.get(item).map_or(0, BTreeSet::len);
        let enough = |count: u64| usize::try_from(count).is_ok_and(|count| people >= count);
        let granted = matches!(seen.item.state.as_str(), "approved" | "spent");
        let counted = seen.received.is_none_or(enough) && (!granted || seen.required.is_none_or(enough));
        if !item.is_empty() && !counted {
            findings.push(Finding::new(item, [record]));
        }
    }
    findings
}

pub(super) fn approver_is_another(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (item, given) in approvals(facts) {
        let Some(asked) = facts.asked.get(item) else { continue };
        for (approver, _, record) in given {
            if facts.person(approver) == facts.person(asked.actor) {
                findings.push(Finding::new(item, [asked.record, record]));
            }
        }
    }
    findings
}
