//! What is unique, and what keeps it so: the table in `docs/ARCHITECTURE.md` against the schema of both databases.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _, SqliteConnection};

use crate::harness::ManualClock;
use crate::place::{Place, file, settings};
use crate::postgres::database;

/// The driver's own table of steps that were taken.
const DRIVERS: &str = "_sqlx_migrations";
const HEADING: &str = "## What is unique, and what keeps it so";

/// A table and the columns of one of its unique keys, with a word for a key that is not about every row.
type Key = (String, String);

fn key(table: &str, columns: &[String], partial: bool) -> Key {
    // Every key of a tenant's rows begins with the tenant.
    let own = if columns.len() > 1 && columns[0] == "tenant_id" { &columns[1..] } else { columns };
    let some = if partial { " (of some rows)" } else { "" };
    (table.to_owned(), format!("{}{some}", own.join(", ")))
}

async fn of_sqlite() -> BTreeSet<Key> {
    let place = Place::File(tempfile::tempdir().unwrap());
    drop(place.open(ManualClock::new(), 1).await);
    let Place::File(folder) = &place else { panic!("no file") };
    let mut sql = SqliteConnection::connect(&format!("sqlite:{}", file(folder).display())).await.unwrap();
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> ?";
    let tables: Vec<String> = sqlx::query_scalar(tables).bind(DRIVERS).fetch_all(&mut sql).await.unwrap();
    let mut keys = BTreeSet::new();
    for table in tables {
        // A key of one integer is the row's own number and has no index.
        let of_rows = format!("SELECT name FROM pragma_table_info('{table}') WHERE pk > 0 ORDER BY pk");
        let of_rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(of_rows)).fetch_all(&mut sql).await.unwrap();
        assert!(!of_rows.is_empty(), "{table} has no primary key");
        keys.insert(key(&table, &of_rows, false));
        let indexes = format!("SELECT name, partial FROM pragma_index_list('{table}') WHERE \"unique\" = 1");
        for index in sqlx::query(AssertSqlSafe(indexes)).fetch_all(&mut sql).await.unwrap() {
            let (name, partial): (String, i64) = (index.get(0), index.get(1));
            let columns = format!("SELECT name FROM pragma_index_info('{name}') ORDER BY seqno");
            let columns: Vec<String> = sqlx::query_scalar(AssertSqlSafe(columns)).fetch_all(&mut sql).await.unwrap();
            keys.insert(key(&table, &columns, partial == 1));
        }
    }
    keys
}

async fn of_postgres() -> Option<BTreeSet<Key>> {
    let url = database().await?;
    cscp::storage::postgres::PostgresStore::bring_up_to_date(&settings(&url)).await.unwrap();
    let mut sql = PgConnection::connect(&url).await.unwrap();
    let indexes = "SELECT t.relname::text, i.indpred IS NOT NULL,
            ARRAY(SELECT a.attname::text FROM unnest(i.indkey) WITH ORDINALITY AS k (number, place)
                JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number ORDER BY k.place)
        FROM pg_index AS i JOIN pg_class AS t ON t.oid = i.indrelid
        WHERE i.indisunique AND t.relnamespace = 'public'::regnamespace AND t.relname <> $1";
    let rows = sqlx::query(indexes).bind(DRIVERS).fetch_all(&mut sql).await.unwrap();
    Some(rows.iter().map(|row| key(&row.get::<String, _>(0), &row.get::<Vec<String>, _>(2), row.get(1))).collect())
}

/// The rows of the table in the document: key, and what keeps it unique.
fn documented() -> BTreeMap<Key, String> {
    let text = include_str!("../../docs/ARCHITECTURE.md");
    let (_, section) = text.split_once(HEADING).unwrap();
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let mut documented = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 3, "{row}");
        let key = (cells[0].trim_matches('`').to_owned(), cells[1].replace('`', ""));
        assert_eq!(documented.insert(key, cells[2].to_owned()), None, "twice: {row}");
    }
    documented
}

/// The words in backticks of a cell.
fn named(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// What is said to keep a key unique is there: the generator, or the race that is run for it.
fn keeper_exists(kept: &str) -> bool {
    let races = include_str!("claims.rs");
    let generators = include_str!("../../src/domain/id.rs");
    let is_race = |name: &str| races.contains(&format!("async fn {name}("));
    let makes =
        |name: &str| name.strip_prefix("Ids::").is_some_and(|name| generators.contains(&format!("pub fn {name}(")));
    match kept.split(':').next() {
        Some("lock" | "control plane") => kept.len() > 20,
        Some("random") => named(kept).any(makes),
        Some("claimed") => named(kept).any(is_race),
        _ => false,
    }
}

#[tokio::test]
async fn every_unique_key_is_in_the_document_with_what_keeps_it() {
    let documented = documented();
    let there = of_sqlite().await;
    if let Some(postgres) = of_postgres().await {
        assert_eq!(there, postgres, "the databases differ");
    }
    let told: BTreeSet<Key> = documented.keys().cloned().collect();
    let untold: Vec<&Key> = there.difference(&told).collect();
    let gone: Vec<&Key> = told.difference(&there).collect();
    assert!(untold.is_empty() && gone.is_empty(), "not in the document: {untold:#?}\nnot in the schema: {gone:#?}");
    for (key, kept) in documented {
        assert!(keeper_exists(&kept), "{key:?}: {kept}");
    }
}

#[test]
fn a_keeper_that_is_not_there_is_found() {
    assert!(keeper_exists("claimed: `of_two_bindings_of_one_command_one_succeeds`"));
    assert!(keeper_exists("random: `Ids::context`"));
    for wrong in ["claimed: `of_two_somethings`", "claimed", "random: `Ids::nothing`", "somehow", "lock:", ""] {
        assert!(!keeper_exists(wrong), "{wrong}");
    }
}
