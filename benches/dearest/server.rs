//! The server as a process of its own, its callers, and what it says about the time spent under its writer.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::{Method, StatusCode};
use serde_json::Value;

/// A running server; it ends with this value.
pub(crate) struct Server {
    child: Child,
    address: String,
    metrics: String,
    database: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The program of this build, or the one that `--server` names, to measure one that was built before.
fn program() -> String {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--server").skip(1);
    arguments.next().unwrap_or_else(|| env!("CARGO_BIN_EXE_cscp").to_owned())
}

fn cscp(database: &str) -> Command {
    let mut command = Command::new(program());
    command.args(["--database", database]).env("CSCP_LOG", "error").stdin(Stdio::null());
    command
}

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// An address that nobody listens on at the moment.
fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

impl Server {
    /// Starts one on a database, with these arguments beside its own.
    pub(crate) fn start(database: &str, arguments: &[&str]) -> Self {
        done(cscp(database).arg("migrate"));
        let metrics = free_address();
        let mut command = cscp(database);
        command.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--metrics-listen",
            &metrics,
            "--no-demo-tenant",
            "--no-rate-limits",
        ]);
        let mut child = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let listens = lines.find_map(|line| line.strip_prefix("cscp listens on http://").map(str::to_owned));
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address: listens.unwrap(), metrics, database: database.to_owned() }
    }

    /// A caller with a new key of this kind.
    pub(crate) fn caller(&self, tenant: &str, kind: &str) -> Caller {
        // It may be there already; the key tells whether it is.
        drop(cscp(&self.database).args(["tenant", "create", tenant]).output());
        let key = done(cscp(&self.database).args(["key", "create", "--tenant", tenant, "--kind", kind, "--json"]));
        let key = serde_json::from_str::<Value>(&key).unwrap()["key"].as_str().unwrap().to_owned();
        let client = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build().unwrap();
        Caller { base: format!("http://{}", self.address), key, client, sent: AtomicU64::new(0) }
    }

    /// What the writer did so far.
    pub(crate) async fn worked(&self) -> Worked {
        let text = reqwest::get(format!("http://{}/metrics", self.metrics)).await.unwrap().text().await.unwrap();
        let of = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.map_or(0.0, |value| value.parse::<f64>().unwrap())
        };
        let within = text.lines().filter_map(|line| {
            let (bound, count) = line.strip_prefix("cscp_erasing_step_seconds_bucket{le=\"")?.split_once("\"} ")?;
            Some((bound.to_owned(), count.parse().unwrap()))
        });
        Worked {
            batches: of("cscp_batch_seconds_count"),
            seconds: of("cscp_batch_seconds_sum"),
            steps: of("cscp_erasing_step_seconds_count"),
            stepping: of("cscp_erasing_step_seconds_sum"),
            within: within.collect(),
        }
    }
}

/// What the writer did up to a moment.
pub(crate) struct Worked {
    /// Batches of the committer, and the seconds that they took from asking for the lock to the commit.
    pub(crate) batches: f64,
    pub(crate) seconds: f64,
    /// Steps of erasures of spaces, which go beside the committer, and their seconds.
    pub(crate) steps: f64,
    pub(crate) stepping: f64,
    /// How many of the steps took at most so many seconds.
    within: Vec<(String, f64)>,
}

impl Worked {
    /// The bound, in seconds, within which all steps since then were.
    pub(crate) fn longest_step(&self, since: &Self) -> String {
        let before =
            |bound: &str| since.within.iter().find(|(other, _)| other == bound).map_or(0.0, |(_, count)| *count);
        let steps = self.steps - since.steps;
        let all = self.within.iter().find(|(bound, count)| count - before(bound) >= steps);
        all.map_or_else(String::new, |(bound, _)| bound.clone())
    }
}

/// What was answered.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
}

/// Somebody with an API key.
pub(crate) struct Caller {
    base: String,
    key: String,
    client: reqwest::Client,
    sent: AtomicU64,
}

impl Caller {
    /// Sends a request, whatever becomes of it.
    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> Answer {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let mut request = self.client.request(method, format!("{}{path}", self.base)).bearer_auth(&self.key);
        request = request.header("Idempotency-Key", format!("{self:p}-{number}"));
        if !body.is_null() {
            request = request.json(body);
        }
        // A body that is too large is refused before it has been sent.
        let Ok(answer) = request.send().await else {
            return Answer { status: StatusCode::PAYLOAD_TOO_LARGE, body: Value::Null };
        };
        let status = answer.status();
        Answer { status, body: answer.json().await.unwrap_or_default() }
    }

    /// Sends a request that has to succeed.
    pub(crate) async fn must(&self, method: Method, path: &str, body: &Value) -> Value {
        let answer = self.send(method, path, body).await;
        assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.body);
        answer.body
    }
}
