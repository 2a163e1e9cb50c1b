//! Supersession read from utterances: precision and recall over written cases, alone and in a crowded store.

use crate::statebench::data::setting;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use cscp::domain::canonical::Digest;
use cscp::domain::id::{FactUid, ReadingId};
use cscp::domain::time::Timestamp;
use cscp::state_layer::authority::AuthorityOrder;
use cscp::state_layer::fact::{Fact, FactScope, Former, MemoryType, Source, Standing};
use cscp::state_layer::reading::{Bearing, Utterance, bearings, read};
use serde_json::Value;

/// Ten facts that have nothing to do with any case.
pub(crate) const DISTRACTORS: &[(&str, &str)] = &[
    ("garden_gate_code", "7731"),
    ("canteen_closing", "19:40"),
    ("roof_inspection", "November 3"),
    ("newsletter_editor", "Ilse Brandt"),
    ("elevator_service_fee", "$312"),
    ("survey_target", "41%"),
    ("archive_shelf", "B-77"),
    ("choir_rehearsal", "Sunday 6pm"),
    ("bicycle_racks", "26 racks"),
    ("lobby_plant", "ficus"),
];

/// Figures of a run.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) hit: usize,
    pub(crate) extra: usize,
    pub(crate) missed: usize,
}

impl Figures {
    pub(crate) fn precision(&self) -> f64 {
        percent(self.hit, self.hit + self.extra)
    }

    pub(crate) fn recall(&self) -> f64 {
        percent(self.hit, self.hit + self.missed)
    }

    pub(crate) fn f1(&self) -> f64 {
        percent(2 * self.hit, 2 * self.hit + self.extra + self.missed)
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.hit += other.hit;
        self.extra += other.extra;
        self.missed += other.missed;
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of cases")]
fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 }
}

pub(crate) fn order() -> AuthorityOrder {
    AuthorityOrder { levels: ["policy", "executive", "manager", "peer"].map(str::to_owned).to_vec() }
}

pub(crate) fn time(seconds: i64) -> Timestamp {
    Timestamp::from_micros((1_750_000_000 + seconds) * 1_000_000)
}

/// A valid fact.
pub(crate) fn fact(number: usize, key: &str, value: &str, authority: &str, at: i64) -> Fact {
    Fact {
        uid: FactUid::parse(&format!("fct_0189000000007000{number:016x}")).unwrap(),
        label: None,
        key: key.to_owned(),
        value: Value::String(value.to_owned()),
        source: Source { kind: "user".to_owned(), authority: Some(authority.to_owned()), ..Source::default() },
        writer_id: None,
        at: time(at),
        recorded_at: time(at),
        scope: FactScope::Global,
        scope_id: None,
        memory_type: MemoryType::User,
        abstraction: None,
        constraint: None,
        restricted_to: Vec::new(),
        supersedes: None,
        reason: None,
        superseded: Vec::new(),
        depends_on: Vec::new(),
        reading_id: None,
        standing: Standing::Valid,
        contested: Vec::new(),
        review: None,
        former: Vec::<Former>::new(),
        history: Vec::new(),
    }
}

pub(crate) fn reading_of(speaker: &str, text: &str, at: i64) -> cscp::state_layer::reading::Reading {
    let utterance = Utterance { speaker: speaker.to_owned(), text: text.to_owned(), at: time(at), authority: None };
    let id = ReadingId::parse("rdg_01890000000070008000000000000001").unwrap();
    read(&utterance, id, time(at), Digest::from_bytes([7; 32]))
}

/// What the turns do to the facts: keys put out of force for certain, with the value in their place.
pub(crate) fn replay(
    facts: &mut [Fact],
    turns: &[(String, String)],
    from: i64,
) -> Vec<(String, Option<String>, Bearing)> {
    let mut gone = Vec::new();
    for (turn, (speaker, text)) in turns.iter().enumerate() {
        let reading = reading_of(speaker, text, from + i64::try_from(turn).unwrap());
        let standing: Vec<&Fact> = facts.iter().filter(|fact| fact.is_valid()).collect();
        for bearing in bearings(&reading, &standing, &order()).into_iter().filter(|bearing| bearing.certain) {
            let hit = facts.iter_mut().find(|fact| fact.uid == bearing.target).unwrap();
            hit.standing = Standing::Superseded {
                by: None,
                cause: cscp::state_layer::fact::Cause::Observation,
                reason: String::new(),
                since: reading.at,
            };
            gone.push((hit.key.clone(), bearing.new_value.clone(), bearing));
        }
    }
    gone
}

struct Case {
    id: String,
    facts: Vec<(String, String, String)>,
    turns: Vec<(String, String)>,
    gold: Vec<String>,
    /// The value in its place, where the case says; `Some(None)` for none.
    #[expect(clippy::option_option, reason = "not said, none, or a value")]
    new: Option<Option<String>>,
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn cases(path: &std::path::Path) -> Vec<Case> {
    let lines = std::fs::read_to_string(path).unwrap();
    lines
        .lines()
        .map(|line| {
            let case: Value = serde_json::from_str(line).unwrap();
            let list = |name: &str| case[name].as_array().unwrap().clone();
            Case {
                id: text(&case, "id"),
                facts: list("facts")
                    .iter()
                    .map(|fact| (text(fact, "key"), text(fact, "value"), text(fact, "authority")))
                    .collect(),
                turns: list("turns").iter().map(|turn| (text(turn, "speaker"), text(turn, "text"))).collect(),
                gold: list("supersedes").iter().map(|key| key.as_str().unwrap().to_owned()).collect(),
                new: case.get("new_value").map(|new| new.as_str().map(str::to_owned)),
            }
        })
        .collect()
}

/// One case: what was found, and a line about it if that is wrong.
fn run(case: &Case, crowded: bool) -> (Figures, bool, Option<String>) {
    let mut facts: Vec<Fact> =
        case.facts.iter().enumerate().map(|(at, (key, value, authority))| fact(at, key, value, authority, 0)).collect();
    if crowded {
        facts.extend(
            DISTRACTORS
                .iter()
                .enumerate()
                .map(|(at, (key, value))| fact(100 + at, key, value, "peer", 60 + i64::try_from(at).unwrap())),
        );
    }
    let gone = replay(&mut facts, &case.turns, 3_600);
    let keys: Vec<&String> = gone.iter().map(|(key, ..)| key).collect();
    let hit = case.gold.iter().filter(|key| keys.contains(key)).count();
    let figures = Figures { hit, extra: gone.len() - hit, missed: case.gold.len() - hit };
    let kept = gone.iter().find(|(key, ..)| case.gold.contains(key)).and_then(|(_, new, _)| new.clone());
    let value_right = hit == 0 || case.new.as_ref().is_none_or(|new| *new == kept);
    let wrong = figures.extra + figures.missed > 0 || !value_right;
    let line = wrong.then(|| {
        let found: Vec<String> = gone
            .iter()
            .map(|(key, new, bearing)| format!("{key} -> {new:?} [{}: {}]", bearing.cue, bearing.reason))
            .collect();
        format!(
            "{} {:?}\n     facts {:?}\n     want {:?} {:?}\n     got  {found:?}",
            case.id, case.turns, case.facts, case.gold, case.new
        )
    });
    (figures, value_right, line)
}

/// Sets of cases with the least F1 that each has to reach, alone and in a crowded store.
const FLOORS: &[(&str, f64)] = &[("dev", 93.0), ("more", 88.0), ("second", 86.0), ("third", 88.0)];

#[test]
fn readings_meet_their_floors() {
    let folder = std::path::PathBuf::from(
        setting("CSCP_UTTERANCES").unwrap_or_else(|| format!("{}/tests/fixtures/utterances", root())),
    );
    let show = setting("CSCP_SHOW_MISSES").unwrap_or_default();
    let mut report = String::new();
    let mut worst = Vec::new();
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    names.sort();
    for crowded in [false, true] {
        let mut total: BTreeMap<String, Figures> = BTreeMap::new();
        for path in &names {
            let language = path.file_stem().unwrap().to_string_lossy().into_owned();
            let (mut values, mut hits) = (0, 0);
            for case in cases(path) {
                let odd = case.id.ends_with(['1', '3', '5', '7', '9']);
                let (figures, value_right, line) = run(&case, crowded);
                total.entry(language.clone()).or_default().add(figures);
                total.entry(format!("{language} {}", if odd { "odd" } else { "even" })).or_default().add(figures);
                total.entry("all".to_owned()).or_default().add(figures);
                let set = language.split('.').next().unwrap_or_default();
                total.entry(format!("set {set}")).or_default().add(figures);
                hits += figures.hit;
                values += figures.hit.min(usize::from(value_right));
                if let Some(line) = line.filter(|_| show.contains(if crowded { "crowded" } else { "alone" })) {
                    writeln!(report, "   {line}").unwrap();
                }
            }
            writeln!(report, "   {language}: new value as it should be kept {values}/{hits}").unwrap();
        }
        for (name, figures) in &total {
            writeln!(
                report,
                "{} {name:10} P {:5.1} R {:5.1} F1 {:5.1}  ({figures:?})",
                if crowded { "crowded" } else { "alone  " },
                figures.precision(),
                figures.recall(),
                figures.f1()
            )
            .unwrap();
        }
        worst.extend(total.into_iter().filter(|(name, _)| name.starts_with("set ")));
    }
    for (name, figures) in worst {
        let f1 = FLOORS.iter().find(|(set, _)| name.ends_with(set)).map_or(70.0, |(_, f1)| *f1);
        assert!(figures.precision() >= 97.0 && figures.f1() >= f1, "{name}: {report}");
    }
    assert!(show.is_empty(), "{report}");
}

/// The root of the repository.
pub(crate) fn root() -> String {
    let own = env!("CARGO_MANIFEST_DIR");
    if std::path::Path::new(own).join("tests/fixtures").is_dir() { own.to_owned() } else { format!("{own}/tree") }
}
