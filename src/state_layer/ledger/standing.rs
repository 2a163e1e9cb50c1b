//! How facts come to stand and stop standing. Every change of a ledger's facts goes through here.

use super::Ledger;
use super::index::Facet;
use crate::domain::id::FactUid;
use crate::domain::time::Timestamp;
use crate::state_layer::fact::{Cause, Contest, Fact, Former, MAX_FORMER, Standing};

/// Why a fact stops standing, and since when.
#[derive(Debug, Clone)]
pub(super) struct Why {
    pub(super) cause: Cause,
    pub(super) reason: String,
    pub(super) since: Timestamp,
}

impl Ledger {
    /// Takes a new fact in.
    pub(super) fn insert(&mut self, fact: Fact) {
        self.work.spend(1);
        self.before.entry(fact.uid.clone()).or_insert(None);
        self.index.add(&fact);
        self.index.note_names(&fact);
        self.facts.insert(fact.uid.clone(), fact);
    }

    /// Changes a fact, remembers what it was, and keeps the index.
    pub(super) fn edit(&mut self, uid: &FactUid, change: impl FnOnce(&mut Fact)) {
        let Some(fact) = self.facts.get_mut(uid) else { return };
        self.work.spend(1 + fact.depends_on.len());
        if !self.before.contains_key(uid) {
            self.before.insert(uid.clone(), Some(fact.clone()));
        }
        self.index.remove(fact);
        change(fact);
        self.index.add(fact);
    }

    /// Changes what the index knows nothing of, or is told of by itself: not how a fact stands, what it is called and what
    /// contests it.
    pub(super) fn amend(&mut self, uid: &FactUid, change: impl FnOnce(&mut Fact)) {
        let Some(fact) = self.facts.get_mut(uid) else { return };
        self.work.spend(1);
        if !self.before.contains_key(uid) {
            self.before.insert(uid.clone(), Some(fact.clone()));
        }
        change(fact);
    }

    pub(super) fn stands(&self, uid: &FactUid) -> bool {
        self.facts.get(uid).is_some_and(Fact::is_valid)
    }

    /// Puts a fact out of force, by another one that stands: its value is carried along there.
    pub(super) fn supersede(&mut self, uid: &FactUid, by: &FactUid, why: Why) {
        if uid == by || !self.stands(uid) || !self.stands(by) {
            return;
        }
        let gone = self.former_of(uid);
        self.end(uid, Some(by), why);
        self.amend(by, |fact| {
            if !fact.superseded.contains(uid) {
                fact.superseded.push(uid.clone());
            }
            let known = std::mem::take(&mut fact.former);
            fact.former = merged(fact, gone.into_iter().chain(known));
        });
    }

    /// Puts a fact out of force.
    pub(super) fn end(&mut self, uid: &FactUid, by: Option<&FactUid>, why: Why) {
        if !self.stands(uid) {
            return;
        }
        let since = why.since;
        self.edit(uid, |fact| {
            fact.standing =
                Standing::Superseded { by: by.cloned(), cause: why.cause, reason: why.reason, since: why.since };
            fact.contested.clear();
            fact.review = None;
        });
        self.uncontest(uid);
        self.review_dependents(uid, since);
    }

    /// Flags a fact: another one speaks against it, and both stand.
    pub(super) fn contest(&mut self, uid: &FactUid, contest: Contest) {
        if *uid == contest.by || !self.stands(uid) || !self.stands(&contest.by) {
            return;
        }
        self.edit(uid, |fact| {
            if !fact.contested.iter().any(|known| known.by == contest.by) {
                fact.contested.push(contest);
            }
        });
    }

    /// Takes back whatever a fact contests: it no longer stands.
    fn uncontest(&mut self, by: &FactUid) {
        let contested: Vec<FactUid> = self.index.of_text(Facet::Contester, by.as_str()).cloned().collect();
        for uid in contested {
            self.edit(&uid, |fact| fact.contested.retain(|contest| contest.by != *by));
        }
    }

    /// A fact's value and those it carries along.
    pub(super) fn former_of(&self, uid: &FactUid) -> Vec<Former> {
        let Some(fact) = self.facts.get(uid) else { return Vec::new() };
        Former::of(fact).into_iter().chain(fact.former.iter().cloned()).collect()
    }
}

/// Former values for a fact: each fact's once, the first ones first, never its own, nor what it says again.
pub(super) fn merged(fact: &Fact, former: impl Iterator<Item = Former>) -> Vec<Former> {
    let text = fact.text();
    let mut kept: Vec<Former> = Vec::new();
    for value in former {
        if kept.len() == MAX_FORMER {
            break;
        }
        if value.uid != fact.uid && value.text != text && !kept.iter().any(|known| known.uid == value.uid) {
            kept.push(value);
        }
    }
    kept
}
