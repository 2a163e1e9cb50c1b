//! Decisions on a fact space: operation and state in, events and answer out. Runs under the space's lock.

mod checking;
mod classifying;
mod folding;
mod foreseeing;
mod layers;
mod room;
mod ruling;
mod words;
mod writing;

use super::event::SpaceEvent;
use super::fact::Fact;
use super::ledger::LedgerRules;
use super::operation::{SpaceAction, SpaceAnswer, SpaceOperation, WriterStanding};
use super::refusal::SpaceRefusal;
use super::space::{Access, Partition, Space, SpaceRecord};
use crate::domain::id::{Ids, SpaceId};
use crate::domain::policy::PolicyRef;
use crate::domain::time::Timestamp;
use foreseeing::Foresight;

pub use foreseeing::{Foreseen, foresee};
pub use layers::erased;
pub use room::{
    MAX_FORMERS_BYTES, MAX_ITEMS_BYTES, MAX_LINKS, MAX_SIGNALS_BYTES, MAX_VALID_FACTS, MAX_VALUES_BYTES,
    MAX_WRITE_BYTES, MAX_WRITE_CHANGES, MAX_WRITE_FACTS, MAX_WRITE_LINKS,
};

/// The most signals of one space.
pub const MAX_SIGNALS: usize = 200;
/// The most working items of one space.
pub const MAX_ITEMS: usize = 500;
/// The most wider spaces of one space.
pub const MAX_WIDER: usize = 16;

/// How far apart the clocks of a caller and of the database may be, in microseconds.
const CLOCKS_APART: i64 = 300 * 1_000_000;

/// What a decision goes by beside the space.
#[derive(Debug)]
pub struct SpaceRules<'a> {
    /// How statements are folded.
    pub ledger: LedgerRules,
    /// The pack in force.
    pub policy: &'a PolicyRef,
    /// What the writer may do.
    pub writer: WriterStanding,
    /// Wider spaces that exist, with the facts that were named in them.
    pub wider: Vec<(SpaceRecord, Vec<Fact>)>,
    /// How long a working item lives that says nothing of it, in seconds.
    pub item_ttl_seconds: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SpaceDecision {
    /// What happened, in order.
    pub events: Vec<SpaceEvent>,
    /// The answer, or why not.
    pub result: Result<SpaceAnswer, SpaceRefusal>,
}

/// One decision under way: the space, what it goes by, and what has happened so far.
struct Deciding<'a, 'i> {
    space: &'a mut Space,
    space_id: &'a SpaceId,
    rules: &'a SpaceRules<'a>,
    now: Timestamp,
    ids: &'a mut Ids<'i>,
    events: Vec<SpaceEvent>,
    foresight: Foresight,
    /// Whether what a trial came to was taken.
    came_true: bool,
}

/// Decides one operation and applies its events. A refusal changes nothing.
///
/// The space has to be loaded as [`SpaceOperation::needs`] asks, as a whole where [`SpaceNeeds::is_whole`] says so.
///
/// [`SpaceNeeds::is_whole`]: super::operation::SpaceNeeds::is_whole
pub fn decide(
    space: &mut Space,
    space_id: &SpaceId,
    operation: &SpaceOperation,
    rules: &SpaceRules<'_>,
    now: Timestamp,
    ids: &mut Ids<'_>,
) -> SpaceDecision {
    decide_foreseen(space, space_id, operation, rules, None, now, ids).0
}

/// The same, with what a trial of this operation came to under the same rules, and with the space as it is now: it decides
/// the same in less time. Says also whether the trial's result was taken.
pub fn decide_foreseen(
    space: &mut Space,
    space_id: &SpaceId,
    operation: &SpaceOperation,
    rules: &SpaceRules<'_>,
    foreseen: Option<Foreseen>,
    now: Timestamp,
    ids: &mut Ids<'_>,
) -> (SpaceDecision, bool) {
    if let Err(refusal) = checking::permitted(&operation.action, &operation.writer, rules, space.record.as_ref()) {
        return (SpaceDecision { events: Vec::new(), result: Err(refusal) }, false);
    }
    let foresight = foreseen.map_or(Foresight::None, |foreseen| Foresight::Known(Box::new(foreseen)));
    let mut deciding = Deciding { space, space_id, rules, now, ids, events: Vec::new(), foresight, came_true: false };
    let result = deciding.act(operation);
    (SpaceDecision { events: deciding.events, result }, deciding.came_true)
}

impl Deciding<'_, '_> {
    /// Nothing is applied before everything is checked: whoever adds an event can no longer refuse.
    fn act(&mut self, operation: &SpaceOperation) -> Result<SpaceAnswer, SpaceRefusal> {
        match &operation.action {
            SpaceAction::Describe { partition, wider, access, if_revision } => {
                self.describe(partition.as_ref(), wider, access, *if_revision)
            }
            SpaceAction::SetIdentity(identity) => self.identify(identity),
            SpaceAction::Write(facts) => self.write(facts, &operation.writer),
            SpaceAction::Observe(reading) => self.observe(reading),
            SpaceAction::Restore { uid, reason } => self.restore(uid, reason),
            SpaceAction::Delete { uid, reason } => self.delete(uid, reason),
            SpaceAction::SetSignal(signal) => self.set_signal(signal),
            SpaceAction::RemoveSignal(key) => self.remove_signal(key),
            SpaceAction::SetItem(item) => self.set_item(item),
            SpaceAction::RemoveItem(key) => self.remove_item(key),
            SpaceAction::CloseTask { task_id, promote } => self.close(task_id, promote, &operation.writer),
            SpaceAction::SavePack { viewer, as_of, wider, pack } => self.save_pack(viewer, *as_of, wider, pack),
            SpaceAction::Erase => self.erase(),
        }
    }

    /// Applies an event and keeps it.
    fn happen(&mut self, event: SpaceEvent) {
        self.space.apply(self.now, &event);
        self.events.push(event);
    }

    /// Makes the space with the first thing that is put into it: a user's own, unless it was described before.
    fn ensure_space(&mut self) {
        if self.space.record.is_none() {
            let space = self.fresh_record(Partition::User { owner_id: None });
            self.happen(SpaceEvent::SpaceDescribed { space });
        }
    }

    fn fresh_record(&self, partition: Partition) -> SpaceRecord {
        SpaceRecord {
            space_id: self.space_id.clone(),
            partition,
            wider: Vec::new(),
            access: Access::Open,
            identity: None,
            newest: None,
            revision: 1,
            created_at: self.now,
            updated_at: self.now,
            erased_at: None,
            erasure_id: None,
        }
    }

    /// The present, or just after the newest statement: what was given no time comes after all that is there. But not
    /// after what was dated ahead of the present by more than clocks are apart: it would be hidden until then.
    fn next_time(&self, after: Option<Timestamp>) -> Timestamp {
        let newest = self.space.record.as_ref().and_then(|record| record.newest);
        let apart = newest.filter(|newest| newest.as_micros().saturating_sub(self.now.as_micros()) <= CLOCKS_APART);
        let next = apart.max(after).map(|latest| Timestamp::from_micros(latest.as_micros().saturating_add(1)));
        next.map_or(self.now, |next| next.max(self.now))
    }
}
