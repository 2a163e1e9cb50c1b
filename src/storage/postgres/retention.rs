//! Finds records past their time.

use async_trait::async_trait;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::PostgresStore;
use super::errors::failed;
use crate::domain::id::{CommandId, ContextFrameId, ContextId, ConversationId, StreamId, TenantId};
use crate::domain::policy::RecordKind;
use crate::storage::retention::put_together;
use crate::storage::sql::jsonb;
use crate::storage::sql::{body, count, impossible, text, time};
use crate::storage::{Aged, AgedQuery, AgedRecords, CapturedFrame, StorageError, WholeContext};

const ANSWERS: &str = "-- postgres: retention.answers
    SELECT expires_at AS at, encode(claim_key, 'hex') AS id, coalesce(space_id, '') AS place, NULL::text AS actor_id
        FROM claims WHERE tenant_id = $1 AND expires_at <= $2 ORDER BY expires_at LIMIT $3 OFFSET $4";

/// A row without a time was written by an earlier version, which stored the end instead.
const MESSAGES: &str = concat!(
    "-- postgres: retention.messages
    SELECT CASE received_at WHEN 0 THEN keep_until ELSE received_at END AS at, encode(message_key, 'hex') AS id,
           conversation_id AS place, ",
    jsonb!("body"),
    " ->> 'actor_id' AS actor_id
        FROM messages WHERE tenant_id = $1 AND received_at <= $2 AND (received_at > 0 OR keep_until <= $5)
        ORDER BY received_at LIMIT $3 OFFSET $4"
);

/// Payloads of the disposal stream are never erased.
const PAYLOADS: &str = "-- postgres: retention.payloads
    SELECT at, CAST(seq AS TEXT) AS id, stream_id AS place, NULL::text AS actor_id FROM log_payloads
        WHERE tenant_id = $1 AND at <= $2 AND stream_id <> coalesce(
            (SELECT stream_id FROM streams WHERE tenant_id = $1 AND kind = 'disposal' AND key = 'disposal'), '')
        ORDER BY at, stream_id, seq LIMIT $3 OFFSET $4";

const FRAMES: &str = concat!(
    "-- postgres: retention.frames
    SELECT created_at AS at, context_frame_id AS id, ",
    jsonb!("body"),
    " #>> '{frame,conversation_id}' AS place, ",
    jsonb!("body"),
    " #>> '{frame,actor_id}' AS actor_id
        FROM frames WHERE tenant_id = $1 AND created_at <= $2 ORDER BY created_at LIMIT $3 OFFSET $4"
);

const CLOSED: &str = "-- postgres: retention.closed_contexts
    SELECT updated_at AS at, context_id AS id, conversation_id AS place, actor_id
        FROM contexts WHERE tenant_id = $1 AND status = 'closed' AND updated_at <= $2
        ORDER BY updated_at LIMIT $3 OFFSET $4";

const EXPIRED: &str = "-- postgres: retention.expired_contexts
    SELECT updated_at AS at, context_id AS id, conversation_id AS place, actor_id
        FROM contexts WHERE tenant_id = $1 AND status = 'expired' AND updated_at <= $2
        ORDER BY updated_at LIMIT $3 OFFSET $4";

const HISTORY: &str = "-- postgres: retention.fact_history
    SELECT * FROM (SELECT ended_at AS at, 'fact/' || record_id AS id, space_id AS place, NULL::text AS actor_id
        FROM space_records WHERE tenant_id = $1 AND kind = 'fact' AND ended_at <= $2 AND ended_at IS NOT NULL
        ORDER BY ended_at LIMIT $3 + $4) AS first_kind
    UNION ALL
    SELECT * FROM (SELECT ended_at, 'reading/' || record_id, space_id, NULL::text
        FROM space_records WHERE tenant_id = $1 AND kind = 'reading' AND ended_at <= $2 AND ended_at IS NOT NULL
        ORDER BY ended_at LIMIT $3 + $4) AS second_kind
    ORDER BY 1 LIMIT $3 OFFSET $4";

const ITEMS: &str = "-- postgres: retention.working_items
    SELECT * FROM (SELECT ended_at AS at, 'item/' || record_id AS id, space_id AS place, NULL::text AS actor_id
        FROM space_records WHERE tenant_id = $1 AND kind = 'item' AND ended_at <= $2 AND ended_at IS NOT NULL
        ORDER BY ended_at LIMIT $3 + $4) AS first_kind
    UNION ALL
    SELECT * FROM (SELECT ended_at, 'signal/' || record_id, space_id, NULL::text
        FROM space_records WHERE tenant_id = $1 AND kind = 'signal' AND ended_at <= $2 AND ended_at IS NOT NULL
        ORDER BY ended_at LIMIT $3 + $4) AS second_kind
    ORDER BY 1 LIMIT $3 OFFSET $4";

const PACKS: &str = "-- postgres: retention.saved_packs
    SELECT ended_at AS at, 'pack/' || record_id AS id, space_id AS place, NULL::text AS actor_id
        FROM space_records WHERE tenant_id = $1 AND kind = 'pack' AND ended_at <= $2 AND ended_at IS NOT NULL
        ORDER BY ended_at LIMIT $3 OFFSET $4";

const WHOLE: &str = "-- postgres: retention.whole_contexts
    SELECT 'context' AS row, c.context_id AS of, c.body FROM unnest($2::text[]) AS w (id)
        JOIN contexts AS c ON c.tenant_id = $1 AND c.context_id = w.id
    UNION ALL
    SELECT 'item', i.context_id, i.body FROM unnest($2::text[]) AS w (id)
        JOIN items AS i ON i.tenant_id = $1 AND i.context_id = w.id
    UNION ALL
    SELECT 'command', k.context_id, k.command_id FROM unnest($2::text[]) AS w (id)
        JOIN commands AS k ON k.tenant_id = $1 AND k.context_id = w.id";

/// The entry that captured a frame is found among the entries about its context.
const CAPTURED: &str = concat!(
    "-- postgres: retention.captured
    SELECT f.context_frame_id, coalesce(c.open, false) AS is_open, p.stream_id AS stream_id, p.seq AS seq
        FROM unnest($2::text[]) AS w (id)
        JOIN frames AS f ON f.tenant_id = $1 AND f.context_frame_id = w.id
        LEFT JOIN contexts AS c ON c.tenant_id = $1 AND c.context_id = f.context_id
        LEFT JOIN log_payloads AS p ON p.tenant_id = $1 AND p.context_id = f.context_id
            AND ",
    jsonb!("p.payload"),
    " #>> '{event,frame,context_frame_id}' = f.context_frame_id"
);

const CONTEXTS_IN: &str = "-- postgres: retention.contexts_in
    SELECT c.conversation_id, c.context_id FROM unnest($2::text[]) AS w (id)
        JOIN contexts AS c ON c.tenant_id = $1 AND c.conversation_id = w.id";

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
impl AgedRecords for PostgresStore {
    async fn aged(&self, tenant_id: &TenantId, asked: &AgedQuery) -> Result<Vec<Aged>, StorageError> {
        let query = sqlx::query(statement(asked.kind)).bind(tenant_id.as_str()).bind(asked.cutoff.as_micros());
        let query = query.bind(i64::from(asked.limit)).bind(i64::try_from(asked.skip).unwrap_or(i64::MAX / 2));
        // Only this statement has a parameter for the present.
        let query = if asked.kind == RecordKind::Message { query.bind(asked.now.as_micros()) } else { query };
        self.rest.rows(tenant_id.as_str(), query).await?.iter().map(aged).collect()
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

impl PostgresStore {
    /// The rows of a statement with a tenant and a list of ids.
    async fn named<'a>(
        &self,
        sql: &'static str,
        tenant_id: &TenantId,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<PgRow>, StorageError> {
        let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(names.collect::<Vec<_>>());
        self.rest.rows(tenant_id.as_str(), query).await
    }
}

fn captured(row: &PgRow) -> Result<CapturedFrame, StorageError> {
    let frame_id = ContextFrameId::parse(&text(row, "context_frame_id")?);
    let stream: Option<String> = row.try_get("stream_id").map_err(failed)?;
    let captured = match stream {
        Some(stream) => {
            let stream_id = StreamId::parse(&stream);
            Some((stream_id.ok_or_else(|| impossible("log_entries", &"a foreign stream id"))?, count(row, "seq")?))
        }
        None => None,
    };
    Ok(CapturedFrame {
        frame_id: frame_id.ok_or_else(|| impossible("frames", &"a foreign frame id"))?,
        is_open: row.try_get("is_open").map_err(failed)?,
        captured,
    })
}

fn context_in(row: &PgRow) -> Result<(ConversationId, ContextId), StorageError> {
    let conversation = ConversationId::new(text(row, "conversation_id")?);
    let context = ContextId::parse(&text(row, "context_id")?);
    Ok((
        conversation.map_err(|error| impossible("contexts", &error))?,
        context.ok_or_else(|| impossible("contexts", &"a foreign context id"))?,
    ))
}

fn aged(row: &PgRow) -> Result<Aged, StorageError> {
    let actor_id = row.try_get("actor_id").map_err(failed)?;
    Ok(Aged { at: time(row, "at")?, id: text(row, "id")?, place: text(row, "place")?, actor_id })
}
