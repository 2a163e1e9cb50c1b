//! The wire forms of contexts, items, commands and principals. Keys, salts and nonce digests are left out.

use serde::Serialize;
use serde_json::{Map, Value};

use super::progress::ApprovalPart;
use crate::domain::command::{CommandRecord, CommandResult, ExecutionState};
use crate::domain::context::{BlockedOn, CloseReason, ContextRecord, OpenItems, State, Trace};
use crate::domain::frame::CitedPack;
use crate::domain::id::{
    AttemptId, CommandId, CommandName, ContextFrameId, ContextId, ConversationId, CorrelationId, IdempotencyKey,
    ItemId, ItemKind, MessageId, PrincipalId, TenantId,
};
use crate::domain::item::{ItemState, PendingItem, Prompt, Question};
use crate::domain::lifecycle::Status;
use crate::domain::policy::{PolicyRef, SafetyClass};
use crate::domain::slots::{Slots, pending_slot};
use crate::domain::time::Timestamp;
use crate::http::extract::Call;
use crate::service::ooc::RedactionShown;
use crate::service::{ContextView, ItemView};

/// A context record (RFC-WF-0034 VI.A).
#[derive(Debug, Serialize)]
pub(crate) struct ContextWire {
    context_id: ContextId,
    tenant_id: TenantId,
    conversation_id: ConversationId,
    actor_id: PrincipalId,
    status: Status,
    created_at: Timestamp,
    updated_at: Timestamp,
    expires_at: Timestamp,
    slots: Slots,
    trace: Trace,
    revision: u64,
    policy: PolicyRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked: Option<Blocked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed: Option<Closed>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    extensions: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redaction: Option<RedactionShown>,
}

#[derive(Debug, Serialize)]
struct Blocked {
    on: BlockedOn,
    since: Timestamp,
}

#[derive(Debug, Serialize)]
struct Closed {
    at: Timestamp,
    reason: CloseReason,
}

impl ContextWire {
    /// The state at the time of the read.
    pub(crate) fn read(view: ContextView) -> Self {
        let open: Vec<ItemKind> = view.open.iter().map(PendingItem::kind).collect();
        Self::new(view.context, view.redaction, &open, view.now)
    }

    /// The state at the time of the decision: everything due is recorded.
    pub(crate) fn written(call: &Call, mut context: ContextRecord, now: Timestamp) -> Self {
        let redaction = call.app.service.cover_context(&call.caller, &mut context);
        let open: Vec<ItemKind> =
            context.open_items().into_iter().flat_map(OpenItems::iter).map(ItemId::kind).collect();
        Self::new(context, redaction, &open, now)
    }

    fn new(context: ContextRecord, redaction: Option<RedactionShown>, open: &[ItemKind], now: Timestamp) -> Self {
        let status = match context.status_at(now) {
            // Every question is past its deadline, even if that is not recorded yet.
            Status::Pending if open.is_empty() => Status::Active,
            status => status,
        };
        let mut slots = context.slots;
        for kind in ItemKind::ALL {
            if status != Status::Pending || !open.contains(&kind) {
                slots.remove(pending_slot(kind));
            }
        }
        let (blocked, closed) = match context.state {
            State::Blocked { on, since, .. } if status == Status::Blocked => (Some(Blocked { on, since }), None),
            State::Closed { at, reason } => (None, Some(Closed { at, reason })),
            _ => (None, None),
        };
        Self {
            context_id: context.context_id,
            tenant_id: context.tenant_id,
            conversation_id: context.conversation_id,
            actor_id: context.actor_id,
            status,
            created_at: context.created_at,
            updated_at: context.updated_at,
            expires_at: context.expires_at,
            slots,
            trace: context.trace,
            revision: context.revision,
            policy: context.policy,
            blocked,
            closed,
            extensions: context.extensions,
            redaction,
        }
    }
}

/// The name of an item's id on the wire.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the wire calls them so")]
pub(crate) enum NamedId {
    ConfirmationId(ItemId),
    ApprovalId(ItemId),
    DisambiguationId(ItemId),
}

impl From<&ItemId> for NamedId {
    fn from(id: &ItemId) -> Self {
        match id.kind() {
            ItemKind::Confirmation => Self::ConfirmationId(id.clone()),
            ItemKind::Approval => Self::ApprovalId(id.clone()),
            ItemKind::Disambiguation => Self::DisambiguationId(id.clone()),
        }
    }
}

/// The command that an item is about.
#[derive(Debug, Serialize)]
pub(crate) struct AboutCommand {
    command_id: CommandId,
    command_name: CommandName,
    idempotency_key: IdempotencyKey,
    target_fingerprint: String,
    safety_class: SafetyClass,
}

impl AboutCommand {
    /// The command of an item, for callers.
    pub(crate) fn of(item: &PendingItem) -> Option<Self> {
        item.command().map(|command| Self {
            command_id: command.command_id.clone(),
            command_name: command.name.clone(),
            idempotency_key: command.idempotency_key.clone(),
            target_fingerprint: command.fingerprint.value.clone(),
            safety_class: command.rules.class,
        })
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct ItemWire {
    #[serde(flatten)]
    id: NamedId,
    kind: ItemKind,
    state: &'static str,
    context_id: ContextId,
    conversation_id: ConversationId,
    actor_id: PrincipalId,
    asked_at: Timestamp,
    expires_at: Timestamp,
    #[serde(flatten)]
    command: Option<AboutCommand>,
    prompts: Vec<Prompt>,
    prompt_digest: String,
    policy: PolicyRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    bind_by: Option<Timestamp>,
    #[serde(flatten)]
    ended: Ended,
    #[serde(flatten)]
    approval: Option<ApprovalPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    selected: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<CorrelationId>,
}

/// The decision or the end of an item.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Ended {
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by_message_id: Option<MessageId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spent_by_attempt_id: Option<AttemptId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl Ended {
    /// The recorded decision or end.
    pub(crate) fn of(state: &ItemState) -> Self {
        let decided = |at: &Timestamp, by: &Option<MessageId>| Self {
            decided_at: Some(*at),
            decided_by_message_id: by.clone(),
            ..Self::default()
        };
        match state {
            ItemState::Open => Self::default(),
            ItemState::Granted { at, by_message, .. } | ItemState::Selected { at, by_message, .. } => {
                decided(at, by_message)
            }
            ItemState::Refused { at, by_message, revoked } => {
                Self { revoked: Some(*revoked), ..decided(at, by_message) }
            }
            ItemState::Spent { at, by_message, attempt_id } => {
                Self { spent_by_attempt_id: Some(attempt_id.clone()), ..decided(at, by_message) }
            }
            ItemState::Expired { at } => Self { decided_at: Some(*at), ..Self::default() },
            ItemState::Voided { at, reason, by_message } => {
                Self { reason: Some(reason.as_str()), ..decided(at, by_message) }
            }
        }
    }
}

/// The deadline for binding a grant.
pub(crate) fn bind_by(state: &ItemState) -> Option<Timestamp> {
    match state {
        ItemState::Granted { bind_by, .. } => Some(*bind_by),
        _ => None,
    }
}

impl ItemWire {
    /// The state at the time of the read: overdue items are expired, and a changed identity voids an item, even if that
    /// is not recorded yet.
    pub(crate) fn read(view: ItemView) -> Self {
        let live = matches!(view.item.state, ItemState::Open | ItemState::Granted { .. });
        let (over, stranger) = (view.now >= view.effective_deadline, view.identity_changed && live);
        let open = view.item.is_open();
        let mut wire = Self::written(view.item, view.effective_deadline);
        if stranger {
            wire.state = "voided";
            wire.approval = wire.approval.map(ApprovalPart::waiting_for_nobody);
            wire.bind_by = None;
            wire.ended = Ended { reason: Some("identity_changed"), ..Ended::default() };
        } else if open && over {
            wire.state = "expired";
            wire.approval = wire.approval.map(ApprovalPart::waiting_for_nobody);
        }
        wire
    }

    /// The state at the time of the decision.
    pub(crate) fn written(item: PendingItem, effective_deadline: Timestamp) -> Self {
        let approval = ApprovalPart::of(&item);
        let options = match &item.question {
            Question::Disambiguation { options, .. } => Some(options.len()),
            Question::Confirmation { .. } | Question::Approval { .. } => None,
        };
        let selected = match &item.state {
            ItemState::Selected { option, .. } => Some(*option),
            _ => None,
        };
        Self {
            id: NamedId::from(&item.item_id),
            kind: item.kind(),
            state: item.state_word(),
            command: AboutCommand::of(&item),
            bind_by: bind_by(&item.state),
            ended: Ended::of(&item.state),
            approval,
            options,
            selected,
            context_id: item.context_id,
            conversation_id: item.conversation_id,
            actor_id: item.actor_id,
            asked_at: item.asked_at,
            expires_at: effective_deadline,
            prompts: item.prompts,
            prompt_digest: item.prompt_digest,
            policy: item.policy,
            correlation_id: item.correlation_id,
        }
    }
}

/// Data for the command envelope (RFC-WF-0034 IX.A).
#[derive(Debug, Serialize)]
struct ContextRef {
    context_id: ContextId,
    context_frame_id: ContextFrameId,
    context_hash: String,
    expires_at: Timestamp,
}

/// Who may execute, or has executed, a bound command.
#[derive(Debug, Serialize)]
struct ExecutionWire {
    state: ExecutionState,
    attempt_id: AttemptId,
    since: Timestamp,
    report_by: Timestamp,
    replaced_attempt_ids: Vec<AttemptId>,
}

#[derive(Debug, Serialize)]
pub(crate) struct CommandWire {
    command_id: CommandId,
    command_name: CommandName,
    attempt_id: AttemptId,
    status: &'static str,
    context_ref: ContextRef,
    message_ids: Vec<MessageId>,
    bound_at: Timestamp,
    safety_class: SafetyClass,
    idempotency_key: IdempotencyKey,
    target_fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmation_id: Option<ItemId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval_id: Option<ItemId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_pack: Option<CitedPack>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<CorrelationId>,
    execution: ExecutionWire,
    outcome: &'static str,
    results: Vec<CommandResult>,
    policy: PolicyRef,
}

impl CommandWire {
    /// The state at the time of the decision.
    pub(crate) fn written(call: &Call, mut command: CommandRecord, now: Timestamp) -> Self {
        call.app.service.cover_command(&call.caller, &mut command);
        Self::read(command, now)
    }

    /// The state at the time of the read.
    pub(crate) fn read(command: CommandRecord, now: Timestamp) -> Self {
        Self {
            execution: ExecutionWire {
                state: command.execution_state(now),
                attempt_id: command.attempt_id.clone(),
                since: command.execution.since,
                report_by: command.execution.report_by,
                replaced_attempt_ids: command.execution.replaced.iter().map(|one| one.attempt_id.clone()).collect(),
            },
            outcome: command.outcome().as_str(),
            status: "bound",
            context_ref: ContextRef {
                context_id: command.context_id,
                context_frame_id: command.context_frame_id,
                context_hash: command.context_hash,
                expires_at: command.context_expires_at,
            },
            command_id: command.command_id,
            command_name: command.name,
            attempt_id: command.attempt_id,
            message_ids: command.message_ids,
            bound_at: command.bound_at,
            safety_class: command.class,
            idempotency_key: command.idempotency_key,
            target_fingerprint: command.fingerprint.value,
            confirmation_id: command.confirmation_id,
            approval_id: command.approval_id,
            context_pack: command.context_pack,
            correlation_id: command.correlation_id,
            results: command.results,
            policy: command.policy,
        }
    }
}
