//! A PostgreSQL with a standby that its commits wait for: what is acknowledged is on both, whatever crashes (S16).

use std::process::Command;
use std::time::Duration;

use serde_json::json;
use sqlx::{Connection as _, PgConnection};

use crate::caller::{Answer, Caller, Sent, hello};
use crate::folder::{TENANT, cscp, printed};
use crate::postgres::cluster::free_ports;
use crate::postgres::{Cluster, missing};
use crate::server::Server;
use crate::waiting::{pass, until};

/// The name by which the standby follows, see `tests/postgres/cluster.sh`.
const SETTINGS: &[&str] = &["synchronous_standby_names = 'standby'", "wal_level = replica"];

/// By then the server has reached the primary again and has looked what became of the message.
const LOOKED_BY: Duration = Duration::from_secs(5);

/// A primary and its standby.
struct Pair {
    cluster: Cluster,
    standby_port: u16,
}

impl Pair {
    fn start() -> Result<Self, String> {
        let mut cluster = Cluster::start(SETTINGS)?;
        let standby_port = free_ports().next().ok_or("no free port")?;
        cluster.tell(&format!("copy {}", cluster.port))?;
        let mut pair = Self { cluster, standby_port };
        pair.follow();
        Ok(pair)
    }

    fn follow(&mut self) {
        self.cluster.tell(&format!("follow {}", self.standby_port)).unwrap();
    }

    fn url(port: u16) -> String {
        format!("postgres://cscp@127.0.0.1:{port}/postgres")
    }

    /// Waits until a commit on the primary waits for the standby.
    async fn until_a_commit_waits(&self) {
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        let mut connection = PgConnection::connect(&self.cluster.url()).await.unwrap();
        let within = Duration::from_secs(30);
        until("a commit waits for the standby", within, async || {
            let waiting: i64 = sqlx::query_scalar(waits).fetch_one(&mut connection).await.unwrap();
            (waiting > 0).then_some(())
        })
        .await;
    }
}

fn done(url: &str, arguments: &[&str]) -> String {
    let output = cscp().args(arguments).args(["--database", url]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    printed(&output)
}

fn serve(url: &str) -> Server {
    let mut command: Command = cscp();
    command.args(["--database", url, "--listen", "127.0.0.1:0", "--no-demo-tenant", "--metrics-listen", "off"]);
    Server::spawn(&mut command)
}

/// Sends a message until it is answered with success.
async fn insist(caller: &Caller, sent: &Sent) -> Answer {
    loop {
        match caller.try_send(sent).await {
            Ok(answer) if answer.is_done() => return answer,
            _ => pass(Duration::from_millis(50)).await,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_a_crashed_primary_has_is_not_acknowledged() {
    let mut pair = match Pair::start() {
        Ok(pair) => pair,
        Err(why) => return missing(&why),
    };
    let url = pair.cluster.url();
    done(&url, &["tenant", "create", TENANT]);
    let key = done(&url, &["key", "create", "--tenant", TENANT, "--kind", "handler", "--json"]);
    let key = serde_json::from_str::<serde_json::Value>(&key).unwrap()["key"].as_str().unwrap().to_owned();
    let server = serve(&url);
    let caller = Caller::new(&server.base, &key);
    let first = hello("wamid.1", "talk");
    caller.try_send(&first).await.unwrap().done();

    // The standby is away. The primary has the message, crashes before the standby has it, and comes back.
    pair.cluster.tell("stay").unwrap();
    let second = hello("wamid.2", "talk");
    let mut asking = tokio::spawn({
        let (caller, second) = (caller.clone(), second.clone());
        async move { insist(&caller, &second).await }
    });
    pair.until_a_commit_waits().await;
    pair.cluster.stop_immediate();
    pair.cluster.start_again();
    let early = tokio::time::timeout(LOOKED_BY, &mut asking).await;
    assert!(early.is_err(), "the message was acknowledged, and the standby did not have it: {early:?}");

    // It comes back as well, and what is acknowledged now is there when it takes over.
    pair.follow();
    let answer = asking.await.unwrap();
    pair.cluster.stop_immediate();
    pair.cluster.tell("promote").unwrap();
    let promoted = serve(&Pair::url(pair.standby_port));
    let caller = Caller::new(&promoted.base, &key);
    for (sent, context) in [(&first, None), (&second, Some(answer.text("/context/context_id")))] {
        let again = insist(&caller, sent).await;
        assert_eq!(again.body["duplicate"], json!(true), "{again:?}");
        assert!(context.is_none_or(|context| again.text("/context/context_id") == context), "{again:?}");
    }
}
