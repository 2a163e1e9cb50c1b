//! What a fact is, where its writer did not say: its reach, its memory, whether it binds. Read from marks and words.

use super::words::{self, has_any};
use crate::state_layer::authority::AuthorityOrder;
use crate::state_layer::fact::{ConstraintType, FactScope, MemoryType, Source};
use crate::state_layer::language::tags::{Tagged, tagged};
use crate::state_layer::language::terms::folded;
use crate::state_layer::language::value::{ValueKind, values};
use crate::state_layer::operation::NewFact;
use crate::state_layer::space::Partition;

/// What was found out about a new fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) scope: FactScope,
    pub(super) scope_id: Option<String>,
    pub(super) memory_type: MemoryType,
    pub(super) constraint: Option<ConstraintType>,
    pub(super) restricted_to: Vec<String>,
}

/// Classifies a new fact of a partition.
pub(super) fn classify(fact: &NewFact, text: &str, partition: &Partition, order: &AuthorityOrder) -> Class {
    let marks = tagged(text);
    let plain = words::spaced(&folded(marks.body));
    let (scope, scope_id) = scope(fact, &marks, &plain);
    let mut restricted_to = fact.restricted_to.clone();
    for audience in &marks.restricted_to {
        if !restricted_to.contains(audience) {
            restricted_to.push(audience.clone());
        }
    }
    Class {
        scope,
        scope_id: fact.scope_id.clone().or(scope_id),
        memory_type: fact.memory_type.unwrap_or_else(|| memory(partition, &fact.source, order)),
        constraint: constraint(fact, marks.body, &plain, order),
        restricted_to,
    }
}

/// A fact's reach: as said; as marked; as worded. A sentence that decides something, or replaces something, is global.
fn scope(fact: &NewFact, marks: &Tagged<'_>, plain: &str) -> (FactScope, Option<String>) {
    if let Some(scope) = fact.scope {
        return (scope, None);
    }
    if let Some((scope, id)) = &marks.scope {
        return (*scope, Some(id.clone()));
    }
    if fact.supersedes.is_some() || has_any(plain, words::DECIDED) {
        return (FactScope::Global, None);
    }
    let starts = |list: &[&str]| list.iter().any(|word| plain.starts_with(&format!(" {word} ")));
    let worded = if starts(words::IMAGINED_FIRST) || has_any(plain, words::IMAGINED) {
        FactScope::Hypothetical
    } else if headed(marks.body) || has_any(plain, words::DRAFT) {
        FactScope::Draft
    } else if has_any(plain, words::SESSION) {
        FactScope::Session
    } else if has_any(plain, words::TASK) {
        FactScope::Task
    } else {
        FactScope::Global
    };
    (worded, None)
}

/// Whether a text is headed as a draft: "Draft: …". A proposal that is due on Friday is none.
fn headed(body: &str) -> bool {
    let end = body.find(|sign: char| !sign.is_alphanumeric()).unwrap_or(body.len());
    let (head, rest) = body.split_at(end);
    rest.trim_start().starts_with([':', '-', '–', '—', ')']) && words::DRAFT_FIRST.contains(&folded(head).as_str())
}

/// The memory a fact belongs to: its partition's, and in a user's own what its source is (specification, memory type
/// classification).
fn memory(partition: &Partition, source: &Source, order: &AuthorityOrder) -> MemoryType {
    match partition {
        Partition::Capability { .. } => return MemoryType::Capability,
        Partition::Organization { .. } => return MemoryType::Organizational,
        Partition::User { .. } => {}
    }
    let kind = folded(&source.kind);
    let rank = |title: &str| order.rank(title);
    let institution = matches!(kind.as_str(), "policy" | "system" | "external") || kind.ends_with("_system");
    let ranked = source
        .authority
        .as_deref()
        .and_then(rank)
        .zip(rank("executive"))
        .is_some_and(|(held, executive)| held.level >= executive.level);
    if institution || ranked {
        MemoryType::Organizational
    } else if matches!(kind.as_str(), "pattern" | "heuristic" | "observation") {
        MemoryType::Capability
    } else {
        MemoryType::User
    }
}

/// Whether a fact binds decisions, and how.
fn constraint(fact: &NewFact, body: &str, plain: &str, order: &AuthorityOrder) -> Option<ConstraintType> {
    let by_source = folded(&fact.source.kind) == "policy"
        || fact
            .source
            .authority
            .as_deref()
            .is_some_and(|title| order.rank(title).is_some() && folded(title).trim() == "policy");
    let binds = match fact.is_constraint {
        Some(said) => said,
        None => fact.constraint_type.is_some() || by_source || words_bind(body, plain),
    };
    binds.then(|| fact.constraint_type.unwrap_or_else(|| kind_of_constraint(body, plain)))
}

fn words_bind(body: &str, plain: &str) -> bool {
    has_any(plain, words::BINDING)
        && !has_any(plain, words::NOT_BINDING)
        && !body.trim_end().ends_with('?')
        && !body.trim_start().starts_with('[')
}

/// Money is a budget, a day with a word of lateness a deadline, a count of room or people a capacity; else a policy.
/// "By" alone makes no deadline.
fn kind_of_constraint(body: &str, plain: &str) -> ConstraintType {
    let found = values(body.get(..body.floor_char_boundary(1024)).unwrap_or(body));
    let has = |kind: ValueKind| found.iter().any(|value| value.kind == kind);
    let dated = has(ValueKind::Date) || has(ValueKind::Time) || has(ValueKind::Duration);
    if has(ValueKind::Money) || (has(ValueKind::Percent) && has_any(plain, words::BUDGET)) {
        ConstraintType::Budget
    } else if has_any(plain, words::DEADLINE) || (dated && has_any(plain, words::LATEST)) {
        ConstraintType::Deadline
    } else if has_any(plain, words::CAPACITY) {
        ConstraintType::Capacity
    } else if has_any(plain, words::BUDGET) {
        ConstraintType::Budget
    } else {
        ConstraintType::Policy
    }
}

#[cfg(test)]
#[path = "classifying_tests.rs"]
mod tests;
