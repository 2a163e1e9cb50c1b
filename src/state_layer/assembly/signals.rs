//! The environment: signals by what they are about, not by their names.

use std::collections::BTreeSet;

use super::Omission;
use super::said::Said;
use super::stems::{Stem, Stems};
use crate::domain::time::Timestamp;
use crate::state_layer::language::value::ValueKind;
use crate::state_layer::space::Signal;

/// Names of signals that tell the present. The request's `as_of` is the present.
const PRESENT: &[&str] = &["now", "current time", "current date", "date", "time", "today"];
/// The most signals that are compared with one another, newest first.
const MAX_SIGNALS: usize = 200;

fn tells_the_present(signal: &Signal) -> bool {
    PRESENT.contains(&signal.key.replace('_', " ").as_str())
}

/// A signal's content as text.
pub(super) fn signal_text(signal: &Signal) -> String {
    match &signal.value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Signals in the order in which they are shown, and those that are not, with the reason.
#[derive(Debug, Default)]
pub(super) struct Fresh<'a> {
    pub shown: Vec<&'a Signal>,
    pub omitted: Vec<(&'a Signal, Omission)>,
    /// The texts of stale signals, each with that of the newer one that says otherwise.
    pub replaced: Vec<(String, String)>,
}

/// Tells fresh signals from stale ones.
pub(super) fn fresh<'a>(signals: &[&'a Signal], as_of: Timestamp, stems: &Stems) -> Fresh<'a> {
    let mut sorted: Vec<&Signal> = signals.iter().copied().filter(|signal| !tells_the_present(signal)).collect();
    sorted
        .sort_by_cached_key(|signal| (std::cmp::Reverse(signal.observed_at), signal.key.clone(), signal_text(signal)));
    let mut fresh = Fresh::default();
    let mut topics: Vec<(Topic, &Signal)> = Vec::new();
    for signal in sorted {
        let text = signal_text(signal);
        fresh.replaced.extend(signal.former.iter().map(|former| (text.clone(), former.clone())));
        if signal.observed_at > as_of {
            fresh.omitted.push((signal, Omission::NotYet));
            continue;
        }
        if signal.stale_at.is_some_and(|stale| stale <= as_of) || topics.len() >= MAX_SIGNALS {
            fresh.omitted.push((signal, Omission::Stale));
            continue;
        }
        let topic = Topic::of(&Said::new(&text, stems), stems);
        let newer = topics.iter().find(|(other, newer)| {
            newer.observed_at > signal.observed_at && (newer.key == signal.key || topic.is_same_as(other))
        });
        if let Some((_, newer)) = newer {
            fresh.replaced.push((signal_text(newer), text));
            fresh.omitted.push((signal, Omission::Stale));
        } else {
            topics.push((topic, signal));
            fresh.shown.push(signal);
        }
    }
    fresh
}

/// What a signal is about: its words but for values of time and amount, which are what changes.
#[derive(Debug)]
struct Topic {
    stems: BTreeSet<Stem>,
    /// Words that name something: written with capitals or digits.
    names: BTreeSet<Stem>,
}

impl Topic {
    fn of(said: &Said<'_>, stems: &Stems) -> Self {
        let is_value =
            |kind| !matches!(kind, ValueKind::Code | ValueKind::Contact | ValueKind::Place | ValueKind::Word);
        let values: Vec<_> =
            said.values().iter().filter(|value| is_value(value.kind)).map(|value| value.span.clone()).collect();
        let words = || {
            said.words
                .iter()
                .filter(|word| !values.iter().any(|span| span.start <= word.span.start && word.span.end <= span.end))
        };
        let written = |c: char| c.is_uppercase() || c.is_ascii_digit();
        let named = words().filter(|word| said.text.get(word.span.clone()).is_some_and(|text| text.contains(written)));
        Self { stems: stems.set(words()), names: stems.set(named) }
    }

    /// They share a name and another word, or a third of the shorter one's words and at least two.
    fn is_same_as(&self, other: &Self) -> bool {
        let shared = self.stems.intersection(&other.stems).count();
        let named = self.names.intersection(&other.names).count();
        shared >= 2 && (named >= 1 || shared * 3 >= self.stems.len().min(other.stems.len()))
    }
}
