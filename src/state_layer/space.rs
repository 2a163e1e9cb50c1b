//! Fact spaces: a storage partition of facts with the other three layers around it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fact::Fact;
use super::reading::Reading;
use super::statement::Ruling;
use crate::domain::id::{ErasureId, FactUid, PackId, ReadingId, RulingId, SpaceId};
use crate::domain::time::Timestamp;

/// Whose memory a space is; fixed when it is created. Never a filter: one space is one partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "memory", rename_all = "snake_case")]
pub enum Partition {
    /// Private to one user.
    User {
        /// Whose, by the caller's id: nobody else is shown anything of it. None: whoever may read the space.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner_id: Option<String>,
    },
    /// What agents with one capability learned in one organisation.
    Capability { organization: String, capability: String },
    /// Knowledge of an organisation, with its access rules.
    Organization { organization: String },
}

impl Partition {
    /// 0 user, 1 capability, 2 organisation: dependencies point to the same or a higher number.
    #[must_use]
    pub fn width(&self) -> u8 {
        match self {
            Self::User { .. } => 0,
            Self::Capability { .. } => 1,
            Self::Organization { .. } => 2,
        }
    }
}

/// Who may see what is in a space. Asked when a pack is assembled; what is not allowed for certain is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "access", rename_all = "snake_case")]
pub enum Access {
    /// Whoever may read the space at all.
    #[default]
    Open,
    /// Viewers that match one of these: a user id, a role, a title, a department.
    List { allow: Vec<String> },
    /// A service that policy names decides at query time; no answer in time is a no.
    Callback {
        /// Its name in policy.
        name: String,
    },
}

/// Layer 1: who is served, and with what authority. Set for a conversation or session and read-only in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The caller's id of the person.
    pub user_id: String,
    /// The name to address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_name: Option<String>,
    /// A level of policy's order, or a title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub department: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// How the person likes to be talked to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub communication_style: Option<String>,
    /// Explicit grants: restricted facts for these audiences are shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<String>,
}

/// Layer 4: a signal from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    pub key: String,
    pub value: Value,
    /// When it was observed.
    pub observed_at: Timestamp,
    /// From when on it is stale whatever comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_at: Option<Timestamp>,
    /// What this key said before, newest first: what must not come back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<String>,
}

/// Layer 3: scratch of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkingItem {
    pub key: String,
    /// `context`, `objective`, `artifact`, `question`, …
    pub item_type: String,
    pub content: Value,
    /// What to show first; higher is earlier.
    pub priority: i32,
    /// The task it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Whether it becomes a fact when its task closes, and under which key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promote_as: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// What is known of a space beside its records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceRecord {
    pub space_id: SpaceId,
    /// Whose memory it is.
    #[serde(flatten)]
    pub partition: Partition,
    /// Wider partitions that a pack takes in too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wider: Vec<SpaceId>,
    /// Who may see it.
    #[serde(flatten)]
    pub access: Access,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// The time of its newest statement: what is stated before it is late, and is folded in where it belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<Timestamp>,
    /// Counts changes; the `ETag`.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Since when it is being erased. From then on it is answered as deleted; what is stored of it goes in steps, this
    /// record last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erased_at: Option<Timestamp>,
    /// The erasure of a person that it is part of. That one completes it, because the space's name goes too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erasure_id: Option<ErasureId>,
}

impl SpaceRecord {
    /// Whether it is being erased: to every reader and writer there is no such space.
    #[must_use]
    pub fn is_going(&self) -> bool {
        self.erased_at.is_some()
    }

    /// Whose memory this is: who owns it, or, where nobody does, is served in it.
    #[must_use]
    pub fn memory_of(&self) -> Option<&str> {
        let Partition::User { owner_id } = &self.partition else { return None };
        let served = self.identity.as_ref().map(|identity| identity.user_id.as_str());
        owner_id.as_deref().or(served)
    }

    /// Whether this is that one's memory.
    #[must_use]
    pub fn is_memory_of(&self, user_id: &str) -> bool {
        self.memory_of() == Some(user_id)
    }
}

/// What events have changed since loading, so that storage writes those rows and no others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    /// The space's own record.
    pub space: bool,
    /// Facts. One that is touched and not there was unmade: its row goes. So with signals and items.
    pub facts: BTreeSet<FactUid>,
    /// Those of them whose value was deleted just now. What is deleted already is not deleted again: the entry that says
    /// so stays.
    pub forgotten_facts: BTreeSet<FactUid>,
    pub readings: BTreeSet<ReadingId>,
    /// Those of them that were forgotten.
    pub forgotten_readings: BTreeSet<ReadingId>,
    pub rulings: BTreeSet<RulingId>,
    pub signals: BTreeSet<String>,
    /// Working items, by key.
    pub items: BTreeSet<String>,
    pub packs: BTreeSet<PackId>,
    /// Everything is erased.
    pub erased: bool,
}

/// A fact space as far as it was loaded.
///
/// Loaded for a decision: every valid fact, every signal and working item, and the facts that the operation names;
/// with [`Space::whole`] also every fact that no longer stands, every reading and every ruling.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Space {
    /// Its record; none before the first write.
    pub record: Option<SpaceRecord>,
    pub facts: BTreeMap<FactUid, Fact>,
    pub readings: BTreeMap<ReadingId, Reading>,
    pub rulings: BTreeMap<RulingId, Ruling>,
    pub signals: BTreeMap<String, Signal>,
    /// Working items by key.
    pub items: BTreeMap<String, WorkingItem>,
    /// Packs saved since loading.
    pub packs: BTreeMap<PackId, super::assembly::SavedPack>,
    /// Whether history was loaded too.
    pub whole: bool,
    /// What has changed since loading.
    pub touched: Touched,
}
