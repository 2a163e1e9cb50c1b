//! What is asked of a PostgreSQL server before anything is entrusted to it, and how its schema is brought up to date.

use std::sync::Arc;

use cscp::storage::postgres::{PostgresSettings, PostgresStore};
use cscp::storage::{StorageError, Store};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::harness::{House, ManualClock};
use crate::place::Place;
use crate::postgres::{Cluster, database, missing};
use crate::{leg, run};

/// Settings for a new and empty database of this leg's server, which is told to forget what it likes.
pub(crate) async fn settings() -> Option<PostgresSettings> {
    if !leg::on_postgres() {
        return None;
    }
    let mut settings = PostgresSettings::new(database().await?);
    settings.unsafe_durability = true;
    Some(settings)
}

/// Runs statements on the database itself.
pub(crate) async fn sql(settings: &PostgresSettings, statements: &str) {
    let mut connection = PgConnection::connect(&settings.url).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

pub(crate) async fn number(settings: &PostgresSettings, query: &'static str) -> i64 {
    let mut connection = PgConnection::connect(&settings.url).await.unwrap();
    let number = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    number
}

async fn refusal(settings: &PostgresSettings) -> String {
    PostgresStore::open(settings.clone()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_server_that_may_forget_is_refused_unless_told_so() {
    let Some(mut settings) = settings().await else { return };
    settings.unsafe_durability = false;
    assert!(refusal(&settings).await.contains("fsync is off"), "the shared server of these tests is lax");
    settings.unsafe_durability = true;
    PostgresStore::open(settings).await.unwrap().close().await;
    let lax = Cluster::start(&["synchronous_commit = off"]);
    let Ok(lax) = lax.map_err(|why| missing(&why)) else { return };
    let why = refusal(&PostgresSettings::new(lax.url())).await;
    assert!(why.contains("synchronous_commit is off") && why.contains("--postgres-unsafe-durability"), "{why}");
}

#[tokio::test]
async fn what_is_wrong_with_an_address_is_said_without_repeating_it() {
    let Some(settings) = settings().await else { return };
    let (start, _) = settings.url.rsplit_once('/').unwrap();
    for url in [format!("{start}/secret"), "postgres://secret@127.0.0.1:1/secret".to_owned()] {
        let why = refusal(&PostgresSettings::new(url)).await;
        assert!(why.contains("unavailable") && !why.contains("secret"), "{why}");
    }
}

#[tokio::test]
async fn a_schema_that_is_behind_is_left_alone_where_asked() {
    let Some(mut settings) = settings().await else { return };
    settings.migrate = false;
    assert!(refusal(&settings).await.contains("cscp migrate"));
    assert_eq!(number(&settings, "SELECT count(*) FROM pg_class WHERE relname = 'streams'").await, 0);
    PostgresStore::bring_up_to_date(&settings).await.unwrap();
    PostgresStore::open(settings).await.unwrap().close().await;
}

#[tokio::test]
async fn many_processes_may_open_an_empty_database_at_once() {
    let Some(settings) = settings().await else { return };
    let open = |settings: PostgresSettings| tokio::spawn(async move { PostgresStore::open(settings).await });
    let opening: Vec<_> = (0..8).map(|_| open(settings.clone())).collect();
    for opened in opening {
        opened.await.unwrap().unwrap().close().await;
    }
    let steps = i64::try_from(std::fs::read_dir("migrations/postgres").unwrap().count()).unwrap();
    assert_eq!(number(&settings, "SELECT count(*) FROM _sqlx_migrations WHERE success").await, steps);
}

#[tokio::test]
async fn a_newer_schema_is_worked_with_until_it_says_otherwise() {
    let Some(settings) = settings().await else { return };
    PostgresStore::open(settings.clone()).await.unwrap().close().await;
    let step = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                VALUES (9000, 'what a later program needs', TRUE, 'x', 0)";
    sql(&settings, step).await;
    PostgresStore::open(settings.clone()).await.unwrap().close().await;
    sql(&settings, "UPDATE schema_floor SET version = 9000").await;
    assert!(refusal(&settings).await.contains("install a newer cscp"));
    sql(&settings, "UPDATE schema_floor SET version = 1; UPDATE _sqlx_migrations SET checksum = 'x'").await;
    let error = PostgresStore::open(settings).await.unwrap_err();
    assert!(matches!(error, StorageError::Schema(_)), "a step that is not ours by that number: {error}");
}

#[tokio::test]
async fn the_previous_schema_is_taken_over_with_what_is_in_it() {
    let Some(settings) = settings().await else { return };
    let mut connection = PgConnection::connect(&settings.url).await.unwrap();
    sqlx::migrate!("migrations/postgres").run_to(1, &mut connection).await.unwrap();
    connection.close().await.unwrap();
    let row =
        "INSERT INTO contexts (tenant_id, context_id, conversation_id, actor_id, status, expires_at, updated_at, body)
               VALUES ('a', 'x', 'c', 'ana', 'active', 5, 3, '{}')";
    sql(&settings, row).await;
    PostgresStore::open(settings.clone()).await.unwrap().close().await;
    assert_eq!(number(&settings, "SELECT sweep_after FROM contexts WHERE open").await, 5);
}

#[tokio::test]
async fn a_server_that_was_away_is_used_again_without_help() {
    let Ok(mut cluster) = Cluster::start(crate::SERVER).map_err(|why| missing(&why)) else { return };
    if !leg::on_postgres() {
        return;
    }
    let mut settings = PostgresSettings::new(cluster.url());
    settings.unsafe_durability = true;
    let clock = ManualClock::new();
    settings.clock = Some(Arc::<ManualClock>::clone(&clock) as _);
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(settings.clone()).await.unwrap());
    let place = Place::Server(settings.url);
    let house = House::over(place, store, clock, cscp::committer::Limits::default(), 1);
    house.create_tenants().await;
    run(&house, 0).await;
    cluster.stop_immediate();
    assert!(house.store.ping().await.is_err());
    cluster.start_again();
    // The pools still hold connections that lead nowhere.
    run(&house, 1).await;
    assert_eq!(house.store.tenants().await.unwrap().len(), 2);
}
