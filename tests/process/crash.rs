//! SIGKILL under load: what was acknowledged is there, what was not can be asked again (S4, S6, S16).

use std::time::Duration;

use tokio::task::JoinSet;

use crate::caller::Caller;
use crate::folder::Folder;
use crate::postgres::say;
use crate::server::Server;
use crate::talk::Talk;
use crate::waiting::pass;

const ROUNDS: u64 = 100;
const TALKS: usize = 12;
/// A run in which hardly anything was in flight when the server died has tested nothing.
const UNKNOWN_AT_LEAST: usize = 300;
const BINDINGS_AT_LEAST: usize = 100;

/// How long a server lives under load: 20 to 150 ms, each round another time.
fn life(round: u64) -> Duration {
    Duration::from_millis(20 + round * 37 % 131)
}

/// What is done with every talk at once.
#[derive(Debug, Clone, Copy)]
enum Act {
    CheckNews,
    GoOn,
    CheckAll,
}

/// Begins to do it; the talks come back from the set.
fn begin(talks: Vec<Talk>, caller: &Caller, act: Act) -> JoinSet<Talk> {
    let mut set = JoinSet::new();
    for mut talk in talks {
        let caller = caller.clone();
        set.spawn(async move {
            match act {
                Act::CheckNews => talk.ledger.check_news(&caller).await,
                Act::GoOn => talk.go_on(&caller).await,
                Act::CheckAll => talk.ledger.check_all(&caller).await,
            }
            talk
        });
    }
    set
}

fn sum(talks: &[Talk], of: impl Fn(&Talk) -> usize) -> usize {
    talks.iter().map(of).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_under_load_loses_nothing_acknowledged() {
    let folder = Folder::with_tenant();
    let key = folder.key("handler");
    let mut talks: Vec<Talk> = (0..TALKS).map(|n| Talk::new(&format!("talk-{n}"))).collect();
    for round in 0..ROUNDS {
        let mut server = Server::start(&folder);
        let caller = Caller::new(&server.base, &key);
        talks = begin(talks, &caller, Act::CheckNews).join_all().await;
        let talking = begin(talks, &caller, Act::GoOn);
        pass(life(round)).await;
        server.kill();
        talks = talking.join_all().await;
    }
    let server = Server::start(&folder);
    let caller = Caller::new(&server.base, &key);
    talks = begin(talks, &caller, Act::CheckAll).join_all().await;
    server.stop().await;
    folder.expect_sound().await;
    let (turns, bindings) = (sum(&talks, |talk| talk.ledger.turns()), sum(&talks, |talk| talk.ledger.bindings()));
    let unknown = sum(&talks, |talk| talk.unknown);
    say(&format!("{ROUNDS} kills: {turns} turns and {bindings} bindings acknowledged, {unknown} requests cut off"));
    assert!(unknown >= UNKNOWN_AT_LEAST && bindings >= BINDINGS_AT_LEAST, "{unknown} cut off, {bindings} bound");
}
