//! Published policies.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::rows::{count, failed, impossible, text, time};
use super::session::{Desk, EVERYBODY};
use crate::domain::time::Timestamp;
use crate::storage::{PolicySet, PolicyVersion, StorageError};

const TABLE: &str = "policy_versions";

/// Makes a concurrent publisher wait and then take the next version. Servers that poll are not blocked.
const IN_TURN: &str = "-- postgres: policies.in_turn
    LOCK TABLE policy_versions IN SHARE ROW EXCLUSIVE MODE";

pub(super) async fn publish(
    desk: &Desk,
    set: Option<&PolicySet>,
    note: Option<&str>,
    at: Timestamp,
) -> Result<u64, StorageError> {
    let sql = "-- postgres: policies.publish
        INSERT INTO policy_versions (version, published_at, note, hash, packs, files)
        SELECT coalesce(max(version), 0) + 1, $1, $2, $3, $4, $5 FROM policy_versions RETURNING version";
    let columns = set.map(PolicySet::columns).transpose()?;
    let (packs, files) = columns.unzip();
    let query = sqlx::query(sql)
        .bind(at.as_micros())
        .bind(note)
        .bind(set.map(|set| set.hash.as_str()))
        .bind(packs.unwrap_or_else(|| "[]".to_owned()))
        .bind(files);
    let mut transaction = desk.small_transaction().await?;
    transaction.set(IN_TURN).await?;
    let version = count(&transaction.one(query).await?, "version")?;
    transaction.commit().await?;
    Ok(version)
}

pub(super) async fn newest(desk: &Desk) -> Result<u64, StorageError> {
    let sql = "-- postgres: policies.newest
        SELECT coalesce(max(version), 0) AS version FROM policy_versions";
    let rows = desk.rows(EVERYBODY, sqlx::query(sql)).await?;
    rows.first().map_or(Ok(0), |row| count(row, "version"))
}

pub(super) async fn versions(desk: &Desk, before: Option<u64>, limit: u32) -> Result<Vec<PolicyVersion>, StorageError> {
    let sql = "-- postgres: policies.versions
        SELECT version, published_at, note, hash, packs FROM policy_versions
        WHERE version < $1 ORDER BY version DESC LIMIT $2";
    let before = before.and_then(|version| i64::try_from(version).ok()).unwrap_or(i64::MAX);
    let query = sqlx::query(sql).bind(before).bind(i64::from(limit));
    desk.rows(EVERYBODY, query).await?.iter().map(version).collect()
}

fn version(row: &PgRow) -> Result<PolicyVersion, StorageError> {
    Ok(PolicyVersion {
        version: count(row, "version")?,
        published_at: time(row, "published_at")?,
        note: row.try_get("note").map_err(failed)?,
        hash: row.try_get("hash").map_err(failed)?,
        packs: serde_json::from_str(&text(row, "packs")?).map_err(|_| impossible(TABLE, &"no list of packs"))?,
    })
}

pub(super) async fn set(desk: &Desk, version: u64) -> Result<Option<PolicySet>, StorageError> {
    let sql = "-- postgres: policies.set
        SELECT hash, packs, files FROM policy_versions WHERE version = $1";
    let query = sqlx::query(sql).bind(i64::try_from(version).unwrap_or(i64::MAX));
    let rows = desk.rows(EVERYBODY, query).await?;
    // Versions are never deleted. If a lost row were read as "no set", other packs would be in force.
    let row = rows.first().ok_or_else(|| impossible(TABLE, &"a version is missing"))?;
    let column = |name: &str| row.try_get::<Option<String>, _>(name).map_err(failed);
    PolicySet::from_columns(column("hash")?, &text(row, "packs")?, column("files")?)
}
