//! The transparency log's rows.

use async_trait::async_trait;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::rows::{Rows, digest, impossible, tenant_id, text, time, unavailable};
use crate::domain::id::{StreamId, TenantId};
use crate::evidence::tree::{Tile, TileId};
use crate::storage::{Growth, Placed, StorageError, StoredCheckpoint, TreeHead, TreeStore, Waiting};

const BEHIND: &str = "-- sqlite: tree.behind
    SELECT tenant_id FROM tenants AS t
        WHERE tenant_id > ?1 AND (EXISTS (SELECT 1 FROM log_outbox AS o WHERE o.tenant_id = t.tenant_id)
           OR ?2 AND EXISTS (SELECT 1 FROM log_trees AS g WHERE g.tenant_id = t.tenant_id AND g.signed < g.size))
        ORDER BY tenant_id LIMIT ?3";

const TREE: &str = "-- sqlite: tree.tree
    SELECT size, root, signed FROM log_trees WHERE tenant_id = ?";

const WAITING: &str = "-- sqlite: tree.waiting
    SELECT o.stream_id, o.seq, o.entry_hash FROM log_outbox AS o
        CROSS JOIN log_entries AS e ON e.tenant_id = o.tenant_id AND e.stream_id = o.stream_id AND e.seq = o.seq
            AND e.entry_hash = o.entry_hash
        WHERE o.tenant_id = ? AND NOT EXISTS (SELECT 1 FROM log_leaves AS l
            WHERE l.tenant_id = o.tenant_id AND l.stream_id = o.stream_id AND l.seq = o.seq)
        ORDER BY o.stream_id, o.seq LIMIT ?";

const TILES: &str = "-- sqlite: tree.tiles
    SELECT t.level, t.tile, t.hashes FROM json_each(?2) AS w
        CROSS JOIN log_tiles AS t ON t.tenant_id = ?1 AND t.level = w.value->>0 AND t.tile = w.value->>1";

const BEGIN_TREE: &str = "-- sqlite: tree.begin
    INSERT INTO log_trees (tenant_id, size, root, signed) SELECT ?1, ?3, ?4, 0 WHERE ?2 = 0
    ON CONFLICT (tenant_id) DO NOTHING";

const MOVE_TREE: &str = "-- sqlite: tree.move
    UPDATE log_trees SET size = ?3, root = ?4 WHERE tenant_id = ?1 AND size = ?2 AND ?2 > 0";

pub(super) const WRITE_TILES: &str = "-- sqlite: tree.write_tiles
    INSERT INTO log_tiles (tenant_id, level, tile, hashes)
    SELECT ?1, value->>0, value->>1, unhex(value->>2) FROM json_each(?2) WHERE true
    ON CONFLICT (tenant_id, level, tile) DO UPDATE SET hashes = excluded.hashes";

const WRITE_LEAVES: &str = "-- sqlite: tree.write_leaves
    INSERT INTO log_leaves (tenant_id, leaf, stream_id, seq)
    SELECT ?1, value->>0, value->>1, value->>2 FROM json_each(?2)";

const NO_LONGER_WAITING: &str = "-- sqlite: tree.no_longer_waiting
    DELETE FROM log_outbox WHERE (tenant_id, stream_id, seq) IN
        (SELECT ?1, value->>1, value->>2 FROM json_each(?2))";

const LEAF: &str = "-- sqlite: tree.leaf
    SELECT leaf FROM log_leaves WHERE tenant_id = ? AND stream_id = ? AND seq = ?";

/// One statement, so that all of it sees the same snapshot.
const PLACED: &str = "-- sqlite: tree.placed
    SELECT (SELECT count(*) FROM log_entries WHERE tenant_id = ?1) AS entries,
           coalesce((SELECT size FROM log_trees WHERE tenant_id = ?1), 0) AS leaves,
           (SELECT count(*) FROM log_outbox WHERE tenant_id = ?1) AS waiting";

const KEEP: &str = "-- sqlite: tree.keep_checkpoint
    INSERT INTO log_checkpoints (tenant_id, size, at, note) VALUES (?, ?, ?, ?)
    ON CONFLICT (tenant_id, size) DO NOTHING";

const SIGNED: &str = "-- sqlite: tree.signed
    UPDATE log_trees SET signed = ?2 WHERE tenant_id = ?1 AND signed < ?2";

const CHECKPOINT: &str = "-- sqlite: tree.checkpoint
    SELECT size, at, note FROM log_checkpoints WHERE tenant_id = ? ORDER BY size DESC LIMIT 1";

/// No tree grows beyond the range of `i64`.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A size or an index; the schema forbids negative numbers.
pub(super) fn size(row: &SqliteRow, column: &str) -> Result<u64, StorageError> {
    let number: i64 = row.try_get(column).map_err(unavailable)?;
    u64::try_from(number).map_err(|error| impossible("log_trees", &error))
}

#[async_trait]
impl TreeStore for SqliteStore {
    async fn behind(
        &self,
        after: Option<&TenantId>,
        unsigned: bool,
        limit: u32,
    ) -> Result<Vec<TenantId>, StorageError> {
        let query = sqlx::query(BEHIND).bind(after.map_or("", |id| id.as_str())).bind(unsigned);
        let rows = query.bind(i64::from(limit)).fetch_all(&self.readers).await.map_err(unavailable)?;
        rows.iter().map(tenant_id).collect()
    }

    async fn tree(&self, tenant_id: &TenantId) -> Result<Option<TreeHead>, StorageError> {
        let row =
            sqlx::query(TREE).bind(tenant_id.as_str()).fetch_optional(&self.readers).await.map_err(unavailable)?;
        row.map(|row| {
            Ok(TreeHead { size: size(&row, "size")?, root: digest(&row, "root")?, signed: size(&row, "signed")? })
        })
        .transpose()
    }

    async fn waiting(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<Waiting>, StorageError> {
        let query = sqlx::query(WAITING).bind(tenant_id.as_str()).bind(i64::from(limit));
        query.fetch_all(&self.readers).await.map_err(unavailable)?.iter().map(waiting).collect()
    }

    async fn tiles(&self, tenant_id: &TenantId, ids: &[TileId]) -> Result<Vec<Tile>, StorageError> {
        let mut wanted = Rows::default();
        for id in ids {
            wanted.add(&(id.level, id.index));
        }
        let query = sqlx::query(TILES).bind(tenant_id.as_str()).bind(wanted.into_array());
        query.fetch_all(&self.readers).await.map_err(unavailable)?.iter().map(tile).collect()
    }

    async fn grow(&self, tenant_id: &TenantId, growth: &Growth) -> Result<bool, StorageError> {
        let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await.map_err(unavailable)?;
        let mut moved = 0;
        for sql in [BEGIN_TREE, MOVE_TREE] {
            let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(stored(growth.from)).bind(stored(growth.size));
            let query = query.bind(growth.root.as_bytes().as_slice());
            moved += query.execute(&mut *transaction).await.map_err(unavailable)?.rows_affected();
        }
        if moved != 1 {
            return Ok(false);
        }
        let (mut leaves, mut tiles) = (Rows::default(), Rows::default());
        for (leaf, entry) in (growth.from..).zip(&growth.leaves) {
            leaves.add(&(leaf, &entry.stream_id, entry.seq));
        }
        growth
            .tiles
            .iter()
            .for_each(|tile| tiles.add(&(tile.id().level, tile.id().index, hex::encode(tile.to_bytes()))));
        let (leaves, tiles) = (leaves.into_array(), tiles.into_array());
        let gone = sqlx::query(NO_LONGER_WAITING).bind(tenant_id.as_str()).bind(&leaves);
        let gone = gone.execute(&mut *transaction).await.map_err(unavailable)?.rows_affected();
        if usize::try_from(gone) != Ok(growth.leaves.len()) {
            return Ok(false);
        }
        for (sql, rows) in [(WRITE_TILES, &tiles), (WRITE_LEAVES, &leaves)] {
            let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(rows);
            query.execute(&mut *transaction).await.map_err(unavailable)?;
        }
        transaction.commit().await.map_err(unavailable)?;
        Ok(true)
    }

    async fn leaf(&self, tenant_id: &TenantId, stream_id: &StreamId, seq: u64) -> Result<Option<u64>, StorageError> {
        let query = sqlx::query(LEAF).bind(tenant_id.as_str()).bind(stream_id.as_str()).bind(stored(seq));
        let row = query.fetch_optional(&self.readers).await.map_err(unavailable)?;
        row.map(|row| size(&row, "leaf")).transpose()
    }

    async fn placed(&self, tenant_id: &TenantId) -> Result<Placed, StorageError> {
        let query = sqlx::query(PLACED).bind(tenant_id.as_str());
        let row = query.fetch_one(&self.readers).await.map_err(unavailable)?;
        Ok(Placed { entries: size(&row, "entries")?, leaves: size(&row, "leaves")?, waiting: size(&row, "waiting")? })
    }

    async fn keep_checkpoint(&self, tenant_id: &TenantId, checkpoint: &StoredCheckpoint) -> Result<(), StorageError> {
        let size = stored(checkpoint.size);
        let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await.map_err(unavailable)?;
        let keep = sqlx::query(KEEP).bind(tenant_id.as_str()).bind(size);
        let keep = keep.bind(checkpoint.at.as_micros()).bind(&checkpoint.note);
        keep.execute(&mut *transaction).await.map_err(unavailable)?;
        let signed = sqlx::query(SIGNED).bind(tenant_id.as_str()).bind(size);
        signed.execute(&mut *transaction).await.map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)
    }

    async fn checkpoint(&self, tenant_id: &TenantId) -> Result<Option<StoredCheckpoint>, StorageError> {
        let query = sqlx::query(CHECKPOINT).bind(tenant_id.as_str());
        let row = query.fetch_optional(&self.readers).await.map_err(unavailable)?;
        row.as_ref().map(checkpoint).transpose()
    }
}

pub(super) fn checkpoint(row: &SqliteRow) -> Result<StoredCheckpoint, StorageError> {
    Ok(StoredCheckpoint { size: size(row, "size")?, at: time(row, "at")?, note: text(row, "note")? })
}

fn waiting(row: &SqliteRow) -> Result<Waiting, StorageError> {
    let stream_id = text(row, "stream_id")?;
    let stream_id = StreamId::parse(&stream_id).ok_or_else(|| impossible("log_outbox", &"an unreadable stream id"))?;
    Ok(Waiting { stream_id, seq: size(row, "seq")?, entry_hash: digest(row, "entry_hash")? })
}

fn tile(row: &SqliteRow) -> Result<Tile, StorageError> {
    let level = u8::try_from(size(row, "level")?).map_err(|error| impossible("log_tiles", &error))?;
    let id = TileId { level, index: size(row, "tile")? };
    let hashes: &[u8] = row.try_get("hashes").map_err(unavailable)?;
    Tile::from_bytes(id, hashes).map_err(|error| impossible("log_tiles", &error))
}
