//! Searches the database for a person: every table, page by page, for texts that name them.
//!
//! A search reads every record of the tenant. There is no index over everything that may name a person, because the
//! index itself would have to be erased.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::StorageError;
use super::sql::{
    Column, Columns as _, Database, Row, Statement, Type, Value, digest, first, impossible, jsonb, optional_time, text,
    time,
};
use super::subject_search::{Found, Place, Searched, Table, Terms};
use crate::domain::canonical::Digest;
use crate::domain::id::{ConversationId, ErasureId, HoldId, KeyId, PrincipalId, TenantId};
use crate::domain::time::Timestamp;

/// How long the digest of an erasure's `Idempotency-Key` is kept after the erasure's end: a day, in microseconds.
pub(in crate::storage) const ERASURE_KEY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// The stored record of an erasure. It contains nothing that identifies the person.
#[derive(Debug, Clone, PartialEq)]
pub struct ErasureRow {
    pub erasure_id: ErasureId,
    /// Keyed digest of the request's `Idempotency-Key`.
    pub request: Option<Digest>,
    pub started_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    /// Its progress, as JSON.
    pub body: String,
}

/// The kind of thing under a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// Everything about a principal.
    Principal,
    Conversation,
}

impl Held {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Principal => "principal",
            Self::Conversation => "conversation",
        }
    }

    /// Parses the stored name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Principal, Self::Conversation].into_iter().find(|held| held.as_str() == word)
    }
}

/// A legal hold. It has to name the person or conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldRow {
    pub hold_id: HoldId,
    /// What kind of thing it holds.
    pub kind: Held,
    /// The principal or the conversation.
    pub subject: String,
    pub placed_at: Timestamp,
    pub terms: HoldTerms,
}

/// Details of a hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldTerms {
    /// The credential that placed it.
    pub key_id: KeyId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed_by: Option<PrincipalId>,
    /// A reference to the legal matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The salt of the commitment to the subject in the disposal stream. It is deleted with the hold.
    pub salt: Digest,
}

/// A change of the rows of erasures, holds or keys; see [`super::Transaction::keep`].
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// An erasure's new state.
    Erasure(ErasureRow),
    Hold(HoldRow),
    /// Deletes a lifted hold.
    NoHold(HoldId),
    /// Revokes the credentials of these principals and removes the principals from them.
    NoKeysOf(Vec<PrincipalId>, Timestamp),
}

/// Reads about a person. No decision may rest on them.
#[async_trait]
pub trait SubjectStore: Send + Sync {
    /// Searches up to `limit` records of a table, after a place in its order, for one of the texts. The caller checks
    /// whether a match counts.
    async fn search(
        &self,
        tenant_id: &TenantId,
        table: Table,
        needles: &[String],
        after: Option<&Place>,
        limit: u32,
    ) -> Result<Searched, StorageError>;

    /// Conversations in which one of these principals acted.
    async fn conversations_of(
        &self,
        tenant_id: &TenantId,
        actors: &[PrincipalId],
    ) -> Result<Vec<ConversationId>, StorageError>;

    /// The principals who acted in a conversation, by its contexts and the rest of its log.
    async fn actors_in(&self, tenant_id: &TenantId, id: &ConversationId) -> Result<Vec<String>, StorageError>;

    async fn erasure(&self, tenant_id: &TenantId, id: &ErasureId) -> Result<Option<ErasureRow>, StorageError>;

    async fn erasure_by_request(
        &self,
        tenant_id: &TenantId,
        request: &Digest,
    ) -> Result<Option<ErasureRow>, StorageError>;

    /// Erasures after `after`, by id.
    async fn erasures(
        &self,
        tenant_id: &TenantId,
        after: Option<&ErasureId>,
        limit: u32,
    ) -> Result<Vec<ErasureRow>, StorageError>;

    /// Holds after `after`, by id.
    async fn holds(
        &self,
        tenant_id: &TenantId,
        after: Option<&HoldId>,
        limit: u32,
    ) -> Result<Vec<HoldRow>, StorageError>;

    async fn hold(&self, tenant_id: &TenantId, id: &HoldId) -> Result<Option<HoldRow>, StorageError>;
}

const CONVERSATIONS: &str = "
    SELECT DISTINCT conversation_id FROM contexts WHERE tenant_id = :tenant AND actor_id IN (:actors) ORDER BY 1";

const ACTORS_ON_SQLITE: &str = "
    SELECT actor_id FROM contexts WHERE tenant_id = :tenant AND conversation_id = :conversation
    UNION
    SELECT payload->'$.event'->'$.message'->>'actor_id' FROM log_payloads
        WHERE tenant_id = :tenant AND conversation_id = :conversation
        AND payload->'$.event'->>'event' IN ('message_received', 'message_registered')";

const ACTORS_ON_POSTGRES: &str = concat!(
    "
    SELECT actor_id FROM contexts WHERE tenant_id = :tenant AND conversation_id = :conversation
    UNION
    SELECT (event #>> '{message,actor_id}') COLLATE \"C\" FROM (
        SELECT ",
    jsonb!("payload"),
    " -> 'event' AS event FROM log_payloads
            WHERE tenant_id = :tenant AND conversation_id = :conversation OFFSET 0
    ) AS logged WHERE event ->> 'event' IN ('message_received', 'message_registered')"
);

const KEEP_ERASURE: &str = "
    INSERT INTO erasures (tenant_id, erasure_id, request, started_at, finished_at, body)
    VALUES (:tenant, :erasure, :request, :started, :finished, :body)
    ON CONFLICT (tenant_id, erasure_id) DO UPDATE SET
        request = excluded.request, finished_at = excluded.finished_at, body = excluded.body";

const PLACE_HOLD: &str = "
    INSERT INTO legal_holds (tenant_id, hold_id, kind, subject, placed_at, body)
    VALUES (:tenant, :hold, :kind, :subject, :placed, :body)";

const LIFT_HOLD: &str = "DELETE FROM legal_holds WHERE tenant_id = :tenant AND hold_id = :hold";

const NO_KEYS: &str = "
    UPDATE api_keys SET principal_id = NULL, speaks_for = 'nobody', viewer_id = NULL, label = '',
        revoked_at = coalesce(revoked_at, :at)
        WHERE tenant_id = :tenant AND (principal_id IN (:people) OR viewer_id IN (:people))";

const NEEDLE: [Column; 1] = [("needle", Type::Text)];

fn of_tenant(name: &'static str, sql: &'static str, tenant_id: &TenantId) -> Statement {
    Statement::new(name, sql).bind("tenant", tenant_id.as_str())
}

/// The statement that writes a row of an erasure or a hold.
pub(super) fn keeping(tenant_id: &TenantId, kept: &Kept) -> Statement {
    match kept {
        Kept::Erasure(row) => of_tenant("subject.keep_erasure", KEEP_ERASURE, tenant_id)
            .bind("erasure", row.erasure_id.as_str())
            .bind("request", row.request.as_ref())
            .bind("started", row.started_at)
            .bind("finished", row.finished_at)
            .bind("body", row.body.as_str()),
        Kept::Hold(row) => of_tenant("subject.place_hold", PLACE_HOLD, tenant_id)
            .bind("hold", row.hold_id.as_str())
            .bind("kind", row.kind.as_str())
            .bind("subject", row.subject.as_str())
            .bind("placed", row.placed_at)
            .bind("body", serde_json::to_string(&row.terms).unwrap_or_default()),
        Kept::NoHold(id) => of_tenant("subject.lift_hold", LIFT_HOLD, tenant_id).bind("hold", id.as_str()),
        Kept::NoKeysOf(people, at) => of_tenant("subject.no_keys_of", NO_KEYS, tenant_id)
            .bind("people", Value::texts(people.iter().map(PrincipalId::as_str)))
            .bind("at", *at),
    }
}

fn erasure(row: &Row) -> Result<ErasureRow, StorageError> {
    let request: Option<&[u8]> = row.get("request")?;
    Ok(ErasureRow {
        erasure_id: ErasureId::parse(row.get("erasure_id")?).ok_or_else(|| impossible("erasures", &"a foreign id"))?,
        request: request.is_some().then(|| digest(row, "request")).transpose()?,
        started_at: time(row, "started_at")?,
        finished_at: optional_time(row, "finished_at")?,
        body: text(row, "body")?,
    })
}

fn hold(row: &Row) -> Result<HoldRow, StorageError> {
    let wrong = |what: &'static str| impossible("legal_holds", &what);
    Ok(HoldRow {
        hold_id: HoldId::parse(row.get("hold_id")?).ok_or_else(|| wrong("a foreign id"))?,
        kind: Held::parse(row.get("kind")?).ok_or_else(|| wrong("an unknown kind"))?,
        subject: text(row, "subject")?,
        placed_at: time(row, "placed_at")?,
        terms: serde_json::from_str(row.get("body")?).map_err(|_| wrong("an unreadable body"))?,
    })
}

fn place(row: &Row) -> Result<Place, StorageError> {
    Ok([text(row, "k1")?, text(row, "k2")?, text(row, "k3")?])
}

fn found(row: &Row) -> Result<Option<Found>, StorageError> {
    let Some(body) = row.get("body")? else { return Ok(None) };
    Ok(Some(Found {
        place: place(row)?,
        conversation_id: row.get("conversation_id")?,
        actor_id: row.get("actor_id")?,
        context_id: row.get("context_id")?,
        body,
    }))
}

#[async_trait]
impl<D: Database> SubjectStore for D {
    async fn search(
        &self,
        tenant_id: &TenantId,
        table: Table,
        needles: &[String],
        after: Option<&Place>,
        limit: u32,
    ) -> Result<Searched, StorageError> {
        let [first, second, third] = after.cloned().unwrap_or_default();
        let needles = Value::rows(&NEEDLE, needles.iter().map(|needle| [needle.as_str().into()]));
        let statement = Statement::new("subject.search", Terms::of(table).statement(after.is_some()))
            .bind("tenant", tenant_id.as_str())
            .bind("first", first)
            .bind("second", second)
            .bind("third", third)
            .bind("needles", needles)
            .bind("limit", limit);
        let rows = self.rows(Some(tenant_id), statement).await?;
        let more = u32::try_from(rows.len()) == Ok(limit);
        let next = rows.last().filter(|_| more).map(place).transpose()?;
        let found = rows.iter().map(found).collect::<Result<Vec<_>, _>>()?;
        Ok(Searched { found: found.into_iter().flatten().collect(), next })
    }

    async fn conversations_of(
        &self,
        tenant_id: &TenantId,
        actors: &[PrincipalId],
    ) -> Result<Vec<ConversationId>, StorageError> {
        let actors = Value::texts(actors.iter().map(PrincipalId::as_str));
        let statement = of_tenant("subject.conversations_of", CONVERSATIONS, tenant_id).bind("actors", actors);
        let read = |row: &Row| {
            ConversationId::new(text(row, "conversation_id")?).map_err(|error| impossible("contexts", &error))
        };
        self.rows(Some(tenant_id), statement).await?.iter().map(read).collect()
    }

    async fn actors_in(&self, tenant_id: &TenantId, id: &ConversationId) -> Result<Vec<String>, StorageError> {
        let sql = self.dialect().choose(ACTORS_ON_SQLITE, ACTORS_ON_POSTGRES);
        let statement = of_tenant("subject.actors_in", sql, tenant_id).bind("conversation", id.as_str());
        let rows = self.rows(Some(tenant_id), statement).await?;
        let actors = rows.iter().map(|row| row.get("actor_id")).collect::<Result<Vec<Option<String>>, _>>()?;
        Ok(actors.into_iter().flatten().collect())
    }

    async fn erasure(&self, tenant_id: &TenantId, id: &ErasureId) -> Result<Option<ErasureRow>, StorageError> {
        let sql = "SELECT * FROM erasures WHERE tenant_id = :tenant AND erasure_id = :erasure";
        let statement = of_tenant("subject.erasure", sql, tenant_id).bind("erasure", id.as_str());
        first(self, Some(tenant_id), statement).await?.as_ref().map(erasure).transpose()
    }

    async fn erasure_by_request(
        &self,
        tenant_id: &TenantId,
        request: &Digest,
    ) -> Result<Option<ErasureRow>, StorageError> {
        let sql = "SELECT * FROM erasures WHERE tenant_id = :tenant AND request = :request";
        let statement = of_tenant("subject.erasure_by_request", sql, tenant_id).bind("request", request);
        first(self, Some(tenant_id), statement).await?.as_ref().map(erasure).transpose()
    }

    async fn erasures(
        &self,
        tenant_id: &TenantId,
        after: Option<&ErasureId>,
        limit: u32,
    ) -> Result<Vec<ErasureRow>, StorageError> {
        let sql = "
            SELECT * FROM erasures WHERE tenant_id = :tenant AND erasure_id > :after ORDER BY erasure_id LIMIT :limit";
        let statement =
            of_tenant("subject.erasures", sql, tenant_id).bind("after", after.map_or("", ErasureId::as_str));
        self.rows(Some(tenant_id), statement.bind("limit", limit)).await?.iter().map(erasure).collect()
    }

    async fn holds(
        &self,
        tenant_id: &TenantId,
        after: Option<&HoldId>,
        limit: u32,
    ) -> Result<Vec<HoldRow>, StorageError> {
        let sql = "
            SELECT * FROM legal_holds WHERE tenant_id = :tenant AND hold_id > :after ORDER BY hold_id LIMIT :limit";
        let statement = of_tenant("subject.holds", sql, tenant_id).bind("after", after.map_or("", HoldId::as_str));
        self.rows(Some(tenant_id), statement.bind("limit", limit)).await?.iter().map(hold).collect()
    }

    async fn hold(&self, tenant_id: &TenantId, id: &HoldId) -> Result<Option<HoldRow>, StorageError> {
        let sql = "SELECT * FROM legal_holds WHERE tenant_id = :tenant AND hold_id = :hold";
        let statement = of_tenant("subject.hold", sql, tenant_id).bind("hold", id.as_str());
        first(self, Some(tenant_id), statement).await?.as_ref().map(hold).transpose()
    }
}
