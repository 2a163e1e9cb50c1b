//! Finds rows of the log's tables that should not exist, and repairs what can be derived from the others.

use async_trait::async_trait;

use super::sql::{Database, Row, Statement, first, impossible, size, text};
use super::tree::{checkpoint, places, writing};
use super::{StorageError, StoredCheckpoint};
use crate::domain::canonical::Digest;
use crate::domain::id::TenantId;
use crate::evidence::tree::{Tile, TileId};

/// A row of the log's tables without its counterpart, all from one snapshot. Stream ids are reported as stored, because
/// a tampered row may contain anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    /// A payload without an entry.
    #[error("a payload is stored for entry {seq} of {stream_id}, and there is no such entry")]
    Payload {
        /// The stream id in the row.
        stream_id: String,
        /// The sequence number in the row.
        seq: u64,
    },
    /// A waiting row without an entry of that hash.
    #[error("a hash waits for its place as entry {seq} of {stream_id}, and no entry has it")]
    Waiting {
        /// The stream id in the row.
        stream_id: String,
        /// The sequence number in the row.
        seq: u64,
    },
    /// A waiting row whose entry is in the tree.
    #[error("entry {seq} of {stream_id} waits for its place, and has one")]
    Placed {
        /// The stream id in the row.
        stream_id: String,
        /// The sequence number in the row.
        seq: u64,
    },
    /// A leaf beyond the end of the tree.
    #[error("leaf {0} lies beyond the end of the tree")]
    Leaf(u64),
    /// A tile that the tree does not have, or of the wrong width.
    #[error("tile {0} has another width than in the tree")]
    Tile(TileId),
    /// The last signed size of the tree differs from the newest stored checkpoint.
    #[error("the tree records a signature at size {0}, and the newest checkpoint has another size")]
    Signed(u64),
}

impl Misplaced {
    /// Converts a row of the statement.
    fn read(what: &str, place: String, number: u64) -> Option<Self> {
        Some(match what {
            "payload" => Self::Payload { stream_id: place, seq: number },
            "waiting" => Self::Waiting { stream_id: place, seq: number },
            "placed" => Self::Placed { stream_id: place, seq: number },
            "leaf" => Self::Leaf(number),
            "tile" => Self::Tile(TileId { level: place.parse().ok()?, index: number }),
            "signed" => Self::Signed(number),
            _ => return None,
        })
    }
}

/// A repair, applied if the tree is unchanged since it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mending {
    pub size: u64,
    pub root: Digest,
    /// Tiles as derived from the leaves.
    pub tiles: Vec<Tile>,
    /// Tiles that the tree does not have, to be deleted.
    pub gone: Vec<TileId>,
}

/// Checks and repairs of the log's tables.
#[async_trait]
pub trait MendingStore: Send + Sync {
    /// Rows without their counterpart in other tables.
    async fn misplaced(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<Misplaced>, StorageError>;
    /// Signed checkpoints of sizes above `after` and up to `until`, by size.
    async fn checkpoints(
        &self,
        tenant_id: &TenantId,
        after: u64,
        until: u64,
    ) -> Result<Vec<StoredCheckpoint>, StorageError>;
    /// How many waiting rows can never be appended: no entry has their hash, or the entry is in the tree.
    async fn set_aside(&self, tenant_id: &TenantId) -> Result<u64, StorageError>;
    /// Writes and deletes tiles, deletes the rows of [`Self::set_aside`], and adds entries that are neither in the tree
    /// nor waiting to the outbox, in one transaction. `false`, without a change, if the tree has changed since it was
    /// read.
    async fn mend(&self, tenant_id: &TenantId, mending: &Mending) -> Result<bool, StorageError>;
}

/// One statement, so that all of it sees the same snapshot.
const MISPLACED: &str = "
    WITH tree (size, signed) AS (SELECT coalesce(max(size), 0), coalesce(max(signed), 0) FROM log_trees
        WHERE tenant_id = :tenant)
    SELECT 'payload' AS what, p.stream_id AS place, p.seq AS number FROM log_payloads AS p
        WHERE p.tenant_id = :tenant AND NOT EXISTS (SELECT 1 FROM log_entries AS e
            WHERE e.tenant_id = p.tenant_id AND e.stream_id = p.stream_id AND e.seq = p.seq)
    UNION ALL
    SELECT 'waiting', o.stream_id, o.seq FROM log_outbox AS o
        WHERE o.tenant_id = :tenant AND NOT EXISTS (SELECT 1 FROM log_entries AS e WHERE e.tenant_id = o.tenant_id
            AND e.stream_id = o.stream_id AND e.seq = o.seq AND e.entry_hash = o.entry_hash)
    UNION ALL
    SELECT 'placed', o.stream_id, o.seq FROM log_outbox AS o
        WHERE o.tenant_id = :tenant AND EXISTS (SELECT 1 FROM log_leaves AS l
            WHERE l.tenant_id = o.tenant_id AND l.stream_id = o.stream_id AND l.seq = o.seq)
    UNION ALL
    SELECT 'leaf', l.stream_id, l.leaf FROM tree CROSS JOIN log_leaves AS l
        WHERE l.tenant_id = :tenant AND l.leaf >= tree.size
    UNION ALL
    SELECT 'tile', CAST(t.level AS TEXT), t.tile FROM tree CROSS JOIN log_tiles AS t
        WHERE t.tenant_id = :tenant AND length(t.hashes) <> 32 * {max|greatest}(0,
            {min|least}(256, (tree.size >> {(8 * t.level)|(8 * t.level)::int4}) - 256 * t.tile))
    UNION ALL
    SELECT 'signed', '', tree.signed FROM tree
        WHERE tree.signed <> coalesce((SELECT max(size) FROM log_checkpoints WHERE tenant_id = :tenant), 0)
    LIMIT :limit";

const CHECKPOINTS: &str = "
    SELECT size, at, note FROM log_checkpoints
    WHERE tenant_id = :tenant AND size > :after AND size <= :until ORDER BY size";

/// A statement over the rows of [`MendingStore::set_aside`].
macro_rules! set_aside {
    ($what:literal) => {
        concat!(
            $what,
            " FROM log_outbox AS o WHERE o.tenant_id = :tenant AND (
            NOT EXISTS (SELECT 1 FROM log_entries AS e WHERE e.tenant_id = o.tenant_id
                AND e.stream_id = o.stream_id AND e.seq = o.seq AND e.entry_hash = o.entry_hash)
            OR EXISTS (SELECT 1 FROM log_leaves AS l
                WHERE l.tenant_id = o.tenant_id AND l.stream_id = o.stream_id AND l.seq = o.seq))"
        )
    };
}

const SET_ASIDE: &str = set_aside!("SELECT count(*) AS number");
const DELETE_WAITING: &str = set_aside!("DELETE");

const STANDS: &str = "
    SELECT size FROM log_trees WHERE tenant_id = :tenant AND size = :size AND root = :root {|FOR UPDATE}";

const DELETE_TILES: &str = "
    DELETE FROM log_tiles WHERE tenant_id = :tenant AND (level, tile) IN (SELECT w.level, w.tile FROM :gone AS w)";

const WAIT_AGAIN: &str = "
    INSERT INTO log_outbox (tenant_id, stream_id, seq, entry_hash)
    SELECT e.tenant_id, e.stream_id, e.seq, e.entry_hash FROM log_entries AS e WHERE e.tenant_id = :tenant
        AND NOT EXISTS (SELECT 1 FROM log_leaves AS l
            WHERE l.tenant_id = e.tenant_id AND l.stream_id = e.stream_id AND l.seq = e.seq)
        AND NOT EXISTS (SELECT 1 FROM log_outbox AS o
            WHERE o.tenant_id = e.tenant_id AND o.stream_id = e.stream_id AND o.seq = e.seq)";

fn misplaced(row: &Row) -> Result<Misplaced, StorageError> {
    let (what, place) = (text(row, "what")?, text(row, "place")?);
    Misplaced::read(&what, place, size(row, "number")?).ok_or_else(|| impossible("log_tiles", &"an impossible level"))
}

#[async_trait]
impl<D: Database> MendingStore for D {
    async fn misplaced(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<Misplaced>, StorageError> {
        let statement = Statement::new("mending.misplaced", MISPLACED).bind("tenant", tenant_id.as_str());
        self.rows(Some(tenant_id), statement.bind("limit", limit)).await?.iter().map(misplaced).collect()
    }

    async fn checkpoints(
        &self,
        tenant_id: &TenantId,
        after: u64,
        until: u64,
    ) -> Result<Vec<StoredCheckpoint>, StorageError> {
        let statement = Statement::new("mending.checkpoints", CHECKPOINTS).bind("tenant", tenant_id.as_str());
        let rows = self.rows(Some(tenant_id), statement.bind("after", after).bind("until", until)).await?;
        rows.iter().map(checkpoint).collect()
    }

    async fn set_aside(&self, tenant_id: &TenantId) -> Result<u64, StorageError> {
        let statement = Statement::new("mending.set_aside", SET_ASIDE).bind("tenant", tenant_id.as_str());
        first(self, Some(tenant_id), statement).await?.map_or(Ok(0), |row| size(&row, "number"))
    }

    async fn mend(&self, tenant_id: &TenantId, mending: &Mending) -> Result<bool, StorageError> {
        let of_tenant = |name, sql| Statement::new(name, sql).bind("tenant", tenant_id.as_str());
        let mut transaction = self.small_transaction().await?;
        let stands = of_tenant("mending.stands", STANDS).bind("size", mending.size).bind("root", &mending.root);
        if transaction.rows(stands).await?.is_empty() {
            return Ok(false);
        }
        let gone = places(mending.gone.iter().copied());
        transaction.change(writing(tenant_id, &mending.tiles)).await?;
        transaction.change(of_tenant("mending.delete_tiles", DELETE_TILES).bind("gone", gone)).await?;
        transaction.change(of_tenant("mending.delete_waiting", DELETE_WAITING)).await?;
        transaction.change(of_tenant("mending.wait_again", WAIT_AGAIN)).await?;
        transaction.commit().await?;
        Ok(true)
    }
}
