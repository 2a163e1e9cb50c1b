//! Fact spaces: writing through the committer, and reading. Every read passes one gate.

mod changing;
mod covering;
mod echo;
mod facts;
mod gate;
mod memories;
mod packs;
mod permission;
mod viewer;

use std::collections::BTreeMap;
use std::sync::PoisonError;

pub use changing::Reach;
pub use covering::Cover;
pub use echo::SpaceShown;
pub use facts::{FactChain, FactPage, FactView, Listed};
pub(in crate::service) use gate::sees_recorded_values;
pub use gate::{Seen, sees_values};
pub use memories::{Memories, Memory};
pub use packs::{NewPack, PackMade, PackViewer};
pub use permission::{AskedFact, OverHttp, PermissionQuestion, Permissions};

use super::going::Going;
use super::{Caller, Service, ServiceError};
use crate::committer::{Busy, Committed, SpaceSubmission};
use crate::domain::id::{Ids, PrincipalId, SpaceId};
use crate::domain::idempotency::Claim;
use crate::domain::policy::StateLayerRules;
use crate::domain::speaking::Voice;
use crate::domain::time::Zone;
use crate::state_layer::authority::AuthorityOrder;
use crate::state_layer::ledger::LedgerRules;
use crate::state_layer::operation::{SpaceAction, SpaceAnswer, SpaceOperation, Writer};
use crate::state_layer::reading::{Reading, Utterance, read};
use crate::state_layer::request::Refused;
use crate::state_layer::space::Space;
use crate::storage::SpaceWant;

/// How often an operation waits for the erasure of its space, which somebody may erase again as soon as it is there.
const ERASURES_WAITED_FOR: u8 = 3;

/// A decision as it is stored, before it is redacted for the caller.
type Unseen = Committed<Result<SpaceAnswer, Refused>>;

impl Service {
    /// Decides an operation on a space and answers after its commit with what the writer may see.
    pub async fn decide_space(
        &self,
        caller: &Caller,
        space_id: SpaceId,
        action: SpaceAction,
        claim: Option<Claim>,
    ) -> Result<Committed<Result<SpaceShown, Refused>>, ServiceError> {
        // An identity defines ranks and grants.
        if matches!(action, SpaceAction::SetIdentity(_)) && !caller.gives_access() {
            return Err(ServiceError::NotPermitted);
        }
        self.may_change(caller, &space_id, &action).await?;
        if matches!(action, SpaceAction::Delete { .. } | SpaceAction::Erase) {
            self.is_free_to_go(caller, &space_id).await?;
        }
        let erases = matches!(action, SpaceAction::Erase);
        let Committed { result, at, replayed } = self.decide_unseen(caller, space_id.clone(), action, claim).await?;
        if erases && result.is_ok() {
            self.finish_erasing(caller, &space_id).await?;
        }
        let result = match result {
            Ok(answer) => Ok(self.echo(caller, &space_id, answer).await),
            Err(refused) => Err(refused),
        };
        Ok(Committed { result, at, replayed })
    }

    async fn decide_unseen(
        &self,
        caller: &Caller,
        space_id: SpaceId,
        action: SpaceAction,
        claim: Option<Claim>,
    ) -> Result<Unseen, ServiceError> {
        let (principal_id, speaks_for) = (caller.principal_id.clone(), spoken_for(caller));
        let writer = Writer { credential: caller.kind, principal_id, speaks_for };
        let operation = SpaceOperation { space_id: space_id.clone(), writer, action };
        let submission = SpaceSubmission { tenant: caller.tenant.clone(), operation, claim };
        for _ in 0..ERASURES_WAITED_FOR {
            match self.committer.submit_space(submission.clone()).await {
                // What was there has to be gone before there is something else of this name.
                Err(Busy::Going) => self.finish_erasing(caller, &space_id).await?,
                decided => return Ok(decided?),
            }
        }
        Ok(self.committer.submit_space(submission).await?)
    }

    /// Erases what is left of a space that is being erased.
    async fn finish_erasing(&self, caller: &Caller, space_id: &SpaceId) -> Result<(), ServiceError> {
        self.going(caller, space_id).finish().await
    }

    /// The erasure of a space.
    pub(in crate::service) fn going<'a>(&'a self, caller: &'a Caller, space_id: &'a SpaceId) -> Going<'a> {
        let policy = self.rules.now().rules(&caller.tenant.policy_scope()).policy.reference().clone();
        Going { store: self.store.as_ref(), tenant: &caller.tenant, space_id, policy, entropy: &self.entropy }
    }

    /// Reads an utterance. Only the reading is stored, not the words.
    #[must_use]
    pub fn read_utterance(&self, utterance: &Utterance) -> Reading {
        let now = self.now();
        let (id, salt) = {
            // After a panic the source of randomness is still whole, so a poisoned lock is used.
            let mut entropy = self.entropy.lock().unwrap_or_else(PoisonError::into_inner);
            let mut ids = Ids::new(now, entropy.as_mut());
            (ids.reading(), ids.secret())
        };
        read(utterance, id, now, salt)
    }

    /// The time zone for this tenant's times without an offset, and its name.
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

    /// The current rows of some spaces, or all rows. A space that does not exist, or is being erased, has no entry.
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
        // One that is being erased is none: this is the only place that has to know.
        spaces.retain(|_, space| space.record.as_ref().is_some_and(|record| !record.is_going()));
        Ok(spaces)
    }
}

/// The one for whom a key speaks, if it is one.
fn spoken_for(caller: &Caller) -> Option<PrincipalId> {
    match &caller.speaks_for.voice {
        Voice::Principal(id) => Some(id.clone()),
        Voice::Nobody | Voice::Anyone => None,
    }
}

/// The current rows of a space, or all of them.
fn want(caller: &Caller, space_id: &SpaceId, whole: bool) -> SpaceWant {
    SpaceWant {
        tenant_id: caller.tenant.tenant_id.clone(),
        space_id: space_id.clone(),
        live: true,
        whole,
        named: Vec::new(),
    }
}
