//! Commands (CCP) as far as this server knows them: bound once, with their frame and their results.

use serde::{Deserialize, Serialize};

use super::canonical::{Digest, Purpose, keyed};
use super::frame::{CitedPack, FrameRef};
use super::id::{
    AttemptId, CommandId, CommandName, ContextFrameId, ContextId, ConversationId, CorrelationId, IdempotencyKey,
    ItemId, MessageId, PrincipalId,
};
use super::item::TargetFingerprint;
use super::policy::{ImmaterialFields, PolicyRef, SafetyClass};
use super::time::Timestamp;

/// The most results kept on one command.
pub const MAX_RESULTS: usize = 64;

/// The coarse outcome of a command. The engine's own status string stands beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    InProgress,
    Succeeded,
    Failed,
    Cancelled,
    Compensated,
    Unknown,
}

impl Outcome {
    pub const ALL: [Self; 6] =
        [Self::InProgress, Self::Succeeded, Self::Failed, Self::Cancelled, Self::Compensated, Self::Unknown];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Compensated => "compensated",
            Self::Unknown => "unknown",
        }
    }

    /// Whether nothing more is to come.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::Compensated => true,
            Self::InProgress | Self::Unknown => false,
        }
    }
}

/// The two names that a command has in its tenant, its id and its idempotency key, as keyed digests. A name that was bound
/// once is never bound again: its digest stays when the command is erased, and tells nothing to whoever lacks the key.
#[must_use]
pub fn names(tenant_key: &Digest, command_id: &CommandId, idempotency_key: &IdempotencyKey) -> [Digest; 2] {
    let name =
        |kind: &str, name: &str| keyed(tenant_key, Purpose::CommandName, format!("{kind}\u{0}{name}").as_bytes());
    [name("command_id", command_id.as_str()), name("idempotency_key", idempotency_key.as_str())]
}

/// One report of how a command stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandResult {
    /// The engine's status, opaque.
    pub status: String,
    pub outcome: Outcome,
    /// The attempt that reported; none where somebody else did who looked at what was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt_id: Option<AttemptId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// When it was recorded.
    pub at: Timestamp,
}

/// What is known of the execution of a bound command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionState {
    /// Its owner may execute it, and has time left to report.
    Executing,
    Reported,
    /// Its owner did not report in time, or reported that it does not know: nobody knows whether it was executed.
    Unknown,
}

impl ExecutionState {
    pub const ALL: [Self; 3] = [Self::Executing, Self::Reported, Self::Unknown];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Executing => "executing",
            Self::Reported => "reported",
            Self::Unknown => "unknown",
        }
    }
}

/// An attempt that owned the execution and was replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplacedAttempt {
    pub attempt_id: AttemptId,
    /// When another one took over.
    pub replaced_at: Timestamp,
}

/// The one right to carry a bound command out. It belongs to [`CommandRecord::attempt_id`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Execution {
    /// Since when the present attempt owns it.
    pub since: Timestamp,
    /// From this instant on, without a report, it is unknown whether the command was executed.
    pub report_by: Timestamp,
    /// How many results there were when the present attempt took over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub results_before: usize,
    /// The attempts that owned it before, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<ReplacedAttempt>,
}

impl Execution {
    /// Whether the command was bound before executions were recorded.
    fn is_unrecorded(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives the field by reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// CCP `command_id`.
    pub command_id: CommandId,
    pub name: CommandName,
    /// Its safety class when it was bound.
    pub class: SafetyClass,
    pub idempotency_key: IdempotencyKey,
    /// The one attempt that owns the execution.
    pub attempt_id: AttemptId,
    /// Since when, and until when it has to report. A command that was bound before this was recorded has no time left.
    #[serde(default, skip_serializing_if = "Execution::is_unrecorded")]
    pub execution: Execution,
    /// The context it was bound in.
    pub context_id: ContextId,
    pub conversation_id: ConversationId,
    pub actor_id: PrincipalId,
    /// The messages that shaped it.
    pub message_ids: Vec<MessageId>,
    /// What is done to what.
    pub fingerprint: TargetFingerprint,
    /// Fields of the target that the fingerprint does not cover.
    #[serde(default, skip_serializing_if = "ImmaterialFields::is_empty")]
    pub immaterial_fields: ImmaterialFields,
    /// The only fields that the fingerprint covers, or an empty list for all of them. Empty in everything new; see
    /// [`CommandRules::material_fields`](super::policy::CommandRules::material_fields).
    #[serde(default)]
    pub material_fields: Vec<String>,
    /// Keyed digest of the canonical envelope (or of the digest handed in), under the fingerprint's key.
    pub envelope_digest: Digest,
    /// The confirmation that it spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation_id: Option<ItemId>,
    /// The approval that it spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ItemId>,
    /// The context pack it was formed from, if the caller cites one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_pack: Option<CitedPack>,
    pub context_frame_id: ContextFrameId,
    /// Its hash, as it goes into the envelope.
    pub context_hash: String,
    /// The context's deadline when it was frozen.
    pub context_expires_at: Timestamp,
    /// The caller's correlation id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// When it was bound.
    pub bound_at: Timestamp,
    /// What was reported since, oldest first.
    pub results: Vec<CommandResult>,
    /// The pack it was bound under.
    pub policy: PolicyRef,
}

impl CommandRecord {
    /// How it stands: the newest end that was reported, else the newest report. Reports may overtake each other, and an
    /// end is not undone by an earlier stage that arrives late.
    #[must_use]
    pub fn standing(&self) -> Option<&CommandResult> {
        let ended = self.results.iter().rev().find(|result| result.outcome.is_terminal());
        ended.or(self.results.last())
    }

    /// What is known of its execution at `now`.
    #[must_use]
    pub fn execution_state(&self, now: Timestamp) -> ExecutionState {
        match self.unknown_from() {
            None => ExecutionState::Reported,
            Some(unknown_from) if now < unknown_from => ExecutionState::Executing,
            Some(_) => ExecutionState::Unknown,
        }
    }

    /// Whether this attempt is the one that may execute the command at `now`.
    #[must_use]
    pub fn may_execute(&self, attempt_id: &AttemptId, now: Timestamp) -> bool {
        let executing = self.execution_state(now) == ExecutionState::Executing;
        self.attempt_id == *attempt_id && executing && self.report().is_none()
    }

    /// The context that it was bound with.
    #[must_use]
    pub fn frame_ref(&self) -> FrameRef {
        FrameRef {
            context_id: self.context_id.clone(),
            context_frame_id: self.context_frame_id.clone(),
            context_hash: self.context_hash.clone(),
            expires_at: self.context_expires_at,
        }
    }

    /// Whether this attempt owns the execution, or owned it.
    #[must_use]
    pub fn knows_attempt(&self, attempt_id: &AttemptId) -> bool {
        self.attempt_id == *attempt_id
            || self.execution.replaced.iter().any(|replaced| replaced.attempt_id == *attempt_id)
    }

    /// From when on nobody knows whether it was executed; `None` once its owner reported. What waits for a report is
    /// found by this, oldest first: at `now` a command is unknown exactly if this is not later.
    #[must_use]
    pub fn unknown_from(&self) -> Option<Timestamp> {
        match self.report() {
            None => Some(self.execution.report_by),
            // The owner itself says that it does not know. Nobody else can end its time by saying so.
            Some(report) if report.outcome == Outcome::Unknown => match &report.attempt_id {
                Some(_) => Some(report.at),
                None => Some(self.execution.report_by.max(report.at)),
            },
            Some(_) => None,
        }
    }

    /// The report that counts for the execution: an end, whoever reported it, else the newest report since the present
    /// attempt owns the execution that is not one of an attempt that was replaced.
    fn report(&self) -> Option<&CommandResult> {
        let ended = self.results.iter().rev().find(|result| result.outcome.is_terminal());
        let since = self.results.get(self.execution.results_before..).unwrap_or_default();
        let own = |result: &&CommandResult| result.attempt_id.as_ref().is_none_or(|id| *id == self.attempt_id);
        ended.or_else(|| since.iter().rev().find(own))
    }

    /// Whether the fingerprint, made by an earlier version, says nothing about some of the target.
    #[must_use]
    pub fn covers_a_list_only(&self) -> bool {
        !self.material_fields.is_empty()
    }

    /// The outcome of [`CommandRecord::standing`]; a bound command without a report is in progress.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.standing().map_or(Outcome::InProgress, |result| result.outcome)
    }
}
