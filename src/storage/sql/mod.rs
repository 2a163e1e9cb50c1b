//! Statements that both databases understand: one text, its values by name, and rows that are read alike.
//!
//! Where the databases really differ, both forms stand side by side, in braces or by [`Dialect::choose`]. The write path (`load`, `lock`, `write`, `spaces`) has its own statements in each adapter, because its speed depends on
//! how each database works.

mod assembly;
mod columns;
mod database;
mod json;
mod render;
mod value;

pub(in crate::storage) use assembly::With;
pub(in crate::storage) use columns::{
    Columns, Row, api_key, body, count, digest, entry, head, impossible, number, optional_time, size, stream_key,
    tenant, tenant_id, text, time,
};
pub(in crate::storage) use database::{Database, SmallTransaction, first};
pub(in crate::storage) use json::{jsonb, step_text};
pub(in crate::storage) use render::{Dialect, Parameter};
pub(in crate::storage) use value::{Array, Column, Rows, Scalar, Type, Value};

use std::borrow::Cow;

use crate::domain::id::TenantId;
use crate::domain::query::{MAX_PAGE, Page, Position};
use crate::storage::StorageError;

/// A statement with its values.
///
/// Its text names values as `:name`. A list stands for a query of its elements (`id IN (:ids)`), a set of rows for a
/// query of its columns (`FROM :wanted AS w`). What stands in braces is written for each database: `{join}` joins in the
/// written order, where SQLite would otherwise choose the order by itself; `{hex column}` is the bytes of a column in
/// lower-case hexadecimal; `{this|that}` is `this` on SQLite and `that` on PostgreSQL.
#[derive(Debug, Clone)]
pub(in crate::storage) struct Statement {
    /// Its name for people who look at the database's list of running statements.
    name: &'static str,
    text: Cow<'static, str>,
    values: Vec<(&'static str, Value)>,
}

impl Statement {
    pub(in crate::storage) fn new(name: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        Self { name, text: text.into(), values: Vec::new() }
    }

    /// Binds a value to its name in the text.
    pub(in crate::storage) fn bind(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.values.push((name, value.into()));
        self
    }

    /// Inserts one row, unless one of its unique names is taken.
    pub(in crate::storage) fn insert<const N: usize>(
        name: &'static str,
        table: &str,
        columns: [(&'static str, Scalar); N],
    ) -> Self {
        let names = columns.each_ref().map(|(name, _)| *name);
        let places = names.map(|name| format!(":{name}"));
        let (names, places) = (names.join(", "), places.join(", "));
        let text = format!("INSERT INTO {table} ({names}) VALUES ({places}) ON CONFLICT DO NOTHING");
        let values = columns.map(|(name, scalar)| (name, Value::One(scalar))).into();
        Self { name, text: text.into(), values }
    }

    /// Adds fixed text at the end.
    pub(in crate::storage) fn push(&mut self, text: &str) {
        self.text.to_mut().push_str(text);
    }

    /// Adds a condition, and the value that it names, if there is a value.
    pub(in crate::storage) fn when(&mut self, condition: &str, name: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.push(condition);
            self.values.push((name, value.into()));
        }
    }
}

/// One page of a list: fetches one row more than asked for, to know whether there is a next page.
pub(in crate::storage) async fn page<T>(
    database: &impl Database,
    tenant_id: &TenantId,
    mut statement: Statement,
    limit: u32,
    read: impl Fn(&Row) -> Result<T, StorageError>,
    position: impl Fn(&T) -> Position,
) -> Result<Page<T>, StorageError> {
    let limit = limit.clamp(1, MAX_PAGE);
    statement.when(" LIMIT :limit", "limit", Some(limit + 1));
    let mut rows = database.rows(Some(tenant_id), statement).await?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > limit;
    rows.truncate(limit);
    let items = rows.iter().map(read).collect::<Result<Vec<T>, _>>()?;
    let next = items.last().filter(|_| more).map(position);
    Ok(Page { items, next })
}
