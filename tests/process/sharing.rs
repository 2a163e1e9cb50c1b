//! Two processes on one database: a person makes keys and tenants while the server is busy.

use std::time::Duration;

use crate::caller::{Caller, hello};
use crate::folder::Folder;
use crate::server::Server;
use crate::talk::Talk;

const KEYS: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_can_be_made_while_the_server_is_busy() {
    let folder = Folder::with_tenant();
    let key = folder.key("handler");
    let server = Server::start(&folder);
    let caller = Caller::new(&server.base, &key);
    let mut talking = tokio::task::JoinSet::new();
    for n in 0..8 {
        let caller = caller.clone();
        talking.spawn(async move {
            let mut talk = Talk::new(&format!("talk-{n}"));
            talk.go_on(&caller).await;
            talk
        });
    }
    for n in 0..KEYS {
        folder.done(&["tenant", "create", &format!("tenant-{n}")]);
        let fresh = Caller::new(&server.base, &folder.key("handler"));
        let sent = hello(&format!("wamid.fresh.{n}"), "fresh");
        let answer = tokio::time::timeout(Duration::from_secs(10), fresh.send(&sent)).await.expect("an answer in time");
        answer.done();
    }
    // Each of them fails when it is answered with anything but its due: nobody was turned away meanwhile.
    server.stop().await;
    let talks = talking.join_all().await;
    assert!(talks.iter().all(|talk| talk.ledger.turns() > 0), "somebody was shut out");
    folder.expect_sound().await;
}
