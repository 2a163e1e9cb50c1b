//! StateBench timelines, read in place, and the probe's noise.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::score::{contains_phrase, phrases};

/// The folder with the release's files: `CSCP_STATEBENCH`, or beside the project.
pub fn folder() -> PathBuf {
    std::env::var_os("CSCP_STATEBENCH")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/statebench"), PathBuf::from)
}

/// The timelines of a split; none, said aloud, where the file is not there.
pub fn split(name: &str) -> Option<Vec<Value>> {
    let path = folder().join("data").join(format!("{name}.jsonl"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("SKIPPED: {} is not there; set CSCP_STATEBENCH to a folder with data/{name}.jsonl", path.display());
        return None;
    };
    Some(text.lines().filter(|line| !line.trim().is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// The generator's templates: viewers and tenants of the checks.
pub fn templates() -> Option<Value> {
    let text = std::fs::read_to_string(folder().join("data/templates.json")).ok()?;
    serde_json::from_str(&text).ok()
}

/// A timeline with `n` unrelated older facts and `n / 2` unrelated turns right before its first query, chosen as the
/// probe chooses them.
pub fn with_noise(timeline: &Value, pool: &[Value], n: usize) -> Value {
    let mut gold: Vec<&str> = Vec::new();
    for event in events(timeline).filter(|event| event["type"] == "query") {
        let truth = &event["ground_truth"];
        gold.extend(phrases(truth, "must_mention").chain(phrases(truth, "must_not_mention")));
        gold.extend(truth["decision"].as_str());
    }
    let golden = |text: &str| gold.iter().any(|phrase| contains_phrase(text, phrase));
    let start = remainder(&md5(timeline["id"].as_str().unwrap_or_default().as_bytes()), pool.len());
    let (mut facts, mut turns, mut seen) = (Vec::new(), Vec::new(), std::collections::BTreeSet::new());
    for k in 0..6 * pool.len() {
        if facts.len() >= n && turns.len() >= n / 2 {
            break;
        }
        let other = &pool[(start + 7919 * k) % pool.len()];
        if other["track"] == timeline["track"] || other["track"] == "scope_permission" {
            continue;
        }
        for (key, value) in candidates(other) {
            if facts.len() < n && !seen.contains(&value) && !golden(&format!("{key}: {value}")) {
                facts.push((format!("n{}_{key}", facts.len()), value.clone()));
                seen.insert(value);
            }
        }
        for event in events(other).filter(|event| event["type"] == "conversation_turn") {
            let text = event["text"].as_str().unwrap_or_default();
            let lower = text.to_lowercase();
            let episode =
                ["hold on", "exploratory", "that's enough", "back to"].iter().any(|word| lower.contains(word));
            if turns.len() < n / 2 && !seen.contains(text) && !golden(text) && !episode {
                turns.push(text.to_owned());
                seen.insert(text.to_owned());
            }
        }
    }
    woven(timeline, &facts, &turns)
}

fn events(timeline: &Value) -> impl Iterator<Item = &Value> {
    timeline["events"].as_array().into_iter().flatten()
}

fn candidates(timeline: &Value) -> Vec<(String, String)> {
    let pair = |fact: &Value| {
        (fact["key"].as_str().unwrap_or_default().to_owned(), fact["value"].as_str().unwrap_or_default().to_owned())
    };
    let initial = timeline["initial_state"]["persistent_facts"].as_array().into_iter().flatten().map(pair);
    let written = events(timeline)
        .filter(|event| event["type"] == "state_write")
        .flat_map(|event| event["writes"].as_array().into_iter().flatten())
        .filter(|write| write["layer"] == "persistent_facts")
        .map(pair);
    initial.chain(written).collect()
}

fn woven(timeline: &Value, facts: &[(String, String)], turns: &[String]) -> Value {
    let mut noisy = timeline.clone();
    let initial = noisy["initial_state"]["persistent_facts"].as_array_mut().unwrap();
    let noise = facts.iter().enumerate().map(|(place, (key, value))| {
        json!({"id": format!("F-NOISE-{place:03}"), "key": key, "value": value, "ts": "2025-01-02T00:00:00", "scope": "global",
               "source": {"type": "user", "identity": null, "authority": "peer"}, "depends_on": [], "is_constraint": false})
    });
    initial.splice(0..0, noise.collect::<Vec<_>>());
    let events = noisy["events"].as_array_mut().unwrap();
    let query = events.iter().position(|event| event["type"] == "query").unwrap();
    let at = events[query]["ts"].clone();
    let said = turns.iter().map(|text| json!({"ts": at, "type": "conversation_turn", "speaker": "user", "text": text}));
    events.splice(query..query, said.collect::<Vec<_>>());
    noisy
}

fn remainder(digest: &[u8; 16], modulus: usize) -> usize {
    digest.iter().fold(0, |rest, byte| (rest * 256 + usize::from(*byte)) % modulus)
}

/// MD5, only because the probe chooses its noise by it.
fn md5(message: &[u8]) -> [u8; 16] {
    const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((message.len() as u64 * 8).to_le_bytes());
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded.chunks_exact(64) {
        let word = |g: usize| u32::from_le_bytes(block[g * 4..g * 4 + 4].try_into().unwrap());
        let [mut a, mut b, mut c, mut d] = state;
        for i in 0..64_usize {
            let (f, g) = match i / 16 {
                0 => ((b & c) | (!b & d), i),
                1 => ((d & b) | (!d & c), (5 * i + 1) % 16),
                2 => (b ^ c ^ d, (3 * i + 5) % 16),
                _ => (c ^ (b | !d), (7 * i) % 16),
            };
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "MD5"
            )]
            let k = (((i + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
            let f = f.wrapping_add(a).wrapping_add(k).wrapping_add(word(g));
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(f.rotate_left(SHIFTS[i / 16][i % 4]));
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d]) {
            *sum = sum.wrapping_add(part);
        }
    }
    let mut digest = [0; 16];
    for (bytes, part) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&part.to_le_bytes());
    }
    digest
}

#[test]
fn md5_is_md5() {
    assert_eq!(hex::encode(md5(b"abc")), "900150983cd24fb0d6963f7d28e17f72");
    assert_eq!(hex::encode(md5(b"")), "d41d8cd98f00b204e9800998ecf8427e");
}
