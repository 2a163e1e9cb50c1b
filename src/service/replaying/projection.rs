//! One stream folded into rows, and a note of what erased entries leave unknown.
//!
//! Streams are folded one at a time, because an event changes only rows that its own stream made. When a decision
//! changes a second conversation (an approver answers elsewhere, a tap in one conversation finds another one overdue),
//! it records that in the second conversation's stream. A changed identity is an entry of the principal's stream, and
//! each question that it voids is an entry of the conversation where it was asked. So memory is bounded by the largest
//! conversation or fact space, not by the log. An event about a row of another stream is reported as [`How::Unmade`].

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::report::{Difference, How};
use crate::domain::canonical::Digest;
use crate::domain::event::{Event, LastQuestion, StreamKey};
use crate::domain::id::{ArtifactId, FactUid, StreamId, TenantId};
use crate::domain::world::World;
use crate::evidence::entry::LogEntry;
use crate::state_layer::event::SpaceEvent;
use crate::state_layer::fact::{Cause, Standing};
use crate::state_layer::space::Space;
use crate::storage::{LiveTable, SpaceRowKind};

/// When a row was last written as a whole, and which entry changed it last.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    /// The sequence number. Entries before it have no effect on the row any more, so their erasure does not matter.
    pub(super) whole: u64,
    pub(super) artifact_id: ArtifactId,
}

/// Entries of one type whose payload is erased.
#[derive(Debug, Clone, Default)]
struct Gap {
    /// The last one that no later entry explains; 0 if all are explained.
    last: u64,
    /// Whether some were erased by a deletion: those were about deleted facts only.
    explained: bool,
}

/// The state that entries are folded into.
#[derive(Debug)]
pub(super) enum State {
    /// A conversation or a principal.
    World(Box<World>),
    Space(Box<Space>),
    /// A reader's stream: no row follows from it.
    Nothing,
}

/// A stream that is being folded.
#[derive(Debug)]
pub(super) struct Projection {
    pub(super) key: StreamKey,
    pub(super) stream_id: StreamId,
    /// The last entry folded.
    pub(super) seq: u64,
    pub(super) erased: u64,
    pub(super) state: State,
    /// Facts known only from their deletion: the entries that made them are erased.
    pub(super) deleted: BTreeSet<FactUid>,
    /// Entries that contradict those before them.
    pub(super) faults: Vec<Difference>,
    marks: BTreeMap<(LiveTable, String), Mark>,
    gaps: BTreeMap<String, Gap>,
}

/// The part of a payload that is folded.
#[derive(Deserialize)]
struct Told<E> {
    event: E,
}

pub(super) fn event_of<E: DeserializeOwned>(payload: &str) -> Option<E> {
    serde_json::from_str::<Told<E>>(payload).ok().map(|told| told.event)
}

impl Projection {
    pub(super) fn new(tenant_id: &TenantId, tenant_key: Digest, key: StreamKey, stream_id: StreamId) -> Self {
        let state = match key {
            StreamKey::Conversation(_) | StreamKey::Principal(_) => {
                State::World(Box::new(World::new(tenant_id.clone(), tenant_key)))
            }
            StreamKey::FactSpace(_) => State::Space(Box::default()),
            StreamKey::Access(_) | StreamKey::Disposal => State::Nothing,
        };
        Self {
            key,
            stream_id,
            seq: 0,
            erased: 0,
            state,
            deleted: BTreeSet::new(),
            faults: Vec::new(),
            marks: BTreeMap::new(),
            gaps: BTreeMap::new(),
        }
    }

    /// Folds the next entry.
    pub(super) fn take(&mut self, entry: &LogEntry) {
        self.seq = entry.header.seq;
        let Some(body) = &entry.body else { return self.miss(entry) };
        let fault = match &self.state {
            State::World(_) => match event_of::<Event>(&body.payload) {
                Some(event) => self.fold(entry, &event),
                None => Some(How::Unreadable),
            },
            State::Space(_) => match event_of::<SpaceEvent>(&body.payload) {
                Some(event) => self.fold_space(entry, &event),
                None => Some(How::Unreadable),
            },
            State::Nothing => None,
        };
        self.faults.extend(fault.map(|how| self.fault(None, String::new(), Some(&entry.header.artifact_id), how)));
    }

    /// Makes a difference of this stream.
    pub(super) fn fault(
        &self,
        table: Option<LiveTable>,
        row_id: String,
        artifact_id: Option<&ArtifactId>,
        how: How,
    ) -> Difference {
        Difference { table, row_id, stream_id: Some(self.stream_id.clone()), artifact_id: artifact_id.cloned(), how }
    }

    /// Notes an entry whose payload is erased.
    fn miss(&mut self, entry: &LogEntry) {
        self.erased += 1;
        self.gaps.entry(entry.header.kind.clone()).or_default().last = entry.header.seq;
        if let State::Space(space) = &mut self.state
            && let Some(record) = &mut space.record
            && touches(&entry.header.kind, LiveTable::SpaceRecords, SpaceRowKind::Space)
        {
            // Whatever it was, the entry changed the space at that time.
            record.updated_at = entry.header.at;
        }
    }

    fn fold(&mut self, entry: &LogEntry, event: &Event) -> Option<How> {
        let State::World(world) = &mut self.state else { return None };
        let unmade = lacks(world, event);
        world.apply(entry.header.at, event);
        let touched = std::mem::take(&mut world.touched);
        let (seq, by) = (entry.header.seq, &entry.header.artifact_id);
        let marks = &mut self.marks;
        let contexts = touched.contexts.into_iter().map(|id| id.to_string());
        mark(marks, LiveTable::Contexts, contexts, matches!(event, Event::ContextCreated { .. }), (seq, by));
        let items = touched.items.into_iter().map(|id| id.to_string());
        mark(marks, LiveTable::Items, items, matches!(event, Event::ItemAsked { .. }), (seq, by));
        let commands = touched.commands.into_iter().map(|id| id.to_string());
        mark(marks, LiveTable::Commands, commands, matches!(event, Event::CommandBound { .. }), (seq, by));
        let conversations = touched.conversations.into_iter().map(|id| id.to_string());
        mark(marks, LiveTable::Conversations, conversations, true, (seq, by));
        mark(marks, LiveTable::Messages, touched.messages.into_iter().map(|key| key.to_hex()), true, (seq, by));
        let principals = touched.principals.into_iter().map(|id| id.to_string());
        mark(marks, LiveTable::Principals, principals, true, (seq, by));
        mark(marks, LiveTable::Frames, touched.frames.into_iter().map(|id| id.to_string()), true, (seq, by));
        // If entries are erased, the row may have been made by one of them.
        (unmade && self.gaps.is_empty()).then_some(How::Unmade)
    }

    fn fold_space(&mut self, entry: &LogEntry, event: &SpaceEvent) -> Option<How> {
        let State::Space(space) = &mut self.state else { return None };
        let mut unmade = false;
        if let SpaceEvent::FactChanged { change, .. } = event
            && !space.facts.contains_key(&change.uid)
        {
            if matches!(change.standing, Standing::Superseded { cause: Cause::Deleted, .. }) {
                self.deleted.insert(change.uid.clone());
            } else {
                unmade = !self.gaps.contains_key("fact.written");
            }
        }
        space.apply(entry.header.at, event);
        let touched = std::mem::take(&mut space.touched);
        if touched.erased {
            // The event replaces all earlier state, so erased entries before it have no effect.
            self.marks.clear();
            self.gaps.clear();
            self.deleted.clear();
            return None;
        }
        let (seq, by) = (entry.header.seq, &entry.header.artifact_id);
        let marks = &mut self.marks;
        let mut note = |kind: SpaceRowKind, ids: Vec<String>, whole: bool| {
            let ids = ids.into_iter().map(|id| format!("{}/{id}", kind.as_str()));
            mark(marks, LiveTable::SpaceRecords, ids, whole, (seq, by));
        };
        let described = matches!(event, SpaceEvent::SpaceDescribed { .. });
        note(SpaceRowKind::Space, vec![String::new(); usize::from(touched.space)], described);
        let (written, read) =
            (matches!(event, SpaceEvent::FactWritten { .. }), matches!(event, SpaceEvent::ObservationRead { .. }));
        note(SpaceRowKind::Fact, touched.facts.iter().map(ToString::to_string).collect(), written);
        note(SpaceRowKind::Reading, touched.readings.iter().map(ToString::to_string).collect(), read);
        note(SpaceRowKind::Ruling, touched.rulings.iter().map(ToString::to_string).collect(), true);
        note(SpaceRowKind::Signal, touched.signals.into_iter().collect(), true);
        note(SpaceRowKind::Item, touched.items.into_iter().collect(), true);
        note(SpaceRowKind::Pack, touched.packs.iter().map(ToString::to_string).collect(), true);
        if event.evidence_type() == "fact.deleted" {
            for (kind, gap) in &mut self.gaps {
                if kind.starts_with("fact.") || kind == "observation.read" {
                    (gap.last, gap.explained) = (0, gap.explained || gap.last > 0);
                }
            }
        }
        unmade.then_some(How::Unmade)
    }

    /// The entry that changed a row last.
    pub(super) fn mark(&self, table: LiveTable, id: &str) -> Option<&Mark> {
        self.marks.get(&(table, id.to_owned()))
    }

    /// Whether an erased entry may have changed a row of this kind after it was written as a whole.
    pub(super) fn is_doubtful(&self, table: LiveTable, kind: SpaceRowKind, mark: Option<&Mark>) -> bool {
        let whole = mark.map_or(0, |mark| mark.whole);
        self.gaps.iter().any(|(gone, gap)| gap.last > whole && touches(gone, table, kind))
    }

    /// None if no entry of these types is erased; otherwise whether one of them is not explained by a deletion.
    pub(super) fn misses(&self, kinds: &[&str]) -> Option<bool> {
        let gone = kinds.iter().filter_map(|kind| self.gaps.get(*kind));
        gone.map(|gap| gap.last > 0).reduce(|one, other| one || other)
    }
}

fn mark(
    marks: &mut BTreeMap<(LiveTable, String), Mark>,
    table: LiveTable,
    ids: impl Iterator<Item = String>,
    whole: bool,
    (seq, by): (u64, &ArtifactId),
) {
    for id in ids {
        let mark = marks.entry((table, id)).or_insert_with(|| Mark { whole: 0, artifact_id: by.clone() });
        mark.artifact_id = by.clone();
        if whole {
            mark.whole = seq;
        }
    }
}

/// Whether an event changes a row that does not exist.
fn lacks(world: &World, event: &Event) -> bool {
    let (contexts, items) = (&world.contexts, &world.items);
    match event {
        Event::ContextTransitioned { context_id, .. } | Event::ContextSlotsChanged { context_id, .. } => {
            !contexts.contains_key(context_id)
        }
        Event::MessageReceived { message, expires_at, passed_by, .. } => {
            let context = message.context_id.as_ref().filter(|_| expires_at.is_some());
            context.is_some_and(|id| !contexts.contains_key(id))
                || passed_by.as_ref().is_some_and(|id| !items.contains_key(id))
        }
        Event::MessageRegistered { message, awaits_reply: true, .. } => {
            message.context_id.as_ref().is_some_and(|id| !contexts.contains_key(id))
        }
        Event::MessageRegistered { question: Some(LastQuestion::Item(item_id)), .. }
        | Event::PromptAttached { item_id, .. }
        | Event::ApprovalGiven { item_id, .. }
        | Event::ItemObjected { item_id, .. }
        | Event::ItemSettled { item_id, .. } => !items.contains_key(item_id),
        Event::ItemAsked { item, .. } => !contexts.contains_key(&item.context_id),
        Event::CommandBound { command } => !contexts.contains_key(&command.context_id),
        Event::CommandTakenOver { command_id, .. } | Event::ResultRecorded { command_id, .. } => {
            !world.commands.contains_key(command_id)
        }
        Event::ContextCreated { .. }
        | Event::MessageRegistered { .. }
        | Event::FrameCaptured { .. }
        | Event::CommandRefused { .. }
        | Event::DecisionRefused { .. }
        | Event::PrincipalChanged { .. }
        | Event::ReadRecorded { .. } => false,
    }
}

/// Whether an entry of a type may change a row of this table: then an erased payload makes the row's content uncertain.
/// `kind` counts for `space_records` only.
pub(super) fn touches(entry: &str, table: LiveTable, kind: SpaceRowKind) -> bool {
    let question = ["confirmation.", "approval.", "disambiguation."].iter().any(|prefix| entry.starts_with(prefix));
    let message = entry.starts_with("message.");
    match table {
        LiveTable::Conversations => entry.ends_with(".requested") || message || entry == "prompt.attached",
        LiveTable::Contexts => question || message || entry.starts_with("command.") || entry.starts_with("context."),
        LiveTable::Items | LiveTable::ItemPrompts => question || message || entry == "prompt.attached",
        LiveTable::Commands => {
            matches!(entry, "command.bound" | "command.taken_over" | "command.result_recorded")
        }
        LiveTable::CommandAttempts => matches!(entry, "command.bound" | "command.taken_over"),
        LiveTable::Messages => message,
        LiveTable::Principals | LiveTable::PrincipalAliases | LiveTable::PrincipalRoles => {
            entry.starts_with("principal.")
        }
        LiveTable::Frames => entry == "context.frame_captured",
        LiveTable::SpaceRecords if matches!(entry, SpaceEvent::SPACE_ERASED | SpaceEvent::SPACE_ERASURE_COMPLETED) => {
            true
        }
        LiveTable::SpaceRecords => match kind {
            SpaceRowKind::Space => entry != "context_pack.saved",
            SpaceRowKind::Fact => entry.starts_with("fact."),
            SpaceRowKind::Reading => matches!(entry, "observation.read" | "fact.deleted"),
            SpaceRowKind::Ruling => entry == "fact.ruled",
            SpaceRowKind::Signal => entry.starts_with("environment."),
            SpaceRowKind::Item => entry.starts_with("working_set."),
            SpaceRowKind::Pack => entry == "context_pack.saved",
        },
    }
}
