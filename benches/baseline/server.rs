//! The server as a process of its own, and clients that cost as little as can be.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use cscp::domain::time::Clock as _;
use cscp::system::SystemClock;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use super::{CONVERSATIONS, Way};

/// Messages in one request while the conversations are opened.
const OPENED_AT_ONCE: u64 = 100;
pub(crate) const TENANT: &str = "bench";

/// A running server; it ends with this value.
pub(crate) struct Server {
    child: Child,
    address: String,
    key: String,
    pub(crate) ready_after: Duration,
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

/// A handler's key of the tenant, in a new database.
pub(crate) fn handler_key(database: &str) -> String {
    done(cscp(database).arg("migrate"));
    done(cscp(database).args(["tenant", "create", TENANT]));
    let key = done(cscp(database).args(["key", "create", "--tenant", TENANT, "--kind", "handler", "--json"]));
    serde_json::from_str::<Value>(&key).unwrap()["key"].as_str().unwrap().to_owned()
}

impl Server {
    pub(crate) fn start(database: &str, key: &str) -> Self {
        let began = Instant::now();
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
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut listens = lines.filter_map(|line| line.strip_prefix("cscp listens on http://").map(str::to_owned));
        let address = listens.next().unwrap();
        Self { child, address, key: key.to_owned(), ready_after: began.elapsed() }
    }

    /// Opens every conversation with one message.
    pub(crate) async fn open_conversations(&self) {
        let client = self.client().await;
        for first in (0..CONVERSATIONS).step_by(usize::try_from(OPENED_AT_ONCE).unwrap()) {
            let messages: Vec<Value> = (first..first + OPENED_AT_ONCE).map(|number| message(number, number)).collect();
            client.lock().await.post("/v1/messages/batch", &json!({ "messages": messages })).await;
        }
    }

    async fn client(&self) -> Mutex<Client> {
        let stream = TcpStream::connect(&self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let head = format!(
            " HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: ",
            self.address, self.key
        );
        Mutex::new(Client { stream, head, received: Vec::new() })
    }

    pub(crate) async fn clients(&self, number: u64) -> Clients {
        let mut clients = Vec::new();
        for _ in 0..number {
            clients.push(self.client().await);
        }
        Clients(clients)
    }

    pub(crate) fn resident_mebibytes(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1_024.0
    }
}

fn message(number: u64, conversation: u64) -> Value {
    json!({
        "message_id": format!("wamid.{number}"), "conversation_id": format!("conv-{conversation}"),
        "actor_id": format!("person-{conversation}"), "kind": "text", "sent_at": SystemClock.now().to_string(),
        "text": "please send it to my home address",
    })
}

/// One connection.
struct Client {
    stream: TcpStream,
    head: String,
    received: Vec<u8>,
}

impl Client {
    async fn post(&mut self, path: &str, body: &Value) {
        let body = body.to_string();
        let request = format!("POST {path}{}{}\r\n\r\n{body}", self.head, body.len());
        let mut rest = request.as_bytes();
        while !rest.is_empty() {
            self.stream.writable().await.unwrap();
            if let Ok(written) = self.stream.try_write(rest) {
                rest = &rest[written..];
            }
        }
        self.received.clear();
        while !self.is_complete() {
            self.stream.readable().await.unwrap();
            if let Ok(read) = self.stream.try_read_buf(&mut self.received) {
                assert!(read > 0, "the server closed the connection");
            }
        }
        assert!(self.received.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&self.received));
    }

    fn is_complete(&self) -> bool {
        let Some(end) = self.received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return false };
        let head = String::from_utf8_lossy(&self.received[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        self.received.len() >= end + 4 + length.unwrap()
    }
}

/// Connections, one for each client of a round.
pub(crate) struct Clients(Vec<Mutex<Client>>);

#[async_trait]
impl Way for Clients {
    async fn message(&self, client: u64, number: u64, conversation: u64) {
        let mut client = self.0[usize::try_from(client).unwrap()].lock().await;
        client.post("/v1/messages", &message(number, conversation)).await;
    }
}
