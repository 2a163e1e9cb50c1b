//! Two servers on one PostgreSQL under load, and everything that can be killed is killed: a server, the database, the
//! connections between them. What was acknowledged stays, nothing happens twice, and nobody has to help (S4, S6, S16).

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::caller::Caller;
use crate::cuttable::Wire;
use crate::folder::{TENANT, cscp, printed};
use crate::postgres::{Cluster, missing, say, setting};
use crate::server::Server;
use crate::talk::Talk;
use crate::waiting::pass;

const TALKS: usize = 12;
/// From the killing to the first answer, on a machine that is busy with other tests.
const BACK_WITHIN: Duration = Duration::from_secs(30);

/// How often something is killed. An ordinary run does it less often: see `.ci/README.md`.
fn rounds() -> u64 {
    setting("CSCP_TEST_KILLS").and_then(|number| number.parse().ok()).unwrap_or(20)
}

/// Two servers with a PostgreSQL of their own, and all that can be killed of it.
pub(crate) struct House {
    cluster: Cluster,
    wire: Wire,
    pub(crate) servers: Vec<Server>,
    /// `http://…`, each server's own however often it is started.
    pub(crate) addresses: Vec<String>,
    url: String,
}

fn serve(url: &str, listen: &str) -> Command {
    let mut command = cscp();
    command.args(["--database", url, "--listen", listen, "--no-demo-tenant", "--metrics-listen", "off"]);
    command
}

impl House {
    pub(crate) async fn new(cluster: Cluster) -> Self {
        let wire = Wire::to(cluster.port).await;
        let url = format!("postgres://cscp@{}/postgres", wire.address);
        let servers: Vec<Server> = (0..2).map(|_| Server::spawn(&mut serve(&url, "127.0.0.1:0"))).collect();
        let addresses = servers.iter().map(|server| server.base.clone()).collect();
        Self { cluster, wire, servers, addresses, url }
    }

    /// Runs a command on the house's database that has to succeed; returns what it printed.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = cscp().args(arguments).args(["--database", &self.url]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        printed(&output)
    }

    /// Kills one thing; what does not come back by itself is started again, as whatever watches over it would.
    pub(crate) fn kill(&mut self, round: u64) {
        match round % 4 {
            0 => self.cluster.stop_immediate(),
            1 => return self.wire.cut(),
            side => {
                let side = usize::from(side == 3);
                self.servers[side].kill();
                let listen = self.addresses[side].strip_prefix("http://").unwrap();
                self.servers[side] = Server::spawn(&mut serve(&self.url, listen));
                return;
            }
        }
        self.cluster.start_again();
    }
}

/// Lets every talk go on until it is told to stop.
fn begin(talks: Vec<Talk>, caller: &Arc<Caller>, stop: &Arc<AtomicBool>) -> JoinSet<Talk> {
    let mut set = JoinSet::new();
    for mut talk in talks {
        let (caller, stop) = (Arc::clone(caller), Arc::clone(stop));
        set.spawn(async move {
            let mut answered = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                if talk.one_step(&caller).await {
                    answered = Instant::now();
                } else {
                    assert!(answered.elapsed() < BACK_WITHIN, "nobody answers any more");
                    pass(Duration::from_millis(5)).await;
                }
            }
            // What was not answered yet is asked again until it is.
            while !talk.one_step(&caller).await {
                assert!(answered.elapsed() < BACK_WITHIN, "nobody answers any more");
                pass(Duration::from_millis(5)).await;
            }
            talk
        });
    }
    set
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_lose_nothing_and_do_nothing_twice_whatever_is_killed() {
    let cluster = match Cluster::start(&[]) {
        Ok(cluster) => cluster,
        Err(why) => return missing(&why),
    };
    let mut house = House::new(cluster).await;
    house.done(&["tenant", "create", TENANT]);
    let key = house.done(&["key", "create", "--tenant", TENANT, "--kind", "handler", "--json"]);
    let key = serde_json::from_str::<serde_json::Value>(&key).unwrap()["key"].as_str().unwrap().to_owned();
    let caller = Arc::new(Caller::of_all(&house.addresses, &key));
    let talks: Vec<Talk> = (0..TALKS).map(|n| Talk::new(&format!("talk-{n}"))).collect();
    let stop = Arc::new(AtomicBool::new(false));
    let talking = begin(talks, &caller, &stop);
    for round in 0..rounds() {
        pass(Duration::from_millis(150 + round * 37 % 131)).await;
        house.kill(round);
    }
    pass(Duration::from_secs(1)).await;
    stop.store(true, Ordering::Relaxed);
    let mut talks = talking.join_all().await;
    let (mut turns, mut bindings, mut unknown) = (0, 0, 0);
    for talk in &mut talks {
        talk.ledger.check_all(&caller).await;
        turns += talk.ledger.turns();
        bindings += talk.ledger.bindings();
        unknown += talk.unknown;
    }
    assert!(house.done(&["verify"]).contains("Every chain holds."));
    assert!(house.done(&["replay", "--verify"]).contains("is as the log says."));
    let rounds = rounds();
    say(&format!(
        "{rounds} kills of two servers, their database and their connections: {turns} turns and {bindings} bindings \
         acknowledged, {unknown} requests unanswered or answered 503"
    ));
    assert!(bindings > 20 && unknown > 20, "{bindings} bound, {unknown} unanswered: nothing was in flight");
}
