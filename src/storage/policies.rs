//! Published policies, for every server on a database.

use async_trait::async_trait;

use super::sql::{Columns as _, Database, Dialect, Row, Statement, count, first, impossible, text, time};
use super::{PolicySet, PolicyVersion, StorageError};
use crate::domain::time::Timestamp;

/// Storage of the versions of published policies.
#[async_trait]
pub trait PolicyStore: Send + Sync {
    /// Publishes a set as the next version; without a set, the version returns to the built-in packs. Returns the
    /// version; concurrent calls get different ones.
    async fn publish_policies(
        &self,
        set: Option<&PolicySet>,
        note: Option<&str>,
        at: Timestamp,
    ) -> Result<u64, StorageError>;
    /// The newest version; 0 if nothing was ever published. Servers ask every second.
    async fn policies_version(&self) -> Result<u64, StorageError>;
    /// Up to `limit` versions before `before`, newest first.
    async fn policy_versions(&self, before: Option<u64>, limit: u32) -> Result<Vec<PolicyVersion>, StorageError>;
    /// The set of an existing version; none if that version returned to the built-in packs.
    async fn policy_set(&self, version: u64) -> Result<Option<PolicySet>, StorageError>;
}

const TABLE: &str = "policy_versions";

/// Makes a concurrent publisher wait and then take the next version. Servers that poll are not blocked. On SQLite the
/// transaction itself makes it wait.
const IN_TURN: &str = "LOCK TABLE policy_versions IN SHARE ROW EXCLUSIVE MODE";

const PUBLISH: &str = "
    INSERT INTO policy_versions (version, published_at, note, hash, packs, files)
    SELECT coalesce(max(version), 0) + 1, :at, :note, :hash, :packs, :files FROM policy_versions RETURNING version";

fn version(row: &Row) -> Result<PolicyVersion, StorageError> {
    Ok(PolicyVersion {
        version: count(row, "version")?,
        published_at: time(row, "published_at")?,
        note: row.get("note")?,
        hash: row.get("hash")?,
        packs: serde_json::from_str(row.get("packs")?).map_err(|_| impossible(TABLE, &"no list of packs"))?,
    })
}

#[async_trait]
impl<D: Database> PolicyStore for D {
    async fn publish_policies(
        &self,
        set: Option<&PolicySet>,
        note: Option<&str>,
        at: Timestamp,
    ) -> Result<u64, StorageError> {
        let (packs, files) = set.map(PolicySet::columns).transpose()?.unzip();
        let publish = Statement::new("policies.publish", PUBLISH)
            .bind("at", at)
            .bind("note", note)
            .bind("hash", set.map(|set| set.hash.as_str()))
            .bind("packs", packs.as_deref().unwrap_or("[]"))
            .bind("files", files.as_deref());
        let mut transaction = self.small_transaction().await?;
        if self.dialect() == Dialect::Postgres {
            transaction.change(Statement::new("policies.in_turn", IN_TURN)).await?;
        }
        let rows = transaction.rows(publish).await?;
        let version = count(rows.first().ok_or_else(|| impossible(TABLE, &"no new version"))?, "version")?;
        transaction.commit().await?;
        Ok(version)
    }

    async fn policies_version(&self) -> Result<u64, StorageError> {
        let sql = "SELECT coalesce(max(version), 0) AS version FROM policy_versions";
        let row = first(self, None, Statement::new("policies.newest", sql)).await?;
        row.map_or(Ok(0), |row| count(&row, "version"))
    }

    async fn policy_versions(&self, before: Option<u64>, limit: u32) -> Result<Vec<PolicyVersion>, StorageError> {
        let sql = "
            SELECT version, published_at, note, hash, packs FROM policy_versions
            WHERE version < :before ORDER BY version DESC LIMIT :limit";
        let page = Statement::new("policies.versions", sql).bind("before", before.unwrap_or(u64::MAX));
        self.rows(None, page.bind("limit", limit)).await?.iter().map(version).collect()
    }

    async fn policy_set(&self, version: u64) -> Result<Option<PolicySet>, StorageError> {
        let sql = "SELECT hash, packs, files FROM policy_versions WHERE version = :version";
        let row = first(self, None, Statement::new("policies.set", sql).bind("version", version)).await?;
        // Versions are never deleted. If a lost row were read as "no set", other packs would be in force.
        let row = row.ok_or_else(|| impossible(TABLE, &"a version is missing"))?;
        PolicySet::from_columns(row.get("hash")?, &text(&row, "packs")?, row.get("files")?)
    }
}
