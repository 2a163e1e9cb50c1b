//! A PostgreSQL with a standby that its commits wait for: what is acknowledged is on both, whatever crashes (S16).

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use tokio::task::JoinSet;

use crate::caller::{Answer, Caller, Sent, hello};
use crate::folder::{STATE, TENANT, complained, cscp, printed};
use crate::postgres::cluster::free_ports;
use crate::postgres::{Cluster, missing};
use crate::server::Server;
use crate::waiting::{pass, until};

/// The name by which the standby follows, see `tests/postgres/cluster.sh`.
const SETTINGS: &[&str] = &["synchronous_standby_names = 'standby'", "wal_level = replica"];

/// By then the server has reached the primary again and has looked what became of the message.
const LOOKED_BY: Duration = Duration::from_secs(5);

/// Who sends messages while a standby is promoted.
const CALLERS: usize = 4;

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

    /// An address of both.
    fn both(&self) -> String {
        format!("postgres://cscp@127.0.0.1:{},127.0.0.1:{}/postgres", self.cluster.port, self.standby_port)
    }

    /// The primary is gone from one moment to the next, and the standby takes its place and waits for none.
    async fn fail_over(&mut self) {
        self.cluster.stop_immediate();
        self.cluster.tell("promote").unwrap();
        waits_for_nobody(&Self::url(self.standby_port)).await;
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

/// Has a server commit without a standby, as a failover tool does when there is none left.
async fn waits_for_nobody(url: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    for sql in ["ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()"] {
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    }
}

fn done(url: &str, arguments: &[&str]) -> String {
    let output = cscp().args(arguments).args(["--database", url]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    printed(&output)
}

fn server(url: &str) -> Command {
    let mut command: Command = cscp();
    command.args(["--database", url, "--listen", "127.0.0.1:0", "--no-demo-tenant", "--metrics-listen", "off"]);
    command
}

fn serve(url: &str) -> Server {
    Server::spawn(&mut server(url))
}

/// A tenant, and the secret of a handler of it.
fn handler(url: &str) -> String {
    done(url, &["tenant", "create", TENANT]);
    let key = done(url, &["key", "create", "--tenant", TENANT, "--kind", "handler", "--json"]);
    serde_json::from_str::<serde_json::Value>(&key).unwrap()["key"].as_str().unwrap().to_owned()
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
    let key = handler(&url);
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

/// Callers that send one message after the other until they are told to stop.
struct Load {
    callers: JoinSet<Vec<(Sent, Answer, Instant)>>,
    acknowledged: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
}

impl Load {
    fn start(caller: &Caller) -> Self {
        let (acknowledged, stopped) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let mut callers = JoinSet::new();
        for number in 0..CALLERS {
            let (caller, acknowledged, stopped) = (caller.clone(), Arc::clone(&acknowledged), Arc::clone(&stopped));
            callers.spawn(async move {
                let mut said = Vec::new();
                while !stopped.load(Ordering::Acquire) {
                    let sent = hello(&format!("wamid.{number}.{}", said.len()), &format!("talk-{number}"));
                    let answer = insist(&caller, &sent).await;
                    acknowledged.fetch_add(1, Ordering::AcqRel);
                    said.push((sent, answer, Instant::now()));
                }
                said
            });
        }
        Self { callers, acknowledged, stopped }
    }

    /// Waits until so many more messages were acknowledged.
    async fn more(&self, count: usize) {
        let enough = self.acknowledged.load(Ordering::Acquire) + count;
        let done = async || (self.acknowledged.load(Ordering::Acquire) >= enough).then_some(());
        until("messages are acknowledged", Duration::from_mins(1), done).await;
    }

    /// What was acknowledged, in its order.
    async fn end(self) -> Vec<(Sent, Answer, Instant)> {
        self.stopped.store(true, Ordering::Release);
        let mut all: Vec<_> = self.callers.join_all().await.into_iter().flatten().collect();
        all.sort_by_key(|(_, _, at)| *at);
        all
    }
}

/// A standby is promoted under load: what was acknowledged is there, new connections find the promoted server by
/// themselves, and the former primary is refused when it comes back and would answer, by a fresh start too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promoted_standby_is_found_and_the_former_primary_is_refused() {
    let mut pair = match Pair::start() {
        Ok(pair) => pair,
        Err(why) => return missing(&why),
    };
    let (both, state) = (pair.both(), tempfile::tempdir().unwrap());
    let key = handler(&both);
    let remembering = |url: &str| {
        let mut command = server(url);
        command.env(STATE, state.path()).args(["--postgres-writers", "3"]);
        command
    };
    let running = Server::spawn(&mut remembering(&both));
    let caller = Caller::new(&running.base, &key);
    let load = Load::start(&caller);
    load.more(50).await;
    pair.fail_over().await;
    load.more(50).await;

    // The former primary comes back and would take what is written to it, without its standby.
    pair.cluster.start_again();
    waits_for_nobody(&pair.cluster.url()).await;
    load.more(50).await;
    let acknowledged = load.end().await;
    let silence = acknowledged.windows(2).map(|pair| pair[1].2 - pair[0].2).max().unwrap();
    println!("{} messages acknowledged, silence {silence:?}", acknowledged.len());
    for (sent, answer, _) in &acknowledged {
        let again = insist(&caller, sent).await;
        let seen = (again.body["duplicate"] == json!(true), again.text("/context/context_id"));
        assert_eq!(seen, (true, answer.text("/context/context_id")), "{again:?}");
    }
    let (_, logged) = running.stop().await;
    assert!(logged.contains("another host takes writes now"), "{logged}");

    let refused = remembering(&pair.cluster.url()).output().unwrap();
    assert!(!refused.status.success() && complained(&refused).contains("timeline 1"), "{refused:?}");
    let again = Server::spawn(&mut remembering(&both));
    let (sent, answer, _) = acknowledged.last().unwrap();
    let known = insist(&Caller::new(&again.base, &key), sent).await;
    assert_eq!(known.text("/context/context_id"), answer.text("/context/context_id"));
}
