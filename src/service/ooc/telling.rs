//! The answers as texts for WhatsApp. They are made from the structured answer, so they cannot say more.

use serde_json::Value;

use super::view::{ContextShown, ExecutionShown, HistoryShown, QuestionShown};
use crate::domain::command::ExecutionState;
use crate::domain::lifecycle::Status;
use crate::domain::time::Timestamp;
use crate::service::wording::{self, Draft, Language, Say, instant, span};

/// How many characters of a digest are shown.
const DIGEST_CHARS: usize = 8;

pub(super) fn no_context(ended: Option<(Status, Timestamp)>, language: Language) -> String {
    let mut draft = Draft::new(language);
    draft.say(Say::NoContext);
    match ended {
        Some((Status::Closed, at)) => draft.fill(Say::LastClosed, &[&instant(at)]),
        Some((_, at)) => draft.fill(Say::LastExpired, &[&instant(at)]),
        None => draft.say(Say::NeverOne),
    }
    draft.finish(false)
}

pub(super) fn active_context(shown: &ContextShown, others: usize, now: Timestamp, language: Language) -> String {
    let mut draft = Draft::new(language);
    draft.say(Say::ActiveContext);
    draft.fill(Say::Status, &[language.pick(wording::status(shown.status))]);
    match shown.ended_at {
        Some(at) => draft.fill(Say::OverSince, &[&instant(at)]),
        None => draft.fill(Say::TimeLeft, &[&span(shown.expires_in_seconds)]),
    }
    if let Some(blocked) = &shown.blocked {
        draft.fill(Say::WaitsFor, &[language.pick(wording::blocked_on(blocked.on))]);
    }
    for (phrase, value) in [(Say::Intent, &shown.active_intent), (Say::Target, &shown.active_target)] {
        if let Some(value) = value.as_ref().filter(|value| !value.is_null()) {
            draft.fill(phrase, &[&readable(value)]);
        }
    }
    let questions = questions(shown, now, language);
    if questions.is_empty() && shown.status.is_open() {
        draft.say(Say::NothingAsked);
    }
    for line in &questions {
        draft.line(line);
    }
    if let Some(Some(command)) = &shown.last_command {
        let outcome = language.pick(wording::outcome(command.outcome));
        draft.fill(Say::LastCommand, &[command.name.as_str(), outcome]);
    }
    if others > 0 {
        draft.fill(Say::OtherContexts, &[&others.to_string()]);
    }
    draft.finish(false)
}

/// Each open item in one sentence.
fn questions(shown: &ContextShown, now: Timestamp, language: Language) -> Vec<String> {
    let (confirmation, approval, choice) =
        (&shown.pending_confirmation, &shown.pending_approval, &shown.pending_disambiguation);
    let left = |question: &QuestionShown| question.expires_at.map(|at| span(now.seconds_until(at)));
    let count = |number: usize| number.to_string();
    let confirmation = confirmation.exists.then(|| match (&confirmation.command_name, left(confirmation)) {
        (Some(name), Some(left)) => language.fill(Say::ConfirmationOf, &[name.as_str(), &left]),
        _ => language.say(Say::ConfirmationOpen).to_owned(),
    });
    let choice = choice.exists.then(|| match (choice.options, left(choice)) {
        (Some(options), Some(left)) => language.fill(Say::ChoiceOf, &[&count(options), &left]),
        _ => language.say(Say::ChoiceOpen).to_owned(),
    });
    let approval =
        approval.exists.then(|| match (&approval.role, approval.received, approval.required, left(approval)) {
            (Some(role), Some(received), Some(required), Some(left)) => {
                language.fill(Say::ApprovalOf, &[role, &count(received), &required.to_string(), &left])
            }
            _ => language.say(Say::ApprovalOpen).to_owned(),
        });
    [confirmation, choice, approval].into_iter().flatten().collect()
}

pub(super) fn list(
    status: Status,
    contexts: &[ContextShown],
    more: bool,
    now: Timestamp,
    language: Language,
) -> String {
    let mut draft = Draft::new(language);
    let (title, nothing) = match status {
        Status::Blocked => (Say::BlockedList, Say::NothingBlocked),
        _ => (Say::PendingList, Say::NothingPending),
    };
    if contexts.is_empty() {
        draft.say(nothing);
        return draft.finish(more);
    }
    let count = contexts.len().to_string();
    let count = if more { language.fill(Say::AtLeast, &[&count]) } else { count };
    draft.fill(title, &[&count]);
    for shown in contexts {
        for line in &list_lines(shown, now, language) {
            draft.line(line);
        }
    }
    draft.finish(more)
}

/// A line for what a context waits for: one for each open item.
fn list_lines(shown: &ContextShown, now: Timestamp, language: Language) -> Vec<String> {
    let subject = match &shown.active_target {
        Some(value) if !value.is_null() => readable(value),
        _ => language.say(Say::AContext).to_owned(),
    };
    if let Some(blocked) = &shown.blocked {
        let on = language.pick(wording::blocked_on(blocked.on));
        return vec![language.fill(Say::BlockedItem, &[&subject, on, &instant(blocked.since)])];
    }
    let kinds = [
        (&shown.pending_confirmation, Say::ConfirmationFor, Say::AConfirmation),
        (&shown.pending_approval, Say::ApprovalFor, Say::AnApproval),
        (&shown.pending_disambiguation, Say::AChoice, Say::AChoice),
    ];
    let line = |(question, named, plain): (&QuestionShown, Say, Say)| {
        let what = match &question.command_name {
            Some(name) => language.fill(named, &[name.as_str()]),
            None => language.say(plain).to_owned(),
        };
        let left = question.expires_at.unwrap_or(shown.expires_at);
        language.fill(Say::PendingItem, &[&subject, &what, &span(now.seconds_until(left))])
    };
    let lines: Vec<String> = kinds.into_iter().filter(|(question, _, _)| question.exists).map(line).collect();
    if lines.is_empty() { vec![language.fill(Say::At, &[&subject, ""])] } else { lines }
}

pub(super) fn unreported(commands: &[ExecutionShown], more: bool, now: Timestamp, language: Language) -> String {
    let mut draft = Draft::new(language);
    if commands.is_empty() {
        draft.say(Say::NothingUnreported);
        return draft.finish(more);
    }
    let count = commands.len().to_string();
    let count = if more { language.fill(Say::AtLeast, &[&count]) } else { count };
    draft.fill(Say::UnreportedList, &[&count]);
    for command in commands {
        let (name, id) = (command.name.as_str(), command.command_id.as_str());
        let line = match command.execution {
            ExecutionState::Executing => {
                language.fill(Say::ExecutingItem, &[name, id, &span(now.seconds_until(command.report_by))])
            }
            ExecutionState::Unknown | ExecutionState::Reported => {
                language.fill(Say::UnknownItem, &[name, id, &instant(command.unknown_from)])
            }
        };
        draft.line(&line);
    }
    draft.finish(more)
}

pub(super) fn history(events: &[HistoryShown], more: bool, language: Language) -> String {
    let mut draft = Draft::new(language);
    if events.is_empty() {
        draft.say(Say::NoHistory);
        return draft.finish(more);
    }
    draft.say(Say::History);
    // The newest first, because the end of a long text is cut off.
    for event in events.iter().rev() {
        let word = wording::event_word(&event.kind).map_or(event.kind.as_str(), |words| language.pick(words));
        let status = event.to.map(|status| language.pick(wording::status(status)));
        let verdict = event.verdict.map(|code| language.pick(wording::verdict(code)));
        let what = match status.or(verdict) {
            Some(detail) => language.fill(Say::Because, &[word, detail]),
            None => word.to_owned(),
        };
        draft.fill(Say::At, &[&instant(event.at), &what]);
    }
    draft.finish(more)
}

/// A redacted value as readable text.
fn readable(value: &Value) -> String {
    match value {
        Value::String(text) => match text.strip_prefix("hmac-sha256:") {
            Some(digest) => format!("#{}", digest.chars().take(DIGEST_CHARS).collect::<String>()),
            None => text.clone(),
        },
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{name}: {}", readable(value)));
            members.collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) => items.iter().map(readable).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
