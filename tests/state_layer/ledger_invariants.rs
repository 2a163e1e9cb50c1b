//! What must hold of the facts of a space, whatever was said.

use std::collections::{BTreeMap, BTreeSet};

use cscp::domain::id::FactUid;
use cscp::state_layer::fact::{Fact, Standing};

/// What must hold of any set of facts.
pub(crate) fn check(facts: &BTreeMap<FactUid, Fact>) {
    let stands = |uid: &FactUid| facts.get(uid).is_some_and(Fact::is_valid);
    let mut by_key: BTreeMap<_, Vec<&Fact>> = BTreeMap::new();
    for fact in facts.values() {
        if fact.is_valid() {
            by_key.entry((&fact.key, fact.scope, &fact.scope_id)).or_default().push(fact);
            for contest in &fact.contested {
                assert!(stands(&contest.by), "what contests a fact stands");
            }
        } else {
            assert!(fact.contested.is_empty() && fact.review.is_none(), "what fell is neither contested nor reviewed");
        }
        if let Standing::Superseded { by: Some(by), .. } = &fact.standing {
            assert!(facts.contains_key(by), "whatever replaced a fact is there");
        }
        for former in &fact.former {
            assert_ne!(former.uid, fact.uid, "no fact is its own past");
            assert!(!facts[&former.uid].value.is_null(), "what was deleted is carried along nowhere");
        }
        // Chains end.
        let mut seen = BTreeSet::new();
        let mut next = Some(&fact.uid);
        while let Some(uid) = next {
            assert!(seen.insert(uid), "chains have no circles");
            next = match &facts[uid].standing {
                Standing::Superseded { by, .. } => by.as_ref(),
                Standing::Valid => None,
            };
        }
    }
    for ((key, ..), peers) in by_key {
        let settled = peers.iter().filter(|fact| fact.contested.is_empty()).count();
        assert!(settled <= 1, "of several facts of {key} that stand, all but the newest are contested");
    }
    check_reviews(facts);
}

/// A fact needs review if and only if something under it has fallen.
fn check_reviews(facts: &BTreeMap<FactUid, Fact>) {
    let bases = |fact: &Fact| -> Vec<FactUid> { fact.depends_on.iter().filter_map(|base| base.uid.clone()).collect() };
    for fact in facts.values().filter(|fact| fact.is_valid()) {
        let mut fallen = BTreeSet::new();
        let mut seen = BTreeSet::from([fact.uid.clone()]);
        let mut open = bases(fact);
        while let Some(base) = open.pop() {
            if !seen.insert(base.clone()) {
                continue;
            }
            if facts[&base].is_valid() {
                open.extend(bases(&facts[&base]));
            } else {
                fallen.insert(base);
            }
        }
        let review: BTreeSet<FactUid> = fact.review.iter().flat_map(|review| review.bases.iter().cloned()).collect();
        assert_eq!(review, fallen, "{} needs review if and only if a base is down", fact.key);
    }
}
