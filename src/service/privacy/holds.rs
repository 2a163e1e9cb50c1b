//! Legal holds: records that must not be erased, neither on request nor by age.

use std::sync::PoisonError;

use serde::Serialize;
use serde_json::json;

use super::super::recording::{Looked, Unrecorded};
use super::super::{Caller, Service, ServiceError};
use crate::domain::canonical::{Purpose, canonical, keyed};
use crate::domain::disposal::DisposalEvent;
use crate::domain::id::{ConversationId, HoldId, Ids, KeyId, PrincipalId};
use crate::domain::time::Timestamp;
use crate::storage::{Disposing, Held, HoldRow, HoldTerms, Kept};

/// A hold to place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHold {
    /// What kind of thing is held.
    pub kind: Held,
    /// The principal or the conversation.
    pub subject: String,
    /// A reference to the legal matter.
    pub reason: Option<String>,
}

/// A hold as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HoldShown {
    pub hold_id: HoldId,
    /// The principal whose data is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<PrincipalId>,
    /// The conversation that is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub placed_at: Timestamp,
    /// The credential that placed it.
    pub key_id: KeyId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placed_by: Option<PrincipalId>,
}

impl From<HoldRow> for HoldShown {
    fn from(row: HoldRow) -> Self {
        let of = |kind| Some(row.subject.clone()).filter(|_| row.kind == kind);
        Self {
            actor_id: of(Held::Principal).and_then(|id| PrincipalId::new(id).ok()),
            conversation_id: of(Held::Conversation).and_then(|id| ConversationId::new(id).ok()),
            hold_id: row.hold_id,
            reason: row.terms.reason,
            placed_at: row.placed_at,
            key_id: row.terms.key_id,
            placed_by: row.terms.placed_by,
        }
    }
}

impl Service {
    /// Places a hold. After its commit nothing of it is erased.
    pub async fn place_hold(&self, caller: &Caller, new: NewHold) -> Result<HoldShown, ServiceError> {
        let tenant_id = &caller.tenant.tenant_id;
        let mut disposing = Disposing::begin(self.store.as_ref(), &caller.tenant, []).await?;
        let salt = self.fresh_secret();
        let hold_id = {
            let mut entropy = self.entropy.lock().unwrap_or_else(PoisonError::into_inner);
            Ids::new(disposing.now(), entropy.as_mut()).hold()
        };
        let named = json!({ new.kind.as_str(): new.subject });
        let terms = HoldTerms {
            key_id: caller.key_id.clone(),
            placed_by: caller.principal_id.clone(),
            reason: new.reason,
            salt,
        };
        let row = HoldRow { hold_id, kind: new.kind, subject: new.subject, placed_at: disposing.now(), terms };
        let event = DisposalEvent::HoldPlaced {
            hold_id: row.hold_id.clone(),
            subject_commitment: keyed(&salt, Purpose::Subject, &canonical(&named)),
            key_id: caller.key_id.clone(),
        };
        disposing.transaction().keep(tenant_id, &Kept::Hold(row.clone())).await?;
        self.tell(caller, disposing, event).await?;
        Ok(row.into())
    }

    /// Lifts a hold and deletes the record of what it held.
    pub async fn lift_hold(&self, caller: &Caller, id: &HoldId) -> Result<HoldShown, ServiceError> {
        let tenant_id = &caller.tenant.tenant_id;
        let mut disposing = Disposing::begin(self.store.as_ref(), &caller.tenant, []).await?;
        // Holds are placed and lifted under the lock that is held now.
        let row = self.store.hold(tenant_id, id).await?.ok_or(ServiceError::NotFound("hold"))?;
        disposing.transaction().keep(tenant_id, &Kept::NoHold(id.clone())).await?;
        let event = DisposalEvent::HoldLifted { hold_id: id.clone(), key_id: caller.key_id.clone() };
        self.tell(caller, disposing, event).await?;
        Ok(row.into())
    }

    async fn tell(&self, caller: &Caller, mut disposing: Disposing, event: DisposalEvent) -> Result<(), ServiceError> {
        let rules = self.rules.now();
        let policy = rules.rules(&caller.tenant.policy_scope()).policy.reference().clone();
        {
            let mut entropy = self.entropy.lock().unwrap_or_else(PoisonError::into_inner);
            disposing.record(event, &policy, entropy.as_mut());
        }
        Ok(disposing.commit().await?)
    }

    /// Holds after `after`, by id, and whether there are more.
    pub async fn holds(
        &self,
        caller: &Caller,
        after: Option<&HoldId>,
        limit: u32,
    ) -> Result<Unrecorded<(Vec<HoldShown>, bool)>, ServiceError> {
        let mut rows = self.store.holds(&caller.tenant.tenant_id, after, limit.saturating_add(1)).await?;
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = rows.len() > most;
        rows.truncate(most);
        let looked = Looked::at("privacy.holds", rows.iter().map(|row| &row.hold_id));
        Ok(Unrecorded::new((rows.into_iter().map(HoldShown::from).collect(), more), looked))
    }
}
