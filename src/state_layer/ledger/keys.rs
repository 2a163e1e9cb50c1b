//! Facts of one key: the newer replaces the older, unless scope or authority forbids or equals disagree.

use super::index::Facet;
use super::ordering::later;
use super::standing::Why;
use super::work::MAX_DISAGREEING;
use super::{Ledger, LedgerRules, Weight, weight};
use crate::domain::id::FactUid;
use crate::domain::time::Timestamp;
use crate::state_layer::fact::{Cause, Contest, Fact, FactScope};

/// The cue of a conflict that authority does not settle.
pub(super) const EQUAL_AUTHORITY: &str = "equal_authority";

/// The stem of a key whose last part tells siblings apart: `instruction_a`, `instruction_2`. None for other keys;
/// versions (`x_v2`) are no siblings.
pub(super) fn sibling_stem(key: &str) -> Option<&str> {
    let (stem, suffix) = key.rsplit_once(['_', '-', '.', ':', ' '])?;
    let letter = suffix.len() == 1 && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let number = suffix.len() <= 2 && suffix.bytes().all(|byte| byte.is_ascii_digit());
    (!stem.is_empty() && !suffix.is_empty() && (letter || number)).then_some(stem)
}

/// Whether two facts reach equally far: only then does one settle the other by itself.
pub(super) fn same_reach(one: &Fact, other: &Fact) -> bool {
    one.scope == other.scope && one.scope_id == other.scope_id
}

/// Whether a fact may replace another that it names: a narrow one never replaces a global one, nor one of another scope.
pub(super) fn may_replace(new: &Fact, old: &Fact) -> bool {
    new.scope == FactScope::Global || same_reach(new, old)
}

impl Ledger {
    /// Facts of a key that stand and reach as far as a fact does, older ones first; without the fact itself.
    pub(super) fn peers(&self, uid: &FactUid) -> Vec<FactUid> {
        let Some(fact) = self.facts.get(uid) else { return Vec::new() };
        let mut peers: Vec<&Fact> = self
            .index
            .of_text(Facet::Key, &fact.key)
            .filter(|peer| *peer != uid)
            .filter_map(|peer| self.facts.get(peer))
            .filter(|peer| peer.is_valid() && peer.key == fact.key && same_reach(fact, peer))
            .collect();
        peers.sort_by(|one, other| later(one, other));
        peers.into_iter().map(|peer| peer.uid.clone()).collect()
    }

    /// Settles a new fact with those of its key.
    pub(super) fn settle_key(&mut self, uid: &FactUid, rules: &LedgerRules) {
        let peers = self.peers(uid);
        let Some(fact) = self.facts.get(uid) else { return };
        if peers.is_empty() {
            return;
        }
        let (since, value) = (fact.at, fact.value.clone());
        if rules.time_sensitive_keys.contains(&fact.key) {
            for peer in peers {
                let reason = "a later value of a time-sensitive key".to_owned();
                self.supersede(&peer, uid, Why { cause: Cause::Temporal, reason, since });
            }
            return;
        }
        let own = weight(fact, &rules.order);
        let weighed: Vec<(FactUid, Weight, bool)> = peers
            .into_iter()
            .filter_map(|peer| {
                let fact = self.facts.get(&peer)?;
                Some((peer, weight(fact, &rules.order), fact.value == value))
            })
            .collect();
        let strongest = weighed.iter().filter(|(_, peer, _)| peer.rank > own.rank).max_by_key(|(_, peer, _)| peer.rank);
        if let Some((peer, theirs, _)) = strongest {
            self.overrule(uid, peer, &own, theirs, since);
            return;
        }
        let disputes = |(_, theirs, same_value): &&(FactUid, Weight, bool)| {
            theirs.rank == own.rank && theirs.of_others(&own) && !same_value
        };
        if weighed.iter().filter(disputes).count() > MAX_DISAGREEING {
            self.work.disagrees();
            return;
        }
        for (peer, theirs, same_value) in &weighed {
            if theirs.rank == own.rank && theirs.of_others(&own) && !same_value {
                self.dispute(uid, peer, &own, since);
            } else {
                let (cause, reason) = if own.rank > theirs.rank {
                    (Cause::Authority, outranks(&own, theirs))
                } else {
                    (Cause::SameKey, "a newer value of the same key".to_owned())
                };
                self.supersede(peer, uid, Why { cause, reason, since });
            }
        }
    }

    /// A fact is put out of force by one of higher authority.
    pub(super) fn overrule(&mut self, uid: &FactUid, by: &FactUid, own: &Weight, theirs: &Weight, since: Timestamp) {
        self.supersede(uid, by, Why { cause: Cause::Authority, reason: outranks(theirs, own), since });
    }

    /// Two equals disagree: both stand, and both are flagged.
    pub(super) fn dispute(&mut self, uid: &FactUid, peer: &FactUid, own: &Weight, since: Timestamp) {
        let contest = |by: &FactUid| Contest {
            by: by.clone(),
            cue: EQUAL_AUTHORITY.to_owned(),
            confidence: 50,
            reason: format!("{} and another of the same rank disagree; who outranks both decides", own.words()),
            since,
        };
        self.contest(peer, contest(uid));
        self.contest(uid, contest(peer));
    }
}

pub(super) fn outranks(high: &Weight, low: &Weight) -> String {
    format!("{} outranks {}", high.words(), low.words())
}
