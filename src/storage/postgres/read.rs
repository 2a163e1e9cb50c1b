//! Reads for lists and lookups, on separate connections.

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgRow;

use super::rows::{body, entry};
use super::session::Desk;
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

/// A statement with conditions that depend on the query. Conditions are fixed texts in which `?` is replaced by the
/// next parameter; values are bound.
struct Search {
    tenant: String,
    sql: String,
    values: Vec<Bound>,
}

impl Search {
    fn new(select: &'static str, tenant_id: &TenantId) -> Self {
        let tenant = tenant_id.as_str().to_owned();
        let mut search = Self { tenant: tenant.clone(), sql: String::new(), values: Vec::new() };
        search.add(select, [Bound::Text(tenant)]);
        search
    }

    fn add<const N: usize>(&mut self, condition: &'static str, values: [Bound; N]) {
        let mut parts = condition.split('?');
        self.sql.push_str(parts.next().unwrap_or_default());
        for (part, value) in parts.zip(values) {
            self.values.push(value);
            self.sql.push('$');
            self.sql.push_str(&self.values.len().to_string());
            self.sql.push_str(part);
        }
    }

    fn text(&mut self, condition: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.add(condition, [Bound::Text(value.to_owned())]);
        }
    }

    fn time(&mut self, condition: &'static str, value: Option<Timestamp>) {
        if let Some(value) = value {
            self.add(condition, [Bound::Number(value.as_micros())]);
        }
    }

    /// Fetches one row more than asked for, to know whether there is a next page.
    async fn page(mut self, desk: &Desk, order: &'static str, limit: u32) -> Result<(Vec<PgRow>, bool), StorageError> {
        let limit = limit.clamp(1, MAX_PAGE);
        self.add(order, []);
        self.add(" LIMIT ?", [Bound::Number(i64::from(limit) + 1)]);
        // Only fixed texts were concatenated; every value is bound.
        let mut query = sqlx::query(AssertSqlSafe(self.sql));
        for value in self.values {
            query = match value {
                Bound::Text(text) => query.bind(text),
                Bound::Number(number) => query.bind(number),
            };
        }
        let mut rows = desk.rows(&self.tenant, query).await?;
        let more = rows.len() > usize::try_from(limit).unwrap_or(usize::MAX);
        rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok((rows, more))
    }
}

fn page<T>(
    rows: &[PgRow],
    more: bool,
    read: impl Fn(&PgRow) -> Result<T, StorageError>,
    position: impl Fn(&T) -> Position,
) -> Result<Page<T>, StorageError> {
    let items = rows.iter().map(read).collect::<Result<Vec<T>, _>>()?;
    let next = items.last().filter(|_| more).map(position);
    Ok(Page { items, next })
}

pub(super) async fn contexts(
    desk: &Desk,
    tenant_id: &TenantId,
    query: &ContextQuery,
) -> Result<Page<ContextRecord>, StorageError> {
    let mut search =
        Search::new("-- postgres: read.contexts\nSELECT body FROM contexts WHERE tenant_id = ?", tenant_id);
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
    search.text(" AND context_id < ?", query.after.as_ref().map(|position| position.id.as_str()));
    let (rows, more) = search.page(desk, " ORDER BY context_id DESC", query.limit).await?;
    let position = |context: &ContextRecord| Position { micros: 0, id: context.context_id.as_str().to_owned() };
    page(&rows, more, |row| body(row, "contexts"), position)
}

pub(super) async fn approvals(
    desk: &Desk,
    tenant_id: &TenantId,
    query: &ApprovalQuery,
) -> Result<Page<PendingItem>, StorageError> {
    let select = "-- postgres: read.approvals\nSELECT i.body FROM items AS i
        JOIN contexts AS c ON c.tenant_id = i.tenant_id AND c.context_id = i.context_id
        WHERE i.tenant_id = ? AND i.kind = 'approval'";
    let mut search = Search::new(select, tenant_id);
    search.text(
        " AND i.conversation_id = ?",
        query.conversation_id.as_ref().map(crate::domain::id::ConversationId::as_str),
    );
    let deadline = query.now.filter(|_| query.open_only);
    search.time(" AND i.state = 'open' AND least(i.expires_at, c.expires_at) > ?", deadline);
    if let Some(Position { micros, id }) = query.after.clone() {
        search.add(" AND (i.asked_at, i.item_id) < (?, ?)", [Bound::Number(micros), Bound::Text(id)]);
    }
    let (rows, more) = search.page(desk, " ORDER BY i.asked_at DESC, i.item_id DESC", query.limit).await?;
    let position =
        |item: &PendingItem| Position { micros: item.asked_at.as_micros(), id: item.item_id.as_str().to_owned() };
    page(&rows, more, |row| body(row, "items"), position)
}

pub(super) async fn unreported(
    desk: &Desk,
    tenant_id: &TenantId,
    query: &UnreportedQuery,
) -> Result<Page<CommandRecord>, StorageError> {
    let select = "-- postgres: read.unreported\nSELECT body FROM commands
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
    if let Some(Position { micros, id }) = query.after.clone() {
        search.add(" AND (unknown_from, command_id) > (?, ?)", [Bound::Number(micros), Bound::Text(id)]);
    }
    let (rows, more) = search.page(desk, " ORDER BY unknown_from, command_id", query.limit).await?;
    let position = |command: &CommandRecord| Position {
        micros: command.unknown_from().unwrap_or_default().as_micros(),
        id: command.command_id.as_str().to_owned(),
    };
    page(&rows, more, |row| body(row, "commands"), position)
}

pub(super) async fn principals(
    desk: &Desk,
    tenant_id: &TenantId,
    query: &PrincipalQuery,
) -> Result<Page<Principal>, StorageError> {
    let select = "-- postgres: read.principals\nSELECT body FROM principals AS p WHERE tenant_id = ?";
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
    let (rows, more) = search.page(desk, " ORDER BY principal_id", query.limit).await?;
    let position = |principal: &Principal| Position { micros: 0, id: principal.principal_id.as_str().to_owned() };
    page(&rows, more, |row| body(row, "principals"), position)
}

pub(super) async fn facts(
    desk: &Desk,
    tenant_id: &TenantId,
    space_id: &SpaceId,
    query: &FactQuery,
) -> Result<Page<Fact>, StorageError> {
    let select = "-- postgres: read.facts\nSELECT body FROM space_records WHERE tenant_id = ? AND kind = 'fact'";
    let mut search = Search::new(select, tenant_id);
    search.text(" AND space_id = ?", Some(space_id.as_str()));
    search.text(" AND key = ?", query.key.as_deref());
    search.text(" AND record_id < ?", query.after.as_ref().map(|position| position.id.as_str()));
    let order = if query.include_invalid { " ORDER BY record_id DESC" } else { " AND live ORDER BY record_id DESC" };
    let (rows, more) = search.page(desk, order, query.limit).await?;
    let position = |fact: &Fact| Position { micros: 0, id: fact.uid.as_str().to_owned() };
    page(&rows, more, |row| body(row, "space_records"), position)
}

/// The columns of an entry with its payload, unless that is erased.
macro_rules! select_entries {
    ($name:literal, $tenant:literal, $rest:literal) => {
        concat!(
            "-- postgres: ",
            $name,
            "\nSELECT e.tenant_id, e.stream_id, e.seq, e.v, e.artifact_id, e.type, e.at, e.policy_hash,
            e.payload_commitment, e.prev_hash, e.entry_hash, p.salt, p.payload
            FROM log_entries AS e LEFT JOIN log_payloads AS p
            ON p.tenant_id = e.tenant_id AND p.stream_id = e.stream_id AND p.seq = e.seq
            WHERE e.tenant_id = ",
            $tenant,
            $rest
        )
    };
}

pub(super) async fn entries(
    desk: &Desk,
    tenant_id: &TenantId,
    query: &EvidenceQuery,
) -> Result<Page<LogEntry>, StorageError> {
    let mut search = Search::new(select_entries!("read.entries", "?", ""), tenant_id);
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
    if let Some(Position { micros, id }) = query.after.clone() {
        let (stream, seq) = id.split_once('/').unwrap_or((&id, ""));
        let seq = seq.parse().unwrap_or_default();
        let after = [Bound::Number(micros), Bound::Text(stream.to_owned()), Bound::Number(seq)];
        search.add(" AND (e.at, e.stream_id, e.seq) > (?, ?, ?)", after);
    }
    let by_payload = query.command_id.is_some()
        || query.correlation_id.is_some()
        || query.conversation_id.is_some()
        || query.context_id.is_some()
        || query.space_id.is_some()
        || query.fact_uid.is_some();
    // A subject has few entries, which are sorted when they are found. The addition keeps the planner from scanning the
    // whole log in the order of time until it has found a page of them.
    let order =
        if by_payload { " ORDER BY e.at + 0, e.stream_id, e.seq" } else { " ORDER BY e.at, e.stream_id, e.seq" };
    let (rows, more) = search.page(desk, order, query.limit).await?;
    let position = |entry: &LogEntry| Position {
        micros: entry.header.at.as_micros(),
        id: format!("{}/{:020}", entry.header.stream_id, entry.header.seq),
    };
    page(&rows, more, entry, position)
}

pub(super) async fn entry_by_id(
    desk: &Desk,
    tenant_id: &TenantId,
    artifact_id: &str,
) -> Result<Option<LogEntry>, StorageError> {
    let mut search = Search::new(select_entries!("read.entry", "?", ""), tenant_id);
    search.text(" AND e.artifact_id = ?", Some(artifact_id));
    let (rows, _) = search.page(desk, "", 1).await?;
    rows.first().map(entry).transpose()
}

pub(super) async fn stream(
    desk: &Desk,
    tenant_id: &TenantId,
    stream_id: &str,
    after: u64,
    limit: u32,
) -> Result<Vec<LogEntry>, StorageError> {
    let sql = select_entries!("read.stream", "$1", " AND e.stream_id = $2 AND e.seq > $3 ORDER BY e.seq LIMIT $4");
    let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(stream_id);
    let query = query.bind(i64::try_from(after).unwrap_or(i64::MAX)).bind(i64::from(limit));
    desk.rows(tenant_id.as_str(), query).await?.iter().map(entry).collect()
}

pub(super) async fn messages(
    desk: &Desk,
    tenant_id: &TenantId,
    keys: &[Digest],
) -> Result<Vec<MessageRecord>, StorageError> {
    let sql = "-- postgres: read.messages
        SELECT body FROM messages WHERE tenant_id = $1 AND message_key = ANY ($2) AND conversation_id <> ''";
    let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes().as_slice()).collect();
    let rows = desk.rows(tenant_id.as_str(), sqlx::query(sql).bind(tenant_id.as_str()).bind(keys)).await?;
    rows.iter().map(|row| body(row, "messages")).collect()
}

/// The body of a row, by tenant and one more key.
pub(super) async fn one<T: serde::de::DeserializeOwned>(
    desk: &Desk,
    sql: &'static str,
    table: &'static str,
    tenant_id: &TenantId,
    key: &str,
) -> Result<Option<T>, StorageError> {
    let rows = desk.rows(tenant_id.as_str(), sqlx::query(sql).bind(tenant_id.as_str()).bind(key)).await?;
    rows.first().map(|row| body(row, table)).transpose()
}
