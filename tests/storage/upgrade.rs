//! A database that an earlier version left is brought up to date with everything in it, and a later one is not touched.
//!
//! `fixtures/schema_0001.json` is what the first version had stored of two conversations, row by row.

use std::sync::Arc;

use cscp::committer::{Limits, Submission};
use cscp::domain::canonical::Digest;
use cscp::domain::id::{AttemptId, CommandId, CommandName, ContextId, IdempotencyKey, TenantId};
use cscp::domain::operation::{Answer, Bind, CommandSpec, Envelope, Operation, Sweep, Target};
use cscp::domain::policy::RecordKind;
use cscp::domain::query::ContextQuery;
use cscp::domain::time::{Clock as _, Timestamp};
use cscp::service::{replay_tenant, verify_tenant};
use cscp::storage::postgres::PostgresStore;
use cscp::storage::sqlite::SqliteStore;
use cscp::storage::{AgedQuery, LiveTable, StorageError};
use serde_json::{Value, json};
use sqlx::migrate::Migrator;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

use crate::harness::{House, ManualClock, code};
use crate::leg;
use crate::place::{Place, file, settings};
use crate::postgres::database;

/// A minute after the open question of the second conversation was asked.
const LATER: i64 = 1_795_196_527_260_810;

fn rows() -> Vec<(String, Value)> {
    let text = include_str!("fixtures/schema_0001.json");
    let tables: serde_json::Map<String, Value> = serde_json::from_str(text).unwrap();
    tables.into_iter().collect()
}

fn first_steps(mut steps: Migrator, last: i64) -> Migrator {
    steps.migrations = steps.migrations.iter().filter(|step| step.version <= last).cloned().collect::<Vec<_>>().into();
    steps
}

fn texts(values: &Value) -> Vec<&str> {
    values.as_array().unwrap().iter().map(|value| value.as_str().unwrap()).collect()
}

/// A value as this database writes it.
fn literal(value: &Value, blob: &dyn Fn(&str) -> String) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Object(bytes) => blob(bytes["hex"].as_str().unwrap()),
        other => other.to_string(),
    }
}

/// The statements that fill the first schema.
fn statements(blob: &dyn Fn(&str) -> String, flag: &dyn Fn(&str, &str, String) -> String) -> Vec<String> {
    let mut statements = Vec::new();
    for (table, content) in rows() {
        let columns = texts(&content["columns"]);
        for row in content["rows"].as_array().unwrap() {
            let values: Vec<String> = columns
                .iter()
                .zip(row.as_array().unwrap())
                .map(|(column, value)| flag(&table, column, literal(value, blob)))
                .collect();
            statements.push(format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), values.join(", ")));
        }
    }
    // Nothing kept an attempt from binding another command later.
    statements.push(
        "INSERT INTO commands SELECT tenant_id, 'another', 'another', context_id, conversation_id, updated_at,
         replace(replace(body, command_id, 'another'), '\"bound_at\":\"2', '\"bound_at\":\"3') FROM commands"
            .to_owned(),
    );
    statements
}

async fn old_sqlite(place: &Place) {
    let Place::File(folder) = place else { return };
    let url = format!("sqlite://{}?mode=rwc", file(folder).display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    first_steps(sqlx::migrate!("migrations/sqlite"), 1).run(&mut connection).await.unwrap();
    for statement in statements(&|hex| format!("x'{hex}'"), &|_, _, value| value) {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
}

async fn old_postgres(url: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    first_steps(sqlx::migrate!("migrations/postgres"), 1).run(&mut connection).await.unwrap();
    let flag = |table: &str, column: &str, value: String| match (table, column) {
        ("tenants", "enabled") => (value == "1").to_string(),
        _ => value,
    };
    for statement in statements(&|hex| format!("'\\x{hex}'"), &flag) {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    }
    // The rows were taken from SQLite, which keeps this in the body alone.
    let copied = "UPDATE conversations SET last_item_id = body::json->'last_question'->>'item_id'";
    sqlx::raw_sql(copied).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// A house over what the first version left.
async fn upgraded() -> House {
    upgraded_with(&[]).await
}

/// The same, with more that it left.
async fn upgraded_with(more: &[&'static str]) -> House {
    let place = if leg::on_postgres() {
        let url = database().await.unwrap();
        old_postgres(&url).await;
        Place::Server(url)
    } else {
        let place = Place::File(tempfile::tempdir().unwrap());
        old_sqlite(&place).await;
        place
    };
    for statement in more {
        assert!(change(&place, statement).await > 0, "{statement}");
    }
    let clock = ManualClock::new();
    clock.pass(LATER - clock.now().as_micros());
    let store = place.open(Arc::<ManualClock>::clone(&clock), 2).await;
    House::over(place, store, clock, Limits::default(), 9_000_000)
}

/// A statement in words that both databases know; says how many rows it changed.
async fn change(place: &Place, sql: &'static str) -> u64 {
    match place {
        Place::File(folder) => {
            let url = format!("sqlite://{}", file(folder).display());
            let mut connection = SqliteConnection::connect(&url).await.unwrap();
            sqlx::query(sql).execute(&mut connection).await.unwrap().rows_affected()
        }
        Place::Server(url) => {
            let mut connection = PgConnection::connect(url).await.unwrap();
            sqlx::query(sql).execute(&mut connection).await.unwrap().rows_affected()
        }
    }
}

/// Retention finds a message by when it came, which the first version had in its body only.
async fn messages_have_their_times(house: &House) {
    let (kind, cutoff) = (RecordKind::Message, Timestamp::from_micros(i64::MAX));
    let asked = AgedQuery { kind, cutoff, now: house.clock.now(), skip: 0, limit: 100 };
    let mut found = 0;
    for tenant in ["acme", "demo"] {
        let tenant = TenantId::new(tenant).unwrap();
        for aged in house.store.aged(&tenant, &asked).await.unwrap() {
            let key = Digest::from_hex(&aged.id).unwrap();
            let message = house.store.messages(&tenant, &[key]).await.unwrap().remove(0);
            assert_eq!(aged.at, message.received_at);
            assert_eq!(
                (aged.place.as_str(), aged.actor_id.as_deref()),
                (message.conversation_id.as_str(), Some(message.actor_id.as_str()),)
            );
            found += 1;
        }
    }
    assert!(found > 1, "{found} messages");
}

/// An attempt belongs to the command that was bound with it first.
async fn attempts_have_their_commands(house: &House) {
    let (_, commands) = rows().into_iter().find(|(table, _)| table == "commands").unwrap();
    let mut found = 0;
    for row in commands["rows"].as_array().unwrap() {
        let (tenant, command, body) = (row[0].as_str().unwrap(), &row[1], row[6].as_str().unwrap());
        let body: Value = serde_json::from_str(body).unwrap();
        let attempt = body["attempt_id"].as_str().unwrap().to_owned();
        let tenant = TenantId::new(tenant).unwrap();
        let live = house.store.live_rows(&tenant, LiveTable::CommandAttempts, &[attempt]).await.unwrap();
        assert_eq!(live.len(), 1);
        assert_eq!(live[0].columns, json!({"command_id": command}));
        found += 1;
    }
    assert!(found > 1, "{found} commands");
}

/// Rows that hold what fingerprints covered then, a list of fields, are what their entries say, before and after they are
/// written again.
async fn is_as_the_log_says(house: &House) {
    for tenant in ["acme", "demo"] {
        let tenant = house.store.tenant(&TenantId::new(tenant).unwrap()).await.unwrap().unwrap();
        let report = replay_tenant(house.store.as_ref(), &tenant, house.clock.now(), &mut |_| {}).await.unwrap();
        // One command was added by hand, for its attempt.
        let told: Vec<_> = report.differences.iter().filter(|difference| difference.row_id != "another").collect();
        assert!(told.is_empty() && report.equal.contains_key(&LiveTable::Commands), "{told:#?}");
    }
}

/// A binding in the conversation that goes on, on the one field that the fingerprint covered and perhaps others.
fn binding(context_id: &ContextId, command: &str, attempt: &str, target: Value) -> Operation {
    Operation::Bind(Box::new(Bind {
        context_id: context_id.clone(),
        attempt_id: AttemptId::new(attempt).unwrap(),
        command: CommandSpec {
            command_id: CommandId::new(format!("c{command}")).unwrap(),
            name: CommandName::new("address.update").unwrap(),
            idempotency_key: IdempotencyKey::new(format!("i{command}")).unwrap(),
            raised_class: None,
            target: Target::Clear(target),
        },
        envelope: Envelope::Clear(json!({})),
        context_pack: None,
        message_ids: Vec::new(),
        correlation_id: None,
    }))
}

#[tokio::test]
async fn what_the_first_version_stored_is_there_and_goes_on() {
    let house = upgraded().await;
    is_as_the_log_says(&house).await;
    for tenant in ["acme", "demo"] {
        let tenant = TenantId::new(tenant).unwrap();
        let report = verify_tenant(house.store.as_ref(), &tenant).await.unwrap();
        assert!(report.broken.is_empty() && report.entries > 10, "{tenant}: {report:?}");
        let all = ContextQuery { limit: 10, ..ContextQuery::default() };
        assert_eq!(house.store.contexts(&tenant, &all).await.unwrap().items.len(), 1);
    }
    messages_have_their_times(&house).await;
    attempts_have_their_commands(&house).await;
    let tenant = Arc::new(house.store.tenant(&TenantId::new("demo").unwrap()).await.unwrap().unwrap());
    let mut yes = house.message("wamid.later", &json!({"text": "sim", "conversation_id": "q-96463052"}));
    yes.expects_reply = true;
    let submit = |operation| {
        let submission = Submission { tenant: Arc::clone(&tenant), operation, claim: None };
        let committer = house.committer.clone();
        async move { committer.submit(submission).await.unwrap().result.unwrap() }
    };
    let turn = submit(Operation::Ingest(Box::new(yes))).await;
    assert_eq!(code(&turn), "confirmed", "the question that was open still is: {turn:?}");
    let Answer::Turn { context: Some(context), .. } = turn else { panic!("no context") };
    is_as_the_log_says(&house).await;
    // The answer was to one field of the target, and nobody knows the rest: it has to be asked for anew.
    for (command, attempt, code) in
        [("96463061", "a-1", "confirmation_required"), ("96463055", "a96463064", "command_conflict")]
    {
        for target in [json!({"address_id": "a"}), json!({"address_id": "a", "city": "b"})] {
            let operation = binding(&context.context_id, command, attempt, target);
            let submission = Submission { tenant: Arc::clone(&tenant), operation, claim: None };
            let refused = house.committer.submit(submission).await.unwrap().result.unwrap_err();
            assert_eq!(refused.code(), code);
        }
    }
    house.clock.pass(context.expires_at.as_micros() - house.clock.now().as_micros());
    let now = house.clock.now();
    house.store.postpone(now, 100).await.unwrap();
    let due = house.store.due(now, 10).await.unwrap();
    assert!(due.contains(&(tenant.tenant_id.clone(), context.conversation_id.clone())), "{due:?}");
    submit(Operation::Sweep(Sweep { conversation_id: context.conversation_id })).await;
    let report = verify_tenant(house.store.as_ref(), &tenant.tenant_id).await.unwrap();
    assert!(report.broken.is_empty(), "{report:?}");
}

/// A server of the first version goes on beside a new one: it knows no column that the next step brought.
#[tokio::test]
async fn what_the_first_version_writes_meanwhile_is_swept_too() {
    let house = House::new().await;
    let context_id = house.context().await;
    let tenant = &house.tenant.tenant_id;
    let before = house.store.context(tenant, &context_id).await.unwrap().unwrap();
    let forget = "UPDATE contexts SET sweep_after = 0";
    house.changed(forget).await;
    let early = house.clock.now();
    assert!(house.store.due(early, 10).await.unwrap().is_empty());
    assert_eq!(house.store.postpone(early, 10).await.unwrap(), 1);
    assert_eq!(house.store.postpone(early, 10).await.unwrap(), 0, "it comes up again when its time is over");
    house.clock.pass(before.expires_at.as_micros() - early.as_micros());
    assert_eq!(house.store.due(house.clock.now(), 10).await.unwrap().len(), 1);
}

/// Opens the house's database once more, as a restarted server would.
async fn opened_again(house: &House) -> Result<(), StorageError> {
    match &house.place {
        Place::File(folder) => {
            SqliteStore::open(&file(folder), Arc::<ManualClock>::clone(&house.clock)).await.map(drop)
        }
        Place::Server(url) => PostgresStore::open(settings(url)).await.map(drop),
    }
}

#[tokio::test]
async fn a_schema_that_went_further_is_left_alone_and_used_as_long_as_it_may_be() {
    let house = House::new().await;
    let later = if leg::on_postgres() {
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'later', true, '\\x00', 0)"
    } else {
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'later', true, x'00', 0)"
    };
    house.changed(later).await;
    opened_again(&house).await.unwrap();
    house.changed("UPDATE schema_floor SET version = 9999").await;
    let refused = opened_again(&house).await.unwrap_err();
    assert!(matches!(&refused, StorageError::Schema(why) if why.contains("9999")), "{refused:?}");
    assert_ne!(house.clock.now(), Timestamp::from_micros(0));
}

/// JSON may hold U+0000, which PostgreSQL's own text cannot. The steps look into every body of these tables.
#[tokio::test]
async fn a_body_with_a_character_that_the_database_cannot_hold_is_brought_up_to_date() {
    let odd = |table: &str| match table {
        "commands" => "UPDATE commands SET body = '{\"odd\\u0000\":\"\\u0000\\\\u0000\\\\\",' || substr(body, 2)",
        _ => "UPDATE messages SET body = '{\"odd\\u0000\":\"\\u0000\\\\u0000\\\\\",' || substr(body, 2)",
    };
    let house = upgraded_with(&[odd("commands"), odd("messages")]).await;
    messages_have_their_times(&house).await;
    attempts_have_their_commands(&house).await;
}

/// A database as the twelfth step left it: nothing was cosigned then, and what was signed was given out.
async fn before_cosignatures() -> Place {
    if leg::on_postgres() {
        let url = database().await.unwrap();
        let mut connection = PgConnection::connect(&url).await.unwrap();
        first_steps(sqlx::migrate!("migrations/postgres"), 12).run(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        return Place::Server(url);
    }
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}?mode=rwc", file(&folder).display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    first_steps(sqlx::migrate!("migrations/sqlite"), 12).run(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    Place::File(folder)
}

#[tokio::test]
async fn what_was_signed_before_cosignatures_counts_as_given_out() {
    let place = before_cosignatures().await;
    for (tenant, size, signed) in [("none", 5, 0), ("some", 5, 3), ("all", 7, 7)] {
        let root = if leg::on_postgres() { "decode(repeat('07', 32), 'hex')" } else { "zeroblob(32)" };
        let insert = format!(
            "INSERT INTO log_trees (tenant_id, size, root, signed) VALUES ('{tenant}', {size}, {root}, {signed})"
        );
        assert_eq!(change(&place, insert.leak()).await, 1);
    }
    let clock = ManualClock::new();
    let store = place.open(Arc::<ManualClock>::clone(&clock), 2).await;
    let house = House::over(place, store, clock, Limits::default(), 9_500_000);
    let kept = "UPDATE log_trees SET published = published WHERE published = signed";
    assert_eq!(house.changed(kept).await, 3, "each as far as it was signed");
    let given_out = "UPDATE log_trees SET published = published WHERE published IN (0, 3, 7) AND published < size";
    assert_eq!(house.changed(given_out).await, 2);
}
