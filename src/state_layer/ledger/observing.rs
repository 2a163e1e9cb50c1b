//! One reading: a fact for each claim that bears on a fact. Certain ones replace it, probable ones contest it.

use serde_json::Value;

use super::standing::Why;
use super::{Ledger, LedgerRules};
use crate::domain::id::FactUid;
use crate::state_layer::fact::{Cause, Contest, Fact, FactScope, Source, Standing};
use crate::state_layer::language::folding::plain_text;
use crate::state_layer::reading::{Bearing, Reading, bearings};

/// The source kind of facts made from utterances.
pub(super) const OBSERVATION: &str = "observation";
/// The value of a fact that says that its key was cancelled.
pub(super) const CANCELLED: &str = "cancelled";

impl Ledger {
    /// Lets a reading bear on the facts that stand. What is only imagined is not what people talk about.
    pub(super) fn observe(&mut self, reading: &Reading, rules: &LedgerRules) {
        if reading.claims.is_empty() {
            return;
        }
        let facts: Vec<&Fact> =
            self.facts.values().filter(|fact| fact.is_valid() && fact.scope != FactScope::Hypothetical).collect();
        for bearing in bearings(reading, &facts, &rules.order) {
            self.bear(reading, bearing);
        }
    }

    fn bear(&mut self, reading: &Reading, bearing: Bearing) {
        self.index.by_names(&self.facts);
        let uid = FactUid::of_reading(&reading.reading_id, bearing.claim);
        let Some(target) = self.facts.get(&bearing.target).filter(|target| target.is_valid()) else { return };
        if bearing.new_value.is_none() && has_ended(target) {
            return;
        }
        // Folded in again it is made anew; here it can only be there if the reading came twice.
        if self.facts.contains_key(&uid) {
            return;
        }
        let made = made(uid.clone(), target, reading, &bearing);
        let names = [Some(made.key.clone()), None];
        let since = reading.at;
        self.insert(made);
        let reason = bearing.reason.clone();
        let contest = Contest { by: uid.clone(), cue: bearing.cue, confidence: bearing.confidence, reason, since };
        if bearing.certain {
            let why = Why { cause: Cause::Observation, reason: bearing.reason, since };
            self.supersede(&bearing.target, &uid, why);
        } else {
            self.contest(&bearing.target, contest.clone());
        }
        for peer in self.peers(&uid) {
            self.contest(&peer, contest.clone());
        }
        self.answer_waiting(&uid, &names);
    }
}

/// Beginnings of words that say that something has ended, in plain letters, in three languages.
const ENDED: &[&str] = &[
    "cancel",
    "revoked",
    "rescinded",
    "terminated",
    "withdrawn",
    "discontinued",
    "invalidated",
    "revogad",
    "encerrad",
    "retirad",
    "anulad",
    "revocad",
    "terminad",
    "descontinuad",
    "invalidad",
];

/// Whether a fact says already that what it is about has ended: ending it again would lose what it says of that.
fn has_ended(fact: &Fact) -> bool {
    let text = plain_text(&fact.text());
    text.split(|sign: char| !sign.is_alphanumeric()).any(|word| ENDED.iter().any(|ended| word.starts_with(ended)))
}

fn made(uid: FactUid, target: &Fact, reading: &Reading, bearing: &Bearing) -> Fact {
    let value = bearing.new_value.clone().unwrap_or_else(|| CANCELLED.to_owned());
    Fact {
        uid,
        label: None,
        key: target.key.clone(),
        value: Value::String(value),
        source: Source { kind: OBSERVATION.to_owned(), authority: reading.authority.clone(), ..Source::default() },
        writer_id: None,
        at: reading.at,
        recorded_at: reading.recorded_at,
        // What is said of a draft is what was decided about it.
        scope: if target.scope == FactScope::Draft { FactScope::Global } else { target.scope },
        scope_id: target.scope_id.clone().filter(|_| target.scope != FactScope::Draft),
        memory_type: target.memory_type,
        abstraction: target.abstraction,
        constraint: target.constraint,
        restricted_to: target.restricted_to.clone(),
        supersedes: None,
        reason: None,
        superseded: Vec::new(),
        depends_on: Vec::new(),
        reading_id: Some(reading.reading_id.clone()),
        standing: Standing::Valid,
        contested: Vec::new(),
        review: None,
        former: Vec::new(),
        history: Vec::new(),
    }
}
