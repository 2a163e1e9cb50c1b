//! Changing rows behind the server's back, whichever database it is: what there is to change is asked of its catalogue, and
//! each change is taken back.

use std::fmt::Write as _;

use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _, SqliteConnection};

use crate::place::{Place, file};

/// A column as the catalogue has it.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// In upper case, as the database calls it.
    pub(crate) kind: String,
    pub(crate) nullable: bool,
    pub(crate) in_key: bool,
    /// Computed by the database from others: nobody can write it.
    pub(crate) computed: bool,
}

/// A table.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
}

impl Table {
    pub(crate) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|known| known.name == column)
    }

    /// The names of the columns that can be written.
    fn written(&self) -> String {
        let names = self.columns.iter().filter(|column| !column.computed).map(|column| column.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    /// The condition that is true of one row.
    pub(crate) fn is(&self, row: &Cells) -> String {
        let keys = self.columns.iter().zip(row).filter(|(column, _)| column.in_key);
        keys.map(|(column, (_, literal))| format!("{} = {literal}", column.name)).collect::<Vec<_>>().join(" AND ")
    }
}

/// A row, cell by cell: as text, if it is any, and as it is written in a statement.
pub(crate) type Cells = Vec<(Option<String>, String)>;

/// A connection of a foreign hand.
pub(crate) enum Editor {
    File(SqliteConnection),
    Server(PgConnection),
}

impl Editor {
    pub(crate) async fn new(place: &Place) -> Self {
        match place {
            Place::File(folder) => {
                let url = format!("sqlite://{}", file(folder).display());
                let mut connection = SqliteConnection::connect(&url).await.unwrap();
                sqlx::query("PRAGMA synchronous = OFF").execute(&mut connection).await.unwrap();
                Self::File(connection)
            }
            Place::Server(url) => Self::Server(PgConnection::connect(url).await.unwrap()),
        }
    }

    /// Runs statements in one transaction; how many rows the last one changed, or none if the schema forbids it.
    pub(crate) async fn run(&mut self, statements: &[String]) -> Option<u64> {
        match self {
            Self::File(connection) => {
                let mut transaction = connection.begin().await.unwrap();
                let mut changed = 0;
                for sql in statements {
                    changed = sqlx::query(AssertSqlSafe(&**sql)).execute(&mut *transaction).await.ok()?.rows_affected();
                }
                transaction.commit().await.ok().map(|()| changed)
            }
            Self::Server(connection) => {
                let mut transaction = connection.begin().await.unwrap();
                let mut changed = 0;
                for sql in statements {
                    changed = sqlx::query(AssertSqlSafe(&**sql)).execute(&mut *transaction).await.ok()?.rows_affected();
                }
                transaction.commit().await.ok().map(|()| changed)
            }
        }
    }

    /// Rows of texts.
    async fn texts(&mut self, sql: &str) -> Vec<Vec<Option<String>>> {
        match self {
            Self::File(connection) => {
                let read = |row: &SqliteRow| (0..row.len()).map(|at| row.get(at)).collect();
                let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(connection).await.unwrap();
                rows.iter().map(read).collect()
            }
            Self::Server(connection) => {
                let read = |row: &PgRow| (0..row.len()).map(|at| row.get(at)).collect();
                let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(connection).await.unwrap();
                rows.iter().map(read).collect()
            }
        }
    }

    /// Every table that there is.
    pub(crate) async fn tables(&mut self) -> Vec<Table> {
        let sql = match self {
            Self::File(_) => {
                "SELECT m.name, p.name, upper(p.type), CAST(p.\"notnull\" = 0 AND p.pk = 0 AS TEXT),
                     CAST(p.pk > 0 AS TEXT), CAST(p.hidden > 0 AS TEXT)
                 FROM sqlite_master AS m JOIN pragma_table_xinfo(m.name) AS p
                 WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND m.name NOT LIKE '\\_%' ESCAPE '\\'
                 ORDER BY m.name, p.cid"
            }
            Self::Server(_) => {
                "SELECT c.table_name::text, c.column_name::text, upper(c.data_type)::text,
                     (c.is_nullable = 'YES')::int::text, (k.column_name IS NOT NULL)::int::text,
                     (c.is_generated = 'ALWAYS')::int::text
                 FROM information_schema.columns AS c
                 LEFT JOIN information_schema.table_constraints AS t ON t.table_schema = 'public'
                     AND t.table_name = c.table_name AND t.constraint_type = 'PRIMARY KEY'
                 LEFT JOIN information_schema.key_column_usage AS k ON k.table_schema = 'public'
                     AND k.constraint_name = t.constraint_name AND k.column_name = c.column_name
                 WHERE c.table_schema = 'public' AND c.table_name NOT LIKE '\\_%'
                 ORDER BY c.table_name, c.ordinal_position"
            }
        };
        let mut tables: Vec<Table> = Vec::new();
        for row in self.texts(sql).await {
            let cell = |at: usize| row[at].clone().unwrap();
            let is = |at: usize| cell(at) == "1";
            let column = Column { name: cell(1), kind: cell(2), nullable: is(3), in_key: is(4), computed: is(5) };
            match tables.last_mut().filter(|table| table.name == cell(0)) {
                Some(table) => table.columns.push(column),
                None => tables.push(Table { name: cell(0), columns: vec![column] }),
            }
        }
        tables
    }

    /// Keeps a table as it is, to be put back.
    pub(crate) async fn keep(&mut self, table: &Table) {
        let columns = table.written();
        let kept = format!("CREATE TABLE _kept_{} AS SELECT {columns} FROM {}", table.name, table.name);
        assert!(self.run(&[kept]).await.is_some(), "{}", table.name);
    }

    /// Puts a table back.
    pub(crate) async fn restore(&mut self, table: &Table) {
        let (name, columns) = (&table.name, table.written());
        let back = [
            format!("DELETE FROM {name}"),
            format!("INSERT INTO {name} ({columns}) SELECT {columns} FROM _kept_{name}"),
        ];
        assert!(self.run(&back).await.is_some(), "{name}");
    }

    /// Rows of a tenant, or of nobody, in the order of their keys.
    pub(crate) async fn rows(&mut self, table: &Table, tenant: &str) -> Vec<Cells> {
        let mut sql = "SELECT ".to_owned();
        for column in &table.columns {
            let name = &column.name;
            let (text, literal) = match self {
                Self::File(_) => (
                    format!("CASE typeof({name}) WHEN 'blob' THEN NULL ELSE CAST({name} AS TEXT) END"),
                    format!("quote({name})"),
                ),
                Self::Server(_) => {
                    let kind = &column.kind;
                    let text = if kind == "BYTEA" { "NULL::text".to_owned() } else { format!("{name}::text") };
                    (text, format!("coalesce(quote_literal({name}::text), 'NULL') || '::{kind}'"))
                }
            };
            write!(sql, "{text}, {literal}, ").unwrap();
        }
        sql.truncate(sql.len() - 2);
        write!(sql, " FROM {}", table.name).unwrap();
        if table.has("tenant_id") {
            write!(sql, " WHERE tenant_id = '{tenant}'").unwrap();
        }
        let keys = table.columns.iter().filter(|column| column.in_key).map(|column| column.name.as_str());
        let keys = keys.collect::<Vec<_>>().join(", ");
        if !keys.is_empty() {
            write!(sql, " ORDER BY {keys}").unwrap();
        }
        let rows = self.texts(&sql).await;
        let pair = |pair: &[Option<String>]| (pair[0].clone(), pair[1].clone().unwrap());
        rows.into_iter().map(|row| row.chunks(2).map(pair).collect()).collect()
    }

    /// What a cell may be changed to, so that it is of the same kind.
    pub(crate) fn other(&self, column: &Column) -> String {
        let name = &column.name;
        match (self, column.kind.as_str()) {
            (_, "INTEGER" | "BIGINT") => format!("{name} + 1"),
            (_, "BOOLEAN") => format!("NOT {name}"),
            (Self::File(_), "BLOB") => format!("zeroblob(length({name}))"),
            (Self::Server(_), "BYTEA") => format!("decode(repeat('00', length({name})), 'hex')"),
            _ => format!("{name} || 'x'"),
        }
    }
}

/// A text as it is written in a statement.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
