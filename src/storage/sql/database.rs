//! What a database does with statements outside of the write path.

use async_trait::async_trait;

use super::{Dialect, Row, Statement};
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::storage::StorageError;

/// Runs statements. A statement is run on behalf of one tenant, whose rows are then the only ones under row security,
/// or of all of them (`None`).
#[async_trait]
pub(in crate::storage) trait Database: Send + Sync {
    fn dialect(&self) -> Dialect;

    /// The rows of a reading statement.
    async fn rows(&self, tenant: Option<&TenantId>, statement: Statement) -> Result<Vec<Row>, StorageError>;

    /// The number of rows that a statement changed.
    async fn change(&self, tenant: Option<&TenantId>, statement: Statement) -> Result<u64, StorageError>;

    /// A transaction for a few statements.
    async fn small_transaction(&self) -> Result<Box<dyn SmallTransaction>, StorageError>;
}

/// A transaction outside of the write path. Dropping it rolls it back.
#[async_trait]
pub(in crate::storage) trait SmallTransaction: Send {
    async fn rows(&mut self, statement: Statement) -> Result<Vec<Row>, StorageError>;

    async fn change(&mut self, statement: Statement) -> Result<u64, StorageError>;

    /// The present. Fails on a server that must not be written to.
    async fn now(&mut self) -> Result<Timestamp, StorageError>;

    async fn commit(self: Box<Self>) -> Result<(), StorageError>;
}

/// The first row of a statement that returns at most one.
pub(in crate::storage) async fn first(
    database: &impl Database,
    tenant: Option<&TenantId>,
    statement: Statement,
) -> Result<Option<Row>, StorageError> {
    Ok(database.rows(tenant, statement).await?.into_iter().next())
}
