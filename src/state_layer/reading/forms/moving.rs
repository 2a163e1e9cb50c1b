//! Forms of movement: "moved to X", "go back to X".

use super::{Change, TOWARDS};
use crate::state_layer::language::value::ValueKind;
use crate::state_layer::reading::Act;
use crate::state_layer::reading::clause::{Clause, Span};
use crate::state_layer::reading::lexicon::{Mark, Sign};
use crate::state_layer::reading::words::Tongue;

/// "go back to X".
pub(super) fn back(clause: &Clause) -> Option<Change> {
    let mark = clause.first(Sign::Back)?;
    let new = clause.phrase_from(mark.end)?;
    Some(Change { act: Act::Revert, cue: "revert", new: Some(new), old: None, head: None })
}

/// Verbs that tell of a change only with where to: "passou para as 3", not "passei na padaria".
const WEAK_MOVES: &[&str] = &[
    "passei", "passou", "passamos", "passaram", "pase", "paso", "pasamos", "pasaron", "pasa", "passa", "passam",
    "pasan", "fica", "ficou", "ficaram", "queda", "quedo", "quedan", "cai", "caiu", "vai", "sale", "subi", "corrio",
];

/// Whether a weak verb of change leads nowhere.
fn passes_by(clause: &Clause, mark: Mark) -> bool {
    let weak =
        mark.end - mark.at == 1 && clause.word(mark.at).is_some_and(|word| WEAK_MOVES.contains(&word.plain.as_str()));
    let leads = |at: usize| {
        clause.word(at).is_some_and(|word| {
            let to = TOWARDS.contains(&word.plain.as_str())
                || matches!(word.plain.as_str(), "a" | "as" | "em" | "en" | "ser" | "de" | "del" | "por");
            let deed = clause.word(at + 1).is_some_and(|next| {
                next.value.is_none() && ["ar", "er", "ir"].iter().any(|end| next.plain.ends_with(end))
            });
            let passing = deed
                || word.plain == "por"
                || (matches!(word.plain.as_str(), "em" | "en" | "de")
                    && clause.word(mark.at).is_some_and(|word| word.plain.starts_with("pas")));
            (to && !passing)
                || (word.value.is_some() && !word.plain.starts_with(|sign: char| sign.is_alphabetic()))
                || clause.kind(at) == Some(ValueKind::Time)
        })
    };
    weak && !(mark.end..(mark.end + 7).min(clause.words.len())).any(leads)
}

/// Whether it is the talk that goes on: "moving on to the next item".
pub(super) fn goes_on(clause: &Clause, mark: Mark) -> bool {
    clause.tongue != Tongue::Portuguese
        && clause.word(mark.end).is_some_and(|word| word.plain == "on")
        && clause.word(mark.end + 1).is_none_or(|word| word.plain == "to" || word.sign)
}

/// Whether the word before these says by how much, not to what.
fn by_how_much(clause: &Clause, at: usize) -> bool {
    at > 0 && clause.starts(at - 1, Sign::By) && clause.word(at - 1).is_some_and(|word| word.plain == "by")
}

/// "moved to X"; "changed from Y to X"; "was delayed, it is now X".
pub(super) fn moved(clause: &Clause) -> Option<Change> {
    let mark = clause.each(Sign::Move).find(|mark| !passes_by(clause, *mark) && !goes_on(clause, *mark))?;
    let from = clause
        .each(Sign::From)
        .filter(|from| from.at >= mark.at && clause.word(from.at).is_some_and(|word| word.plain != "was"))
        .find_map(|from| {
            let span = clause.phrase_from(from.end)?;
            let follows = (span.end..clause.words.len().min(span.end + 2)).any(|at| {
                clause.word(at).is_some_and(|word| TOWARDS.contains(&word.plain.as_str()) || word.plain == "a")
            });
            (follows && span.start <= from.end + 1).then_some(span)
        });
    let towards = |at: usize| clause.word(at).is_some_and(|word| TOWARDS.contains(&word.plain.as_str()));
    let apart = |span: &Span| from.as_ref().is_none_or(|old| !old.contains(&span.start));
    let to_typed = clause
        .each(Sign::To)
        .filter(|to| to.at >= mark.at && !by_how_much(clause, to.end))
        .filter_map(|to| clause.phrase_from(to.end))
        .find(|span| clause.kind(span.start).is_some() && apart(span));
    let is_typed = clause
        .each(Sign::Is)
        .chain(clause.each(Sign::Now))
        .filter(|is| is.at >= mark.end)
        .filter_map(|is| clause.phrase_from(is.end))
        .find(|span| clause.kind(span.start).is_some() && apart(span));
    let typed = || {
        (mark.end..clause.words.len())
            .find(|at| {
                clause.kind(*at).is_some()
                    && !by_how_much(clause, *at)
                    && from.as_ref().is_none_or(|old| !old.contains(at))
            })
            .map(|at| at..clause.measured(at))
    };
    let worded = || {
        (mark.at..clause.words.len())
            .filter(|at| {
                towards(*at)
                    || (clause.tongue == Tongue::Spanish && clause.word(*at).is_some_and(|word| word.plain == "a"))
            })
            .filter_map(|at| clause.phrase_from(at + 1))
            .find(|span| apart(span))
    };
    let told = || {
        clause
            .each(Sign::Is)
            .chain(clause.each(Sign::Now))
            .filter(|is| is.at >= mark.end)
            .find_map(|is| clause.phrase_from(is.end))
    };
    let new = to_typed.or(is_typed).or_else(typed).or_else(worded).or_else(told)?;
    Some(Change::set("move", Some(new), from).about(Some(0..clause.words.len())))
}
