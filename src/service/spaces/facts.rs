//! Reads of a space: facts, signals, the working set, the space's own record.

use std::collections::{BTreeMap, BTreeSet};

use super::gate::{AtGate, Pass, asked};
use super::{Seen, spoken_for, want};
use crate::domain::id::{FactUid, SpaceId};
use crate::domain::query::{Page, Position};
use crate::domain::scope::Scope;
use crate::service::recording::{Looked, Unrecorded};
use crate::service::{Caller, Service, ServiceError};
use crate::state_layer::fact::{Fact, Standing};
use crate::state_layer::query::FactQuery;
use crate::state_layer::space::{Access, Signal, Space, SpaceRecord, WorkingItem};
use crate::storage::SpaceWant;

/// A fact with the facts that were derived from it.
#[derive(Debug, Clone, PartialEq)]
pub struct FactView {
    pub fact: Seen<Fact>,
    /// Valid facts that depend on it.
    pub derived_facts: Vec<FactUid>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FactPage {
    /// The facts that may be shown.
    pub facts: Vec<FactView>,
    /// Where the next page begins.
    pub next: Option<Position>,
    /// How many facts of this page were withheld.
    pub withheld: usize,
}

/// The longest chain that is shown.
const LONGEST_CHAIN: usize = 200;

#[derive(Debug, Clone, PartialEq)]
pub struct FactChain {
    /// Its facts, oldest first.
    pub facts: Vec<FactView>,
    /// Whether it has older ones.
    pub more: bool,
    /// How many were withheld.
    pub withheld: usize,
}

/// Other records of a space.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<T> {
    /// The records that may be shown.
    pub items: Vec<Seen<T>>,
    /// How many were withheld.
    pub withheld: usize,
}

impl Service {
    /// What this caller may see of a space. A permission service may be asked about `facts`.
    pub(super) async fn pass(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        space: Option<&SpaceRecord>,
        facts: &[&Fact],
    ) -> Result<Pass, ServiceError> {
        let gate = self.gate(caller, space).await?;
        let at = AtGate { space_id, record: space, facts: asked(facts.iter().copied()) };
        gate.passes(&self.permissions, vec![at]).await.pop().ok_or(ServiceError::Internal)
    }

    /// The same, refused if nothing of the space may be shown.
    async fn entered(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        space: &Space,
        facts: &[&Fact],
    ) -> Result<Pass, ServiceError> {
        let pass = self.pass(caller, space_id, space.record.as_ref(), facts).await?;
        if pass.is_barred() { Err(ServiceError::NotPermitted) } else { Ok(pass) }
    }

    async fn one_space(&self, caller: &Caller, space_id: &SpaceId, named: Vec<String>) -> Result<Space, ServiceError> {
        caller.require(Scope::FactRead)?;
        let want = SpaceWant { named, ..want(caller, space_id, false) };
        let mut found = self.load_spaces(&[want]).await?;
        found.remove(space_id).ok_or(ServiceError::NotFound("fact space"))
    }

    /// A space's record without its facts; none if the space does not exist.
    pub(super) async fn bare_space(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
    ) -> Result<Option<SpaceRecord>, ServiceError> {
        let want = SpaceWant { live: false, named: vec![String::new()], ..want(caller, space_id, false) };
        Ok(self.load_spaces(&[want]).await?.remove(space_id).and_then(|space| space.record))
    }

    /// A space with its facts, if a permission service must be asked about them.
    pub(super) async fn whole_enough(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        record: SpaceRecord,
    ) -> Result<Space, ServiceError> {
        match record.access {
            Access::Callback { .. } => {
                let found = self.load_spaces(&[want(caller, space_id, false)]).await?.remove(space_id);
                found.ok_or(ServiceError::NotFound("fact space"))
            }
            Access::Open | Access::List { .. } => Ok(Space { record: Some(record), ..Space::default() }),
        }
    }

    pub async fn fact_space(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
    ) -> Result<Unrecorded<Seen<SpaceRecord>>, ServiceError> {
        let asked = looked(caller, "fact_spaces.get", space_id, Vec::new()).asked();
        let found = async {
            caller.require(Scope::FactRead)?;
            let record = self.bare_space(caller, space_id).await?.ok_or(ServiceError::NotFound("fact space"))?;
            let space = self.whole_enough(caller, space_id, record).await?;
            let facts: Vec<&Fact> = space.facts.values().collect();
            let pass = self.entered(caller, space_id, &space, &facts).await?;
            let record = space.record.and_then(|record| pass.record(record)).ok_or(ServiceError::NotPermitted)?;
            Ok(Unrecorded::new(
                record,
                Looked { records: 1, ..looked(caller, "fact_spaces.get", space_id, Vec::new()) },
            ))
        };
        Unrecorded::or_nothing(found.await, asked)
    }

    /// A space's signals, by key.
    pub async fn signals(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
    ) -> Result<Unrecorded<Listed<Signal>>, ServiceError> {
        let asked = looked(caller, "environment.list", space_id, Vec::new()).asked();
        let found = async {
            let mut space = self.one_space(caller, space_id, Vec::new()).await?;
            let signals = std::mem::take(&mut space.signals);
            let facts: Vec<&Fact> = space.facts.values().collect();
            let pass = self.entered(caller, space_id, &space, &facts).await?;
            let found = Listed::of(signals.into_values().map(|signal| pass.signal(signal)));
            let keys = found.items.iter().map(|signal| signal.shown().key.clone()).collect();
            Ok(Unrecorded::new(found, looked(caller, "environment.list", space_id, keys)))
        };
        Unrecorded::or_nothing(found.await, asked)
    }

    /// A space's working items that have not ended, by key.
    pub async fn working_items(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
    ) -> Result<Unrecorded<Listed<WorkingItem>>, ServiceError> {
        let asked = looked(caller, "working_set.list", space_id, Vec::new()).asked();
        let found = async {
            let now = self.now();
            let mut space = self.one_space(caller, space_id, Vec::new()).await?;
            let items = std::mem::take(&mut space.items);
            let facts: Vec<&Fact> = space.facts.values().collect();
            let pass = self.entered(caller, space_id, &space, &facts).await?;
            let in_force = items.into_values().filter(|item| item.expires_at.is_none_or(|end| now < end));
            let found = Listed::of(in_force.map(|item| pass.item(item)));
            let keys = found.items.iter().map(|item| item.shown().key.clone()).collect();
            Ok(Unrecorded::new(found, looked(caller, "working_set.list", space_id, keys)))
        };
        Unrecorded::or_nothing(found.await, asked)
    }

    /// A page of a space's facts, last recorded first.
    pub async fn facts(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        query: &FactQuery,
    ) -> Result<Unrecorded<FactPage>, ServiceError> {
        let asked = looked(caller, "facts.list", space_id, query.key.iter().cloned().collect()).asked();
        let found = async {
            let space = self.one_space(caller, space_id, Vec::new()).await?;
            let page = self.store.facts(&caller.tenant.tenant_id, space_id, query).await?;
            let pass = self.entered(caller, space_id, &space, &page.items.iter().collect::<Vec<_>>()).await?;
            let found = self::page(&pass, page, &space);
            let looked = looked(caller, "facts.list", space_id, uids(&found.facts)).asking(query.key.as_deref());
            Ok(Unrecorded::new(found, looked))
        };
        Unrecorded::or_nothing(found.await, asked)
    }

    /// One fact. A withheld fact is reported as not existing.
    pub async fn fact(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        uid: &FactUid,
    ) -> Result<Unrecorded<FactView>, ServiceError> {
        let asked = looked(caller, "facts.get", space_id, vec![uid.to_string()]).asked();
        let found = async {
            let space = self.one_space(caller, space_id, vec![uid.as_str().to_owned()]).await?;
            let fact = self.one_fact(caller, space_id, space, Some(uid.clone())).await?;
            let looked = looked(caller, "facts.get", space_id, vec![uid.to_string()]);
            Ok(Unrecorded::new(fact, looked))
        };
        Unrecorded::or_nothing(found.await, asked)
    }

    /// The current value of a key: the newest valid fact with that key, or the fact that replaced one.
    pub async fn current_fact(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        key: &str,
    ) -> Result<Unrecorded<FactView>, ServiceError> {
        let asked = looked(caller, "facts.current", space_id, vec![key.to_owned()]).asked();
        let found = async {
            let space = self.one_space(caller, space_id, vec![key.to_owned()]).await?;
            let uid = current(&space, key);
            let fact = self.one_fact(caller, space_id, space, uid).await?;
            let looked =
                looked(caller, "facts.current", space_id, vec![fact.fact.shown().uid.to_string()]).asking(Some(key));
            Ok(Unrecorded::new(fact, looked))
        };
        Unrecorded::or_nothing(found.await, asked)
    }

    /// Whether the space may be seen at all is checked first, so that nothing shows which facts exist.
    async fn one_fact(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        mut space: Space,
        uid: Option<FactUid>,
    ) -> Result<FactView, ServiceError> {
        let dependents = dependents(&space);
        let fact = uid.and_then(|uid| space.facts.remove(&uid));
        let pass = self.entered(caller, space_id, &space, &fact.iter().collect::<Vec<_>>()).await?;
        let fact = fact.ok_or(ServiceError::NotFound("fact"))?;
        views(&pass, vec![fact], &dependents).0.pop().ok_or(ServiceError::NotFound("fact"))
    }

    /// The chain of a fact, oldest first: the facts it replaced, itself, and the facts that replaced it. Of a long
    /// chain, the newest part.
    pub async fn fact_chain(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        uid: &FactUid,
    ) -> Result<Unrecorded<FactChain>, ServiceError> {
        let asked = looked(caller, "facts.chain", space_id, vec![uid.to_string()]).asked();
        let found = async {
            caller.require(Scope::FactRead)?;
            let want = want(caller, space_id, true);
            let space =
                self.load_spaces(&[want]).await?.remove(space_id).ok_or(ServiceError::NotFound("fact space"))?;
            let mut facts: Vec<Fact> = chain(&space, uid);
            facts.sort_by(|a, b| (a.at, a.recorded_at, &a.uid).cmp(&(b.at, b.recorded_at, &b.uid)));
            let newest = facts.split_off(facts.len().saturating_sub(LONGEST_CHAIN));
            let more = !facts.is_empty();
            let pass = self.entered(caller, space_id, &space, &newest.iter().collect::<Vec<_>>()).await?;
            let (facts, withheld) = views(&pass, newest, &dependents(&space));
            if facts.iter().all(|view| view.fact.shown().uid != *uid) {
                return Err(ServiceError::NotFound("fact"));
            }
            let looked = looked(caller, "facts.chain", space_id, uids(&facts));
            Ok(Unrecorded::new(FactChain { facts, more, withheld }, looked))
        };
        Unrecorded::or_nothing(found.await, asked)
    }
}

/// The record of a read of a space's records.
fn looked(caller: &Caller, operation: &str, space_id: &SpaceId, ids: Vec<String>) -> Looked {
    Looked { space_id: Some(space_id.clone()), viewer_id: spoken_for(caller), ..Looked::at(operation, ids) }
}

fn uids(facts: &[FactView]) -> Vec<String> {
    facts.iter().map(|view| view.fact.shown().uid.to_string()).collect()
}

impl<T> Listed<T> {
    fn of(passed: impl Iterator<Item = Option<Seen<T>>>) -> Self {
        let passed: Vec<Option<Seen<T>>> = passed.collect();
        let all = passed.len();
        let items: Vec<Seen<T>> = passed.into_iter().flatten().collect();
        let withheld = all - items.len();
        Self { items, withheld }
    }
}

/// A page of facts as they may be shown.
pub(super) fn page(pass: &Pass, page: Page<Fact>, space: &Space) -> FactPage {
    let (facts, withheld) = views(pass, page.items, &dependents(space));
    FactPage { facts, next: page.next, withheld }
}

/// Facts as they may be shown, and the number of withheld ones.
fn views(pass: &Pass, facts: Vec<Fact>, dependents: &BTreeMap<FactUid, Vec<FactUid>>) -> (Vec<FactView>, usize) {
    let all = facts.len();
    let shown = facts.into_iter().filter_map(|fact| {
        let derived_facts = dependents.get(&fact.uid).cloned().unwrap_or_default();
        pass.fact(fact).map(|fact| FactView { fact, derived_facts })
    });
    let shown: Vec<FactView> = shown.collect();
    let withheld = all - shown.len();
    (shown, withheld)
}

/// The facts of a fact's chain; none if the fact does not exist.
fn chain(space: &Space, uid: &FactUid) -> Vec<Fact> {
    let mut chain = BTreeSet::from([uid.clone()]);
    let mut open = vec![uid.clone()];
    while let Some(fact) = open.pop().and_then(|uid| space.facts.get(&uid)) {
        let next = successor(fact).into_iter().chain(fact.superseded.iter().cloned());
        open.extend(next.filter(|uid| chain.insert(uid.clone())));
    }
    chain.iter().filter_map(|uid| space.facts.get(uid).cloned()).collect()
}

fn successor(fact: &Fact) -> Option<FactUid> {
    match &fact.standing {
        Standing::Superseded { by, .. } => by.clone(),
        Standing::Valid => None,
    }
}

/// The newest fact with a key, followed to the fact that replaced it.
fn current(space: &Space, key: &str) -> Option<FactUid> {
    let of_key = space.facts.values().filter(|fact| fact.key == key);
    let newest = of_key.max_by_key(|fact| (fact.is_valid(), fact.at, fact.recorded_at, fact.uid.clone()))?;
    let mut fact = newest;
    // Every step leads to a later fact. The bound protects against tampered rows that form a cycle.
    for _ in 0..space.facts.len() {
        if fact.is_valid() {
            return Some(fact.uid.clone());
        }
        fact = space.facts.get(&successor(fact)?)?;
    }
    None
}

/// The facts that depend on each fact.
fn dependents(space: &Space) -> BTreeMap<FactUid, Vec<FactUid>> {
    let mut dependents: BTreeMap<FactUid, Vec<FactUid>> = BTreeMap::new();
    for fact in space.facts.values().filter(|fact| fact.is_valid()) {
        for base in fact.depends_on.iter().filter_map(|dependency| dependency.uid.clone()) {
            dependents.entry(base).or_default().push(fact.uid.clone());
        }
    }
    dependents
}
