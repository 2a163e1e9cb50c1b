//! Finds records past their time.

use async_trait::async_trait;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::rows::{Rows, unavailable};
use crate::domain::id::{CommandId, ContextFrameId, ContextId, ConversationId, StreamId, TenantId};
use crate::domain::policy::RecordKind;
use crate::domain::time::Timestamp;
use crate::storage::retention::put_together;
use crate::storage::sql::{body, count, impossible, text, time};
use crate::storage::{Aged, AgedQuery, AgedRecords, CapturedFrame, StorageError, WholeContext};

const ANSWERS: &str = "-- sqlite: retention.answers
    SELECT expires_at AS at, lower(hex(claim_key)) AS id, coalesce(space_id, '') AS place, NULL AS actor_id
        FROM claims WHERE tenant_id = ?1 AND expires_at <= ?2 ORDER BY expires_at LIMIT ?3 OFFSET ?4";

/// A row without a time was written by an earlier version, which stored the end instead.
const MESSAGES: &str = "-- sqlite: retention.messages
    SELECT CASE received_at WHEN 0 THEN keep_until ELSE received_at END AS at, lower(hex(message_key)) AS id,
           conversation_id AS place, body->>'$.actor_id' AS actor_id
        FROM messages WHERE tenant_id = ?1 AND received_at <= ?2 AND (received_at > 0 OR keep_until <= ?5)
        ORDER BY received_at LIMIT ?3 OFFSET ?4";

/// Payloads of the disposal stream are never erased.
const PAYLOADS: &str = "-- sqlite: retention.payloads
    SELECT at, CAST(seq AS TEXT) AS id, stream_id AS place, NULL AS actor_id FROM log_payloads
        WHERE tenant_id = ?1 AND at <= ?2 AND stream_id <> coalesce(
            (SELECT stream_id FROM streams WHERE tenant_id = ?1 AND kind = 'disposal' AND key = 'disposal'), '')
        ORDER BY at, stream_id, seq LIMIT ?3 OFFSET ?4";

const FRAMES: &str = "-- sqlite: retention.frames
    SELECT created_at AS at, context_frame_id AS id, body->>'$.frame.conversation_id' AS place,
           body->>'$.frame.actor_id' AS actor_id
        FROM frames WHERE tenant_id = ?1 AND created_at <= ?2 ORDER BY created_at LIMIT ?3 OFFSET ?4";

const CLOSED: &str = "-- sqlite: retention.closed_contexts
    SELECT updated_at AS at, context_id AS id, conversation_id AS place, actor_id
        FROM contexts WHERE tenant_id = ?1 AND status = 'closed' AND updated_at <= ?2
        ORDER BY updated_at LIMIT ?3 OFFSET ?4";

const EXPIRED: &str = "-- sqlite: retention.expired_contexts
    SELECT updated_at AS at, context_id AS id, conversation_id AS place, actor_id
        FROM contexts WHERE tenant_id = ?1 AND status = 'expired' AND updated_at <= ?2
        ORDER BY updated_at LIMIT ?3 OFFSET ?4";

const HISTORY: &str = "-- sqlite: retention.fact_history
    SELECT * FROM (SELECT ended_at AS at, 'fact/' || record_id AS id, space_id AS place, NULL AS actor_id
        FROM space_records WHERE tenant_id = ?1 AND kind = 'fact' AND ended_at <= ?2 AND ended_at IS NOT NULL
        ORDER BY ended_at LIMIT ?3 + ?4)
    UNION ALL
    SELECT * FROM (SELECT ended_at, 'reading/' || record_id, space_id, NULL
        FROM space_records WHERE tenant_id = ?1 AND kind = 'reading' AND ended_at <= ?2 AND ended_at IS NOT NULL
        ORDER BY ended_at LIMIT ?3 + ?4)
    ORDER BY 1 LIMIT ?3 OFFSET ?4";

const ITEMS: &str = "-- sqlite: retention.working_items
    SELECT * FROM (SELECT ended_at AS at, 'item/' || record_id AS id, space_id AS place, NULL AS actor_id
        FROM space_records WHERE tenant_id = ?1 AND kind = 'item' AND ended_at <= ?2 AND ended_at IS NOT NULL
        ORDER BY ended_at LIMIT ?3 + ?4)
    UNION ALL
    SELECT * FROM (SELECT ended_at, 'signal/' || record_id, space_id, NULL
        FROM space_records WHERE tenant_id = ?1 AND kind = 'signal' AND ended_at <= ?2 AND ended_at IS NOT NULL
        ORDER BY ended_at LIMIT ?3 + ?4)
    ORDER BY 1 LIMIT ?3 OFFSET ?4";

const PACKS: &str = "-- sqlite: retention.saved_packs
    SELECT ended_at AS at, 'pack/' || record_id AS id, space_id AS place, NULL AS actor_id
        FROM space_records WHERE tenant_id = ?1 AND kind = 'pack' AND ended_at <= ?2 AND ended_at IS NOT NULL
        ORDER BY ended_at LIMIT ?3 OFFSET ?4";

const WHOLE: &str = "-- sqlite: retention.whole_contexts
    SELECT 'context' AS row, c.context_id AS of, c.body FROM json_each(?2) AS w
        CROSS JOIN contexts AS c ON c.tenant_id = ?1 AND c.context_id = w.value
    UNION ALL
    SELECT 'item', i.context_id, i.body FROM json_each(?2) AS w
        CROSS JOIN items AS i ON i.tenant_id = ?1 AND i.context_id = w.value
    UNION ALL
    SELECT 'command', k.context_id, k.command_id FROM json_each(?2) AS w
        CROSS JOIN commands AS k ON k.tenant_id = ?1 AND k.context_id = w.value";

/// The entry that captured a frame is found among the entries about its context.
const CAPTURED: &str = "-- sqlite: retention.captured
    SELECT f.context_frame_id, coalesce(c.status IN ('active', 'pending', 'blocked'), 0) AS is_open,
           p.stream_id AS stream_id, p.seq AS seq
        FROM json_each(?2) AS w
        CROSS JOIN frames AS f ON f.tenant_id = ?1 AND f.context_frame_id = w.value
        LEFT JOIN contexts AS c ON c.tenant_id = ?1 AND c.context_id = f.context_id
        LEFT JOIN log_payloads AS p ON p.tenant_id = ?1 AND p.context_id = f.context_id
            AND p.payload->>'$.event.frame.context_frame_id' = f.context_frame_id";

const CONTEXTS_IN: &str = "-- sqlite: retention.contexts_in
    SELECT c.conversation_id, c.context_id FROM json_each(?2) AS w
        CROSS JOIN contexts AS c ON c.tenant_id = ?1 AND c.conversation_id = w.value";

fn statement(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::IdempotencyAnswer => ANSWERS,
        RecordKind::Message => MESSAGES,
        RecordKind::EvidencePayload => PAYLOADS,
        RecordKind::Frame => FRAMES,
        RecordKind::ClosedContext => CLOSED,
        RecordKind::ExpiredContext => EXPIRED,
        RecordKind::FactHistory => HISTORY,
        RecordKind::WorkingItem => ITEMS,
        RecordKind::SavedPack => PACKS,
    }
}

#[async_trait]
impl AgedRecords for SqliteStore {
    async fn aged(&self, tenant_id: &TenantId, asked: &AgedQuery) -> Result<Vec<Aged>, StorageError> {
        let query = sqlx::query(statement(asked.kind)).bind(tenant_id.as_str()).bind(asked.cutoff.as_micros());
        let query = query.bind(i64::from(asked.limit)).bind(i64::try_from(asked.skip).unwrap_or(i64::MAX / 2));
        let query = query.bind(Timestamp::as_micros(asked.now));
        query.fetch_all(&self.readers).await.map_err(unavailable)?.iter().map(aged).collect()
    }

    async fn whole_contexts(&self, tenant_id: &TenantId, ids: &[ContextId]) -> Result<Vec<WholeContext>, StorageError> {
        let (mut contexts, mut items, mut commands) = (Vec::new(), Vec::new(), Vec::new());
        for row in &self.named(WHOLE, tenant_id, ids.iter().map(ContextId::as_str)).await? {
            match text(row, "row")?.as_str() {
                "context" => contexts.push(body(row, "contexts")?),
                "item" => items.push(body(row, "items")?),
                _ => {
                    let id = CommandId::new(text(row, "body")?).map_err(|error| impossible("commands", &error))?;
                    commands.push((text(row, "of")?, id));
                }
            }
        }
        Ok(put_together(contexts, &items, &commands))
    }

    async fn captured(&self, tenant_id: &TenantId, ids: &[ContextFrameId]) -> Result<Vec<CapturedFrame>, StorageError> {
        let rows = self.named(CAPTURED, tenant_id, ids.iter().map(ContextFrameId::as_str)).await?;
        rows.iter().map(captured).collect()
    }

    async fn contexts_in(
        &self,
        tenant_id: &TenantId,
        ids: &[ConversationId],
    ) -> Result<Vec<(ConversationId, ContextId)>, StorageError> {
        let rows = self.named(CONTEXTS_IN, tenant_id, ids.iter().map(ConversationId::as_str)).await?;
        rows.iter().map(context_in).collect()
    }
}

impl SqliteStore {
    /// The rows of a statement with a tenant and a list of ids.
    async fn named<'a>(
        &self,
        sql: &'static str,
        tenant_id: &TenantId,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<SqliteRow>, StorageError> {
        let mut list = Rows::default();
        names.for_each(|name| list.add(&name));
        let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(list.into_array());
        query.fetch_all(&self.readers).await.map_err(unavailable)
    }
}

fn captured(row: &SqliteRow) -> Result<CapturedFrame, StorageError> {
    let frame_id = ContextFrameId::parse(&text(row, "context_frame_id")?);
    let stream: Option<String> = row.try_get("stream_id").map_err(unavailable)?;
    let captured = match stream {
        Some(stream) => {
            let stream_id = StreamId::parse(&stream);
            Some((stream_id.ok_or_else(|| impossible("log_entries", &"a foreign stream id"))?, count(row, "seq")?))
        }
        None => None,
    };
    Ok(CapturedFrame {
        frame_id: frame_id.ok_or_else(|| impossible("frames", &"a foreign frame id"))?,
        is_open: count(row, "is_open")? > 0,
        captured,
    })
}

fn context_in(row: &SqliteRow) -> Result<(ConversationId, ContextId), StorageError> {
    let conversation = ConversationId::new(text(row, "conversation_id")?);
    let context = ContextId::parse(&text(row, "context_id")?);
    Ok((
        conversation.map_err(|error| impossible("contexts", &error))?,
        context.ok_or_else(|| impossible("contexts", &"a foreign context id"))?,
    ))
}

fn aged(row: &SqliteRow) -> Result<Aged, StorageError> {
    let actor_id = row.try_get("actor_id").map_err(unavailable)?;
    Ok(Aged { at: time(row, "at")?, id: text(row, "id")?, place: text(row, "place")?, actor_id })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::time::Clock;

    struct Stopped;

    impl Clock for Stopped {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(0)
        }
    }

    /// A round reads only records past their time, however many are stored.
    #[tokio::test]
    async fn every_statement_finds_its_rows_by_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("a.db"), Arc::new(Stopped)).await.unwrap();
        let by_age = RecordKind::ALL.map(statement);
        for sql in by_age.into_iter().chain([WHOLE, CAPTURED, CONTEXTS_IN]) {
            let explained = format!("EXPLAIN QUERY PLAN {sql}");
            let query = sqlx::query(sqlx::AssertSqlSafe(explained)).bind("a").bind("[]").bind(1).bind(0).bind(0);
            let plan = query.fetch_all(&store.readers).await.unwrap();
            let steps: Vec<String> = plan.iter().map(|row| text(row, "detail").unwrap()).collect();
            assert!(steps.iter().any(|step| step.starts_with("SEARCH")), "{sql}: {steps:?}");
            for step in steps {
                let scans = step.starts_with("SCAN") && !step.contains("VIRTUAL TABLE") && !step.contains("subquery");
                let whole = scans || step.contains("AUTOMATIC") || step.contains("MATERIALIZE");
                assert!(!whole, "{sql}: {step}");
            }
        }
    }
}
