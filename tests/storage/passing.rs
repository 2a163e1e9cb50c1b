//! A transaction that passes everything on, but for what it has loaded and what it is to write: a test may change both.

use std::sync::Arc;

use async_trait::async_trait;
use cscp::domain::event::StreamKey;
use cscp::domain::id::{ArtifactId, ItemId, PrincipalId, SpaceId, TenantId};
use cscp::domain::time::Timestamp;
use cscp::storage::{
    Counts, Disposal, HoldSet, Kept, Loaded, Locking, Row, SpaceRow, SpaceWant, StorageError, Transaction, Want, Writes,
};
use futures_util::future::BoxFuture;

/// What is done to what was loaded.
pub(crate) type AfterLoad = dyn Fn(Loaded) -> BoxFuture<'static, Loaded> + Send + Sync;
/// What is done to what is to be written.
pub(crate) type BeforeWrite = dyn Fn(Writes) -> Writes + Send + Sync;

pub(crate) struct Passing {
    pub(crate) inner: Box<dyn Transaction>,
    pub(crate) after_load: Arc<AfterLoad>,
    pub(crate) before_write: Arc<BeforeWrite>,
}

#[async_trait]
impl Transaction for Passing {
    async fn load(&mut self, wants: &[Want], locking: Locking) -> Result<Loaded, StorageError> {
        let loaded = self.inner.load(wants, locking).await?;
        Ok((self.after_load)(loaded).await)
    }

    async fn load_more(
        &mut self,
        principals: &[(TenantId, PrincipalId)],
        items: &[(TenantId, ItemId)],
    ) -> Result<Vec<(TenantId, Row)>, StorageError> {
        self.inner.load_more(principals, items).await
    }

    async fn load_spaces(&mut self, wants: &[SpaceWant]) -> Result<Vec<(TenantId, SpaceId, SpaceRow)>, StorageError> {
        self.inner.load_spaces(wants).await
    }

    async fn has_entry(&mut self, tenant_id: &TenantId, id: &ArtifactId) -> Result<bool, StorageError> {
        self.inner.has_entry(tenant_id, id).await
    }

    async fn now(&mut self) -> Result<Timestamp, StorageError> {
        self.inner.now().await
    }

    async fn write(&mut self, writes: &Writes) -> Result<(), StorageError> {
        self.inner.write(&(self.before_write)(writes.clone())).await
    }

    async fn dispose(&mut self, tenant_id: &TenantId, disposal: &Disposal) -> Result<Counts, StorageError> {
        self.inner.dispose(tenant_id, disposal).await
    }

    async fn keep(&mut self, tenant_id: &TenantId, kept: &Kept) -> Result<(), StorageError> {
        self.inner.keep(tenant_id, kept).await
    }

    async fn forget_names(&mut self, tenant_id: &TenantId, streams: &[StreamKey]) -> Result<(), StorageError> {
        self.inner.forget_names(tenant_id, streams).await
    }

    async fn held(&mut self, tenant_id: &TenantId) -> Result<HoldSet, StorageError> {
        self.inner.held(tenant_id).await
    }

    async fn commit(self: Box<Self>) -> Result<(), StorageError> {
        self.inner.commit().await
    }
}
