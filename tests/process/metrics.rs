//! Metrics as whoever collects them sees them.

use std::time::Duration;

use serde_json::Value;

use crate::caller::{Caller, hello};
use crate::folder::{Folder, complained, cscp, printed};
use crate::server::Server;
use crate::waiting::until;

/// What a server has to be told so that its metrics can be found.
pub(crate) const SHOWN: [&str; 4] = ["--metrics-listen", "127.0.0.1:0", "--log-format", "json"];

/// Where the metrics are, as the log says.
pub(crate) async fn base(server: &Server) -> String {
    until("the address of the metrics", Duration::from_secs(10), async || {
        let logged = server.logged();
        let mut lines = logged.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.find_map(|line| Some(format!("http://{}", line.get("metrics.address")?.as_str()?)))
    })
    .await
}

/// The metrics of a server that was started with [`SHOWN`].
pub(crate) async fn metrics(server: &Server) -> String {
    let url = format!("{}/metrics", base(server).await);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    client.get(url).send().await.unwrap().text().await.unwrap()
}

/// The value of a series, by its name and labels.
pub(crate) fn value(shown: &str, series: &str) -> Option<f64> {
    let line = shown.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
    Some(line.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_says_how_it_is() {
    let folder = Folder::with_tenant();
    let key = folder.key("handler");
    let server = Server::start_with(&folder, &[&["--no-demo-tenant"], SHOWN.as_slice()].concat());
    Caller::new(&server.base, &key).send(&hello("wamid.1", "talk")).await.done();
    let swept = "cscp_sweep_rounds_total{outcome=\"done\"}";
    let within = Duration::from_secs(10);
    until("a round of the sweeper", within, async || value(&metrics(&server).await, swept)).await;
    let shown = metrics(&server).await;
    let of = |series: &str| value(&shown, series).unwrap_or_else(|| panic!("no {series} in:\n{shown}"));
    assert_eq!((of("cscp_writable"), of("cscp_queued_operations")), (1.0, 0.0));
    assert_eq!((of("cscp_sweeper"), of("cscp_due_conversations")), (1.0, 0.0));
    assert!(of(&format!("cscp_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"))) > 0.0);
    assert!(of("process_start_time_seconds") > 1.7e9 && of("process_start_time_seconds") < 1e10);
    if cfg!(target_os = "linux") {
        let megabytes = of("process_resident_memory_bytes") / 1e6;
        assert!(megabytes > 5.0 && megabytes < 2_000.0, "{megabytes} MB");
        assert!(of("process_cpu_seconds_total") < 60.0);
        assert!(of("process_open_fds") > 5.0 && of("process_open_fds") < of("process_max_fds"));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_can_ask_whether_its_server_is_ready() {
    let folder = Folder::with_tenant();
    let server = Server::start(&folder);
    let address = server.base.trim_start_matches("http://").to_owned();
    let ask = |arguments: &[&str]| cscp().args(arguments).output().unwrap();
    for arguments in [["health", "--url", &format!("{}/readyz", server.base)], ["--listen", &address, "health"]] {
        let asked = ask(&arguments);
        assert!(asked.status.success() && printed(&asked) == "ready, storage ok\n", "{asked:?}");
    }
    let wrong = ask(&["health", "--url", &format!("{}/nowhere", server.base)]);
    assert!(wrong.status.code() == Some(1) && complained(&wrong).contains("not ready: 404"), "{wrong:?}");
    server.stop().await;
    let gone = ask(&["--listen", &address, "health"]);
    assert!(gone.status.code() == Some(1) && complained(&gone).contains("no answer"), "{gone:?}");
}
