//! Upkeep across tenants: what is due, leases, and the last time known to be right.

use async_trait::async_trait;

use super::StorageError;
use super::sql::{Columns as _, Database, Row, Statement, first, impossible, tenant_id, text};
use super::subject::ERASURE_KEY_MICROS;
use crate::domain::id::{ConversationId, TenantId};
use crate::domain::time::Timestamp;

/// What the background work of servers needs.
#[async_trait]
pub trait UpkeepStore: Send + Sync {
    /// Conversations with something due at `now`: a deadline, or a question to a principal whose identity changed.
    async fn due(&self, now: Timestamp, limit: u32) -> Result<Vec<(TenantId, ConversationId)>, StorageError>;
    /// Corrects the sweeper's index for up to `limit` contexts whose time was extended; returns how many.
    async fn postpone(&self, now: Timestamp, limit: u32) -> Result<u64, StorageError>;
    /// Deletes the `Idempotency-Key` digests of up to `limit` erasures that ended at least a day ago; returns how many.
    async fn forget_erasure_keys(&self, now: Timestamp, limit: u32) -> Result<u64, StorageError>;
    /// Takes or renews a lease for so many seconds of the database's clock; `false` if another holder has it.
    async fn take_lease(&self, name: &str, holder: &str, seconds: u32) -> Result<bool, StorageError>;
    /// Releases a lease, if this holder has it.
    async fn release_lease(&self, name: &str, holder: &str) -> Result<(), StorageError>;
    /// The last time that a server vouched for; if there is none, the time of the newest entry.
    async fn vouched(&self) -> Result<Option<Timestamp>, StorageError>;
    /// Records that this time is right.
    async fn vouch(&self, at: Timestamp) -> Result<(), StorageError>;
}

/// A lease that ends later than this many times its length from now was taken by a clock that was ahead, and its holder
/// loses it.
const LEASES_AHEAD: u32 = 2;

/// The row with the last trusted time. It is in the table of leases, but nobody takes a lease of this name.
const CLOCK: &str = "clock";
const SERVERS: &str = "servers";

// Each database has its own form of the sweeper's index over open contexts. On PostgreSQL, rows that another process has
// locked are left for the next time; SQLite has one writer.

const DUE: &str = "
    SELECT tenant_id, conversation_id FROM (
        SELECT tenant_id, conversation_id FROM contexts
            WHERE {status IN ('active', 'pending', 'blocked')|open} AND sweep_after <= :now AND expires_at <= :now
        UNION
        SELECT tenant_id, conversation_id FROM items WHERE state = 'open' AND expires_at <= :now
        UNION
        SELECT i.tenant_id, i.conversation_id FROM items AS i
            JOIN principals AS p ON p.tenant_id = i.tenant_id AND p.principal_id = i.actor_id
            WHERE i.state = 'open' AND i.identity_epoch <> p.identity_epoch
    ) AS due LIMIT :limit";

const POSTPONE: &str = "
    UPDATE contexts SET sweep_after = expires_at WHERE (tenant_id, context_id) IN (
        SELECT tenant_id, context_id FROM contexts
            WHERE {status IN ('active', 'pending', 'blocked')|open} AND sweep_after <= :now AND expires_at > :now
            ORDER BY sweep_after LIMIT :limit {|FOR UPDATE SKIP LOCKED})";

const FORGET_ERASURE_KEYS: &str = "
    UPDATE erasures SET request = NULL WHERE (tenant_id, erasure_id) IN (
        SELECT tenant_id, erasure_id FROM erasures WHERE request IS NOT NULL AND finished_at <= :ended
            LIMIT :limit {|FOR UPDATE SKIP LOCKED})";

const TAKE_LEASE: &str = "
    INSERT INTO leases (name, holder, until) VALUES (:name, :holder, :until)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
        WHERE leases.holder = excluded.holder OR leases.until <= :now OR leases.until > :latest";

#[async_trait]
impl<D: Database> UpkeepStore for D {
    async fn due(&self, now: Timestamp, limit: u32) -> Result<Vec<(TenantId, ConversationId)>, StorageError> {
        let due = Statement::new("upkeep.due", DUE).bind("now", now).bind("limit", limit);
        let read = |row: &Row| {
            let conversation = ConversationId::new(text(row, "conversation_id")?);
            Ok((tenant_id(row)?, conversation.map_err(|error| impossible("contexts", &error))?))
        };
        self.rows(None, due).await?.iter().map(read).collect()
    }

    async fn postpone(&self, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
        self.change(None, Statement::new("upkeep.postpone", POSTPONE).bind("now", now).bind("limit", limit)).await
    }

    async fn forget_erasure_keys(&self, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
        let ended = now.as_micros().saturating_sub(ERASURE_KEY_MICROS);
        let forget =
            Statement::new("upkeep.forget_erasure_keys", FORGET_ERASURE_KEYS).bind("ended", ended).bind("limit", limit);
        self.change(None, forget).await
    }

    async fn take_lease(&self, name: &str, holder: &str, seconds: u32) -> Result<bool, StorageError> {
        let mut transaction = self.small_transaction().await?;
        // Read before a possible wait for the row: an older time makes the lease end earlier and takes fewer leases
        // from others.
        let now = transaction.now().await?;
        let take = Statement::new("upkeep.take_lease", TAKE_LEASE)
            .bind("name", name)
            .bind("holder", holder)
            .bind("until", now.plus_seconds(seconds))
            .bind("now", now)
            .bind("latest", now.plus_seconds(seconds.saturating_mul(LEASES_AHEAD)));
        let taken = transaction.change(take).await?;
        transaction.commit().await?;
        Ok(taken == 1)
    }

    async fn release_lease(&self, name: &str, holder: &str) -> Result<(), StorageError> {
        let sql = "DELETE FROM leases WHERE name = :name AND holder = :holder";
        let release = Statement::new("upkeep.release_lease", sql).bind("name", name).bind("holder", holder);
        self.change(None, release).await.map(drop)
    }

    async fn vouched(&self) -> Result<Option<Timestamp>, StorageError> {
        let sql = "
            SELECT coalesce((SELECT until FROM leases WHERE name = :clock), (SELECT max(last_at) FROM streams)) AS at";
        let row = first(self, None, Statement::new("upkeep.vouched", sql).bind("clock", CLOCK)).await?;
        let at: Option<i64> = row.map_or(Ok(None), |row| row.get("at"))?;
        Ok(at.map(Timestamp::from_micros))
    }

    async fn vouch(&self, at: Timestamp) -> Result<(), StorageError> {
        let sql = "
            INSERT INTO leases (name, holder, until) VALUES (:clock, :servers, :at)
            ON CONFLICT (name) DO UPDATE SET until = excluded.until";
        let vouch = Statement::new("upkeep.vouch", sql).bind("clock", CLOCK).bind("servers", SERVERS).bind("at", at);
        self.change(None, vouch).await.map(drop)
    }
}
