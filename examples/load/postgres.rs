//! How much a PostgreSQL database and its write-ahead log have grown.

use sqlx::{Connection, PgConnection};

/// Needs no rights beyond connecting. The log is the whole server's: whatever else writes there is counted, too.
const SIZES: &str = "-- postgres: load.sizes
    SELECT pg_database_size(current_database()), pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint";

/// The size of the database, and how far its log has been written since it was created, in bytes.
pub(crate) async fn sizes(url: &str) -> Result<[u64; 2], String> {
    let mut connection = PgConnection::connect(url).await.map_err(why)?;
    let (database, log): (i64, i64) = sqlx::query_as(SIZES).fetch_one(&mut connection).await.map_err(why)?;
    connection.close().await.map_err(why)?;
    Ok([database, log].map(|bytes| u64::try_from(bytes).unwrap_or(0)))
}

/// Never repeats the address: it may hold a password.
fn why(error: sqlx::Error) -> String {
    let what = match error {
        sqlx::Error::Configuration(_) => "its address cannot be read".to_owned(),
        sqlx::Error::Io(error) => error.kind().to_string(),
        sqlx::Error::Database(error) => {
            format!("it refuses: {}", error.code().unwrap_or_else(|| "no code".into()))
        }
        _ => "no answer that is understood".to_owned(),
    };
    format!("PostgreSQL cannot be asked for its size: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_is_not_repeated() {
        for url in ["postgres://user:secret@127.0.0.1:1/db", "secret", "postgres://user:secret@[/"] {
            let error = sizes(url).await.unwrap_err();
            assert!(!error.contains("secret") && error.starts_with("PostgreSQL"), "{error}");
        }
    }
}
