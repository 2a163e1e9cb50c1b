//! Statements outside of the write path: reads on the readers' connections, changes on the writer's.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, SqliteConnection, Transaction};

use super::SqliteStore;
use super::rows::unavailable;
use crate::domain::id::TenantId;
use crate::domain::time::{Clock, Timestamp};
use crate::storage::StorageError;
use crate::storage::sql::{Database, Dialect, Parameter, Row, SmallTransaction, Statement};

/// A statement as the driver takes it. Its text was put together of fixed texts; every value is bound.
fn query(statement: Statement) -> Result<Query<'static, Sqlite, SqliteArguments>, StorageError> {
    let rendered = statement.render(Dialect::Sqlite);
    let mut query = sqlx::query(AssertSqlSafe(rendered.sql));
    for parameter in rendered.parameters {
        query = match parameter {
            Parameter::Text(text) => query.bind(text),
            Parameter::Number(number) => query.bind(number),
            Parameter::Bytes(bytes) => query.bind(bytes),
            Parameter::Bool(truth) => query.bind(truth),
            Parameter::Array(_) => return Err(StorageError::Schema("SQLite has no arrays".to_owned())),
        };
    }
    Ok(query)
}

/// The rows of a statement.
pub(super) async fn rows(
    connection: &mut SqliteConnection,
    statement: Statement,
) -> Result<Vec<SqliteRow>, StorageError> {
    query(statement)?.fetch_all(connection).await.map_err(unavailable)
}

/// The number of rows that a statement changed.
pub(super) async fn change(connection: &mut SqliteConnection, statement: Statement) -> Result<u64, StorageError> {
    query(statement)?.execute(connection).await.map(|done| done.rows_affected()).map_err(unavailable)
}

#[async_trait]
impl Database for SqliteStore {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    async fn rows(&self, _: Option<&TenantId>, statement: Statement) -> Result<Vec<Row>, StorageError> {
        let rows = query(statement)?.fetch_all(&self.readers).await.map_err(unavailable)?;
        Ok(rows.into_iter().map(Row::Sqlite).collect())
    }

    async fn change(&self, _: Option<&TenantId>, statement: Statement) -> Result<u64, StorageError> {
        let done = query(statement)?.execute(&self.writer).await.map_err(unavailable)?;
        Ok(done.rows_affected())
    }

    async fn small_transaction(&self) -> Result<Box<dyn SmallTransaction>, StorageError> {
        let inner = self.writer.begin_with("BEGIN IMMEDIATE").await.map_err(unavailable)?;
        Ok(Box::new(Small { inner, clock: Arc::clone(&self.clock) }))
    }
}

struct Small {
    inner: Transaction<'static, Sqlite>,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl SmallTransaction for Small {
    async fn rows(&mut self, statement: Statement) -> Result<Vec<Row>, StorageError> {
        Ok(rows(&mut self.inner, statement).await?.into_iter().map(Row::Sqlite).collect())
    }

    async fn change(&mut self, statement: Statement) -> Result<u64, StorageError> {
        change(&mut self.inner, statement).await
    }

    async fn now(&mut self) -> Result<Timestamp, StorageError> {
        Ok(self.clock.now())
    }

    async fn commit(self: Box<Self>) -> Result<(), StorageError> {
        self.inner.commit().await.map_err(unavailable)
    }
}
