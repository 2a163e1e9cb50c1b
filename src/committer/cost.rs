//! Estimates the cost of an operation before anything is loaded. The estimate decides only what shares a batch, so a
//! wrong one makes a batch longer or shorter and nothing else.

use super::Submitted;
use super::turns::{Lane, Place};
use crate::state_layer::operation::{NewFact, SpaceAction};
use crate::state_layer::request::Request;

/// Cost of an operation on a conversation, in microseconds.
const ORDINARY: u64 = 150;
/// Base cost of an operation on a space: the whole space is loaded.
const SPACE: u64 = 1_000;
/// Cost of writing one fact.
const FACT: u64 = 80;
/// Cost of one of its dependencies.
const DEPENDENCY: u64 = 20;
/// Bytes of a value that cost one microsecond.
const BYTES: usize = 32;
/// Operations that cost less are not prepared.
const DEAR: u64 = 5_000;
/// Cost of an operation that may load the history of a whole space.
const WHOLE: u64 = 20_000;

/// The line in which an operation waits, with its estimated cost.
pub(super) fn place(submission: &Submitted) -> Place {
    let tenant_id = submission.tenant.tenant_id.clone();
    match &submission.request {
        Request::Core(_) => Place { tenant_id, lane: Lane::Conversations, cost: ORDINARY },
        Request::Space(operation) => Place { tenant_id, lane: Lane::Spaces, cost: of_space(&operation.action) },
    }
}

fn of_space(action: &SpaceAction) -> u64 {
    match action {
        SpaceAction::Write(facts) => SPACE + facts.iter().map(of_fact).sum::<u64>(),
        SpaceAction::Restore { .. }
        | SpaceAction::Delete { .. }
        | SpaceAction::CloseTask { .. }
        | SpaceAction::SavePack { .. }
        | SpaceAction::Erase => WHOLE,
        SpaceAction::Describe { .. }
        | SpaceAction::SetIdentity(_)
        | SpaceAction::Observe(_)
        | SpaceAction::SetSignal(_)
        | SpaceAction::RemoveSignal(_)
        | SpaceAction::SetItem(_)
        | SpaceAction::RemoveItem(_) => SPACE,
    }
}

/// Whether an operation is worth preparing before the lock, in a space that is large or is not.
pub(super) fn is_dear(action: &SpaceAction, in_large_space: bool) -> bool {
    match action {
        SpaceAction::Write(facts) => {
            in_large_space || facts.iter().any(|fact| fact.at.is_some()) || of_space(action) >= DEAR
        }
        // It folds nothing, and loads the space.
        SpaceAction::Erase => in_large_space,
        SpaceAction::Observe(reading) => in_large_space || reading.at != reading.recorded_at,
        // A ruling or the end of a task may fold everything anew; what folds nothing is cheap.
        _ => action.folds(),
    }
}

fn of_fact(fact: &NewFact) -> u64 {
    let count = |amount: usize| u64::try_from(amount).unwrap_or(u64::MAX);
    let bytes = fact.value.as_str().map_or(256, str::len);
    FACT + DEPENDENCY * count(fact.depends_on.len()) + count(bytes / BYTES)
}
