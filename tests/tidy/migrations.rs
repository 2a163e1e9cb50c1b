//! Two databases, one history, and a key that keeps tenants apart.

use std::collections::BTreeSet;

use crate::purity::without_sql_comments;
use crate::scan::{Token, tokens};
use crate::{Finding, SourceFile, entries, expect_none, files_in};

/// Tables whose primary key does not begin with the tenant, each with the reason.
const TABLES_WITHOUT_TENANT: &[(&str, &str)] = &[
    ("leases", "work done for all tenants at once"),
    ("schema_floor", "about the schema itself"),
    ("policy_versions", "the rules of every tenant, in one set"),
];

const SQLITE: &str = "migrations/sqlite";
const POSTGRES: &str = "migrations/postgres";

/// Numbers start at 1 and leave no gap, so that two branches cannot both add the next one unseen.
fn numbers_are_consecutive(folder: &str, names: &BTreeSet<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (expected, name) in (1_u64..).zip(names) {
        let path = format!("{folder}/{name}");
        let number = name.split('_').next().and_then(|n| n.parse::<u64>().ok());
        if number != Some(expected) {
            findings.push(Finding::new(&path, 1, format!("should be number {expected}")));
        }
    }
    findings
}

/// Both databases take the same steps.
fn same_names(sqlite: &BTreeSet<String>, postgres: &BTreeSet<String>) -> Vec<Finding> {
    let missing = |folder: &str, name: &String| {
        Finding::new(&format!("{folder}/{name}"), 1, "exists for the other database only")
    };
    let in_postgres = sqlite.difference(postgres).map(|name| missing(POSTGRES, name));
    let in_sqlite = postgres.difference(sqlite).map(|name| missing(SQLITE, name));
    in_postgres.chain(in_sqlite).collect()
}

/// A table and the first column of its primary key.
struct Table {
    name: String,
    line: usize,
    key: Option<String>,
}

/// The tables that a migration creates.
fn tables(file: &SourceFile) -> Vec<Table> {
    let tokens = tokens(&without_sql_comments(&file.text).to_lowercase());
    let texts: Vec<&str> = tokens.iter().map(|t| t.text.as_str()).collect();
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let rest = &texts[at..];
        let name_at = match rest {
            ["create", "table", "if", "not", "exists", ..] => at + 5,
            ["create", "table", ..] => at + 2,
            ["create", "unlogged" | "temporary" | "temp", "table", ..] => at + 3,
            _ => continue,
        };
        if let Some(name) = tokens.get(name_at) {
            found.push(Table {
                name: name.text.clone(),
                line: name.line,
                key: first_key_column(&tokens[name_at + 1..]),
            });
        }
    }
    found
}

/// Reads the body of a table for `primary key (a, …)` or `a … primary key`.
fn first_key_column(after_name: &[Token]) -> Option<String> {
    let mut depth = 0_usize;
    let mut column = "";
    let mut starts_item = true;
    for (at, token) in after_name.iter().enumerate() {
        match token.text.as_str() {
            ";" => return None,
            "(" => depth += 1,
            ")" if depth <= 1 => return None,
            ")" => depth -= 1,
            "," if depth == 1 => starts_item = true,
            "primary" if depth == 1 => {
                let listed = after_name.get(at + 2).is_some_and(|t| t.text == "(");
                let name = after_name.get(at + 3).map(|t| t.text.as_str());
                return if listed { name } else { Some(column) }.map(str::to_owned);
            }
            name if depth == 1 && starts_item => {
                column = name;
                starts_item = false;
            }
            _ => {}
        }
    }
    None
}

/// Every primary key begins with the tenant: rows of two tenants can never meet.
fn keys_begin_with_tenant(file: &SourceFile, exceptions: &[(&str, &str)]) -> Vec<Finding> {
    let excepted = |table: &Table| exceptions.iter().any(|(name, _)| *name == table.name);
    let wrong = |table: &Table| table.key.as_deref() != Some("tenant_id") && !excepted(table);
    let why = |table: &Table| {
        let key = table.key.as_deref().unwrap_or("nothing");
        format!("the primary key of `{}` begins with {key}, not tenant_id", table.name)
    };
    let tables = tables(file);
    let findings = tables.iter().filter(|t| wrong(t));
    findings.map(|t| Finding::new(&file.path, t.line, why(t))).collect()
}

fn names(folder: &str) -> BTreeSet<String> {
    let files = files_in(folder).into_iter().filter(|f| f.has_extension("sql"));
    files.filter_map(|f| f.path.rsplit('/').next().map(str::to_owned)).collect()
}

#[test]
fn migrations_are_numbered_without_a_gap() {
    let mut findings = numbers_are_consecutive(SQLITE, &names(SQLITE));
    findings.extend(numbers_are_consecutive(POSTGRES, &names(POSTGRES)));
    expect_none(&findings);
}

#[test]
fn both_databases_take_the_same_steps() {
    let folders: Vec<String> = entries("migrations").into_iter().map(|(path, _)| path).collect();
    if folders.contains(&SQLITE.to_owned()) && folders.contains(&POSTGRES.to_owned()) {
        expect_none(&same_names(&names(SQLITE), &names(POSTGRES)));
    }
}

#[test]
fn every_primary_key_begins_with_the_tenant() {
    let files: Vec<SourceFile> = files_in("migrations").into_iter().filter(|f| f.has_extension("sql")).collect();
    let mut findings: Vec<Finding> =
        files.iter().flat_map(|file| keys_begin_with_tenant(file, TABLES_WITHOUT_TENANT)).collect();
    for (name, _) in TABLES_WITHOUT_TENANT {
        let mut all = files.iter().flat_map(tables);
        if !all.any(|t| t.name == *name && t.key.as_deref() != Some("tenant_id")) {
            let why = format!("`{name}` needs no exception any more: take it out of TABLES_WITHOUT_TENANT");
            findings.push(Finding::new("tests/tidy/migrations.rs", 1, why));
        }
    }
    expect_none(&findings);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    fn wrong_keys(sql: &str) -> usize {
        keys_begin_with_tenant(&SourceFile::new("migrations/sqlite/0001_a.sql", sql), &[("job", "global")]).len()
    }

    #[test]
    fn gaps_and_differences_are_found() {
        assert_eq!(numbers_are_consecutive(SQLITE, &set(&["0001_a.sql", "0003_b.sql"])).len(), 1);
        assert_eq!(numbers_are_consecutive(SQLITE, &set(&["0001_a.sql", "0001_b.sql"])).len(), 1);
        assert_eq!(numbers_are_consecutive(SQLITE, &set(&["0001_a.sql", "0002_b.sql"])).len(), 0);
        assert_eq!(same_names(&set(&["0001_a.sql"]), &set(&["0001_b.sql"])).len(), 2);
        assert_eq!(same_names(&set(&["0001_a.sql"]), &set(&["0001_a.sql"])).len(), 0);
    }

    #[test]
    fn keys_without_the_tenant_are_found() {
        assert_eq!(wrong_keys("CREATE TABLE a (id TEXT PRIMARY KEY);"), 1);
        assert_eq!(wrong_keys("CREATE TABLE a (tenant_id BLOB, id BLOB, PRIMARY KEY (id, tenant_id));"), 1);
        assert_eq!(wrong_keys("CREATE TABLE a (tenant_id BLOB, id BLOB) STRICT;"), 1);
        assert_eq!(wrong_keys("create table if not exists a (id int check (id > 0) primary key);"), 1);
    }

    #[test]
    fn keys_with_the_tenant_are_fine() {
        let sql = "CREATE TABLE a (\n tenant_id BLOB NOT NULL, -- PRIMARY KEY (x)\n n INTEGER CHECK (n IN (1, 2)),\n PRIMARY KEY (tenant_id, n)\n) STRICT;";
        assert_eq!(wrong_keys(sql), 0);
        assert_eq!(wrong_keys("CREATE TABLE tenant (tenant_id BLOB PRIMARY KEY, name TEXT);"), 0);
        assert_eq!(wrong_keys("CREATE TABLE job (id BLOB PRIMARY KEY);"), 0);
    }
}
