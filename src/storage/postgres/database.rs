//! Statements outside of the write path, on connections that are tested before they are used.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::AssertSqlSafe;

use super::judge::Judge;
use super::session::{EVERYBODY, Query, Session};
use super::{PostgresStore, clock};
use crate::domain::id::TenantId;
use crate::domain::time::{Clock, Timestamp};
use crate::storage::StorageError;
use crate::storage::sql::{Array, Database, Dialect, Parameter, Row, SmallTransaction, Statement};

/// A statement as the driver takes it. Its text was put together of fixed texts; every value is bound.
pub(super) fn query(statement: Statement) -> Query<'static> {
    let rendered = statement.render(Dialect::Postgres);
    let query = sqlx::query(AssertSqlSafe(rendered.sql));
    rendered.parameters.into_iter().fold(query, |query, parameter| match parameter {
        Parameter::Text(text) => query.bind(text),
        Parameter::Number(number) => query.bind(number),
        Parameter::Bytes(bytes) => query.bind(bytes),
        Parameter::Bool(truth) => query.bind(truth),
        Parameter::Array(Array::Text(texts)) => query.bind(texts),
        Parameter::Array(Array::Number(numbers)) => query.bind(numbers),
        Parameter::Array(Array::Bytes(strings)) => query.bind(strings),
    })
}

fn name(tenant: Option<&TenantId>) -> &str {
    tenant.map_or(EVERYBODY, TenantId::as_str)
}

#[async_trait]
impl Database for PostgresStore {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    async fn rows(&self, tenant: Option<&TenantId>, statement: Statement) -> Result<Vec<Row>, StorageError> {
        let rows = self.rest.rows(name(tenant), query(statement)).await?;
        Ok(rows.into_iter().map(Row::Postgres).collect())
    }

    async fn change(&self, tenant: Option<&TenantId>, statement: Statement) -> Result<u64, StorageError> {
        self.rest.change(name(tenant), query(statement)).await
    }

    async fn small_transaction(&self) -> Result<Box<dyn SmallTransaction>, StorageError> {
        let session = self.rest.small_transaction().await?;
        Ok(Box::new(Small { session, clock: self.clock.clone(), judge: Arc::clone(&self.rest.judge) }))
    }
}

struct Small {
    session: Session,
    clock: Option<Arc<dyn Clock>>,
    judge: Arc<Judge>,
}

#[async_trait]
impl SmallTransaction for Small {
    async fn rows(&mut self, statement: Statement) -> Result<Vec<Row>, StorageError> {
        let rows = self.session.rows(query(statement)).await?;
        Ok(rows.into_iter().map(Row::Postgres).collect())
    }

    async fn change(&mut self, statement: Statement) -> Result<u64, StorageError> {
        self.session.count(query(statement)).await
    }

    async fn now(&mut self) -> Result<Timestamp, StorageError> {
        clock::now(&mut self.session, self.clock.as_ref(), &self.judge).await
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StorageError> {
        self.session.commit().await
    }
}
