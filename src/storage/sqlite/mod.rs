//! SQLite: the embedded default. WAL, `synchronous=FULL`, one writer, `BEGIN IMMEDIATE` as the lock.

mod alive;
pub mod backup;
mod database;
mod disposal;
mod load;
mod opening;
mod retention;
mod rows;
mod schema;
mod spaces;
mod transaction;
mod write;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{Connection as _, SqlitePool};

use self::opening::{BUSY_TIMEOUT, options};
use self::rows::unavailable;
use self::transaction::SqliteTransaction;
use crate::domain::id::SpaceId;
use crate::domain::time::Clock;
use crate::storage::{SpaceRow, SpaceWant, StorageError, Store, Transaction};

/// Connections for reads. In WAL mode they never wait for the writer.
const READERS: u32 = 4;
/// Rows that a reader thread buffers before it waits for the consumer: waking the other thread for each row costs more
/// than the row.
const ROWS_AT_ONCE: usize = 512;
/// The page cache of a reader, in KiB (SQLite marks KiB by a minus). It has room for the keys of a log that is read out
/// of order.
const READER_CACHE: &str = "-16384";
/// A SQLite database file.
pub struct SqliteStore {
    writer: SqlitePool,
    readers: SqlitePool,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens a database file, creates it if it is missing, and brings its schema up to date.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, StorageError> {
        let options = options(path).create_if_missing(true);
        // Connections to a file need no maximum age. Without these limits the driver starts no maintenance task, which
        // can loop forever when a connection is returned while it counts (sqlx issue 3645).
        let pool = SqlitePoolOptions::new().max_lifetime(None).idle_timeout(None).acquire_timeout(BUSY_TIMEOUT * 2);
        let pool = pool.before_acquire(|connection, _| {
            // When the disk is full, SQLite rolls back by itself. The driver's ROLLBACK then fails, it still assumes an
            // open transaction and refuses every BEGIN: such a connection is replaced.
            let fit = !connection.is_in_transaction();
            Box::pin(async move { Ok(fit) })
        });
        let writer = pool.clone().max_connections(1).connect_with(options.clone()).await.map_err(unavailable)?;
        schema::bring_up_to_date(&writer).await?;
        let readers = options.read_only(true).row_buffer_size(ROWS_AT_ONCE).pragma("cache_size", READER_CACHE);
        let readers = pool.max_connections(READERS).connect_with(readers).await.map_err(unavailable)?;
        Ok(Self { writer, readers, clock })
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn begin(&self) -> Result<Box<dyn Transaction>, StorageError> {
        let inner = self.writer.begin_with("BEGIN IMMEDIATE").await.map_err(unavailable)?;
        Ok(Box::new(SqliteTransaction { inner, clock: Arc::clone(&self.clock) }))
    }

    async fn ping(&self) -> Result<(), StorageError> {
        let sql = "-- sqlite: ping\nSELECT count(*) FROM tenants";
        sqlx::query(sql).execute(&self.readers).await.map(drop).map_err(unavailable)
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    async fn spaces(&self, wants: &[SpaceWant]) -> Result<Vec<(SpaceId, SpaceRow)>, StorageError> {
        let mut connection = self.readers.acquire().await.map_err(unavailable)?;
        let rows = spaces::load(&mut connection, wants).await?;
        Ok(rows.into_iter().map(|(_, space_id, row)| (space_id, row)).collect())
    }
}
