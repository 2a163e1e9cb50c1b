//! Writing facts and taking observations in.

use std::collections::BTreeMap;

use super::Deciding;
use super::checking::{self, Called};
use super::classifying::classify;
use super::folding::{self, Changed};
use super::foreseeing::Foresight;
use super::room::{self, Room, full};
use crate::domain::id::{FactUid, PrincipalId, SpaceId};
use crate::domain::time::Timestamp;
use crate::state_layer::event::SpaceEvent;
use crate::state_layer::fact::{Dependency, Fact, Standing};
use crate::state_layer::ledger::{GivenUp, MAX_WORK};
use crate::state_layer::operation::{Effects, NamedDependency, NewFact, SpaceAnswer, Writer};
use crate::state_layer::reading::Reading;
use crate::state_layer::refusal::SpaceRefusal;
use crate::state_layer::space::{Partition, SpaceRecord};
use crate::state_layer::statement::Statement;

impl Deciding<'_, '_> {
    /// The partition that facts are written to.
    fn partition(&self) -> Partition {
        self.space.record.as_ref().map_or(Partition::User { owner_id: None }, |record| record.partition.clone())
    }

    /// Writes facts, all or none.
    pub(super) fn write(&mut self, facts: &[NewFact], writer: &Writer) -> Result<SpaceAnswer, SpaceRefusal> {
        room::write(facts)?;
        let partition = self.partition();
        for (index, fact) in facts.iter().enumerate() {
            checking::shape(index, fact, &partition)?;
            checking::maturity(index, fact, self.rules.writer.maturity)?;
        }
        let wider = self.rules.wider.iter();
        let elsewhere: BTreeMap<&SpaceId, (&SpaceRecord, Called<'_>)> =
            wider.map(|(record, facts)| (&record.space_id, (record, Called::of(facts.iter())))).collect();
        let mut batch = Vec::with_capacity(facts.len());
        let mut last = None;
        for (index, fact) in facts.iter().enumerate() {
            let at = fact.at.unwrap_or_else(|| self.next_time(last));
            last = last.max(fact.at.is_none().then_some(at));
            let depends_on = self.dependencies(index, &fact.depends_on, &partition, &elsewhere)?;
            let fact_at = self.new_fact(fact, at, depends_on, writer.principal_id.as_ref(), &partition);
            batch.push((fact_at, fact.require_targets));
        }
        let pointing = batch.iter().any(|(fact, _)| fact.supersedes.is_some());
        let standing = self.space.facts.values().filter(|known| known.is_valid() && pointing);
        let standing = checking::Called::of(standing);
        let pointers = checking::Pointers::of(self.space, &batch);
        for (index, (fact, _)) in batch.iter().enumerate() {
            let targets: Vec<&Fact> =
                fact.supersedes.iter().flat_map(|pointer| standing.answering(&pointer.0)).collect();
            checking::authority(index, fact, &targets, writer, self.rules)?;
            pointers.check(index)?;
        }
        checking::circles(self.space, &batch)?;
        let uids: Vec<FactUid> = batch.iter().map(|(fact, _)| fact.uid.clone()).collect();
        let statements = batch.into_iter().map(|(fact, _)| Statement::Fact(fact)).collect();
        let effects = self.fold(Vec::new(), statements, &uids)?;
        Ok(SpaceAnswer::Facts { facts: self.facts(&uids), effects })
    }

    /// Takes in what an utterance was read as. What claims nothing is not kept.
    pub(super) fn observe(&mut self, reading: &Reading) -> Result<SpaceAnswer, SpaceRefusal> {
        let mut reading = reading.clone();
        if reading.claims.is_empty() {
            return Ok(SpaceAnswer::Observed { reading, effects: Effects::default(), facts: Vec::new() });
        }
        if reading.at == reading.recorded_at {
            // Nobody gave it a time of its own: it comes after what is there.
            let newest = self.space.record.as_ref().and_then(|record| record.newest);
            if newest.is_some_and(|newest| newest >= reading.at) {
                reading.at = self.next_time(None);
            }
        }
        let read = SpaceEvent::ObservationRead { space_id: self.space_id.clone(), reading: reading.clone() };
        let effects = self.fold(vec![read], vec![Statement::Reading(reading.clone())], &[])?;
        let facts = self.facts(&effects.created);
        Ok(SpaceAnswer::Observed { reading, effects, facts })
    }

    /// Folds statements in: their own events first, then those of the facts they change.
    pub(super) fn fold(
        &mut self,
        stated: Vec<SpaceEvent>,
        statements: Vec<Statement>,
        own: &[FactUid],
    ) -> Result<Effects, SpaceRefusal> {
        let before: Vec<(Room, i64)> = Room::ALL.into_iter().map(|room| (room, room.taken(self.space))).collect();
        let changed = self.changes(statements)?.map_err(|given_up| match given_up {
            GivenUp::TooMuch => SpaceRefusal::WriteTooLarge { what: "consequences".to_owned(), limit: MAX_WORK },
            GivenUp::Disagreement => full("facts of one key that disagree"),
        })?;
        for (room, taken) in before {
            let more = folding::more(&changed, |fact| room.of(fact));
            if more > 0 && taken.saturating_add(more) > room.most() {
                return Err(full(room.what()));
            }
        }
        if own.len() > 1 {
            room::changes(changed.iter().map(|change| &change.after))?;
        }
        let mut effects = folding::effects(&changed, own);
        let events = folding::events(self.space_id, &changed, own, self.now);
        self.ensure_space();
        for event in stated.into_iter().chain(events) {
            self.happen(event);
        }
        effects.unresolved = folding::unresolved(self.space, own);
        Ok(effects)
    }

    /// What statements change, as a trial has foreseen it or found out now. A trial ends here.
    fn changes(&mut self, statements: Vec<Statement>) -> Result<Result<Vec<Changed>, GivenUp>, SpaceRefusal> {
        match std::mem::replace(&mut self.foresight, Foresight::None) {
            Foresight::None => {}
            Foresight::Trial(_) => {
                let changed = folding::changes(self.space, statements.clone(), &self.rules.ledger);
                self.foresight = Foresight::Trial(Some((statements, changed)));
                return Err(full("trials"));
            }
            Foresight::Known(foreseen) => {
                if let Some(changed) = foreseen.of(&statements, self.now) {
                    self.came_true = true;
                    return Ok(changed);
                }
            }
        }
        Ok(folding::changes(self.space, statements, &self.rules.ledger))
    }

    /// Facts as they stand now, in the order of their uids given.
    pub(super) fn facts(&self, uids: &[FactUid]) -> Vec<Fact> {
        uids.iter().filter_map(|uid| self.space.facts.get(uid).cloned()).collect()
    }

    /// A new fact as it is written: standing, nothing derived yet.
    pub(super) fn new_fact(
        &mut self,
        fact: &NewFact,
        at: Timestamp,
        depends_on: Vec<Dependency>,
        writer_id: Option<&PrincipalId>,
        partition: &Partition,
    ) -> Fact {
        let (uid, class) = self.foresight.next_fact(fact).unzip();
        let mut written = Fact {
            uid: uid.unwrap_or_else(|| self.ids.fact()),
            label: fact.label.clone(),
            key: fact.key.clone(),
            value: fact.value.clone(),
            source: fact.source.clone(),
            writer_id: writer_id.cloned(),
            at,
            recorded_at: self.now,
            scope: fact.scope.unwrap_or_default(),
            scope_id: None,
            memory_type: crate::state_layer::fact::MemoryType::User,
            abstraction: fact.abstraction,
            constraint: None,
            restricted_to: Vec::new(),
            supersedes: fact.supersedes.clone(),
            reason: fact.reason.clone(),
            superseded: Vec::new(),
            depends_on,
            reading_id: None,
            standing: Standing::Valid,
            contested: Vec::new(),
            review: None,
            former: Vec::new(),
            history: Vec::new(),
        };
        let class = class.unwrap_or_else(|| classify(fact, &written.text(), partition, &self.rules.ledger.order));
        written.scope = class.scope;
        written.scope_id = class.scope_id;
        written.memory_type = class.memory_type;
        written.constraint = class.constraint;
        written.restricted_to = class.restricted_to;
        written
    }

    /// Dependencies as they are kept: those in other spaces are resolved here, those in this one by the fold.
    fn dependencies(
        &self,
        index: usize,
        named: &[NamedDependency],
        partition: &Partition,
        elsewhere: &BTreeMap<&SpaceId, (&SpaceRecord, Called<'_>)>,
    ) -> Result<Vec<Dependency>, SpaceRefusal> {
        let mut kept = Vec::with_capacity(named.len());
        for dependency in named {
            let space = dependency.space.as_ref().filter(|space| *space != self.space_id);
            let mut uid = None;
            if let Some(space) = space {
                let wider = elsewhere.get(space);
                if wider.is_some_and(|(record, _)| record.partition.width() < partition.width()) {
                    return Err(SpaceRefusal::NarrowerDependency { index, space: space.clone() });
                }
                // Of facts that are equal in all of this, the last uid.
                let order = |fact: &&Fact| (fact.is_valid(), fact.at, fact.recorded_at, fact.uid.clone());
                let answering = wider.into_iter().flat_map(|(_, facts)| facts.answering(&dependency.pointer.0));
                uid = answering.max_by_key(order).map(|fact| fact.uid.clone());
            }
            let (pointer, space) = (dependency.pointer.clone(), space.cloned());
            kept.push(Dependency { pointer, space, uid, inferred: false });
        }
        Ok(kept)
    }
}
