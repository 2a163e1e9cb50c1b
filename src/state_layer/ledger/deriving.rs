//! Dependencies: what a fact was derived from, and which facts have to be looked at again when that falls.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Ledger;
use super::index::{Facet, bases};
use crate::domain::id::FactUid;
use crate::domain::time::Timestamp;
use crate::state_layer::fact::{Dependency, Pointer, Review};

impl Ledger {
    /// Finds what a fact's named dependencies mean.
    pub(super) fn name_bases(&mut self, uid: &FactUid) {
        let Some(fact) = self.facts.get(uid) else { return };
        let open: Vec<(usize, Pointer)> = fact
            .depends_on
            .iter()
            .enumerate()
            .filter(|(_, dependency)| dependency.space.is_none() && dependency.uid.is_none())
            .map(|(index, dependency)| (index, dependency.pointer.clone()))
            .collect();
        for (index, pointer) in open {
            let Some(base) = self.base(&pointer, uid) else { continue };
            self.edit(uid, |fact| {
                if let Some(dependency) = fact.depends_on.get_mut(index) {
                    dependency.uid = Some(base);
                }
            });
        }
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
            for waiting in waiting {
                self.name_bases(&waiting);
                self.review(&waiting, since);
            }
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
        for dependent in self.index.dependents(uid, &self.facts) {
            self.review(&dependent, since);
        }
    }

    /// Finds what has fallen under a fact, and tells those that depend on it.
    pub(super) fn review(&mut self, uid: &FactUid, since: Timestamp) {
        // Reviews below are taken back first: facts that wait for one another must not keep each other waiting.
        let below = self.below(uid);
        let known: BTreeMap<FactUid, Timestamp> =
            below.iter().filter_map(|uid| Some((uid.clone(), self.facts.get(uid)?.review.as_ref()?.since))).collect();
        let mut fallen: BTreeMap<FactUid, Vec<FactUid>> = below.iter().map(|uid| (uid.clone(), Vec::new())).collect();
        let mut open: VecDeque<FactUid> = below.iter().cloned().collect();
        while let Some(next) = open.pop_front() {
            let found = self.fallen_under(&next, &fallen);
            if fallen.get(&next).is_some_and(|before| before.len() != found.len()) {
                fallen.insert(next.clone(), found);
                open.extend(
                    self.index.dependents(&next, &self.facts).into_iter().filter(|uid| fallen.contains_key(uid)),
                );
            }
        }
        for uid in below {
            let bases = fallen.remove(&uid).unwrap_or_default();
            let review =
                (!bases.is_empty()).then(|| Review { bases, since: known.get(&uid).copied().unwrap_or(since) });
            if self.facts.get(&uid).is_some_and(|fact| fact.review != review) {
                self.edit(&uid, |fact| fact.review = review);
            }
        }
    }

    /// A fact and all that stand on it, those nearer first.
    fn below(&self, uid: &FactUid) -> Vec<FactUid> {
        if !self.stands(uid) {
            return Vec::new();
        }
        let mut seen = BTreeSet::from([uid.clone()]);
        let mut order = vec![uid.clone()];
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

    /// What has fallen under a fact: bases that no longer stand, and what has fallen under those that do.
    fn fallen_under(&self, uid: &FactUid, below: &BTreeMap<FactUid, Vec<FactUid>>) -> Vec<FactUid> {
        let Some(fact) = self.facts.get(uid) else { return Vec::new() };
        let mut found: Vec<FactUid> = Vec::new();
        for base in bases(fact) {
            let standing = self.facts.get(base).filter(|base| base.is_valid());
            let fallen: &[FactUid] = match (standing, below.get(base)) {
                (None, _) => std::slice::from_ref(base),
                (Some(_), Some(known)) => known,
                (Some(standing), None) => standing.review.as_ref().map_or(&[], |review| &review.bases),
            };
            for base in fallen {
                if base != uid && !found.contains(base) {
                    found.push(base.clone());
                }
            }
        }
        found
    }
}
