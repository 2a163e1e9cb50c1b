//! Rulings: a person puts a fact back or deletes it; a task ends.

use serde_json::Value;

use super::Deciding;
use crate::domain::id::FactUid;
use crate::domain::time::Timestamp;
use crate::state_layer::event::SpaceEvent;
use crate::state_layer::fact::{Abstraction, Fact, Source};
use crate::state_layer::operation::{NewFact, SpaceAnswer, Writer};
use crate::state_layer::refusal::SpaceRefusal;
use crate::state_layer::space::{Partition, WorkingItem};
use crate::state_layer::statement::{Ruling, Statement, Verdict};

/// The source kind of facts that were working items.
pub(super) const WORKING_SET: &str = "working_set";

impl Deciding<'_, '_> {
    fn known(&self, uid: &FactUid) -> Result<&Fact, SpaceRefusal> {
        let fact = self.space.facts.get(uid).ok_or(SpaceRefusal::FactNotFound)?;
        if fact.is_deleted() { Err(SpaceRefusal::FactDeleted) } else { Ok(fact) }
    }

    /// Puts a fact back into force.
    pub(super) fn restore(&mut self, uid: &FactUid, reason: &str) -> Result<SpaceAnswer, SpaceRefusal> {
        let fact = self.known(uid)?;
        if fact.is_valid() && fact.contested.is_empty() {
            return Err(SpaceRefusal::NothingToRestore);
        }
        self.ruled(Verdict::Restored { uid: uid.clone() }, reason, uid)
    }

    /// Deletes a fact: its value goes, its place in the chain stays.
    pub(super) fn delete(&mut self, uid: &FactUid, reason: &str) -> Result<SpaceAnswer, SpaceRefusal> {
        self.known(uid)?;
        self.ruled(Verdict::Deleted { uid: uid.clone() }, reason, uid)
    }

    fn ruled(&mut self, verdict: Verdict, reason: &str, uid: &FactUid) -> Result<SpaceAnswer, SpaceRefusal> {
        let at = self.next_time(self.last_change(uid));
        let ruling = self.ruling(verdict, reason, at);
        let ruled = SpaceEvent::Ruled { space_id: self.space_id.clone(), ruling: ruling.clone() };
        let effects = self.fold(vec![ruled], vec![Statement::Ruling(ruling)], std::slice::from_ref(uid))?;
        Ok(SpaceAnswer::Facts { facts: self.facts(std::slice::from_ref(uid)), effects })
    }

    /// When a fact was stated or last changed, be that ahead of the present: a ruling about it comes after that.
    fn last_change(&self, uid: &FactUid) -> Option<Timestamp> {
        let fact = self.space.facts.get(uid)?;
        fact.history.iter().map(|change| change.at).chain([fact.at]).max()
    }

    fn ruling(&mut self, verdict: Verdict, reason: &str, at: Timestamp) -> Ruling {
        Ruling { ruling_id: self.ids.ruling(), verdict, reason: reason.to_owned(), at, recorded_at: self.now }
    }

    /// Closes a task: what is reusable becomes a fact, the rest goes, and what was stated for the task alone ends.
    pub(super) fn close(
        &mut self,
        task_id: &str,
        promote: &[String],
        writer: &Writer,
    ) -> Result<SpaceAnswer, SpaceRefusal> {
        let Some(record) = &self.space.record else { return Err(SpaceRefusal::SpaceNotFound) };
        let partition = record.partition.clone();
        let items: Vec<WorkingItem> =
            self.space.items.values().filter(|item| item.task_id.as_deref() == Some(task_id)).cloned().collect();
        let alive = |item: &WorkingItem| item.expires_at.is_none_or(|end| end > self.now);
        let (kept, dropped): (Vec<WorkingItem>, Vec<WorkingItem>) = items.into_iter().partition(|item| {
            alive(item) && !item.content.is_null() && (item.promote_as.is_some() || promote.contains(&item.key))
        });
        let mut at = None;
        let mut statements = Vec::new();
        let mut own = Vec::new();
        for item in &kept {
            let next = self.next_time(at);
            at = Some(next);
            let fact =
                self.new_fact(&promoted(item, &partition), next, Vec::new(), writer.principal_id.as_ref(), &partition);
            own.push(fact.uid.clone());
            statements.push(Statement::Fact(fact));
        }
        let next = self.next_time(at);
        let verdict = Verdict::ScopeEnded { scope_id: task_id.to_owned() };
        let ruling = self.ruling(verdict, "its task was closed", next);
        let ruled = SpaceEvent::Ruled { space_id: self.space_id.clone(), ruling: ruling.clone() };
        statements.push(Statement::Ruling(ruling));
        let mut effects = self.fold(vec![ruled], statements, &own)?;
        effects.created.extend(own);
        for (item, reason) in
            kept.iter().map(|item| (item, "promoted")).chain(dropped.iter().map(|item| (item, "task_closed")))
        {
            let (space_id, key) = (self.space_id.clone(), item.key.clone());
            self.happen(SpaceEvent::ItemRemoved { space_id, key, reason: reason.to_owned() });
        }
        let keys = |items: Vec<WorkingItem>| items.into_iter().map(|item| item.key).collect();
        Ok(SpaceAnswer::Closed { promoted: keys(kept), dropped: keys(dropped), effects })
    }
}

fn promoted(item: &WorkingItem, partition: &Partition) -> NewFact {
    NewFact {
        label: None,
        key: item.promote_as.clone().unwrap_or_else(|| item.key.clone()),
        value: match &item.content {
            Value::String(text) => Value::String(text.clone()),
            other => other.clone(),
        },
        source: Source { kind: WORKING_SET.to_owned(), ..Source::default() },
        at: None,
        scope: None,
        scope_id: None,
        memory_type: None,
        abstraction: matches!(partition, Partition::Capability { .. }).then_some(Abstraction::Event),
        is_constraint: None,
        constraint_type: None,
        restricted_to: Vec::new(),
        supersedes: None,
        reason: None,
        depends_on: Vec::new(),
        require_targets: false,
    }
}
