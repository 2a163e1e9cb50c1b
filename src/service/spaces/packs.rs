//! Context packs: determines viewer, partitions and instant; the assembly itself is pure.

use std::collections::{BTreeMap, BTreeSet};

use super::gate::{AtGate, Gate, Looker, Pass, Shown, asked, assembled, kept};
use super::{Seen, sees_values, spoken_for, want};
use crate::domain::frame::CitedPack;
use crate::domain::id::{FactUid, PackId, PrincipalId, SpaceId};
use crate::domain::idempotency::Claim;
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::service::recording::{Looked, Unrecorded};
use crate::service::{Caller, Service, ServiceError};
use crate::state_layer::assembly::{ContextPack, Estimator, PackRequest, SavedPack, Sources, Turn};
use crate::state_layer::authority::Viewer;
use crate::state_layer::fact::Pointer;
use crate::state_layer::ledger::Ledger;
use crate::state_layer::operation::{SpaceAction, SpaceAnswer};
use crate::state_layer::request::Answered;
use crate::state_layer::space::{Signal, Space};
use crate::storage::{SpaceRow, SpaceWant};

/// The viewer of a pack, as the request names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackViewer {
    /// The caller's id of the person.
    pub user_id: String,
    /// A level or a title. Ignored if an identity names another one, or if the caller is an agent.
    pub authority: Option<String>,
    pub department: Option<String>,
}

fn facts(pack: &ContextPack) -> impl Iterator<Item = &str> {
    pack.facts_included.iter().map(FactUid::as_str)
}

/// A pack to make.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPack {
    pub space_id: SpaceId,
    /// Wider partitions; by default those in the space's record.
    pub wider: Option<Vec<SpaceId>>,
    pub query: String,
    /// The present; by default the server's time.
    pub as_of: Option<Timestamp>,
    /// The instant of knowledge: later writes are ignored. By default everything known.
    pub known_at: Option<Timestamp>,
    /// The viewer; by default the space's identity.
    pub viewer: Option<PackViewer>,
    pub token_budget: u32,
    /// The share of facts; by default policy's.
    pub facts_share: Option<f64>,
    /// Facts that must be included.
    pub include: Vec<Pointer>,
    /// Facts that must be excluded.
    pub exclude: Vec<Pointer>,
    /// Include superseded facts, flagged.
    pub include_superseded: bool,
    /// The ids of the scopes in which the question is asked.
    pub scopes: Vec<String>,
    pub recent_turns: Vec<Turn>,
    /// Signals for this request only. Each replaces a stored signal with the same key.
    pub environment: Vec<Signal>,
    pub estimator: Estimator,
    /// Save the pack, so that a command can cite it.
    pub save: bool,
}

/// The pack that was made.
#[derive(Debug, Clone, PartialEq)]
pub enum PackMade {
    /// A pack that is not saved.
    Passing { pack: Seen<ContextPack>, as_of: Timestamp },
    Saved {
        saved: Box<Seen<SavedPack>>,
        /// Whether it was saved by an earlier request with the same `Idempotency-Key`.
        replayed: bool,
    },
}

impl Service {
    /// Assembles a pack from the state at its instant, and saves it if requested.
    pub async fn make_pack(
        &self,
        caller: &Caller,
        new: NewPack,
        claim: Option<Claim>,
    ) -> Result<Unrecorded<PackMade>, ServiceError> {
        let space_id = new.space_id.clone();
        let viewer = match &new.viewer {
            Some(viewer) => PrincipalId::new(viewer.user_id.clone()).ok(),
            None => spoken_for(caller),
        };
        let pointers = new.include.iter().chain(&new.exclude).map(|pointer| pointer.0.clone());
        let named: Vec<String> =
            new.wider.iter().flatten().map(|wider| wider.as_str().to_owned()).chain(pointers).collect();
        let asked = Looked {
            space_id: Some(space_id.clone()),
            viewer_id: viewer.clone(),
            ..Looked::at("context_packs.make", &named).asked()
        };
        let made = match self.made(caller, new, claim).await {
            Ok(made) => made,
            Err(error) => return Unrecorded::or_nothing(Err(error), asked),
        };
        let (pack, pack_id) = match &made {
            PackMade::Passing { pack, .. } => (pack.shown(), None),
            PackMade::Saved { saved, .. } => (&saved.shown().pack, Some(saved.shown().pack_id.clone())),
        };
        let looked = Looked {
            space_id: Some(space_id),
            pack_id,
            viewer_id: viewer,
            records: pack.facts_included.len(),
            ..Looked::at("context_packs.make", named.iter().map(String::as_str).chain(facts(pack)))
        };
        Ok(Unrecorded::new(made, looked))
    }

    async fn made(&self, caller: &Caller, new: NewPack, claim: Option<Claim>) -> Result<PackMade, ServiceError> {
        caller.require(Scope::FactRead)?;
        if new.save {
            caller.require(Scope::FactWrite)?;
        }
        if !sees_values(caller) {
            return Err(ServiceError::DetailNotAllowed);
        }
        // A repeated request gets the same pack, even if the facts have changed since.
        if let Some(claim) = claim.filter(|_| new.save)
            && let Some(earlier) = self.earlier_pack(caller, &claim).await?
        {
            return Ok(earlier);
        }
        let as_of = new.as_of.unwrap_or_else(|| self.now());
        let (mut space, wider) = self.spaces_of(caller, &new, as_of).await?;
        let viewer = self.viewer(caller, new.viewer.as_ref(), space.record.as_ref()).await?;
        let gate = self.gate_for(caller, Looker::Viewer(viewer.clone()));
        // Grants in this space's identity count in this space. In wider spaces, a viewer has its registered rights, as
        // on every other route.
        let elsewhere = match (caller.gives_access(), viewer.user_id.is_empty()) {
            (true, _) | (_, true) => viewer.clone(),
            (false, false) => self.known(caller, &viewer.user_id, None, None).await?,
        };
        let elsewhere = self.gate_for(caller, Looker::Viewer(elsewhere));
        let own = Space { record: space.record.clone(), facts: std::mem::take(&mut space.facts), ..Space::default() };
        let read: Vec<SpaceId> = wider.keys().cloned().collect();
        let looked_at: Vec<SpaceId> = std::iter::once(&new.space_id).chain(&read).cloned().collect();
        let mut shown = self.split(&gate, vec![(new.space_id.clone(), own)]).await;
        shown.extend(self.split(&elsewhere, wider.into_iter().collect()).await);
        let own = shown.first().is_some_and(|own| !own.barred);
        let kept = space.signals.values().filter(|kept| own && new.environment.iter().all(|it| it.key != kept.key));
        let sources = Sources {
            identity: space.record.as_ref().and_then(|record| record.identity.as_ref()).filter(|_| own),
            facts: shown.iter().flat_map(|shown| shown.facts.values()).collect(),
            items: space.items.values().filter(|item| own && item.expires_at.is_none_or(|end| as_of < end)).collect(),
            signals: new.environment.iter().chain(kept).collect(),
            denied: shown.iter().flat_map(|shown| shown.denied.iter().cloned()).collect(),
            closed: looked_at.into_iter().zip(&shown).filter(|(_, shown)| shown.barred).map(|(id, _)| id).collect(),
        };
        let request = PackRequest {
            query: new.query,
            as_of,
            viewer: viewer.clone(),
            token_budget: new.token_budget,
            facts_share: new.facts_share.unwrap_or(gate.rules.facts_share),
            include: new.include,
            exclude: new.exclude,
            include_superseded: new.include_superseded,
            scopes: new.scopes,
            recent_turns: new.recent_turns,
            estimator: new.estimator,
        };
        let pack = assembled(&request, &sources, &gate.order).map_err(ServiceError::NoPack)?;
        if !new.save {
            return Ok(PackMade::Passing { pack, as_of });
        }
        let action = SpaceAction::SavePack { viewer, as_of, wider: read, pack: Box::new(pack.shown().clone()) };
        let decided = self.decide_unseen(caller, new.space_id, action, claim).await?;
        match decided.result.map_err(ServiceError::SpaceRefused)? {
            // The pack just assembled passed the gate. A repeated request gets the id of an earlier pack.
            SpaceAnswer::Pack { pack: saved } if !decided.replayed => {
                Ok(PackMade::Saved { saved: Box::new(pack.with(|_| *saved)), replayed: false })
            }
            SpaceAnswer::Pack { pack: saved } => {
                Ok(PackMade::Saved { saved: Box::new(self.kept_pack(caller, &saved.pack_id).await?), replayed: true })
            }
            _ => Err(ServiceError::Internal),
        }
    }

    /// The part of each space for a pack.
    async fn split(&self, gate: &Gate<'_>, spaces: Vec<(SpaceId, Space)>) -> Vec<Shown> {
        let at_gate = spaces.iter().map(|(space_id, space)| AtGate {
            space_id,
            record: space.record.as_ref(),
            facts: asked(space.facts.values()),
        });
        let passes = gate.passes(&self.permissions, at_gate.collect()).await;
        passes.into_iter().zip(spaces).map(|(pass, (_, space))| pass.split(space.facts)).collect()
    }

    /// The pack that this request saved earlier.
    async fn earlier_pack(&self, caller: &Caller, claim: &Claim) -> Result<Option<PackMade>, ServiceError> {
        let stored = self.store.claim(&caller.tenant.tenant_id, &claim.key).await?;
        let stored = stored.filter(|stored| stored.request == claim.request && self.now() < stored.expires_at);
        match stored.map(|stored| stored.result) {
            Some(Ok(Answered::Space(SpaceAnswer::Pack { pack }))) => {
                let saved = self.kept_pack(caller, &pack.pack_id).await?;
                Ok(Some(PackMade::Saved { saved: Box::new(saved), replayed: true }))
            }
            _ => Ok(None),
        }
    }

    /// The space and its wider ones at an instant. A wider one that does not exist is empty.
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

    /// If the instant is before the last statement, the state is folded again from the statements up to it.
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

    /// What a command cites of a saved pack.
    pub async fn cited_pack(&self, caller: &Caller, id: &PackId) -> Result<Option<CitedPack>, ServiceError> {
        let found = match self.store.saved_pack(&caller.tenant.tenant_id, id).await? {
            Some(saved) if self.goes(caller, &saved).await? => None,
            found => found,
        };
        Ok(found.map(|saved| CitedPack { pack_id: saved.pack_id, pack_hash: saved.pack.pack_hash }))
    }

    /// A saved pack, for a caller who may speak for its viewer, while that viewer may still see all of it.
    pub async fn saved_pack(&self, caller: &Caller, id: &PackId) -> Result<Unrecorded<Seen<SavedPack>>, ServiceError> {
        let asked = Looked {
            pack_id: Some(id.clone()),
            viewer_id: spoken_for(caller),
            ..Looked::at::<&str>("context_packs.get", [])
        };
        let saved = match self.kept_pack(caller, id).await {
            Ok(saved) => saved,
            Err(error) => return Unrecorded::or_nothing(Err(error), asked),
        };
        let shown = saved.shown();
        let looked = Looked {
            space_id: Some(shown.space_id.clone()),
            pack_id: Some(id.clone()),
            viewer_id: PrincipalId::new(shown.viewer.user_id.clone()).ok(),
            ..Looked::at("context_packs.get", &shown.pack.facts_included)
        };
        Ok(Unrecorded::new(saved, looked))
    }

    async fn kept_pack(&self, caller: &Caller, id: &PackId) -> Result<Seen<SavedPack>, ServiceError> {
        caller.require(Scope::FactRead)?;
        if !sees_values(caller) {
            return Err(ServiceError::DetailNotAllowed);
        }
        let found = self.store.saved_pack(&caller.tenant.tenant_id, id).await?;
        let saved = found.ok_or(ServiceError::NotFound("context pack"))?;
        if self.goes(caller, &saved).await? {
            return Err(ServiceError::NotFound("context pack"));
        }
        let nobodys = saved.viewer.user_id.is_empty();
        if !nobodys && !caller.speaks_for.may_name(&saved.viewer.user_id) {
            return Err(ServiceError::NotPermitted);
        }
        let viewer = self.as_registered(caller, saved.viewer.clone()).await?;
        let passed = self.pass_anew(caller, viewer, &saved).await?;
        // If the spaces of a pack are unknown, each of its facts has to be found.
        let found = |uid| passed.iter().any(|(_, space)| space.facts.contains_key(uid));
        if saved.wider.is_none() && !saved.pack.facts_included.iter().all(found) {
            return Err(ServiceError::NotPermitted);
        }
        kept(saved, &passed).ok_or(ServiceError::NotPermitted)
    }

    /// Whether a pack goes with a space that is being erased: its own one, or one of which it shows something.
    async fn goes(&self, caller: &Caller, saved: &SavedPack) -> Result<bool, ServiceError> {
        let going = self.store.going_spaces(&caller.tenant.tenant_id).await?;
        let going: Vec<&SpaceId> = going.iter().map(|record| &record.space_id).collect();
        if going.is_empty() || going.contains(&&saved.space_id) {
            return Ok(!going.is_empty());
        }
        let shown = saved.pack.facts_included.iter().map(FactUid::to_string);
        let named: Vec<String> = shown.chain(saved.pack.omitted.iter().map(|omitted| omitted.id.clone())).collect();
        let wants =
            going.into_iter().map(|name| SpaceWant { live: false, named: named.clone(), ..want(caller, name, false) });
        let rows = self.store.spaces(&wants.collect::<Vec<_>>()).await?;
        Ok(rows.iter().any(|(_, row)| matches!(row, SpaceRow::Fact(_))))
    }

    /// The spaces of a pack with those of its facts that they contain, and what its viewer may see of them now.
    async fn pass_anew(
        &self,
        caller: &Caller,
        viewer: Viewer,
        saved: &SavedPack,
    ) -> Result<Vec<(Pass, Space)>, ServiceError> {
        let names: Vec<&SpaceId> = std::iter::once(&saved.space_id).chain(saved.wider.iter().flatten()).collect();
        let shown = || saved.pack.facts_included.iter().map(|uid| uid.as_str().to_owned());
        let wants: Vec<SpaceWant> = names
            .iter()
            .map(|name| SpaceWant {
                live: false,
                named: shown().chain([String::new()]).collect(),
                ..want(caller, name, false)
            })
            .collect();
        let mut found = self.load_spaces(&wants).await?;
        let spaces: Vec<(&SpaceId, Space)> =
            names.into_iter().map(|name| (name, found.remove(name).unwrap_or_default())).collect();
        let at_gate = spaces.iter().map(|(space_id, space)| AtGate {
            space_id,
            record: space.record.as_ref(),
            facts: asked(space.facts.values()),
        });
        let gate = self.gate_for(caller, Looker::Viewer(viewer));
        let passes = gate.passes(&self.permissions, at_gate.collect()).await;
        Ok(passes.into_iter().zip(spaces).map(|(pass, (_, space))| (pass, space)).collect())
    }
}
