//! The environment: signals by what they are about, not by their names.

use std::collections::BTreeSet;

use super::Omission;
use super::said::{Word, stem_set, words};
use crate::domain::time::Timestamp;
use crate::state_layer::language::terms::language;
use crate::state_layer::space::Signal;

/// Names of signals that tell the present. The request's `as_of` is the present.
const PRESENT: &[&str] = &["now", "current_time", "current_date", "date", "time", "today"];
/// The most signals that are compared with one another, newest first.
const MAX_SIGNALS: usize = 200;

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
    /// Newest first.
    pub shown: Vec<&'a Signal>,
    /// Not shown.
    pub omitted: Vec<(&'a Signal, Omission)>,
    /// The texts of stale signals, each with that of the newer one that says otherwise.
    pub replaced: Vec<(String, String)>,
}

/// Tells fresh signals from stale ones.
pub(super) fn fresh<'a>(signals: &[&'a Signal], as_of: Timestamp) -> Fresh<'a> {
    let mut sorted: Vec<&Signal> =
        signals.iter().copied().filter(|signal| !PRESENT.contains(&signal.key.as_str())).collect();
    sorted
        .sort_by_cached_key(|signal| (std::cmp::Reverse(signal.observed_at), signal.key.clone(), signal_text(signal)));
    let mut fresh = Fresh::default();
    let mut topics: Vec<(BTreeSet<String>, BTreeSet<String>, &Signal)> = Vec::new();
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
        let row = words(&text);
        let (stems, names) = (stem_set(&row, language(&text)), names(&text, &row));
        let newer = topics.iter().find(|(others, other_names, other)| {
            other.observed_at > signal.observed_at
                && same_entity((&stems, &names), (others, other_names), other.key == signal.key)
        });
        if let Some((.., newer)) = newer {
            fresh.replaced.push((signal_text(newer), text));
            fresh.omitted.push((signal, Omission::Stale));
        } else {
            topics.push((stems, names, signal));
            fresh.shown.push(signal);
        }
    }
    fresh
}

/// Words that name something: written with capitals or digits.
fn names(text: &str, row: &[Word]) -> BTreeSet<String> {
    let named = |word: &&Word| {
        text.get(word.span.clone())
            .is_some_and(|written| written.chars().any(|c| c.is_uppercase() || c.is_ascii_digit()))
    };
    row.iter().filter(named).map(|word| word.form.clone()).collect()
}

/// Whether two signals speak of the same thing: they share a name and another word, or most of the shorter one's words.
fn same_entity(
    a: (&BTreeSet<String>, &BTreeSet<String>),
    b: (&BTreeSet<String>, &BTreeSet<String>),
    same_key: bool,
) -> bool {
    let shared = a.0.intersection(b.0).count();
    let named = a.1.intersection(b.1).count();
    let shorter = a.0.len().min(b.0.len());
    same_key || (named >= 1 && shared >= 2) || (shared >= 2 && shared * 3 >= shorter)
}
