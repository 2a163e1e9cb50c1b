//! The public log for monitors, mirrors and witnesses: the newest checkpoint and its tiles (C2SP tlog-tiles).
//!
//! Both show how many entries there are, and when they were added, but no content. They are public only if the operator
//! enables it.

use super::Transparency;
use crate::domain::id::TenantId;
use crate::evidence::entry::LogEntry;
use crate::evidence::tree::{TileKind, TilePath};
use crate::service::{Service, ServiceError};

/// The length of a record, which precedes each record in an entry bundle: a record is an entry's hash.
const RECORD_BYTES: [u8; 2] = 32_u16.to_be_bytes();

impl Transparency {
    /// Checks that a tenant's log is public.
    async fn readable(&self, tenant_id: &TenantId) -> Result<(), ServiceError> {
        let tenant = if self.published { self.store.tenant(tenant_id).await? } else { None };
        tenant.filter(|tenant| tenant.enabled).map(drop).ok_or(ServiceError::NotFound("log"))
    }
}

impl Service {
    /// The newest checkpoint of a public log, or the newest with enough cosignatures: a signed note.
    pub async fn published_checkpoint(&self, tenant_id: &TenantId) -> Result<String, ServiceError> {
        self.log.readable(tenant_id).await?;
        Ok(self.log.newest_published(tenant_id).await?.note)
    }

    /// A tile of a public log, or the records of its leaves. A wide tile serves narrower ones, because tiles only grow.
    pub async fn published_tile(&self, tenant_id: &TenantId, path: TilePath) -> Result<Vec<u8>, ServiceError> {
        self.log.readable(tenant_id).await?;
        let missing = ServiceError::NotFound("tile");
        let tiles = self.store.tiles(tenant_id, &[path.tile()]).await?;
        let tile = tiles.first().filter(|tile| tile.hashes().len() >= path.width).ok_or(missing)?;
        match path.kind {
            TileKind::Hashes(_) => {
                Ok(tile.hashes().iter().take(path.width).flat_map(|hash| *hash.as_bytes()).collect())
            }
            TileKind::Entries => self.records(tenant_id, path).await,
        }
    }

    async fn records(&self, tenant_id: &TenantId, path: TilePath) -> Result<Vec<u8>, ServiceError> {
        let width = u32::try_from(path.width).map_err(|_| ServiceError::Internal)?;
        let entries = self.store.logged(tenant_id, path.index.saturating_mul(256), width).await?;
        if entries.len() != path.width {
            tracing::error!("the tree has leaves whose entries are missing from the database");
            return Err(ServiceError::Internal);
        }
        let record = |(_, entry): &(u64, LogEntry)| [RECORD_BYTES.as_slice(), entry.entry_hash.as_bytes()].concat();
        Ok(entries.iter().flat_map(record).collect())
    }
}
