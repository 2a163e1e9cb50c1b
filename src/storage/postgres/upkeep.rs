//! Upkeep across tenants: what is due, and leases.

use std::sync::Arc;

use super::clock;
use super::rows::{impossible, tenant_id, text};
use super::session::{Desk, EVERYBODY};
use crate::domain::id::{ConversationId, TenantId};
use crate::domain::time::{Clock, Timestamp};
use crate::storage::LEASES_AHEAD;
use crate::storage::StorageError;
use crate::storage::subject::ERASURE_KEY_MICROS;

/// Conversations with something due.
pub(super) async fn due(
    desk: &Desk,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<(TenantId, ConversationId)>, StorageError> {
    let sql = "-- postgres: upkeep.due
        SELECT tenant_id, conversation_id FROM (
            SELECT tenant_id, conversation_id FROM contexts
                WHERE open AND sweep_after <= $1 AND expires_at <= $1
            UNION
            SELECT tenant_id, conversation_id FROM items WHERE state = 'open' AND expires_at <= $1
            UNION
            SELECT i.tenant_id, i.conversation_id FROM items AS i
                JOIN principals AS p ON p.tenant_id = i.tenant_id AND p.principal_id = i.actor_id
                WHERE i.state = 'open' AND i.identity_epoch <> p.identity_epoch
        ) AS due LIMIT $2";
    let query = sqlx::query(sql).bind(now.as_micros()).bind(i64::from(limit));
    let rows = desk.rows(EVERYBODY, query).await?;
    let read = |row| {
        let conversation = text(row, "conversation_id")?;
        let conversation = ConversationId::new(conversation).map_err(|error| impossible("contexts", &error))?;
        Ok((tenant_id(row)?, conversation))
    };
    rows.iter().map(read).collect()
}

/// Corrects the sweeper's index for contexts whose time was extended. Rows that another process has locked are left for
/// the next time.
pub(super) async fn postpone(desk: &Desk, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
    let sql = "-- postgres: upkeep.postpone
        UPDATE contexts AS c SET sweep_after = c.expires_at FROM (
            SELECT tenant_id, context_id FROM contexts
                WHERE open AND sweep_after <= $1 AND expires_at > $1
                ORDER BY sweep_after LIMIT $2 FOR UPDATE SKIP LOCKED
        ) AS extended
        WHERE c.tenant_id = extended.tenant_id AND c.context_id = extended.context_id";
    desk.change(EVERYBODY, sqlx::query(sql).bind(now.as_micros()).bind(i64::from(limit))).await
}

/// Deletes the request keys of erasures that ended long enough ago.
pub(super) async fn forget_erasure_keys(desk: &Desk, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
    let sql = "-- postgres: upkeep.forget_erasure_keys
        UPDATE erasures SET request = NULL WHERE (tenant_id, erasure_id) IN
            (SELECT tenant_id, erasure_id FROM erasures WHERE request IS NOT NULL AND finished_at <= $1 LIMIT $2
             FOR UPDATE SKIP LOCKED)";
    let ended = now.as_micros().saturating_sub(ERASURE_KEY_MICROS);
    desk.change(EVERYBODY, sqlx::query(sql).bind(ended).bind(i64::from(limit))).await
}

/// Takes or renews a lease. If its end is later than any current lease can have, it was taken by a clock that was
/// ahead, and its holder loses it.
pub(super) async fn take_lease(
    desk: &Desk,
    clock: Option<&Arc<dyn Clock>>,
    name: &str,
    holder: &str,
    seconds: u32,
) -> Result<bool, StorageError> {
    // The clock is read before a possible wait for the row: an older time makes the lease end earlier and takes fewer
    // leases from others.
    let sql = "-- postgres: upkeep.take_lease
        INSERT INTO leases (name, holder, until) VALUES ($1, $2, $3)
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
        WHERE leases.holder = excluded.holder OR leases.until <= $4 OR leases.until > $5";
    let mut session = desk.small_transaction().await?;
    let now = clock::now(&mut session, clock, &desk.judge).await?;
    let until = now.plus_seconds(seconds);
    let latest = now.plus_seconds(seconds.saturating_mul(LEASES_AHEAD)).as_micros();
    let query = sqlx::query(sql).bind(name).bind(holder).bind(until.as_micros()).bind(now.as_micros()).bind(latest);
    let taken = session.count(query).await?;
    session.commit().await?;
    Ok(taken == 1)
}

/// Releases a lease, if it is still held.
pub(super) async fn release_lease(desk: &Desk, name: &str, holder: &str) -> Result<(), StorageError> {
    let sql = "-- postgres: upkeep.release_lease
        DELETE FROM leases WHERE name = $1 AND holder = $2";
    desk.change(EVERYBODY, sqlx::query(sql).bind(name).bind(holder)).await.map(drop)
}
