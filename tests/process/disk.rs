//! A disk without room: 503, reads go on, and when there is room again the same server takes work again.

use std::time::Duration;

use crate::caller::{Answer, Caller, Sent, hello};
use crate::folder::{BINARY, Folder, complained, cscp, has_tool, program};
use crate::metrics::{SHOWN, metrics, value};
use crate::server::Server;
use crate::waiting::until;

/// The largest file that the server may write, in the shell's blocks of 512 or 1,024 bytes. The database with its
/// schema is smaller; its write-ahead log grows larger before SQLite folds it back.
const BLOCKS: u32 = 2_000;
/// More messages than fit.
const MESSAGES: u32 = 2_000;
/// Nothing waits for a database that says no.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// A server that cannot write large files. The limit is a soft one: whoever started it may lift it again.
fn cramped(folder: &Folder) -> Server {
    let script = format!("trap '' XFSZ; ulimit -S -f {BLOCKS} || exit 1; exec \"$@\"");
    let mut command = program("sh");
    command.args(["-c", &script, "sh", BINARY, "--no-demo-tenant"]).args(SHOWN);
    command.args(["--listen", "127.0.0.1:0", "--database"]).arg(folder.database());
    Server::spawn(&mut command)
}

fn make_room(server: &Server) {
    let pid = server.pid().to_string();
    assert!(program("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status().unwrap().success());
}

async fn in_time(caller: &Caller, sent: &Sent) -> Answer {
    tokio::time::timeout(ANSWERS_WITHIN, caller.send(sent)).await.expect("an answer in time")
}

fn expect_unavailable(answer: &Answer) {
    assert_eq!((answer.status, answer.text("/code")), (503, "unavailable"), "{answer:?}");
    assert!(answer.headers.contains_key("retry-after"), "{answer:?}");
}

/// Posts until nothing more fits: what was acknowledged, and the message that was not.
async fn fill(caller: &Caller) -> (Vec<(Sent, Answer)>, Sent) {
    let mut acknowledged = Vec::new();
    for n in 0..MESSAGES {
        let sent = hello(&format!("wamid.{n}"), &format!("talk-{n}"));
        let answer = in_time(caller, &sent).await;
        if !answer.is_done() {
            expect_unavailable(&answer);
            return (acknowledged, sent);
        }
        acknowledged.push((sent, answer));
    }
    panic!("{MESSAGES} messages fit: the limit does not work");
}

/// Whoever watches learns of it: by the metrics, and by asking.
async fn expect_told(server: &Server, before: usize) {
    let shown = metrics(server).await;
    let refused = "cscp_refused_operations_total{reason=\"unavailable\"}";
    assert_eq!(value(&shown, "cscp_writable"), Some(0.0), "{shown}");
    assert!(value(&shown, refused).is_some_and(|refused| refused >= 17.0), "{before} fitted\n{shown}");
    let asked = cscp().args(["health", "--url", &format!("{}/readyz", server.base)]).output().unwrap();
    let complaint = complained(&asked);
    assert!(asked.status.code() == Some(1) && complaint.contains("503, storage failing"), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_503_and_recovers_without_help() {
    if !has_tool("prlimit", "a full disk") {
        return;
    }
    let folder = Folder::with_tenant();
    let key = folder.key("handler");
    let server = cramped(&folder);
    let caller = Caller::new(&server.base, &key);
    let (acknowledged, refused) = fill(&caller).await;
    assert!(acknowledged.len() > 5, "only {} messages fit", acknowledged.len());

    // It stays full, for many at once and whatever was refused before: never a 500, never a hang.
    let more: Vec<Sent> = (0..16).map(|n| hello(&format!("wamid.full.{n}"), &format!("full-{}", n % 4))).collect();
    let mut asked = tokio::task::JoinSet::new();
    for sent in more.clone() {
        let caller = caller.clone();
        asked.spawn(async move { in_time(&caller, &sent).await });
    }
    asked.join_all().await.iter().for_each(expect_unavailable);
    let ready = in_time(&caller, &Sent::get("/readyz")).await;
    assert_eq!((ready.status, ready.text("/storage")), (503, "failing"), "who sends requests here is told not to");
    for (sent, answer) in &acknowledged {
        let context_id = answer.text("/context/context_id");
        let read = in_time(&caller, &Sent::get(&format!("/v1/contexts/{context_id}"))).await.done();
        assert_eq!(read.text("/context_id"), context_id, "{sent:?}");
    }
    in_time(&caller, &Sent::get("/healthz")).await.done();

    expect_told(&server, acknowledged.len()).await;

    make_room(&server);
    let again = until("work is taken again", ANSWERS_WITHIN, async || {
        Some(in_time(&caller, &refused).await).filter(Answer::is_done)
    });
    assert_eq!(again.await.body["duplicate"], false, "what was refused was not done");
    assert_eq!(in_time(&caller, &Sent::get("/readyz")).await.done().text("/storage"), "ok");
    for sent in &more {
        assert_eq!(in_time(&caller, sent).await.done().body["duplicate"], false, "what was refused was not done");
    }
    for (sent, answer) in &acknowledged {
        let again = in_time(&caller, sent).await.done();
        assert_eq!((&again.body["duplicate"], again.verdict()), (&true.into(), answer.verdict()), "{sent:?}");
    }
    server.stop().await;
    folder.expect_sound().await;
}
