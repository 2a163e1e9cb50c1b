//! StateBench, replayed in process and scored as the probe scores it.

pub(crate) mod data;
#[path = "../../../examples/statebench/noise.rs"]
mod noise;
mod replay;
#[path = "../../../examples/statebench/score.rs"]
mod score;
#[path = "../../../examples/statebench/state.rs"]
mod state;
#[path = "../../../examples/statebench/timeline.rs"]
mod timeline;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use noise::with_noise;
use replay::Memory;
use score::{Row, figures, score_query, table_row};
use state::State;
use timeline::said;

/// Replays timelines and asks at every query.
fn rows(timelines: &[Value], budget: u32, noise: usize, dump: Option<&str>) -> (Vec<Row>, State) {
    let (mut rows, mut state) = (Vec::new(), State::default());
    for timeline in timelines {
        let noised = (noise > 0).then(|| with_noise(timeline, timelines, noise));
        let timeline = noised.as_ref().unwrap_or(timeline);
        let mut memory = Memory::new(timeline, 1);
        for (place, event) in timeline["events"].as_array().unwrap().iter().enumerate() {
            if event["type"] != "query" {
                memory.event(event);
                continue;
            }
            let request = memory.request(event["prompt"].as_str().unwrap(), event["ts"].as_str().unwrap(), budget);
            let (context, tokens) = match memory.pack(&request) {
                Ok(pack) => (pack.context, pack.token_summary.used),
                Err(refusal) => {
                    eprintln!("{} refused: {refusal}", timeline["id"]);
                    (String::new(), 0)
                }
            };
            let row = score_query(timeline, place, event, &context, tokens, budget, &said(timeline, place));
            let wanted = dump.is_some_and(|wanted| {
                row.timeline == wanted
                    || row.track == wanted
                        && (!row.missed.is_empty() || !row.exposed.is_empty() || !row.stale_texts.is_empty())
            });
            if wanted {
                println!(
                    "=== {} {}\nQ {}\n{context}MISSED {:?} EXPOSED {:?} STALE {:?}",
                    row.timeline, row.track, event["prompt"], row.missed, row.exposed, row.stale_texts
                );
            }
            rows.push(row);
            state.look(timeline, place, &memory.facts());
        }
    }
    (rows, state)
}

fn report(name: &str, rows: &[Row]) {
    println!("| {name} | q | cov | cov_a | exp | exp_c | qexp | perf | dec | stale | tok | p95 | max | over |");
    println!("{}", table_row("all", &figures(rows)));
    let core = |row: &&Row| row.track != "hallucination_resistance" && row.track != "enterprise_privacy";
    println!("{}", table_row("core", &figures(rows.iter().filter(core))));
    let mut tracks: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        tracks.entry(&row.track).or_default().push(row);
    }
    for (track, rows) in tracks {
        println!("{}", table_row(track, &figures(rows)));
    }
}

/// `cargo test --test state_layer statebench -- --nocapture` prints the figures. `SPLITS`, `NOISE`, `BUDGET` and `DUMP`
/// (a timeline or a track) ask for others; what must hold is only asked of whole splits without noise.
#[test]
fn replayed_in_process_the_memory_keeps_its_figures() {
    let dump = data::setting("DUMP");
    let noise = data::setting("NOISE").and_then(|n| n.parse().ok()).unwrap_or(0);
    let budget = data::setting("BUDGET").and_then(|n| n.parse().ok()).unwrap_or(8000);
    let splits = data::setting("SPLITS").unwrap_or_else(|| "dev".to_owned());
    for split in splits.split(' ') {
        let Some(timelines) = data::split(split) else {
            eprintln!("StateBench is not here: {split} was not replayed");
            continue;
        };
        let (rows, state) = rows(&timelines, budget, noise, dump.as_deref());
        report(&format!("{split}, {budget}, noise {noise}"), &rows);
        println!("{state}");
        let all = figures(&rows);
        assert!(all.over.abs() < f64::EPSILON, "{split}: a pack over its budget");
        if noise == 0 && budget == 8000 {
            assert!(all.cov >= 72.0 && all.cov_a >= 97.0, "{split}: coverage {} and {}", all.cov, all.cov_a);
            assert!(all.exp <= 6.0, "{split}: dead values exposed {}", all.exp);
            assert!(all.perf >= 60.0, "{split}: perfect {}", all.perf);
        }
    }
}

/// As over HTTP: a turn that was said when another was keeps its time, and is not put after it.
#[test]
fn turns_of_one_instant_keep_their_time() {
    let at = "2025-01-02T10:00:00";
    let mut memory = Memory::new(&json!({"actors": {"user": {"id": "u1"}}, "initial_state": {}}), 1);
    for text in ["The deadline is March 31.", "Change of plans: the budget is $500 now."] {
        memory.event(&json!({"type": "conversation_turn", "speaker": "user", "text": text, "ts": at}));
    }
    let times: Vec<_> = memory.space.readings.values().map(|reading| reading.at).collect();
    assert_eq!(times, [replay::instant(at); 2]);
}
