//! The search for a person, erasures and holds.

use async_trait::async_trait;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};

use super::SqliteStore;
use super::rows::{Rows, digest, impossible, text, time, unavailable};
use crate::domain::canonical::Digest;
use crate::domain::id::{ConversationId, ErasureId, HoldId, PrincipalId, TenantId};
use crate::domain::time::Timestamp;
use crate::storage::subject::Terms;
use crate::storage::{ErasureRow, Found, Held, HoldRow, Kept, Place, Searched, StorageError, SubjectStore, Table};

const HOLDS_ONE: &str = "EXISTS (SELECT 1 FROM json_each($6) AS n WHERE instr({text}, n.value) > 0)";

/// The statement that searches a table; only fixed texts are concatenated.
fn searching(table: Table, began: bool) -> String {
    let sql = Terms::of(table).statement(began, HOLDS_ONE);
    let sql =
        sql.replace("{hex message_key}", "lower(hex(message_key))").replace("{hex claim_key}", "lower(hex(claim_key))");
    let sql = sql.replace("{unhex $2}", "unhex($2)").replace("{number $3}", "CAST($3 AS INTEGER)");
    format!("-- sqlite: subject.search\n{sql}")
}

const CONVERSATIONS: &str = "-- sqlite: subject.conversations_of
    SELECT DISTINCT c.conversation_id FROM json_each(?2) AS w
        CROSS JOIN contexts AS c ON c.tenant_id = ?1 AND c.actor_id = w.value ORDER BY 1";

const ACTORS: &str = "-- sqlite: subject.actors_in
    SELECT actor_id FROM contexts WHERE tenant_id = ?1 AND conversation_id = ?2
    UNION
    SELECT payload->'$.event'->'$.message'->>'actor_id' FROM log_payloads
        WHERE tenant_id = ?1 AND conversation_id = ?2
        AND payload->'$.event'->>'event' IN ('message_received', 'message_registered')";

const KEEP_ERASURE: &str = "-- sqlite: subject.keep_erasure
    INSERT INTO erasures (tenant_id, erasure_id, request, started_at, finished_at, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (tenant_id, erasure_id) DO UPDATE SET
        request = excluded.request, finished_at = excluded.finished_at, body = excluded.body";

const PLACE_HOLD: &str = "-- sqlite: subject.place_hold
    INSERT INTO legal_holds (tenant_id, hold_id, kind, subject, placed_at, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

const LIFT_HOLD: &str = "-- sqlite: subject.lift_hold
    DELETE FROM legal_holds WHERE tenant_id = ?1 AND hold_id = ?2";

const NO_KEYS: &str = "-- sqlite: subject.no_keys_of
    UPDATE api_keys SET principal_id = NULL, speaks_for = 'nobody', viewer_id = NULL, label = '',
        revoked_at = coalesce(revoked_at, ?3)
        WHERE tenant_id = ?1 AND (principal_id IN (SELECT value FROM json_each(?2))
            OR viewer_id IN (SELECT value FROM json_each(?2)))";

/// Writes a row of an erasure or a hold.
pub(super) async fn keep(
    connection: &mut SqliteConnection,
    tenant_id: &TenantId,
    kept: &Kept,
) -> Result<(), StorageError> {
    let tenant = tenant_id.as_str();
    let query = match kept {
        Kept::Erasure(row) => sqlx::query(KEEP_ERASURE)
            .bind(tenant)
            .bind(row.erasure_id.as_str())
            .bind(row.request.map(|digest| digest.as_bytes().to_vec()))
            .bind(row.started_at.as_micros())
            .bind(row.finished_at.map(Timestamp::as_micros))
            .bind(&row.body),
        Kept::Hold(row) => sqlx::query(PLACE_HOLD)
            .bind(tenant)
            .bind(row.hold_id.as_str())
            .bind(row.kind.as_str())
            .bind(&row.subject)
            .bind(row.placed_at.as_micros())
            .bind(serde_json::to_string(&row.terms).unwrap_or_default()),
        Kept::NoHold(id) => sqlx::query(LIFT_HOLD).bind(tenant).bind(id.as_str()),
        Kept::NoKeysOf(people, at) => {
            let mut array = Rows::default();
            for id in people {
                array.add(id);
            }
            sqlx::query(NO_KEYS).bind(tenant).bind(array.into_array()).bind(at.as_micros())
        }
    };
    query.execute(connection).await.map(drop).map_err(unavailable)
}

fn erasure(row: &SqliteRow) -> Result<ErasureRow, StorageError> {
    let id = ErasureId::parse(&text(row, "erasure_id")?).ok_or_else(|| impossible("erasures", &"a foreign id"))?;
    let request: Option<Vec<u8>> = row.try_get("request").map_err(unavailable)?;
    let finished: Option<i64> = row.try_get("finished_at").map_err(unavailable)?;
    Ok(ErasureRow {
        erasure_id: id,
        request: request.map(|_| digest(row, "request")).transpose()?,
        started_at: time(row, "started_at")?,
        finished_at: finished.map(Timestamp::from_micros),
        body: text(row, "body")?,
    })
}

fn hold(row: &SqliteRow) -> Result<HoldRow, StorageError> {
    let wrong = |what: &'static str| impossible("legal_holds", &what);
    Ok(HoldRow {
        hold_id: HoldId::parse(&text(row, "hold_id")?).ok_or_else(|| wrong("a foreign id"))?,
        kind: Held::parse(&text(row, "kind")?).ok_or_else(|| wrong("an unknown kind"))?,
        subject: text(row, "subject")?,
        placed_at: time(row, "placed_at")?,
        terms: serde_json::from_str(&text(row, "body")?).map_err(|_| wrong("an unreadable body"))?,
    })
}

#[async_trait]
impl SubjectStore for SqliteStore {
    async fn search(
        &self,
        tenant_id: &TenantId,
        table: Table,
        needles: &[String],
        after: Option<&Place>,
        limit: u32,
    ) -> Result<Searched, StorageError> {
        let mut wanted = Rows::default();
        for needle in needles {
            wanted.add(needle);
        }
        let [first, second, third] = after.cloned().unwrap_or_default();
        let query = sqlx::query(AssertSqlSafe(searching(table, after.is_some()))).bind(tenant_id.as_str());
        let query = query.bind(first).bind(second).bind(third).bind(i64::from(limit)).bind(wanted.into_array());
        let rows = query.fetch_all(&self.readers).await.map_err(unavailable)?;
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
        let mut array = Rows::default();
        for actor in actors {
            array.add(actor);
        }
        let query = sqlx::query(CONVERSATIONS).bind(tenant_id.as_str()).bind(array.into_array());
        let rows = query.fetch_all(&self.readers).await.map_err(unavailable)?;
        let read = |row: &SqliteRow| {
            ConversationId::new(text(row, "conversation_id")?).map_err(|error| impossible("contexts", &error))
        };
        rows.iter().map(read).collect()
    }

    async fn actors_in(&self, tenant_id: &TenantId, id: &ConversationId) -> Result<Vec<String>, StorageError> {
        let query = sqlx::query(ACTORS).bind(tenant_id.as_str()).bind(id.as_str());
        let rows = query.fetch_all(&self.readers).await.map_err(unavailable)?;
        let read = |row: &SqliteRow| row.try_get::<Option<String>, _>("actor_id").map_err(unavailable);
        Ok(rows.iter().map(read).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    async fn erasure(&self, tenant_id: &TenantId, id: &ErasureId) -> Result<Option<ErasureRow>, StorageError> {
        let sql = "-- sqlite: subject.erasure\nSELECT * FROM erasures WHERE tenant_id = ? AND erasure_id = ?";
        let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(id.as_str());
        query.fetch_optional(&self.readers).await.map_err(unavailable)?.as_ref().map(erasure).transpose()
    }

    async fn erasure_by_request(
        &self,
        tenant_id: &TenantId,
        request: &Digest,
    ) -> Result<Option<ErasureRow>, StorageError> {
        let sql = "-- sqlite: subject.erasure_by_request\nSELECT * FROM erasures WHERE tenant_id = ? AND request = ?";
        let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(request.as_bytes().to_vec());
        query.fetch_optional(&self.readers).await.map_err(unavailable)?.as_ref().map(erasure).transpose()
    }

    async fn erasures(
        &self,
        tenant_id: &TenantId,
        after: Option<&ErasureId>,
        limit: u32,
    ) -> Result<Vec<ErasureRow>, StorageError> {
        let sql = "-- sqlite: subject.erasures
            SELECT * FROM erasures WHERE tenant_id = ? AND erasure_id > ? ORDER BY erasure_id LIMIT ?";
        let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(after.map_or("", ErasureId::as_str));
        let rows = query.bind(i64::from(limit)).fetch_all(&self.readers).await.map_err(unavailable)?;
        rows.iter().map(erasure).collect()
    }

    async fn holds(
        &self,
        tenant_id: &TenantId,
        after: Option<&HoldId>,
        limit: u32,
    ) -> Result<Vec<HoldRow>, StorageError> {
        let sql = "-- sqlite: subject.holds
            SELECT * FROM legal_holds WHERE tenant_id = ? AND hold_id > ? ORDER BY hold_id LIMIT ?";
        let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(after.map_or("", HoldId::as_str));
        let rows = query.bind(i64::from(limit)).fetch_all(&self.readers).await.map_err(unavailable)?;
        rows.iter().map(hold).collect()
    }

    async fn hold(&self, tenant_id: &TenantId, id: &HoldId) -> Result<Option<HoldRow>, StorageError> {
        let sql = "-- sqlite: subject.hold\nSELECT * FROM legal_holds WHERE tenant_id = ? AND hold_id = ?";
        let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(id.as_str());
        query.fetch_optional(&self.readers).await.map_err(unavailable)?.as_ref().map(hold).transpose()
    }
}

fn place(row: &SqliteRow) -> Result<Place, StorageError> {
    Ok([text(row, "k1")?, text(row, "k2")?, text(row, "k3")?])
}

fn found(row: &SqliteRow) -> Result<Option<Found>, StorageError> {
    let optional = |column: &str| row.try_get::<Option<String>, _>(column).map_err(unavailable);
    let Some(body) = optional("body")? else { return Ok(None) };
    Ok(Some(Found {
        place: place(row)?,
        conversation_id: optional("conversation_id")?,
        actor_id: optional("actor_id")?,
        context_id: optional("context_id")?,
        body,
    }))
}
