//! One written fact: what it names, what shares its key, what it rewords, what it was derived from.

use super::keys::may_replace;
use super::standing::Why;
use super::{Ledger, LedgerRules, weight};
use crate::domain::id::FactUid;
use crate::state_layer::fact::{Cause, Contest, Fact, FactScope, Pointer};

impl Ledger {
    /// Takes a fact in and lets it do what it does. A uid that is there already is left as it is.
    pub(super) fn write(&mut self, mut fact: Fact, rules: &LedgerRules) {
        if self.facts.contains_key(&fact.uid) {
            return;
        }
        let uid = fact.uid.clone();
        let names = [Some(fact.key.clone()), fact.label.as_ref().map(|label| label.as_str().to_owned())];
        // Only of a deleted fact, whose value no longer tells what it replaced.
        let replaced = std::mem::take(&mut fact.superseded);
        let pointer = fact.supersedes.clone();
        let since = fact.at;
        self.insert(fact);
        for old in replaced {
            self.supersede(
                &old,
                &uid,
                Why { cause: Cause::Pointer, reason: "a newer fact named it".to_owned(), since },
            );
        }
        self.name_bases(&uid);
        if let Some(pointer) = pointer {
            self.follow(&uid, &pointer, rules);
        }
        for settle in [Self::settle_key, Self::settle_instructions, Self::settle_restated] {
            if self.stands(&uid) {
                settle(self, &uid, rules);
            }
        }
        if self.stands(&uid) {
            self.infer_bases(&uid);
            self.answer_waiting(&uid, &names);
            self.review(&uid, since);
        }
    }

    /// Replaces what a fact names. A source that says it has less authority than the one it names does not.
    fn follow(&mut self, uid: &FactUid, pointer: &Pointer, rules: &LedgerRules) {
        let Some(target) = self.target(pointer, uid) else { return };
        let (Some(fact), Some(old)) = (self.facts.get(uid), self.facts.get(&target)) else { return };
        if !may_replace(fact, old) {
            return;
        }
        let since = fact.at;
        let (own, theirs) = (weight(fact, &rules.order), weight(old, &rules.order));
        if own.declared && own.rank < theirs.rank && !rules.time_sensitive_keys.contains(&old.key) {
            if fact.scope == FactScope::Global && old.scope != FactScope::Global {
                return;
            }
            self.overrule(uid, &target, &own, &theirs, since);
            return;
        }
        let reason = fact.reason.clone().unwrap_or_else(|| "a newer fact named it".to_owned());
        self.mark_invalidation(uid, &target);
        self.supersede(&target, uid, Why { cause: Cause::Pointer, reason, since });
    }

    /// Replaces what a fact says anew under another key; contests it where that is only probable.
    fn settle_restated(&mut self, uid: &FactUid, rules: &LedgerRules) {
        for candidate in self.restated_candidates(uid) {
            let (Some(fact), Some(old)) = (self.facts.get(uid), self.facts.get(&candidate)) else { return };
            if !old.is_valid() || !super::keys::same_reach(fact, old) {
                continue;
            }
            let Some(bearing) = restates(old, fact) else { continue };
            let since = fact.at;
            let (own, theirs) = (weight(fact, &rules.order), weight(old, &rules.order));
            if own.rank < theirs.rank {
                self.overrule(uid, &candidate, &own, &theirs, since);
                return;
            }
            if bearing.certain {
                self.supersede(&candidate, uid, Why { cause: Cause::SameKey, reason: bearing.reason, since });
            } else {
                let (cue, reason) = (bearing.cue, bearing.reason);
                let contest = Contest { by: uid.clone(), cue, confidence: bearing.confidence, reason, since };
                self.contest(&candidate, contest);
            }
        }
    }

    /// Facts that a new one might say anew.
    fn restated_candidates(&self, _uid: &FactUid) -> Vec<FactUid> {
        Vec::new()
    }
}

fn restates(_old: &Fact, _new: &Fact) -> Option<crate::state_layer::reading::Bearing> {
    None
}
