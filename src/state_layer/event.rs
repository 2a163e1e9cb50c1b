//! What happened in a fact space. Every event becomes one entry of the evidence log, and state is their fold.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::assembly::SavedPack;
use super::fact::{Change, Contest, Fact, Former, MAX_HISTORY, Review, Standing};
use super::reading::{Forgotten, Reading};
use super::space::{Identity, Signal, Space, SpaceRecord, Touched, WorkingItem};
use super::statement::Ruling;
use crate::domain::disposal::ErasedRange;
use crate::domain::event::{About, Evidence, StreamKey};
use crate::domain::id::{FactUid, SpaceId};
use crate::domain::time::Timestamp;

/// What changed about a fact that was there before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactChange {
    pub uid: FactUid,
    /// How it stands from now on.
    #[serde(flatten)]
    pub standing: Standing,
    /// Who contests it from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contested: Vec<Contest>,
    /// What it needs from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// Facts it put out of force from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<FactUid>,
    /// Values before it from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<Former>,
    /// What its dependencies mean from now on, in the order of the fact's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<super::fact::Dependency>,
    /// What was added to its history.
    pub change: Change,
    /// Whether its value goes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forget_value: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum SpaceEvent {
    /// A space was made or described anew.
    SpaceDescribed {
        /// The record from now on.
        space: SpaceRecord,
    },
    IdentitySet {
        space_id: SpaceId,
        identity: Identity,
    },
    /// A fact was written, or made from a reading or a working item.
    FactWritten {
        /// The fact as it stands.
        fact: Fact,
    },
    /// A fact stands otherwise than before.
    FactChanged {
        space_id: SpaceId,
        change: FactChange,
    },
    /// A fact made from a reading goes: with what was learned since about earlier times, the reading bears on another
    /// fact or on none. Its row is deleted; the log has it.
    FactUnmade {
        space_id: SpaceId,
        uid: FactUid,
        reason: String,
    },
    /// An utterance was read, and claimed something.
    ObservationRead {
        space_id: SpaceId,
        reading: Reading,
    },
    /// Somebody ruled about a fact or a scope.
    Ruled {
        space_id: SpaceId,
        ruling: Ruling,
    },
    /// A signal was set.
    SignalSet {
        space_id: SpaceId,
        signal: Signal,
    },
    /// A signal was removed.
    SignalRemoved {
        space_id: SpaceId,
        key: String,
    },
    /// A working item was set.
    ItemSet {
        space_id: SpaceId,
        item: WorkingItem,
    },
    /// A working item went.
    ItemRemoved {
        space_id: SpaceId,
        key: String,
        /// `removed`, `promoted`, `task_closed`, `expired`.
        reason: String,
    },
    /// A pack was kept.
    PackSaved {
        pack: SavedPack,
    },
    /// A space was erased: from now on there is no such space. What is stored of it goes afterwards, in steps, until
    /// [`Self::SpaceErasureCompleted`].
    SpaceErased {
        space_id: SpaceId,
        /// How many facts stood.
        facts: u64,
        /// Its record until the last step. None in entries of versions that erased everything at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        going: Option<Box<SpaceRecord>>,
    },
    /// Nothing is stored any more of a space that was erased.
    SpaceErasureCompleted {
        space_id: SpaceId,
        /// The entries of its stream whose payloads went: all that were there.
        payloads: ErasedRange,
    },
    /// What entries said of facts that were deleted, and of what was read of them, was erased in the transaction that wrote
    /// this: these payloads, and no others.
    EvidenceErased {
        space_id: SpaceId,
        /// The first entry of that transaction: deletions from there on are accounted for here.
        since: u64,
        payloads: Vec<ErasedRange>,
    },
}

impl Evidence for SpaceEvent {
    fn evidence_type(&self) -> &'static str {
        Self::evidence_type(self)
    }

    fn stream(&self, about: &About) -> Option<StreamKey> {
        about.space_id.clone().map(StreamKey::FactSpace)
    }
}

impl SpaceEvent {
    /// The evidence type of [`Self::EvidenceErased`].
    pub const EVIDENCE_ERASED: &'static str = "fact_space.evidence_erased";
    /// The evidence type of [`Self::SpaceErased`].
    pub const SPACE_ERASED: &'static str = "fact_space.erased";
    /// The evidence type of [`Self::SpaceErasureCompleted`].
    pub const SPACE_ERASURE_COMPLETED: &'static str = "fact_space.erasure_completed";

    #[must_use]
    pub fn evidence_type(&self) -> &'static str {
        match self {
            Self::SpaceDescribed { .. } => "fact_space.described",
            Self::IdentitySet { .. } => "fact_space.identity_set",
            Self::FactWritten { .. } => "fact.written",
            Self::FactChanged { change, .. } => match &change.standing {
                _ if change.forget_value => "fact.deleted",
                Standing::Superseded { .. } if change.change.what == Change::SUPERSEDED => "fact.superseded",
                Standing::Valid if change.change.what == Change::CONTESTED => "fact.contested",
                Standing::Valid if change.change.what == Change::NEEDS_REVIEW => "fact.needs_review",
                Standing::Valid if change.change.what == Change::RESTORED => "fact.restored",
                _ => "fact.changed",
            },
            Self::FactUnmade { .. } => "fact.unmade",
            Self::ObservationRead { .. } => "observation.read",
            Self::Ruled { .. } => "fact.ruled",
            Self::SignalSet { .. } => "environment.set",
            Self::SignalRemoved { .. } => "environment.removed",
            Self::ItemSet { .. } => "working_set.set",
            Self::ItemRemoved { .. } => "working_set.removed",
            Self::PackSaved { .. } => "context_pack.saved",
            Self::SpaceErased { .. } => Self::SPACE_ERASED,
            Self::SpaceErasureCompleted { .. } => Self::SPACE_ERASURE_COMPLETED,
            Self::EvidenceErased { .. } => Self::EVIDENCE_ERASED,
        }
    }
}

impl Space {
    /// Folds one event into the state.
    pub fn apply(&mut self, at: Timestamp, event: &SpaceEvent) {
        match event {
            SpaceEvent::SpaceDescribed { space } => self.record = Some(space.clone()),
            SpaceEvent::IdentitySet { identity, .. } => {
                if let Some(record) = &mut self.record {
                    record.identity = Some(identity.clone());
                    record.revision = record.revision.saturating_add(1);
                }
            }
            SpaceEvent::FactWritten { fact } => {
                self.stated(fact.at);
                self.touched.facts.insert(fact.uid.clone());
                self.facts.insert(fact.uid.clone(), fact.clone());
            }
            SpaceEvent::FactChanged { change, .. } => self.change(change),
            SpaceEvent::FactUnmade { uid, .. } => {
                self.touched.facts.insert(uid.clone());
                self.facts.remove(uid);
            }
            SpaceEvent::ObservationRead { reading, .. } => {
                self.stated(reading.at);
                self.touched.readings.insert(reading.reading_id.clone());
                self.readings.insert(reading.reading_id.clone(), reading.clone());
            }
            SpaceEvent::Ruled { ruling, .. } => {
                self.stated(ruling.at);
                self.touched.rulings.insert(ruling.ruling_id.clone());
                self.rulings.insert(ruling.ruling_id.clone(), ruling.clone());
            }
            SpaceEvent::SignalSet { signal, .. } => {
                self.touched.signals.insert(signal.key.clone());
                self.signals.insert(signal.key.clone(), signal.clone());
            }
            SpaceEvent::SignalRemoved { key, .. } => {
                self.touched.signals.insert(key.clone());
                self.signals.remove(key);
            }
            SpaceEvent::ItemSet { item, .. } => {
                self.touched.items.insert(item.key.clone());
                self.items.insert(item.key.clone(), item.clone());
            }
            SpaceEvent::ItemRemoved { key, .. } => {
                self.touched.items.insert(key.clone());
                self.items.remove(key);
            }
            SpaceEvent::PackSaved { pack } => {
                self.touched.packs.insert(pack.pack_id.clone());
                self.packs.insert(pack.pack_id.clone(), pack.clone());
                return;
            }
            // What else changed before in the same transaction is not written: it would have to go again.
            SpaceEvent::SpaceErased { going: Some(record), .. } => {
                self.record = Some(SpaceRecord::clone(record));
                self.touched = Touched { space: true, ..Touched::default() };
                return;
            }
            SpaceEvent::SpaceErased { going: None, .. } | SpaceEvent::SpaceErasureCompleted { .. } => {
                *self = Self { whole: self.whole, ..Self::default() };
                self.touched.erased = true;
                return;
            }
            // It tells of the log, and changes nothing in the space.
            SpaceEvent::EvidenceErased { .. } => return,
        }
        if let Some(record) = &mut self.record {
            record.updated_at = at;
            self.touched.space = true;
        }
    }

    /// Keeps the time of the newest statement.
    fn stated(&mut self, at: Timestamp) {
        if let Some(record) = &mut self.record {
            record.newest = record.newest.max(Some(at));
        }
    }

    /// Forgets what was read of a deleted fact: the claims that tell of its value, and those of which facts of its key
    /// were made, for they say what they replaced. Facts that were made of them stay, and stand for themselves.
    fn forget_readings(&mut self, key: &str, value: &str) {
        let value = Forgotten::of(value);
        let made: BTreeSet<&FactUid> = self
            .facts
            .values()
            .filter(|fact| fact.reading_id.is_some() && fact.key == key)
            .map(|fact| &fact.uid)
            .collect();
        for (reading_id, reading) in &mut self.readings {
            if reading.forget(&value, |uid| made.contains(uid)) {
                self.touched.readings.insert(reading_id.clone());
                self.touched.forgotten_readings.insert(reading_id.clone());
            }
        }
    }

    fn change(&mut self, change: &FactChange) {
        let Some(fact) = self.facts.get_mut(&change.uid) else { return };
        fact.standing = change.standing.clone();
        fact.contested.clone_from(&change.contested);
        fact.review.clone_from(&change.review);
        fact.superseded.clone_from(&change.superseded);
        fact.former.clone_from(&change.former);
        fact.depends_on.clone_from(&change.depends_on);
        let forgotten = change.forget_value.then(|| (fact.key.clone(), fact.text()));
        if change.forget_value {
            fact.value = Value::Null;
        }
        fact.history.push(change.change.clone());
        let excess = fact.history.len().saturating_sub(MAX_HISTORY);
        fact.history.drain(..excess);
        self.touched.facts.insert(change.uid.clone());
        if let Some((key, value)) = forgotten {
            self.touched.forgotten_facts.insert(change.uid.clone());
            self.forget_readings(&key, &value);
        }
    }
}
