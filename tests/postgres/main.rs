//! The PostgreSQL that tests start: that it works, can be killed and started again, and never outlives a test.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod kill;
#[path = "mod.rs"]
mod postgres;
#[path = "../process/waiting.rs"]
mod waiting;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use postgres::{Cluster, database, missing, setting};
use sqlx::{Connection as _, PgConnection};
use waiting::until;

/// What the shared server of these tests is set to.
const SERVER: &[&str] = &["fsync = off"];
/// The keeper has been told by then, or never will be.
const SOON: Duration = Duration::from_secs(30);
/// Says to a process of this binary that it is the one to be killed.
const VICTIM: &str = "CSCP_TEST_POSTGRES_VICTIM";

async fn text(url: &str, sql: &'static str) -> String {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let text = sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    text
}

async fn run(url: &str, sql: &'static str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// A cluster, or no test.
fn cluster(settings: &[&str]) -> Option<Cluster> {
    Cluster::start(settings).map_err(|why| missing(&why)).ok()
}

#[tokio::test]
async fn every_test_has_a_database_of_its_own() {
    let (Some(one), Some(two)) = (database().await, database().await) else { return };
    run(&one, "CREATE TABLE mine (n integer)").await;
    run(&two, "CREATE TABLE mine (n integer)").await;
    assert_ne!(
        text(&one, "SELECT current_database()::text").await,
        text(&two, "SELECT current_database()::text").await
    );
}

#[tokio::test]
async fn a_cluster_that_is_killed_comes_back_with_what_was_committed() {
    let Some(mut cluster) = cluster(&["log_min_duration_statement = 77"]) else { return };
    let url = cluster.url();
    assert_eq!(text(&url, "SHOW fsync").await, "on", "durable, unless a test says otherwise");
    assert_eq!(text(&url, "SHOW log_min_duration_statement").await, "77ms");
    run(&url, "CREATE TABLE kept (word text); INSERT INTO kept VALUES ('kept')").await;
    let mut held = PgConnection::connect(&url).await.unwrap();
    cluster.stop_immediate();
    assert!(held.ping().await.is_err(), "its connections are cut");
    assert!(PgConnection::connect(&url).await.is_err(), "nobody answers");
    cluster.start_again();
    assert_eq!(text(&url, "SELECT word FROM kept").await, "kept");
    let folder = text(&url, "SHOW data_directory").await;
    drop(cluster);
    assert!(!Path::new(&folder).exists(), "it leaves nothing behind");
}

/// What the process does that is killed: it has a cluster, says which, and would live on.
async fn be_the_victim() {
    let cluster = Cluster::start(&[]).unwrap();
    println!("\nVICTIM {} {}", cluster.url(), text(&cluster.url(), "SHOW data_directory").await);
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn no_cluster_outlives_its_process() {
    if setting(VICTIM).is_some() {
        return be_the_victim().await;
    }
    let Some(spare) = cluster(&[]) else { return };
    drop(spare);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["no_cluster_outlives_its_process", "--exact", "--nocapture"])
        .env(VICTIM, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut victim = command.spawn().unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines().map_while(Result::ok);
    let line = lines.into_iter().find(|line| line.starts_with("VICTIM ")).unwrap();
    let [_, url, folder] = *line.split(' ').collect::<Vec<_>>() else { panic!("{line}") };
    assert!(PgConnection::connect(url).await.is_ok() && Path::new(folder).exists());
    victim.kill().unwrap();
    victim.wait().unwrap();
    until("the server is gone", SOON, async || PgConnection::connect(url).await.is_err().then_some(())).await;
    until("its folder is gone", SOON, async || (!Path::new(folder).parent().unwrap().exists()).then_some(())).await;
}
