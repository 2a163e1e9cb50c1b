//! Finds the data for a query.

use super::view::{ContextShown, ExecutionShown, HistoryShown, Item, Stored};
use super::{Found, OocRequest, Query, telling};
use crate::domain::context::{ContextRecord, OpenItems};
use crate::domain::event::Event;
use crate::domain::id::ConversationId;
use crate::domain::item::PendingItem;
use crate::domain::lifecycle::Status;
use crate::domain::query::{ContextQuery, EvidenceQuery, MAX_PAGE, UnreportedQuery};
use crate::domain::redaction::Redactor;
use crate::evidence::entry::{LogEntry, Payload};
use crate::service::access::{Part, Sight};
use crate::service::{Caller, Service, ServiceError};

/// The most contexts in one list.
const LISTED: usize = 50;
/// Limits of one history: events, and pages of the log searched for them.
const HISTORY: usize = 50;
const HISTORY_PAGES: usize = 10;

impl Service {
    pub(super) async fn show_active_context(
        &self,
        caller: &Caller,
        request: &OocRequest,
        sight: &Sight,
        redactor: &mut Redactor<'_>,
    ) -> Result<Found, ServiceError> {
        let (context, other_contexts) = match (&request.context_id, &request.conversation_id) {
            (Some(id), _) => {
                let found = self.store.context(&caller.tenant.tenant_id, id).await?;
                (Some(found.ok_or(ServiceError::NotFound("context"))?), 0)
            }
            (None, Some(conversation_id)) => {
                let mut open = self.open_contexts(caller, conversation_id).await?;
                let others = open.len().saturating_sub(1);
                (if open.is_empty() { None } else { Some(open.swap_remove(0)) }, others)
            }
            (None, None) => return Err(ServiceError::NotFound("context")),
        };
        let Some(context) = context else { return self.nothing_open(caller, request, sight).await };
        let shown = self.shown(caller, &context, sight, redactor).await?;
        let text = telling::active_context(&shown, other_contexts, self.now(), sight.language);
        Ok(Found {
            context: Some(shown),
            other_contexts,
            items: None,
            more: false,
            explanation: None,
            text,
            records: 1,
        })
    }

    /// If no context is open, reports when the newest one ended.
    async fn nothing_open(&self, caller: &Caller, request: &OocRequest, sight: &Sight) -> Result<Found, ServiceError> {
        let query =
            ContextQuery { conversation_id: request.conversation_id.clone(), limit: 1, ..ContextQuery::default() };
        let page = self.store.contexts(&caller.tenant.tenant_id, &query).await?;
        let now = self.now();
        let ended = page.items.first().and_then(|context| {
            let stored = Stored { context, open: &[], last_command: None, now };
            Some((stored.status(), stored.ended_at()?))
        });
        let text = telling::no_context(ended, sight.language);
        Ok(Found { context: None, other_contexts: 0, items: None, more: false, explanation: None, text, records: 0 })
    }

    /// The open contexts of a conversation, newest change first.
    async fn open_contexts(
        &self,
        caller: &Caller,
        conversation_id: &ConversationId,
    ) -> Result<Vec<ContextRecord>, ServiceError> {
        let mut open = Vec::new();
        for status in Status::ALL.into_iter().filter(|status| status.is_open()) {
            let query = ContextQuery {
                conversation_id: Some(conversation_id.clone()),
                status: Some(status),
                now: Some(self.now()),
                limit: MAX_PAGE,
                ..ContextQuery::default()
            };
            open.extend(self.store.contexts(&caller.tenant.tenant_id, &query).await?.items);
        }
        open.sort_by(|a, b| (b.updated_at, &b.context_id).cmp(&(a.updated_at, &a.context_id)));
        Ok(open)
    }

    /// The open items of a context that can still be answered.
    async fn live_items(&self, caller: &Caller, context: &ContextRecord) -> Result<Vec<PendingItem>, ServiceError> {
        let (tenant, now) = (&caller.tenant.tenant_id, self.now());
        let mut live = Vec::new();
        for id in context.open_items().filter(|_| !context.is_due(now)).into_iter().flat_map(OpenItems::iter) {
            let Some(item) = self.store.item(tenant, id).await? else { continue };
            let view = self.item_view(caller, item).await?;
            if view.item.is_open() && now < view.effective_deadline && !view.identity_changed {
                live.push(view.item);
            }
        }
        Ok(live)
    }

    async fn shown(
        &self,
        caller: &Caller,
        context: &ContextRecord,
        sight: &Sight,
        redactor: &mut Redactor<'_>,
    ) -> Result<ContextShown, ServiceError> {
        let open = self.live_items(caller, context).await?;
        let last_command = self.store.last_command(&caller.tenant.tenant_id, &context.context_id).await?;
        let stored = Stored { context, open: &open, last_command: last_command.as_ref(), now: self.now() };
        Ok(stored.shown(sight, redactor))
    }

    /// Pending or blocked contexts, of one conversation or of all.
    pub(super) async fn list(
        &self,
        caller: &Caller,
        request: &OocRequest,
        sight: &Sight,
        redactor: &mut Redactor<'_>,
    ) -> Result<Found, ServiceError> {
        let status = if request.query == Query::ListBlocked { Status::Blocked } else { Status::Pending };
        let query = ContextQuery {
            conversation_id: request.conversation_id.clone(),
            status: Some(status),
            now: Some(self.now()),
            limit: u32::try_from(LISTED).unwrap_or(MAX_PAGE),
            ..ContextQuery::default()
        };
        let page = self.store.contexts(&caller.tenant.tenant_id, &query).await?;
        let mut contexts = Vec::new();
        for context in &page.items {
            if request.context_id.as_ref().is_some_and(|id| *id != context.context_id) {
                continue;
            }
            let shown = self.shown(caller, context, sight, redactor).await?;
            // A question after its deadline is no longer pending, even if its expiry is not recorded yet.
            if shown.status == status {
                contexts.push(shown);
            }
        }
        let more = page.next.is_some();
        let text = telling::list(status, &contexts, more, self.now(), sight.language);
        let records = contexts.len();
        let items = contexts.into_iter().map(|shown| Item::Context(Box::new(shown))).collect();
        Ok(Found { context: None, other_contexts: 0, items: Some(items), more, explanation: None, text, records })
    }

    /// Bound commands without a report, of one conversation or of all, longest waiting first.
    pub(super) async fn list_unreported(
        &self,
        caller: &Caller,
        request: &OocRequest,
        sight: &Sight,
    ) -> Result<Found, ServiceError> {
        let query = UnreportedQuery {
            conversation_id: request.conversation_id.clone(),
            context_id: request.context_id.clone(),
            command_id: request.command_id.clone(),
            limit: u32::try_from(LISTED).unwrap_or(MAX_PAGE),
            ..UnreportedQuery::default()
        };
        let page = self.store.unreported(&caller.tenant.tenant_id, &query).await?;
        let now = self.now();
        let shown: Vec<ExecutionShown> =
            page.items.iter().map(|command| ExecutionShown::of(command, sight, now)).collect();
        let more = page.next.is_some();
        let text = telling::unreported(&shown, more, now, sight.language);
        let records = shown.len();
        let items = shown.into_iter().map(|shown| Item::Execution(Box::new(shown))).collect();
        Ok(Found { context: None, other_contexts: 0, items: Some(items), more, explanation: None, text, records })
    }

    /// The newest events of a conversation, a context or a command, oldest first.
    pub(super) async fn show_history(
        &self,
        caller: &Caller,
        request: &OocRequest,
        sight: &Sight,
    ) -> Result<Found, ServiceError> {
        let mut query = EvidenceQuery {
            conversation_id: request.conversation_id.clone(),
            context_id: request.context_id.clone(),
            command_id: request.command_id.clone(),
            limit: MAX_PAGE,
            ..EvidenceQuery::default()
        };
        if request.conversation_id.is_some() && request.context_id.is_none() && request.command_id.is_none() {
            query.from = self.newest_beginning(caller, request).await?;
        }
        let (mut entries, mut more) = (Vec::new(), false);
        for _ in 0..HISTORY_PAGES {
            let page = self.store.entries(&caller.tenant.tenant_id, &query).await?;
            entries.extend(page.items);
            more |= entries.len() > HISTORY;
            entries.drain(..entries.len().saturating_sub(HISTORY));
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        more |= query.after.is_some();
        let events: Vec<HistoryShown> = entries.iter().filter_map(|entry| history(entry, sight)).collect();
        let text = telling::history(&events, more, sight.language);
        let records = events.len();
        let items = events.into_iter().map(|event| Item::History(Box::new(event))).collect();
        Ok(Found { context: None, other_contexts: 0, items: Some(items), more, explanation: None, text, records })
    }

    /// The earliest start of the newest few contexts of a conversation, so that a long log is not read from its first
    /// day.
    async fn newest_beginning(
        &self,
        caller: &Caller,
        request: &OocRequest,
    ) -> Result<Option<crate::domain::time::Timestamp>, ServiceError> {
        let query =
            ContextQuery { conversation_id: request.conversation_id.clone(), limit: 5, ..ContextQuery::default() };
        let page = self.store.contexts(&caller.tenant.tenant_id, &query).await?;
        // With fewer contexts than asked for, the log is short, and may start before the contexts that are left.
        Ok(page.next.and(page.items.iter().map(|context| context.created_at).min()))
    }
}

/// An entry as a line of history; none if its payload is erased.
fn history(entry: &LogEntry, sight: &Sight) -> Option<HistoryShown> {
    let payload: Payload = serde_json::from_str(&entry.body.as_ref()?.payload).ok()?;
    let full = sight.shows(Part::Trace);
    let event = payload.event.core()?;
    let (verdict, reason) = match event {
        Event::MessageReceived { message, .. } => (Some(message.verdict.code), Some(message.verdict.reason.code())),
        Event::CommandRefused { reason, .. } => (None, word(reason)),
        Event::ItemSettled { state: crate::domain::item::ItemState::Voided { reason, .. }, .. } => {
            (None, Some(reason.as_str().to_owned()))
        }
        _ => (None, None),
    };
    let to = match event {
        Event::ContextCreated { context } => Some(context.state.status()),
        Event::ContextTransitioned { to, .. } => Some(to.status()),
        _ => None,
    };
    Some(HistoryShown {
        at: entry.header.at,
        kind: entry.header.kind.clone(),
        to,
        command_id: payload.about.command_id,
        verdict,
        reason: reason.filter(|_| full),
        artifact_id: full.then(|| entry.header.artifact_id.clone()),
        context_id: payload.about.context_id.filter(|_| full),
        message_ids: if full { payload.about.message_ids } else { Vec::new() },
    })
}

/// A code as the wire spells it.
fn word<T: serde::Serialize>(code: &T) -> Option<String> {
    serde_json::to_value(code).ok()?.as_str().map(str::to_owned)
}
