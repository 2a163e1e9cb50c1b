//! Reads of records for lists and lookups, without locks: no decision may rest on them. The caller judges expiry by its
//! clock.

use async_trait::async_trait;
use serde::de::DeserializeOwned;

use super::loading::searching_kin;
use super::sql::{Database, Statement, Value, body, first, page};
use super::{StorageError, StoredClaim};
use crate::domain::canonical::Digest;
use crate::domain::command::CommandRecord;
use crate::domain::context::ContextRecord;
use crate::domain::id::{
    CommandId, ContextFrameId, ContextId, ConversationId, ItemId, PackId, PersonId, PrincipalId, RoleName, SpaceId,
    TenantId,
};
use crate::domain::item::PendingItem;
use crate::domain::lifecycle::Status;
use crate::domain::message::MessageRecord;
use crate::domain::principal::{PersonKey, Principal};
use crate::domain::query::{ApprovalQuery, ContextQuery, Page, Position, PrincipalQuery, UnreportedQuery};
use crate::domain::world::StoredFrame;
use crate::state_layer::assembly::SavedPack;
use crate::state_layer::fact::Fact;
use crate::state_layer::query::FactQuery;

/// Reads of records.
#[async_trait]
pub trait RecordStore: Send + Sync {
    async fn context(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Option<ContextRecord>, StorageError>;
    /// Context records, newest first.
    async fn contexts(&self, tenant_id: &TenantId, query: &ContextQuery) -> Result<Page<ContextRecord>, StorageError>;
    async fn item(&self, tenant_id: &TenantId, id: &ItemId) -> Result<Option<PendingItem>, StorageError>;
    /// The items of a context, oldest first.
    async fn items_of(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Vec<PendingItem>, StorageError>;
    async fn approvals(&self, tenant_id: &TenantId, query: &ApprovalQuery) -> Result<Page<PendingItem>, StorageError>;
    async fn command(&self, tenant_id: &TenantId, id: &CommandId) -> Result<Option<CommandRecord>, StorageError>;
    /// Bound commands without a report, longest waiting first.
    async fn unreported(
        &self,
        tenant_id: &TenantId,
        query: &UnreportedQuery,
    ) -> Result<Page<CommandRecord>, StorageError>;
    /// The command of a context with the latest report or binding.
    async fn last_command(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Option<CommandRecord>, StorageError>;
    /// Messages by their dedupe keys, in no particular order.
    async fn messages(&self, tenant_id: &TenantId, keys: &[Digest]) -> Result<Vec<MessageRecord>, StorageError>;
    async fn principal(&self, tenant_id: &TenantId, id: &str) -> Result<Option<Principal>, StorageError>;
    async fn principals(&self, tenant_id: &TenantId, query: &PrincipalQuery) -> Result<Page<Principal>, StorageError>;
    /// Principals with one of these keys, at most one more than [`MAX_KIN`](super::MAX_KIN).
    async fn kin(&self, tenant_id: &TenantId, keys: &[PersonKey]) -> Result<Vec<Principal>, StorageError>;
    async fn frame(&self, tenant_id: &TenantId, id: &ContextFrameId) -> Result<Option<StoredFrame>, StorageError>;
    /// Facts of a space, newest first.
    async fn facts(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        query: &FactQuery,
    ) -> Result<Page<Fact>, StorageError>;
    /// A saved context pack.
    async fn saved_pack(&self, tenant_id: &TenantId, id: &PackId) -> Result<Option<SavedPack>, StorageError>;
    /// The stored answer for this keyed digest of an `Idempotency-Key`, even if it has expired.
    async fn claim(&self, tenant_id: &TenantId, key: &Digest) -> Result<Option<StoredClaim>, StorageError>;
}

/// The body of one row of a table: `name` of the statement, its text with `:tenant` and `:key`.
async fn one<T: DeserializeOwned>(
    database: &impl Database,
    [name, table, sql]: [&'static str; 3],
    tenant_id: &TenantId,
    key: impl Into<Value>,
) -> Result<Option<T>, StorageError> {
    let statement = Statement::new(name, sql).bind("tenant", tenant_id.as_str()).bind("key", key);
    first(database, Some(tenant_id), statement).await?.map(|row| body(&row, table)).transpose()
}

fn search(name: &'static str, sql: &'static str, tenant_id: &TenantId) -> Statement {
    Statement::new(name, sql).bind("tenant", tenant_id.as_str())
}

/// Continues after a position in an order of (time, id): the condition names `:micros` and `:id`.
fn after(search: &mut Statement, condition: &str, position: Option<&Position>) {
    if let Some(position) = position {
        search.when(condition, "micros", Some(position.micros));
        search.when("", "id", Some(position.id.as_str()));
    }
}

#[async_trait]
impl<D: Database> RecordStore for D {
    async fn context(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Option<ContextRecord>, StorageError> {
        let sql = "SELECT body FROM contexts WHERE tenant_id = :tenant AND context_id = :key";
        one(self, ["records.context", "contexts", sql], tenant_id, id.as_str()).await
    }

    async fn contexts(&self, tenant_id: &TenantId, query: &ContextQuery) -> Result<Page<ContextRecord>, StorageError> {
        let sql = "SELECT body FROM contexts WHERE tenant_id = :tenant";
        let mut list = search("records.contexts", sql, tenant_id);
        let (conversation, actor) = (query.conversation_id.as_ref(), query.actor_id.as_ref());
        list.when(" AND conversation_id = :conversation", "conversation", conversation.map(ConversationId::as_str));
        list.when(" AND actor_id = :actor", "actor", actor.map(PrincipalId::as_str));
        match (query.status, query.now) {
            (Some(Status::Expired), Some(now)) => {
                let expired = " AND (status = 'expired' OR (status <> 'closed' AND expires_at <= :now))";
                list.when(expired, "now", Some(now));
            }
            (Some(status), now) => {
                list.when(" AND status = :status", "status", Some(status.as_str()));
                list.when(" AND expires_at > :now", "now", now.filter(|_| status.is_open()));
            }
            (None, _) => {}
        }
        // Ids grow with time: the newest context has the greatest id.
        list.when(" AND context_id < :after", "after", query.after.as_ref().map(|position| position.id.as_str()));
        list.push(" ORDER BY context_id DESC");
        let position = |context: &ContextRecord| Position { micros: 0, id: context.context_id.as_str().to_owned() };
        page(self, tenant_id, list, query.limit, |row| body(row, "contexts"), position).await
    }

    async fn item(&self, tenant_id: &TenantId, id: &ItemId) -> Result<Option<PendingItem>, StorageError> {
        let sql = "SELECT body FROM items WHERE tenant_id = :tenant AND item_id = :key";
        one(self, ["records.item", "items", sql], tenant_id, id.as_str()).await
    }

    async fn items_of(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Vec<PendingItem>, StorageError> {
        let sql = "
            SELECT body FROM items WHERE tenant_id = :tenant AND context_id = :context
            ORDER BY asked_at, item_id LIMIT 1000";
        let items = search("records.items_of", sql, tenant_id).bind("context", id.as_str());
        self.rows(Some(tenant_id), items).await?.iter().map(|row| body(row, "items")).collect()
    }

    async fn approvals(&self, tenant_id: &TenantId, query: &ApprovalQuery) -> Result<Page<PendingItem>, StorageError> {
        let sql = "
            SELECT i.body FROM items AS i
            JOIN contexts AS c ON c.tenant_id = i.tenant_id AND c.context_id = i.context_id
            WHERE i.tenant_id = :tenant AND i.kind = 'approval'";
        let mut list = search("records.approvals", sql, tenant_id);
        let conversation = query.conversation_id.as_ref().map(ConversationId::as_str);
        list.when(" AND i.conversation_id = :conversation", "conversation", conversation);
        let open = " AND i.state = 'open' AND i.expires_at > :now AND c.expires_at > :now";
        list.when(open, "now", query.now.filter(|_| query.open_only));
        after(&mut list, " AND (i.asked_at, i.item_id) < (:micros, :id)", query.after.as_ref());
        list.push(" ORDER BY i.asked_at DESC, i.item_id DESC");
        let position =
            |item: &PendingItem| Position { micros: item.asked_at.as_micros(), id: item.item_id.as_str().to_owned() };
        page(self, tenant_id, list, query.limit, |row| body(row, "items"), position).await
    }

    async fn command(&self, tenant_id: &TenantId, id: &CommandId) -> Result<Option<CommandRecord>, StorageError> {
        let sql = "SELECT body FROM commands WHERE tenant_id = :tenant AND command_id = :key";
        one(self, ["records.command", "commands", sql], tenant_id, id.as_str()).await
    }

    async fn unreported(
        &self,
        tenant_id: &TenantId,
        query: &UnreportedQuery,
    ) -> Result<Page<CommandRecord>, StorageError> {
        let sql = "SELECT body FROM commands WHERE tenant_id = :tenant AND unknown_from IS NOT NULL";
        let mut list = search("records.unreported", sql, tenant_id);
        let conversation = query.conversation_id.as_ref().map(ConversationId::as_str);
        list.when(" AND conversation_id = :conversation", "conversation", conversation);
        list.when(" AND context_id = :context", "context", query.context_id.as_ref().map(ContextId::as_str));
        list.when(" AND command_id = :command", "command", query.command_id.as_ref().map(CommandId::as_str));
        list.when(" AND unknown_from <= :unknown", "unknown", query.unknown_at);
        list.when(" AND unknown_from > :executing", "executing", query.executing_at);
        after(&mut list, " AND (unknown_from, command_id) > (:micros, :id)", query.after.as_ref());
        list.push(" ORDER BY unknown_from, command_id");
        let position = |command: &CommandRecord| Position {
            micros: command.unknown_from().unwrap_or_default().as_micros(),
            id: command.command_id.as_str().to_owned(),
        };
        page(self, tenant_id, list, query.limit, |row| body(row, "commands"), position).await
    }

    async fn last_command(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Option<CommandRecord>, StorageError> {
        let sql = "
            SELECT body FROM commands WHERE tenant_id = :tenant AND context_id = :key
            ORDER BY updated_at DESC LIMIT 1";
        one(self, ["records.last_command", "commands", sql], tenant_id, id.as_str()).await
    }

    async fn messages(&self, tenant_id: &TenantId, keys: &[Digest]) -> Result<Vec<MessageRecord>, StorageError> {
        let sql = "
            SELECT body FROM messages
            WHERE tenant_id = :tenant AND message_key IN (:keys) AND conversation_id <> ''";
        let messages = search("records.messages", sql, tenant_id).bind("keys", Value::digests(keys));
        self.rows(Some(tenant_id), messages).await?.iter().map(|row| body(row, "messages")).collect()
    }

    async fn principal(&self, tenant_id: &TenantId, id: &str) -> Result<Option<Principal>, StorageError> {
        let sql = "SELECT body FROM principals WHERE tenant_id = :tenant AND principal_id = :key";
        one(self, ["records.principal", "principals", sql], tenant_id, id).await
    }

    async fn principals(&self, tenant_id: &TenantId, query: &PrincipalQuery) -> Result<Page<Principal>, StorageError> {
        let sql = "SELECT body FROM principals AS p WHERE tenant_id = :tenant";
        let mut list = search("records.principals", sql, tenant_id);
        list.when(" AND principal_id = :principal", "principal", query.principal_id.as_ref().map(PrincipalId::as_str));
        list.when(" AND person_id = :person", "person", query.person_id.as_ref().map(PersonId::as_str));
        let by_role = " AND EXISTS (SELECT 1 FROM principal_roles AS r
            WHERE r.tenant_id = p.tenant_id AND r.principal_id = p.principal_id AND r.role = :role)";
        list.when(by_role, "role", query.role.as_ref().map(RoleName::as_str));
        if let Some(alias) = &query.alias {
            let by_alias = " AND principal_id IN (SELECT a.principal_id FROM principal_aliases AS a
                WHERE a.tenant_id = p.tenant_id AND a.kind = :kind AND a.value = :value)";
            let kind = serde_json::to_value(alias.kind).unwrap_or_default();
            list.when(by_alias, "kind", Some(kind.as_str()));
            list.when("", "value", Some(alias.value.as_str()));
        }
        list.when(" AND principal_id > :after", "after", query.after.as_ref().map(|position| position.id.as_str()));
        list.push(" ORDER BY principal_id");
        let position = |principal: &Principal| Position { micros: 0, id: principal.principal_id.as_str().to_owned() };
        page(self, tenant_id, list, query.limit, |row| body(row, "principals"), position).await
    }

    async fn kin(&self, tenant_id: &TenantId, keys: &[PersonKey]) -> Result<Vec<Principal>, StorageError> {
        let rows = self.rows(Some(tenant_id), searching_kin(tenant_id, keys, false)).await?;
        rows.iter().map(|row| body(row, "principals")).collect()
    }

    async fn frame(&self, tenant_id: &TenantId, id: &ContextFrameId) -> Result<Option<StoredFrame>, StorageError> {
        let sql = "SELECT body FROM frames WHERE tenant_id = :tenant AND context_frame_id = :key";
        one(self, ["records.frame", "frames", sql], tenant_id, id.as_str()).await
    }

    async fn facts(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        query: &FactQuery,
    ) -> Result<Page<Fact>, StorageError> {
        let sql = "SELECT body FROM space_records WHERE tenant_id = :tenant AND kind = 'fact' AND space_id = :space";
        let mut list = search("records.facts", sql, tenant_id).bind("space", space_id.as_str());
        list.when(" AND key = :key", "key", query.key.as_deref());
        list.when(" AND record_id < :after", "after", query.after.as_ref().map(|position| position.id.as_str()));
        // The comparison is the one of the index over what is in force.
        list.push(if query.include_invalid { "" } else { " AND {live = 1|live}" });
        list.push(" ORDER BY record_id DESC");
        let position = |fact: &Fact| Position { micros: 0, id: fact.uid.as_str().to_owned() };
        page(self, tenant_id, list, query.limit, |row| body(row, "space_records"), position).await
    }

    async fn saved_pack(&self, tenant_id: &TenantId, id: &PackId) -> Result<Option<SavedPack>, StorageError> {
        let sql = "SELECT body FROM space_records WHERE tenant_id = :tenant AND kind = 'pack' AND record_id = :key";
        one(self, ["records.saved_pack", "space_records", sql], tenant_id, id.as_str()).await
    }

    async fn claim(&self, tenant_id: &TenantId, key: &Digest) -> Result<Option<StoredClaim>, StorageError> {
        let sql = "SELECT body FROM claims WHERE tenant_id = :tenant AND claim_key = :key";
        one(self, ["records.claim", "claims", sql], tenant_id, key).await
    }
}
