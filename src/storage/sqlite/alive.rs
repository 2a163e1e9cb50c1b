//! Whether the file can be read.

use async_trait::async_trait;

use super::SqliteStore;
use crate::domain::time::Timestamp;
use crate::storage::{AliveStore, StorageError, Store as _};

#[async_trait]
impl AliveStore for SqliteStore {
    async fn probe(&self) -> Result<Option<Timestamp>, StorageError> {
        self.ping().await.map(|()| None)
    }
}
