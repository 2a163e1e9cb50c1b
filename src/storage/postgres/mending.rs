//! Checks the log's tables against one another, and repairs them.

use async_trait::async_trait;
use sqlx::postgres::PgRow;

use super::PostgresStore;
use super::rows::{impossible, text};
use super::tree::{WRITE_TILES, checkpoint, columns, size, stored};
use crate::domain::id::TenantId;
use crate::evidence::tree::Tile;
use crate::storage::{Mending, MendingStore, Misplaced, StorageError, StoredCheckpoint};

/// One statement, so that all of it sees the same snapshot.
const MISPLACED: &str = "-- postgres: mending.misplaced
    WITH tree (size, signed) AS (SELECT coalesce(max(size), 0), coalesce(max(signed), 0) FROM log_trees
        WHERE tenant_id = $1)
    SELECT 'payload' AS what, p.stream_id AS place, p.seq AS number FROM log_payloads AS p
        WHERE p.tenant_id = $1 AND NOT EXISTS (SELECT 1 FROM log_entries AS e
            WHERE e.tenant_id = p.tenant_id AND e.stream_id = p.stream_id AND e.seq = p.seq)
    UNION ALL
    SELECT 'waiting', o.stream_id, o.seq FROM log_outbox AS o
        WHERE o.tenant_id = $1 AND NOT EXISTS (SELECT 1 FROM log_entries AS e WHERE e.tenant_id = o.tenant_id
            AND e.stream_id = o.stream_id AND e.seq = o.seq AND e.entry_hash = o.entry_hash)
    UNION ALL
    SELECT 'placed', o.stream_id, o.seq FROM log_outbox AS o
        WHERE o.tenant_id = $1 AND EXISTS (SELECT 1 FROM log_leaves AS l
            WHERE l.tenant_id = o.tenant_id AND l.stream_id = o.stream_id AND l.seq = o.seq)
    UNION ALL
    SELECT 'leaf', l.stream_id, l.leaf FROM tree CROSS JOIN log_leaves AS l
        WHERE l.tenant_id = $1 AND l.leaf >= tree.size
    UNION ALL
    SELECT 'tile', CAST(t.level AS TEXT), t.tile FROM tree CROSS JOIN log_tiles AS t
        WHERE t.tenant_id = $1
        AND length(t.hashes) <> 32 * greatest(0, least(256, (tree.size >> (8 * t.level)::int4) - 256 * t.tile))
    UNION ALL
    SELECT 'signed', '', tree.signed FROM tree
        WHERE tree.signed <> coalesce((SELECT max(size) FROM log_checkpoints WHERE tenant_id = $1), 0)
    LIMIT $2";

const CHECKPOINTS: &str = "-- postgres: mending.checkpoints
    SELECT size, at, note FROM log_checkpoints WHERE tenant_id = $1 AND size > $2 AND size <= $3 ORDER BY size";

const SET_ASIDE: &str = "-- postgres: mending.set_aside
    SELECT count(*) AS number FROM log_outbox AS o WHERE o.tenant_id = $1 AND (
        NOT EXISTS (SELECT 1 FROM log_entries AS e WHERE e.tenant_id = o.tenant_id
            AND e.stream_id = o.stream_id AND e.seq = o.seq AND e.entry_hash = o.entry_hash)
        OR EXISTS (SELECT 1 FROM log_leaves AS l
            WHERE l.tenant_id = o.tenant_id AND l.stream_id = o.stream_id AND l.seq = o.seq))";

const STANDS: &str = "-- postgres: mending.stands
    SELECT size FROM log_trees WHERE tenant_id = $1 AND size = $2 AND root = $3 FOR UPDATE";

const DELETE_TILES: &str = "-- postgres: mending.delete_tiles
    DELETE FROM log_tiles AS t USING unnest($2::int8[], $3::int8[]) AS w (level, tile)
        WHERE t.tenant_id = $1 AND t.level = w.level AND t.tile = w.tile";

const DELETE_WAITING: &str = "-- postgres: mending.delete_waiting
    DELETE FROM log_outbox AS o WHERE o.tenant_id = $1 AND (
        NOT EXISTS (SELECT 1 FROM log_entries AS e WHERE e.tenant_id = o.tenant_id
            AND e.stream_id = o.stream_id AND e.seq = o.seq AND e.entry_hash = o.entry_hash)
        OR EXISTS (SELECT 1 FROM log_leaves AS l
            WHERE l.tenant_id = o.tenant_id AND l.stream_id = o.stream_id AND l.seq = o.seq))";

const WAIT_AGAIN: &str = "-- postgres: mending.wait_again
    INSERT INTO log_outbox (tenant_id, stream_id, seq, entry_hash)
    SELECT e.tenant_id, e.stream_id, e.seq, e.entry_hash FROM log_entries AS e WHERE e.tenant_id = $1
        AND NOT EXISTS (SELECT 1 FROM log_leaves AS l
            WHERE l.tenant_id = e.tenant_id AND l.stream_id = e.stream_id AND l.seq = e.seq)
        AND NOT EXISTS (SELECT 1 FROM log_outbox AS o
            WHERE o.tenant_id = e.tenant_id AND o.stream_id = e.stream_id AND o.seq = e.seq)";

fn misplaced(row: &PgRow) -> Result<Misplaced, StorageError> {
    let (what, place) = (text(row, "what")?, text(row, "place")?);
    Misplaced::read(&what, place, size(row, "number")?).ok_or_else(|| impossible("log_tiles", &"an impossible level"))
}

#[async_trait]
impl MendingStore for PostgresStore {
    async fn misplaced(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<Misplaced>, StorageError> {
        let tenant = tenant_id.as_str();
        let query = sqlx::query(MISPLACED).bind(tenant).bind(i64::from(limit));
        self.rest.rows(tenant, query).await?.iter().map(misplaced).collect()
    }

    async fn checkpoints(
        &self,
        tenant_id: &TenantId,
        after: u64,
        until: u64,
    ) -> Result<Vec<StoredCheckpoint>, StorageError> {
        let tenant = tenant_id.as_str();
        let query = sqlx::query(CHECKPOINTS).bind(tenant).bind(stored(after)).bind(stored(until));
        self.rest.rows(tenant, query).await?.iter().map(checkpoint).collect()
    }

    async fn set_aside(&self, tenant_id: &TenantId) -> Result<u64, StorageError> {
        let tenant = tenant_id.as_str();
        let rows = self.rest.rows(tenant, sqlx::query(SET_ASIDE).bind(tenant)).await?;
        rows.first().map_or(Ok(0), |row| size(row, "number"))
    }

    async fn mend(&self, tenant_id: &TenantId, mending: &Mending) -> Result<bool, StorageError> {
        let tenant = tenant_id.as_str();
        let mut session = self.rest.small_transaction().await?;
        let stands = sqlx::query(STANDS).bind(tenant).bind(stored(mending.size));
        if session.count(stands.bind(mending.root.as_bytes().as_slice())).await? != 1 {
            return Ok(false);
        }
        let (levels, tiles) = columns(mending.tiles.iter().map(Tile::id));
        let hashes: Vec<Vec<u8>> = mending.tiles.iter().map(Tile::to_bytes).collect();
        session.count(sqlx::query(WRITE_TILES).bind(tenant).bind(levels).bind(tiles).bind(hashes)).await?;
        let (levels, tiles) = columns(mending.gone.iter().copied());
        session.count(sqlx::query(DELETE_TILES).bind(tenant).bind(levels).bind(tiles)).await?;
        for sql in [DELETE_WAITING, WAIT_AGAIN] {
            session.count(sqlx::query(sql).bind(tenant)).await?;
        }
        session.commit().await?;
        Ok(true)
    }
}
