//! Over HTTP, loading included: a pack over 300 facts against a bare read of the same rows.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection, Row as _, SqliteConnection};

use super::corpus::{QUERY, batch};
use super::{micros, postgres};

/// Facts that stand in the space.
const FACTS: usize = 300;

/// A running server; it ends with this value.
struct Server {
    child: Child,
    address: String,
    key: String,
    client: reqwest::Client,
    sent: std::cell::Cell<u64>,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn cscp(database: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cscp"));
    command
        .args(["--database", database])
        .env("CSCP_LOG", "error")
        .env("XDG_STATE_HOME", "/dev/null")
        .stdin(Stdio::null());
    command
}

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

impl Server {
    fn start(database: &str) -> Self {
        done(cscp(database).arg("migrate"));
        done(cscp(database).args(["tenant", "create", "bench"]));
        let key = done(cscp(database).args(["key", "create", "--tenant", "bench", "--kind", "handler", "--json"]));
        let key = serde_json::from_str::<Value>(&key).unwrap()["key"].as_str().unwrap().to_owned();
        let mut command = cscp(database);
        command.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--metrics-listen",
            "off",
            "--no-demo-tenant",
            "--no-rate-limits",
        ]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let (_, rest) = line.split_once("http://")?;
            Some(rest.split(|c: char| c == '/' || c.is_whitespace()).next()?.to_owned())
        });
        std::thread::spawn(move || lines.for_each(drop));
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { child, address: address.unwrap(), key, client, sent: std::cell::Cell::new(0) }
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        self.sent.set(self.sent.get() + 1);
        let request = self.client.post(format!("http://{}{path}", self.address)).bearer_auth(&self.key);
        let request = request.header("Idempotency-Key", format!("bench-{}", self.sent.get()));
        let answer = request.json(body).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.json().await.unwrap()
    }

    async fn fill(&self, space: &str, facts: usize) {
        for start in (0..facts).step_by(150) {
            let path = format!("/v1/fact-spaces/{space}/facts/batch");
            self.post(&path, &batch(start..facts.min(start + 150))).await;
        }
    }

    async fn pack(&self, space: &str) {
        let body = json!({"fact_space": space, "query": QUERY, "token_budget": 2000});
        let pack = self.post("/v1/context-packs", &body).await;
        assert!(pack["token_summary"]["used"].as_u64().unwrap() > 100);
    }

    /// The median time of a pack of a space.
    async fn packs(&self, space: &str, runs: usize) -> Duration {
        let mut times = Vec::new();
        for _ in 0..runs {
            let began = Instant::now();
            self.pack(space).await;
            times.push(began.elapsed());
        }
        times.sort_unstable();
        times[times.len() / 2]
    }
}

enum ByHand {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

const BODIES: &str = "SELECT body FROM space_records WHERE tenant_id = 'bench' AND space_id = 'live' AND live";

impl ByHand {
    async fn read(&mut self) -> usize {
        match self {
            Self::Sqlite(connection) => {
                let rows = sqlx::query(BODIES).fetch_all(connection).await.unwrap();
                rows.iter().map(|row| row.get::<String, _>(0).len()).sum()
            }
            Self::Postgres(connection) => {
                let rows = sqlx::query(BODIES).fetch_all(connection).await.unwrap();
                rows.iter().map(|row| row.get::<String, _>(0).len()).sum()
            }
        }
    }

    async fn median(&mut self, runs: usize) -> Duration {
        let mut times = Vec::new();
        for _ in 0..runs {
            let began = Instant::now();
            assert!(self.read().await > 10_000);
            times.push(began.elapsed());
        }
        times.sort_unstable();
        times[times.len() / 2]
    }
}

/// Prints what packs cost on both databases: alone, beside other spaces, and over history.
pub(crate) async fn report(runs: usize) {
    println!("\nover HTTP, {FACTS} facts, median of {runs}, microseconds");
    println!("| database | pack | bare read | ratio | beside 20,000 facts elsewhere | after 3,000 superseded here |");
    println!("|---|---|---|---|---|---|");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bench.db").display().to_string();
    contest("SQLite", &file, runs).await;
    match postgres::database().await {
        Some(url) => contest("PostgreSQL", &url, runs).await,
        None => println!("PostgreSQL: left out, there is none to be had"),
    }
}

async fn contest(name: &str, database: &str, runs: usize) {
    let server = Server::start(database);
    server.fill("live", FACTS).await;
    let mut by_hand = if database.starts_with("postgres") {
        ByHand::Postgres(PgConnection::connect(database).await.unwrap())
    } else {
        ByHand::Sqlite(SqliteConnection::connect(&format!("sqlite://{database}")).await.unwrap())
    };
    server.packs("live", runs).await;
    let (mut pack, mut bare) = (Duration::MAX, Duration::MAX);
    for _ in 0..3 {
        pack = pack.min(server.packs("live", runs).await);
        bare = bare.min(by_hand.median(runs).await);
    }
    for other in 0..20 {
        server.fill(&format!("other-{other}"), 1_000).await;
    }
    let beside = server.packs("live", runs).await;
    for _ in 0..10 {
        server.fill("live", FACTS).await;
    }
    let after = server.packs("live", runs).await;
    let ratio = micros(pack) / micros(bare);
    let [pack, bare, beside, after] = [pack, bare, beside, after].map(micros);
    println!("| {name} | {pack:.0} | {bare:.0} | {ratio:.1} | {beside:.0} | {after:.0} |");
}
