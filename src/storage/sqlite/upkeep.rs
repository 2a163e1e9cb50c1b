//! Queries of the sweeper: what is due, and leases.

use sqlx::SqlitePool;
use sqlx::sqlite::SqliteRow;

use super::rows::{impossible, tenant_id, text, unavailable};
use crate::domain::id::{ConversationId, TenantId};
use crate::domain::time::Timestamp;
use crate::storage::LEASES_AHEAD;
use crate::storage::StorageError;
use crate::storage::subject::ERASURE_KEY_MICROS;

/// Conversations with something due.
pub(super) async fn due(
    pool: &SqlitePool,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<(TenantId, ConversationId)>, StorageError> {
    let sql = "-- sqlite: upkeep.due
        SELECT tenant_id, conversation_id FROM (
            SELECT tenant_id, conversation_id FROM contexts
                WHERE status IN ('active', 'pending', 'blocked') AND sweep_after <= ?1 AND expires_at <= ?1
            UNION
            SELECT tenant_id, conversation_id FROM items WHERE state = 'open' AND expires_at <= ?1
            UNION
            SELECT i.tenant_id, i.conversation_id FROM items AS i
                JOIN principals AS p ON p.tenant_id = i.tenant_id AND p.principal_id = i.actor_id
                WHERE i.state = 'open' AND i.identity_epoch <> p.identity_epoch
        ) LIMIT ?2";
    let rows =
        sqlx::query(sql).bind(now.as_micros()).bind(i64::from(limit)).fetch_all(pool).await.map_err(unavailable)?;
    let read = |row: &SqliteRow| {
        let conversation = ConversationId::new(text(row, "conversation_id")?);
        Ok((tenant_id(row)?, conversation.map_err(|error| impossible("contexts", &error))?))
    };
    rows.iter().map(read).collect()
}

/// Messages extend a context's time without changing the sweeper's index; this corrects it.
pub(super) async fn postpone(pool: &SqlitePool, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
    let sql = "-- sqlite: upkeep.postpone
        UPDATE contexts SET sweep_after = expires_at WHERE (tenant_id, context_id) IN
            (SELECT tenant_id, context_id FROM contexts
             WHERE status IN ('active', 'pending', 'blocked') AND sweep_after <= ?1 AND expires_at > ?1 LIMIT ?2)";
    let query = sqlx::query(sql).bind(now.as_micros()).bind(i64::from(limit));
    Ok(query.execute(pool).await.map_err(unavailable)?.rows_affected())
}

/// Takes or renews a lease. If its end is later than any current lease can have, it was taken by a clock that was
/// ahead, and its holder loses it.
pub(super) async fn take_lease(
    pool: &SqlitePool,
    name: &str,
    holder: &str,
    now: Timestamp,
    seconds: u32,
) -> Result<bool, StorageError> {
    let sql = "-- sqlite: upkeep.take_lease
        INSERT INTO leases (name, holder, until) VALUES (?1, ?2, ?3)
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
            WHERE leases.holder = excluded.holder OR leases.until <= ?4 OR leases.until > ?5";
    let until = now.plus_seconds(seconds).as_micros();
    let latest = now.plus_seconds(seconds.saturating_mul(LEASES_AHEAD)).as_micros();
    let query = sqlx::query(sql).bind(name).bind(holder).bind(until).bind(now.as_micros()).bind(latest);
    Ok(query.execute(pool).await.map_err(unavailable)?.rows_affected() == 1)
}

pub(super) async fn release_lease(pool: &SqlitePool, name: &str, holder: &str) -> Result<(), StorageError> {
    let sql = "-- sqlite: upkeep.release_lease
        DELETE FROM leases WHERE name = ? AND holder = ?";
    sqlx::query(sql).bind(name).bind(holder).execute(pool).await.map(drop).map_err(unavailable)
}

/// Deletes the request keys of erasures that ended long enough ago.
pub(super) async fn forget_erasure_keys(pool: &SqlitePool, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
    let sql = "-- sqlite: upkeep.forget_erasure_keys
        UPDATE erasures SET request = NULL WHERE (tenant_id, erasure_id) IN
            (SELECT tenant_id, erasure_id FROM erasures WHERE request IS NOT NULL AND finished_at <= ? LIMIT ?)";
    let ended = now.as_micros().saturating_sub(ERASURE_KEY_MICROS);
    let query = sqlx::query(sql).bind(ended).bind(i64::from(limit));
    Ok(query.execute(pool).await.map_err(unavailable)?.rows_affected())
}
