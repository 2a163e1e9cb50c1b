//! The transparency log's part of the port: entries that wait for a leaf, the tree, and the signed checkpoints.

use async_trait::async_trait;

use super::StorageError;
use super::sql::{
    Column, Columns as _, Database, Row, Statement, Type, Value, digest, first, impossible, size, tenant_id, text, time,
};
use crate::domain::canonical::Digest;
use crate::domain::id::{StreamId, TenantId};
use crate::domain::time::Timestamp;
use crate::evidence::tree::{Tile, TileId};

/// The size and root of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeHead {
    pub size: u64,
    pub root: Digest,
    /// The size of the newest signed checkpoint; 0 if there is none.
    pub signed: u64,
}

/// An entry that is not in the tree yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub stream_id: StreamId,
    pub seq: u64,
    /// Its hash, which becomes the leaf.
    pub entry_hash: Digest,
}

/// How many entries of a tenant are where, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    pub entries: u64,
    pub leaves: u64,
    pub waiting: u64,
}

/// One step of a tree: appends waiting entries in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growth {
    /// The size before the step.
    pub from: u64,
    pub size: u64,
    pub root: Digest,
    /// The new and the changed tiles.
    pub tiles: Vec<Tile>,
    /// The entries appended as leaves, in order.
    pub leaves: Vec<Waiting>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCheckpoint {
    /// The size of its tree.
    pub size: u64,
    pub at: Timestamp,
    /// The signed note that is sent to readers.
    pub note: String,
}

/// Storage of the trees.
#[async_trait]
pub trait TreeStore: Send + Sync {
    /// Tenants after `after` with waiting entries, by id; with `unsigned` also those whose tree has grown since its
    /// last checkpoint.
    async fn behind(&self, after: Option<&TenantId>, unsigned: bool, limit: u32)
    -> Result<Vec<TenantId>, StorageError>;
    /// A tenant's tree; none before its first leaf.
    async fn tree(&self, tenant_id: &TenantId) -> Result<Option<TreeHead>, StorageError>;
    /// Waiting entries, those of one chain in order. Rows without an entry of that hash, and rows whose entry is in the
    /// tree, are skipped: see [`MendingStore::set_aside`](super::MendingStore::set_aside).
    async fn waiting(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<Waiting>, StorageError>;
    /// Tiles as wide as they are now; one that is not there has no entry.
    async fn tiles(&self, tenant_id: &TenantId, ids: &[TileId]) -> Result<Vec<Tile>, StorageError>;
    /// Writes a step in one transaction: tiles, leaves and size, and removes the entries from the outbox. `false`,
    /// without a change, if the tree has another size than the step starts from, or if an entry no longer waits.
    async fn grow(&self, tenant_id: &TenantId, growth: &Growth) -> Result<bool, StorageError>;
    /// The leaf index of an entry; none while it waits.
    async fn leaf(&self, tenant_id: &TenantId, stream_id: &StreamId, seq: u64) -> Result<Option<u64>, StorageError>;
    /// Counts entries, leaves and waiting entries at one moment. Reads an index of all entries.
    async fn placed(&self, tenant_id: &TenantId) -> Result<Placed, StorageError>;
    /// Stores a checkpoint. An existing one of the same size is not replaced.
    async fn keep_checkpoint(&self, tenant_id: &TenantId, checkpoint: &StoredCheckpoint) -> Result<(), StorageError>;
    async fn checkpoint(&self, tenant_id: &TenantId) -> Result<Option<StoredCheckpoint>, StorageError>;
}

const BEHIND: &str = "
    SELECT tenant_id FROM tenants AS t
        WHERE tenant_id > :after AND (EXISTS (SELECT 1 FROM log_outbox AS o WHERE o.tenant_id = t.tenant_id)
           OR :unsigned AND EXISTS
              (SELECT 1 FROM log_trees AS g WHERE g.tenant_id = t.tenant_id AND g.signed < g.size))
        ORDER BY tenant_id LIMIT :limit";

const TREE: &str = "SELECT size, root, signed FROM log_trees WHERE tenant_id = :tenant";

const WAITING: &str = "
    SELECT o.stream_id, o.seq, o.entry_hash FROM log_outbox AS o
        {join} log_entries AS e ON e.tenant_id = o.tenant_id AND e.stream_id = o.stream_id AND e.seq = o.seq
            AND e.entry_hash = o.entry_hash
        WHERE o.tenant_id = :tenant AND NOT EXISTS (SELECT 1 FROM log_leaves AS l
            WHERE l.tenant_id = o.tenant_id AND l.stream_id = o.stream_id AND l.seq = o.seq)
        ORDER BY o.stream_id, o.seq LIMIT :limit";

const TILES: &str = "
    SELECT t.level, t.tile, t.hashes FROM :wanted AS w
        {join} log_tiles AS t ON t.tenant_id = :tenant AND t.level = w.level AND t.tile = w.tile";

const BEGIN_TREE: &str = "
    INSERT INTO log_trees (tenant_id, size, root, signed) VALUES (:tenant, :size, :root, 0)
    ON CONFLICT (tenant_id) DO NOTHING";

/// A concurrent step waits here for the first one, and then finds another size.
const MOVE_TREE: &str = "UPDATE log_trees SET size = :size, root = :root WHERE tenant_id = :tenant AND size = :from";

const WRITE_TILES: &str = "
    INSERT INTO log_tiles (tenant_id, level, tile, hashes)
    SELECT :tenant, w.level, w.tile, w.hashes FROM :tiles AS w WHERE true
    ON CONFLICT (tenant_id, level, tile) DO UPDATE SET hashes = excluded.hashes";

const WRITE_LEAVES: &str = "
    INSERT INTO log_leaves (tenant_id, leaf, stream_id, seq)
    SELECT :tenant, w.leaf, w.stream_id, w.seq FROM :leaves AS w";

const NO_LONGER_WAITING: &str = "
    DELETE FROM log_outbox WHERE tenant_id = :tenant
        AND (stream_id, seq) IN (SELECT w.stream_id, w.seq FROM :leaves AS w)";

const LEAF: &str = "SELECT leaf FROM log_leaves WHERE tenant_id = :tenant AND stream_id = :stream AND seq = :seq";

/// One statement, so that all of it sees the same snapshot.
const PLACED: &str = "
    SELECT (SELECT count(*) FROM log_entries WHERE tenant_id = :tenant) AS entries,
           coalesce((SELECT size FROM log_trees WHERE tenant_id = :tenant), 0) AS leaves,
           (SELECT count(*) FROM log_outbox WHERE tenant_id = :tenant) AS waiting";

const KEEP: &str = "
    INSERT INTO log_checkpoints (tenant_id, size, at, note) VALUES (:tenant, :size, :at, :note)
    ON CONFLICT (tenant_id, size) DO NOTHING";

const SIGNED: &str = "UPDATE log_trees SET signed = :size WHERE tenant_id = :tenant AND signed < :size";

const CHECKPOINT: &str = "
    SELECT size, at, note FROM log_checkpoints WHERE tenant_id = :tenant ORDER BY size DESC LIMIT 1";

const TILE: [Column; 2] = [("level", Type::Number), ("tile", Type::Number)];
const FULL_TILE: [Column; 3] = [("level", Type::Number), ("tile", Type::Number), ("hashes", Type::Bytes)];
const LEAF_ROW: [Column; 3] = [("leaf", Type::Number), ("stream_id", Type::Text), ("seq", Type::Number)];

fn of_tenant(name: &'static str, sql: &'static str, tenant_id: &TenantId) -> Statement {
    Statement::new(name, sql).bind("tenant", tenant_id.as_str())
}

/// The places of tiles, as rows.
pub(super) fn places(ids: impl IntoIterator<Item = TileId>) -> Value {
    Value::rows(&TILE, ids.into_iter().map(|id| [id.level.into(), id.index.into()]))
}

/// Writes tiles over those in the same places.
pub(super) fn writing(tenant_id: &TenantId, tiles: &[Tile]) -> Statement {
    let rows = tiles.iter().map(|tile| [tile.id().level.into(), tile.id().index.into(), tile.to_bytes().into()]);
    of_tenant("tree.write_tiles", WRITE_TILES, tenant_id).bind("tiles", Value::rows(&FULL_TILE, rows))
}

pub(super) fn checkpoint(row: &Row) -> Result<StoredCheckpoint, StorageError> {
    Ok(StoredCheckpoint { size: size(row, "size")?, at: time(row, "at")?, note: text(row, "note")? })
}

fn tree_head(row: &Row) -> Result<TreeHead, StorageError> {
    Ok(TreeHead { size: size(row, "size")?, root: digest(row, "root")?, signed: size(row, "signed")? })
}

fn waiting(row: &Row) -> Result<Waiting, StorageError> {
    let stream_id = StreamId::parse(row.get("stream_id")?);
    let stream_id = stream_id.ok_or_else(|| impossible("log_outbox", &"an unreadable stream id"))?;
    Ok(Waiting { stream_id, seq: size(row, "seq")?, entry_hash: digest(row, "entry_hash")? })
}

fn tile(row: &Row) -> Result<Tile, StorageError> {
    let level = u8::try_from(size(row, "level")?).map_err(|error| impossible("log_tiles", &error))?;
    let id = TileId { level, index: size(row, "tile")? };
    Tile::from_bytes(id, row.get("hashes")?).map_err(|error| impossible("log_tiles", &error))
}

#[async_trait]
impl<D: Database> TreeStore for D {
    async fn behind(
        &self,
        after: Option<&TenantId>,
        unsigned: bool,
        limit: u32,
    ) -> Result<Vec<TenantId>, StorageError> {
        let behind = Statement::new("tree.behind", BEHIND)
            .bind("after", after.map_or("", TenantId::as_str))
            .bind("unsigned", unsigned)
            .bind("limit", limit);
        self.rows(None, behind).await?.iter().map(tenant_id).collect()
    }

    async fn tree(&self, tenant_id: &TenantId) -> Result<Option<TreeHead>, StorageError> {
        first(self, Some(tenant_id), of_tenant("tree.tree", TREE, tenant_id)).await?.as_ref().map(tree_head).transpose()
    }

    async fn waiting(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<Waiting>, StorageError> {
        let statement = of_tenant("tree.waiting", WAITING, tenant_id).bind("limit", limit);
        self.rows(Some(tenant_id), statement).await?.iter().map(waiting).collect()
    }

    async fn tiles(&self, tenant_id: &TenantId, ids: &[TileId]) -> Result<Vec<Tile>, StorageError> {
        let statement = of_tenant("tree.tiles", TILES, tenant_id).bind("wanted", places(ids.iter().copied()));
        self.rows(Some(tenant_id), statement).await?.iter().map(tile).collect()
    }

    async fn grow(&self, tenant_id: &TenantId, growth: &Growth) -> Result<bool, StorageError> {
        let mut transaction = self.small_transaction().await?;
        let [begin, go_on] = [("tree.begin", BEGIN_TREE), ("tree.move", MOVE_TREE)];
        let (name, sql) = if growth.from == 0 { begin } else { go_on };
        let step = of_tenant(name, sql, tenant_id)
            .bind("from", growth.from)
            .bind("size", growth.size)
            .bind("root", &growth.root);
        if transaction.change(step).await? != 1 {
            return Ok(false);
        }
        let leaves = (growth.from..).zip(&growth.leaves);
        let leaves = leaves.map(|(leaf, entry)| [leaf.into(), entry.stream_id.as_str().into(), entry.seq.into()]);
        let leaves = Value::rows(&LEAF_ROW, leaves);
        let gone = of_tenant("tree.no_longer_waiting", NO_LONGER_WAITING, tenant_id).bind("leaves", leaves.clone());
        if usize::try_from(transaction.change(gone).await?) != Ok(growth.leaves.len()) {
            return Ok(false);
        }
        transaction.change(writing(tenant_id, &growth.tiles)).await?;
        transaction.change(of_tenant("tree.write_leaves", WRITE_LEAVES, tenant_id).bind("leaves", leaves)).await?;
        transaction.commit().await?;
        Ok(true)
    }

    async fn leaf(&self, tenant_id: &TenantId, stream_id: &StreamId, seq: u64) -> Result<Option<u64>, StorageError> {
        let leaf = of_tenant("tree.leaf", LEAF, tenant_id).bind("stream", stream_id.as_str()).bind("seq", seq);
        first(self, Some(tenant_id), leaf).await?.map(|row| size(&row, "leaf")).transpose()
    }

    async fn placed(&self, tenant_id: &TenantId) -> Result<Placed, StorageError> {
        let row = first(self, Some(tenant_id), of_tenant("tree.placed", PLACED, tenant_id)).await?;
        let row = row.ok_or_else(|| impossible("log_entries", &"nothing was counted"))?;
        Ok(Placed { entries: size(&row, "entries")?, leaves: size(&row, "leaves")?, waiting: size(&row, "waiting")? })
    }

    async fn keep_checkpoint(&self, tenant_id: &TenantId, checkpoint: &StoredCheckpoint) -> Result<(), StorageError> {
        let keep = of_tenant("tree.keep_checkpoint", KEEP, tenant_id)
            .bind("size", checkpoint.size)
            .bind("at", checkpoint.at)
            .bind("note", checkpoint.note.as_str());
        let mut transaction = self.small_transaction().await?;
        transaction.change(keep).await?;
        transaction.change(of_tenant("tree.signed", SIGNED, tenant_id).bind("size", checkpoint.size)).await?;
        transaction.commit().await
    }

    async fn checkpoint(&self, tenant_id: &TenantId) -> Result<Option<StoredCheckpoint>, StorageError> {
        let newest = of_tenant("tree.checkpoint", CHECKPOINT, tenant_id);
        first(self, Some(tenant_id), newest).await?.as_ref().map(checkpoint).transpose()
    }
}
