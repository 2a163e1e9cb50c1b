//! Operations on a fact space, as plain data, and what they answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::assembly::{ContextPack, SavedPack};
use super::authority::Viewer;
use super::fact::{Abstraction, ConstraintType, Fact, FactScope, MemoryType, Pointer, Source};
use super::reading::Reading;
use super::space::{Access, Identity, Partition, Signal, SpaceRecord, WorkingItem};
use crate::domain::id::{FactLabel, FactUid, PackId, PrincipalId, SpaceId};
use crate::domain::operation::CredentialKind;
use crate::domain::principal::Maturity;
use crate::domain::time::Timestamp;

/// Who writes: from the credential and the principal it is bound to, never from the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writer {
    /// The kind of credential.
    pub credential: CredentialKind,
    /// The principal it is bound to.
    pub principal_id: Option<PrincipalId>,
    /// The principal for whom it may speak, if it is one: whose wishes it may pass on.
    pub speaks_for: Option<PrincipalId>,
}

/// A dependency as a writer names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDependency {
    pub pointer: Pointer,
    /// In which space, if not in this one.
    pub space: Option<SpaceId>,
}

/// A fact to write.
#[derive(Debug, Clone, PartialEq)]
pub struct NewFact {
    pub label: Option<FactLabel>,
    pub key: String,
    pub value: Value,
    /// Where it comes from.
    pub source: Source,
    /// When it became true; the present if not said.
    pub at: Option<Timestamp>,
    /// Its reach; read from the value's marks and words if not said.
    pub scope: Option<FactScope>,
    /// Which task, session or scenario.
    pub scope_id: Option<String>,
    /// Its memory; classified from its source if not said.
    pub memory_type: Option<MemoryType>,
    /// Its abstraction, for capability memory.
    pub abstraction: Option<Abstraction>,
    /// Whether it is a constraint; detected if not said.
    pub is_constraint: Option<bool>,
    /// Which kind; detected if not said.
    pub constraint_type: Option<ConstraintType>,
    /// Who may see it.
    pub restricted_to: Vec<String>,
    /// The fact it replaces.
    pub supersedes: Option<Pointer>,
    pub reason: Option<String>,
    /// What it was derived from.
    pub depends_on: Vec<NamedDependency>,
    /// Refuse it if a name in it points to nothing. Otherwise such a name waits for its fact.
    pub require_targets: bool,
}

/// Everything that can be asked of one space.
#[derive(Debug, Clone, PartialEq)]
pub enum SpaceAction {
    /// Describe the space: partition, wider partitions, access.
    Describe {
        /// Whose memory; a user's if not said. Fixed from then on.
        partition: Option<Partition>,
        wider: Vec<SpaceId>,
        /// Who may see it.
        access: Access,
        /// The revision it was read at, if the caller cares.
        if_revision: Option<u64>,
    },
    /// Set the identity layer.
    SetIdentity(Identity),
    /// Write facts, all or none.
    Write(Vec<NewFact>),
    /// Take in what an utterance was read as.
    Observe(Reading),
    /// Put a superseded or contested fact back into force.
    Restore {
        uid: FactUid,
        reason: String,
    },
    /// Delete a fact: its value goes, its place in the chain stays.
    Delete {
        uid: FactUid,
        reason: String,
    },
    /// Set a signal of the environment. An older one than the present one is kept out.
    SetSignal(Signal),
    RemoveSignal(String),
    /// Set an item of the working set.
    SetItem(WorkingItem),
    RemoveItem(String),
    /// Close a task or session: promote what is reusable, drop the rest, end its scope.
    CloseTask {
        task_id: String,
        /// Keys of items to promote, beside those that say so themselves.
        promote: Vec<String>,
    },
    /// Keep a pack that was assembled.
    SavePack {
        viewer: Viewer,
        as_of: Timestamp,
        /// Wider spaces that it was assembled from.
        wider: Vec<SpaceId>,
        pack: Box<ContextPack>,
    },
    /// Erase the space and everything in it.
    Erase,
}

impl SpaceAction {
    /// Whether it folds statements, and changes nothing before it has.
    #[must_use]
    pub fn folds(&self) -> bool {
        match self {
            Self::Write(_) | Self::Observe(_) | Self::Restore { .. } | Self::Delete { .. } | Self::CloseTask { .. } => {
                true
            }
            Self::Describe { .. }
            | Self::SetIdentity(_)
            | Self::SetSignal(_)
            | Self::RemoveSignal(_)
            | Self::SetItem(_)
            | Self::RemoveItem(_)
            | Self::SavePack { .. }
            | Self::Erase => false,
        }
    }
}

/// An operation on a space.
#[derive(Debug, Clone, PartialEq)]
pub struct SpaceOperation {
    pub space_id: SpaceId,
    pub writer: Writer,
    pub action: SpaceAction,
}

/// What a writer may do, as the principal's record says under the lock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriterStanding {
    /// Maturity; junior if unknown.
    pub maturity: Maturity,
    pub roles: Vec<String>,
    /// Whether the principal is a person.
    pub is_person: bool,
}

/// What an operation changed beyond what it asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Effects {
    /// Facts put out of force.
    pub superseded: Vec<FactUid>,
    pub contested: Vec<FactUid>,
    /// Facts that need review now.
    pub needs_review: Vec<FactUid>,
    /// Facts made from the utterance, or promoted.
    pub created: Vec<FactUid>,
    /// Facts back in force.
    pub restored: Vec<FactUid>,
    /// Names that point to nothing yet: they wait for their fact.
    pub unresolved: Vec<Pointer>,
    /// Why, fact by fact: uid and reason.
    pub reasons: Vec<(FactUid, String)>,
}

/// What an operation answers when it was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "space_answer", rename_all = "snake_case")]
pub enum SpaceAnswer {
    /// To description and identity.
    Space {
        /// As it stands now.
        space: Box<SpaceRecord>,
        /// Whether it is new.
        created: bool,
    },
    /// To everything that changes facts.
    Facts {
        /// Those written, restored or deleted, as they stand now, in the order of the request.
        facts: Vec<Fact>,
        effects: Effects,
    },
    Observed {
        /// What it was read as.
        reading: Reading,
        effects: Effects,
        /// The facts it made.
        facts: Vec<Fact>,
    },
    Signal {
        /// The one in force.
        signal: Signal,
        /// Whether the request's is the one in force.
        accepted: bool,
    },
    /// To a working item.
    Item {
        item: WorkingItem,
    },
    /// To a closed task.
    Closed {
        /// Keys of items that became facts.
        promoted: Vec<String>,
        /// Keys of items that were dropped.
        dropped: Vec<String>,
        effects: Effects,
    },
    /// To a saved pack.
    Pack {
        /// The pack as it is kept.
        pack: Box<SavedPack>,
    },
    Done,
}

/// What of a space has to be loaded before an operation can be decided.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpaceNeeds {
    /// Facts named by uid, label or key. Of those that no longer stand the newest that has the name for its label and
    /// the newest that has it for its key will do, with the facts that replaced them one after the other
    /// ([`Standing::Superseded`]'s `by`) up to the one that stands.
    ///
    /// [`Standing::Superseded`]: super::fact::Standing::Superseded
    pub named: Vec<Pointer>,
    pub pack: Option<PackId>,
    /// Wider spaces whose facts are named: looked at, not locked.
    pub wider: Vec<(SpaceId, Pointer)>,
    /// The earliest own time of what is stated; see [`SpaceNeeds::is_whole`].
    pub earliest: Option<Timestamp>,
    /// The latest own time of what is stated; none if nothing is stated or something is stated as of the present.
    pub latest: Option<Timestamp>,
    /// Everything, whatever the times say.
    pub whole: bool,
}

impl SpaceNeeds {
    /// Whether everything has to be loaded, given the time of the space's newest statement: what is no later than that
    /// is folded in where it belongs.
    #[must_use]
    pub fn is_whole(&self, newest: Option<Timestamp>) -> bool {
        self.whole || matches!((self.earliest, newest), (Some(earliest), Some(newest)) if earliest <= newest)
    }
}

impl SpaceOperation {
    /// What has to be loaded.
    #[must_use]
    pub fn needs(&self) -> SpaceNeeds {
        let mut needs = SpaceNeeds::default();
        match &self.action {
            SpaceAction::Write(facts) => {
                needs.earliest = facts.iter().filter_map(|fact| fact.at).min();
                needs.latest =
                    facts.iter().map(|fact| fact.at).collect::<Option<Vec<_>>>().unwrap_or_default().into_iter().max();
                for fact in facts {
                    needs.named.extend(fact.supersedes.clone());
                    needs.named.extend(fact.label.as_ref().map(|label| Pointer(label.as_str().to_owned())));
                    needs.named.push(Pointer(fact.key.clone()));
                    for dependency in &fact.depends_on {
                        match &dependency.space {
                            Some(space) => needs.wider.push((space.clone(), dependency.pointer.clone())),
                            None => needs.named.push(dependency.pointer.clone()),
                        }
                    }
                }
            }
            // Said when it was read: nobody gave it a time of its own.
            SpaceAction::Observe(reading) if reading.at == reading.recorded_at => {}
            SpaceAction::Observe(reading) => {
                needs.earliest = Some(reading.at);
                needs.latest = Some(reading.at);
            }
            SpaceAction::Restore { uid, .. } | SpaceAction::Delete { uid, .. } => {
                needs.named.push(Pointer(uid.as_str().to_owned()));
                needs.whole = true;
            }
            SpaceAction::SavePack { wider, pack, .. } => {
                let shown = || pack.facts_included.iter().map(|uid| Pointer(uid.as_str().to_owned()));
                needs.named.extend(shown());
                needs.wider.extend(wider.iter().flat_map(|space| shown().map(|uid| (space.clone(), uid))));
            }
            SpaceAction::Describe { .. }
            | SpaceAction::SetIdentity(_)
            | SpaceAction::SetSignal(_)
            | SpaceAction::RemoveSignal(_)
            | SpaceAction::SetItem(_)
            | SpaceAction::RemoveItem(_)
            | SpaceAction::CloseTask { .. }
            | SpaceAction::Erase => {}
        }
        needs
    }
}
