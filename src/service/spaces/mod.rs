//! Fact spaces: writing through the committer, and reading what stands.

mod gate;
mod packs;
mod permission;

use std::collections::BTreeMap;
use std::sync::PoisonError;

pub use packs::{NewPack, PackMade, PackViewer};
pub use permission::{AskedFact, OverHttp, PermissionQuestion, Permissions};

use super::{Caller, Service, ServiceError};
use crate::domain::frame::CitedPack;
use crate::domain::id::{FactUid, Ids, PackId, SpaceId};
use crate::domain::operation::CredentialKind;
use crate::domain::policy::StateLayerRules;
use crate::domain::time::{Timestamp, Zone};
use crate::state_layer::assembly::SavedPack;
use crate::state_layer::authority::AuthorityOrder;
use crate::state_layer::fact::Fact;
use crate::state_layer::ledger::LedgerRules;
use crate::state_layer::operation::{SpaceAction, SpaceAnswer, SpaceOperation, Writer};
use crate::state_layer::reading::{Reading, Utterance, read};
use crate::state_layer::space::{Signal, Space, SpaceRecord, WorkingItem};
use crate::storage::committer::SpaceSubmission;
use crate::storage::{Claim, FactQuery, Page, Refused, Scope, SpaceWant};

/// What became of an operation on a space.
#[derive(Debug, Clone, PartialEq)]
pub struct SpaceDecided {
    /// The answer, or why not.
    pub result: Result<SpaceAnswer, Refused>,
    /// When it was decided.
    pub at: Timestamp,
    /// Whether an `Idempotency-Key` brought an earlier answer back.
    pub replayed: bool,
}

/// A fact with the facts that were derived from it.
#[derive(Debug, Clone, PartialEq)]
pub struct FactView {
    /// The fact.
    pub fact: Fact,
    /// Valid facts that depend on it.
    pub derived_facts: Vec<FactUid>,
}

/// The longest chain that is shown.
const LONGEST_CHAIN: usize = 200;

/// A chain of facts.
#[derive(Debug, Clone, PartialEq)]
pub struct FactChain {
    /// Its facts, oldest first.
    pub facts: Vec<FactView>,
    /// Whether it has older ones.
    pub more: bool,
}

/// Whether values are shown to this one: people look, and do not serve the conversation.
#[must_use]
pub fn sees_values(caller: &Caller) -> bool {
    let looks = matches!(caller.kind, CredentialKind::Operator | CredentialKind::Auditor);
    !looks || caller.scopes.contains(&Scope::OocRaw)
}

impl Service {
    /// Decides an operation on a space and answers after its commit.
    pub async fn decide_space(
        &self,
        caller: &Caller,
        space_id: SpaceId,
        action: SpaceAction,
        claim: Option<Claim>,
    ) -> Result<SpaceDecided, ServiceError> {
        let writer = Writer { credential: caller.kind, principal_id: caller.principal_id.clone() };
        let operation = SpaceOperation { space_id, writer, action };
        let submission = SpaceSubmission { tenant: caller.tenant.clone(), operation, claim };
        let committed = self.committer.submit_space(submission).await?;
        Ok(SpaceDecided { result: committed.result, at: committed.at, replayed: committed.replayed })
    }

    /// Reads an utterance. The words end here.
    #[must_use]
    pub fn read_utterance(&self, utterance: &Utterance) -> Reading {
        let now = self.now();
        let (id, salt) = {
            // A source that panicked once has no state that could be half changed.
            let mut entropy = self.entropy.lock().unwrap_or_else(PoisonError::into_inner);
            let mut ids = Ids::new(now, entropy.as_mut());
            (ids.reading(), ids.secret())
        };
        read(utterance, id, now, salt)
    }

    /// The zone in which this tenant's times without an offset are read, and its name.
    #[must_use]
    pub fn zone(&self, caller: &Caller) -> (Option<Zone>, String) {
        let name = self.state_rules(caller).time_zone;
        (Zone::named(&name), name)
    }

    pub(super) fn state_rules(&self, caller: &Caller) -> StateLayerRules {
        let book = self.rules.now();
        book.rules(&caller.tenant.policy_scope()).policy.pack().state_layer.clone()
    }

    pub(super) fn ledger_rules(&self, caller: &Caller) -> LedgerRules {
        let rules = self.state_rules(caller);
        LedgerRules {
            order: AuthorityOrder::new(&rules.authority_order),
            time_sensitive_keys: rules.time_sensitive_keys,
        }
    }

    /// Some spaces as they stand, or as a whole. A space that is not there has no entry.
    pub(super) async fn load_spaces(&self, wants: &[SpaceWant]) -> Result<BTreeMap<SpaceId, Space>, ServiceError> {
        let mut spaces: BTreeMap<SpaceId, Space> = BTreeMap::new();
        for (space_id, row) in self.store.spaces(wants).await? {
            row.put(spaces.entry(space_id).or_default());
        }
        for want in wants.iter().filter(|want| want.whole) {
            if let Some(space) = spaces.get_mut(&want.space_id) {
                space.whole = true;
            }
        }
        spaces.retain(|_, space| space.record.is_some());
        Ok(spaces)
    }

    async fn one_space(&self, caller: &Caller, space_id: &SpaceId, named: Vec<String>) -> Result<Space, ServiceError> {
        caller.require(Scope::FactRead)?;
        let want = SpaceWant { named, ..want(caller, space_id, false) };
        let mut found = self.load_spaces(&[want]).await?;
        found.remove(space_id).ok_or(ServiceError::NotFound("fact space"))
    }

    /// A space's record.
    pub async fn fact_space(&self, caller: &Caller, space_id: &SpaceId) -> Result<SpaceRecord, ServiceError> {
        caller.require(Scope::FactRead)?;
        let want = SpaceWant { live: false, named: vec![String::new()], ..want(caller, space_id, false) };
        let found = self.load_spaces(&[want]).await?.remove(space_id).and_then(|space| space.record);
        found.ok_or(ServiceError::NotFound("fact space"))
    }

    /// A space's signals, by key.
    pub async fn signals(&self, caller: &Caller, space_id: &SpaceId) -> Result<Vec<Signal>, ServiceError> {
        Ok(self.one_space(caller, space_id, Vec::new()).await?.signals.into_values().collect())
    }

    /// A space's working items that have not ended, by key.
    pub async fn working_items(&self, caller: &Caller, space_id: &SpaceId) -> Result<Vec<WorkingItem>, ServiceError> {
        let now = self.now();
        let items = self.one_space(caller, space_id, Vec::new()).await?.items.into_values();
        Ok(items.filter(|item| item.expires_at.is_none_or(|end| now < end)).collect())
    }

    /// A page of a space's facts, those recorded last first.
    pub async fn facts(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        query: &FactQuery,
    ) -> Result<Page<FactView>, ServiceError> {
        let space = self.one_space(caller, space_id, Vec::new()).await?;
        let page = self.store.facts(&caller.tenant.tenant_id, space_id, query).await?;
        let dependents = dependents(&space);
        let items = page.items.into_iter().map(|fact| view(fact, &dependents)).collect();
        Ok(Page { items, next: page.next })
    }

    /// One fact.
    pub async fn fact(&self, caller: &Caller, space_id: &SpaceId, uid: &FactUid) -> Result<FactView, ServiceError> {
        let mut space = self.one_space(caller, space_id, vec![uid.as_str().to_owned()]).await?;
        let dependents = dependents(&space);
        let fact = space.facts.remove(uid).ok_or(ServiceError::NotFound("fact"))?;
        Ok(view(fact, &dependents))
    }

    /// The fact that another one is to replace. Whoever may write may look at its reach, not at its value.
    pub async fn fact_to_replace(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        uid: &FactUid,
    ) -> Result<Fact, ServiceError> {
        caller.require(Scope::FactWrite)?;
        let want = SpaceWant { live: false, named: vec![uid.as_str().to_owned()], ..want(caller, space_id, false) };
        let mut space =
            self.load_spaces(&[want]).await?.remove(space_id).ok_or(ServiceError::NotFound("fact space"))?;
        space.facts.remove(uid).ok_or(ServiceError::NotFound("fact"))
    }

    /// The current value of a key: the newest valid fact that has it, or that came in the place of one that had.
    pub async fn current_fact(&self, caller: &Caller, space_id: &SpaceId, key: &str) -> Result<FactView, ServiceError> {
        let mut space = self.one_space(caller, space_id, vec![key.to_owned()]).await?;
        let dependents = dependents(&space);
        let uid = current(&space, key).ok_or(ServiceError::NotFound("fact"))?;
        let fact = space.facts.remove(&uid).ok_or(ServiceError::NotFound("fact"))?;
        Ok(view(fact, &dependents))
    }

    /// The chain that a fact belongs to, oldest first: what it replaced, itself, and what came in its place. Of a long
    /// one the newest.
    pub async fn fact_chain(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        uid: &FactUid,
    ) -> Result<FactChain, ServiceError> {
        caller.require(Scope::FactRead)?;
        let want = want(caller, space_id, true);
        let space = self.load_spaces(&[want]).await?.remove(space_id).ok_or(ServiceError::NotFound("fact space"))?;
        if !space.facts.contains_key(uid) {
            return Err(ServiceError::NotFound("fact"));
        }
        let mut chain = std::collections::BTreeSet::from([uid.clone()]);
        let mut open = vec![uid.clone()];
        while let Some(fact) = open.pop().and_then(|uid| space.facts.get(&uid)) {
            let next = successor(fact).into_iter().chain(fact.superseded.iter().cloned());
            open.extend(next.filter(|uid| chain.insert(uid.clone())));
        }
        let dependents = dependents(&space);
        let mut facts: Vec<Fact> = chain.iter().filter_map(|uid| space.facts.get(uid).cloned()).collect();
        facts.sort_by(|a, b| (a.at, a.recorded_at, &a.uid).cmp(&(b.at, b.recorded_at, &b.uid)));
        let newest = facts.split_off(facts.len().saturating_sub(LONGEST_CHAIN));
        let more = !facts.is_empty();
        Ok(FactChain { facts: newest.into_iter().map(|fact| view(fact, &dependents)).collect(), more })
    }

    /// What a command cites of a saved pack.
    pub async fn cited_pack(&self, caller: &Caller, id: &PackId) -> Result<Option<CitedPack>, ServiceError> {
        let found = self.store.saved_pack(&caller.tenant.tenant_id, id).await?;
        Ok(found.map(|saved| CitedPack { pack_id: saved.pack_id, pack_hash: saved.pack.pack_hash }))
    }

    /// A saved pack.
    pub async fn saved_pack(&self, caller: &Caller, id: &PackId) -> Result<SavedPack, ServiceError> {
        caller.require(Scope::FactRead)?;
        let found = self.store.saved_pack(&caller.tenant.tenant_id, id).await?;
        found.ok_or(ServiceError::NotFound("context pack"))
    }
}

/// All that stands in a space, or all of it.
fn want(caller: &Caller, space_id: &SpaceId, whole: bool) -> SpaceWant {
    SpaceWant {
        tenant_id: caller.tenant.tenant_id.clone(),
        space_id: space_id.clone(),
        live: true,
        whole,
        named: Vec::new(),
    }
}

fn successor(fact: &Fact) -> Option<FactUid> {
    match &fact.standing {
        crate::state_layer::fact::Standing::Superseded { by, .. } => by.clone(),
        crate::state_layer::fact::Standing::Valid => None,
    }
}

/// The newest fact with a key, followed to what stands in its place.
fn current(space: &Space, key: &str) -> Option<FactUid> {
    let of_key = space.facts.values().filter(|fact| fact.key == key);
    let newest = of_key.max_by_key(|fact| (fact.is_valid(), fact.at, fact.recorded_at, fact.uid.clone()))?;
    let mut fact = newest;
    // Every step leads to a later fact; the bound is for rows that a foreign hand has tied into a ring.
    for _ in 0..space.facts.len() {
        if fact.is_valid() {
            return Some(fact.uid.clone());
        }
        fact = space.facts.get(&successor(fact)?)?;
    }
    None
}

/// Who depends on whom.
fn dependents(space: &Space) -> BTreeMap<FactUid, Vec<FactUid>> {
    let mut dependents: BTreeMap<FactUid, Vec<FactUid>> = BTreeMap::new();
    for fact in space.facts.values().filter(|fact| fact.is_valid()) {
        for base in fact.depends_on.iter().filter_map(|dependency| dependency.uid.clone()) {
            dependents.entry(base).or_default().push(fact.uid.clone());
        }
    }
    dependents
}

fn view(fact: Fact, dependents: &BTreeMap<FactUid, Vec<FactUid>>) -> FactView {
    let derived_facts = dependents.get(&fact.uid).cloned().unwrap_or_default();
    FactView { fact, derived_facts }
}
