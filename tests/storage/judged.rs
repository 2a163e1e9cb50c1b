//! Which PostgreSQL servers are written to: judged at every connection and before every decision, not once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cscp::storage::postgres::{PostgresSettings, PostgresStore};
use cscp::storage::{Store, Timelines};

use crate::postgres::{Cluster, missing};
use crate::server::sql;
use crate::{leg, waiting};

/// Long enough for a server to read its settings again.
const RELOADED_WITHIN: Duration = Duration::from_secs(20);

/// A server that keeps what it acknowledges.
fn sound() -> Option<(Cluster, PostgresSettings)> {
    if !leg::on_postgres() {
        return None;
    }
    let cluster = Cluster::start(&[]).map_err(|why| missing(&why)).ok()?;
    let settings = PostgresSettings::new(cluster.url());
    Some((cluster, settings))
}

/// What a decision is told when it asks for the present.
async fn deciding(store: &PostgresStore) -> Result<(), String> {
    let mut transaction = store.begin().await.map_err(|error| error.to_string())?;
    transaction.now().await.map(drop).map_err(|error| error.to_string())
}

/// Decides until it turns out as wanted: a server reads its settings again when it finds the time.
async fn until(store: &PostgresStore, wanted: impl Fn(&Result<(), String>) -> bool) {
    let turned = async || wanted(&deciding(store).await).then_some(());
    waiting::until("the server reads its settings", RELOADED_WITHIN, turned).await;
}

async fn reload(settings: &PostgresSettings, change: &str) {
    // Not in one transaction with anything else.
    sql(settings, change).await;
    sql(settings, "SELECT pg_reload_conf()").await;
}

#[tokio::test]
async fn settings_that_are_loosened_while_a_server_works_stop_it_until_they_are_back() {
    let Some((_cluster, settings)) = sound() else { return };
    let store = PostgresStore::open(settings.clone()).await.unwrap();
    deciding(&store).await.unwrap();
    for name in ["synchronous_commit", "fsync", "full_page_writes"] {
        reload(&settings, &format!("ALTER SYSTEM SET {name} = off")).await;
        let said = format!("{name} is off");
        until(&store, |decided| decided.as_ref().is_err_and(|why| why.contains(&said))).await;
        assert!(PostgresStore::open(settings.clone()).await.unwrap_err().to_string().contains(&said));
        reload(&settings, &format!("ALTER SYSTEM RESET {name}")).await;
        until(&store, Result::is_ok).await;
    }
    // Commits that wait for a standby, where that is demanded. None of these decisions commits anything.
    reload(&settings, "ALTER SYSTEM SET synchronous_standby_names = 'away'").await;
    let strict = PostgresSettings { require_standby: true, migrate: false, ..settings.clone() };
    let strict = PostgresStore::open(strict).await.unwrap();
    deciding(&strict).await.unwrap();
    reload(&settings, "ALTER SYSTEM RESET synchronous_standby_names").await;
    until(&strict, |decided| decided.as_ref().is_err_and(|why| why.contains("--postgres-require-standby"))).await;
    deciding(&store).await.unwrap();
}

/// Remembers one timeline, of whatever system.
#[derive(Debug, Default)]
struct Memory(Mutex<i64>);

impl Timelines for Memory {
    fn highest(&self, _system: &str) -> Result<i64, String> {
        Ok(*self.0.lock().unwrap())
    }

    fn raise(&self, _system: &str, timeline: i64) -> Result<(), String> {
        *self.0.lock().unwrap() = timeline;
        Ok(())
    }
}

#[tokio::test]
async fn a_timeline_below_one_that_was_seen_before_is_refused() {
    let Some((_cluster, mut settings)) = sound() else { return };
    PostgresStore::open(settings.clone()).await.unwrap().close().await;
    // Whoever serves has no rights beyond its tables.
    sql(&settings, "CREATE ROLE plain LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO plain").await;
    settings.url = settings.url.replace("cscp@", "plain@");
    settings.migrate = false;
    let memory = Arc::new(Memory::default());
    settings.timelines = Some(Arc::<Memory>::clone(&memory) as Arc<dyn Timelines>);
    let store = PostgresStore::open(settings.clone()).await.unwrap();
    until(&store, |_| *memory.0.lock().unwrap() == 1).await;
    *memory.0.lock().unwrap() = 2;
    deciding(&store).await.unwrap();
    let why = PostgresStore::open(settings).await.unwrap_err().to_string();
    assert!(why.contains("writes timeline 1, and 2 was seen before"), "{why}");
}
