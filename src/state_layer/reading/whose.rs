//! Whose it is: names, relations and others that a sentence speaks of.

use super::clause::{Clause, Span};
use super::lexicon::Sign;
use super::slots;
use super::words::Tongue;
use crate::state_layer::language::titles::is_title_word;
use crate::state_layer::language::value::ValueKind;

/// What a sentence is narrowed to by its opening: "for the legal brief, use …".
pub(super) fn narrowed(clause: &Clause) -> Vec<String> {
    let opens = clause.word(0).is_some_and(|word| {
        matches!(word.plain.as_str(), "for" | "para" | "pra" | "pro" | "in" | "on" | "no" | "na" | "en" | "em")
    });
    let comma = clause.words.iter().take(8).position(|word| word.is(','));
    match comma {
        Some(comma) if opens => clause.stems(1..comma),
        _ => Vec::new(),
    }
}

/// Names and codes that the sentence speaks of, apart from its values. Titles are nobody's name.
pub(super) fn names_of(clause: &Clause, apart: impl Fn(&usize) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for (at, word) in clause.words.iter().enumerate().filter(|(at, _)| apart(at)) {
        let coded = word.value.as_ref().is_some_and(|value| matches!(value.kind, ValueKind::Code | ValueKind::Place));
        let named = word.name && !clause.small(at) && !is_title_word(&word.plain) && !clause.covers(at, Sign::Ruler);
        if coded {
            found.extend(word.value.as_ref().map(|value| value.canonical.clone()));
        } else if named {
            found.push(word.stem.clone());
        }
    }
    found
}

/// The relations of the speaker's that a part is about.
pub(super) fn relations_of(clause: &Clause) -> Vec<String> {
    let marks = clause.each(Sign::Relation).filter(|mark| !accompanies(clause, mark.at));
    marks.filter_map(|mark| clause.word(mark.end.saturating_sub(1))).map(|word| word.stem.clone()).collect()
}

/// Whether a person is only greeted, or only comes along: "dear parents, …", "with the cousins we are 27".
fn accompanies(clause: &Clause, at: usize) -> bool {
    let greeted = clause.words.iter().take(4).position(|word| word.is(',')).is_some_and(|comma| at < comma)
        && !clause.words.iter().take(at).any(Clause::small_word);
    let along = (at.saturating_sub(2)..at).any(|at| {
        clause.word(at).is_some_and(|word| matches!(word.plain.as_str(), "with" | "com" | "con" | "contando"))
    });
    greeted || along
}

/// Words that say that it is about something else.
pub(super) fn others_of(clause: &Clause, new: &Span, old: &Span) -> Vec<String> {
    clause
        .each(Sign::Other)
        .chain(clause.each(Sign::Relation).filter(|mark| !accompanies(clause, mark.at)))
        .filter(|mark| !new.contains(&mark.at) && !old.contains(&mark.at) && !is_no_other(clause, mark.at, mark.end))
        .filter_map(|mark| clause.word(mark.end.saturating_sub(1)))
        .map(|word| word.stem.clone())
        .chain(owner(clause))
        .collect()
}

/// Whether a word for another or for somebody's says nothing of the kind: "otra vez", "the tutor raised her rate".
fn is_no_other(clause: &Clause, at: usize, end: usize) -> bool {
    const OWN: &[&str] = &["her", "his", "their"];
    let again = clause.word(end).is_some_and(|word| matches!(word.plain.as_str(), "vez" | "time" | "times" | "veces"));
    let owned = clause.word(at).is_some_and(|word| OWN.contains(&word.plain.as_str()));
    let possessor = (0..at).any(|before| {
        let determined = clause.word(before).is_some_and(|word| matches!(word.plain.as_str(), "the" | "our" | "my"));
        let noun = clause
            .word(before + 1)
            .is_some_and(|word| !word.sign && word.value.is_none() && word.written.starts_with(char::is_lowercase));
        determined
            && noun
            && !clause.small(before + 1)
            && before + 1 < at
            && !clause.starts(before + 1, Sign::Relation)
            && !clause.starts(before + 1, Sign::Other)
    });
    again || (owned && possessor && clause.has(&[Sign::Move]))
}

/// Whose it is, where the sentence opens with it: "Petra's desk is 2-045".
fn owner(clause: &Clause) -> Option<String> {
    let first = clause.word(0)?;
    let owned = clause.tongue == Tongue::English
        && first.written.starts_with(char::is_uppercase)
        && first.written.ends_with("'s")
        && clause.word(1).is_some_and(|word| !word.sign && !word.plain.ends_with("ing") && word.value.is_none())
        && !clause.small(1)
        && clause.marks.iter().all(|mark| mark.at != 1 || mark.sign == Sign::Direct);
    let common = slots::of(&first.stem).is_empty() && !is_title_word(first.plain.trim_end_matches("'s"));
    (owned && common).then(|| first.stem.clone())
}
