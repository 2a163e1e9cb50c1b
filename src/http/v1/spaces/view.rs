//! The wire forms of facts, spaces and effects.
//!
//! People who do not serve the conversation see the structure of facts and not their values: everything that a caller
//! wrote freely is redacted, except the key, by which a fact is found. What a program made (uids, times, causes, cues,
//! flags) is shown.

use serde::Serialize;
use serde_json::{Value, json};

use crate::domain::id::{FactLabel, FactUid, PrincipalId, SpaceId};
use crate::domain::time::Timestamp;
use crate::service::spaces::{FactView, Seen};
use crate::state_layer::fact::{
    Abstraction, Change, ConstraintType, Contest, Dependency, Fact, FactScope, MemoryType, Source, Standing,
};
use crate::state_layer::operation::Effects;
use crate::state_layer::space::{Access, Identity, Partition, SpaceRecord};

/// A fact (specification, layer 2).
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the specification's own members")]
pub(super) struct FactWire {
    uid: FactUid,
    id: Option<FactLabel>,
    key: String,
    value: Value,
    source: Option<Source>,
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
    depends_on: Vec<DependencyWire>,
    derived_facts: Vec<FactUid>,
    needs_review: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    invalid_bases: Vec<FactUid>,
    contested: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contests: Vec<ContestWire>,
    is_constraint: bool,
    constraint_type: Option<ConstraintType>,
    restricted_to: Vec<String>,
    deleted: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    history: Vec<ChangeWire>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    redacted: bool,
}

/// What a fact was derived from.
#[derive(Debug, Serialize)]
struct DependencyWire {
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fact_space: Option<SpaceId>,
    uid: Option<FactUid>,
    inferred: bool,
}

/// A probable supersession that is not settled.
#[derive(Debug, Serialize)]
struct ContestWire {
    by: FactUid,
    cue: String,
    confidence: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    since: Timestamp,
}

/// A change of a fact.
#[derive(Debug, Serialize)]
struct ChangeWire {
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    at: Timestamp,
}

impl FactWire {
    /// A fact, redacted for its reader.
    pub(super) fn of(fact: Seen<Fact>, derived_facts: Vec<FactUid>) -> Self {
        let shown = !fact.redacted();
        let fact = fact.into_shown();
        let (is_valid, deleted) = (fact.is_valid(), fact.is_deleted());
        let (superseded_by, reason, cause, superseded_at) = match fact.standing {
            Standing::Valid => (None, None, None, None),
            Standing::Superseded { by, cause, reason, since } => (by, Some(reason), Some(json!(cause)), Some(since)),
        };
        Self {
            uid: fact.uid,
            id: fact.label,
            key: fact.key,
            value: fact.value,
            authority: fact.source.authority.clone(),
            source: Some(fact.source).filter(|_| shown),
            writer_id: fact.writer_id,
            timestamp: fact.at,
            recorded_at: fact.recorded_at,
            is_valid,
            superseded_by,
            supersedes: fact.supersedes.map(|pointer| pointer.0),
            superseded: fact.superseded,
            reason: reason.filter(|_| shown),
            cause,
            superseded_at,
            memory_type: fact.memory_type,
            abstraction: fact.abstraction,
            scope: fact.scope,
            scope_id: fact.scope_id,
            depends_on: fact.depends_on.into_iter().map(|base| DependencyWire::of(base, shown)).collect(),
            derived_facts,
            needs_review: fact.review.is_some(),
            invalid_bases: fact.review.map(|review| review.bases).unwrap_or_default(),
            contested: !fact.contested.is_empty(),
            contests: fact.contested.into_iter().map(|contest| ContestWire::of(contest, shown)).collect(),
            is_constraint: fact.constraint.is_some(),
            constraint_type: fact.constraint,
            restricted_to: fact.restricted_to,
            deleted,
            history: fact.history.into_iter().map(|change| ChangeWire::of(change, shown)).collect(),
            redacted: !shown,
        }
    }

    pub(super) fn read(view: FactView) -> Self {
        Self::of(view.fact, view.derived_facts)
    }
}

impl DependencyWire {
    fn of(base: Dependency, shown: bool) -> Self {
        let Dependency { pointer, space, uid, inferred } = base;
        Self { pointer: Some(pointer.0).filter(|_| shown), fact_space: space, uid, inferred }
    }
}

impl ContestWire {
    fn of(contest: Contest, shown: bool) -> Self {
        let Contest { by, cue, confidence, reason, since } = contest;
        Self { by, cue, confidence, reason: Some(reason).filter(|_| shown), since }
    }
}

impl ChangeWire {
    fn of(change: Change, shown: bool) -> Self {
        let Change { what, reason, at } = change;
        Self { what, reason: Some(reason).filter(|_| shown), at }
    }
}

/// The side effects of an operation.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl EffectsWire {
    /// Effects, redacted for their reader.
    pub(super) fn of(effects: Seen<Effects>) -> Self {
        let shown = !effects.redacted();
        let effects = effects.into_shown();
        let reasons = effects.reasons.into_iter();
        Self {
            superseded: effects.superseded,
            contested: effects.contested,
            needs_review: effects.needs_review,
            created: effects.created,
            restored: effects.restored,
            unresolved: effects.unresolved.into_iter().map(|pointer| pointer.0).collect(),
            reasons: reasons.map(|(uid, reason)| ReasonWire { uid, reason: Some(reason).filter(|_| shown) }).collect(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct SpaceWire {
    fact_space: SpaceId,
    partition: Partition,
    wider: Vec<SpaceId>,
    access: AccessShown,
    identity: Option<Identity>,
    newest: Option<Timestamp>,
    revision: u64,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    redacted: bool,
}

/// The readers of a space.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum AccessShown {
    Open,
    List {
        #[serde(skip_serializing_if = "Option::is_none")]
        allow: Option<Vec<String>>,
    },
    Callback {
        callback: String,
    },
}

impl SpaceWire {
    /// A space, redacted for its reader: a redacted one shows neither who is served, nor its owner, nor other readers.
    pub(super) fn of(space: Seen<SpaceRecord>) -> Self {
        let shown = !space.redacted();
        let space = space.into_shown();
        Self {
            fact_space: space.space_id,
            partition: space.partition,
            wider: space.wider,
            access: match space.access {
                Access::Open => AccessShown::Open,
                Access::List { allow } => AccessShown::List { allow: Some(allow).filter(|_| shown) },
                Access::Callback { name } => AccessShown::Callback { callback: name },
            },
            identity: space.identity,
            newest: space.newest,
            revision: space.revision,
            created_at: space.created_at,
            updated_at: space.updated_at,
            redacted: !shown,
        }
    }
}
