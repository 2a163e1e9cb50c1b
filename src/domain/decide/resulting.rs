//! Results: how a bound command stands. Always recorded; a terminal context does not move.

use serde_json::{Value, json};

use super::Turn;
use super::binding::about_command;
use crate::domain::command::{CommandRecord, CommandResult, MAX_RESULTS};
use crate::domain::context::{CloseReason, ContextRecord, State};
use crate::domain::event::Event;
use crate::domain::item::{ItemState, PendingItem, VoidReason};
use crate::domain::operation::{Answer, RecordResult};
use crate::domain::policy::SlotStorage;
use crate::domain::refusal::Refusal;
use crate::domain::slots::LAST_RESULT;
use crate::domain::world::is_live;

impl Turn<'_, '_> {
    pub(super) fn record_result(&mut self, request: &RecordResult) -> Result<Answer, Refusal> {
        let command = self.world.commands.get(&request.command_id).cloned().ok_or(Refusal::CommandNotFound)?;
        self.expire_due(&command.conversation_id);
        // The end is always recorded: what was done is not to be done again because it was reported on too often.
        let ends = request.outcome.is_terminal() && !command.outcome().is_terminal();
        // A late report of an attempt that was replaced is recorded too, however much others have reported: it tells what may
        // have been done twice.
        if request.attempt_id.as_ref().is_some_and(|attempt_id| !command.knows_attempt(attempt_id)) {
            return Err(Refusal::UnknownAttempt);
        }
        let own = command.results.iter().any(|result| result.attempt_id == request.attempt_id);
        let first = request.attempt_id.is_some() && !own;
        if command.results.len() >= MAX_RESULTS && !ends && !first {
            return Err(Refusal::TooManyResults);
        }
        let result = CommandResult {
            status: request.status.clone(),
            outcome: request.outcome,
            attempt_id: request.attempt_id.clone(),
            summary: request.summary.clone(),
            at: self.now,
        };
        let context = self.world.contexts.get(&command.context_id).filter(|c| c.state.status().is_open()).cloned();
        let late = !result.outcome.is_terminal() && command.outcome().is_terminal();
        let shown = context.as_ref().filter(|_| self.stores_results() && !late);
        let slot = shown.map(|_| slot_copy(&command, &result));
        let event = Event::ResultRecorded {
            command_id: command.command_id.clone(),
            result,
            context_ref: Some(command.frame_ref()),
            slot,
        };
        self.record_in(&command.conversation_id, about_command(&command), event);
        if let Some(context) = context {
            self.follow(&context, &command, request)?;
        }
        let command = self.world.commands.get(&request.command_id).cloned().ok_or(Refusal::CommandNotFound)?;
        let context = self.world.contexts.get(&command.context_id).cloned();
        Ok(Answer::Recorded { command: Box::new(command), context: context.map(Box::new) })
    }

    fn stores_results(&self) -> bool {
        self.rules.policy.pack().slots.storage_of(LAST_RESULT) == SlotStorage::Stored
    }

    /// What a result does to the context: an end clears what the command was pending on and lifts its own block.
    fn follow(
        &mut self,
        context: &ContextRecord,
        command: &CommandRecord,
        request: &RecordResult,
    ) -> Result<(), Refusal> {
        if !request.outcome.is_terminal() {
            // A late report must not block for a command whose end has come: nothing would lift the block.
            if command.results.iter().any(|earlier| earlier.outcome.is_terminal()) {
                return Ok(());
            }
            return match (&context.state, request.waiting_on) {
                (State::Active | State::Pending(_), Some(on)) => {
                    self.block(context, on, Some(command.command_id.clone()))
                }
                _ => Ok(()),
            };
        }
        let about_it = |item: &&PendingItem| {
            let same = item.command().is_some_and(|asked| asked.command_id == command.command_id);
            same && item.context_id == context.context_id && is_live(&item.state)
        };
        let items: Vec<PendingItem> = self.world.items.values().filter(about_it).cloned().collect();
        for item in items {
            self.settle(&item, ItemState::voided(self.now, VoidReason::CommandEnded));
        }
        let own_block =
            matches!(&context.state, State::Blocked { by_command: Some(by), .. } if *by == command.command_id);
        if request.close_context {
            return self.close(context, CloseReason::CommandEnded);
        }
        if own_block { self.unblock(context) } else { Ok(()) }
    }
}

/// What readers of the slots see of a command's newest result, if it has one.
#[must_use]
pub fn result_copy(command: &CommandRecord) -> Option<Value> {
    command.standing().map(|result| slot_copy(command, result))
}

fn slot_copy(command: &CommandRecord, result: &CommandResult) -> Value {
    let mut copy = json!({
        "command_id": command.command_id, "command_name": command.name, "status": result.status,
        "outcome": result.outcome, "at": result.at,
    });
    if let Some(summary) = &result.summary {
        copy["summary"] = json!(summary);
    }
    copy
}
