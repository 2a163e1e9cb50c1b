//! Facts, spaces and effects as callers see them.

use serde::Serialize;
use serde_json::{Value, json};

use crate::domain::id::{FactLabel, FactUid, PrincipalId, SpaceId};
use crate::domain::time::Timestamp;
use crate::http::extract::Call;
use crate::service::spaces::{FactView, sees_values};
use crate::state_layer::fact::{
    Abstraction, Change, ConstraintType, Contest, Dependency, Fact, FactScope, MemoryType, Source, Standing,
};
use crate::state_layer::operation::Effects;
use crate::state_layer::space::{Access, Identity, Partition, SpaceRecord};

/// A fact (specification, layer 2).
#[derive(Debug, Serialize)]
pub(super) struct FactWire {
    uid: FactUid,
    id: Option<FactLabel>,
    key: String,
    value: Value,
    source: Source,
    authority: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    writer_id: Option<PrincipalId>,
    timestamp: Timestamp,
    recorded_at: Timestamp,
    is_valid: bool,
    superseded_by: Option<FactUid>,
    supersedes: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    superseded: Vec<FactUid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_at: Option<Timestamp>,
    memory_type: MemoryType,
    #[serde(skip_serializing_if = "Option::is_none")]
    abstraction: Option<Abstraction>,
    scope: FactScope,
    scope_id: Option<String>,
    depends_on: Vec<Dependency>,
    derived_facts: Vec<FactUid>,
    needs_review: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    invalid_bases: Vec<FactUid>,
    contested: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contests: Vec<Contest>,
    is_constraint: bool,
    constraint_type: Option<ConstraintType>,
    restricted_to: Vec<String>,
    deleted: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    history: Vec<Change>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    redacted: bool,
}

impl FactWire {
    /// A fact for this caller.
    pub(super) fn of(call: &Call, fact: Fact, derived_facts: Vec<FactUid>) -> Self {
        let shown = sees_values(&call.caller);
        let is_valid = fact.is_valid();
        let (superseded_by, reason, cause, superseded_at) = match fact.standing {
            Standing::Valid => (None, None, None, None),
            Standing::Superseded { by, cause, reason, since } => (by, Some(reason), Some(json!(cause)), Some(since)),
        };
        let deleted = fact.value.is_null() && cause == Some(json!("deleted"));
        Self {
            uid: fact.uid,
            id: fact.label,
            key: fact.key,
            value: if shown || deleted { fact.value } else { json!({"redacted": "hide"}) },
            authority: fact.source.authority.clone(),
            source: fact.source,
            writer_id: fact.writer_id,
            timestamp: fact.at,
            recorded_at: fact.recorded_at,
            is_valid,
            superseded_by,
            supersedes: fact.supersedes.map(|pointer| pointer.0),
            superseded: fact.superseded,
            reason,
            cause,
            superseded_at,
            memory_type: fact.memory_type,
            abstraction: fact.abstraction,
            scope: fact.scope,
            scope_id: fact.scope_id,
            depends_on: fact.depends_on,
            derived_facts,
            needs_review: fact.review.is_some(),
            invalid_bases: fact.review.map(|review| review.bases).unwrap_or_default(),
            contested: !fact.contested.is_empty(),
            contests: fact.contested,
            is_constraint: fact.constraint.is_some(),
            constraint_type: fact.constraint,
            restricted_to: fact.restricted_to,
            deleted,
            history: fact.history,
            redacted: !shown && !deleted,
        }
    }

    /// A fact as it was read.
    pub(super) fn read(call: &Call, view: FactView) -> Self {
        Self::of(call, view.fact, view.derived_facts)
    }
}

/// What an operation changed beyond what it asked for.
#[derive(Debug, Serialize)]
pub(super) struct EffectsWire {
    superseded: Vec<FactUid>,
    contested: Vec<FactUid>,
    needs_review: Vec<FactUid>,
    created: Vec<FactUid>,
    restored: Vec<FactUid>,
    unresolved: Vec<String>,
    reasons: Vec<ReasonWire>,
}

#[derive(Debug, Serialize)]
struct ReasonWire {
    uid: FactUid,
    reason: String,
}

impl From<Effects> for EffectsWire {
    fn from(effects: Effects) -> Self {
        Self {
            superseded: effects.superseded,
            contested: effects.contested,
            needs_review: effects.needs_review,
            created: effects.created,
            restored: effects.restored,
            unresolved: effects.unresolved.into_iter().map(|pointer| pointer.0).collect(),
            reasons: effects.reasons.into_iter().map(|(uid, reason)| ReasonWire { uid, reason }).collect(),
        }
    }
}

/// A fact space.
#[derive(Debug, Serialize)]
pub(super) struct SpaceWire {
    fact_space: SpaceId,
    partition: Partition,
    wider: Vec<SpaceId>,
    access: Access,
    identity: Option<Identity>,
    newest: Option<Timestamp>,
    revision: u64,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl SpaceWire {
    /// A space for this caller: people who look do not see who is served.
    pub(super) fn of(call: &Call, space: SpaceRecord) -> Self {
        Self {
            fact_space: space.space_id,
            partition: space.partition,
            wider: space.wider,
            access: space.access,
            identity: space.identity.filter(|_| sees_values(&call.caller)),
            newest: space.newest,
            revision: space.revision,
            created_at: space.created_at,
            updated_at: space.updated_at,
        }
    }
}
