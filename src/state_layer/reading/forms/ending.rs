//! Forms of states and ends: "was approved", "cancel X".

use super::Change;
use super::stating::stated_now;
use crate::state_layer::reading::Act;
use crate::state_layer::reading::clause::{Clause, Span};
use crate::state_layer::reading::lexicon::{Mark, Sign};

/// "was approved"; "the bank rejected the loan".
pub(super) fn status(clause: &Clause) -> Option<Change> {
    let mark = clause.each(Sign::Status).last()?;
    if let Some(granted) = granted(clause, mark) {
        return Some(granted);
    }
    let subject = subject_before(clause, mark);
    Some(Change { act: Act::Set, cue: "status", new: Some(mark.at..mark.end), old: None, head: Some(subject) })
}

/// "they approved 8%": what is granted is a value.
fn granted(clause: &Clause, mark: Mark) -> Option<Change> {
    const GRANTS: &[&str] =
        &["approved", "authorized", "authorised", "granted", "autoriz", "aprov", "aprob", "liber", "conced", "otorg"];
    let grants = clause.word(mark.at).is_some_and(|word| GRANTS.iter().any(|stem| word.plain.starts_with(stem)));
    let at = (mark.end..mark.end + 3).find(|at| clause.kind(*at).is_some()).filter(|_| grants)?;
    Some(Change::set("move", Some(at..clause.measured(at)), None).about(Some(0..clause.words.len())))
}

/// What a sentence says a status of: the words before it, or what comes right after an active verb.
fn subject_before(clause: &Clause, mark: Mark) -> Span {
    let determined = clause.word(mark.end).is_some_and(|word| {
        matches!(
            word.plain.as_str(),
            "the"
                | "my"
                | "our"
                | "your"
                | "o"
                | "a"
                | "os"
                | "as"
                | "meu"
                | "minha"
                | "nosso"
                | "nossa"
                | "el"
                | "la"
                | "los"
                | "las"
                | "mi"
                | "nuestro"
                | "nuestra"
                | "su"
        )
    });
    let content = |mut span: Span| span.any(|at| !clause.small(at) && clause.word(at).is_some_and(|word| !word.sign));
    let after = mark.end..clause.words.len();
    if content(0..mark.at) && !(determined && content(after.clone())) { 0..mark.at } else { after }
}

/// "was granted", "foi concedido": a participle after a passive, for what no list has.
pub(super) fn passive(clause: &Clause) -> Option<Change> {
    const PASSIVES: &[&str] =
        &["was", "were", "been", "got", "gotten", "foi", "foram", "fue", "fueron", "sido", "ficou", "quedo", "being"];
    const ENDINGS: &[&str] = &["ed", "ado", "ada", "ados", "adas", "ido", "ida", "idos", "idas"];
    let at = (1..clause.words.len()).find(|at| {
        let aux = clause.word(at - 1).is_some_and(|word| PASSIVES.contains(&word.plain.as_str()));
        aux && clause.word(*at).is_some_and(|word| {
            word.value.is_none() && word.plain.len() > 4 && ENDINGS.iter().any(|ending| word.plain.ends_with(ending))
        })
    })?;
    let closes = clause.word(at + 1).is_none_or(|word| word.sign)
        || (at + 1..clause.words.len()).all(|at| clause.small(at) || clause.kind(at).is_some());
    closes.then(|| Change { act: Act::Set, cue: "status", new: Some(at..at + 1), old: None, head: Some(0..at - 1) })
}

pub(super) fn end(clause: &Clause) -> Option<Change> {
    let mark = clause.first(Sign::End)?;
    // "I quit X, so now it is Y": what counts is Y.
    if clause.each(Sign::Now).any(|now| now.at > mark.end)
        && let Some(change) =
            stated_now(clause).filter(|change| change.new.as_ref().is_some_and(|new| new.start > mark.end))
    {
        return Some(change);
    }
    let object = clause.phrase_from(mark.end).or_else(|| clause.phrase_until(mark.at));
    let new = (object.is_some())
        .then(|| {
            clause
                .each(Sign::Choose)
                .find(|choose| choose.at > mark.end)
                .and_then(|choose| clause.phrase_from(choose.end))
        })
        .flatten();
    let act = if new.is_some() { Act::Set } else { Act::Cancel };
    let cue = if new.is_some() { "choice" } else { "end" };
    Some(Change { act, cue, new, old: object.clone(), head: object })
}
