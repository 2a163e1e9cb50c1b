//! Load for a running server: conversations that are played step by step, each answer checked.
//!
//! `cargo run --release --example load -- --url http://127.0.0.1:8080 --key cscp_… --clients 64 --seconds 10`
//!
//! Closed loop: each client sends its next request when the last one is answered. A conversation says something
//! ordinary, is asked for a confirmation, says yes, and has its command bound and its result recorded; one message in
//! twenty is delivered twice. An answer other than the expected one counts as an error. See `docs/PERFORMANCE.md`.

mod machine;
mod play;
mod tally;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use machine::{file_bytes, processor_seconds, resident_bytes};
use play::Client;
use tally::Tally;

/// Drives a running server and measures it.
#[derive(Debug, Clone, Parser)]
struct Options {
    /// The server: plain HTTP
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    url: String,

    /// An API key of the kind handler
    #[arg(long)]
    key: String,

    /// How many requests are under way at once
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    clients: u32,

    /// How long to go on; what was begun is finished
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: u64,

    /// Over how many conversations the clients spread; fewer than clients means that they share
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    conversations: u32,

    /// The server's process: prints the memory it holds and the processor time it uses
    #[arg(long)]
    pid: Option<u32>,

    /// The server's SQLite file: prints how much it and its log grew
    #[arg(long)]
    database: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    // One thread: the client shares the machine with the server and should take little of it.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error.to_string()),
    };
    match runtime.block_on(run(&options)) {
        Ok(tally) if tally.errors() == 0 => ExitCode::SUCCESS,
        Ok(tally) => fail(&format!("{} answers were not the expected ones", tally.errors())),
        Err(what) => fail(&what),
    }
}

fn fail(what: &str) -> ExitCode {
    eprintln!("load: {what}");
    ExitCode::FAILURE
}

async fn run(options: &Options) -> Result<Tally, String> {
    let address = options.url.strip_prefix("http://").ok_or("the address has to begin with http://")?;
    let address = address.trim_end_matches('/').to_owned();
    let (memory, bytes) = (options.pid.and_then(resident_bytes), options.database.as_deref().map(file_bytes));
    let worked = options.pid.and_then(processor_seconds);
    let began = Instant::now();
    let until = began + Duration::from_secs(options.seconds);
    let run_name = play::run_name();
    let mut clients = Vec::new();
    for number in 0..options.clients {
        let mut client = Client::new(&run_name, number, options.clients, options.conversations);
        let (address, key) = (address.clone(), options.key.clone());
        clients.push(tokio::spawn(async move { client.play(&address, &key, until).await }));
    }
    let mut tally = Tally::default();
    for client in clients {
        tally.add(client.await.map_err(|error| error.to_string())?);
    }
    let took = began.elapsed().as_secs_f64();
    println!("{} clients, {} conversations, {took:.1} s", options.clients, options.conversations);
    tally.print(took);
    if let (Some(before), Some(after)) = (memory, options.pid.and_then(resident_bytes)) {
        println!("memory: {:.1} MiB before, {:.1} MiB after", machine::mebibytes(before), machine::mebibytes(after));
    }
    if let (Some(before), Some(after)) = (worked, options.pid.and_then(processor_seconds)) {
        let micros = (after - before) * 1e6 / f64::from(u32::try_from(tally.requests().max(1)).unwrap_or(u32::MAX));
        println!("processor: {:.2} s, {micros:.0} µs per request", after - before);
    }
    if let (Some(before), Some(path)) = (bytes, options.database.as_deref()) {
        let after = file_bytes(path);
        let grown = after.saturating_sub(before);
        let exchanges = tally.exchanges().max(1);
        println!("database: {:.1} MiB, grown by {} bytes per exchange", machine::mebibytes(after), grown / exchanges);
    }
    Ok(tally)
}
