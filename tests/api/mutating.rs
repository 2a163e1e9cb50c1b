//! Every column of every table, as the database's own catalogue has them, is changed in several ways, and each change is
//! found by what `cscp verify` and `cscp replay --verify` do, or the place is listed with the reason why it means nothing to
//! the evidence.

use std::collections::{BTreeMap, BTreeSet};

use cscp::domain::id::TenantId;
use cscp::domain::operation::CredentialKind;
use cscp::domain::time::Timestamp;
use cscp::evidence::auditing::Trusted;
use cscp::packs::PackSource;
use cscp::service::{
    check_checkpoint, publish_policies, replay_tenant, verify_policies, verify_signed, withdraw_policies,
};
use serde_json::{Value, json};

use crate::bundles::sequence;
use crate::cosignatures::{newest, trusted_witnesses};
use crate::editing::{Cells, Editor, Table, quoted};
use crate::forging::key;
use crate::house::House;
use crate::leg;
use crate::privacy::{admin, erase};
use crate::privacy_cast::{BOB, lives};
use crate::unlisted::{MEANINGLESS, listed_in_the_page};

/// Rows of a table of which every column is changed.
const ROWS: usize = 2;
/// On PostgreSQL, which is slower and answers the same, one member of so many is changed.
const EVERY: usize = 4;

/// A change, and the place that it is of.
struct Mutation {
    place: String,
    sql: String,
}

/// What told of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    /// `cscp verify`.
    Verify,
    /// `cscp replay --verify`.
    Replay,
    /// One of them could not go on, and said so.
    Stopped,
    Nobody,
}

/// Everything that leaves rows: somebody's life, another one's that was erased, a hold, policies, checkpoints, what waits.
async fn history() -> House {
    let house = House::new().await;
    let client = house.handler("a").await;
    let admin = admin(&house).await;
    let (context, binding) = house.confirmed(&client, "gone").await;
    client.post(&format!("/v1/contexts/{context}/commands"), binding).await.expect(201);
    sequence(&house).await;
    lives(&house, &client, &BOB).await;
    erase(&admin, &json!({"actor_id": "customer"}), false).await.expect(201);
    sequence(&house).await;
    let hold = json!({"conversation_id": BOB.conversation(), "reason": "matter 7"});
    let officer = house.client("a", CredentialKind::Admin, None, Some("officer-1")).await;
    officer.post("/v1/privacy/holds", hold).await.expect(201);
    let operator = house.client("a", CredentialKind::Operator, None, Some("operator-1")).await;
    operator.post("/v1/contexts/query", json!({})).await.expect(200);
    operator.post("/v1/contexts/query", json!({})).await.expect(200);
    sequence(&house).await;
    let fresh = client.ask("POST", "/v1/contexts").fresh_key();
    fresh.valid(&json!({"conversation_id": "later", "actor_id": "somebody"})).send().await.expect(201);
    assert!(house.store.take_lease("upkeep", "host-1", 60).await.unwrap());
    let at = Timestamp::parse(&house.now()).unwrap();
    for _ in 0..2 {
        publish_policies(house.store.as_ref(), &PackSource::Shipped, Some("for the test"), at).await.unwrap();
        withdraw_policies(house.store.as_ref(), None, at).await.unwrap();
    }
    let auditor = house.client("a", CredentialKind::Auditor, None, None).await;
    let note = newest(&auditor).await;
    let note = trusted_witnesses().iter().fold(note, |note, witness| witness.cosigned(&note));
    auditor.post("/v1/evidence/cosignatures", json!({"note": note})).await.expect(200);
    // Rows are no longer what the log says when this house is left.
    house.meddle("UPDATE leases SET holder = holder").await;
    house
}

/// Looks at everything, as whoever runs both commands does.
async fn told(house: &House, table: Option<&str>) -> Told {
    let rows_first = table.is_some_and(|table| !table.starts_with("log_") && table != "streams");
    let keys = vec![key().verifier()];
    let id = TenantId::new("a").unwrap();
    let other = TenantId::new("b").unwrap();
    let verified = async || {
        for (id, keys) in [(&id, keys.as_slice()), (&other, &[])] {
            match verify_signed(house.store.as_ref(), id, keys).await {
                Err(_) => return Some(Told::Stopped),
                Ok(report) if !report.is_sound() => return Some(Told::Verify),
                Ok(_) => {}
            }
        }
        let trusted = Trusted { keys: keys.clone(), ..Trusted::default() };
        match check_checkpoint(house.store.as_ref(), &id, &trusted).await {
            Err(_) => return Some(Told::Stopped),
            Ok(Some(_)) => return Some(Told::Verify),
            Ok(None) => {}
        }
        // Reading packs takes longer than all the rest, and they are in one table.
        if table.is_some_and(|table| table != "policy_versions") {
            return None;
        }
        match verify_policies(house.store.as_ref()).await {
            Err(_) => Some(Told::Stopped),
            Ok(faults) => (!faults.is_empty()).then_some(Told::Verify),
        }
    };
    let replayed = async || {
        let now = Timestamp::parse(&house.now()).unwrap();
        for id in [&id, &other] {
            let Ok(Some(tenant)) = house.store.tenant(id).await else { return Some(Told::Stopped) };
            match replay_tenant(house.store.as_ref(), &tenant, now, &mut |_| {}).await {
                Err(_) => return Some(Told::Stopped),
                Ok(report) if !report.is_equal() => return Some(Told::Replay),
                Ok(_) => {}
            }
        }
        None
    };
    let found = if rows_first { replayed().await } else { verified().await };
    if let Some(found) = found {
        return found;
    }
    let found = if rows_first { verified().await } else { replayed().await };
    found.unwrap_or(Told::Nobody)
}

/// Rows of each kind in a table that has kinds, else the first and the last.
fn chosen<'a>(table: &Table, rows: &'a [Cells]) -> Vec<&'a Cells> {
    let kind = table.columns.iter().position(|column| column.name == "kind");
    let Some(kind) = kind else {
        let mut chosen: Vec<&Cells> = rows.iter().take(ROWS - 1).collect();
        chosen.extend(rows.last().filter(|_| rows.len() > 1));
        return chosen;
    };
    let mut seen = BTreeSet::new();
    rows.iter().filter(|row| seen.insert(row[kind].0.clone())).collect()
}

/// What the page calls a table, for a row: what is left of an erased message is another thing than a message.
fn called(table: &Table, row: &Cells) -> String {
    let is_erased =
        |(text, _): &(Option<String>, String)| text.as_ref().is_some_and(|text| text.starts_with("{\"erased\""));
    let erased = table.name == "messages" && row.iter().any(is_erased);
    if erased { format!("erased {}", table.name) } else { table.name.clone() }
}

fn of_columns(editor: &Editor, table: &Table, rows: &[Cells], mutations: &mut Vec<Mutation>) {
    let name = &table.name;
    for row in chosen(table, rows) {
        let is = table.is(row);
        for (at, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.computed) {
            let place = format!("{}.{}", called(table, row), column.name);
            let mut set = |value: &str| {
                let column = &column.name;
                // What is so already is no change.
                let sql =
                    format!("UPDATE {name} SET {column} = {value} WHERE {is} AND {column} IS DISTINCT FROM {value}");
                mutations.push(Mutation { place: place.clone(), sql });
            };
            let own = &row[at].1;
            let is_null = own.starts_with("NULL");
            if column.name == "tenant_id" {
                set("'b'");
                continue;
            }
            if !is_null {
                set(&editor.other(column));
                set(match column.kind.as_str() {
                    _ if column.nullable => "NULL",
                    "TEXT" => "''",
                    "BOOLEAN" | "BLOB" | "BYTEA" => continue,
                    _ => "0",
                });
            }
            // The value of another row.
            if let Some(other) = rows.iter().find(|other| other[at].1 != *own) {
                set(&other[at].1);
            }
        }
    }
}

fn of_rows(editor: &Editor, table: &Table, rows: &[Cells], mutations: &mut Vec<Mutation>) {
    let name = &table.name;
    for row in chosen(table, rows) {
        let (is, called) = (table.is(row), called(table, row));
        mutations
            .push(Mutation { place: format!("{called}: a row less"), sql: format!("DELETE FROM {name} WHERE {is}") });
        let written = table.columns.iter().filter(|column| !column.computed);
        // Another name in the last part of the key makes it another row.
        let Some(last) = table.columns.iter().rev().find(|column| column.in_key && column.name != "tenant_id") else {
            continue;
        };
        let values = written.clone().map(|column| {
            let value = if column.kind == "INTEGER" || column.kind == "BIGINT" {
                format!("{} + 100000", column.name)
            } else {
                editor.other(column)
            };
            if column.name == last.name { value } else { column.name.clone() }
        });
        let (columns, values): (Vec<_>, Vec<_>) = written.map(|column| column.name.clone()).zip(values).unzip();
        let sql =
            format!("INSERT INTO {name} ({}) SELECT {} FROM {name} WHERE {is}", columns.join(", "), values.join(", "));
        mutations.push(Mutation { place: format!("{called}: a row more"), sql });
    }
}

/// The places of a body that hold a value, as far as its first elements.
fn leaves(value: &Value, here: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members
                .iter()
                .for_each(|(name, value)| leaves(value, &format!("{here}/{}", name.replace('/', "~1")), found));
        }
        Value::Array(elements) => {
            elements.iter().take(1).for_each(|value| leaves(value, &format!("{here}/0"), found));
        }
        _ => found.push(here.to_owned()),
    }
}

fn of_members(table: &Table, rows: &[Cells], mutations: &mut Vec<Mutation>) {
    let name = &table.name;
    if reason(name).is_some() {
        return;
    }
    let every = if leg::on_postgres() { EVERY } else { 2 };
    for row in chosen(table, rows) {
        for (at, column) in table.columns.iter().enumerate() {
            let body: Option<Value> = row[at].0.as_deref().and_then(|text| serde_json::from_str(text).ok());
            let Some(body) = body.filter(|body| body.is_object() || body.is_array()) else { continue };
            let mut places = Vec::new();
            leaves(&body, "", &mut places);
            // What a payload says is hashed as a whole.
            let most = if column.name == "payload" { 4 } else { places.len() };
            let every = if places.len() > 6 { every } else { 1 };
            for place in places.iter().take(most).step_by(every) {
                let mut changed = body.clone();
                let cell = changed.pointer_mut(place).unwrap();
                *cell = match cell {
                    Value::Bool(flag) => json!(!*flag),
                    Value::Number(number) => json!(number.as_f64().unwrap() + 1.0),
                    Value::String(text) => json!(format!("{text}x")),
                    _ => json!("x"),
                };
                let value = quoted(&changed.to_string());
                let sql = format!("UPDATE {name} SET {} = {value} WHERE {}", column.name, table.is(row));
                let member = place.split('/').nth(1).unwrap_or_default();
                let place = format!("{}.{}/{member}", called(table, row), column.name);
                mutations.push(Mutation { place, sql });
            }
        }
    }
}

/// Whether a place is in the list, itself or as part of a larger one.
fn reason(place: &str) -> Option<&'static str> {
    let column = place.split_once('/').map_or(place, |(column, _)| column);
    let table = column.split_once(['.', ':']).map_or(column, |(table, _)| table);
    let names = [place, column, table];
    MEANINGLESS.iter().find(|(listed, _)| names.contains(listed)).map(|(listed, _)| *listed)
}

#[tokio::test]
async fn every_column_is_compared_or_listed_with_a_reason() {
    let house = history().await;
    let mut editor = Editor::new(house.place()).await;
    let tables = editor.tables().await;
    assert!(tables.len() > 25, "{}", tables.len());
    assert_eq!(told(&house, None).await, Told::Nobody);
    let mut sums: BTreeMap<Told, usize> = BTreeMap::new();
    let mut overlooked: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut excused = BTreeSet::new();
    for table in &tables {
        let rows = editor.rows(table, "a").await;
        assert!(!rows.is_empty(), "nothing was written to {}: what changes there is not tried", table.name);
        editor.keep(table).await;
        let mut mutations = Vec::new();
        of_columns(&editor, table, &rows, &mut mutations);
        of_rows(&editor, table, &rows, &mut mutations);
        of_members(table, &rows, &mut mutations);
        for Mutation { place, sql } in mutations {
            // What the schema forbids cannot be done.
            if editor.run(std::slice::from_ref(&sql)).await.unwrap_or(0) == 0 {
                continue;
            }
            let told = told(&house, Some(&table.name)).await;
            *sums.entry(told).or_default() += 1;
            if told == Told::Nobody {
                match reason(&place) {
                    Some(listed) => drop(excused.insert(listed)),
                    None => overlooked.entry(place).or_default().push(sql.chars().take(300).collect()),
                }
            }
            editor.restore(table).await;
        }
    }
    println!("{} changes: {sums:?}", sums.values().sum::<usize>());
    assert_eq!(told(&house, None).await, Told::Nobody, "everything was put back");
    assert!(overlooked.is_empty(), "nobody tells of: {overlooked:#?}");
    let stale: Vec<&str> =
        MEANINGLESS.iter().map(|(place, _)| *place).filter(|place| !excused.contains(place)).collect();
    assert!(leg::on_postgres() || stale.is_empty(), "these are compared, and yet listed: {stale:?}");
    assert!(sums.values().sum::<usize>() > 500, "{sums:?}");
}

#[test]
fn the_page_lists_what_is_not_compared() {
    let page: Vec<(String, String)> = listed_in_the_page();
    let list: Vec<(String, String)> =
        MEANINGLESS.iter().map(|(place, reason)| ((*place).to_owned(), (*reason).to_owned())).collect();
    assert_eq!(page, list, "docs/EVIDENCE.md, What is not compared");
}
