//! Checks before the decision whether a caller may change a fact space.

use super::gate::{AtGate, asked};
use super::{sees_values, want};
use crate::domain::id::{FactUid, PrincipalId, SpaceId};
use crate::domain::scope::Scope;
use crate::service::{Caller, Service, ServiceError};
use crate::state_layer::fact::{Abstraction, Fact, FactScope, MemoryType};
use crate::state_layer::operation::SpaceAction;
use crate::state_layer::refusal::SpaceRefusal;
use crate::state_layer::request::Refused;
use crate::state_layer::space::SpaceRecord;
use crate::storage::SpaceWant;

/// What a replacing fact inherits from the replaced one: where it counts, and not its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    pub key: String,
    pub scope: FactScope,
    /// The id of the task, session or scenario.
    pub scope_id: Option<String>,
    pub memory_type: MemoryType,
    pub abstraction: Option<Abstraction>,
    /// The viewers who may see it.
    pub restricted_to: Vec<String>,
}

impl Service {
    /// A caller who may not see a space's content may neither change it nor decide who may see it: the result of a
    /// change reveals what was there, and a caller who can delete a space can create it anew. For such a caller a withheld
    /// fact does not exist.
    pub(super) async fn may_change(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        action: &SpaceAction,
    ) -> Result<(), ServiceError> {
        // Operators carry out deletions that people request and undo mistakes, and need not see the values.
        let rules = matches!(action, SpaceAction::Delete { .. } | SpaceAction::Restore { .. } | SpaceAction::Erase);
        if caller.gives_access() || rules && !sees_values(caller) {
            return Ok(());
        }
        let Some(record) = self.bare_space(caller, space_id).await? else { return Ok(()) };
        let space = self.whole_enough(caller, space_id, record).await?;
        let named = self.facts_named(caller, space_id, action).await?;
        let gate = self.gate(caller, space.record.as_ref()).await?;
        let facts = asked(space.facts.values().chain(&named));
        let at = AtGate { space_id, record: space.record.as_ref(), facts };
        let pass = gate.may_change(&self.permissions, at).await.ok_or(ServiceError::Internal)?;
        if !pass.is_open() {
            return Err(ServiceError::NotPermitted);
        }
        if named.iter().all(|fact| pass.may_change(fact)) {
            return Ok(());
        }
        Err(ServiceError::SpaceRefused(Refused::Space(SpaceRefusal::FactNotFound)))
    }

    /// The facts that an action changes.
    async fn facts_named(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        action: &SpaceAction,
    ) -> Result<Vec<Fact>, ServiceError> {
        let named: Vec<String> = match action {
            SpaceAction::Delete { uid, .. } | SpaceAction::Restore { uid, .. } => vec![uid.as_str().to_owned()],
            SpaceAction::Write(facts) => {
                facts.iter().filter_map(|fact| fact.supersedes.as_ref()).map(|pointer| pointer.0.clone()).collect()
            }
            _ => Vec::new(),
        };
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let want = SpaceWant { live: false, named, ..want(caller, space_id, false) };
        let found = self.load_spaces(&[want]).await?.remove(space_id);
        Ok(found.map(|space| space.facts.into_values().collect()).unwrap_or_default())
    }

    /// Fails with [`ServiceError::LegalHold`] if a space is the memory of a person under a hold. A hold that is placed
    /// at the same moment may be missed.
    pub(super) async fn is_free_to_go(&self, caller: &Caller, space_id: &SpaceId) -> Result<(), ServiceError> {
        let held = self.store.held(&caller.tenant.tenant_id).await?;
        if held.is_empty() {
            return Ok(());
        }
        let record = self.bare_space(caller, space_id).await?;
        let whose =
            record.as_ref().and_then(SpaceRecord::memory_of).and_then(|id| PrincipalId::new(id.to_owned()).ok());
        if whose.is_some_and(|whose| held.holds_principal(&whose)) { Err(ServiceError::LegalHold) } else { Ok(()) }
    }

    /// The scope that a replacing fact inherits. A caller who may write sees the scope, but not the value.
    pub async fn reach_of(&self, caller: &Caller, space_id: &SpaceId, uid: &FactUid) -> Result<Reach, ServiceError> {
        caller.require(Scope::FactWrite)?;
        let want = SpaceWant { live: false, named: vec![uid.as_str().to_owned()], ..want(caller, space_id, false) };
        let mut space =
            self.load_spaces(&[want]).await?.remove(space_id).ok_or(ServiceError::NotFound("fact space"))?;
        let fact = space.facts.remove(uid).ok_or(ServiceError::NotFound("fact"))?;
        Ok(Reach {
            key: fact.key,
            scope: fact.scope,
            scope_id: fact.scope_id,
            memory_type: fact.memory_type,
            abstraction: fact.abstraction,
            restricted_to: fact.restricted_to,
        })
    }
}
