//! The server, and what it has to beat: a transaction for each message, written by hand.
//!
//! The program written by hand writes the same rows with the same bodies and indexes under the same durability, and
//! looks for a duplicate and for the state first, as any server of this kind has to. It speaks no HTTP, decides nothing,
//! hashes nothing and parses nothing. The server does all of that, as a process of its own that is driven over HTTP, its
//! client on the same processors. Both begin with copies of the same data, and they take turns.
//!
//! Rows per message: `streams` updated, `contexts` updated, `messages`, `log_entries` and `log_payloads` inserted.
//!
//! `cargo bench --bench baseline` · `-- --short` for a quick look · `-- --long` · `-- --only sqlite|postgres`

#![expect(clippy::unwrap_used, reason = "a database or a server that cannot be started is nothing to measure")]

mod in_postgres;
mod in_sqlite;
#[path = "../../tests/postgres/mod.rs"]
mod postgres;
mod rounds;
mod server;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use rounds::{Round, median, round};
use server::Server;

/// What a PostgreSQL is set to that is started for this: nothing but its own defaults, every commit durable.
const SERVER: &[&str] = &[];
/// Conversations in which something is going on when the measurement begins.
const CONVERSATIONS: u64 = 10_000;
/// How many are at it at once.
const CLIENTS: [u64; 3] = [1, 16, 64];

/// Somebody who stores one message at a time.
#[async_trait]
pub(crate) trait Way: Send + Sync {
    /// Stores message `number` in conversation `conversation`; it is durable when this returns. `client` is one of so
    /// many that work at the same time.
    async fn message(&self, client: u64, number: u64, conversation: u64);
}

/// How much is measured.
struct Extent {
    rounds: usize,
    each: Duration,
    only: Option<String>,
}

impl Extent {
    fn asked_for() -> Self {
        let arguments: Vec<String> = std::env::args().collect();
        let has = |name: &str| arguments.iter().any(|argument| argument == name);
        let only = arguments.iter().position(|argument| argument == "--only").and_then(|at| arguments.get(at + 1));
        let (rounds, seconds) = match (has("--short"), has("--long")) {
            (true, _) => (1, 1),
            (_, true) => (5, 8),
            _ => (3, 4),
        };
        Self { rounds, each: Duration::from_secs(seconds), only: only.cloned() }
    }

    fn includes(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == name)
    }
}

/// A database with the server on one copy of the data and the program written by hand on another.
struct Contest {
    name: &'static str,
    server: Server,
    by_hand: Arc<dyn Way>,
}

impl Contest {
    async fn run(&self, extent: &Extent) {
        println!("\n{}: {} rounds of {:?} each, in turns; medians", self.name, extent.rounds, extent.each);
        println!("clients  conversations    by hand/s  p50 ms  p99 ms    cscp/s  p50 ms  p99 ms   ratio  p50 ratio");
        for conversations in [CONVERSATIONS, 1] {
            for clients in CLIENTS {
                let (mut slow, mut fast) = (Vec::new(), Vec::new());
                let over_http: Arc<dyn Way> = Arc::new(self.server.clients(clients).await);
                for _ in 0..extent.rounds {
                    slow.push(round(&self.by_hand, clients, conversations, extent.each).await);
                    fast.push(round(&over_http, clients, conversations, extent.each).await);
                }
                report(clients, conversations, &median(&slow), &median(&fast));
            }
        }
        println!(
            "server: {:.0} MiB resident, ready after {:?}",
            self.server.resident_mebibytes(),
            self.server.ready_after
        );
    }
}

fn report(clients: u64, conversations: u64, slow: &Round, fast: &Round) {
    println!(
        "{clients:>7}{conversations:>15}{:>13.0}{:>8.2}{:>8.2}{:>10.0}{:>8.2}{:>8.2}{:>8.2}{:>11.2}",
        slow.rate,
        slow.p50,
        slow.p99,
        fast.rate,
        fast.p50,
        fast.p99,
        fast.rate / slow.rate,
        fast.p50 / slow.p50,
    );
}

#[tokio::main]
async fn main() {
    let extent = Extent::asked_for();
    if extent.includes("sqlite") {
        in_sqlite::contest().await.run(&extent).await;
    }
    if extent.includes("postgres") {
        match in_postgres::contest().await {
            Some(contest) => contest.run(&extent).await,
            None => println!("\nPostgreSQL: not measured, there is none"),
        }
    }
}
