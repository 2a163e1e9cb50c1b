//! The one write transaction of a SQLite database.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::Sqlite;

use super::database::{change, rows};
use super::rows::unavailable;
use super::{disposal, load, spaces, write};
use crate::domain::canonical::Digest;
use crate::domain::event::StreamKey;
use crate::domain::id::{ArtifactId, ItemId, PrincipalId, SpaceId, StreamId, TenantId};
use crate::domain::principal::{PersonKey, Principal};
use crate::domain::time::{Clock, Timestamp};
use crate::evidence::entry::StreamHead;
use crate::storage::going::withdrawing;
use crate::storage::loading::searching_kin;
use crate::storage::sql::{Dialect, body};
use crate::storage::subject::keeping;
use crate::storage::{
    Counts, Disposal, HoldSet, Kept, Loaded, Locking, Row, SpaceRow, SpaceWant, StorageError, Tenant, Transaction,
    Want, Writes,
};

/// A transaction with the only write lock.
pub(super) struct SqliteTransaction {
    pub(super) inner: sqlx::Transaction<'static, Sqlite>,
    pub(super) clock: Arc<dyn Clock>,
}

#[async_trait]
impl Transaction for SqliteTransaction {
    async fn load(&mut self, wants: &[Want], _locking: Locking) -> Result<Loaded, StorageError> {
        // BEGIN IMMEDIATE has already waited, so everything is locked.
        load::load(&mut self.inner, wants).await
    }

    async fn load_more(
        &mut self,
        principals: &[(TenantId, PrincipalId)],
        items: &[(TenantId, ItemId)],
    ) -> Result<Vec<(TenantId, Row)>, StorageError> {
        load::load_more(&mut self.inner, principals, items).await
    }

    async fn kin(&mut self, tenant_id: &TenantId, keys: &[PersonKey]) -> Result<Vec<Principal>, StorageError> {
        let found = rows(&mut self.inner, searching_kin(tenant_id, keys, true)).await?;
        found.iter().map(|row| body(row, "principals")).collect()
    }

    async fn load_spaces(&mut self, wants: &[SpaceWant]) -> Result<Vec<(TenantId, SpaceId, SpaceRow)>, StorageError> {
        spaces::load(&mut self.inner, wants).await
    }

    async fn has_entry(&mut self, tenant_id: &TenantId, id: &ArtifactId) -> Result<bool, StorageError> {
        let sql = "-- sqlite: has_entry\nSELECT 1 FROM log_entries WHERE tenant_id = ? AND artifact_id = ?";
        let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(id.as_str());
        Ok(query.fetch_optional(&mut *self.inner).await.map_err(unavailable)?.is_some())
    }

    async fn now(&mut self) -> Result<Timestamp, StorageError> {
        // The lock is held since BEGIN IMMEDIATE.
        Ok(self.clock.now())
    }

    async fn stream_head(
        &mut self,
        tenant_id: &TenantId,
        stream: &StreamKey,
    ) -> Result<Option<StreamHead>, StorageError> {
        disposal::stream_head(&mut *self.inner, tenant_id, stream).await
    }

    async fn write(&mut self, writes: &Writes) -> Result<(), StorageError> {
        spaces::write(&mut self.inner, writes).await?;
        write::write(&mut self.inner, writes).await
    }

    async fn dispose(&mut self, tenant: &Tenant, disposal: &Disposal) -> Result<Counts, StorageError> {
        disposal::dispose(&mut self.inner, tenant, disposal).await
    }

    async fn keep(&mut self, tenant_id: &TenantId, kept: &Kept) -> Result<(), StorageError> {
        change(&mut self.inner, keeping(tenant_id, kept)).await.map(drop)
    }

    async fn forget_names(&mut self, _tenant_id: &TenantId, _streams: &[StreamKey]) -> Result<(), StorageError> {
        // Locking a stream writes nothing on SQLite.
        Ok(())
    }

    async fn held(&mut self, tenant_id: &TenantId) -> Result<HoldSet, StorageError> {
        disposal::held(&mut *self.inner, tenant_id).await
    }

    async fn told_of(&mut self, tenant_id: &TenantId, ids: &[String]) -> Result<Vec<(StreamId, u64)>, StorageError> {
        spaces::told_of(&mut self.inner, tenant_id, ids).await
    }

    async fn withdraw(
        &mut self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        keys: &[Digest],
    ) -> Result<u64, StorageError> {
        change(&mut self.inner, withdrawing(Dialect::Sqlite, tenant_id, space_id, keys)).await
    }

    async fn commit(self: Box<Self>) -> Result<(), StorageError> {
        self.inner.commit().await.map_err(unavailable)
    }
}
