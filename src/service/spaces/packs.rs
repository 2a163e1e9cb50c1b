//! Context packs: who looks, which partitions, as of when; then the pure assembly.

use std::collections::{BTreeMap, BTreeSet};

use super::gate::Gate;
use super::{SpaceDecided, sees_values, want};
use crate::domain::id::{PrincipalId, RoleName, SpaceId};
use crate::domain::operation::CredentialKind;
use crate::domain::time::Timestamp;
use crate::service::{Caller, Service, ServiceError};
use crate::state_layer::assembly::{ContextPack, Estimator, PackRequest, SavedPack, Sources, Turn, assemble};
use crate::state_layer::authority::{AuthorityOrder, Viewer};
use crate::state_layer::fact::Pointer;
use crate::state_layer::ledger::Ledger;
use crate::state_layer::operation::{SpaceAction, SpaceAnswer};
use crate::state_layer::space::{Signal, Space};
use crate::storage::{Answered, Claim, Scope};

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

impl Service {
    /// Assembles a pack from what stands as of its moment, and keeps it if that is wanted.
    pub async fn make_pack(
        &self,
        caller: &Caller,
        new: NewPack,
        claim: Option<Claim>,
    ) -> Result<PackMade, ServiceError> {
        caller.require(Scope::FactRead)?;
        if new.save {
            caller.require(Scope::FactWrite)?;
        }
        if !sees_values(caller) {
            return Err(ServiceError::DetailNotAllowed);
        }
        // A repetition is told what it was told, whatever has become of the facts since.
        if let Some(claim) = claim.filter(|_| new.save)
            && let Some(earlier) = self.earlier_pack(caller, &claim).await?
        {
            return Ok(earlier);
        }
        let as_of = new.as_of.unwrap_or_else(|| self.now());
        let (mut space, wider) = self.spaces_of(caller, &new, as_of).await?;
        let viewer = self.viewer(caller, new.viewer.as_ref(), &space).await?;
        let rules = self.state_rules(caller);
        let order = AuthorityOrder::new(&rules.authority_order);
        let gate = Gate { caller, viewer: &viewer, order: &order, rules: &rules };
        let own = Space { record: space.record.clone(), facts: std::mem::take(&mut space.facts), ..Space::default() };
        let read: Vec<SpaceId> = wider.keys().cloned().collect();
        let names: Vec<SpaceId> = std::iter::once(&new.space_id).chain(&read).cloned().collect();
        let spaces = names.iter().zip(std::iter::once(own).chain(wider.into_values())).collect();
        let shown = gate.open(&self.permissions, spaces).await;
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
        let action = SpaceAction::SavePack { viewer, as_of, wider: read, pack: Box::new(pack) };
        let SpaceDecided { result, replayed, .. } = self.decide_space(caller, new.space_id, action, claim).await?;
        match result.map_err(ServiceError::SpaceRefused)? {
            SpaceAnswer::Pack { pack: saved } => {
                // A repetition brings the pack's id back; the pack is where it is kept, unless it has gone.
                let saved = if replayed { self.saved_pack(caller, &saved.pack_id).await? } else { *saved };
                Ok(PackMade { pack: saved.pack.clone(), as_of: saved.as_of, saved: Some(saved), replayed })
            }
            _ => Err(ServiceError::Internal),
        }
    }

    /// The pack that this very request has saved before.
    async fn earlier_pack(&self, caller: &Caller, claim: &Claim) -> Result<Option<PackMade>, ServiceError> {
        let stored = self.store.claim(&caller.tenant.tenant_id, &claim.key).await?;
        let stored = stored.filter(|stored| stored.request == claim.request && self.now() < stored.expires_at);
        match stored.map(|stored| stored.result) {
            Some(Ok(Answered::Space(SpaceAnswer::Pack { pack }))) => {
                let saved = self.saved_pack(caller, &pack.pack_id).await?;
                Ok(Some(PackMade { pack: saved.pack.clone(), as_of: saved.as_of, saved: Some(saved), replayed: true }))
            }
            _ => Ok(None),
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
