//! StateBench's published timelines, replayed in process: what its records show without any language model.
//!
//! The data is not part of this project. Without it (`CSCP_STATEBENCH`, else `../shared/statebench`) these tests say so
//! and pass.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use cscp::domain::canonical::Digest;
use cscp::domain::id::Ids;
use cscp::domain::time::Timestamp;
use cscp::state_layer::authority::{AuthorityOrder, Viewer};
use cscp::state_layer::fact::{FactScope, Pointer, Source, Standing};
use cscp::state_layer::operation::{NewFact, SpaceAction};
use cscp::state_layer::reading::{Utterance, read};
use serde_json::Value;

use crate::ledger_support::{World, label, new_fact};

fn folder() -> Option<PathBuf> {
    let folder = crate::statebench::data::folder().join("data");
    if folder.join("dev.jsonl").exists() {
        return Some(folder);
    }
    eprintln!("SKIPPED: no StateBench data at {} (set CSCP_STATEBENCH)", folder.display());
    None
}

fn timelines() -> Vec<Value> {
    let Some(folder) = folder() else { return Vec::new() };
    ["dev.jsonl", "train.jsonl"]
        .iter()
        .flat_map(|name| {
            let text = std::fs::read_to_string(folder.join(name)).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
        })
        .collect()
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

fn time(value: &Value) -> Timestamp {
    Timestamp::parse(&format!("{}Z", text(value, "ts"))).unwrap()
}

fn written(record: &Value, at: Timestamp) -> NewFact {
    let source = &record["source"];
    NewFact {
        label: label(text(record, "id")),
        value: record["value"].clone(),
        source: Source {
            kind: text(source, "type").to_owned(),
            identity: source["identity"].as_str().map(str::to_owned),
            authority: source["authority"].as_str().map(str::to_owned),
            ..Source::default()
        },
        at: Some(at),
        is_constraint: record["is_constraint"].as_bool().filter(|is| *is),
        supersedes: record["supersedes"].as_str().map(|name| Pointer(name.to_owned())),
        ..new_fact(text(record, "key"), "")
    }
}

/// What is done to a timeline before it is replayed.
#[derive(Clone, Copy, PartialEq)]
enum As {
    /// As it is.
    Published,
    /// Without its turns.
    Records,
    /// Without pointers.
    Stripped,
    /// Without the generator's own word that a conclusion fell, and without its turns.
    Silent,
}

fn replayed(timeline: &Value, how: As, until: usize) -> World {
    let mut world = World::new();
    for record in timeline["initial_state"]["persistent_facts"].as_array().unwrap() {
        world.write_one(written(record, time(record)));
    }
    for event in timeline["events"].as_array().unwrap().iter().take(until) {
        let at = time(event);
        world.now = world.now.max(at);
        if event["type"] == "conversation_turn" {
            let words = text(event, "text");
            if matches!(how, As::Records | As::Silent) {
                continue;
            }
            let speaker = text(event, "speaker").to_owned();
            let utterance = Utterance { speaker, text: words.to_owned(), at, authority: None };
            let id = Ids::new(at, &mut world.entropy).reading();
            let reading = read(&utterance, id, world.now, Digest::from_bytes([7; 32]));
            world.done(SpaceAction::Observe(reading));
        }
        for record in event["writes"].as_array().into_iter().flatten() {
            if text(record, "layer") != "persistent_facts" {
                continue;
            }
            let mut fact = written(record, at);
            if how == As::Stripped && event["type"] == "supersession" {
                fact.supersedes = None;
            }
            if how == As::Silent && text(record, "value").contains("[INVALIDATED") {
                continue;
            }
            world.write_one(fact);
        }
    }
    world
}

type Named = BTreeSet<(String, String)>;

/// Facts that pointers put out of force, and all that were written: by label and key.
fn gold(timeline: &Value, until: usize) -> (Named, Named) {
    let name = |record: &Value| (text(record, "id").to_owned(), text(record, "key").to_owned());
    let mut facts: Vec<(String, String)> =
        timeline["initial_state"]["persistent_facts"].as_array().unwrap().iter().map(name).collect();
    let mut dead = Named::new();
    for event in timeline["events"].as_array().unwrap().iter().take(until) {
        for record in event["writes"].as_array().into_iter().flatten() {
            if text(record, "layer") != "persistent_facts" {
                continue;
            }
            if let Some(target) = record["supersedes"].as_str() {
                dead.extend(facts.iter().rev().find(|(id, key)| id == target || key == target).cloned());
            }
            facts.push(name(record));
        }
    }
    (dead, facts.into_iter().collect())
}

fn invalid(world: &World) -> Named {
    world
        .all()
        .values()
        .filter(|fact| !fact.is_valid())
        .filter_map(|fact| Some((fact.label.as_ref()?.as_str().to_owned(), fact.key.clone())))
        .collect()
}

fn last_query(timeline: &Value) -> usize {
    timeline["events"].as_array().unwrap().iter().rposition(|event| event["type"] == "query").unwrap()
}

#[test]
fn every_explicit_pointer_is_honoured() {
    let mut honoured = 0;
    for timeline in timelines() {
        let until = last_query(&timeline);
        let world = replayed(&timeline, As::Published, until);
        let (dead, _) = gold(&timeline, until);
        let missed: Vec<_> = dead.difference(&invalid(&world)).cloned().collect();
        assert!(missed.is_empty(), "{} {missed:?}", timeline["id"]);
        honoured += dead.len();
    }
    println!("pointers honoured: {honoured}");
}

#[test]
fn derived_conclusions_fall_without_being_told() {
    let mut seen = 0;
    for timeline in timelines() {
        if timeline["track"] != "repair_propagation" || text(&timeline, "id").starts_with("ADV") {
            continue;
        }
        let world = replayed(&timeline, As::Silent, usize::MAX);
        let fallen: Vec<&str> = world
            .all()
            .values()
            .filter(|fact| fact.review.is_some() || (fact.key == "derived_decision" && !fact.is_valid()))
            .map(|fact| fact.key.as_str())
            .collect();
        assert_eq!(fallen, ["derived_decision"], "{} {:#?}", timeline["id"], world.all());
        let marked = replayed(&timeline, As::Records, usize::MAX);
        let told = marked.of_key("derived_decision_corrected");
        assert!(told.review.is_some() && told.is_valid(), "{}", timeline["id"]);
        seen += 1;
    }
    println!("repairs: {seen}");
}

/// What each kind of conflict should come to, by a phrase of the timeline's own explanation.
const AUTHORITY: &[(&str, &[&str], &str)] = &[
    ("CEO (c_level) outranks Manager", &["F-AUTH-A"], "override"),
    ("VP outranks individual", &["F-AUTH-A"], "override"),
    ("Board outranks CEO", &["F-AUTH-A"], "override"),
    ("Manager cannot override VP", &["F-AUTH-B"], "reject"),
    ("Contractor cannot override", &["F-AUTH-B"], "reject"),
    ("Managers cannot override system", &["F-AUTH-B"], "reject"),
    ("Same-level", &[], "conflict"),
    ("within delegated", &[], "delegation"),
    ("within CEO-delegated", &[], "delegation"),
    ("Later directive from same authority", &["F-AUTH-A"], "revocation"),
    ("VP revoked prior delegation", &["F-AUTH-A"], "revocation"),
];

#[test]
fn authority_decides_between_instructions() {
    let mut seen: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for timeline in timelines() {
        if timeline["track"] != "authority_hierarchy" {
            continue;
        }
        let query = &timeline["events"][last_query(&timeline)];
        let why = text(&query["ground_truth"], "reasoning");
        let Some((phrase, overruled, kind)) = AUTHORITY.iter().find(|(phrase, ..)| why.contains(phrase)) else {
            continue;
        };
        let world = replayed(&timeline, As::Records, usize::MAX);
        let invalid: Vec<String> = invalid(&world).into_iter().map(|(id, _)| id).collect();
        let contested = world.all().values().filter(|fact| !fact.contested.is_empty()).count();
        let right = invalid == *overruled && (*kind == "conflict") == (contested == 2);
        let count = seen.entry(phrase).or_default();
        count[0] += usize::from(right);
        count[1] += 1;
        if !right {
            eprintln!("{} {phrase}: invalid {invalid:?}, contested {contested}", timeline["id"]);
        }
    }
    println!("authority: {seen:?}");
    assert!(seen.values().all(|[right, all]| right == all), "{seen:?}");
}

#[test]
fn restricted_facts_are_shown_to_those_entitled_and_to_nobody_else() {
    let Some(folder) = folder() else { return };
    let templates: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("templates.json")).unwrap()).unwrap();
    let order = AuthorityOrder::default();
    let viewer = |title: &str, department: &str| Viewer {
        user_id: "u".to_owned(),
        authority: Some(title.to_owned()),
        department: Some(department.to_owned()),
        ..Viewer::default()
    };
    let mut seen = 0;
    for timeline in timelines() {
        if timeline["track"] != "scope_permission" {
            continue;
        }
        let identity = &timeline["initial_state"]["identity_role"];
        let (title, department) = (text(identity, "authority"), text(identity, "department"));
        let high = templates["viewers"]
            .as_array()
            .unwrap()
            .iter()
            .find(|viewer| viewer["org"] == identity["organization"] && viewer["low"] == identity["user_name"]);
        let world = replayed(&timeline, As::Published, 0);
        for fact in world.all().values().filter(|fact| fact.text().starts_with("[RESTRICTED")) {
            assert!(!fact.restricted_to.is_empty(), "{}", fact.text());
            let shown = |viewer: &Viewer| fact.restricted_to.iter().any(|audience| viewer.belongs_to(audience, &order));
            assert!(!shown(&viewer(title, department)), "{title} of {department} sees {:?}", fact.restricted_to);
            if let Some(high) = high {
                let entitled = viewer(text(&high["high"], "role"), department);
                assert!(shown(&entitled), "{:?} does not see {:?}", entitled.authority, fact.restricted_to);
            }
            seen += 1;
        }
    }
    println!("restricted facts: {seen}");
}

#[test]
fn what_is_stripped_of_pointers_is_still_seen() {
    let mut all = [0_usize; 3];
    for timeline in timelines() {
        if timeline["track"] == "supersession_detection" || timeline["track"] == "brutal_realistic" {
            continue;
        }
        let until = last_query(&timeline);
        let (dead, facts) = gold(&timeline, until);
        if dead.is_empty() {
            continue;
        }
        let world = replayed(&timeline, As::Stripped, until);
        let seen: Named = invalid(&world).intersection(&facts).cloned().collect();
        all[0] += seen.intersection(&dead).count();
        all[1] += seen.difference(&dead).count();
        all[2] += dead.difference(&seen).count();
    }
    let [right, wrong, missed] = all;
    println!("stripped, without brutal_realistic: right {right}, wrong {wrong}, missed {missed}");
    if right + missed > 0 {
        assert!(right * 100 >= 95 * (right + wrong) && right * 100 >= 97 * (right + missed), "{all:?}");
    }
}

#[test]
fn any_order_of_arrival_gives_the_same_facts() {
    let content = |world: &World| {
        let mut content: Vec<String> = world
            .all()
            .values()
            .map(|fact| {
                let cause = match &fact.standing {
                    Standing::Valid => None,
                    Standing::Superseded { cause, .. } => Some(*cause),
                };
                let mut former: Vec<&str> = fact.former.iter().map(|former| former.text.as_str()).collect();
                former.sort_unstable();
                format!(
                    "{} {} {:?} {} {:?} {former:?}",
                    fact.key,
                    fact.text(),
                    cause,
                    fact.contested.len(),
                    fact.review.is_some()
                )
            })
            .collect();
        content.sort();
        content
    };
    for timeline in timelines().into_iter().step_by(11) {
        let until = last_query(&timeline);
        let mut sorted = timeline.clone();
        let mut events: Vec<Value> = timeline["events"].as_array().unwrap().iter().take(until).cloned().collect();
        events.reverse();
        sorted["events"] = Value::Array(events);
        let [one, other] = [&timeline, &sorted].map(|timeline| content(&replayed(timeline, As::Published, until)));
        assert_eq!(one, other, "{}", timeline["id"]);
    }
}

#[test]
fn no_published_fact_is_taken_for_less_than_global_unmarked() {
    for timeline in timelines() {
        let world = replayed(&timeline, As::Published, last_query(&timeline));
        for fact in world.all().values().filter(|fact| fact.scope != FactScope::Global && fact.label.is_some()) {
            let told = fact.text().starts_with('[') || fact.text().contains("tentative");
            assert!(told, "{} {:?} {}", timeline["id"], fact.scope, fact.text());
        }
    }
}
