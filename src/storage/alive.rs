//! Whether a database answers, its clock, and the last time known to be right.

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

    /// The last time that a server vouched for; if there is none, the time of the newest entry.
    async fn vouched(&self) -> Result<Option<Timestamp>, StorageError>;

    /// Records that this time is right.
    async fn vouch(&self, at: Timestamp) -> Result<(), StorageError>;
}

/// The row with the last trusted time. It is in the table of leases, but nobody takes a lease of this name.
pub(crate) const CLOCK: &str = "clock";
pub(crate) const SERVERS: &str = "servers";
