//! Row security: the database itself separates tenants, as a second barrier behind the statements.

use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::errors::failed;
use crate::storage::StorageError;

/// The tables with rows of tenants. The migrations define a policy for each; this module enables or disables them.
const TABLES: [&str; 26] = [
    "tenants",
    "api_keys",
    "streams",
    "conversations",
    "contexts",
    "items",
    "item_prompts",
    "commands",
    "command_attempts",
    "messages",
    "principals",
    "principal_aliases",
    "principal_roles",
    "frames",
    "claims",
    "space_records",
    "log_entries",
    "log_payloads",
    "log_outbox",
    "log_trees",
    "log_tiles",
    "log_leaves",
    "log_checkpoints",
    "log_cosignatures",
    "erasures",
    "legal_holds",
];

const FACTS: &str = "-- postgres: fence.facts
    SELECT (SELECT count(*) FROM pg_class AS c JOIN pg_policy AS p ON p.polrelid = c.oid
            WHERE c.relrowsecurity AND c.relforcerowsecurity AND p.polname = 'one_tenant'
            AND pg_table_is_visible(c.oid)) AS fenced,
           (SELECT r.rolsuper OR r.rolbypassrls FROM pg_roles AS r WHERE r.rolname = current_user) AS bypasses";

/// Enables the policies, also for the owner of the tables, or disables them.
pub(super) async fn set(connection: &mut PgConnection, on: bool) -> Result<(), StorageError> {
    let how = if on {
        " ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;"
    } else {
        " DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;"
    };
    let mut sql = "-- postgres: fence.set\nBEGIN;".to_owned();
    for table in TABLES {
        sql.push_str("ALTER TABLE ");
        sql.push_str(table);
        sql.push_str(how);
    }
    sql.push_str("COMMIT");
    // Only fixed texts were concatenated.
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.map(drop).map_err(failed)
}

/// Refuses to start if row security is requested and would not protect, or if it is enabled and not requested: such a
/// server would see an empty database.
pub(super) async fn check(connection: &mut PgConnection, wanted: bool) -> Result<(), StorageError> {
    let row = sqlx::raw_sql(FACTS).fetch_one(connection).await.map_err(failed)?;
    let fenced: i64 = row.try_get("fenced").map_err(failed)?;
    let bypasses: bool = row.try_get("bypasses").map_err(failed)?;
    let whole = usize::try_from(fenced) == Ok(TABLES.len());
    let why = match (wanted, fenced > 0) {
        (true, _) if !whole => "row security is not in force on every table: run `cscp migrate --row-security on`",
        (true, _) if bypasses => {
            "row security does not hold for a superuser or a role with BYPASSRLS: connect as a plain role"
        }
        (false, true) if !bypasses => {
            "row security is in force: start with --postgres-row-security, or run `cscp migrate --row-security off`"
        }
        _ => return Ok(()),
    };
    Err(StorageError::Unavailable(why.to_owned()))
}
