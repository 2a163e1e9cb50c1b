//! The operators' listener: health whatever callers do, and a port that is taken is told before anything is made.

use std::net::{TcpListener, TcpStream};

use crate::folder::{Folder, complained, cscp, printed};
use crate::leg;
use crate::metrics::base;
use crate::server::Server;

/// What a server answers to `GET /healthz` and `/readyz` under this address.
async fn healthy(base: &str) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for path in ["healthz", "readyz"] {
        let answer = client.get(format!("{base}/{path}")).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{base}/{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_keep_nobody_from_asking_how_it_is() {
    let folder = Folder::with_tenant();
    let few = ["--no-demo-tenant", "--ops-listen", "127.0.0.1:0", "--log-format", "json", "--max-connections", "16"];
    let server = Server::start_with(&folder, &few);
    let address = server.base.trim_start_matches("http://").to_owned();
    // Each is kept open and says nothing; four of one address may be open, so none waits for another.
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(&address).unwrap()).collect();
    healthy(&server.base).await;
    healthy(&base(&server).await).await;
    drop(silent);
    server.stop().await;
}

#[test]
fn a_port_that_is_taken_is_told_before_keys_are_made() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for option in ["--ops-listen", "--metrics-listen", "--listen"] {
        let folder = Folder::empty();
        let other = if option == "--listen" { "--ops-listen" } else { "--listen" };
        let mut command = cscp();
        command.args(["serve", other, "127.0.0.1:0"]);
        command.args([option, &address]).current_dir(folder.path());
        if leg::on_postgres() {
            command.arg("--database").arg(folder.database());
        }
        let refused = command.output().unwrap();
        assert!(!refused.status.success() && complained(&refused).contains(&address), "{option}: {refused:?}");
        assert_eq!(printed(&refused), "", "{option}: no key is shown");
        assert!(!folder.path().join("data/cscp.signing-key").exists(), "{option}");
    }
}
