//! A database that answers nothing any more, because it is gone or because its machine hangs: callers are told soon, reads and
//! writes alike, and it is found again without help (S16).

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::caller::{Answer, Caller, Sent, hello};
use crate::folder::{TENANT, cscp, printed};
use crate::postgres::{Cluster, missing};
use crate::server::Server;
use crate::waiting::until;

/// Far below what one statement may take, and above the five seconds that are promised: the machine has other tests to run.
const TOLD_WITHIN: Duration = Duration::from_secs(9);
/// From its return to the first answer.
const BACK_WITHIN: Duration = Duration::from_secs(30);

fn done(url: &str, arguments: &[&str]) -> String {
    let output = cscp().args(arguments).args(["--database", url]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    printed(&output)
}

async fn soon(caller: &Caller, sent: &Sent) -> Answer {
    tokio::time::timeout(TOLD_WITHIN, caller.send(sent)).await.expect("an answer soon")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_database_is_told_soon_and_found_again() {
    let mut cluster = match Cluster::start(&[]) {
        Ok(cluster) => cluster,
        Err(why) => return missing(&why),
    };
    let url = cluster.url();
    done(&url, &["tenant", "create", TENANT]);
    let key = done(&url, &["key", "create", "--tenant", TENANT, "--kind", "handler", "--json"]);
    let key = serde_json::from_str::<Value>(&key).unwrap()["key"].as_str().unwrap().to_owned();
    let mut command: Command = cscp();
    command.args(["--database", &url, "--listen", "127.0.0.1:0", "--no-demo-tenant", "--ops-listen", "off"]);
    let server = Server::spawn(&mut command);
    let caller = Caller::new(&server.base, &key);
    for (round, [away, back]) in [["freeze", "thaw"], ["stop", "start"]].into_iter().enumerate() {
        caller.send(&hello(&format!("wamid.{round}"), "talk")).await.done();
        cluster.tell(away).unwrap();
        let (write, read) = (hello(&format!("wamid.lost.{round}"), "talk"), Sent::get("/v1/policies"));
        let ready = Sent::get("/readyz");
        // All at once: none of them is told because another one has waited before.
        let (told, looked) = tokio::join!(soon(&caller, &write), soon(&caller, &ready));
        assert_eq!((told.status, told.text("/code")), (503, "unavailable"), "{away}: {told:?}");
        assert!(told.headers.contains_key("retry-after"), "{away}: {told:?}");
        assert_eq!((looked.status, looked.text("/storage")), (503, "unavailable"), "{away}: {looked:?}");
        let asked = soon(&caller, &read).await;
        assert_eq!((asked.status, asked.text("/code")), (503, "unavailable"), "{away}: {asked:?}");
        if back == "start" {
            cluster.start_again();
        } else {
            cluster.tell(back).unwrap();
        }
        until("an answer after the return", BACK_WITHIN, async || caller.send(&write).await.is_done().then_some(()))
            .await;
        until("readiness after the return", BACK_WITHIN, async || {
            (caller.send(&ready).await.status == 200).then_some(())
        })
        .await;
    }
    server.stop().await;
    assert!(done(&url, &["verify"]).contains("Every chain holds"));
}
