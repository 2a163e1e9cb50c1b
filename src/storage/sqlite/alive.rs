//! Whether the file can be read, and the last time known to be right.

use async_trait::async_trait;
use sqlx::Row as _;

use super::SqliteStore;
use super::rows::unavailable;
use crate::domain::time::Timestamp;
use crate::storage::alive::{AliveStore, CLOCK, SERVERS};
use crate::storage::{StorageError, Store as _};

#[async_trait]
impl AliveStore for SqliteStore {
    async fn probe(&self) -> Result<Option<Timestamp>, StorageError> {
        self.ping().await.map(|()| None)
    }

    async fn vouched(&self) -> Result<Option<Timestamp>, StorageError> {
        let sql = "-- sqlite: alive.vouched
            SELECT coalesce((SELECT until FROM leases WHERE name = ?), (SELECT max(last_at) FROM streams)) AS at";
        let row = sqlx::query(sql).bind(CLOCK).fetch_one(&self.readers).await.map_err(unavailable)?;
        let at: Option<i64> = row.try_get("at").map_err(unavailable)?;
        Ok(at.map(Timestamp::from_micros))
    }

    async fn vouch(&self, at: Timestamp) -> Result<(), StorageError> {
        let sql = "-- sqlite: alive.vouch
            INSERT INTO leases (name, holder, until) VALUES (?, ?, ?)
            ON CONFLICT (name) DO UPDATE SET until = excluded.until";
        let query = sqlx::query(sql).bind(CLOCK).bind(SERVERS).bind(at.as_micros());
        query.execute(&self.writer).await.map(drop).map_err(unavailable)
    }
}
