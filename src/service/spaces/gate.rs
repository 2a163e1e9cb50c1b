//! The gate before ranking: what of each partition a viewer may see. What is not allowed for certain is not shown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::permission::{AskedFact, PermissionQuestion, Permissions};
use crate::domain::id::{FactUid, SpaceId};
use crate::domain::policy::{AccessCallback, StateLayerRules};
use crate::service::Caller;
use crate::state_layer::authority::{AuthorityOrder, Viewer};
use crate::state_layer::fact::Fact;
use crate::state_layer::space::{Access, Partition, Space, SpaceRecord};

/// The facts of one space, with what its viewer may not see set apart.
pub(super) struct Shown {
    pub(super) facts: BTreeMap<FactUid, Fact>,
    pub(super) denied: Vec<FactUid>,
    /// Whether the viewer may see nothing of the space at all: neither facts nor who is served, what surrounds them and
    /// what they are working on.
    pub(super) barred: bool,
}

impl Shown {
    fn all(facts: BTreeMap<FactUid, Fact>) -> Self {
        Self { facts, denied: Vec::new(), barred: false }
    }

    fn nothing(facts: BTreeMap<FactUid, Fact>) -> Self {
        Self { facts: BTreeMap::new(), denied: facts.into_keys().collect(), barred: true }
    }

    /// What a service allowed; none if it could not tell.
    fn answered(mut facts: BTreeMap<FactUid, Fact>, allowed: Option<&BTreeSet<FactUid>>) -> Self {
        let Some(allowed) = allowed else { return Self::nothing(facts) };
        let denied: Vec<FactUid> = facts.keys().filter(|uid| !allowed.contains(*uid)).cloned().collect();
        let any = facts.is_empty() || denied.len() < facts.len();
        facts.retain(|uid, _| allowed.contains(uid));
        Self { facts, denied, barred: !any }
    }
}

/// Who decides.
enum Rule<'a> {
    /// Everything is shown.
    Open,
    /// Nothing is.
    Closed,
    /// A service says.
    Ask(&'a AccessCallback),
}

/// What a gate goes by.
pub(super) struct Gate<'a> {
    pub(super) caller: &'a Caller,
    pub(super) viewer: &'a Viewer,
    pub(super) order: &'a AuthorityOrder,
    pub(super) rules: &'a StateLayerRules,
}

impl<'a> Gate<'a> {
    fn rule(&self, record: Option<&SpaceRecord>) -> Rule<'a> {
        let Some(record) = record else { return Rule::Open };
        if owned_by_another(record, self.viewer) {
            return Rule::Closed;
        }
        match &record.access {
            Access::Open => Rule::Open,
            Access::List { allow } if allow.iter().any(|audience| self.viewer.belongs_to(audience, self.order)) => {
                Rule::Open
            }
            Access::List { .. } => Rule::Closed,
            Access::Callback { name } => self.rules.access_callbacks.get(name).map_or(Rule::Closed, Rule::Ask),
        }
    }

    /// What of each space may be shown, in their order. Services are asked all at once: the slowest is waited for, and
    /// no more than that.
    pub(super) async fn open(&self, permissions: &Arc<dyn Permissions>, spaces: Vec<(&SpaceId, Space)>) -> Vec<Shown> {
        let mut asked = JoinSet::new();
        let mut rules = Vec::with_capacity(spaces.len());
        for (at, (space_id, space)) in spaces.iter().enumerate() {
            let rule = self.rule(space.record.as_ref());
            if let Rule::Ask(callback) = &rule {
                let (permissions, callback) = (Arc::clone(permissions), (*callback).clone());
                let question = self.question(space_id, space);
                asked.spawn(async move { (at, permissions.allowed(&callback, &question).await) });
            }
            rules.push(rule);
        }
        let mut answers: BTreeMap<usize, Option<BTreeSet<FactUid>>> = BTreeMap::new();
        // A question that panicked has no answer.
        while let Some(answer) = asked.join_next().await {
            answers.extend(answer);
        }
        let shown = rules.into_iter().zip(spaces).enumerate().map(|(at, (rule, (_, space)))| match rule {
            Rule::Open => Shown::all(space.facts),
            Rule::Closed => Shown::nothing(space.facts),
            Rule::Ask(_) => Shown::answered(space.facts, answers.get(&at).and_then(Option::as_ref)),
        });
        shown.collect()
    }

    fn question(&self, space_id: &SpaceId, space: &Space) -> PermissionQuestion {
        let facts = space.facts.values().map(|fact| AskedFact { uid: fact.uid.clone(), key: fact.key.clone() });
        PermissionQuestion {
            tenant_id: self.caller.tenant.tenant_id.clone(),
            fact_space: space_id.clone(),
            viewer: self.viewer.clone(),
            facts: facts.collect(),
        }
    }
}

/// A user's own memory is shown to that user alone.
fn owned_by_another(record: &SpaceRecord, viewer: &Viewer) -> bool {
    match &record.partition {
        Partition::User { owner_id: Some(owner) } => *owner != viewer.user_id,
        Partition::User { owner_id: None } | Partition::Capability { .. } | Partition::Organization { .. } => false,
    }
}
