//! The log as monitors, mirrors and witnesses read it: the newest checkpoint, and the tiles under it (C2SP tlog-tiles).
//!
//! Both tell how many entries there are, and when; of what is in them they tell nothing. They are published only where
//! that was asked for.

use super::Transparency;
use crate::domain::id::TenantId;
use crate::evidence::entry::LogEntry;
use crate::evidence::tree::{TileKind, TilePath};
use crate::service::{Service, ServiceError};

/// How long a record is, in bytes, before each one in an entry bundle: a record is an entry's hash.
const RECORD_BYTES: [u8; 2] = 32_u16.to_be_bytes();

impl Transparency {
    /// A tenant whose log anybody may read.
    async fn readable(&self, tenant_id: &TenantId) -> Result<(), ServiceError> {
        let tenant = if self.published { self.store.tenant(tenant_id).await? } else { None };
        tenant.filter(|tenant| tenant.enabled).map(drop).ok_or(ServiceError::NotFound("log"))
    }
}

impl Service {
    /// The newest checkpoint of a published log, or the newest that enough witnesses have cosigned: a signed note.
    pub async fn published_checkpoint(&self, tenant_id: &TenantId) -> Result<String, ServiceError> {
        self.log.readable(tenant_id).await?;
        Ok(self.log.newest_published(tenant_id).await?.note)
    }

    /// A tile of a published log, or the records of its leaves. A wide tile serves narrower ones, because tiles only grow.
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
            tracing::error!("the tree has leaves whose entries are gone");
            return Err(ServiceError::Internal);
        }
        let record = |(_, entry): &(u64, LogEntry)| [RECORD_BYTES.as_slice(), entry.entry_hash.as_bytes()].concat();
        Ok(entries.iter().flat_map(record).collect())
    }
}
