//! The order of statements: their own time; then facts before readings before rulings; among facts of one time, what is
//! named before what names it; then their content. Never a random id and never when they arrived.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use serde_json::json;

use crate::domain::canonical::{Digest, Purpose, canonical, hash};
use crate::domain::id::FactUid;
use crate::state_layer::fact::{Fact, Pointer};
use crate::state_layer::statement::Statement;

/// The statements in their order.
pub(super) fn sorted(mut statements: Vec<Statement>) -> Vec<Statement> {
    statements.sort_by_key(|statement| (statement.at(), class(statement)));
    let mut ordered = Vec::with_capacity(statements.len());
    let mut tied: Vec<Statement> = Vec::new();
    for statement in statements {
        let same = tied.last().is_none_or(|last| last.at() == statement.at() && class(last) == class(&statement));
        if !same {
            ordered.extend(untied(std::mem::take(&mut tied)));
        }
        tied.push(statement);
    }
    ordered.extend(untied(tied));
    ordered
}

fn class(statement: &Statement) -> u8 {
    match statement {
        Statement::Fact(_) => 0,
        Statement::Reading(_) => 1,
        Statement::Ruling(_) => 2,
    }
}

/// Orders statements of one time and class.
fn untied(tied: Vec<Statement>) -> Vec<Statement> {
    if tied.len() < 2 {
        return tied;
    }
    let mut keyed: Vec<(Digest, String, Statement)> =
        tied.into_iter().map(|statement| (content(&statement), last_resort(&statement), statement)).collect();
    keyed.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()).then_with(|| a.1.cmp(&b.1)));
    named_first(keyed.into_iter().map(|(_, _, statement)| statement).collect())
}

/// The later of two facts: by time, then by content. What has the same content may be told apart by anything.
pub(super) fn later(one: &Fact, other: &Fact) -> Ordering {
    one.at.cmp(&other.at).then_with(|| {
        fact_content(one)
            .as_bytes()
            .cmp(fact_content(other).as_bytes())
            .then_with(|| (one.recorded_at, &one.uid).cmp(&(other.recorded_at, &other.uid)))
    })
}

fn last_resort(statement: &Statement) -> String {
    let (recorded_at, id) = match statement {
        Statement::Fact(fact) => (fact.recorded_at, fact.uid.as_str()),
        Statement::Reading(reading) => (reading.recorded_at, reading.reading_id.as_str()),
        Statement::Ruling(ruling) => (ruling.recorded_at, ruling.ruling_id.as_str()),
    };
    format!("{recorded_at}{id}")
}

fn content(statement: &Statement) -> Digest {
    match statement {
        Statement::Fact(fact) => fact_content(fact),
        Statement::Reading(reading) => hash(
            Purpose::Statement,
            &[&canonical(&json!({"stance": reading.stance, "authority": reading.authority, "claims": reading.claims}))],
        ),
        Statement::Ruling(ruling) => {
            hash(Purpose::Statement, &[&canonical(&json!({"verdict": ruling.verdict, "reason": ruling.reason}))])
        }
    }
}

/// A pointer by uid says nothing about the content: the uid is random.
fn stable(pointer: &Pointer) -> Option<&str> {
    FactUid::parse(&pointer.0).is_none().then_some(pointer.0.as_str())
}

fn fact_content(fact: &Fact) -> Digest {
    let named: Vec<&str> = fact
        .depends_on
        .iter()
        .filter(|dependency| !dependency.inferred)
        .filter_map(|dependency| stable(&dependency.pointer))
        .collect();
    let written = json!({
        "label": fact.label, "key": fact.key, "value": fact.value, "source": fact.source, "scope": fact.scope,
        "scope_id": fact.scope_id, "supersedes": fact.supersedes.as_ref().and_then(stable), "depends_on": named,
    });
    hash(Purpose::Statement, &[&canonical(&written)])
}

/// Puts facts that others name before those; otherwise the order stays. Circles are cut where they begin.
fn named_first(statements: Vec<Statement>) -> Vec<Statement> {
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, statement) in statements.iter().enumerate() {
        if let Statement::Fact(fact) = statement {
            for name in names(fact) {
                by_name.entry(name).or_default().push(index);
            }
        }
    }
    let mut waits: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); statements.len()];
    let mut frees: Vec<Vec<usize>> = vec![Vec::new(); statements.len()];
    for (index, statement) in statements.iter().enumerate() {
        let Statement::Fact(fact) = statement else { continue };
        for name in pointed(fact) {
            for target in by_name.get(name).into_iter().flatten().copied().filter(|target| *target != index) {
                if waits.get_mut(index).is_some_and(|waits| waits.insert(target)) {
                    frees.get_mut(target).into_iter().for_each(|frees| frees.push(index));
                }
            }
        }
    }
    drop(by_name);
    let mut ready: BTreeSet<usize> =
        waits.iter().enumerate().filter(|(_, waits)| waits.is_empty()).map(|(index, _)| index).collect();
    let mut left: BTreeSet<usize> = (0..statements.len()).collect();
    let mut order = Vec::with_capacity(statements.len());
    while let Some(next) = ready.pop_first().or_else(|| left.first().copied()) {
        if !left.remove(&next) {
            continue;
        }
        order.push(next);
        for freed in frees.get(next).into_iter().flatten() {
            if let Some(waits) = waits.get_mut(*freed) {
                waits.remove(&next);
                if waits.is_empty() {
                    ready.insert(*freed);
                }
            }
        }
    }
    let mut slots: Vec<Option<Statement>> = statements.into_iter().map(Some).collect();
    order.into_iter().filter_map(|index| slots.get_mut(index).and_then(Option::take)).collect()
}

fn names(fact: &Fact) -> impl Iterator<Item = &str> {
    let label = fact.label.as_ref().map(crate::domain::id::FactLabel::as_str);
    [Some(fact.uid.as_str()), label, Some(fact.key.as_str())].into_iter().flatten()
}

fn pointed(fact: &Fact) -> impl Iterator<Item = &str> {
    let bases = fact.depends_on.iter().filter(|dependency| dependency.space.is_none() && !dependency.inferred);
    fact.supersedes
        .iter()
        .map(|pointer| pointer.0.as_str())
        .chain(bases.map(|dependency| dependency.pointer.0.as_str()))
        .chain(fact.superseded.iter().map(FactUid::as_str))
}
