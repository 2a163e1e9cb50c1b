//! Whether a database answers, and its clock.

use async_trait::async_trait;

use super::StorageError;
use crate::domain::time::Timestamp;

/// How to check whether a database works.
#[async_trait]
pub trait AliveStore: Send + Sync {
    /// Asks the database whether it answers, and for its clock; `None` if it has no clock of its own. Regular calls let
    /// the adapter notice a silent database, see [`AliveStore::lost`].
    async fn probe(&self) -> Result<Option<Timestamp>, StorageError>;

    /// Waits until the database has been silent for too long to keep callers waiting; returns at once if it has been
    /// already.
    async fn lost(&self) {
        std::future::pending::<()>().await;
    }
}
