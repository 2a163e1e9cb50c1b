//! Reads of contexts, items, commands and principals. Expiry is judged at the time of the read.

use super::ooc::RedactionShown;
use super::recording::{Looked, Unrecorded};
use super::{Caller, Service, ServiceError};
use crate::domain::command::{CommandRecord, ExecutionState};
use crate::domain::context::{ContextRecord, OpenItems};
use crate::domain::decide::{at_present, result_copy, slot_copy};
use crate::domain::id::{CommandId, ContextId, ItemId};
use crate::domain::item::{PendingItem, Question};
use crate::domain::operation::Answer;
use crate::domain::policy::SlotStorage;
use crate::domain::principal::Principal;
use crate::domain::query::{ApprovalQuery, ContextQuery, Page, Position, PrincipalQuery, UnreportedQuery};
use crate::domain::scope::Scope;
use crate::domain::slots::{LAST_RESULT, pending_slot};
use crate::domain::time::Timestamp;
use crate::domain::world::World;
use crate::storage::Kin;

/// A context record with values computed at the time of the read.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextView {
    pub context: ContextRecord,
    /// Open items before their deadline: a question to its actor, an approval asked of others, or both.
    pub open: Vec<PendingItem>,
    /// The redaction, for callers whose view may be redacted.
    pub redaction: Option<RedactionShown>,
    /// The time of the read, which `status` refers to.
    pub now: Timestamp,
}

/// A pending item with its effective deadline.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemView {
    pub item: PendingItem,
    /// Its own deadline or its context's, whichever comes first.
    pub effective_deadline: Timestamp,
    /// Whether the identity of the person asked has changed since. The item is void then, even if that is not recorded
    /// yet.
    pub identity_changed: bool,
    /// When it was read.
    pub now: Timestamp,
}

impl Service {
    pub async fn context(&self, caller: &Caller, id: &ContextId) -> Result<Unrecorded<ContextView>, ServiceError> {
        let asked = Looked { context_id: Some(id.clone()), ..Looked::at("contexts.get", [id]) }.asked();
        let found = async {
            caller.require(Scope::ContextRead)?;
            let context =
                self.store.context(&caller.tenant.tenant_id, id).await?.ok_or(ServiceError::NotFound("context"))?;
            let looked = Looked {
                context_id: Some(context.context_id.clone()),
                conversation_id: Some(context.conversation_id.clone()),
                ..Looked::at("contexts.get", [id])
            };
            Ok(Unrecorded::new(self.view(caller, context).await?, looked))
        };
        Unrecorded::or_nothing(found.await, asked)
    }

    /// Adds open items and derived slots to a record, and redacts it for this caller.
    pub(super) async fn view(&self, caller: &Caller, mut context: ContextRecord) -> Result<ContextView, ServiceError> {
        let now = self.now();
        let tenant = &caller.tenant.tenant_id;
        let mut open = Vec::new();
        for id in context.open_items().filter(|_| !context.is_due(now)).into_iter().flat_map(OpenItems::iter) {
            open.extend(self.store.item(tenant, id).await?.filter(|item| item.is_open() && now < item.expires_at));
        }
        self.derive_slots(caller, &mut context, &open).await?;
        let redaction = self.cover_context(caller, &mut context);
        Ok(ContextView { context, open, redaction, now })
    }

    /// Computes the slots that policy derives instead of storing (RFC XII).
    async fn derive_slots(
        &self,
        caller: &Caller,
        context: &mut ContextRecord,
        open: &[PendingItem],
    ) -> Result<(), ServiceError> {
        let scope = caller.tenant.policy_scope();
        let book = self.rules.now();
        let slots = &book.rules(&scope).policy.pack().slots;
        for item in open {
            let slot = pending_slot(item.kind());
            if slots.storage_of(slot) == SlotStorage::Derived {
                context.slots.insert(slot.to_owned(), slot_copy(item));
            }
        }
        if slots.storage_of(LAST_RESULT) == SlotStorage::Derived
            && let Some(command) = self.store.last_command(&caller.tenant.tenant_id, &context.context_id).await?
            && let Some(copy) = result_copy(&command)
        {
            context.slots.insert(LAST_RESULT.to_owned(), copy);
        }
        Ok(())
    }

    /// Adds the slots that policy derives to an answer. The decision is durable, so a failed read leaves them out
    /// instead of failing the answer.
    pub(super) async fn complete(&self, caller: &Caller, answer: &mut Answer) {
        let context = match answer {
            Answer::Context { context, .. } => Some(context),
            Answer::Turn { context, .. } | Answer::Recorded { context, .. } => context.as_mut(),
            _ => None,
        };
        let Some(context) = context else { return };
        let mut open = Vec::new();
        for id in context.open_items().into_iter().flat_map(OpenItems::iter) {
            open.extend(self.store.item(&caller.tenant.tenant_id, id).await.ok().flatten());
        }
        if let Err(error) = self.derive_slots(caller, context, &open).await {
            tracing::warn!(slots.error = %error, "derived slots could not be computed and are missing from an answer");
        }
    }

    /// Whether policy derives any slot for this tenant.
    pub(super) fn derives_slots(&self, caller: &Caller) -> bool {
        let scope = caller.tenant.policy_scope();
        self.rules.now().rules(&scope).policy.pack().slots.storage.values().any(|how| *how == SlotStorage::Derived)
    }

    pub async fn contexts(
        &self,
        caller: &Caller,
        mut query: ContextQuery,
    ) -> Result<Unrecorded<Page<ContextView>>, ServiceError> {
        caller.require(Scope::ContextRead)?;
        query.now = Some(self.now());
        let page = self.store.contexts(&caller.tenant.tenant_id, &query).await?;
        let mut items = Vec::with_capacity(page.items.len());
        for context in page.items {
            items.push(self.view(caller, context).await?);
        }
        let looked = Looked {
            conversation_id: query.conversation_id,
            ..Looked::at("contexts.query", items.iter().map(|view| &view.context.context_id)).asking(query.actor_id)
        };
        Ok(Unrecorded::new(Page { items, next: page.next }, looked))
    }

    pub async fn item(&self, caller: &Caller, id: &ItemId) -> Result<Unrecorded<ItemView>, ServiceError> {
        let asked = Looked::at(&format!("{}s.get", id.kind().as_str()), [id]).asked();
        let found = async {
            caller.require(Scope::ContextRead)?;
            let item = self
                .store
                .item(&caller.tenant.tenant_id, id)
                .await?
                .ok_or(ServiceError::NotFound(id.kind().as_str()))?;
            let looked = Looked {
                context_id: Some(item.context_id.clone()),
                conversation_id: Some(item.conversation_id.clone()),
                ..Looked::at(&format!("{}s.get", id.kind().as_str()), [id])
            };
            Ok(Unrecorded::new(self.item_view(caller, item).await?, looked))
        };
        Unrecorded::or_nothing(found.await, asked)
    }

    pub(super) async fn item_view(&self, caller: &Caller, item: PendingItem) -> Result<ItemView, ServiceError> {
        let tenant = &caller.tenant.tenant_id;
        let context = self.store.context(tenant, &item.context_id).await?;
        let effective_deadline = context.map_or(item.expires_at, |context| context.expires_at.min(item.expires_at));
        let principal = self.store.principal(tenant, item.actor_id.as_str()).await?;
        let identity_changed =
            principal.as_ref().is_some_and(|principal| principal.identity_epoch != item.identity_epoch);
        let item = self.with_people_of_today(caller, item, principal).await?;
        Ok(ItemView { item, effective_deadline, identity_changed, now: self.now() })
    }

    /// An approval, with the approvers counted as persons by today's registrations.
    async fn with_people_of_today(
        &self,
        caller: &Caller,
        item: PendingItem,
        requester: Option<Principal>,
    ) -> Result<PendingItem, ServiceError> {
        let Question::Approval { approvals, .. } = &item.question else { return Ok(item) };
        let tenant = &caller.tenant;
        let mut world = World::new(tenant.tenant_id.clone(), tenant.key);
        let mut kin = Kin::default();
        std::iter::once(&item.actor_id)
            .chain(approvals.iter().map(|given| &given.approver_id))
            .for_each(|id| kin.begin(id));
        loop {
            let keys = kin.next_keys();
            if keys.is_empty() {
                break;
            }
            kin.take(self.store.kin(&tenant.tenant_id, &keys).await?);
        }
        let (people, too_many) = kin.end();
        world.people_unknown = too_many;
        let named = |principal: Principal| (principal.principal_id.clone(), principal);
        world.principals.extend(people.into_iter().chain(requester).map(named));
        Ok(at_present(&world, &item))
    }

    pub async fn approvals(
        &self,
        caller: &Caller,
        mut query: ApprovalQuery,
    ) -> Result<Unrecorded<Page<ItemView>>, ServiceError> {
        caller.require(Scope::ContextRead)?;
        query.now = Some(self.now());
        let page = self.store.approvals(&caller.tenant.tenant_id, &query).await?;
        let mut items = Vec::with_capacity(page.items.len());
        for item in page.items {
            items.push(self.item_view(caller, item).await?);
        }
        let looked = Looked {
            conversation_id: query.conversation_id,
            ..Looked::at("approvals.query", items.iter().map(|view| &view.item.item_id))
        };
        Ok(Unrecorded::new(Page { items, next: page.next }, looked))
    }

    pub async fn command(&self, caller: &Caller, id: &CommandId) -> Result<Unrecorded<CommandRecord>, ServiceError> {
        let asked = Looked { command_id: Some(id.clone()), ..Looked::at::<&str>("commands.get", []) }.asked();
        let found = async {
            caller.require(Scope::ContextRead)?;
            let found = self.store.command(&caller.tenant.tenant_id, id).await?;
            let mut command = found.ok_or(ServiceError::NotFound("command"))?;
            self.cover_command(caller, &mut command);
            let looked = Looked {
                command_id: Some(id.clone()),
                context_id: Some(command.context_id.clone()),
                conversation_id: Some(command.conversation_id.clone()),
                records: 1,
                ..Looked::at::<&str>("commands.get", [])
            };
            Ok(Unrecorded::new(command, looked))
        };
        Unrecorded::or_nothing(found.await, asked)
    }

    /// Bound commands without a report, longest waiting first: those whose owners have time left, those whose execution
    /// is unknown, or both.
    pub async fn unreported(
        &self,
        caller: &Caller,
        wanted: Option<ExecutionState>,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Unrecorded<Page<CommandRecord>>, ServiceError> {
        caller.require(Scope::ContextRead)?;
        let now = self.now();
        let query = UnreportedQuery {
            unknown_at: wanted.filter(|state| *state == ExecutionState::Unknown).map(|_| now),
            executing_at: wanted.filter(|state| *state == ExecutionState::Executing).map(|_| now),
            after,
            limit,
            ..UnreportedQuery::default()
        };
        let mut page = self.store.unreported(&caller.tenant.tenant_id, &query).await?;
        for command in &mut page.items {
            self.cover_command(caller, command);
        }
        // The record lists contexts: command ids are callers' free text.
        let looked = Looked::at("commands.query", page.items.iter().map(|command| &command.context_id));
        Ok(Unrecorded::new(page, looked))
    }

    /// Principals. External names are shown to callers who manage them.
    pub async fn principals(
        &self,
        caller: &Caller,
        query: PrincipalQuery,
    ) -> Result<Unrecorded<Page<Principal>>, ServiceError> {
        if caller.require(Scope::PrincipalWrite).is_err() {
            caller.require(Scope::ContextRead)?;
        }
        let mut page = self.store.principals(&caller.tenant.tenant_id, &query).await?;
        for principal in &mut page.items {
            self.cover_principal(caller, principal);
        }
        // The record lists the principals found, and not the external name of the query, which may be a telephone
        // number.
        let looked = Looked::at("principals.query", page.items.iter().map(|principal| &principal.principal_id))
            .asking(query.principal_id)
            .asking(query.person_id);
        Ok(Unrecorded::new(page, looked))
    }
}
