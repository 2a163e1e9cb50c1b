//! A transaction that passes everything on, but for what a test changes or lets fail on the way.

use async_trait::async_trait;
use cscp::domain::canonical::Digest;
use cscp::domain::event::StreamKey;
use cscp::domain::id::{ArtifactId, ItemId, PrincipalId, SpaceId, StreamId, TenantId};
use cscp::domain::principal::{PersonKey, Principal};
use cscp::domain::time::Timestamp;
use cscp::evidence::entry::StreamHead;
use cscp::storage::{
    Counts, Disposal, HoldSet, Kept, Loaded, Locking, Row, SpaceRow, SpaceWant, StorageError, Tenant, Transaction,
    Want, Writes,
};

/// What a transaction is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Load,
    Write,
    Dispose,
    ForgetNames,
}

/// What a test does to a transaction. Whatever is left as it is here changes nothing.
#[async_trait]
pub(crate) trait Interference: Send + Sync {
    /// Whether a step comes about.
    fn before(&self, _step: Step) -> Result<(), StorageError> {
        Ok(())
    }

    /// What is to be locked and loaded.
    fn wants(&self, wants: &[Want]) -> Vec<Want> {
        wants.to_vec()
    }

    /// What was loaded.
    async fn loaded(&self, loaded: Loaded) -> Loaded {
        loaded
    }

    /// What is to be written.
    fn writes(&self, writes: &Writes) -> Writes {
        writes.clone()
    }

    /// Commits, or does not.
    async fn commit(&self, transaction: Box<dyn Transaction>) -> Result<(), StorageError> {
        transaction.commit().await
    }
}

pub(crate) struct Passing<I> {
    pub(crate) inner: Box<dyn Transaction>,
    pub(crate) with: I,
}

impl<I: Interference + 'static> Passing<I> {
    /// A transaction with this interference.
    pub(crate) fn boxed(inner: Box<dyn Transaction>, with: I) -> Box<dyn Transaction> {
        Box::new(Self { inner, with })
    }
}

#[async_trait]
impl<I: Interference> Transaction for Passing<I> {
    async fn load(&mut self, wants: &[Want], locking: Locking) -> Result<Loaded, StorageError> {
        self.with.before(Step::Load)?;
        let loaded = self.inner.load(&self.with.wants(wants), locking).await?;
        Ok(self.with.loaded(loaded).await)
    }

    async fn load_more(
        &mut self,
        principals: &[(TenantId, PrincipalId)],
        items: &[(TenantId, ItemId)],
    ) -> Result<Vec<(TenantId, Row)>, StorageError> {
        self.inner.load_more(principals, items).await
    }

    async fn kin(&mut self, tenant_id: &TenantId, keys: &[PersonKey]) -> Result<Vec<Principal>, StorageError> {
        self.inner.kin(tenant_id, keys).await
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

    async fn stream_head(
        &mut self,
        tenant_id: &TenantId,
        stream: &StreamKey,
    ) -> Result<Option<StreamHead>, StorageError> {
        self.inner.stream_head(tenant_id, stream).await
    }

    async fn write(&mut self, writes: &Writes) -> Result<(), StorageError> {
        self.with.before(Step::Write)?;
        self.inner.write(&self.with.writes(writes)).await
    }

    async fn dispose(&mut self, tenant: &Tenant, disposal: &Disposal) -> Result<Counts, StorageError> {
        self.with.before(Step::Dispose)?;
        self.inner.dispose(tenant, disposal).await
    }

    async fn keep(&mut self, tenant_id: &TenantId, kept: &Kept) -> Result<(), StorageError> {
        self.inner.keep(tenant_id, kept).await
    }

    async fn forget_names(&mut self, tenant_id: &TenantId, streams: &[StreamKey]) -> Result<(), StorageError> {
        self.with.before(Step::ForgetNames)?;
        self.inner.forget_names(tenant_id, streams).await
    }

    async fn held(&mut self, tenant_id: &TenantId) -> Result<HoldSet, StorageError> {
        self.inner.held(tenant_id).await
    }

    async fn told_of(&mut self, tenant_id: &TenantId, ids: &[String]) -> Result<Vec<(StreamId, u64)>, StorageError> {
        self.inner.told_of(tenant_id, ids).await
    }

    async fn withdraw(
        &mut self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        keys: &[Digest],
    ) -> Result<u64, StorageError> {
        self.with.before(Step::Dispose)?;
        self.inner.withdraw(tenant_id, space_id, keys).await
    }

    async fn commit(self: Box<Self>) -> Result<(), StorageError> {
        self.with.commit(self.inner).await
    }
}
