//! Migrates the schema to this program's version if requested, and never back.

use std::collections::BTreeMap;

use sqlx::migrate::{Migrate as _, Migration, Migrator};
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::errors::failed;
use crate::storage::StorageError;
use crate::storage::sql::step_text;

/// The driver's table of applied migrations, which its own tools read as well.
const TABLE: &str = "_sqlx_migrations";

/// One process applies the migrations; the others wait and find them applied. The lock belongs to the transaction, so
/// that it works through a pooler; the driver's own lock belongs to a session. Migrations see every tenant's rows.
const BEGIN: &str = "-- postgres: schema.begin
    BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
    SELECT pg_advisory_xact_lock(7163383041), set_config('cscp.tenant', '*', true)";

const APPLIED: &str = "-- postgres: schema.applied
    SELECT version, checksum, success FROM _sqlx_migrations ORDER BY version";

const IS_THERE: &str = "-- postgres: schema.is_there
    SELECT to_regclass('_sqlx_migrations') IS NOT NULL AS steps, to_regclass('schema_floor') IS NOT NULL AS floor";

const FLOOR: &str = "-- postgres: schema.floor
    SELECT coalesce(max(version), 0) AS version FROM schema_floor";

const TAKEN: &str = "-- postgres: schema.taken
    INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
    VALUES ($1, $2, TRUE, $3, 0)";

/// Applies the missing migrations if `may` allows it. Unknown newer migrations are accepted, unless one of them removed
/// something that this program needs. If nothing is missing, nothing is locked.
pub(super) async fn bring_up_to_date(connection: &mut PgConnection, may: bool) -> Result<(), StorageError> {
    let known = sqlx::migrate!("migrations/postgres");
    if missing(connection, &known).await?.is_empty() {
        return Ok(());
    }
    if !may {
        let what = "migrations are missing: run `cscp migrate`, with a direct connection if there is a pooler";
        return Err(StorageError::Schema(what.to_owned()));
    }
    sqlx::raw_sql(BEGIN).execute(&mut *connection).await.map_err(failed)?;
    connection.ensure_migrations_table(TABLE).await.map_err(|error| StorageError::Schema(error.to_string()))?;
    for step in missing(connection, &known).await? {
        take(connection, &step).await?;
    }
    sqlx::raw_sql("COMMIT").execute(connection).await.map(drop).map_err(failed)
}

async fn take(connection: &mut PgConnection, step: &Migration) -> Result<(), StorageError> {
    let refused = |error: sqlx::Error| {
        let code = error.as_database_error().and_then(|error| error.code().map(std::borrow::Cow::into_owned));
        let why = code.map_or_else(|| failed(error).to_string(), |code| format!("PostgreSQL error {code}"));
        StorageError::Schema(format!("step {} ({}) failed: {why}", step.version, step.description))
    };
    // Only fixed texts were concatenated.
    sqlx::raw_sql(AssertSqlSafe(step_text(step.sql.as_str()))).execute(&mut *connection).await.map_err(refused)?;
    let query = sqlx::query(TAKEN).bind(step.version).bind(step.description.as_ref()).bind(step.checksum.as_ref());
    query.persistent(false).execute(connection).await.map(drop).map_err(refused)
}

/// The missing migrations; an error if this program cannot work with the schema.
async fn missing(connection: &mut PgConnection, known: &Migrator) -> Result<Vec<Migration>, StorageError> {
    let there = sqlx::raw_sql(IS_THERE).fetch_one(&mut *connection).await.map_err(failed)?;
    let newest = known.iter().map(|step| step.version).max().unwrap_or(0);
    if there.try_get("floor").map_err(failed)? {
        let row = sqlx::raw_sql(FLOOR).fetch_one(&mut *connection).await.map_err(failed)?;
        let floor: i64 = row.try_get("version").map_err(failed)?;
        if floor > newest {
            let what =
                format!("it needs a program that knows step {floor}; this one knows {newest}: install a newer cscp");
            return Err(StorageError::Schema(what));
        }
    }
    let mut applied: BTreeMap<i64, Vec<u8>> = BTreeMap::new();
    if there.try_get("steps").map_err(failed)? {
        for row in sqlx::raw_sql(APPLIED).fetch_all(connection).await.map_err(failed)? {
            let version: i64 = row.try_get("version").map_err(failed)?;
            if !row.try_get::<bool, _>("success").map_err(failed)? {
                return Err(StorageError::Schema(format!("migration {version} was started and not completed")));
            }
            applied.insert(version, row.try_get("checksum").map_err(failed)?);
        }
    }
    let mut missing = Vec::new();
    for step in known.iter() {
        match applied.get(&step.version) {
            Some(checksum) if checksum.as_slice() != step.checksum.as_ref() => {
                let what = format!("step {} is not the one that this program knows", step.version);
                return Err(StorageError::Schema(what));
            }
            Some(_) => {}
            None => missing.push(step.clone()),
        }
    }
    Ok(missing)
}
