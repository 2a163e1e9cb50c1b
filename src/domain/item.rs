//! Pending items: confirmations, approvals and disambiguations, from asking to spending.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::canonical::Digest;
use super::id::{
    AttemptId, Channel, CommandId, CommandName, ContextId, ConversationId, CorrelationId, IdempotencyKey, ItemId,
    ItemKind, MessageId, PersonId, PrincipalId,
};
use super::policy::{ApprovalRule, CommandRules, PolicyRef};
use super::time::Timestamp;

/// The most times that one question is put again.
pub const MAX_PROMPTS: usize = 10;
/// The most options of a disambiguation: a WhatsApp list has ten rows.
pub const MAX_OPTIONS: usize = 10;

/// How sure it is that the fingerprint says what will be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FingerprintOrigin {
    /// Computed here from the target in clear.
    Computed,
    /// Handed in ready-made; accepted for S0 and S1 only.
    CallerAsserted,
}

/// The keyed digest over what will be done, and to what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetFingerprint {
    /// The digest as it goes on the wire.
    pub value: String,
    pub origin: FingerprintOrigin,
    /// The key of this one fingerprint; deleting it makes the digest meaningless.
    pub key: Digest,
}

/// The command that a confirmation or an approval is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProposedCommand {
    /// CCP `command_id`.
    pub command_id: CommandId,
    pub name: CommandName,
    pub idempotency_key: IdempotencyKey,
    /// What it will be done to.
    pub fingerprint: TargetFingerprint,
    /// What policy demanded when it was asked.
    pub rules: CommandRules,
}

/// One option of a disambiguation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// What `active_target` becomes.
    pub target: Value,
    /// Keyed digest of the normalised title, so that typing it can be recognised without storing it.
    pub title_digest: Digest,
}

/// One entitled person's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalDecision {
    pub approver_id: PrincipalId,
    /// The person behind the principal, where registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_id: Option<PersonId>,
    /// The approver's identity epoch then; compared again when the command is bound.
    pub identity_epoch: u64,
    /// The message that carried it, unless it was an authenticated call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Question {
    /// May this command run?
    Confirmation { command: ProposedCommand },
    /// Does somebody entitled agree?
    Approval {
        command: ProposedCommand,
        /// Who has to agree, and how many of them.
        rule: ApprovalRule,
        /// The person behind the requester when it was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requester_person: Option<PersonId>,
        /// Who agreed so far.
        approvals: Vec<ApprovalDecision>,
    },
    Disambiguation {
        /// In the order shown.
        options: Vec<Choice>,
        /// Key of the titles' digests.
        title_key: Digest,
        /// Whether a bare number or title may choose.
        bare_answers: bool,
        /// Numbers of options that stand in the title of another option: typed alone they may mean either.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unclear_numbers: Vec<u32>,
    },
}

/// Why a question or a given answer no longer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VoidReason {
    /// Another question took its place.
    Replaced,
    /// The caller withdrew it.
    Cancelled,
    /// The context was closed.
    ContextClosed,
    /// The context was blocked.
    ContextBlocked,
    /// The context's time ran out after the answer was given.
    ContextExpired,
    /// `active_target` changed.
    TargetChanged,
    /// The number, BSUID or identity key of the one asked changed.
    IdentityChanged,
    /// The person took the answer back before the command was bound: a no, a call-off, "wait", or the message that gave
    /// the answer was deleted or edited.
    TakenBack,
    /// Too many unrelated messages came instead of an answer.
    Unanswered,
    /// The command was bound or ended without it.
    CommandEnded,
}

impl VoidReason {
    /// The reason's stable code.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replaced => "replaced",
            Self::Cancelled => "cancelled",
            Self::ContextClosed => "context_closed",
            Self::ContextBlocked => "context_blocked",
            Self::ContextExpired => "context_expired",
            Self::TargetChanged => "target_changed",
            Self::IdentityChanged => "identity_changed",
            Self::TakenBack => "taken_back",
            Self::Unanswered => "unanswered",
            Self::CommandEnded => "command_ended",
        }
    }
}

/// Where an item stands. Each variant holds what exists in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ItemState {
    /// Waiting for an answer.
    Open,
    /// Confirmed or fully approved, and not yet spent.
    Granted {
        at: Timestamp,
        /// The message that said so, unless it was an authenticated call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_message: Option<MessageId>,
        /// At this instant it can no longer be spent.
        bind_by: Timestamp,
    },
    /// Refused, or a grant taken back before it was spent.
    Refused {
        at: Timestamp,
        /// The message that said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_message: Option<MessageId>,
        /// Whether it took back a grant.
        revoked: bool,
    },
    /// An option was chosen.
    Selected {
        at: Timestamp,
        /// The message that said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_message: Option<MessageId>,
        /// Counted from 1.
        option: u32,
    },
    /// Used by exactly one binding.
    Spent {
        at: Timestamp,
        /// The message that had granted it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_message: Option<MessageId>,
        /// The attempt that spent it.
        attempt_id: AttemptId,
    },
    /// Its time ran out without an answer.
    Expired {
        /// When that was made durable.
        at: Timestamp,
    },
    Voided {
        at: Timestamp,
        reason: VoidReason,
        /// The message that took the answer back; with [`VoidReason::TakenBack`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_message: Option<MessageId>,
    },
}

/// One time that the question was put to the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// The channel's id of the outbound message, once the send call returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// The channel account in which that id is unique, where it is not the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channel>,
    /// When it was sent; with [`Prompt::message_id`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
    /// When it was registered here, before it was sent.
    pub registered_at: Timestamp,
}

/// Somebody's words against answering yes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    pub actor_id: PrincipalId,
    /// When the newest of them were sent.
    pub sent_at: Timestamp,
}

/// How many people's words against it an item remembers.
pub const MAX_STOPPED: usize = 16;

/// A question the system has asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingItem {
    /// Unique; its prefix tells its kind.
    pub item_id: ItemId,
    pub question: Question,
    #[serde(flatten)]
    pub state: ItemState,
    /// The context it belongs to.
    pub context_id: ContextId,
    pub conversation_id: ConversationId,
    /// Who was asked; for an approval, who requested it.
    pub actor_id: PrincipalId,
    /// That principal's identity epoch when it was asked.
    pub identity_epoch: u64,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// From this instant on no answer counts (its own deadline; the context's may come first).
    pub expires_at: Timestamp,
    /// Every time it was put, newest last; never empty.
    pub prompts: Vec<Prompt>,
    /// Digest of the button nonce.
    pub nonce_digest: Digest,
    /// Salted digest of text and buttons as shown.
    pub prompt_digest: String,
    /// The salt of that digest.
    pub prompt_salt: Digest,
    /// Ordinary messages that came instead of an answer.
    pub unrelated_messages: u32,
    /// Who said "wait" or the like while it was open, and when that was sent: an earlier yes that arrives later does not
    /// count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopped: Vec<Stopped>,
    /// The caller's correlation id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<CorrelationId>,
    /// The pack in force when it was asked.
    pub policy: PolicyRef,
}

impl ItemState {
    /// Ended without an answer that counts.
    #[must_use]
    pub fn voided(at: Timestamp, reason: VoidReason) -> Self {
        Self::Voided { at, reason, by_message: None }
    }
}

impl PendingItem {
    #[must_use]
    pub fn kind(&self) -> ItemKind {
        self.item_id.kind()
    }

    /// The command it is about; a disambiguation has none.
    #[must_use]
    pub fn command(&self) -> Option<&ProposedCommand> {
        match &self.question {
            Question::Confirmation { command } | Question::Approval { command, .. } => Some(command),
            Question::Disambiguation { .. } => None,
        }
    }

    /// Whether it waits for an answer, as written down.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == ItemState::Open
    }

    /// Whether the answer that stands was given by this message: a yes that waits to be bound, or one of the approvals.
    #[must_use]
    pub fn was_granted_by(&self, message_id: &MessageId) -> bool {
        let said_yes = matches!(&self.state, ItemState::Granted { by_message: Some(by), .. } if by == message_id);
        let approved = match &self.question {
            Question::Approval { approvals, .. }
                if matches!(self.state, ItemState::Open | ItemState::Granted { .. }) =>
            {
                approvals.iter().any(|given| given.message_id.as_ref() == Some(message_id))
            }
            Question::Approval { .. } | Question::Confirmation { .. } | Question::Disambiguation { .. } => false,
        };
        said_yes || approved
    }

    /// Whether this person said something against answering yes, in the same second as `sent_at` or later.
    #[must_use]
    pub fn was_stopped_after(&self, actor_id: &PrincipalId, sent_at: Timestamp) -> bool {
        let later = |stopped: &Stopped| stopped.sent_at.whole_seconds() >= sent_at.whole_seconds();
        self.stopped.iter().any(|stopped| stopped.actor_id == *actor_id && later(stopped))
    }

    /// Remembers such words, those that were sent last of each person.
    pub(super) fn remember_stopped(&mut self, actor_id: &PrincipalId, sent_at: Timestamp) {
        let before = self.stopped.iter().position(|stopped| stopped.actor_id == *actor_id);
        let earlier = before.map(|at| self.stopped.remove(at).sent_at);
        let sent_at = earlier.map_or(sent_at, |earlier| earlier.max(sent_at));
        self.stopped.push(Stopped { actor_id: actor_id.clone(), sent_at });
        let excess = self.stopped.len().saturating_sub(MAX_STOPPED);
        self.stopped.drain(..excess);
    }

    /// The newest time it was put.
    #[must_use]
    pub fn last_prompt(&self) -> Option<&Prompt> {
        self.prompts.last()
    }

    /// Whether a message id of this channel account is one of its prompts.
    #[must_use]
    pub fn was_prompted_in(&self, channel: &Channel, message_id: &MessageId) -> bool {
        let default = Channel::default();
        self.prompts.iter().any(|prompt| {
            prompt.message_id.as_ref() == Some(message_id) && prompt.channel.as_ref().unwrap_or(&default) == channel
        })
    }

    /// Whether a message id is one of its prompts, in whichever channel.
    #[must_use]
    pub fn was_prompted_by(&self, message_id: &MessageId) -> bool {
        self.prompts.iter().any(|prompt| prompt.message_id.as_ref() == Some(message_id))
    }

    /// The word for its state, in the terms of its kind.
    #[must_use]
    pub fn state_word(&self) -> &'static str {
        match (&self.state, self.kind()) {
            (ItemState::Open, _) => "open",
            (ItemState::Granted { .. }, ItemKind::Approval) => "approved",
            (ItemState::Granted { .. }, _) => "confirmed",
            (ItemState::Refused { .. }, ItemKind::Approval) => "rejected",
            (ItemState::Refused { .. }, _) => "declined",
            (ItemState::Selected { .. }, _) => "selected",
            (ItemState::Spent { .. }, _) => "spent",
            (ItemState::Expired { .. }, _) => "expired",
            (ItemState::Voided { .. }, _) => "voided",
        }
    }
}
