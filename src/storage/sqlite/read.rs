//! Reads for lists and lookups, on separate connections.

use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, SqlitePool};

use super::rows::{body, entry, unavailable};
use crate::domain::canonical::Digest;
use crate::domain::command::CommandRecord;
use crate::domain::context::ContextRecord;
use crate::domain::id::{SpaceId, TenantId};
use crate::domain::item::PendingItem;
use crate::domain::lifecycle::Status;
use crate::domain::message::MessageRecord;
use crate::domain::principal::Principal;
use crate::domain::query::{
    ApprovalQuery, ContextQuery, EvidenceQuery, MAX_PAGE, Page, Position, PrincipalQuery, UnreportedQuery,
};
use crate::domain::time::Timestamp;
use crate::evidence::entry::LogEntry;
use crate::state_layer::fact::Fact;
use crate::state_layer::query::FactQuery;
use crate::storage::StorageError;

/// One value to bind.
enum Bound {
    Text(String),
    Number(i64),
}

/// A statement with conditions that depend on the query. Conditions are fixed texts; values are bound.
struct Search {
    sql: String,
    values: Vec<Bound>,
}

impl Search {
    fn new(select: &'static str, tenant_id: &TenantId) -> Self {
        Self { sql: select.to_owned(), values: vec![Bound::Text(tenant_id.as_str().to_owned())] }
    }

    fn text(&mut self, condition: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.sql.push_str(condition);
            self.values.push(Bound::Text(value.to_owned()));
        }
    }

    fn time(&mut self, condition: &'static str, value: Option<Timestamp>) {
        if let Some(value) = value {
            self.sql.push_str(condition);
            self.values.push(Bound::Number(value.as_micros()));
        }
    }

    /// Continues after a position in an order of (time, id).
    fn after(&mut self, condition: &'static str, position: Option<&Position>) {
        if let Some(position) = position {
            self.sql.push_str(condition);
            self.values.push(Bound::Number(position.micros));
            self.values.push(Bound::Text(position.id.clone()));
        }
    }

    /// Fetches one row more than asked for, to know whether there is a next page.
    async fn page(
        mut self,
        pool: &SqlitePool,
        order: &'static str,
        limit: u32,
    ) -> Result<(Vec<SqliteRow>, bool), StorageError> {
        let limit = limit.clamp(1, MAX_PAGE);
        self.sql.push_str(order);
        self.sql.push_str(" LIMIT ?");
        // Only fixed texts were concatenated; every value is bound.
        let mut query = sqlx::query(AssertSqlSafe(self.sql));
        for value in self.values {
            query = match value {
                Bound::Text(text) => query.bind(text),
                Bound::Number(number) => query.bind(number),
            };
        }
        let mut rows = query.bind(i64::from(limit) + 1).fetch_all(pool).await.map_err(unavailable)?;
        let more = rows.len() > usize::try_from(limit).unwrap_or(usize::MAX);
        rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok((rows, more))
    }
}

fn page<T>(
    rows: &[SqliteRow],
    more: bool,
    read: impl Fn(&SqliteRow) -> Result<T, StorageError>,
    position: impl Fn(&T) -> Position,
) -> Result<Page<T>, StorageError> {
    let items = rows.iter().map(read).collect::<Result<Vec<T>, _>>()?;
    let next = items.last().filter(|_| more).map(position);
    Ok(Page { items, next })
}

pub(super) async fn contexts(
    pool: &SqlitePool,
    tenant_id: &TenantId,
    query: &ContextQuery,
) -> Result<Page<ContextRecord>, StorageError> {
    let mut search = Search::new("-- sqlite: read.contexts\nSELECT body FROM contexts WHERE tenant_id = ?", tenant_id);
    search.text(
        " AND conversation_id = ?",
        query.conversation_id.as_ref().map(crate::domain::id::ConversationId::as_str),
    );
    search.text(" AND actor_id = ?", query.actor_id.as_ref().map(crate::domain::id::PrincipalId::as_str));
    match (query.status, query.now) {
        (Some(Status::Expired), Some(_)) => {
            search.time(" AND (status = 'expired' OR (status <> 'closed' AND expires_at <= ?))", query.now);
        }
        (Some(status), _) => {
            search.text(" AND status = ?", Some(status.as_str()));
            search.time(" AND expires_at > ?", query.now.filter(|_| status.is_open()));
        }
        (None, _) => {}
    }
    // Ids grow with time: the newest context has the greatest id.
    search.text(" AND context_id < ?", query.after.as_ref().map(|position| position.id.as_str()));
    let (rows, more) = search.page(pool, " ORDER BY context_id DESC", query.limit).await?;
    let position = |context: &ContextRecord| Position { micros: 0, id: context.context_id.as_str().to_owned() };
    page(&rows, more, |row| body(row, "contexts"), position)
}

pub(super) async fn approvals(
    pool: &SqlitePool,
    tenant_id: &TenantId,
    query: &ApprovalQuery,
) -> Result<Page<PendingItem>, StorageError> {
    let select = "-- sqlite: read.approvals\nSELECT i.body FROM items AS i
        JOIN contexts AS c ON c.tenant_id = i.tenant_id AND c.context_id = i.context_id
        WHERE i.tenant_id = ? AND i.kind = 'approval'";
    let mut search = Search::new(select, tenant_id);
    search.text(
        " AND i.conversation_id = ?",
        query.conversation_id.as_ref().map(crate::domain::id::ConversationId::as_str),
    );
    let deadline = query.now.filter(|_| query.open_only);
    search.time(" AND i.state = 'open' AND min(i.expires_at, c.expires_at) > ?", deadline);
    search.after(" AND (i.asked_at, i.item_id) < (?, ?)", query.after.as_ref());
    let (rows, more) = search.page(pool, " ORDER BY i.asked_at DESC, i.item_id DESC", query.limit).await?;
    let position =
        |item: &PendingItem| Position { micros: item.asked_at.as_micros(), id: item.item_id.as_str().to_owned() };
    page(&rows, more, |row| body(row, "items"), position)
}

pub(super) async fn unreported(
    pool: &SqlitePool,
    tenant_id: &TenantId,
    query: &UnreportedQuery,
) -> Result<Page<CommandRecord>, StorageError> {
    let select = "-- sqlite: read.unreported\nSELECT body FROM commands
        WHERE tenant_id = ? AND unknown_from IS NOT NULL";
    let mut search = Search::new(select, tenant_id);
    search.text(
        " AND conversation_id = ?",
        query.conversation_id.as_ref().map(crate::domain::id::ConversationId::as_str),
    );
    search.text(" AND context_id = ?", query.context_id.as_ref().map(crate::domain::id::ContextId::as_str));
    search.text(" AND command_id = ?", query.command_id.as_ref().map(crate::domain::id::CommandId::as_str));
    search.time(" AND unknown_from <= ?", query.unknown_at);
    search.time(" AND unknown_from > ?", query.executing_at);
    search.after(" AND (unknown_from, command_id) > (?, ?)", query.after.as_ref());
    let (rows, more) = search.page(pool, " ORDER BY unknown_from, command_id", query.limit).await?;
    let position = |command: &CommandRecord| Position {
        micros: command.unknown_from().unwrap_or_default().as_micros(),
        id: command.command_id.as_str().to_owned(),
    };
    page(&rows, more, |row| body(row, "commands"), position)
}

pub(super) async fn principals(
    pool: &SqlitePool,
    tenant_id: &TenantId,
    query: &PrincipalQuery,
) -> Result<Page<Principal>, StorageError> {
    let select = "-- sqlite: read.principals\nSELECT body FROM principals AS p WHERE tenant_id = ?";
    let mut search = Search::new(select, tenant_id);
    search.text(" AND principal_id = ?", query.principal_id.as_ref().map(crate::domain::id::PrincipalId::as_str));
    search.text(" AND person_id = ?", query.person_id.as_ref().map(crate::domain::id::PersonId::as_str));
    let by_role = " AND EXISTS (SELECT 1 FROM principal_roles AS r
        WHERE r.tenant_id = p.tenant_id AND r.principal_id = p.principal_id AND r.role = ?)";
    search.text(by_role, query.role.as_ref().map(crate::domain::id::RoleName::as_str));
    if let Some(alias) = &query.alias {
        let kind = serde_json::to_value(alias.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
        let by_alias = " AND principal_id IN (SELECT a.principal_id FROM principal_aliases AS a
            WHERE a.tenant_id = p.tenant_id AND a.kind = ?";
        search.text(by_alias, kind.as_deref());
        search.text(" AND a.value = ?)", Some(&alias.value));
    }
    search.text(" AND principal_id > ?", query.after.as_ref().map(|position| position.id.as_str()));
    let (rows, more) = search.page(pool, " ORDER BY principal_id", query.limit).await?;
    let position = |principal: &Principal| Position { micros: 0, id: principal.principal_id.as_str().to_owned() };
    page(&rows, more, |row| body(row, "principals"), position)
}

pub(super) async fn facts(
    pool: &SqlitePool,
    tenant_id: &TenantId,
    space_id: &SpaceId,
    query: &FactQuery,
) -> Result<Page<Fact>, StorageError> {
    let select = "-- sqlite: read.facts\nSELECT body FROM space_records WHERE tenant_id = ? AND kind = 'fact'";
    let mut search = Search::new(select, tenant_id);
    search.text(" AND space_id = ?", Some(space_id.as_str()));
    search.text(" AND key = ?", query.key.as_deref());
    search.text(" AND record_id < ?", query.after.as_ref().map(|position| position.id.as_str()));
    let order =
        if query.include_invalid { " ORDER BY record_id DESC" } else { " AND live = 1 ORDER BY record_id DESC" };
    let (rows, more) = search.page(pool, order, query.limit).await?;
    let position = |fact: &Fact| Position { micros: 0, id: fact.uid.as_str().to_owned() };
    page(&rows, more, |row| body(row, "space_records"), position)
}

/// The columns of an entry with its payload, unless that is erased.
macro_rules! select_entries {
    ($name:literal, $from:literal, $rest:literal) => {
        concat!(
            "-- sqlite: ",
            $name,
            "\nSELECT e.tenant_id, e.stream_id, e.seq, e.v, e.artifact_id, e.type, e.at, e.policy_hash,
            e.payload_commitment, e.prev_hash, e.entry_hash, p.salt, p.payload FROM ",
            $from,
            " ON p.tenant_id = e.tenant_id AND p.stream_id = e.stream_id AND p.seq = e.seq WHERE ",
            $rest
        )
    };
    ($name:literal, $rest:literal) => {
        select_entries!($name, "log_entries AS e LEFT JOIN log_payloads AS p", $rest)
    };
}

/// All entries in the order of time, with or without payload.
const ALL_ENTRIES: &str = select_entries!("read.entries", "e.tenant_id = ?");
/// Entries about a subject: found by the few matching payloads and then sorted. Without CROSS JOIN the planner would
/// scan the whole log in the order of time.
const ENTRIES_ABOUT: &str =
    select_entries!("read.entries_about", "log_payloads AS p CROSS JOIN log_entries AS e", "p.tenant_id = ?");

pub(super) async fn entries(
    pool: &SqlitePool,
    tenant_id: &TenantId,
    query: &EvidenceQuery,
) -> Result<Page<LogEntry>, StorageError> {
    let by_payload = query.command_id.is_some()
        || query.correlation_id.is_some()
        || query.conversation_id.is_some()
        || query.context_id.is_some()
        || query.space_id.is_some()
        || query.fact_uid.is_some();
    let mut search = Search::new(if by_payload { ENTRIES_ABOUT } else { ALL_ENTRIES }, tenant_id);
    search.text(" AND e.artifact_id = ?", query.artifact_id.as_ref().map(crate::domain::id::ArtifactId::as_str));
    search.text(" AND p.command_id = ?", query.command_id.as_ref().map(crate::domain::id::CommandId::as_str));
    search
        .text(" AND p.correlation_id = ?", query.correlation_id.as_ref().map(crate::domain::id::CorrelationId::as_str));
    search.text(
        " AND p.conversation_id = ?",
        query.conversation_id.as_ref().map(crate::domain::id::ConversationId::as_str),
    );
    search.text(" AND p.space_id = ?", query.space_id.as_ref().map(crate::domain::id::SpaceId::as_str));
    search.text(" AND p.fact_uid = ?", query.fact_uid.as_ref().map(crate::domain::id::FactUid::as_str));
    search.text(" AND p.context_id = ?", query.context_id.as_ref().map(crate::domain::id::ContextId::as_str));
    search.text(" AND e.type = ?", query.kind.as_deref());
    search.time(" AND e.at >= ?", query.from);
    search.time(" AND e.at < ?", query.until);
    search.after(" AND (e.at, e.stream_id || printf('/%020d', e.seq)) > (?, ?)", query.after.as_ref());
    let (rows, more) = search.page(pool, " ORDER BY e.at, e.stream_id, e.seq", query.limit).await?;
    let position = |entry: &LogEntry| Position {
        micros: entry.header.at.as_micros(),
        id: format!("{}/{:020}", entry.header.stream_id, entry.header.seq),
    };
    page(&rows, more, entry, position)
}

pub(super) async fn entry_by_id(
    pool: &SqlitePool,
    tenant_id: &TenantId,
    artifact_id: &str,
) -> Result<Option<LogEntry>, StorageError> {
    let sql = select_entries!("read.entry", "e.tenant_id = ? AND e.artifact_id = ?");
    let row = sqlx::query(sql).bind(tenant_id.as_str()).bind(artifact_id).fetch_optional(pool).await;
    row.map_err(unavailable)?.as_ref().map(entry).transpose()
}

pub(super) async fn stream(
    pool: &SqlitePool,
    tenant_id: &TenantId,
    stream_id: &str,
    after: u64,
    limit: u32,
) -> Result<Vec<LogEntry>, StorageError> {
    let sql =
        select_entries!("read.stream", "e.tenant_id = ? AND e.stream_id = ? AND e.seq > ? ORDER BY e.seq LIMIT ?");
    let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(stream_id);
    let query = query.bind(i64::try_from(after).unwrap_or(i64::MAX)).bind(i64::from(limit));
    query.fetch_all(pool).await.map_err(unavailable)?.iter().map(entry).collect()
}

pub(super) async fn messages(
    pool: &SqlitePool,
    tenant_id: &TenantId,
    keys: &[Digest],
) -> Result<Vec<MessageRecord>, StorageError> {
    let sql = "-- sqlite: read.messages
        SELECT m.body FROM json_each(?2) AS w
        CROSS JOIN messages AS m ON m.tenant_id = ?1 AND m.message_key = unhex(w.value)
        WHERE m.conversation_id <> ''";
    let keys = serde_json::Value::from(keys.iter().map(Digest::to_hex).collect::<Vec<_>>()).to_string();
    let rows = sqlx::query(sql).bind(tenant_id.as_str()).bind(keys).fetch_all(pool).await.map_err(unavailable)?;
    rows.iter().map(|row| body(row, "messages")).collect()
}

/// The body of a row, by tenant and one more key.
pub(super) async fn one<T: serde::de::DeserializeOwned>(
    pool: &SqlitePool,
    sql: &'static str,
    table: &'static str,
    tenant_id: &TenantId,
    key: &str,
) -> Result<Option<T>, StorageError> {
    let row = sqlx::query(sql).bind(tenant_id.as_str()).bind(key).fetch_optional(pool).await.map_err(unavailable)?;
    row.as_ref().map(|row| body(row, table)).transpose()
}
