//! Taking over: who executes a bound command whose owner did not report (it died, or lost its network).
//!
//! Nobody but the caller can know whether the first owner executed before it died. So a take-over is never implied: it
//! names the attempt that it replaces, it says the same command again, and the caller states that it looked downstream.

use super::Turn;
use super::binding::about_command;
use crate::domain::command::{CommandRecord, ExecutionState};
use crate::domain::event::{BindRefusal, Event};
use crate::domain::id::AttemptId;
use crate::domain::operation::{Answer, TakeOver};
use crate::domain::refusal::Refusal;

impl Turn<'_, '_> {
    pub(super) fn take_over(&mut self, request: &TakeOver) -> Result<Answer, Refusal> {
        let known = self.world.commands.get(&request.command.command_id).cloned();
        let command = known.ok_or(Refusal::CommandNotFound)?;
        self.expire_due(&command.conversation_id);
        if !Self::says_the_same(&request.command, &request.envelope, &command) {
            return self.refuse_take_over(request, &command, BindRefusal::CommandConflict, Refusal::CommandConflict);
        }
        if command.attempt_id == request.attempt_id {
            return Ok(self.bound_answer(&command, &request.attempt_id, true));
        }
        if self.world.attempts.get(&request.attempt_id).is_some_and(|of| *of != command.command_id) {
            return self.refuse_take_over(request, &command, BindRefusal::AttemptReused, Refusal::AttemptIdReused);
        }
        if command.knows_attempt(&request.attempt_id) || command.attempt_id != request.replaces {
            return self.refuse_take_over(request, &command, BindRefusal::AlreadyTakenOver, Refusal::AlreadyTakenOver);
        }
        let execution = command.execution_state(self.now);
        if execution != ExecutionState::Unknown {
            let report_by = command.execution.report_by;
            let refusal = Refusal::ExecutionNotUnknown { execution, report_by };
            return self.refuse_take_over(request, &command, BindRefusal::ExecutionNotUnknown, refusal);
        }
        let rules = self.rules.policy.command(command.name.as_str(), Some(command.class));
        let event = Event::CommandTakenOver {
            command_id: command.command_id.clone(),
            replaces: command.attempt_id.clone(),
            attempt_id: request.attempt_id.clone(),
            report_by: self.now.plus_seconds(rules.report_within_seconds),
            context_ref: Some(command.frame_ref()),
        };
        self.record_in(&command.conversation_id, about_command(&command), event);
        let command = self.world.commands.get(&command.command_id).cloned().ok_or(Refusal::CommandNotFound)?;
        Ok(self.bound_answer(&command, &request.attempt_id, false))
    }

    /// What the holder of an attempt is told of its command.
    pub(super) fn bound_answer(&self, command: &CommandRecord, attempt_id: &AttemptId, replayed: bool) -> Answer {
        let execute = command.may_execute(attempt_id, self.now);
        Answer::Bound { command: Box::new(command.clone()), replayed, execute }
    }

    fn refuse_take_over(
        &mut self,
        request: &TakeOver,
        command: &CommandRecord,
        reason: BindRefusal,
        refusal: Refusal,
    ) -> Result<Answer, Refusal> {
        let event = Event::CommandRefused {
            context_id: command.context_id.clone(),
            command_id: command.command_id.clone(),
            attempt_id: request.attempt_id.clone(),
            reason,
        };
        self.record_in(&command.conversation_id, about_command(command), event);
        Err(refusal)
    }
}
