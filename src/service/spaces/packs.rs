//! Context packs: who looks, which partitions, as of when; then the pure assembly.

use std::collections::{BTreeMap, BTreeSet};

use super::permission::PermissionQuestion;
use super::{SpaceDecided, sees_values, want};
use crate::domain::id::{FactUid, PrincipalId, RoleName, SpaceId};
use crate::domain::operation::CredentialKind;
use crate::domain::time::Timestamp;
use crate::service::{Caller, Service, ServiceError};
use crate::state_layer::assembly::{ContextPack, Estimator, PackRequest, SavedPack, Sources, Turn, assemble};
use crate::state_layer::authority::{AuthorityOrder, Viewer};
use crate::state_layer::fact::{Fact, Pointer};
use crate::state_layer::ledger::Ledger;
use crate::state_layer::operation::{SpaceAction, SpaceAnswer};
use crate::state_layer::space::{Access, Partition, Signal, Space, SpaceRecord};
use crate::storage::{Claim, Scope};

/// Who a pack is for, as the request says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackViewer {
    /// The caller's id of the person.
    pub user_id: String,
    /// A level or a title. Counts where no identity says otherwise and the caller is no agent.
    pub authority: Option<String>,
    /// The department; likewise.
    pub department: Option<String>,
}

/// A pack to make.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPack {
    /// Of which space.
    pub space_id: SpaceId,
    /// Wider partitions; those of the space's own record if not said.
    pub wider: Option<Vec<SpaceId>>,
    /// The question.
    pub query: String,
    /// The present; the server's if not said.
    pub as_of: Option<Timestamp>,
    /// What was known: later writes are left out. All that is known if not said.
    pub known_at: Option<Timestamp>,
    /// Who it is for; the space's identity if not said.
    pub viewer: Option<PackViewer>,
    /// The most tokens.
    pub token_budget: u32,
    /// The share of facts; policy's if not said.
    pub facts_share: Option<f64>,
    /// Facts that must be in it.
    pub include: Vec<Pointer>,
    /// Facts that must not be.
    pub exclude: Vec<Pointer>,
    /// Show superseded facts, flagged.
    pub include_superseded: bool,
    /// Scope ids in which the question is asked.
    pub scopes: Vec<String>,
    /// Turns, not kept.
    pub recent_turns: Vec<Turn>,
    /// Signals fetched for this request, not kept. One takes the place of a kept one with its key.
    pub environment: Vec<Signal>,
    /// Who counts tokens.
    pub estimator: Estimator,
    /// Keep it, so that a command can cite it.
    pub save: bool,
}

/// A pack that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct PackMade {
    /// The pack.
    pub pack: ContextPack,
    /// As of when.
    pub as_of: Timestamp,
    /// As it is kept, if it is.
    pub saved: Option<SavedPack>,
    /// Whether an `Idempotency-Key` brought an earlier one back.
    pub replayed: bool,
}

/// The facts of one space, with what its viewer may not see set apart.
struct Shown {
    facts: BTreeMap<FactUid, Fact>,
    denied: Vec<FactUid>,
    /// Whether the viewer may see nothing of the space at all.
    barred: bool,
}

impl Shown {
    fn all(facts: BTreeMap<FactUid, Fact>) -> Self {
        Self { facts, denied: Vec::new(), barred: false }
    }

    fn nothing(facts: &BTreeMap<FactUid, Fact>) -> Self {
        Self { facts: BTreeMap::new(), denied: facts.keys().cloned().collect(), barred: true }
    }
}

impl Service {
    /// Assembles a pack from what stands as of its moment, and keeps it if that is wanted.
    pub async fn make_pack(
        &self,
        caller: &Caller,
        new: NewPack,
        claim: Option<Claim>,
    ) -> Result<PackMade, ServiceError> {
        caller.require(Scope::FactRead)?;
        if !sees_values(caller) {
            return Err(ServiceError::DetailNotAllowed);
        }
        let as_of = new.as_of.unwrap_or_else(|| self.now());
        let (space, wider) = self.spaces_of(caller, &new, as_of).await?;
        let viewer = self.viewer(caller, new.viewer.as_ref(), &space).await?;
        let rules = self.state_rules(caller);
        let order = AuthorityOrder::new(&rules.authority_order);
        let mut shown = vec![self.gated(caller, &new.space_id, &space, &viewer, &order).await?];
        for (space_id, space) in &wider {
            shown.push(self.gated(caller, space_id, space, &viewer, &order).await?);
        }
        let own = shown.first().is_some_and(|own| !own.barred);
        let kept = space.signals.values().filter(|kept| own && new.environment.iter().all(|it| it.key != kept.key));
        let sources = Sources {
            identity: space.record.as_ref().and_then(|record| record.identity.as_ref()).filter(|_| own),
            facts: shown.iter().flat_map(|shown| shown.facts.values()).collect(),
            items: space.items.values().filter(|item| own && item.expires_at.is_none_or(|end| as_of < end)).collect(),
            signals: new.environment.iter().chain(kept).collect(),
            denied: shown.iter().flat_map(|shown| shown.denied.iter().cloned()).collect(),
        };
        let request = PackRequest {
            query: new.query,
            as_of,
            viewer: viewer.clone(),
            token_budget: new.token_budget,
            facts_share: new.facts_share.unwrap_or(rules.facts_share),
            include: new.include,
            exclude: new.exclude,
            include_superseded: new.include_superseded,
            scopes: new.scopes,
            recent_turns: new.recent_turns,
            estimator: new.estimator,
        };
        let pack = assemble(&request, &sources, &order).map_err(ServiceError::NoPack)?;
        if !new.save {
            return Ok(PackMade { pack, as_of, saved: None, replayed: false });
        }
        let action = SpaceAction::SavePack { viewer, as_of, pack: Box::new(pack) };
        let SpaceDecided { result, replayed, .. } = self.decide_space(caller, new.space_id, action, claim).await?;
        match result.map_err(ServiceError::SpaceRefused)? {
            SpaceAnswer::Pack { pack: saved } => {
                let (pack, as_of) = (saved.pack.clone(), saved.as_of);
                Ok(PackMade { pack, as_of, saved: Some(*saved), replayed })
            }
            _ => Err(ServiceError::Internal),
        }
    }

    /// The space and its wider ones, as of a moment. A wider one that does not exist has nothing to show.
    async fn spaces_of(
        &self,
        caller: &Caller,
        new: &NewPack,
        as_of: Timestamp,
    ) -> Result<(Space, BTreeMap<SpaceId, Space>), ServiceError> {
        let mut own = self.load_spaces(&[want(caller, &new.space_id, new.include_superseded)]).await?;
        let mut space = own.remove(&new.space_id).ok_or(ServiceError::NotFound("fact space"))?;
        let declared = || space.record.as_ref().map(|record| record.wider.clone()).unwrap_or_default();
        let mut names: BTreeSet<SpaceId> = new.wider.clone().unwrap_or_else(declared).into_iter().collect();
        names.remove(&new.space_id);
        let wants: Vec<_> = names.iter().map(|name| want(caller, name, new.include_superseded)).collect();
        let mut wider = if wants.is_empty() { BTreeMap::new() } else { self.load_spaces(&wants).await? };
        self.fold_back(caller, &new.space_id, &mut space, new, as_of).await?;
        for (space_id, space) in &mut wider {
            self.fold_back(caller, space_id, space, new, as_of).await?;
        }
        Ok((space, wider))
    }

    /// Where the moment lies before what was stated last, the state is folded again from what was stated until then.
    async fn fold_back(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        space: &mut Space,
        new: &NewPack,
        as_of: Timestamp,
    ) -> Result<(), ServiceError> {
        let newest = space.record.as_ref().and_then(|record| record.newest);
        if new.known_at.is_none() && newest.is_none_or(|newest| newest <= as_of) {
            return Ok(());
        }
        if !space.whole {
            let found = self.load_spaces(&[want(caller, space_id, true)]).await?.remove(space_id);
            *space = found.ok_or(ServiceError::NotFound("fact space"))?;
        }
        let known = new.known_at.unwrap_or(Timestamp::from_micros(i64::MAX));
        let statements = space.statements().into_iter();
        let statements = statements.filter(|it| it.at() <= as_of && it.recorded_at() <= known).collect();
        space.facts = Ledger::fold(statements, &self.ledger_rules(caller)).facts;
        Ok(())
    }

    /// What of a space this viewer may see.
    async fn gated(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        space: &Space,
        viewer: &Viewer,
        order: &AuthorityOrder,
    ) -> Result<Shown, ServiceError> {
        let mut facts = space.facts.clone();
        let Some(record) = &space.record else { return Ok(Shown::all(facts)) };
        let allowed: BTreeSet<FactUid> = match (&record.access, owned_by_another(record, viewer)) {
            (_, true) => return Ok(Shown::nothing(&facts)),
            (Access::Open, false) => return Ok(Shown::all(facts)),
            (Access::List { allow }, false) if allow.iter().any(|audience| viewer.belongs_to(audience, order)) => {
                return Ok(Shown::all(facts));
            }
            (Access::List { .. }, false) => return Ok(Shown::nothing(&facts)),
            (Access::Callback { name }, false) => match self.state_rules(caller).access_callbacks.get(name) {
                None => BTreeSet::new(),
                Some(callback) => {
                    let question = PermissionQuestion {
                        tenant_id: caller.tenant.tenant_id.clone(),
                        fact_space: space_id.clone(),
                        viewer: viewer.clone(),
                        facts: facts.values().map(|fact| (fact.uid.clone(), fact.key.clone())).collect(),
                    };
                    self.permissions.allowed(callback, &question).await
                }
            },
        };
        let denied = facts.keys().filter(|uid| !allowed.contains(*uid)).cloned().collect();
        facts.retain(|uid, _| allowed.contains(uid));
        Ok(Shown { facts, denied, barred: false })
    }

    /// Who looks: as the space's identity says, as registered, and only then as the request says. An agent cannot
    /// give somebody a rank by writing it down.
    async fn viewer(&self, caller: &Caller, asked: Option<&PackViewer>, space: &Space) -> Result<Viewer, ServiceError> {
        let identity = space.record.as_ref().and_then(|record| record.identity.as_ref());
        let identity = identity.filter(|identity| asked.is_none_or(|asked| asked.user_id == identity.user_id));
        let user_id = match (asked, identity) {
            (Some(asked), _) => asked.user_id.clone(),
            (None, Some(identity)) => identity.user_id.clone(),
            (None, None) => return Ok(Viewer::default()),
        };
        let believed = asked.filter(|_| caller.kind != CredentialKind::Agent);
        let mut viewer = match identity {
            Some(identity) => Viewer {
                user_id,
                authority: identity.authority.clone(),
                department: identity.department.clone(),
                permissions: identity.permissions.clone(),
                roles: Vec::new(),
            },
            None => Viewer {
                user_id,
                authority: believed.and_then(|asked| asked.authority.clone()),
                department: believed.and_then(|asked| asked.department.clone()),
                ..Viewer::default()
            },
        };
        if let Ok(id) = PrincipalId::new(viewer.user_id.clone()) {
            let principal = self.store.principal(&caller.tenant.tenant_id, id.as_str()).await?;
            let held = principal.filter(|principal| principal.registered).map(|principal| principal.roles);
            viewer.roles = held.unwrap_or_default().iter().map(RoleName::as_str).map(str::to_owned).collect();
        }
        Ok(viewer)
    }
}

/// A user's own memory is shown to that user alone.
fn owned_by_another(record: &SpaceRecord, viewer: &Viewer) -> bool {
    match &record.partition {
        Partition::User { owner_id: Some(owner) } => *owner != viewer.user_id,
        Partition::User { owner_id: None } | Partition::Capability { .. } | Partition::Organization { .. } => false,
    }
}
