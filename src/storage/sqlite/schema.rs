//! Migrates the schema to this program's version. A newer schema is left as it is.

use sqlx::SqlitePool;

use super::rows::unavailable;
use crate::storage::StorageError;

/// Applies the missing migrations. Unknown newer migrations are accepted, unless one of them removed something that
/// this program needs.
pub(super) async fn bring_up_to_date(pool: &SqlitePool) -> Result<(), StorageError> {
    let mut steps = sqlx::migrate!("migrations/sqlite");
    refuse_if_outgrown(pool, steps.iter().map(|step| step.version).max().unwrap_or(0)).await?;
    steps.set_ignore_missing(true);
    steps.run(pool).await.map_err(|error| StorageError::Schema(error.to_string()))
}

async fn refuse_if_outgrown(pool: &SqlitePool, newest: i64) -> Result<(), StorageError> {
    let there = "-- sqlite: schema.there\nSELECT count(*) FROM sqlite_schema WHERE name = 'schema_floor'";
    let there: i64 = sqlx::query_scalar(there).fetch_one(pool).await.map_err(unavailable)?;
    if there == 0 {
        return Ok(());
    }
    let floor = "-- sqlite: schema.floor\nSELECT coalesce(max(version), 0) FROM schema_floor";
    let floor: i64 = sqlx::query_scalar(floor).fetch_one(pool).await.map_err(unavailable)?;
    if floor > newest {
        let what = format!("it needs a program that knows step {floor}; this one knows {newest}: install a newer cscp");
        return Err(StorageError::Schema(what));
    }
    Ok(())
}
