//! Folding statements into a space: what they change, as events, and what to say about it.

use std::collections::{BTreeMap, BTreeSet};

use super::checking::Called;
use crate::domain::id::{FactUid, SpaceId};
use crate::domain::time::Timestamp;
use crate::state_layer::event::{FactChange, SpaceEvent};
use crate::state_layer::fact::{Cause, Change, Fact, Pointer, Standing};
use crate::state_layer::ledger::{GivenUp, Ledger, LedgerRules};
use crate::state_layer::operation::Effects;
use crate::state_layer::space::Space;
use crate::state_layer::statement::Statement;

/// A fact before and after.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) before: Option<Fact>,
    pub(super) after: Fact,
    /// Whether it goes: a fact made from a reading that, with what is known now, bears on another fact or on none.
    unmade: bool,
}

/// Finds what statements change. The space itself is left as it is.
///
/// Statements later than all in the space are stepped in. With others everything is folded anew, which needs the whole
/// space.
pub(super) fn changes(
    space: &mut Space,
    statements: Vec<Statement>,
    rules: &LedgerRules,
) -> Result<Vec<Changed>, GivenUp> {
    let newest = space.record.as_ref().and_then(|record| record.newest);
    let late = statements.iter().any(|statement| newest.is_some_and(|newest| statement.at() <= newest));
    if late && space.whole { refolded(space, statements, rules) } else { stepped(space, statements, rules) }
}

fn stepped(space: &mut Space, statements: Vec<Statement>, rules: &LedgerRules) -> Result<Vec<Changed>, GivenUp> {
    let mut ledger = Ledger::of(std::mem::take(&mut space.facts));
    let stepped = ledger.extend(statements, rules);
    let (mut facts, before) = ledger.into_changes();
    let mut changed = Vec::new();
    for (uid, before) in before {
        let Some(after) = facts.remove(&uid) else { continue };
        if let Some(before) = &before {
            facts.insert(uid, before.clone());
        }
        if before.as_ref() != Some(&after) {
            changed.push(Changed { before, after, unmade: false });
        }
    }
    space.facts = facts;
    stepped.map(|()| changed)
}

fn refolded(space: &Space, statements: Vec<Statement>, rules: &LedgerRules) -> Result<Vec<Changed>, GivenUp> {
    let mut all = written(space);
    // A deleted value cannot be read again, and neither can what retention took, so folding anew may tell less than is
    // known. Then only what the new statements make different is taken over, with all that hangs together with it.
    let without = has_gaps(space).then(|| Ledger::fold(all.clone(), rules));
    all.extend(statements);
    let mut ledger = Ledger::fold(all, rules);
    ledger.may_stay()?;
    let concerned = without.map(|without| concerned(space, &without, &ledger));
    let outside = |uid: &FactUid| concerned.as_ref().is_some_and(|concerned| !concerned.contains(uid));
    let mut changed = Vec::new();
    for (uid, before) in &space.facts {
        let after = ledger.facts.remove(uid);
        if outside(uid) {
            continue;
        }
        let Some(mut after) = after else {
            changed.push(Changed { before: Some(before.clone()), after: gone(before), unmade: true });
            continue;
        };
        after.history.clone_from(&before.history);
        if after != *before {
            changed.push(Changed { before: Some(before.clone()), after, unmade: false });
        }
    }
    let new = ledger.facts.into_iter().filter(|(uid, _)| !outside(uid));
    changed.extend(new.map(|(_, after)| Changed { before: None, after, unmade: false }));
    Ok(changed)
}

/// Whether something that the facts of a space were made of, or refer to, is no longer there.
fn has_gaps(space: &Space) -> bool {
    let is_gone = |uid: &FactUid| !space.facts.contains_key(uid);
    let has_gap = |fact: &Fact| {
        let bases = fact.depends_on.iter().filter(|base| base.space.is_none()).filter_map(|base| base.uid.as_ref());
        let contests = fact.contested.iter().map(|contest| &contest.by);
        fact.is_deleted()
            || fact.reading_id.as_ref().is_some_and(|id| !space.readings.contains_key(id))
            || fact.superseded.iter().chain(bases).chain(contests).any(is_gone)
    };
    space.facts.values().any(has_gap)
}

/// The facts that new statements make different, and those that hang together with them: by key, as replaced, as
/// contested or as derived, before or after.
fn concerned(space: &Space, without: &Ledger, with: &Ledger) -> BTreeSet<FactUid> {
    let mut by_key: BTreeMap<&str, Vec<&FactUid>> = BTreeMap::new();
    let mut linked: BTreeMap<&FactUid, Vec<&FactUid>> = BTreeMap::new();
    for fact in space.facts.values().chain(with.facts.values()) {
        by_key.entry(fact.key.as_str()).or_default().push(&fact.uid);
        let replacing = match &fact.standing {
            Standing::Superseded { by, .. } => by.as_ref(),
            Standing::Valid => None,
        };
        let bases = fact.depends_on.iter().filter_map(|base| base.uid.as_ref());
        let contests = fact.contested.iter().map(|contest| &contest.by);
        for other in replacing.into_iter().chain(bases).chain(contests).chain(&fact.superseded) {
            linked.entry(&fact.uid).or_default().push(other);
            linked.entry(other).or_default().push(&fact.uid);
        }
    }
    let every = without.facts.keys().chain(with.facts.keys());
    let mut open: Vec<&FactUid> = every.filter(|uid| without.facts.get(*uid) != with.facts.get(*uid)).collect();
    let mut found: BTreeSet<FactUid> = BTreeSet::new();
    while let Some(uid) = open.pop() {
        if !found.insert(uid.clone()) {
            continue;
        }
        open.extend(linked.get(uid).into_iter().flatten().copied());
        for fact in [space.facts.get(uid), with.facts.get(uid)].into_iter().flatten() {
            // Each key is followed once.
            open.extend(by_key.remove(fact.key.as_str()).into_iter().flatten());
        }
    }
    found
}

const BEARS_ELSEWHERE: &str = "with what is known now, what was heard bears on something else";

fn gone(before: &Fact) -> Fact {
    let standing = Standing::Superseded {
        by: None,
        cause: Cause::Observation,
        reason: BEARS_ELSEWHERE.to_owned(),
        since: before.at,
    };
    Fact { standing, contested: Vec::new(), review: None, ..before.clone() }
}

impl Space {
    /// The statements that made it, as they were made: the inputs of its fold. All of them only if the space was loaded
    /// as a whole.
    #[must_use]
    pub fn statements(&self) -> Vec<Statement> {
        written(self)
    }
}

/// The statements that made a space. A fact made from a reading is not one, unless what was read of it is forgotten: then
/// it cannot be made again.
pub(super) fn written(space: &Space) -> Vec<Statement> {
    let deleted: BTreeSet<&FactUid> =
        space.facts.values().filter(|fact| fact.is_deleted()).map(|fact| &fact.uid).collect();
    let stands_for_itself = |fact: &&Fact| {
        let reading = fact.reading_id.as_ref().and_then(|id| space.readings.get(id));
        reading.is_none_or(|reading| reading.has_forgotten(&fact.uid))
    };
    let facts = space.facts.values().filter(stands_for_itself).map(|fact| {
        let mut as_written = fact.as_written();
        if let Some(reading_id) = &fact.reading_id {
            // Where the reading is gone as a whole, nothing else tells what the fact put out of force.
            let whole = !space.readings.contains_key(reading_id);
            let told = |uid: &&FactUid| whole || deleted.contains(uid);
            as_written.superseded = fact.superseded.iter().filter(told).cloned().collect();
        }
        Statement::Fact(as_written)
    });
    facts
        .chain(space.readings.values().cloned().map(Statement::Reading))
        .chain(space.rulings.values().cloned().map(Statement::Ruling))
        .collect()
}

/// How much of something facts that stand have more after the changes than before.
pub(super) fn more(changed: &[Changed], of: impl Fn(&Fact) -> usize) -> i64 {
    let amount = |fact: Option<&Fact>| fact.filter(|fact| fact.is_valid()).map_or(0, |fact| counted(of(fact)));
    changed.iter().map(|change| amount(Some(&change.after)) - amount(change.before.as_ref())).sum()
}

/// A number that can be counted with.
pub(super) fn counted(amount: usize) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

/// The events of changes: facts that are new, in the given order, and then those that stand otherwise.
pub(super) fn events(space_id: &SpaceId, changed: &[Changed], order: &[FactUid], at: Timestamp) -> Vec<SpaceEvent> {
    let places: BTreeMap<&FactUid, usize> = order.iter().enumerate().rev().map(|(place, uid)| (uid, place)).collect();
    let place = |uid: &FactUid| places.get(uid).copied().unwrap_or(usize::MAX);
    let mut new: Vec<&Changed> = changed.iter().filter(|change| is_new(change)).collect();
    new.sort_by_cached_key(|change| (place(&change.after.uid), change.after.at, change.after.uid.clone()));
    let written = new.into_iter().map(|change| {
        let mut fact = change.after.clone();
        if let Some((what, reason)) = first_change(&fact) {
            fact.history.push(Change { what: what.to_owned(), reason, at });
        }
        SpaceEvent::FactWritten { fact }
    });
    let altered = changed.iter().filter(|change| !is_new(change)).filter_map(|change| {
        let before = change.before.as_ref()?;
        if change.unmade {
            let (space_id, uid) = (space_id.clone(), before.uid.clone());
            return Some(SpaceEvent::FactUnmade { space_id, uid, reason: BEARS_ELSEWHERE.to_owned() });
        }
        Some(SpaceEvent::FactChanged { space_id: space_id.clone(), change: fact_change(before, &change.after, at) })
    });
    written.chain(altered).collect()
}

/// Whether a fact is to be written as a whole: it was not there, or it was made from a reading and is another one now.
fn is_new(change: &Changed) -> bool {
    let written = |fact: &Fact| {
        let mut fact = fact.as_written();
        fact.superseded.clear();
        if change.after.is_deleted() {
            fact.value = serde_json::Value::Null;
        }
        fact
    };
    change.before.as_ref().is_none_or(|before| written(before) != written(&change.after))
}

fn first_change(fact: &Fact) -> Option<(&'static str, String)> {
    match &fact.standing {
        Standing::Superseded { reason, .. } => Some((Change::SUPERSEDED, reason.clone())),
        Standing::Valid => fact
            .contested
            .first()
            .map(|contest| (Change::CONTESTED, contest.reason.clone()))
            .or_else(|| fact.review.as_ref().map(|_| (Change::NEEDS_REVIEW, FALLEN.to_owned()))),
    }
}

const FALLEN: &str = "what it was derived from no longer stands";

fn fact_change(before: &Fact, after: &Fact, at: Timestamp) -> FactChange {
    let forget_value = after.is_deleted() && !before.is_deleted();
    let (what, reason) = match (&before.standing, &after.standing) {
        (_, Standing::Superseded { reason, .. }) if forget_value => (Change::DELETED, reason.clone()),
        (was, Standing::Superseded { reason, .. }) if was != &after.standing => (Change::SUPERSEDED, reason.clone()),
        (Standing::Superseded { .. }, Standing::Valid) => {
            (Change::RESTORED, "what had replaced it stepped back".to_owned())
        }
        _ if after.contested.len() > before.contested.len() => {
            let reason = after.contested.last().map(|contest| contest.reason.clone()).unwrap_or_default();
            (Change::CONTESTED, reason)
        }
        _ if after.review.is_some() && after.review != before.review => (Change::NEEDS_REVIEW, FALLEN.to_owned()),
        _ if after.contested != before.contested || after.review != before.review => {
            (Change::SETTLED, "what spoke against it no longer does".to_owned())
        }
        _ => (Change::LINKED, "other facts refer to it otherwise".to_owned()),
    };
    FactChange {
        uid: after.uid.clone(),
        standing: after.standing.clone(),
        contested: after.contested.clone(),
        review: after.review.clone(),
        superseded: after.superseded.clone(),
        former: after.former.clone(),
        depends_on: after.depends_on.clone(),
        change: Change { what: what.to_owned(), reason, at },
        forget_value,
    }
}

/// What changes mean for the caller. `own` are the facts that were asked for themselves.
pub(super) fn effects(changed: &[Changed], own: &[FactUid]) -> Effects {
    let mut effects = Effects::default();
    let own: BTreeSet<&FactUid> = own.iter().collect();
    for Changed { before, after, .. } in changed {
        let uid = after.uid.clone();
        let stood = before.as_ref().is_some_and(Fact::is_valid);
        match (&after.standing, before) {
            (Standing::Superseded { reason, .. }, Some(_)) if stood => {
                effects.superseded.push(uid.clone());
                effects.reasons.push((uid.clone(), reason.clone()));
            }
            (Standing::Superseded { reason, .. }, None) => effects.reasons.push((uid.clone(), reason.clone())),
            (Standing::Valid, Some(_)) if !stood => effects.restored.push(uid.clone()),
            _ => {}
        }
        if before.is_none() && !own.contains(&uid) {
            effects.created.push(uid.clone());
        }
        if before.as_ref().map_or(0, |before| before.contested.len()) < after.contested.len() {
            effects.contested.push(uid.clone());
            effects.reasons.extend(after.contested.last().map(|contest| (uid.clone(), contest.reason.clone())));
        }
        if after.review.is_some() && before.as_ref().and_then(|before| before.review.as_ref()) != after.review.as_ref()
        {
            effects.reasons.push((uid.clone(), FALLEN.to_owned()));
            effects.needs_review.push(uid);
        }
    }
    effects
}

/// Names of new facts that nothing in the space answers to.
pub(super) fn unresolved(space: &Space, uids: &[FactUid]) -> Vec<Pointer> {
    let new: Vec<&Fact> = uids.iter().filter_map(|uid| space.facts.get(uid)).collect();
    let points = |fact: &&Fact| fact.supersedes.is_some() && fact.superseded.is_empty();
    let pointing = new.iter().any(points);
    let called = Called::of(space.facts.values().filter(|_| pointing));
    let mut open: Vec<Pointer> = Vec::new();
    for fact in &new {
        open.extend(fact.depends_on.iter().filter(|base| base.uid.is_none()).map(|base| base.pointer.clone()));
        let Some(pointer) = fact.supersedes.as_ref().filter(|_| points(fact)) else { continue };
        if !called.answering(&pointer.0).any(|other| other.uid != fact.uid && other.at <= fact.at) {
            open.push(pointer.clone());
        }
    }
    open.sort_unstable();
    open.dedup();
    open
}
