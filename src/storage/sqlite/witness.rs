//! The rows of witnesses.

use async_trait::async_trait;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::rows::{Rows, text, unavailable};
use super::tree::{checkpoint, size, stored};
use crate::domain::id::TenantId;
use crate::storage::{StorageError, StoredCheckpoint, StoredCosignature, WitnessStore};

const KEEP: &str = "-- sqlite: witness.keep
    INSERT INTO log_cosignatures (tenant_id, size, witness, line)
    SELECT ?1, value->>0, value->>1, value->>2 FROM json_each(?2) WHERE true
    ON CONFLICT (tenant_id, size, witness) DO NOTHING";

const KEPT: &str = "-- sqlite: witness.kept
    SELECT size, witness, line FROM log_cosignatures WHERE tenant_id = ? AND size > ? AND size <= ?
        ORDER BY size, witness";

const PUBLISH: &str = "-- sqlite: witness.publish
    UPDATE log_trees SET published = ?2 WHERE tenant_id = ?1 AND published < ?2";

const PUBLISHED: &str = "-- sqlite: witness.published
    SELECT c.size, c.at, c.note FROM log_trees AS t
        CROSS JOIN log_checkpoints AS c ON c.tenant_id = t.tenant_id AND c.size = t.published WHERE t.tenant_id = ?";

fn cosignature(row: &SqliteRow) -> Result<StoredCosignature, StorageError> {
    Ok(StoredCosignature { size: size(row, "size")?, witness: text(row, "witness")?, line: text(row, "line")? })
}

#[async_trait]
impl WitnessStore for SqliteStore {
    async fn keep_cosignatures(
        &self,
        tenant_id: &TenantId,
        cosignatures: &[StoredCosignature],
    ) -> Result<u64, StorageError> {
        let mut rows = Rows::default();
        for one in cosignatures {
            rows.add(&(one.size, &one.witness, &one.line));
        }
        let query = sqlx::query(KEEP).bind(tenant_id.as_str()).bind(rows.into_array());
        Ok(query.execute(&self.writer).await.map_err(unavailable)?.rows_affected())
    }

    async fn cosignatures(
        &self,
        tenant_id: &TenantId,
        after: u64,
        until: u64,
    ) -> Result<Vec<StoredCosignature>, StorageError> {
        let query = sqlx::query(KEPT).bind(tenant_id.as_str()).bind(stored(after)).bind(stored(until));
        query.fetch_all(&self.readers).await.map_err(unavailable)?.iter().map(cosignature).collect()
    }

    async fn publish_checkpoint(&self, tenant_id: &TenantId, size: u64) -> Result<(), StorageError> {
        let query = sqlx::query(PUBLISH).bind(tenant_id.as_str()).bind(stored(size));
        query.execute(&self.writer).await.map(drop).map_err(unavailable)
    }

    async fn published_checkpoint(&self, tenant_id: &TenantId) -> Result<Option<StoredCheckpoint>, StorageError> {
        let query = sqlx::query(PUBLISHED).bind(tenant_id.as_str());
        let row = query.fetch_optional(&self.readers).await.map_err(unavailable)?;
        row.as_ref().map(checkpoint).transpose()
    }
}
