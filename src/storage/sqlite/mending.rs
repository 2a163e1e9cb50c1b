//! Checks the log's tables against one another, and repairs them.

use async_trait::async_trait;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::rows::{Rows, impossible, text, unavailable};
use super::tree::{WRITE_TILES, checkpoint, size, stored};
use crate::domain::id::TenantId;
use crate::storage::{Mending, MendingStore, Misplaced, StorageError, StoredCheckpoint};

/// One statement, so that all of it sees the same snapshot.
const MISPLACED: &str = "-- sqlite: mending.misplaced
    WITH tree (size, signed) AS (SELECT coalesce(max(size), 0), coalesce(max(signed), 0) FROM log_trees
        WHERE tenant_id = ?1)
    SELECT 'payload' AS what, p.stream_id AS place, p.seq AS number FROM log_payloads AS p
        WHERE p.tenant_id = ?1 AND NOT EXISTS (SELECT 1 FROM log_entries AS e
            WHERE e.tenant_id = p.tenant_id AND e.stream_id = p.stream_id AND e.seq = p.seq)
    UNION ALL
    SELECT 'waiting', o.stream_id, o.seq FROM log_outbox AS o
        WHERE o.tenant_id = ?1 AND NOT EXISTS (SELECT 1 FROM log_entries AS e WHERE e.tenant_id = o.tenant_id
            AND e.stream_id = o.stream_id AND e.seq = o.seq AND e.entry_hash = o.entry_hash)
    UNION ALL
    SELECT 'placed', o.stream_id, o.seq FROM log_outbox AS o
        WHERE o.tenant_id = ?1 AND EXISTS (SELECT 1 FROM log_leaves AS l
            WHERE l.tenant_id = o.tenant_id AND l.stream_id = o.stream_id AND l.seq = o.seq)
    UNION ALL
    SELECT 'leaf', l.stream_id, l.leaf FROM tree CROSS JOIN log_leaves AS l
        WHERE l.tenant_id = ?1 AND l.leaf >= tree.size
    UNION ALL
    SELECT 'tile', CAST(t.level AS TEXT), t.tile FROM tree CROSS JOIN log_tiles AS t
        WHERE t.tenant_id = ?1
        AND length(t.hashes) <> 32 * max(0, min(256, (tree.size >> 8 * t.level) - 256 * t.tile))
    UNION ALL
    SELECT 'signed', '', tree.signed FROM tree
        WHERE tree.signed <> coalesce((SELECT max(size) FROM log_checkpoints WHERE tenant_id = ?1), 0)
    LIMIT ?2";

const CHECKPOINTS: &str = "-- sqlite: mending.checkpoints
    SELECT size, at, note FROM log_checkpoints WHERE tenant_id = ? AND size > ? AND size <= ? ORDER BY size";

const SET_ASIDE: &str = "-- sqlite: mending.set_aside
    SELECT count(*) AS number FROM log_outbox AS o WHERE o.tenant_id = ?1 AND (
        NOT EXISTS (SELECT 1 FROM log_entries AS e WHERE e.tenant_id = o.tenant_id
            AND e.stream_id = o.stream_id AND e.seq = o.seq AND e.entry_hash = o.entry_hash)
        OR EXISTS (SELECT 1 FROM log_leaves AS l
            WHERE l.tenant_id = o.tenant_id AND l.stream_id = o.stream_id AND l.seq = o.seq))";

const STANDS: &str = "-- sqlite: mending.stands
    SELECT 1 FROM log_trees WHERE tenant_id = ? AND size = ? AND root = ?";

const DELETE_TILES: &str = "-- sqlite: mending.delete_tiles
    DELETE FROM log_tiles WHERE (tenant_id, level, tile) IN (SELECT ?1, value->>0, value->>1 FROM json_each(?2))";

const DELETE_WAITING: &str = "-- sqlite: mending.delete_waiting
    DELETE FROM log_outbox AS o WHERE o.tenant_id = ?1 AND (
        NOT EXISTS (SELECT 1 FROM log_entries AS e WHERE e.tenant_id = o.tenant_id
            AND e.stream_id = o.stream_id AND e.seq = o.seq AND e.entry_hash = o.entry_hash)
        OR EXISTS (SELECT 1 FROM log_leaves AS l
            WHERE l.tenant_id = o.tenant_id AND l.stream_id = o.stream_id AND l.seq = o.seq))";

const WAIT_AGAIN: &str = "-- sqlite: mending.wait_again
    INSERT INTO log_outbox (tenant_id, stream_id, seq, entry_hash)
    SELECT e.tenant_id, e.stream_id, e.seq, e.entry_hash FROM log_entries AS e WHERE e.tenant_id = ?1
        AND NOT EXISTS (SELECT 1 FROM log_leaves AS l
            WHERE l.tenant_id = e.tenant_id AND l.stream_id = e.stream_id AND l.seq = e.seq)
        AND NOT EXISTS (SELECT 1 FROM log_outbox AS o
            WHERE o.tenant_id = e.tenant_id AND o.stream_id = e.stream_id AND o.seq = e.seq)";

fn misplaced(row: &SqliteRow) -> Result<Misplaced, StorageError> {
    let (what, place) = (text(row, "what")?, text(row, "place")?);
    Misplaced::read(&what, place, size(row, "number")?).ok_or_else(|| impossible("log_tiles", &"an impossible level"))
}

#[async_trait]
impl MendingStore for SqliteStore {
    async fn misplaced(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<Misplaced>, StorageError> {
        let query = sqlx::query(MISPLACED).bind(tenant_id.as_str()).bind(i64::from(limit));
        query.fetch_all(&self.readers).await.map_err(unavailable)?.iter().map(misplaced).collect()
    }

    async fn checkpoints(
        &self,
        tenant_id: &TenantId,
        after: u64,
        until: u64,
    ) -> Result<Vec<StoredCheckpoint>, StorageError> {
        let query = sqlx::query(CHECKPOINTS).bind(tenant_id.as_str()).bind(stored(after)).bind(stored(until));
        query.fetch_all(&self.readers).await.map_err(unavailable)?.iter().map(checkpoint).collect()
    }

    async fn set_aside(&self, tenant_id: &TenantId) -> Result<u64, StorageError> {
        let query = sqlx::query(SET_ASIDE).bind(tenant_id.as_str());
        size(&query.fetch_one(&self.readers).await.map_err(unavailable)?, "number")
    }

    async fn mend(&self, tenant_id: &TenantId, mending: &Mending) -> Result<bool, StorageError> {
        let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await.map_err(unavailable)?;
        let stands = sqlx::query(STANDS).bind(tenant_id.as_str()).bind(stored(mending.size));
        let stands = stands.bind(mending.root.as_bytes().as_slice());
        if stands.fetch_optional(&mut *transaction).await.map_err(unavailable)?.is_none() {
            return Ok(false);
        }
        let (mut tiles, mut gone) = (Rows::default(), Rows::default());
        for tile in &mending.tiles {
            tiles.add(&(tile.id().level, tile.id().index, hex::encode(tile.to_bytes())));
        }
        mending.gone.iter().for_each(|id| gone.add(&(id.level, id.index)));
        for (sql, rows) in [(WRITE_TILES, tiles.into_array()), (DELETE_TILES, gone.into_array())] {
            let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(rows);
            query.execute(&mut *transaction).await.map_err(unavailable)?;
        }
        for sql in [DELETE_WAITING, WAIT_AGAIN] {
            sqlx::query(sql).bind(tenant_id.as_str()).execute(&mut *transaction).await.map_err(unavailable)?;
        }
        transaction.commit().await.map_err(unavailable)?;
        Ok(true)
    }
}
