//! Dependencies: what a fact was derived from, and which facts have to be looked at again when that falls.

use std::collections::{BTreeMap, BTreeSet};

use super::Ledger;
use super::falling::Below;
use super::index::{Facet, bases};
use crate::domain::id::FactUid;
use crate::domain::time::Timestamp;
use crate::state_layer::fact::{Dependency, Pointer, Review};

impl Ledger {
    /// Finds what a fact's named dependencies mean.
    pub(super) fn name_bases(&mut self, uid: &FactUid) {
        self.name_some(uid, |_, _| true);
    }

    /// Finds what some of them mean. Says whether one was found that has fallen.
    fn name_some(&mut self, uid: &FactUid, wanted: impl Fn(&Self, &str) -> bool) -> bool {
        let Some(fact) = self.facts.get(uid) else { return false };
        let open: Vec<(usize, Pointer)> = fact
            .depends_on
            .iter()
            .enumerate()
            .filter(|(_, dependency)| dependency.space.is_none() && dependency.uid.is_none())
            .filter(|(_, dependency)| wanted(self, &dependency.pointer.0))
            .map(|(index, dependency)| (index, dependency.pointer.clone()))
            .collect();
        let mut known: BTreeMap<Pointer, Option<FactUid>> = BTreeMap::new();
        let mut found: Vec<(usize, Pointer, FactUid)> = Vec::new();
        for (index, pointer) in open {
            if !known.contains_key(&pointer) {
                self.work.spend(1);
                let base = self.base(&pointer, uid);
                known.insert(pointer.clone(), base);
            }
            if let Some(base) = known.get(&pointer).cloned().flatten() {
                found.push((index, pointer, base));
            }
        }
        if found.is_empty() {
            return false;
        }
        self.amend(uid, |fact| {
            for (index, _, base) in &found {
                if let Some(dependency) = fact.depends_on.get_mut(*index) {
                    dependency.uid = Some(base.clone());
                }
            }
        });
        if self.stands(uid) {
            for (_, pointer, base) in &found {
                self.index.answer(uid, &pointer.0, base);
            }
        }
        found.iter().any(|(_, _, base)| self.has_fallen(base))
    }

    /// Whether a fact no longer stands, or stands on what no longer does.
    fn has_fallen(&self, uid: &FactUid) -> bool {
        self.facts.get(uid).is_none_or(|fact| !fact.is_valid() || fact.review.is_some())
    }

    /// Adds a dependency that the server found.
    pub(super) fn add_base(&mut self, uid: &FactUid, base: &FactUid) {
        self.edit(uid, |fact| {
            if !bases(fact).any(|known| known == base) {
                let pointer = Pointer(base.as_str().to_owned());
                fact.depends_on.push(Dependency { pointer, space: None, uid: Some(base.clone()), inferred: true });
            }
        });
    }

    /// Lets facts that wait for a name have this one.
    pub(super) fn answer_waiting(&mut self, uid: &FactUid, names: &[Option<String>]) {
        let Some(since) = self.facts.get(uid).map(|fact| fact.at) else { return };
        let own = uid.as_str().to_owned();
        for name in names.iter().flatten().chain([&own]) {
            let waiting: Vec<FactUid> =
                self.index.of_text(Facet::Waiting, name).filter(|waiting| *waiting != uid).cloned().collect();
            let mut fallen = Vec::new();
            for waiting in waiting {
                self.work.spend(NAMED);
                // Other names may have been answered meanwhile by facts that did not stand long enough to say so.
                if self.name_some(&waiting, |ledger, pointer| pointer == name || ledger.index.is_unheard(pointer)) {
                    fallen.push(waiting);
                }
            }
            self.review_all(fallen, since);
        }
    }

    /// A write that says of what it replaces that it is invalid stands on the same fallen ground.
    pub(super) fn mark_invalidation(&mut self, uid: &FactUid, target: &FactUid) {
        let (Some(fact), Some(old)) = (self.facts.get(uid), self.facts.get(target)) else { return };
        if !super::inferring::is_invalidation(fact) {
            return;
        }
        let fallen = old.review.as_ref().map_or_else(|| vec![target.clone()], |review| review.bases.clone());
        for base in fallen {
            self.add_base(uid, &base);
        }
    }

    /// Looks again at the facts that depend on one, and at those that depend on them.
    pub(super) fn review_dependents(&mut self, uid: &FactUid, since: Timestamp) {
        self.review_all(self.index.dependents(uid, &self.facts), since);
    }

    /// Finds what has fallen under a fact, and tells those that depend on it.
    pub(super) fn review(&mut self, uid: &FactUid, since: Timestamp) {
        let Some(fact) = self.facts.get(uid) else { return };
        // What stands on firm ground, as it did before, changes nothing for others.
        if fact.review.is_none() && !bases(fact).any(|base| self.has_fallen(base)) {
            return;
        }
        self.review_all(vec![uid.clone()], since);
    }

    /// The same of several at once: each fact upon them is looked at once.
    fn review_all(&mut self, uids: Vec<FactUid>, since: Timestamp) {
        let below = self.below(uids);
        if below.is_empty() {
            return;
        }
        let found = Below::of(&below, &self.facts);
        self.work.spend(found.links());
        let fallen = found.fallen();
        for (uid, bases) in below.into_iter().zip(fallen) {
            let Some(fact) = self.facts.get(&uid) else { continue };
            let known = fact.review.as_ref();
            if known.map_or(&[] as &[FactUid], |known| &known.bases) == bases {
                continue;
            }
            let since = known.map_or(since, |known| known.since);
            let review = (!bases.is_empty()).then_some(Review { bases, since });
            self.amend(&uid, |fact| fact.review = review);
        }
    }

    /// Facts that stand, and all that stand on them, those nearer first.
    fn below(&self, uids: Vec<FactUid>) -> Vec<FactUid> {
        let mut seen: BTreeSet<FactUid> = BTreeSet::new();
        let mut order: Vec<FactUid> = Vec::new();
        for uid in uids {
            if self.stands(&uid) && seen.insert(uid.clone()) {
                order.push(uid);
            }
        }
        let mut at = 0;
        while let Some(next) = order.get(at).cloned() {
            at += 1;
            for dependent in self.index.dependents(&next, &self.facts) {
                if seen.insert(dependent.clone()) {
                    order.push(dependent);
                }
            }
        }
        order
    }
}

/// What it takes to look at the names of one fact, in units of work.
const NAMED: usize = 8;
