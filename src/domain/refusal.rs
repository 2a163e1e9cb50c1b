//! Refusals: why an operation was not done. Each has a stable code and a sentence that tells what to do.

use serde::{Deserialize, Serialize};

use super::command::{ExecutionState, Outcome};
use super::id::{ContextId, ItemId};
use super::lifecycle::{InvalidTransition, LifecycleEvent, Status};
use super::prompt::PromptError;
use super::slots::SlotError;
use super::time::Timestamp;

/// Why an operation was refused. Never carries what a person wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Refusal {
    #[error("there is no such context; query for the conversation's open context or open one")]
    ContextNotFound,
    #[error("there is no such pending item")]
    ItemNotFound,
    #[error("there is no such command; bind it first")]
    CommandNotFound,
    #[error("this conversation has an open context for this actor; use that one")]
    ContextAlreadyOpen { context_id: ContextId },
    #[error("the context's time is over; the person's next ordinary message opens a new one, then ask again")]
    ContextExpired,
    #[error("the context is closed; the person's next ordinary message opens a new one")]
    ContextClosed,
    #[error("the context is blocked; unblock it or wait for what it waits for")]
    ContextBlocked,
    #[error("a context that is {from} cannot take the event {}: {reason}", event.as_str())]
    InvalidTransition { from: Status, event: LifecycleEvent, reason: String },
    #[error("another question is open in this context; wait for it, cancel it, or say supersede: true")]
    QuestionPending { item_id: ItemId },
    #[error("the record has changed since it was read; read it again and repeat the change")]
    RevisionMismatch { revision: u64 },
    #[error("the slot {slot} was refused: {problem}")]
    Slot { slot: String, problem: SlotError },
    /// A member of `extensions` was refused.
    #[error("a member of extensions was refused: {problem}")]
    Extension { name: String, problem: SlotError },
    #[error("this message_id was used for another message; deliver each message under its own id")]
    MessageIdReused,
    #[error("this Idempotency-Key was used for another request; use a new key for a new request")]
    IdempotencyKeyReused,
    #[error("message_ids[{index}] is not a message of this conversation; post the message before binding")]
    UnknownMessage { index: usize },
    #[error("{0}")]
    Prompt(PromptError),
    #[error("this command is {class}: give the target in clear; it is used and not stored")]
    TargetRequired { class: String },
    // No decision says this any more. It is kept so that the stored answer to a repeated request can still be read.
    #[error("the target lacks the material field {field}; policy needs it to bind the answer to it")]
    TargetFieldMissing { field: String },
    #[error("a ready-made target_fingerprint is accepted for S0 and S1 only; give the target in clear")]
    FingerprintNotAccepted,
    #[error("two options cannot be told apart, or a title reads as another option's number")]
    OptionsAmbiguous,
    #[error("this safety class needs no approval; ask for a confirmation")]
    ApprovalNotNeeded,
    #[error("the question is no longer open")]
    ItemNotOpen { state: String },
    #[error(
        "this message is known as something else, or another one is attached; attach what sending this prompt gave you"
    )]
    PromptAlreadyAttached,
    #[error("this question was put as often as it may be; cancel it and ask anew")]
    TooManyPrompts,
    #[error("sent_at lies before the question was asked or in the future")]
    PromptTimeImpossible,
    #[error("the identity of the one asked has changed; ask anew")]
    IdentityChanged,
    #[error("the approver lacks the role, is not registered, or is the requester's own person")]
    ApproverNotEntitled,
    #[error("this was decided before")]
    AlreadyDecided { state: String },
    #[error("its time is over; ask anew")]
    ItemExpired,
    #[error("it no longer counts; ask anew")]
    ItemVoided { reason: String },
    #[error("this command needs a confirmation that counts; ask for one and bind after the answer")]
    ConfirmationRequired,
    #[error("the confirmation can no longer be bound; ask anew")]
    ConfirmationExpired { bind_by: Timestamp },
    #[error("this command needs an approval by {role} first")]
    ApprovalRequired { role: String },
    #[error("the approval can no longer be bound; ask anew")]
    ApprovalExpired { bind_by: Timestamp },
    #[error("what would be done is not what was agreed to; nothing was bound; ask anew with the new target")]
    TargetMismatch,
    #[error(
        "another attempt owns the execution of this command; do not execute it (it is {}; if it is unknown, check \
         downstream and take it over)",
        execution.as_str()
    )]
    AlreadyBound { execution: ExecutionState, report_by: Timestamp },
    #[error(
        "this command was bound before, and its outcome is {}; do not ask for it again, use a new command_id for a \
         new command",
        outcome.as_str()
    )]
    CommandBound { execution: ExecutionState, outcome: Outcome },
    #[error(
        "this idempotency_key belongs to another command that was bound, and its outcome is {}; use a new key for a new \
         command",
        outcome.as_str()
    )]
    IdempotencyKeyBound { execution: ExecutionState, outcome: Outcome },
    #[error(
        "a command with this command_id or idempotency_key was bound before, and its record has been erased since; do not \
         execute it; a new command needs a new command_id and a new idempotency_key"
    )]
    CommandErased,
    #[error(
        "this command is being asked for in another context, where its question is {state}; wait for that one, cancel it, or \
         use a new id"
    )]
    CommandAskedElsewhere { item_id: ItemId, state: String },
    #[error(
        "the execution of this command is {}, not unknown: only what was not reported by {report_by} can be taken over",
        execution.as_str()
    )]
    ExecutionNotUnknown { execution: ExecutionState, report_by: Timestamp },
    #[error("the attempt that you want to replace does not own the execution; read the command and decide anew")]
    AlreadyTakenOver,
    #[error("this attempt_id is not one of this command; leave it out if you report what you found downstream")]
    UnknownAttempt,
    #[error("this command, attempt or idempotency key was bound with other content; do not execute it")]
    CommandConflict,
    #[error("this attempt_id was used for another command; make a new random one for each command")]
    AttemptIdReused,
    #[error("this command has as many results as are kept")]
    TooManyResults,
    #[error("an agent's credential proposes; it may not do this")]
    NotForAgents,
    #[error("a limit was exceeded: {limit}")]
    LimitExceeded { limit: String },
}

impl Refusal {
    /// The stable code: the variant's name in snake case.
    #[must_use]
    pub fn code(&self) -> String {
        let tagged = serde_json::to_value(self).ok();
        let code = tagged.as_ref().and_then(|value| value.get("code")).and_then(|code| code.as_str());
        code.unwrap_or("refused").to_owned()
    }
}

impl From<InvalidTransition> for Refusal {
    fn from(error: InvalidTransition) -> Self {
        Self::InvalidTransition { from: error.from, event: error.event, reason: error.reason.to_owned() }
    }
}

impl From<PromptError> for Refusal {
    fn from(error: PromptError) -> Self {
        Self::Prompt(error)
    }
}
