//! The supersession detection track of StateBench, read in place where its files are.

use std::path::PathBuf;

use cscp::state_layer::fact::{Cause, Fact, Former, Standing};
use serde_json::Value;

use crate::readings::{DISTRACTORS, Figures, fact, order, reading_of, replay, time};

fn folder() -> Option<PathBuf> {
    let path = crate::statebench::data::folder();
    path.join("data").is_dir().then_some(path)
}

/// Facts as they stand after a timeline of the track, and what they should be.
fn run(timeline: &Value) -> (Figures, String) {
    let mut steps: Vec<(String, usize, &Value)> = Vec::new();
    for (at, event) in timeline["events"].as_array().unwrap().iter().enumerate() {
        steps.push((event["ts"].as_str().unwrap().to_owned(), at, event));
    }
    steps.sort_by(|left, right| (&left.0, left.1).cmp(&(&right.0, right.1)));
    let mut facts: Vec<Fact> = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    let mut gold: Vec<String> = Vec::new();
    let mut said = String::new();
    for (step, (_, _, event)) in steps.iter().enumerate() {
        let at = i64::try_from(step).unwrap() * 60;
        for write in
            event["writes"].as_array().into_iter().flatten().filter(|write| write["layer"] == "persistent_facts")
        {
            let key = write["key"].as_str().unwrap();
            let authority = write["source"]["authority"].as_str().unwrap_or("peer");
            let mut new = fact(facts.len(), key, write["value"].as_str().unwrap_or_default(), authority, at);
            for old in facts.iter_mut().filter(|old| old.key == key && old.is_valid()) {
                new.former = vec![Former { uid: old.uid.clone(), text: old.text() }];
                old.standing =
                    Standing::Superseded { by: None, cause: Cause::SameKey, reason: String::new(), since: time(at) };
            }
            facts.push(new);
            ids.push(write["id"].as_str().unwrap().to_owned());
        }
        if let Some(text) = event["text"].as_str() {
            text.clone_into(&mut said);
            let speaker = event["speaker"].as_str().unwrap_or("user");
            let _ = replay(&mut facts, &[(speaker.to_owned(), text.to_owned())], at);
        }
        if let Some(reasoning) = event["ground_truth"]["reasoning"].as_str() {
            let list = reasoning.split_once('[').map_or("", |(_, list)| list.trim_end_matches(']'));
            gold =
                list.split(',').map(|id| id.trim().trim_matches('\'').to_owned()).filter(|id| !id.is_empty()).collect();
        }
    }
    let gone: Vec<&String> = facts
        .iter()
        .zip(&ids)
        .filter(|(fact, _)| matches!(fact.standing, Standing::Superseded { cause: Cause::Observation, .. }))
        .map(|(_, id)| id)
        .collect();
    let hit = gold.iter().filter(|id| gone.contains(id)).count();
    let figures = Figures { hit, extra: gone.len() - hit, missed: gold.len() - hit };
    (figures, format!("{said} | gold {gold:?} gone {gone:?}"))
}

#[test]
fn the_detection_track_is_read() {
    let Some(folder) = folder() else {
        eprintln!("SKIPPED: no StateBench files; set CSCP_STATEBENCH");
        return;
    };
    let mut total = Figures::default();
    let mut wrong = std::collections::BTreeSet::new();
    for split in ["train", "dev"] {
        for line in std::fs::read_to_string(folder.join(format!("data/{split}.jsonl"))).unwrap().lines() {
            let timeline: Value = serde_json::from_str(line).unwrap();
            if timeline["track"] != "supersession_detection" {
                continue;
            }
            let (figures, line) = run(&timeline);
            total.add(figures);
            if figures.extra + figures.missed > 0 {
                wrong.insert(line);
            }
        }
    }
    eprintln!(
        "detection track: P {:.1} R {:.1} F1 {:.1} {total:?} {wrong:#?}",
        total.precision(),
        total.recall(),
        total.f1()
    );
    assert!(total.extra == 0 && total.f1() >= 98.0, "{total:?} {wrong:#?}");
}

/// The hand-written set of the probe: key, value, authority, turn, whether it is superseded.
fn set_a(source: &str) -> Vec<(String, String, String, String, bool)> {
    let start = source.find("SET_A: list").unwrap();
    source[start..]
        .lines()
        .skip(1)
        .take_while(|line| !line.starts_with(']'))
        .filter(|line| line.trim_start().starts_with('('))
        .map(|line| {
            let json = line.trim().trim_end_matches(',').trim_start_matches('(').trim_end_matches(')');
            let json = json.replace("True", "true").replace("False", "false");
            let row: Value = serde_json::from_str(&format!("[{json}]")).unwrap();
            let text = |at: usize| row[at].as_str().unwrap().to_owned();
            (text(0), text(1), text(2), row[3][0].as_str().unwrap().to_owned(), row[4].as_bool().unwrap())
        })
        .collect()
}

#[test]
fn the_hand_written_set_is_read() {
    let Some(source) = folder().and_then(|folder| std::fs::read_to_string(folder.join("probe.py")).ok()) else {
        eprintln!("SKIPPED: no StateBench files; set CSCP_STATEBENCH");
        return;
    };
    for crowded in [false, true] {
        let mut total = Figures::default();
        let mut wrong = Vec::new();
        for (key, value, authority, turn, want) in set_a(&source) {
            let mut facts = vec![fact(0, &key, &value, &authority, 0)];
            if crowded {
                facts.extend(
                    DISTRACTORS.iter().enumerate().map(|(at, (key, value))| fact(100 + at, key, value, "peer", 60)),
                );
            }
            let gone = replay(&mut facts, &[("user".to_owned(), turn.clone())], 3_600);
            let hit = usize::from(want && gone.iter().any(|(gone, ..)| *gone == key));
            let figures = Figures { hit, extra: gone.len() - hit, missed: usize::from(want) - hit };
            total.add(figures);
            if figures.extra + figures.missed > 0 {
                wrong.push(format!(
                    "{key}={value}: {turn} -> {:?}",
                    gone.iter()
                        .map(|(key, new, bearing)| (key, new, &bearing.cue, &bearing.reason))
                        .collect::<Vec<_>>()
                ));
            }
        }
        eprintln!(
            "set A, crowded {crowded}: P {:.1} R {:.1} F1 {:.1} {wrong:#?}",
            total.precision(),
            total.recall(),
            total.f1()
        );
        assert!(total.precision() >= 97.0 && total.f1() >= 88.0);
    }
    let _ = (order(), reading_of("user", "x", 0));
}
