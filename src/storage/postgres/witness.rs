//! The rows of witnesses.

use async_trait::async_trait;
use sqlx::postgres::PgRow;

use super::PostgresStore;
use super::rows::text;
use super::tree::{checkpoint, size, stored};
use crate::domain::id::TenantId;
use crate::storage::{StorageError, StoredCheckpoint, StoredCosignature, WitnessStore};

const KEEP: &str = "-- postgres: witness.keep
    INSERT INTO log_cosignatures (tenant_id, size, witness, line)
    SELECT $1, * FROM unnest($2::int8[], $3::text[], $4::text[])
    ON CONFLICT (tenant_id, size, witness) DO NOTHING";

const KEPT: &str = "-- postgres: witness.kept
    SELECT size, witness, line FROM log_cosignatures WHERE tenant_id = $1 AND size > $2 AND size <= $3
        ORDER BY size, witness";

const PUBLISH: &str = "-- postgres: witness.publish
    UPDATE log_trees SET published = $2 WHERE tenant_id = $1 AND published < $2";

const PUBLISHED: &str = "-- postgres: witness.published
    SELECT c.size, c.at, c.note FROM log_trees AS t
        JOIN log_checkpoints AS c ON c.tenant_id = t.tenant_id AND c.size = t.published WHERE t.tenant_id = $1";

fn cosignature(row: &PgRow) -> Result<StoredCosignature, StorageError> {
    Ok(StoredCosignature { size: size(row, "size")?, witness: text(row, "witness")?, line: text(row, "line")? })
}

#[async_trait]
impl WitnessStore for PostgresStore {
    async fn keep_cosignatures(
        &self,
        tenant_id: &TenantId,
        cosignatures: &[StoredCosignature],
    ) -> Result<u64, StorageError> {
        let tenant = tenant_id.as_str();
        let sizes: Vec<i64> = cosignatures.iter().map(|one| stored(one.size)).collect();
        let witnesses: Vec<&str> = cosignatures.iter().map(|one| one.witness.as_str()).collect();
        let lines: Vec<&str> = cosignatures.iter().map(|one| one.line.as_str()).collect();
        let query = sqlx::query(KEEP).bind(tenant).bind(sizes).bind(witnesses).bind(lines);
        self.rest.change(tenant, query).await
    }

    async fn cosignatures(
        &self,
        tenant_id: &TenantId,
        after: u64,
        until: u64,
    ) -> Result<Vec<StoredCosignature>, StorageError> {
        let tenant = tenant_id.as_str();
        let query = sqlx::query(KEPT).bind(tenant).bind(stored(after)).bind(stored(until));
        self.rest.rows(tenant, query).await?.iter().map(cosignature).collect()
    }

    async fn publish_checkpoint(&self, tenant_id: &TenantId, size: u64) -> Result<(), StorageError> {
        let tenant = tenant_id.as_str();
        let query = sqlx::query(PUBLISH).bind(tenant).bind(stored(size));
        self.rest.change(tenant, query).await.map(drop)
    }

    async fn published_checkpoint(&self, tenant_id: &TenantId) -> Result<Option<StoredCheckpoint>, StorageError> {
        let tenant = tenant_id.as_str();
        let rows = self.rest.rows(tenant, sqlx::query(PUBLISHED).bind(tenant)).await?;
        rows.first().map(checkpoint).transpose()
    }
}
