//! The members of an answer. An absent member is not shown at this level; a null one does not exist.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::command::{CommandRecord, ExecutionState, Outcome};
use crate::domain::context::{BlockedOn, ContextRecord, State, Trace};
use crate::domain::id::{
    ArtifactId, AttemptId, CommandId, CommandName, ContextId, ConversationId, ItemId, ItemKind, MessageId, PrincipalId,
};
use crate::domain::item::{PendingItem, Question};
use crate::domain::lifecycle::Status;
use crate::domain::redaction::Redactor;
use crate::domain::slots::{ACTIVE_INTENT, ACTIVE_TARGET, SlotClass, Slots, classify};
use crate::domain::time::Timestamp;
use crate::domain::verdict::VerdictCode;
use crate::service::access::{Part, Sight};
use crate::service::explanation::Explanation;

/// The answer to a query.
#[derive(Debug, Clone, Serialize)]
pub struct OocAnswer {
    pub query: &'static str,
    /// The level of detail shown.
    pub detail_level: &'static str,
    /// The instant that it describes.
    pub as_of: Timestamp,
    /// The language of `text`.
    pub language: &'static str,
    /// The context asked about, if there is one.
    pub context: Option<ContextShown>,
    /// How many more contexts are open in the conversation.
    pub other_contexts: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<Item>>,
    /// Whether the list is incomplete.
    pub more: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// What was omitted or redacted.
    pub redaction: RedactionShown,
    /// The same as a text for WhatsApp.
    pub text: String,
}

/// What was omitted or redacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RedactionShown {
    /// The level: of detail, `raw`, or `redacted`.
    pub level: &'static str,
    /// The redactions, as `slot:method`.
    pub applied: Vec<String>,
}

/// One line of a list.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Item {
    Context(Box<ContextShown>),
    /// A bound command without a report.
    Execution(Box<ExecutionShown>),
    History(Box<HistoryShown>),
}

/// A bound command without a report, as it is shown.
#[derive(Debug, Clone, Serialize)]
pub struct ExecutionShown {
    pub command_id: CommandId,
    pub name: CommandName,
    /// Whether its owner still has time to report, or its execution is unknown.
    pub execution: ExecutionState,
    /// When it was bound.
    pub bound_at: Timestamp,
    /// The deadline of the owner's report.
    pub report_by: Timestamp,
    /// The instant from which its execution counts as unknown.
    pub unknown_from: Timestamp,
    /// How many earlier attempts were replaced.
    pub replaced: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    /// The attempt that owns the execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_id: Option<AttemptId>,
}

impl ExecutionShown {
    /// The command as this reader may see it.
    pub(super) fn of(command: &CommandRecord, sight: &Sight, now: Timestamp) -> Self {
        let full = sight.shows(Part::Trace);
        Self {
            command_id: command.command_id.clone(),
            name: command.name.clone(),
            execution: command.execution_state(now),
            bound_at: command.bound_at,
            report_by: command.execution.report_by,
            unknown_from: command.unknown_from().unwrap_or(command.execution.report_by),
            replaced: command.execution.replaced.len(),
            context_id: full.then(|| command.context_id.clone()),
            attempt_id: full.then(|| command.attempt_id.clone()),
        }
    }
}

/// A context as it is shown.
#[derive(Debug, Clone, Serialize)]
pub struct ContextShown {
    /// Its id. Random, so every level shows it.
    pub context_id: ContextId,
    pub status: Status,
    pub expires_at: Timestamp,
    /// Time left; 0 when it is over.
    pub expires_in_seconds: u64,
    /// When it ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The reason why it is blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<BlockedShown>,
    /// The intent, redacted; null if there is none or it is hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_intent: Option<Value>,
    /// The target, redacted; null if there is none or it is hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_target: Option<Value>,
    /// Whether a confirmation is open.
    pub pending_confirmation: QuestionShown,
    /// Whether an approval is open.
    pub pending_approval: QuestionShown,
    /// Whether a choice is open.
    pub pending_disambiguation: QuestionShown,
    /// The state of the last command; null if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_command: Option<Option<CommandShown>>,
    /// All slots that callers set, redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<PrincipalId>,
    /// How often it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// The last message and the last command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// The reason why a context is blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BlockedShown {
    pub on: BlockedOn,
    pub since: Timestamp,
    /// The command that blocked it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_command: Option<CommandId>,
}

/// An open question, without the values that could answer it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct QuestionShown {
    pub exists: bool,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_name: Option<CommandName>,
    /// Which command it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<CommandId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<ItemId>,
    /// The messages that asked it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prompt_message_ids: Vec<MessageId>,
}

/// The state of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommandShown {
    pub command_id: CommandId,
    pub name: CommandName,
    /// The engine's status, redacted as `last_result`; null if none was reported or it is hidden.
    pub status: Option<String>,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Serialize)]
pub struct HistoryShown {
    pub at: Timestamp,
    #[serde(rename = "type")]
    pub kind: String,
    /// The status after it, where it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_id: Option<CommandId>,
    /// The verdict on a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictCode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<ArtifactId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub message_ids: Vec<MessageId>,
}

pub(super) struct Stored<'a> {
    pub(super) context: &'a ContextRecord,
    /// The open items that can still be answered.
    pub(super) open: &'a [PendingItem],
    pub(super) last_command: Option<&'a CommandRecord>,
    pub(super) now: Timestamp,
}

impl Stored<'_> {
    /// The status now: a question after its deadline does not make a context pending, even if its expiry is not
    /// recorded yet.
    pub(super) fn status(&self) -> Status {
        match self.context.status_at(self.now) {
            Status::Pending if self.open.is_empty() => Status::Active,
            status => status,
        }
    }

    /// The context as this reader may see it.
    pub(super) fn shown(&self, sight: &Sight, redactor: &mut Redactor<'_>) -> ContextShown {
        let (context, full) = (self.context, sight.shows(Part::Trace));
        let status = self.status();
        let question = |kind| self.question(kind, sight);
        let left = if status.is_open() { self.now.seconds_until(context.expires_at) } else { 0 };
        let subject = sight.shows(Part::Subject);
        let mut slot =
            |name| context.slots.get(name).and_then(|value| redactor.slot(name, value)).unwrap_or(Value::Null);
        let (active_intent, active_target) =
            (subject.then(|| slot(ACTIVE_INTENT)), subject.then(|| slot(ACTIVE_TARGET)));
        ContextShown {
            context_id: context.context_id.clone(),
            status,
            expires_at: context.expires_at,
            expires_in_seconds: left,
            ended_at: self.ended_at(),
            blocked: self.blocked(sight),
            active_intent,
            active_target,
            pending_confirmation: question(ItemKind::Confirmation),
            pending_approval: question(ItemKind::Approval),
            pending_disambiguation: question(ItemKind::Disambiguation),
            last_command: sight
                .shows(Part::Commands)
                .then(|| self.last_command.map(|command| command_shown(command, redactor))),
            slots: sight.shows(Part::Slots).then(|| redactor.slots(&callers_own(&context.slots))),
            conversation_id: full.then(|| context.conversation_id.clone()),
            actor_id: full.then(|| context.actor_id.clone()),
            revision: full.then_some(context.revision),
            trace: full.then(|| context.trace.clone()),
        }
    }

    /// When it ended: at its deadline, if its expiry is not recorded yet.
    pub(super) fn ended_at(&self) -> Option<Timestamp> {
        match &self.context.state {
            State::Expired { .. } => Some(self.context.expires_at),
            State::Closed { at, .. } => Some(*at),
            _ if self.context.is_due(self.now) => Some(self.context.expires_at),
            State::Active | State::Pending { .. } | State::Blocked { .. } => None,
        }
    }

    fn blocked(&self, sight: &Sight) -> Option<BlockedShown> {
        match &self.context.state {
            State::Blocked { on, since, by_command } if self.status() == Status::Blocked => Some(BlockedShown {
                on: *on,
                since: *since,
                by_command: by_command.clone().filter(|_| sight.shows(Part::Commands)),
            }),
            _ => None,
        }
    }

    fn question(&self, kind: ItemKind, sight: &Sight) -> QuestionShown {
        let Some(item) = self.open.iter().find(|item| item.kind() == kind) else { return QuestionShown::default() };
        let mut shown = QuestionShown { exists: true, ..QuestionShown::default() };
        if !sight.shows(Part::Commands) {
            return shown;
        }
        shown.expires_at = Some(item.expires_at.min(self.context.expires_at));
        shown.command_name = item.command().map(|command| command.name.clone());
        shown.command_id = item.command().map(|command| command.command_id.clone());
        match &item.question {
            Question::Confirmation { .. } => {}
            Question::Approval { rule, approvals, .. } => {
                shown.required = Some(rule.required);
                shown.received = Some(approvals.len());
                shown.role = Some(rule.roles().collect::<Vec<_>>().join(", "));
            }
            Question::Disambiguation { options, .. } => shown.options = Some(options.len()),
        }
        if sight.shows(Part::Trace) {
            shown.item_id = Some(item.item_id.clone());
            shown.prompt_message_ids = item.prompts.iter().filter_map(|prompt| prompt.message_id.clone()).collect();
        }
        shown
    }
}

/// The slots that callers set. The server's own slots contain keys and fingerprints; what may be shown of them is shown
/// elsewhere.
fn callers_own(slots: &Slots) -> Slots {
    let own = slots.iter().filter(|(name, _)| classify(name) != SlotClass::ReadOnly);
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn command_shown(command: &CommandRecord, redactor: &mut Redactor<'_>) -> CommandShown {
    CommandShown {
        command_id: command.command_id.clone(),
        name: command.name.clone(),
        status: command.results.last().and_then(|result| redactor.report(&result.status)),
        outcome: command.outcome(),
    }
}
