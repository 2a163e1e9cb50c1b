//! "Why did the bot do that": message → reading → verdict → binding → result, for one command.
//!
//! The source is the evidence log, which also has refused bindings and unbound answers that no record keeps. If
//! retention erased payloads, the command's record still shows how it ended.

mod steps;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::access::Sight;
use super::recording::{Looked, Unrecorded, Whose};
use super::wording::{self, Draft, Language, Say, instant};
use super::{Caller, Service, ServiceError};
use crate::domain::command::{CommandRecord, Outcome};
use crate::domain::event::Event;
use crate::domain::id::{Channel, CommandId, CommandName, ContextId, ItemId, MessageId, PrincipalId};
use crate::domain::item::PendingItem;
use crate::domain::message::message_key;
use crate::domain::policy::{DetailLevel, PolicyRef};
use crate::domain::query::{EvidenceQuery, MAX_PAGE};
use crate::domain::redaction::Redactor;
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::evidence::entry::{LogEntry, Logged, Payload};

pub use steps::Step;

/// Limits for one command: pages of the log, and contexts searched for its messages.
const PAGES: usize = 10;
const CONTEXTS: usize = 4;

/// The outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was released for execution, once.
    Bound,
    /// It was not executed and will not be, unless something changes.
    NotExecuted,
    /// It waits for an answer or for its release.
    Waiting,
}

#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    pub command_id: CommandId,
    /// Its name, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_name: Option<CommandName>,
    pub fate: Fate,
    /// Its state, if it was bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The context it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    pub summary: String,
    pub steps: Vec<Step>,
    /// The same as a text for WhatsApp.
    pub text: String,
}

/// An explanation with a note of what was redacted.
#[derive(Debug, Clone, Serialize)]
pub struct Explained {
    #[serde(flatten)]
    pub explanation: Explanation,
    /// The level of detail shown.
    pub detail_level: &'static str,
    /// The instant that it describes.
    pub as_of: Timestamp,
    /// The language of its sentences.
    pub language: &'static str,
    /// What was omitted or redacted.
    pub redaction: super::ooc::RedactionShown,
}

/// One event of the story.
#[derive(Debug, Clone)]
struct Happening {
    at: Timestamp,
    /// Orders events with the same time.
    order: (String, u64),
    event: Event,
    policy: PolicyRef,
}

/// Everything known about one command.
#[derive(Debug, Default)]
struct Story {
    command: Option<CommandRecord>,
    happenings: Vec<Happening>,
    items: Vec<PendingItem>,
}

impl Service {
    /// Explains a command to an operator. The read is recorded before it is answered, even if it is refused.
    pub async fn explanation(
        &self,
        caller: &Caller,
        command_id: &CommandId,
        viewer_id: Option<&PrincipalId>,
        locale: Option<&str>,
    ) -> Result<Explained, ServiceError> {
        let mut looked = Looked {
            operation: "ooc.explanation".to_owned(),
            whose: Whose::Everybodys,
            viewer_id: viewer_id.cloned(),
            command_id: Some(command_id.clone()),
            ..Looked::default()
        };
        self.require_recorded(caller, Scope::OocRead, &looked).await?;
        let sight = self.sight(caller, viewer_id, locale).await?;
        looked.detail = Some(sight.word().to_owned());
        if sight.level < DetailLevel::Standard {
            return self.refuse_recorded(caller, &looked, ServiceError::DetailNotAllowed).await;
        }
        let book = self.rules.now();
        let rules = book.rules(&caller.tenant.policy_scope());
        let mut redactor = Redactor::new(&rules.policy.pack().redaction, &caller.tenant.key).raw_if(sight.raw);
        let explanation = self.explain(caller, command_id, &sight, &mut redactor).await;
        looked.records = explanation.as_ref().map_or(0, |explanation| explanation.steps.len());
        looked.context_id = explanation.as_ref().ok().and_then(|explanation| explanation.context_id.clone());
        Ok(Explained {
            explanation: Unrecorded::or_not(explanation, looked).record(self, caller).await?,
            detail_level: super::access::detail_word(sight.level),
            as_of: self.now(),
            language: sight.language.tag(),
            redaction: super::ooc::RedactionShown { level: sight.word(), applied: redactor.applied() },
        })
    }

    /// The explanation itself; the caller has checked the permission and recorded the read.
    pub(super) async fn explain(
        &self,
        caller: &Caller,
        command_id: &CommandId,
        sight: &Sight,
        redactor: &mut Redactor<'_>,
    ) -> Result<Explanation, ServiceError> {
        let story = self.story(caller, command_id).await?;
        if story.command.is_none() && story.happenings.is_empty() {
            return Err(ServiceError::NotFound("command"));
        }
        Ok(tell(command_id, &story, self.now(), sight, redactor))
    }

    async fn story(&self, caller: &Caller, command_id: &CommandId) -> Result<Story, ServiceError> {
        let tenant = &caller.tenant.tenant_id;
        let command = self.store.command(tenant, command_id).await?;
        let about = EvidenceQuery { command_id: Some(command_id.clone()), ..EvidenceQuery::default() };
        let mut happenings = self.happenings(caller, about, |_| true).await?;
        let asked = happenings.iter().filter_map(|happening| item_of(&happening.event).cloned());
        let spent = command.iter().flat_map(|command| [&command.confirmation_id, &command.approval_id]);
        let item_ids: BTreeSet<ItemId> = asked.chain(spent.flatten().cloned()).collect();
        let mut items = Vec::new();
        for id in &item_ids {
            items.extend(self.store.item(tenant, id).await?);
        }
        items.sort_by(|a, b| (a.asked_at, &a.item_id).cmp(&(b.asked_at, &b.item_id)));
        happenings.extend(self.messages_about(caller, command.as_ref(), &items, &happenings).await?);
        let mut story = Story { command, happenings, items };
        story.complete_from_record();
        story.happenings.sort_by(|a, b| (a.at, &a.order).cmp(&(b.at, &b.order)));
        Ok(story)
    }

    /// The events in the log, as far as payloads are kept.
    async fn happenings(
        &self,
        caller: &Caller,
        mut query: EvidenceQuery,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<Vec<Happening>, ServiceError> {
        query.limit = MAX_PAGE;
        let mut happenings = Vec::new();
        for _ in 0..PAGES {
            let page = self.store.entries(&caller.tenant.tenant_id, &query).await?;
            happenings.extend(page.items.iter().filter_map(happening).filter(|happening| wanted(&happening.event)));
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        Ok(happenings)
    }

    /// The messages that answered or tried to: those linked in the log, and those named by the record.
    async fn messages_about(
        &self,
        caller: &Caller,
        command: Option<&CommandRecord>,
        items: &[PendingItem],
        happenings: &[Happening],
    ) -> Result<Vec<Happening>, ServiceError> {
        let named = named_messages(command, items, happenings);
        let places: BTreeMap<&ContextId, Timestamp> =
            items.iter().rev().map(|item| (&item.context_id, item.asked_at)).take(CONTEXTS).collect();
        let mut found = Vec::new();
        for (context_id, from) in places {
            let query = EvidenceQuery {
                context_id: Some(context_id.clone()),
                kind: Some("message.received".to_owned()),
                from: Some(from),
                ..EvidenceQuery::default()
            };
            let concerns = |event: &Event| match event {
                Event::MessageReceived { message, .. } => {
                    named.contains(&message.message_id)
                        || items.iter().any(|item| message.verdict.item_id.as_ref() == Some(&item.item_id))
                }
                _ => false,
            };
            found.extend(self.happenings(caller, query, concerns).await?);
        }
        let have: BTreeSet<MessageId> =
            found.iter().filter_map(|happening| message_of(&happening.event)).cloned().collect();
        // An id without a channel belongs to the default channel.
        let channel = Channel::default();
        let keys: Vec<_> = named
            .iter()
            .filter(|id| !have.contains(*id))
            .map(|id| message_key(&caller.tenant.key, &channel, id))
            .collect();
        if keys.is_empty() {
            return Ok(found);
        }
        let policy = items.first().map(|item| item.policy.clone()).or(command.map(|command| command.policy.clone()));
        let Some(policy) = policy else { return Ok(found) };
        for message in self.store.messages(&caller.tenant.tenant_id, &keys).await? {
            let order = (String::new(), 0);
            let (at, policy) = (message.received_at, policy.clone());
            let event = Event::MessageReceived { message, expires_at: None, passed_by: None, withdraws: None };
            found.push(Happening { at, order, event, policy });
        }
        Ok(found)
    }
}

impl Story {
    /// Where payloads are erased, the record still shows that the command was bound, and its result.
    fn complete_from_record(&mut self) {
        let Some(command) = self.command.clone() else { return };
        let add =
            |at, seq, event| Happening { at, order: ("~".to_owned(), seq), event, policy: command.policy.clone() };
        if !self.happenings.iter().any(|happening| matches!(happening.event, Event::CommandBound { .. })) {
            self.happenings.push(add(command.bound_at, 0, Event::CommandBound { command: command.clone() }));
        }
        let reported =
            self.happenings.iter().filter(|happening| matches!(happening.event, Event::ResultRecorded { .. })).count();
        let lost = command.results.len().saturating_sub(reported);
        for (seq, result) in (1..).zip(command.results.iter().take(lost)) {
            let event = Event::ResultRecorded {
                command_id: command.command_id.clone(),
                result: result.clone(),
                context_ref: None,
                slot: None,
            };
            self.happenings.push(add(result.at, seq, event));
        }
    }
}

/// An entry's event; none if its payload is erased.
fn happening(entry: &LogEntry) -> Option<Happening> {
    let payload: Payload = serde_json::from_str(&entry.body.as_ref()?.payload).ok()?;
    let order = (entry.header.stream_id.to_string(), entry.header.seq);
    let Logged::Core(event) = payload.event else { return None };
    Some(Happening { at: entry.header.at, order, event, policy: payload.policy })
}

fn item_of(event: &Event) -> Option<&ItemId> {
    match event {
        Event::ItemAsked { item, .. } => Some(&item.item_id),
        Event::ItemSettled { item_id, .. } => Some(item_id),
        _ => None,
    }
}

fn message_of(event: &Event) -> Option<&MessageId> {
    match event {
        Event::MessageReceived { message, .. } => Some(&message.message_id),
        _ => None,
    }
}

/// The messages named by the command, its questions and their answers.
fn named_messages(
    command: Option<&CommandRecord>,
    items: &[PendingItem],
    happenings: &[Happening],
) -> BTreeSet<MessageId> {
    let of_command = command.into_iter().flat_map(|command| command.message_ids.iter().cloned());
    let of_items = items.iter().flat_map(steps::answering_messages);
    let of_facts = happenings.iter().filter_map(|happening| match &happening.event {
        Event::ApprovalGiven { decision, .. } => decision.message_id.clone(),
        _ => None,
    });
    of_command.chain(of_items).chain(of_facts).collect()
}

/// Writes the explanation as text.
fn tell(
    command_id: &CommandId,
    story: &Story,
    now: Timestamp,
    sight: &Sight,
    redactor: &mut Redactor<'_>,
) -> Explanation {
    let language = sight.language;
    let asked = story.items.iter().rev().find_map(|item| item.command().map(|command| command.name.clone()));
    let command_name = story.command.as_ref().map(|command| command.name.clone()).or(asked);
    let (fate, summary) = ending(story, now, language);
    let steps: Vec<Step> =
        story.happenings.iter().filter_map(|happening| steps::step(happening, sight, redactor)).collect();
    let context_id = story.command.as_ref().map(|command| &command.context_id);
    let context_id = context_id.or(story.items.last().map(|item| &item.context_id)).cloned();
    let mut draft = Draft::new(language);
    let title = command_name.as_ref().map_or_else(|| language.say(Say::ACommand), CommandName::as_str);
    draft.fill(Say::Why, &[title]);
    draft.line(&summary);
    for step in &steps {
        draft.line(&format!("• {} {}", instant(step.at), step.why));
    }
    Explanation {
        command_id: command_id.clone(),
        command_name,
        fate,
        outcome: story.command.as_ref().map(CommandRecord::outcome),
        context_id,
        summary,
        steps,
        text: draft.finish(false),
    }
}

/// The outcome in one sentence.
fn ending(story: &Story, now: Timestamp, language: Language) -> (Fate, String) {
    if let Some(command) = &story.command {
        let outcome = language.pick(wording::outcome(command.outcome()));
        return (Fate::Bound, language.fill(Say::WasBound, &[&instant(command.bound_at), outcome]));
    }
    let (fate, because) = steps::why_not(&story.happenings, &story.items, now, language);
    (fate, language.fill(Say::NotExecuted, &[because]))
}
