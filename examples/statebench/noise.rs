//! Noise: unrelated facts and turns of other timelines, chosen as the probe chooses them, so that the two can be
//! compared line by line.

use std::collections::BTreeSet;

use md5::{Digest as _, Md5};
use serde_json::{Value, json};

use super::score::{contains_phrase, phrases};
use super::timeline::list;

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
    let start = remainder(&Md5::digest(timeline["id"].as_str().unwrap_or_default()), pool.len());
    let (mut facts, mut turns, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
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
    list(&timeline["events"])
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
    let Some(initial) = noisy["initial_state"]["persistent_facts"].as_array_mut() else { return noisy };
    let noise = facts.iter().enumerate().map(|(place, (key, value))| {
        json!({"id": format!("F-NOISE-{place:03}"), "key": key, "value": value, "ts": "2025-01-02T00:00:00", "scope": "global",
               "source": {"type": "user", "identity": null, "authority": "peer"}, "depends_on": [], "is_constraint": false})
    });
    initial.splice(0..0, noise.collect::<Vec<_>>());
    let Some(events) = noisy["events"].as_array_mut() else { return noisy };
    let Some(query) = events.iter().position(|event| event["type"] == "query") else { return noisy };
    let at = events[query]["ts"].clone();
    let said = turns.iter().map(|text| json!({"ts": at, "type": "conversation_turn", "speaker": "user", "text": text}));
    events.splice(query..query, said.collect::<Vec<_>>());
    noisy
}

fn remainder(digest: &[u8], modulus: usize) -> usize {
    digest.iter().fold(0, |rest, byte| (rest * 256 + usize::from(*byte)) % modulus)
}
