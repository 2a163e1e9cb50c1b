//! Published policies.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};

use super::rows::{count, impossible, text, time, unavailable};
use crate::domain::time::Timestamp;
use crate::storage::{PolicySet, PolicyVersion, StorageError};

const TABLE: &str = "policy_versions";

/// One statement, so that a concurrent publisher waits and gets the next version.
pub(super) async fn publish(
    pool: &SqlitePool,
    set: Option<&PolicySet>,
    note: Option<&str>,
    at: Timestamp,
) -> Result<u64, StorageError> {
    let sql = "-- sqlite: policies.publish
        INSERT INTO policy_versions (version, published_at, note, hash, packs, files)
        SELECT coalesce(max(version), 0) + 1, ?, ?, ?, ?, ? FROM policy_versions RETURNING version";
    let columns = set.map(PolicySet::columns).transpose()?;
    let (packs, files) = columns.unzip();
    let query = sqlx::query(sql)
        .bind(at.as_micros())
        .bind(note)
        .bind(set.map(|set| set.hash.as_str()))
        .bind(packs.unwrap_or_else(|| "[]".to_owned()))
        .bind(files);
    count(&query.fetch_one(pool).await.map_err(unavailable)?, "version")
}

pub(super) async fn newest(pool: &SqlitePool) -> Result<u64, StorageError> {
    let sql = "-- sqlite: policies.newest
        SELECT coalesce(max(version), 0) AS version FROM policy_versions";
    count(&sqlx::query(sql).fetch_one(pool).await.map_err(unavailable)?, "version")
}

pub(super) async fn versions(
    pool: &SqlitePool,
    before: Option<u64>,
    limit: u32,
) -> Result<Vec<PolicyVersion>, StorageError> {
    let sql = "-- sqlite: policies.versions
        SELECT version, published_at, note, hash, packs FROM policy_versions
        WHERE version < ? ORDER BY version DESC LIMIT ?";
    let before = before.and_then(|version| i64::try_from(version).ok()).unwrap_or(i64::MAX);
    let query = sqlx::query(sql).bind(before).bind(i64::from(limit));
    query.fetch_all(pool).await.map_err(unavailable)?.iter().map(version).collect()
}

fn version(row: &SqliteRow) -> Result<PolicyVersion, StorageError> {
    Ok(PolicyVersion {
        version: count(row, "version")?,
        published_at: time(row, "published_at")?,
        note: row.try_get("note").map_err(unavailable)?,
        hash: row.try_get("hash").map_err(unavailable)?,
        packs: serde_json::from_str(&text(row, "packs")?).map_err(|_| impossible(TABLE, &"no list of packs"))?,
    })
}

pub(super) async fn set(pool: &SqlitePool, version: u64) -> Result<Option<PolicySet>, StorageError> {
    let sql = "-- sqlite: policies.set
        SELECT hash, packs, files FROM policy_versions WHERE version = ?";
    let query = sqlx::query(sql).bind(i64::try_from(version).unwrap_or(i64::MAX));
    let row = query.fetch_optional(pool).await.map_err(unavailable)?;
    // Versions are never deleted. If a lost row were read as "no set", other packs would be in force.
    let row = row.ok_or_else(|| impossible(TABLE, &"a version is missing"))?;
    let column = |name: &str| row.try_get::<Option<String>, _>(name).map_err(unavailable);
    PolicySet::from_columns(column("hash")?, &text(&row, "packs")?, column("files")?)
}
