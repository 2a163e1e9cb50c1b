//! Turns of the conversation, given with the request: what in them is still worth a model's attention.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use super::clean::clean_said;
use super::cues::{CONSIDERED, EXPLORING, IMAGINED, INJECTED, OF_THE_MESSAGE, PAST, POINTING, begins, holds};
use super::dead::DeadValues;
use super::episodes::{Belongs, episodes};
use super::said::{Said, words};
use super::stems::{Stem, Stems};
use super::{Omission, Turn};
use crate::domain::time::Timestamp;
use crate::state_layer::language::tags::tagged;
use crate::state_layer::language::terms::{folded, sentences};
use crate::state_layer::language::value::{TypedValue, ValueKind, values};

/// The most turns that are read, newest first.
const MAX_TURNS: usize = 200;
/// Whoever speaks for the system: what it says repeats what it was told.
const NOT_USERS: &[&str] =
    &["assistant", "assistente", "asistente", "bot", "system", "sistema", "agent", "ai", "model", "tool", "function"];

type Figures = BTreeSet<(ValueKind, String)>;

/// What the pack says already: a sentence that adds nothing to it is not printed again.
#[derive(Debug)]
pub(super) struct Printed<'a> {
    all: &'a Stems,
    of_the_message: BTreeSet<Stem>,
    lines: Vec<(String, OnceCell<Figures>)>,
    stems: HashMap<Stem, Vec<usize>>,
}

impl<'a> Printed<'a> {
    pub(super) fn new(all: &'a Stems) -> Self {
        let of_the_message = OF_THE_MESSAGE.iter().filter_map(|word| all.of(word)).collect();
        Self { all, of_the_message, lines: Vec::new(), stems: HashMap::new() }
    }

    pub(super) fn add(&mut self, text: &str) {
        let place = self.lines.len();
        self.lines.push((text.to_owned(), OnceCell::new()));
        for stem in self.all.of_text(text) {
            self.stems.entry(stem).or_default().push(place);
        }
    }

    /// How many of a sentence's stems speak of the matter.
    fn meant(&self, said: &Said<'_>) -> usize {
        said.stems().difference(&self.of_the_message).count()
    }

    /// How many of these stems some line has.
    fn shared(&self, stems: &BTreeSet<Stem>) -> usize {
        stems.iter().filter(|stem| self.stems.contains_key(*stem)).count()
    }

    /// Whether one line says already what a sentence says: all of its values, and all but one in eight of its words.
    fn says(&self, said: &Said<'_>) -> bool {
        let meant = self.meant(said);
        let mut overlap: HashMap<usize, usize> = HashMap::new();
        for stem in said.stems().difference(&self.of_the_message) {
            for place in self.stems.get(stem).into_iter().flatten() {
                *overlap.entry(*place).or_default() += 1;
            }
        }
        let figures: Figures = figures_of(said.values());
        let covers = |place: usize| {
            self.lines
                .get(place)
                .is_some_and(|(text, line)| figures.is_subset(line.get_or_init(|| figures_of(&values(text)))))
        };
        meant == 0 && figures.is_empty()
            || overlap.into_iter().any(|(place, shared)| shared * 8 >= meant * 7 && covers(place))
    }
}

fn figures_of(values: &[TypedValue]) -> Figures {
    values
        .iter()
        .filter(|value| value.kind != ValueKind::Word)
        .map(|value| (value.kind, value.canonical.clone()))
        .collect()
}

/// What remains of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    pub text: String,
    /// Its place in the request.
    pub place: usize,
}

/// A text of several sentences without those that are dead; none where nothing remains.
pub(super) fn clean_text(text: &str, dead: &DeadValues<'_>) -> Option<String> {
    let kept: Vec<String> = sentences(text).into_iter().filter_map(|sentence| clean_said(sentence, dead)).collect();
    (!kept.is_empty()).then(|| kept.join(" "))
}

/// What turns are held against.
#[derive(Debug)]
pub(super) struct Against<'a> {
    pub query: &'a str,
    /// The stems of the pack.
    pub stems: &'a Stems,
    pub as_of: Timestamp,
    /// What must not come back.
    pub dead: &'a DeadValues<'a>,
    /// What is printed already.
    pub printed: &'a Printed<'a>,
}

/// What remains of the turns, in the order of time; and which say nothing any more, with the reason.
pub(super) fn filtered(turns: &[Turn], against: &Against<'_>) -> (Vec<Kept>, Vec<(usize, Omission)>) {
    let mut omitted = Vec::new();
    let mut sorted: Vec<(usize, &Turn)> = turns.iter().enumerate().collect();
    sorted.sort_by(|(_, a), (_, b)| (a.at, &a.speaker, &a.text).cmp(&(b.at, &b.speaker, &b.text)));
    sorted.retain(|(place, turn)| {
        let later = turn.at > against.as_of;
        if later {
            omitted.push((*place, Omission::NotYet));
        }
        !later
    });
    for (place, _) in sorted.drain(..sorted.len().saturating_sub(MAX_TURNS)) {
        omitted.push((place, Omission::Budget));
    }
    let texts: Vec<&str> = sorted.iter().map(|(_, turn)| turn.text.as_str()).collect();
    let belongs = asked_for(&texts, episodes(&texts), against);
    let reader = Reader::new(against);
    let mut seen = BTreeSet::new();
    let mut kept = Vec::new();
    // Newest first, so that of two turns that say the same the newer one stays.
    for ((place, turn), belongs) in sorted.into_iter().zip(belongs).rev() {
        let read = if belongs == Belongs::Main { reader.read(turn, &mut seen) } else { Err(Omission::OutOfScope) };
        match read {
            Ok(text) => kept.push(Kept { text, place }),
            Err(reason) => omitted.push((place, reason)),
        }
    }
    kept.reverse();
    (kept, omitted)
}

/// Gives back to the conversation the episodes that the question asks for.
fn asked_for(texts: &[&str], mut belongs: Vec<Belongs>, against: &Against<'_>) -> Vec<Belongs> {
    let asked = against.stems.of_text(against.query);
    let stems: Vec<BTreeSet<Stem>> = texts.iter().map(|text| against.stems.of_text(text)).collect();
    let shared = |wanted: Belongs| -> usize {
        let inside = stems.iter().zip(&belongs).filter(|(_, belongs)| **belongs == wanted);
        asked.iter().filter(|stem| inside.clone().any(|(stems, _)| stems.contains(*stem))).count()
    };
    let main = shared(Belongs::Main).max(against.printed.shared(&asked));
    let query = super::said::spaced(&words(against.query));
    let exploring = holds(&query, &EXPLORING) || holds(&query, &IMAGINED);
    let back: Vec<bool> = belongs
        .iter()
        .map(|belongs| match belongs {
            Belongs::Main => false,
            Belongs::Exploring => exploring,
            Belongs::Aside(_) => shared(*belongs) > main,
        })
        .collect();
    belongs.iter_mut().zip(back).filter(|(_, back)| *back).for_each(|(belongs, _)| *belongs = Belongs::Main);
    belongs
}

/// Reads turns sentence by sentence.
struct Reader<'a> {
    against: &'a Against<'a>,
    imagines: bool,
    looks_back: bool,
}

impl<'a> Reader<'a> {
    fn new(against: &'a Against<'a>) -> Self {
        let query = super::said::spaced(&words(against.query));
        Self { against, imagines: holds(&query, &IMAGINED), looks_back: holds(&query, &PAST) }
    }

    fn read(&self, turn: &Turn, seen: &mut BTreeSet<Vec<Stem>>) -> Result<String, Omission> {
        let speaker = folded(turn.speaker.trim());
        if NOT_USERS.contains(&speaker.as_str()) {
            return Err(Omission::NotRelevant);
        }
        let tag = tagged(&turn.text);
        if folded(tag.body.trim()) == folded(self.against.query.trim()) {
            return Err(Omission::NotRelevant);
        }
        if tag.scope.is_some() || !tag.restricted_to.is_empty() {
            return Err(Omission::OutOfScope);
        }
        let mut kept = Vec::new();
        let mut reason = Omission::NotRelevant;
        let mut dropped: Option<BTreeSet<Stem>> = None;
        for sentence in sentences(tag.body) {
            let said = Said::new(sentence, self.against.stems);
            match self.judge(&said, dropped.as_ref()) {
                Ok(text) => {
                    let signature: Vec<Stem> = said.stems().iter().copied().collect();
                    if seen.insert(signature) {
                        kept.push(text);
                    }
                }
                Err(Omission::NotRelevant) => {}
                Err(why) => {
                    reason = why;
                    dropped.get_or_insert_with(BTreeSet::new).extend(said.stems());
                }
            }
        }
        if kept.is_empty() {
            return Err(reason);
        }
        let who = match (&tag.name, &tag.title) {
            (Some(name), Some(title)) if name != title => format!("{name} ({title}): "),
            (Some(name), _) => format!("{name}: "),
            (None, Some(title)) if tag.body.len() < turn.text.len() => format!("{title}: "),
            _ if speaker == "user" || speaker.is_empty() => String::new(),
            _ => format!("{}: ", turn.speaker.trim()),
        };
        Ok(super::lines::flat(&format!("{who}{}", kept.join(" "))))
    }

    /// What of a sentence is worth printing; or why nothing.
    fn judge(&self, said: &Said<'_>, dropped: Option<&BTreeSet<Stem>>) -> Result<String, Omission> {
        let row = said.spaced();
        if holds(&row, &INJECTED) || is_question(said.text) {
            return Err(Omission::NotRelevant);
        }
        if !self.imagines && (holds(&row, &IMAGINED) || holds(&row, &CONSIDERED)) {
            return Err(Omission::OutOfScope);
        }
        if !self.looks_back && holds(&row, &PAST) {
            return Err(Omission::Superseded);
        }
        let Some(text) = clean_said(said.text, self.against.dead) else {
            return Err(Omission::Superseded);
        };
        if dropped.is_some_and(|dropped| hangs_on(said, &row, dropped)) {
            return Err(Omission::Superseded);
        }
        let left = Said::new(&text, self.against.stems);
        let empty = left.values().is_empty() && self.against.printed.meant(&left) < 2;
        if empty || self.against.printed.says(&left) { Err(Omission::NotRelevant) } else { Ok(text) }
    }
}

/// Whether a sentence only carries on what a dropped one began: it points back to it, or speaks briefly of the same
/// and gives no value of its own.
fn hangs_on(said: &Said<'_>, row: &str, dropped: &BTreeSet<Stem>) -> bool {
    if begins(row, &POINTING).is_some() {
        return true;
    }
    let points =
        said.words.iter().any(|word| matches!(word.form.as_str(), "this" | "that" | "isso" | "isto" | "eso" | "esto"));
    let brief = said.stems().len() <= 4 && said.stems().iter().any(|stem| dropped.contains(stem));
    said.values().is_empty() && (points || brief)
}

fn is_question(sentence: &str) -> bool {
    let sentence = sentence.trim();
    sentence.starts_with('¿') || sentence.trim_end_matches(['"', '\'', ')', '!', '”']).ends_with('?')
}
