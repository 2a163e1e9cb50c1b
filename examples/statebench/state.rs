//! What the facts behind the packs show: pointers honoured, and supersessions found in the turns alone.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::score::explicit_gold;
use super::timeline::list;

/// Counts over all timelines.
#[derive(Debug, Default)]
pub struct State {
    pointers: usize,
    honoured: usize,
    found: usize,
    wrong: usize,
    missed: usize,
}

impl State {
    /// Looks at the facts of a timeline as they stand at one of its queries.
    pub fn look(&mut self, timeline: &Value, query: usize, facts: &[Value]) {
        let name = |fact: &Value, member: &str| fact[member].as_str().unwrap_or_default().to_owned();
        let invalid = facts.iter().filter(|fact| fact["is_valid"] == false);
        let invalid: BTreeSet<(String, String)> = invalid.map(|fact| (name(fact, "id"), name(fact, "key"))).collect();
        let pointed: BTreeSet<_> = explicit_gold(timeline, query).into_keys().collect();
        if timeline["track"] != "supersession_detection" {
            self.pointers += pointed.len();
            self.honoured += pointed.intersection(&invalid).count();
            return;
        }
        let Some(wanted) = detection_gold(&list(&timeline["events"]).nth(query).cloned().unwrap_or_default()) else {
            return;
        };
        let pointed: BTreeSet<&str> = pointed.iter().map(|(id, _)| id.as_str()).collect();
        let found: BTreeSet<&str> = invalid.iter().map(|(id, _)| id.as_str()).collect();
        let counts = |id: &&&str| wanted.contains(**id) || !pointed.contains(**id);
        let found: BTreeSet<&str> = found.iter().filter(counts).filter(|id| !id.is_empty()).copied().collect();
        self.found += found.iter().filter(|id| wanted.contains(**id)).count();
        self.wrong += found.iter().filter(|id| !wanted.contains(**id)).count();
        self.missed += wanted.iter().filter(|id| !found.contains(id.as_str())).count();
    }
}

/// The ids that a query of the detection track wants superseded; they stand in its `reasoning`, as text.
fn detection_gold(query: &Value) -> Option<BTreeSet<String>> {
    let reasoning = query["ground_truth"]["reasoning"].as_str()?;
    let (_, rest) = reasoning.split_once("Must detect supersession of: [")?;
    let (ids, _) = rest.split_once(']')?;
    Some(ids.split(',').map(|id| id.trim().trim_matches(['\'', '"']).to_owned()).filter(|id| !id.is_empty()).collect())
}

fn percent(part: usize, whole: usize) -> String {
    let (part, whole) = (u32::try_from(part).unwrap_or(0), u32::try_from(whole).unwrap_or(0));
    if whole == 0 { "-".to_owned() } else { format!("{:.1}", 100.0 * f64::from(part) / f64::from(whole)) }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "explicit pointers honoured: {} % of {}", percent(self.honoured, self.pointers), self.pointers)?;
        let (precision, recall) = (self.found + self.wrong, self.found + self.missed);
        let (precision, recall) = (percent(self.found, precision), percent(self.found, recall));
        let f1 = percent(2 * self.found, 2 * self.found + self.wrong + self.missed);
        write!(f, "supersession found in turns: precision {precision}, recall {recall}, F1 {f1}")
    }
}
