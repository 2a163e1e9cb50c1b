//! What is dear about a decision, found out before the lock is held.
//!
//! A trial reads what new facts are and folds their statements, as the decision itself does, and keeps what came of it.
//! Under the lock the operation is decided from the beginning: with its clock, its writer and its checks. Only where it comes
//! to fold, and its statements are those of the trial but for the times that the lock gives them, is the result of the trial
//! taken. The space has to be the one that the trial was made with; whoever holds the lock knows whether it is.

use std::collections::{BTreeMap, BTreeSet};

use super::classifying::Class;
use super::folding::Changed;
use super::{Deciding, SpaceRules};
use crate::domain::id::{FactUid, Ids, SpaceId};
use crate::domain::time::Timestamp;
use crate::state_layer::fact::{Fact, Standing};
use crate::state_layer::ledger::GivenUp;
use crate::state_layer::operation::{NewFact, SpaceOperation};
use crate::state_layer::space::Space;
use crate::state_layer::statement::Statement;

/// What came of a trial.
#[derive(Debug)]
pub struct Foreseen {
    /// The time of the newest statement of the space.
    newest: Option<Timestamp>,
    /// When the last of its statements was recorded, of those that were loaded.
    recorded: Option<Timestamp>,
    /// When the trial was made.
    now: Timestamp,
    statements: Vec<Statement>,
    changed: Result<Vec<Changed>, GivenUp>,
    /// How many facts of the statements have been written down.
    written: usize,
}

/// Tries an operation; the space is left as it is. None where it is refused before anything is folded, or folds nothing.
pub fn foresee(
    space: &mut Space,
    space_id: &SpaceId,
    operation: &SpaceOperation,
    rules: &SpaceRules<'_>,
    now: Timestamp,
    ids: &mut Ids<'_>,
) -> Option<Foreseen> {
    if !operation.action.folds() {
        return None;
    }
    super::checking::permitted(&operation.action, &operation.writer, rules, space.record.as_ref()).ok()?;
    let newest = space.record.as_ref().and_then(|record| record.newest);
    let recorded = recorded_last(space);
    let mut deciding = Deciding {
        space,
        space_id,
        rules,
        now,
        ids,
        events: Vec::new(),
        foresight: Foresight::Trial(None),
        came_true: false,
    };
    // A trial is refused where it has folded. Nothing has happened by then.
    drop(deciding.act(operation));
    let Foresight::Trial(Some((statements, changed))) = deciding.foresight else { return None };
    Some(Foreseen { newest, recorded, now, statements, changed, written: 0 })
}

/// Statements, and what folding them changes.
type Folded = (Vec<Statement>, Result<Vec<Changed>, GivenUp>);

/// What a decision has of a trial.
#[derive(Debug)]
pub(super) enum Foresight {
    None,
    /// It is one, and notes what it folds.
    Trial(Option<Folded>),
    /// What came of it.
    Known(Box<Foreseen>),
}

impl Foresight {
    /// The id that a new fact was given in the trial, and what it was found to be.
    pub(super) fn next_fact(&mut self, fact: &NewFact) -> Option<(FactUid, Class)> {
        let Self::Known(foreseen) = self else { return None };
        let Some(Statement::Fact(known)) = foreseen.statements.get(foreseen.written) else { return None };
        foreseen.written += 1;
        let same = known.key == fact.key && known.value == fact.value && known.source == fact.source;
        let class = Class {
            scope: known.scope,
            scope_id: known.scope_id.clone(),
            memory_type: known.memory_type,
            constraint: known.constraint,
            restricted_to: known.restricted_to.clone(),
        };
        same.then(|| (known.uid.clone(), class))
    }
}

fn recorded_last(space: &Space) -> Option<Timestamp> {
    let facts = space.facts.values().map(|fact| fact.recorded_at);
    let readings = space.readings.values().map(|reading| reading.recorded_at);
    let rulings = space.rulings.values().map(|ruling| ruling.recorded_at);
    facts.chain(readings).chain(rulings).max()
}

impl Foreseen {
    /// What folding these statements changes, if it is certain from the trial.
    pub(super) fn of(mut self, statements: &[Statement], now: Timestamp) -> Option<Result<Vec<Changed>, GivenUp>> {
        // Of statements with one time and one content, that which was recorded first comes first. New ones come last.
        let last = |now: Timestamp| self.recorded.is_none_or(|recorded| recorded < now);
        if now != self.now && !(last(now) && last(self.now)) {
            return None;
        }
        let moved = self.moved(statements)?;
        let new: BTreeSet<&FactUid> = statements.iter().filter_map(uid).collect();
        let mut changed = self.changed;
        for Changed { before, after, .. } in changed.iter_mut().flatten() {
            if before.is_none() && new.contains(&after.uid) {
                after.recorded_at = now;
            }
            retime(after, &moved);
        }
        Some(changed)
    }

    /// Which times of the trial are which now. None if the statements are others than in the trial.
    fn moved(&mut self, statements: &[Statement]) -> Option<BTreeMap<Timestamp, Timestamp>> {
        if self.statements.len() != statements.len() {
            return None;
        }
        let mut times = Vec::with_capacity(statements.len());
        for (tried, real) in self.statements.iter_mut().zip(statements) {
            times.push((tried.at(), real.at()));
            match (&mut *tried, real) {
                (Statement::Fact(tried), Statement::Fact(real)) => {
                    (tried.at, tried.recorded_at) = (real.at, real.recorded_at);
                }
                // The id of a ruling is nowhere in what it does.
                (Statement::Ruling(tried), Statement::Ruling(real)) => {
                    (tried.at, tried.recorded_at) = (real.at, real.recorded_at);
                    tried.ruling_id.clone_from(&real.ruling_id);
                }
                // How long ago something was said is part of what it means.
                _ => {}
            }
            if tried != real {
                return None;
            }
        }
        times.sort_unstable();
        // The order of the new ones is the same, and those with other times come after all that is there, as they did.
        let in_order = times.windows(2).all(|pair| match pair {
            [one, other] => one.0.cmp(&other.0) == one.1.cmp(&other.1),
            _ => true,
        });
        let after_all = |time: Timestamp| self.newest.is_none_or(|newest| newest < time);
        let moved: BTreeMap<Timestamp, Timestamp> = times.into_iter().filter(|(tried, real)| tried != real).collect();
        let newest = moved.iter().all(|(tried, real)| after_all(*tried) && after_all(*real));
        (in_order && newest).then_some(moved)
    }
}

fn uid(statement: &Statement) -> Option<&FactUid> {
    match statement {
        Statement::Fact(fact) => Some(&fact.uid),
        Statement::Reading(_) | Statement::Ruling(_) => None,
    }
}

/// Puts the times that statements have in the place of those that they had in the trial.
fn retime(fact: &mut Fact, moved: &BTreeMap<Timestamp, Timestamp>) {
    let real = |time: &mut Timestamp| *time = moved.get(time).copied().unwrap_or(*time);
    real(&mut fact.at);
    if let Standing::Superseded { since, .. } = &mut fact.standing {
        real(since);
    }
    fact.contested.iter_mut().for_each(|contest| real(&mut contest.since));
    fact.review.iter_mut().for_each(|review| real(&mut review.since));
}
