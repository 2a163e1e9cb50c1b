//! Facts: the full schema of the specification (layer 2), and how a fact stands.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::id::{FactLabel, FactUid, PrincipalId, ReadingId, SpaceId};
use crate::domain::time::Timestamp;

/// The longest value, in bytes of its canonical JSON.
pub const MAX_VALUE_BYTES: usize = 16 * 1024;
/// The most dependencies of one fact.
pub const MAX_DEPENDENCIES: usize = 64;
/// The most facts that no longer stand that a review names.
pub const MAX_FALLEN: usize = 64;
/// The most former values that a fact carries along, newest first.
pub const MAX_FORMER: usize = 8;
/// The most of a former value that is carried along, in bytes; what is longer is cut at a character.
pub const MAX_FORMER_BYTES: usize = 2 * 1024;
/// The most changes that a fact's own history keeps; the evidence log has them all.
pub const MAX_HISTORY: usize = 64;

/// How far a fact reaches (specification, scope tracking). Only `Global` reaches a decision outside its own scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactScope {
    /// All decisions across sessions.
    #[default]
    Global,
    /// One task; dies with it.
    Task,
    Hypothetical,
    /// A proposal that is not a commitment.
    Draft,
    Session,
}

/// The tri-partite classification of the paper (3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryType {
    /// Private to a user.
    User,
    /// What an agent has learned, by organisation and capability.
    Capability,
    /// Institutional knowledge, shown to whoever may see it.
    Organizational,
}

/// The abstraction of a capability memory; each needs a maturity of its writer (paper 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Abstraction {
    /// One observation. Junior agents may write it.
    Event,
    /// A pattern. Senior agents may write it.
    Heuristic,
    /// A playbook. Master agents may write it.
    Strategy,
}

/// What kind of constraint a fact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintType {
    Budget,
    Deadline,
    Capacity,
    Policy,
}

/// Where a fact comes from, as its writer says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Source {
    /// `conversation`, `state_write`, `system`, `policy`, `user`, `observation`, … Free: systems have their own words.
    #[serde(rename = "type")]
    pub kind: String,
    /// Who said it, in the writer's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The authority claimed: a level of policy's order, or a title such as `CFO`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_index: Option<u64>,
}

/// A name by which a writer points to another fact: tried as uid, then as label, then as key; newest valid first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pointer(pub String);

/// What a fact was derived from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// As the writer named it.
    pub pointer: Pointer,
    /// In which space, if not in the fact's own: the same or a wider partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<SpaceId>,
    /// The fact it meant when it was written; none while nothing answers to the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<FactUid>,
    /// Found by the server (the value quotes the base's value), not named by the writer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inferred: bool,
}

/// Why a fact stopped standing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A newer fact named it.
    Pointer,
    /// A newer fact has its key.
    SameKey,
    /// A source of higher authority says otherwise.
    Authority,
    /// A newer value of a time-sensitive key.
    Temporal,
    /// An utterance said so for certain.
    Observation,
    /// Its task or session ended.
    ScopeEnded,
    /// A person deleted it.
    Deleted,
    /// What it had replaced or contested was put back into force.
    Restored,
}

/// How a fact stands. `is_valid` of the specification is [`Standing::is_valid`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum Standing {
    Valid,
    /// Replaced, overruled or withdrawn.
    Superseded {
        /// By which fact; none where nothing came in its place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<FactUid>,
        cause: Cause,
        /// In words: cue, rule or the caller's own reason. Never the utterance.
        reason: String,
        since: Timestamp,
    },
}

impl Standing {
    /// Whether the fact is current.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        matches!(self, Self::Valid)
    }
}

/// A probable supersession: the fact still stands, and is flagged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contest {
    /// The fact that contests it.
    pub by: FactUid,
    /// The cue: a word class such as `correction`, or `equal_authority`.
    pub cue: String,
    /// 0 to 100.
    pub confidence: u8,
    pub reason: String,
    pub since: Timestamp,
}

/// Why a fact has to be looked at again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// The facts it was derived from that no longer stand.
    pub bases: Vec<FactUid>,
    pub since: Timestamp,
}

/// One change of a fact, for its history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What: `superseded`, `contested`, `needs_review`, `restored`, `deleted`, …
    pub what: String,
    pub reason: String,
    /// When, in the space's own time.
    pub at: Timestamp,
}

impl Change {
    pub const SUPERSEDED: &'static str = "superseded";
    /// Something probable speaks against it.
    pub const CONTESTED: &'static str = "contested";
    /// What it was derived from no longer stands.
    pub const NEEDS_REVIEW: &'static str = "needs_review";
    pub const RESTORED: &'static str = "restored";
    pub const DELETED: &'static str = "deleted";
    /// What contested it, or asked for review, no longer does.
    pub const SETTLED: &'static str = "settled";
    /// Its links to other facts changed, and nothing else.
    pub const LINKED: &'static str = "linked";
}

/// A value that this fact, or one before it in the chain, replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Former {
    pub uid: FactUid,
    pub text: String,
}

impl Former {
    /// A fact's value as others carry it along; none if it has none, or none any more.
    #[must_use]
    pub fn of(fact: &Fact) -> Option<Self> {
        let mut text = fact.text();
        text.truncate(text.floor_char_boundary(MAX_FORMER_BYTES));
        (!text.is_empty()).then(|| Self { uid: fact.uid.clone(), text })
    }
}

/// A fact with everything that is known about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// The server's own id, one a write.
    pub uid: FactUid,
    /// The writer's label. Repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<FactLabel>,
    pub key: String,
    /// The content. `Null` after it was deleted.
    pub value: Value,
    /// Where it comes from.
    pub source: Source,
    /// Who wrote it, as the credential says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer_id: Option<PrincipalId>,
    /// When it became true (valid time).
    pub at: Timestamp,
    /// When this server learned of it (transaction time).
    pub recorded_at: Timestamp,
    pub scope: FactScope,
    /// Which task, session or scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<String>,
    /// Which memory it belongs to.
    pub memory_type: MemoryType,
    /// Its abstraction, for capability memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abstraction: Option<Abstraction>,
    /// Whether it binds decisions, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<ConstraintType>,
    /// Who may see it; empty: everybody in the partition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restricted_to: Vec<String>,
    /// The fact it replaces, as named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<Pointer>,
    /// Why it replaces it, in the writer's words.
    #[serde(default, rename = "supersedes_reason", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What that name meant: the facts this one put out of force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<FactUid>,
    /// What it was derived from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
    /// The reading it was made from, if an utterance made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading_id: Option<ReadingId>,
    #[serde(flatten)]
    pub standing: Standing,
    /// Probable supersessions that nobody has settled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contested: Vec<Contest>,
    /// Whether a base was invalidated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// Values before this one, newest first: what must not come back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<Former>,
    /// What happened to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Change>,
}

impl Fact {
    /// The value as text: a string as it is, anything else as compact JSON.
    #[must_use]
    pub fn text(&self) -> String {
        self.words().into_owned()
    }

    /// The same without a copy, where the value is a text.
    #[must_use]
    pub fn words(&self) -> Cow<'_, str> {
        match &self.value {
            Value::String(text) => Cow::Borrowed(text),
            Value::Null => Cow::Borrowed(""),
            other => Cow::Owned(other.to_string()),
        }
    }

    /// Whether it is current.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.standing.is_valid()
    }

    /// Whether it was deleted: its value is gone for good.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        matches!(self.standing, Standing::Superseded { cause: Cause::Deleted, .. })
    }

    /// Lets go of the former values of these facts; says whether it carried any.
    pub fn forget_former(&mut self, uids: &BTreeSet<FactUid>) -> bool {
        let before = self.former.len();
        self.former.retain(|former| !uids.contains(&former.uid));
        self.former.len() < before
    }

    /// The fact as it was written, before anything was derived. Of a deleted one, whose value can no longer tell what
    /// it replaced, the facts it replaced stay named.
    #[must_use]
    pub fn as_written(&self) -> Self {
        let mut fact = self.clone();
        if !self.is_deleted() {
            fact.superseded.clear();
        }
        fact.standing = Standing::Valid;
        fact.contested.clear();
        fact.review = None;
        fact.former.clear();
        fact.history.clear();
        fact.depends_on.retain(|dependency| !dependency.inferred);
        for dependency in fact.depends_on.iter_mut().filter(|dependency| dependency.space.is_none()) {
            dependency.uid = None;
        }
        fact
    }
}
