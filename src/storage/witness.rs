//! What witnesses signed under the checkpoints of a log, and which checkpoint is given out to anybody.

use async_trait::async_trait;

use super::sql::{Column, Database, Row, Statement, Type, Value, first, size, text};
use super::tree::checkpoint;
use super::{StorageError, StoredCheckpoint};
use crate::domain::id::TenantId;

/// A witness's signature under a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCosignature {
    /// The size of the tree that the checkpoint is of.
    pub size: u64,
    /// The witness's key (vkey): it says what the line was verified with.
    pub witness: String,
    /// The signature line, without its line break.
    pub line: String,
}

/// What a database keeps of witnesses.
#[async_trait]
pub trait WitnessStore: Send + Sync {
    /// Keeps cosignatures, all or none. Where a witness has one under the same checkpoint, that one stays; says how many
    /// are new.
    async fn keep_cosignatures(
        &self,
        tenant_id: &TenantId,
        cosignatures: &[StoredCosignature],
    ) -> Result<u64, StorageError>;
    /// Cosignatures under checkpoints of sizes above `after` and up to `until`, by size and witness.
    async fn cosignatures(
        &self,
        tenant_id: &TenantId,
        after: u64,
        until: u64,
    ) -> Result<Vec<StoredCosignature>, StorageError>;
    /// From now on the checkpoint of this size is given out to anybody, unless a newer one is already.
    async fn publish_checkpoint(&self, tenant_id: &TenantId, size: u64) -> Result<(), StorageError>;
    /// The newest checkpoint that was given out to anybody.
    async fn published_checkpoint(&self, tenant_id: &TenantId) -> Result<Option<StoredCheckpoint>, StorageError>;
}

const KEEP: &str = "
    INSERT INTO log_cosignatures (tenant_id, size, witness, line)
    SELECT :tenant, w.size, w.witness, w.line FROM :cosignatures AS w WHERE true
    ON CONFLICT (tenant_id, size, witness) DO NOTHING";

const COSIGNATURE: [Column; 3] = [("size", Type::Number), ("witness", Type::Text), ("line", Type::Text)];

const KEPT: &str = "
    SELECT size, witness, line FROM log_cosignatures
    WHERE tenant_id = :tenant AND size > :after AND size <= :until ORDER BY size, witness";

const PUBLISH: &str = "UPDATE log_trees SET published = :size WHERE tenant_id = :tenant AND published < :size";

const PUBLISHED: &str = "
    SELECT c.size, c.at, c.note FROM log_trees AS t
        {join} log_checkpoints AS c ON c.tenant_id = t.tenant_id AND c.size = t.published
        WHERE t.tenant_id = :tenant";

fn cosignature(row: &Row) -> Result<StoredCosignature, StorageError> {
    Ok(StoredCosignature { size: size(row, "size")?, witness: text(row, "witness")?, line: text(row, "line")? })
}

#[async_trait]
impl<D: Database> WitnessStore for D {
    async fn keep_cosignatures(
        &self,
        tenant_id: &TenantId,
        cosignatures: &[StoredCosignature],
    ) -> Result<u64, StorageError> {
        let rows =
            cosignatures.iter().map(|one| [one.size.into(), one.witness.as_str().into(), one.line.as_str().into()]);
        let rows = Value::rows(&COSIGNATURE, rows);
        let keep = Statement::new("witness.keep", KEEP).bind("tenant", tenant_id.as_str()).bind("cosignatures", rows);
        self.change(Some(tenant_id), keep).await
    }

    async fn cosignatures(
        &self,
        tenant_id: &TenantId,
        after: u64,
        until: u64,
    ) -> Result<Vec<StoredCosignature>, StorageError> {
        let kept = Statement::new("witness.kept", KEPT).bind("tenant", tenant_id.as_str());
        let rows = self.rows(Some(tenant_id), kept.bind("after", after).bind("until", until)).await?;
        rows.iter().map(cosignature).collect()
    }

    async fn publish_checkpoint(&self, tenant_id: &TenantId, size: u64) -> Result<(), StorageError> {
        let publish = Statement::new("witness.publish", PUBLISH).bind("tenant", tenant_id.as_str());
        self.change(Some(tenant_id), publish.bind("size", size)).await.map(drop)
    }

    async fn published_checkpoint(&self, tenant_id: &TenantId) -> Result<Option<StoredCheckpoint>, StorageError> {
        let published = Statement::new("witness.published", PUBLISHED).bind("tenant", tenant_id.as_str());
        first(self, Some(tenant_id), published).await?.as_ref().map(checkpoint).transpose()
    }
}
