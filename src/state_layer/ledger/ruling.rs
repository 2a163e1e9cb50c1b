//! Rulings: restored, deleted, a scope's end.

use serde_json::Value;

use super::Ledger;
use super::index::Facet;
use super::standing::Why;
use crate::domain::id::FactUid;
use crate::domain::time::Timestamp;
use crate::state_layer::fact::{Cause, Fact, Standing};
use crate::state_layer::statement::{Ruling, Verdict};

impl Ledger {
    /// Does what was ruled.
    pub(super) fn rule(&mut self, ruling: &Ruling) {
        match &ruling.verdict {
            Verdict::Restored { uid } => self.restore(uid, &ruling.reason, ruling.at),
            Verdict::Deleted { uid } => self.delete(uid, &ruling.reason, ruling.at),
            Verdict::ScopeEnded { scope_id } => {
                let mut ended: Vec<FactUid> = self
                    .index
                    .of_text(Facet::Scope, scope_id)
                    .filter(|uid| self.facts.get(*uid).is_some_and(|fact| fact.scope_id.as_deref() == Some(scope_id)))
                    .cloned()
                    .collect();
                ended.sort_unstable();
                for uid in ended {
                    let reason = ruling.reason.clone();
                    self.end(&uid, None, Why { cause: Cause::ScopeEnded, reason, since: ruling.at });
                }
            }
        }
    }

    /// Puts a fact back into force: what replaced or contested it, and what has its key, steps back.
    fn restore(&mut self, uid: &FactUid, reason: &str, since: Timestamp) {
        let Some(fact) = self.facts.get(uid).filter(|fact| !fact.is_deleted()) else { return };
        let mut opposed: Vec<FactUid> = fact.contested.iter().map(|contest| contest.by.clone()).collect();
        let mut replacer = match &fact.standing {
            Standing::Superseded { by, .. } => by.clone(),
            Standing::Valid => None,
        };
        if let Some(direct) = replacer.clone() {
            self.amend(&direct, |fact| fact.superseded.retain(|replaced| replaced != uid));
        }
        let mut steps = 0;
        while let Some(next) = replacer.take().filter(|_| steps <= self.facts.len()) {
            steps += 1;
            match self.facts.get(&next).map(|fact| &fact.standing) {
                Some(Standing::Valid) => opposed.push(next),
                Some(Standing::Superseded { by, .. }) => replacer = by.clone().filter(|by| by != uid),
                None => {}
            }
        }
        self.edit(uid, |fact| {
            fact.standing = Standing::Valid;
            fact.contested.clear();
        });
        self.shortcuts.clear();
        opposed.extend(self.peers(uid));
        let why = Why { cause: Cause::Restored, reason: reason.to_owned(), since };
        for opposed in opposed {
            self.supersede(&opposed, uid, why.clone());
        }
        self.name_bases(uid);
        self.review(uid, since);
        self.review_dependents(uid, since);
    }

    /// Forgets a fact's value, here and wherever it is carried along. Its place in the chain stays.
    fn delete(&mut self, uid: &FactUid, reason: &str, since: Timestamp) {
        let Some(fact) = self.facts.get(uid) else { return };
        let by = match &fact.standing {
            Standing::Valid => None,
            Standing::Superseded { by, .. } => by.clone(),
        };
        self.end(uid, None, Why { cause: Cause::Deleted, reason: reason.to_owned(), since });
        self.edit(uid, |fact| {
            fact.standing = Standing::Superseded { by, cause: Cause::Deleted, reason: reason.to_owned(), since };
            fact.value = Value::Null;
            fact.former.clear();
        });
        let carriers: Vec<FactUid> =
            self.facts.values().filter(|fact| carries(fact, uid)).map(|fact| fact.uid.clone()).collect();
        for carrier in carriers {
            self.amend(&carrier, |fact| fact.former.retain(|former| former.uid != *uid));
        }
    }
}

fn carries(fact: &Fact, uid: &FactUid) -> bool {
    fact.former.iter().any(|former| former.uid == *uid)
}
