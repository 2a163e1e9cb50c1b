//! The history of servers that are killed, paused and cut off from their database while they are played on: whatever
//! was acknowledged keeps every rule (S1 to S6, S16, S21).

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::lies::plan;
use crate::checker::{Outcome, Plan, run};
use crate::folder::{Folder, TENANT, repository};
use crate::postgres::{Cluster, missing, say, setting};
use crate::server::Server;
use crate::two_servers::House;
use crate::waiting::pass;

/// How long a paused server stands still: longer than the clients wait for it.
const PAUSE: Duration = Duration::from_millis(700);
const ANSWER_WITHIN: Duration = Duration::from_millis(500);
/// A run in which hardly anything was in flight when something was killed has tested nothing.
const UNANSWERED_AT_LEAST: u64 = 10;
const EXECUTED_AT_LEAST: usize = 3;

/// How many requests are played, where an ordinary run plays so few: see `.ci/README.md`.
fn operations(ordinary: u64) -> u64 {
    setting("CSCP_TEST_HISTORY").and_then(|number| number.parse().ok()).unwrap_or(ordinary)
}

/// The seed of the choices, so that a run can be made once more.
fn seed() -> u64 {
    setting("CSCP_TEST_HISTORY_SEED").and_then(|number| number.parse().ok()).unwrap_or(7)
}

fn begin(addresses: Vec<String>, key: &str, ordinary: u64) -> (Plan, JoinHandle<Result<Outcome, String>>) {
    let addresses = addresses.into_iter().map(|base| base.strip_prefix("http://").unwrap().to_owned());
    let mut plan = Plan { addresses: addresses.collect(), seed: seed(), ..plan("", key, operations(ordinary), 20_000) };
    plan.patience.answer = ANSWER_WITHIN;
    let played = plan.clone();
    let playing = tokio::task::spawn_blocking(move || run(&played, |_| {}));
    (plan, playing)
}

/// How long everything is left alone, each time another time: two servers and a database take longer to come back.
fn calm(least: u64, round: u64) -> Duration {
    Duration::from_millis(least + round * 37 % 261)
}

/// The shipped packs with less time to bind and to report, so that both pass while a test looks.
fn hurried(folder: &Folder) -> PathBuf {
    let (from, to) = (repository().join("policies"), folder.path().join("policies"));
    for part in ["", "lexicons"] {
        std::fs::create_dir_all(to.join(part)).unwrap();
        for file in std::fs::read_dir(from.join(part)).unwrap().flatten().filter(|file| file.path().is_file()) {
            let text = std::fs::read_to_string(file.path()).unwrap();
            let text = text.replace("bind_within_seconds: 60", "bind_within_seconds: 3");
            let text = text.replace("report_within_seconds: 300", "report_within_seconds: 10");
            std::fs::write(to.join(part).join(file.file_name()), text).unwrap();
        }
    }
    to
}

fn judge(what: &str, disturbed: u64, outcome: Result<Outcome, String>) {
    let outcome = outcome.unwrap();
    let Outcome { requests, unanswered, executed, violations, not_promised, .. } = &outcome;
    for violation in violations {
        say(&format!("{} {}\n{}", violation.rule, violation.about, violation.records.join("\n")));
    }
    assert!(violations.is_empty(), "{what}: {} times a rule was broken", violations.len());
    say(&format!(
        "The history of {what}: {requests} requests, {unanswered} of them unanswered, {executed} executions, \
         {disturbed} disturbances, every rule holds."
    ));
    assert!(
        not_promised.is_empty(),
        "rules that were not looked at, because the contract does not say so: {not_promised:?}"
    );
    let busy = *unanswered >= UNANSWERED_AT_LEAST && *executed >= EXECUTED_AT_LEAST;
    assert!(busy, "{unanswered} unanswered, {executed} executed: nothing was in flight");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_history_of_two_servers_on_one_postgresql_keeps_every_rule() {
    let cluster = match Cluster::start(&[]) {
        Ok(cluster) => cluster,
        Err(why) => return missing(&why),
    };
    let mut house = House::new(cluster).await;
    house.done(&["tenant", "create", TENANT, "--policy", "operational"]);
    let key = house.done(&["key", "create", "--tenant", TENANT, "--kind", "admin", "--json"]);
    let key = serde_json::from_str::<serde_json::Value>(&key).unwrap()["key"].as_str().unwrap().to_owned();
    let (plan, playing) = begin(house.addresses.clone(), &key, 2_500);
    let mut disturbed = 0;
    while !playing.is_finished() {
        pass(calm(1_500, disturbed)).await;
        if disturbed % 3 == 2 {
            let server = &house.servers[usize::from(disturbed % 2 == 0)];
            server.pause();
            pass(PAUSE).await;
            server.go_on();
        } else {
            house.kill(disturbed);
        }
        disturbed += 1;
    }
    plan.stop.store(true, Ordering::Relaxed);
    judge("two servers on one PostgreSQL", disturbed, playing.await.unwrap());
    assert!(house.done(&["verify"]).contains("Every chain holds."));
    assert!(house.done(&["replay", "--verify"]).contains("is as the log says."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_history_of_one_server_on_sqlite_keeps_every_rule() {
    let folder = Folder::with_database();
    folder.done(&["tenant", "create", TENANT, "--policy", "operational"]);
    let key = folder.key("admin");
    let policies = hurried(&folder).into_os_string().into_string().unwrap();
    let serve = ["--policies", &policies, "--no-rate-limits", "--no-demo-tenant", "--metrics-listen", "off"];
    let mut server = Server::start_with(&folder, &serve);
    let address = server.base.clone();
    let (plan, playing) = begin(vec![address.clone()], &key, 5_000);
    let mut disturbed = 0;
    while !playing.is_finished() {
        pass(calm(400, disturbed)).await;
        if disturbed % 3 == 2 {
            server.pause();
            pass(PAUSE).await;
            server.go_on();
        } else {
            server.kill();
            let listen = address.strip_prefix("http://").unwrap();
            server = Server::spawn(folder.command(&serve).args(["--listen", listen]));
        }
        disturbed += 1;
    }
    plan.stop.store(true, Ordering::Relaxed);
    judge("one server on SQLite", disturbed, playing.await.unwrap());
    server.stop().await;
    folder.expect_sound().await;
}
