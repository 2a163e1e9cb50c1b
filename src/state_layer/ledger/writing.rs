//! One written fact: what it names, what shares its key, what it rewords, what it was derived from.

use super::index::{Facet, Hashed};
use super::keys::{may_replace, same_reach};
use super::ordering::later;
use super::standing::Why;
use super::{Ledger, LedgerRules, Weight, weight};
use crate::domain::id::FactUid;
use crate::state_layer::fact::{Cause, Contest, Fact, FactScope, Pointer};
use crate::state_layer::language::folding::plain_text;
use crate::state_layer::reading::Bearing;
use crate::state_layer::reading::restating::{Rewording, lineage_words};

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
        self.index.by_words(&self.facts);
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
        let candidates = self.kindred(uid);
        let Some(fact) = self.facts.get(uid).filter(|_| !candidates.is_empty()) else { return };
        let (since, own) = (fact.at, weight(fact, &rules.order));
        let rewording = Rewording::of(fact);
        let found: Vec<(Bearing, Weight)> = candidates
            .iter()
            .filter_map(|old| self.facts.get(old))
            .filter_map(|old| Some((rewording.restates(old)?, weight(old, &rules.order))))
            .collect();
        for (bearing, theirs) in found {
            if own.rank < theirs.rank {
                self.overrule(uid, &bearing.target, &own, &theirs, since);
                return;
            }
            if bearing.certain {
                let why = Why { cause: Cause::SameKey, reason: bearing.reason, since };
                self.supersede(&bearing.target, uid, why);
            } else {
                let Bearing { cue, confidence, reason, .. } = bearing;
                self.contest(&bearing.target, Contest { by: uid.clone(), cue, confidence, reason, since });
            }
        }
    }

    /// Facts whose keys have so much in common with a new one's that it might say them anew; older ones first.
    fn kindred(&self, uid: &FactUid) -> Vec<FactUid> {
        let Some(fact) = self.facts.get(uid) else { return Vec::new() };
        let mut found: Vec<&Fact> = Vec::new();
        each_kinship(&fact.key, |hashed| {
            let filed: Vec<&FactUid> = self.index.of_words(hashed).take(MAX_KINDRED + 1).collect();
            // A word that so many keys have tells none of them apart.
            if filed.len() <= MAX_KINDRED {
                found.extend(filed.into_iter().filter_map(|uid| self.facts.get(uid)));
            }
        });
        found.retain(|old| old.is_valid() && old.key != fact.key && same_reach(fact, old));
        found.sort_by(|one, other| later(one, other));
        found.dedup_by(|one, other| one.uid == other.uid);
        found.into_iter().map(|old| old.uid.clone()).collect()
    }
}

/// Most facts of one word of their keys that are compared.
const MAX_KINDRED: usize = 16;
/// Most words of a key by which it is found.
const MAX_WORDS: usize = 4;

/// What a key has in common with others of its lineage and its slot: all its words but those for newer and older, and
/// each of them. The beginnings of words stand for their stems.
pub(super) fn each_kinship(key: &str, mut file: impl FnMut(Hashed)) {
    let plain = plain_text(key);
    let words = lineage_words(&plain);
    let beginning = |word: &'_ str| {
        let digits = word.bytes().any(|byte| byte.is_ascii_digit());
        word.char_indices().nth(4).filter(|_| !digits).map_or(word.len(), |(end, _)| end)
    };
    let mut whole = Hashed::new(Facet::Lineage);
    for word in &words {
        whole = whole.text(word.get(..beginning(word)).unwrap_or(word)).text(" ");
    }
    file(whole);
    let telling = words.iter().filter(|word| word.len() > 2 && !word.bytes().all(|byte| byte.is_ascii_digit()));
    for word in telling.take(MAX_WORDS) {
        file(Hashed::new(Facet::Word).text(word.get(..beginning(word)).unwrap_or(word)));
    }
}
