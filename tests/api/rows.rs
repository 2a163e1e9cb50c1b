//! All that a database holds, for tests that look for what must not be there.

use crate::place::{Place, file};

/// Every row of every table, as text; what is no text is written in hexadecimal digits.
pub(crate) async fn rows(place: &Place) -> Vec<String> {
    match place {
        Place::File(folder) => {
            let address = format!("sqlite://{}?mode=ro", file(folder).display());
            let pool = sqlx::SqlitePool::connect(&address).await.unwrap();
            let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
            let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&pool).await.unwrap();
            let mut rows = Vec::new();
            for table in tables {
                let columns = format!(
                    "SELECT group_concat('quote(\"' || name || '\")', ' || char(10) || ') FROM pragma_table_info('{table}')"
                );
                let columns: String = sqlx::query_scalar(sqlx::AssertSqlSafe(columns)).fetch_one(&pool).await.unwrap();
                let all = format!("SELECT '{table}: ' || {columns} FROM \"{table}\"");
                let all: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(all)).fetch_all(&pool).await.unwrap();
                rows.extend(all);
            }
            pool.close().await;
            rows
        }
        Place::Server(url) => {
            let pool = sqlx::PgPool::connect(url).await.unwrap();
            let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'";
            let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&pool).await.unwrap();
            let mut rows = Vec::new();
            for table in tables {
                let all = format!("SELECT '{table}: ' || t::text FROM \"{table}\" AS t");
                let all: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(all)).fetch_all(&pool).await.unwrap();
                rows.extend(all);
            }
            pool.close().await;
            rows
        }
    }
}
