//! Whether a database answers, what time it has, and up to when its time is known to be right.

use async_trait::async_trait;

use super::StorageError;
use crate::domain::time::Timestamp;

/// What of a database shows that it lives.
#[async_trait]
pub trait AliveStore: Send + Sync {
    /// Asks the database whether it answers, and for its clock; `None` where it has none of its own. Whoever calls this
    /// again and again lets the database notice that it has gone silent, see [`AliveStore::lost`].
    async fn probe(&self) -> Result<Option<Timestamp>, StorageError>;

    /// Waits until the database has been silent for too long for anybody to go on waiting for it. At once, if it is.
    async fn lost(&self) {
        std::future::pending::<()>().await;
    }

    /// The last time that a server vouched for; where none ever did, when the newest entry was recorded.
    async fn vouched(&self) -> Result<Option<Timestamp>, StorageError>;

    /// Records that this time is right.
    async fn vouch(&self, at: Timestamp) -> Result<(), StorageError>;
}

/// The row in which servers vouch for the time. It stands among the leases and is none: nobody takes it by this name.
pub(crate) const CLOCK: &str = "clock";
pub(crate) const SERVERS: &str = "servers";
