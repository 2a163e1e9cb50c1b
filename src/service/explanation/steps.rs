//! One event of a command's story as a step, and why a command was not executed.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Fate, Happening};
use crate::domain::event::Event;
use crate::domain::id::{AttemptId, ItemId, ItemKind, MessageId};
use crate::domain::item::{ItemState, PendingItem, Question};
use crate::domain::lexicon::Reading;
use crate::domain::message::{MessageKind, MessageRecord};
use crate::domain::policy::PolicyRef;
use crate::domain::redaction::Redactor;
use crate::domain::time::Timestamp;
use crate::domain::verdict::{Reason, VerdictCode};
use crate::service::access::{Part, Sight};
use crate::service::wording::{self, Language, Say, instant};

/// One step of an explanation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    pub at: Timestamp,
    /// What happened: the evidence type.
    pub what: &'static str,
    /// The same in a sentence, with its reason.
    pub why: String,
    /// How a message was read: its kind, and at full detail the lexicon entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<Value>,
    /// The verdict on a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictCode>,
    /// The stable code of the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The engine's status, redacted as `last_result`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The pack that decided.
    pub policy: PolicyRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<ItemId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_id: Option<AttemptId>,
}

/// Converts an event to a step; none if it explains nothing.
pub(super) fn step(happening: &Happening, sight: &Sight, redactor: &mut Redactor<'_>) -> Option<Step> {
    let (language, full) = (sight.language, sight.shows(Part::Trace));
    let mut step = Step {
        at: happening.at,
        what: happening.event.evidence_type(),
        why: sentence(&happening.event, language)?,
        reading: None,
        verdict: None,
        reason: reason_code(&happening.event),
        status: None,
        policy: happening.policy.clone(),
        message_id: None,
        item_id: None,
        attempt_id: None,
    };
    match &happening.event {
        Event::MessageReceived { message, .. } => {
            step.reading = Some(reading(&message.reading, full));
            step.verdict = Some(message.verdict.code);
        }
        Event::ResultRecorded { result, .. } => step.status = redactor.report(&result.status),
        _ => {}
    }
    if full {
        (step.message_id, step.item_id, step.attempt_id) = references(&happening.event);
    }
    Some(step)
}

fn reading(reading: &Reading, full: bool) -> Value {
    let all = serde_json::to_value(reading).unwrap_or_default();
    if full { all } else { json!({"kind": all["kind"]}) }
}

fn references(event: &Event) -> (Option<MessageId>, Option<ItemId>, Option<AttemptId>) {
    match event {
        Event::MessageReceived { message, .. } => {
            (Some(message.message_id.clone()), message.verdict.item_id.clone(), None)
        }
        Event::ItemAsked { item, .. } => (None, Some(item.item_id.clone()), None),
        Event::PromptAttached { item_id, prompt, .. } => (prompt.message_id.clone(), Some(item_id.clone()), None),
        Event::ApprovalGiven { item_id, decision } => (decision.message_id.clone(), Some(item_id.clone()), None),
        Event::ItemSettled { item_id, state, .. } => (by_message(state).cloned(), Some(item_id.clone()), None),
        Event::DecisionRefused { item_id, .. } => (None, Some(item_id.clone()), None),
        Event::CommandBound { command } => (None, None, Some(command.attempt_id.clone())),
        Event::CommandTakenOver { attempt_id, .. } | Event::CommandRefused { attempt_id, .. } => {
            (None, None, Some(attempt_id.clone()))
        }
        _ => (None, None, None),
    }
}

fn by_message(state: &ItemState) -> Option<&MessageId> {
    match state {
        ItemState::Granted { by_message, .. }
        | ItemState::Refused { by_message, .. }
        | ItemState::Selected { by_message, .. }
        | ItemState::Spent { by_message, .. }
        | ItemState::Voided { by_message, .. } => by_message.as_ref(),
        ItemState::Open | ItemState::Expired { .. } => None,
    }
}

/// The messages that answered a question.
pub(super) fn answering_messages(item: &PendingItem) -> Vec<MessageId> {
    let decided = by_message(&item.state).cloned();
    let approvals = match &item.question {
        Question::Approval { approvals, .. } => approvals.as_slice(),
        Question::Confirmation { .. } | Question::Disambiguation { .. } => &[],
    };
    decided.into_iter().chain(approvals.iter().filter_map(|given| given.message_id.clone())).collect()
}

fn reason_code(event: &Event) -> Option<String> {
    match event {
        Event::MessageReceived { message, .. } => Some(message.verdict.reason.code()),
        Event::ItemSettled { state: ItemState::Voided { reason, .. }, .. } => Some(reason.as_str().to_owned()),
        Event::CommandRefused { reason, .. } => serde_json::to_value(reason).ok()?.as_str().map(str::to_owned),
        _ => None,
    }
}

fn sentence(event: &Event, language: Language) -> Option<String> {
    Some(match event {
        Event::MessageReceived { message, .. } => message_read(message, language),
        Event::ItemAsked { item, .. } => asked(item, language),
        Event::PromptAttached { .. } => language.say(Say::PromptSent).to_owned(),
        Event::ApprovalGiven { .. } => language.say(Say::OneApproval).to_owned(),
        Event::ItemSettled { item_id, state, .. } => {
            let noun = language.say(match item_id.kind() {
                ItemKind::Confirmation => Say::TheConfirmation,
                ItemKind::Approval => Say::TheApproval,
                ItemKind::Disambiguation => Say::TheChoice,
            });
            let word = language.pick(wording::settled(item_id.kind(), state));
            let because = match state {
                ItemState::Voided { reason, .. } => {
                    language.fill(Say::Because, &[word, language.pick(wording::void_reason(*reason))])
                }
                _ => word.to_owned(),
            };
            language.fill(Say::ItemState, &[noun, &because])
        }
        Event::DecisionRefused { .. } => language.say(Say::DecisionRefused).to_owned(),
        Event::FrameCaptured { .. } => language.say(Say::FrameFrozen).to_owned(),
        Event::CommandBound { .. } => language.say(Say::Bound).to_owned(),
        Event::CommandTakenOver { .. } => language.say(Say::TakenOver).to_owned(),
        Event::CommandRefused { reason, .. } => {
            language.fill(Say::BindRefused, &[language.pick(wording::bind_refusal(*reason))])
        }
        Event::ResultRecorded { result, .. } => {
            language.fill(Say::ResultCame, &[language.pick(wording::outcome(result.outcome))])
        }
        _ => return None,
    })
}

fn message_read(message: &MessageRecord, language: Language) -> String {
    let verdict = language.pick(wording::verdict(message.verdict.code));
    let reason = language.pick(wording::reason(message.verdict.reason));
    // Decisions without a yes or no: a tap, a stop, a deleted message.
    if message.reading == Reading::Other && message.verdict.code.is_acceptance() {
        let phrase = match message.kind {
            MessageKind::Interactive | MessageKind::Button | MessageKind::Reaction => Say::TapRead,
            MessageKind::Edit | MessageKind::Revoke => Say::WithdrawalRead,
            _ if matches!(message.verdict.reason, Reason::TakenBack | Reason::Postponed) => Say::StopRead,
            _ => Say::TapRead,
        };
        return language.fill(phrase, &[verdict, reason]);
    }
    language.fill(Say::MessageRead, &[language.pick(wording::reading(&message.reading)), verdict, reason])
}

fn asked(item: &PendingItem, language: Language) -> String {
    let until = instant(item.expires_at);
    let class = |class| serde_json::to_value(class).ok().and_then(|word: Value| word.as_str().map(str::to_owned));
    match &item.question {
        Question::Confirmation { command } => {
            let demanded = command.rules.confirmation_required;
            let phrase = if demanded { Say::AskedConfirmation } else { Say::AskedUnneeded };
            language.fill(phrase, &[&class(command.rules.class).unwrap_or_default(), &until])
        }
        Question::Approval { command, rule, .. } => {
            let roles = rule.roles().collect::<Vec<_>>().join(", ");
            let class = class(command.rules.class).unwrap_or_default();
            language.fill(Say::AskedApproval, &[&rule.required.to_string(), &roles, &class, &until])
        }
        Question::Disambiguation { .. } => language.say(Say::AskedChoice).to_owned(),
    }
}

/// Why a command was not bound, as a clause: the last refusal, unless a later event asked or settled something;
/// otherwise the state of its newest question.
pub(super) fn why_not(
    happenings: &[Happening],
    items: &[PendingItem],
    now: Timestamp,
    language: Language,
) -> (Fate, &'static str) {
    let telling = happenings.iter().rev().find(|happening| {
        matches!(happening.event, Event::CommandRefused { .. } | Event::ItemAsked { .. } | Event::ItemSettled { .. })
    });
    let refused = |words| (Fate::NotExecuted, language.pick(words));
    if let Some(Happening { event: Event::CommandRefused { reason, .. }, .. }) = telling {
        return refused(wording::bind_refusal(*reason));
    }
    let Some(item) = items.last() else { return (Fate::NotExecuted, language.say(Say::NoLongerKept)) };
    match &item.state {
        ItemState::Open if now >= item.expires_at => refused(wording::reason(Reason::QuestionExpired)),
        ItemState::Open => (Fate::Waiting, language.say(Say::StillWaiting)),
        ItemState::Granted { bind_by, .. } if now >= *bind_by => (Fate::NotExecuted, language.say(Say::BindTooLate)),
        ItemState::Granted { .. } => (Fate::Waiting, language.say(Say::GrantedNotBound)),
        ItemState::Refused { .. } => (Fate::NotExecuted, language.say(Say::WasRefused)),
        ItemState::Expired { .. } => refused(wording::reason(Reason::QuestionExpired)),
        ItemState::Voided { reason, .. } => refused(wording::void_reason(*reason)),
        ItemState::Selected { .. } | ItemState::Spent { .. } => (Fate::NotExecuted, language.say(Say::NoLongerKept)),
    }
}
