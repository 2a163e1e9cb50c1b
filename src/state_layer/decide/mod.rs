//! Decisions on a fact space: operation and state in, events and answer out. Runs under the space's lock.

use super::event::SpaceEvent;
use super::ledger::LedgerRules;
use super::operation::{SpaceAnswer, SpaceOperation, WriterStanding};
use super::refusal::SpaceRefusal;
use super::space::{Space, SpaceRecord};
use crate::domain::id::{Ids, SpaceId};
use crate::domain::policy::PolicyRef;
use crate::domain::time::Timestamp;
use crate::state_layer::fact::Fact;

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

/// What was decided.
#[derive(Debug, Clone, PartialEq)]
pub struct SpaceDecision {
    /// What happened, in order.
    pub events: Vec<SpaceEvent>,
    /// The answer, or why not.
    pub result: Result<SpaceAnswer, SpaceRefusal>,
}

/// Decides one operation and applies its events. A refusal changes nothing.
pub fn decide(
    _space: &mut Space,
    _space_id: &SpaceId,
    _operation: &SpaceOperation,
    _rules: &SpaceRules<'_>,
    _now: Timestamp,
    _ids: &mut Ids<'_>,
) -> SpaceDecision {
    SpaceDecision { events: Vec::new(), result: Ok(SpaceAnswer::Done) }
}
