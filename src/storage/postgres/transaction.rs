//! A transaction of the write path.

use std::sync::Arc;

use async_trait::async_trait;

use super::database::query;
use super::judge::Judge;
use super::session::{Desk, Session, WAIT};
use super::{clock, disposal, load, lock, spaces, write};
use crate::domain::canonical::Digest;
use crate::domain::event::StreamKey;
use crate::domain::id::{ArtifactId, ItemId, PrincipalId, SpaceId, StreamId, TenantId};
use crate::domain::principal::{PersonKey, Principal};
use crate::domain::time::{Clock, Timestamp};
use crate::evidence::entry::StreamHead;
use crate::storage::going::withdrawing;
use crate::storage::loading::searching_kin;
use crate::storage::sql::{Dialect, body, head};
use crate::storage::subject::keeping;
use crate::storage::{
    Counts, Disposal, HoldSet, Kept, Loaded, Locking, Row, SpaceRow, SpaceWant, StorageError, Tenant, Transaction,
    Want, Writes,
};

/// A transaction with the heads that it has locked.
pub(super) struct PostgresTransaction {
    session: Session,
    /// Whether row security is on.
    fenced: bool,
    /// The tenant that was named last.
    entered: Option<TenantId>,
    clock: Option<Arc<dyn Clock>>,
    judge: Arc<Judge>,
    /// The present, once it was read.
    now: Option<Timestamp>,
}

impl PostgresTransaction {
    pub(super) fn new(session: Session, desk: &Desk, clock: Option<Arc<dyn Clock>>) -> Self {
        Self { session, fenced: desk.fenced, entered: None, clock, judge: Arc::clone(&desk.judge), now: None }
    }

    async fn enter(&mut self, tenant_id: Option<&TenantId>) -> Result<(), StorageError> {
        let Some(tenant_id) = tenant_id.filter(|_| self.fenced) else { return Ok(()) };
        if self.entered.as_ref() != Some(tenant_id) {
            self.session.enter(tenant_id.as_str()).await?;
            self.entered = Some(tenant_id.clone());
        }
        Ok(())
    }
}

#[async_trait]
impl Transaction for PostgresTransaction {
    async fn load(&mut self, wants: &[Want], locking: Locking) -> Result<Loaded, StorageError> {
        if locking == Locking::Wait {
            self.session.set(WAIT).await?;
        }
        self.enter(wants.first().map(|want| &want.tenant_id)).await?;
        let streams = lock::lock(&mut self.session, wants, locking).await?;
        if streams.iter().all(Option::is_none) {
            return Ok(Loaded { streams, ..Loaded::default() });
        }
        load::load(&mut self.session, wants, streams).await
    }

    async fn load_more(
        &mut self,
        principals: &[(TenantId, PrincipalId)],
        items: &[(TenantId, ItemId)],
    ) -> Result<Vec<(TenantId, Row)>, StorageError> {
        load::load_more(&mut self.session, principals, items).await
    }

    async fn kin(&mut self, tenant_id: &TenantId, keys: &[PersonKey]) -> Result<Vec<Principal>, StorageError> {
        let found = self.session.rows(query(searching_kin(tenant_id, keys, true))).await?;
        found.iter().map(|row| body(row, "principals")).collect()
    }

    async fn load_spaces(&mut self, wants: &[SpaceWant]) -> Result<Vec<(TenantId, SpaceId, SpaceRow)>, StorageError> {
        self.session.rows(spaces::query(wants)).await?.iter().map(spaces::row).collect()
    }

    async fn has_entry(&mut self, tenant_id: &TenantId, id: &ArtifactId) -> Result<bool, StorageError> {
        self.enter(Some(tenant_id)).await?;
        let sql = "-- postgres: has_entry
            SELECT 1 FROM log_entries WHERE tenant_id = $1 AND artifact_id = $2";
        let rows = self.session.rows(sqlx::query(sql).bind(tenant_id.as_str()).bind(id.as_str())).await?;
        // The caller may acknowledge the entry, and a former primary that also has it must not: reading the clock
        // checks the server.
        self.now().await?;
        Ok(!rows.is_empty())
    }

    async fn now(&mut self) -> Result<Timestamp, StorageError> {
        let now = clock::now(&mut self.session, self.clock.as_ref(), &self.judge).await?;
        self.now = Some(now);
        Ok(now)
    }

    async fn stream_head(
        &mut self,
        tenant_id: &TenantId,
        stream: &StreamKey,
    ) -> Result<Option<StreamHead>, StorageError> {
        self.enter(Some(tenant_id)).await?;
        let rows = self.session.rows(disposal::stream_head(tenant_id, stream)).await?;
        rows.first().map(head).transpose()
    }

    async fn write(&mut self, writes: &Writes) -> Result<(), StorageError> {
        let now = match self.now {
            Some(now) => now,
            None => self.now().await?,
        };
        let unnamed = writes.unnamed.iter().map(|(tenant_id, stream)| (tenant_id, stream));
        disposal::forget_names(&mut self.session, unnamed).await?;
        spaces::write(&mut self.session, writes).await?;
        write::write(&mut self.session, writes, now).await
    }

    async fn dispose(&mut self, tenant: &Tenant, disposal: &Disposal) -> Result<Counts, StorageError> {
        self.enter(Some(&tenant.tenant_id)).await?;
        disposal::dispose(&mut self.session, tenant, disposal).await
    }

    async fn keep(&mut self, tenant_id: &TenantId, kept: &Kept) -> Result<(), StorageError> {
        self.enter(Some(tenant_id)).await?;
        self.session.count(query(keeping(tenant_id, kept))).await.map(drop)
    }

    async fn forget_names(&mut self, tenant_id: &TenantId, streams: &[StreamKey]) -> Result<(), StorageError> {
        self.enter(Some(tenant_id)).await?;
        disposal::forget_names(&mut self.session, streams.iter().map(|stream| (tenant_id, stream))).await
    }

    async fn held(&mut self, tenant_id: &TenantId) -> Result<HoldSet, StorageError> {
        self.enter(Some(tenant_id)).await?;
        disposal::read_holds(&self.session.rows(disposal::holds(tenant_id)).await?)
    }

    async fn told_of(&mut self, tenant_id: &TenantId, ids: &[String]) -> Result<Vec<(StreamId, u64)>, StorageError> {
        self.enter(Some(tenant_id)).await?;
        let query = sqlx::query(spaces::TOLD_OF).bind(tenant_id.as_str()).bind(ids);
        self.session.rows(query).await?.iter().map(spaces::place).collect()
    }

    async fn withdraw(
        &mut self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        keys: &[Digest],
    ) -> Result<u64, StorageError> {
        self.enter(Some(tenant_id)).await?;
        self.session.count(query(withdrawing(Dialect::Postgres, tenant_id, space_id, keys))).await
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StorageError> {
        self.session.commit().await
    }
}
