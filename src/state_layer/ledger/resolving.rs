//! What a name means: a uid, then a label, then a key; the newest that stands first, else what came in its place.

use super::Ledger;
use super::index::Facet;
use super::ordering::later;
use crate::domain::id::FactUid;
use crate::state_layer::fact::{Fact, Pointer, Standing};

/// How a name is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Label,
    Key,
}

impl Way {
    fn calls(self, fact: &Fact, name: &str) -> bool {
        match self {
            Self::Label => fact.label.as_ref().is_some_and(|label| label.as_str() == name),
            Self::Key => fact.key == name,
        }
    }

    fn standing(self) -> Facet {
        match self {
            Self::Label => Facet::Label,
            Self::Key => Facet::Key,
        }
    }

    fn past(self) -> Facet {
        match self {
            Self::Label => Facet::PastLabel,
            Self::Key => Facet::PastKey,
        }
    }
}

impl Ledger {
    /// The fact that a superseding pointer means: one that stands, or none.
    pub(super) fn target(&mut self, pointer: &Pointer, but: &FactUid) -> Option<FactUid> {
        let named = self.named(pointer, but)?;
        self.current(&named).filter(|current| current != but)
    }

    /// The fact that a dependency means. A uid means that very fact; another name its current value, and if it has none
    /// the last one.
    pub(super) fn base(&mut self, pointer: &Pointer, but: &FactUid) -> Option<FactUid> {
        let named = self.named(pointer, but)?;
        if named.as_str() == pointer.0 {
            return Some(named);
        }
        let current = self.current(&named);
        Some(current.filter(|current| current != but).unwrap_or(named))
    }

    /// The fact that a name names, whether it stands or not.
    fn named(&self, pointer: &Pointer, but: &FactUid) -> Option<FactUid> {
        let name = pointer.0.as_str();
        if let Some(uid) = FactUid::parse(name).filter(|uid| uid != but && self.facts.contains_key(uid)) {
            return Some(uid);
        }
        [Way::Label, Way::Key]
            .into_iter()
            .find_map(|way| self.standing_under(name, way, but).or_else(|| self.past_under(name, way, but)))
    }

    /// The newest fact of a name that stands.
    fn standing_under(&self, name: &str, way: Way, but: &FactUid) -> Option<FactUid> {
        let called = || {
            let filed = self.index.of_text(way.standing(), name).filter(|uid| *uid != but);
            let facts = filed.filter_map(|uid| self.facts.get(uid));
            facts.filter(|fact| fact.is_valid() && way.calls(fact, name))
        };
        // What is told apart by its content is dear to compare: only those of the latest time are.
        let latest = called().map(|fact| fact.at).max()?;
        let newest = called().filter(|fact| fact.at == latest).max_by(|one, other| later(one, other));
        newest.map(|fact| fact.uid.clone())
    }

    /// The newest fact of a name that no longer stands.
    fn past_under(&self, name: &str, way: Way, but: &FactUid) -> Option<FactUid> {
        let mut newest: Option<(i64, &Fact)> = None;
        for (at, uid) in self.index.past(way.past(), name).filter(|(_, uid)| *uid != but) {
            if newest.is_some_and(|(latest, _)| latest > at) {
                break;
            }
            let Some(fact) = self.facts.get(uid).filter(|fact| way.calls(fact, name)) else { continue };
            if newest.is_none_or(|(_, known)| later(fact, known).is_gt()) {
                newest = Some((at, fact));
            }
        }
        newest.map(|(_, fact)| fact.uid.clone())
    }

    /// The fact that stands at the end of a chain. What was not loaded no longer stands; then whoever carries its value
    /// along came in its place.
    fn current(&mut self, uid: &FactUid) -> Option<FactUid> {
        let mut walked: Vec<FactUid> = Vec::new();
        let mut at = uid.clone();
        let end = loop {
            // No chain is longer than there are facts; a circle would be an error elsewhere, and must not hang here.
            if walked.len() > self.facts.len() {
                break None;
            }
            if let Some(known) = self.shortcuts.get(&at).filter(|known| **known != at).cloned() {
                walked.push(std::mem::replace(&mut at, known));
                continue;
            }
            match self.facts.get(&at).map(|fact| &fact.standing) {
                Some(Standing::Valid) => break Some(at),
                Some(Standing::Superseded { by: Some(by), .. }) => {
                    let next = by.clone();
                    walked.push(std::mem::replace(&mut at, next));
                }
                Some(Standing::Superseded { by: None, .. }) => break None,
                None => break self.carrier(&at),
            }
        };
        if let Some(end) = &end {
            for walked in walked {
                self.shortcuts.insert(walked, end.clone());
            }
        }
        end
    }

    /// The newest fact that stands and carries this one's value along.
    fn carrier(&self, uid: &FactUid) -> Option<FactUid> {
        self.facts
            .values()
            .filter(|fact| fact.is_valid() && fact.former.iter().any(|former| former.uid == *uid))
            .max_by(|one, other| later(one, other))
            .map(|fact| fact.uid.clone())
    }
}
