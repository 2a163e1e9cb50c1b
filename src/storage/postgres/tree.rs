//! The transparency log's rows.

use async_trait::async_trait;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::PostgresStore;
use super::rows::{digest, failed, impossible, tenant_id, text, time};
use super::session::EVERYBODY;
use crate::domain::id::{StreamId, TenantId};
use crate::evidence::tree::{Tile, TileId};
use crate::storage::{Growth, Placed, StorageError, StoredCheckpoint, TreeHead, TreeStore, Waiting};

const BEHIND: &str = "-- postgres: tree.behind
    SELECT tenant_id FROM tenants AS t
        WHERE tenant_id > $1 AND (EXISTS (SELECT 1 FROM log_outbox AS o WHERE o.tenant_id = t.tenant_id)
           OR $2 AND EXISTS (SELECT 1 FROM log_trees AS g WHERE g.tenant_id = t.tenant_id AND g.signed < g.size))
        ORDER BY tenant_id LIMIT $3";

const TREE: &str = "-- postgres: tree.tree
    SELECT size, root, signed FROM log_trees WHERE tenant_id = $1";

const WAITING: &str = "-- postgres: tree.waiting
    SELECT o.stream_id, o.seq, o.entry_hash FROM log_outbox AS o
        JOIN log_entries AS e ON e.tenant_id = o.tenant_id AND e.stream_id = o.stream_id AND e.seq = o.seq
            AND e.entry_hash = o.entry_hash
        WHERE o.tenant_id = $1 AND NOT EXISTS (SELECT 1 FROM log_leaves AS l
            WHERE l.tenant_id = o.tenant_id AND l.stream_id = o.stream_id AND l.seq = o.seq)
        ORDER BY o.stream_id, o.seq LIMIT $2";

const TILES: &str = "-- postgres: tree.tiles
    SELECT t.level, t.tile, t.hashes FROM unnest($2::int8[], $3::int8[]) AS w (level, tile)
        JOIN log_tiles AS t ON t.tenant_id = $1 AND t.level = w.level AND t.tile = w.tile";

const BEGIN_TREE: &str = "-- postgres: tree.begin
    INSERT INTO log_trees (tenant_id, size, root, signed) SELECT $1, $3, $4, 0 WHERE $2 = 0::int8
    ON CONFLICT (tenant_id) DO NOTHING";

/// A concurrent step waits here for the first one, and then finds another size.
const MOVE_TREE: &str = "-- postgres: tree.move
    UPDATE log_trees SET size = $3, root = $4 WHERE tenant_id = $1 AND size = $2 AND $2 > 0::int8";

pub(super) const WRITE_TILES: &str = "-- postgres: tree.write_tiles
    INSERT INTO log_tiles (tenant_id, level, tile, hashes)
    SELECT $1, * FROM unnest($2::int8[], $3::int8[], $4::bytea[])
    ON CONFLICT (tenant_id, level, tile) DO UPDATE SET hashes = excluded.hashes";

const WRITE_LEAVES: &str = "-- postgres: tree.write_leaves
    INSERT INTO log_leaves (tenant_id, leaf, stream_id, seq)
    SELECT $1, * FROM unnest($2::int8[], $3::text[], $4::int8[])";

const NO_LONGER_WAITING: &str = "-- postgres: tree.no_longer_waiting
    DELETE FROM log_outbox AS o USING unnest($2::text[], $3::int8[]) AS w (stream_id, seq)
        WHERE o.tenant_id = $1 AND o.stream_id = w.stream_id AND o.seq = w.seq";

const LEAF: &str = "-- postgres: tree.leaf
    SELECT leaf FROM log_leaves WHERE tenant_id = $1 AND stream_id = $2 AND seq = $3";

/// One statement, so that all of it sees the same snapshot.
const PLACED: &str = "-- postgres: tree.placed
    SELECT (SELECT count(*) FROM log_entries WHERE tenant_id = $1) AS entries,
           coalesce((SELECT size FROM log_trees WHERE tenant_id = $1), 0) AS leaves,
           (SELECT count(*) FROM log_outbox WHERE tenant_id = $1) AS waiting";

const KEEP: &str = "-- postgres: tree.keep_checkpoint
    WITH kept AS (
        INSERT INTO log_checkpoints (tenant_id, size, at, note) VALUES ($1, $2, $3, $4)
        ON CONFLICT (tenant_id, size) DO NOTHING)
    UPDATE log_trees SET signed = $2 WHERE tenant_id = $1 AND signed < $2";

const CHECKPOINT: &str = "-- postgres: tree.checkpoint
    SELECT size, at, note FROM log_checkpoints WHERE tenant_id = $1 ORDER BY size DESC LIMIT 1";

/// No tree grows beyond the range of `i64`.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A size or an index; the schema forbids negative numbers.
pub(super) fn size(row: &PgRow, column: &str) -> Result<u64, StorageError> {
    let number: i64 = row.try_get(column).map_err(failed)?;
    u64::try_from(number).map_err(|error| impossible("log_trees", &error))
}

#[async_trait]
impl TreeStore for PostgresStore {
    async fn behind(
        &self,
        after: Option<&TenantId>,
        unsigned: bool,
        limit: u32,
    ) -> Result<Vec<TenantId>, StorageError> {
        let query = sqlx::query(BEHIND).bind(after.map_or("", |id| id.as_str())).bind(unsigned);
        let rows = self.rest.rows(EVERYBODY, query.bind(i64::from(limit))).await?;
        rows.iter().map(tenant_id).collect()
    }

    async fn tree(&self, tenant_id: &TenantId) -> Result<Option<TreeHead>, StorageError> {
        let tenant = tenant_id.as_str();
        let rows = self.rest.rows(tenant, sqlx::query(TREE).bind(tenant)).await?;
        let head = |row: &PgRow| {
            Ok(TreeHead { size: size(row, "size")?, root: digest(row, "root")?, signed: size(row, "signed")? })
        };
        rows.first().map(head).transpose()
    }

    async fn waiting(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<Waiting>, StorageError> {
        let tenant = tenant_id.as_str();
        let rows = self.rest.rows(tenant, sqlx::query(WAITING).bind(tenant).bind(i64::from(limit))).await?;
        rows.iter().map(waiting).collect()
    }

    async fn tiles(&self, tenant_id: &TenantId, ids: &[TileId]) -> Result<Vec<Tile>, StorageError> {
        let tenant = tenant_id.as_str();
        let (levels, tiles) = columns(ids.iter().copied());
        let rows = self.rest.rows(tenant, sqlx::query(TILES).bind(tenant).bind(levels).bind(tiles)).await?;
        rows.iter().map(tile).collect()
    }

    async fn grow(&self, tenant_id: &TenantId, growth: &Growth) -> Result<bool, StorageError> {
        let tenant = tenant_id.as_str();
        let (from, size) = (stored(growth.from), stored(growth.size));
        let mut session = self.rest.small_transaction().await?;
        let mut moved = 0;
        for sql in [BEGIN_TREE, MOVE_TREE] {
            let query = sqlx::query(sql).bind(tenant).bind(from).bind(size);
            moved += session.count(query.bind(growth.root.as_bytes().as_slice())).await?;
        }
        if moved != 1 {
            return Ok(false);
        }
        let streams: Vec<&str> = growth.leaves.iter().map(|entry| entry.stream_id.as_str()).collect();
        let seqs: Vec<i64> = growth.leaves.iter().map(|entry| stored(entry.seq)).collect();
        let gone = sqlx::query(NO_LONGER_WAITING).bind(tenant).bind(streams.clone()).bind(seqs.clone());
        if usize::try_from(session.count(gone).await?) != Ok(growth.leaves.len()) {
            return Ok(false);
        }
        let (levels, tiles) = columns(growth.tiles.iter().map(Tile::id));
        let hashes: Vec<Vec<u8>> = growth.tiles.iter().map(Tile::to_bytes).collect();
        session.count(sqlx::query(WRITE_TILES).bind(tenant).bind(levels).bind(tiles).bind(hashes)).await?;
        let leaves: Vec<i64> = (from..).take(growth.leaves.len()).collect();
        session.count(sqlx::query(WRITE_LEAVES).bind(tenant).bind(leaves).bind(streams).bind(seqs)).await?;
        session.commit().await?;
        Ok(true)
    }

    async fn leaf(&self, tenant_id: &TenantId, stream_id: &StreamId, seq: u64) -> Result<Option<u64>, StorageError> {
        let tenant = tenant_id.as_str();
        let query = sqlx::query(LEAF).bind(tenant).bind(stream_id.as_str()).bind(stored(seq));
        self.rest.rows(tenant, query).await?.first().map(|row| size(row, "leaf")).transpose()
    }

    async fn placed(&self, tenant_id: &TenantId) -> Result<Placed, StorageError> {
        let tenant = tenant_id.as_str();
        let rows = self.rest.rows(tenant, sqlx::query(PLACED).bind(tenant)).await?;
        let row = rows.first().ok_or_else(|| impossible("log_entries", &"nothing was counted"))?;
        Ok(Placed { entries: size(row, "entries")?, leaves: size(row, "leaves")?, waiting: size(row, "waiting")? })
    }

    async fn keep_checkpoint(&self, tenant_id: &TenantId, checkpoint: &StoredCheckpoint) -> Result<(), StorageError> {
        let tenant = tenant_id.as_str();
        let query = sqlx::query(KEEP).bind(tenant).bind(stored(checkpoint.size));
        let query = query.bind(checkpoint.at.as_micros()).bind(&checkpoint.note);
        self.rest.change(tenant, query).await.map(drop)
    }

    async fn checkpoint(&self, tenant_id: &TenantId) -> Result<Option<StoredCheckpoint>, StorageError> {
        let tenant = tenant_id.as_str();
        let rows = self.rest.rows(tenant, sqlx::query(CHECKPOINT).bind(tenant)).await?;
        rows.first().map(checkpoint).transpose()
    }
}

pub(super) fn checkpoint(row: &PgRow) -> Result<StoredCheckpoint, StorageError> {
    Ok(StoredCheckpoint { size: size(row, "size")?, at: time(row, "at")?, note: text(row, "note")? })
}

pub(super) fn columns(ids: impl Iterator<Item = TileId>) -> (Vec<i64>, Vec<i64>) {
    ids.map(|id| (i64::from(id.level), stored(id.index))).unzip()
}

fn waiting(row: &PgRow) -> Result<Waiting, StorageError> {
    let stream_id = StreamId::parse(&text(row, "stream_id")?);
    let stream_id = stream_id.ok_or_else(|| impossible("log_outbox", &"an unreadable stream id"))?;
    Ok(Waiting { stream_id, seq: size(row, "seq")?, entry_hash: digest(row, "entry_hash")? })
}

fn tile(row: &PgRow) -> Result<Tile, StorageError> {
    let level = u8::try_from(size(row, "level")?).map_err(|error| impossible("log_tiles", &error))?;
    let id = TileId { level, index: size(row, "tile")? };
    let hashes: &[u8] = row.try_get("hashes").map_err(failed)?;
    Tile::from_bytes(id, hashes).map_err(|error| impossible("log_tiles", &error))
}
