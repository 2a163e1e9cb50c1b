//! Replays a StateBench release file into a running server and scores the context packs it assembles.
//!
//! `cargo run --release --example statebench -- --url http://127.0.0.1:8080 --key cscp_… --file dev.jsonl`
//!
//! No language model is called: what is scored is the text that a model would see. README.md beside this file explains
//! every option and every column.

mod memory;
mod noise;
mod score;
mod state;
mod timeline;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::Value;

use memory::{Memory, Server};
use noise::with_noise;
use score::{Row, figures, score_query, table_row};
use state::State;
use timeline::said;

/// What to replay, and where.
#[derive(Debug, Parser)]
#[command(name = "statebench", about = "Replay StateBench timelines into a running server and score its context packs")]
struct Options {
    /// The server.
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    url: String,
    /// A key with the scopes fact:read and fact:write; a handler's has them.
    #[arg(long, env = "CSCP_API_KEY", hide_env_values = true)]
    key: String,
    /// A release file: one timeline a line. May be given several times.
    #[arg(long, required = true)]
    file: Vec<PathBuf>,
    /// Token budgets to ask for at every query.
    #[arg(long, value_delimiter = ',', default_value = "8000,1000,500")]
    budgets: Vec<u32>,
    /// Unrelated facts to add to every timeline, and half as many unrelated turns.
    #[arg(long, default_value_t = 0)]
    noise: usize,
    /// Only the first so many timelines of each track.
    #[arg(long)]
    limit: Option<usize>,
    /// Only these tracks.
    #[arg(long, value_delimiter = ',')]
    tracks: Vec<String>,
    /// Print a table for each track.
    #[arg(long)]
    per_track: bool,
    /// Print what was missed and what was exposed, query by query.
    #[arg(long)]
    misses: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("statebench: {what}");
            ExitCode::from(2)
        }
    }
}

/// Everything that was measured.
#[derive(Default)]
struct Measured {
    rows: BTreeMap<u32, Vec<Row>>,
    state: State,
    packs: u32,
    in_packs: Duration,
}

async fn run(options: &Options) -> Result<(), String> {
    let server = Server::new(&options.url, &options.key)?;
    let mut measured = Measured::default();
    for file in &options.file {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let all: Result<Vec<Value>, _> = lines.map(serde_json::from_str).collect();
        let all = all.map_err(|error| format!("{}: {error}", file.display()))?;
        for timeline in chosen(&all, options) {
            let noisy = (options.noise > 0).then(|| with_noise(timeline, &all, options.noise));
            let timeline = noisy.as_ref().unwrap_or(timeline);
            replay(&server, timeline, options, &mut measured)
                .await
                .map_err(|what| format!("timeline {}: {what}", timeline["id"].as_str().unwrap_or("without an id")))?;
        }
    }
    report(options, &measured);
    Ok(())
}

/// The timelines to replay.
fn chosen<'t>(all: &'t [Value], options: &Options) -> Vec<&'t Value> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let wanted = |timeline: &&Value| {
        let track = timeline["track"].as_str().unwrap_or_default();
        let count = seen.entry(track).or_default();
        *count += 1;
        let named = options.tracks.is_empty() || options.tracks.iter().any(|wanted| wanted == track);
        named && options.limit.is_none_or(|limit| *count <= limit)
    };
    all.iter().filter(wanted).collect()
}

async fn replay(server: &Server, timeline: &Value, options: &Options, measured: &mut Measured) -> Result<(), String> {
    let mut memory = Memory::open(server, timeline).await?;
    let events = timeline["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (place, event) in events.iter().enumerate() {
        if event["type"] != "query" {
            memory.event(event).await?;
            continue;
        }
        let said = said(timeline, place);
        for &budget in &options.budgets {
            let began = Instant::now();
            let (context, tokens) = memory.pack(event, budget).await?;
            measured.in_packs += began.elapsed();
            measured.packs += 1;
            let row = score_query(timeline, place, event, &context, tokens, budget, &said);
            if options.misses && !(row.missed.is_empty() && row.exposed.is_empty()) {
                println!("{} at {budget}: missed {:?}, exposed {:?}", row.timeline, row.missed, row.exposed);
            }
            measured.rows.entry(budget).or_default().push(row);
        }
        measured.state.look(timeline, place, &memory.facts().await?);
    }
    memory.close().await
}

fn report(options: &Options, measured: &Measured) {
    for (budget, rows) in measured.rows.iter().rev() {
        println!("\nbudget {budget}, noise {}", options.noise);
        println!("| rows | queries | cov | cov_a | exp | exp_c | qexp | perf | dec | stale | tok | p95 | max | over |");
        println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
        println!("{}", table_row("all", &figures(rows)));
        let traps = ["hallucination_resistance", "enterprise_privacy"];
        println!("{}", table_row("core", &figures(rows.iter().filter(|row| !traps.contains(&row.track.as_str())))));
        if options.per_track {
            let mut tracks: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
            rows.iter().for_each(|row| tracks.entry(&row.track).or_default().push(row));
            for (track, rows) in tracks {
                println!("{}", table_row(track, &figures(rows)));
            }
        }
    }
    println!("\n{}", measured.state);
    let each = measured.in_packs.as_secs_f64() * 1_000.0 / f64::from(measured.packs.max(1));
    println!("{} packs, {each:.2} ms each as the client sees it", measured.packs);
}
