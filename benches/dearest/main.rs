//! The dearest requests that the server accepts: how long each keeps the writer, and what that does to a neighbour.
//!
//! Every writing operation gets a body at its limits, over a state at its limits. Printed is the time from asking for the
//! lock to the commit, all batches of the request together, and its ratio to an ordinary message of the same run. Then one
//! tenant does its worst, over and over, while another one posts messages: its p99 stands beside the quiet one of the
//! same run. The server is a process of its own.
//!
//! `cargo bench --bench dearest` · `-- --only sqlite|postgres` · `-- --case WORD` for cases with this word in their names ·
//! `-- --neighbours` for that part alone, `-- --cases` for the other · `-- --server FILE` for a program built before

#![expect(clippy::unwrap_used, reason = "a database or a server that cannot be started is nothing to measure")]

mod bodies;
mod cases;
mod measure;
mod neighbours;
#[path = "../../tests/postgres/mod.rs"]
mod postgres;
mod server;
mod turns;

use server::Server;

/// What a PostgreSQL is set to that is started for this: nothing but its own defaults, every commit durable.
const SERVER: &[&str] = &[];

/// What is asked for.
#[derive(Debug, Default)]
struct Wanted {
    only: Option<String>,
    case: Option<String>,
    cases: bool,
    neighbours: bool,
}

impl Wanted {
    fn asked_for() -> Self {
        let arguments: Vec<String> = std::env::args().collect();
        let has = |name: &str| arguments.iter().any(|argument| argument == name);
        let after = |name: &str| {
            let at = arguments.iter().position(|argument| argument == name)?;
            arguments.get(at + 1).cloned()
        };
        let case = after("--case");
        let cases = !has("--neighbours");
        Self { only: after("--only"), neighbours: !has("--cases") && case.is_none(), cases, case }
    }
}

async fn measure(name: &'static str, database: &str, wanted: &Wanted) {
    let server = Server::start(database, &[]);
    if wanted.cases {
        println!("\n{name}: time under the writer\n");
        cases::all(&server, wanted.case.as_deref()).await;
    }
    if wanted.neighbours {
        println!("\n{name}: a neighbour, while one tenant does its worst\n");
        neighbours::all(&server).await;
    }
}

#[tokio::main]
async fn main() {
    let wanted = Wanted::asked_for();
    let includes = |name: &str| wanted.only.as_ref().is_none_or(|only| only == name);
    if includes("sqlite") {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bench.db").display().to_string();
        measure("SQLite", &file, &wanted).await;
    }
    if includes("postgres") {
        match postgres::database().await {
            Some(url) => measure("PostgreSQL", &url, &wanted).await,
            None => println!("\nPostgreSQL: not measured, there is none"),
        }
    }
}
