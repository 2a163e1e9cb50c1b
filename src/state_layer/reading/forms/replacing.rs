//! Forms with an old value: "X instead of Y", "not Y but X", "no longer Y", "swap Y for X".

use super::{Change, typed_before};
use crate::state_layer::reading::Act;
use crate::state_layer::reading::clause::Clause;
use crate::state_layer::reading::lexicon::Sign;

/// "X instead of Y"; "instead of Y, X".
pub(super) fn instead(clause: &Clause) -> Option<Change> {
    let mark = clause.first(Sign::Instead)?;
    let mut old = clause.phrase_from(mark.end)?;
    let direct = clause.each(Sign::Direct).find(|direct| direct.at > old.start && direct.at <= old.end && mark.at < 2);
    if let Some(direct) = direct {
        old.end = direct.at;
        return Some(Change::set("instead_of", clause.phrase_from(direct.end), Some(old)));
    }
    let kind = clause.kind(old.start);
    let set = |new| Some(Change::set("instead_of", Some(new), Some(old.clone())));
    if let Some(over) = clause.first(Sign::Over).filter(|over| over.at < mark.at) {
        return Some(Change::set("take_over", clause.phrase_until(over.at), Some(old.clone())));
    }
    if mark.at < 2 {
        let rest = old.end..clause.words.len();
        if let Some(kind) = kind
            && let Some(at) = rest.clone().find(|at| clause.kind(*at) == Some(kind))
        {
            return set(at..clause.measured(at));
        }
        let comma = rest.clone().find(|at| clause.word(*at).is_some_and(|word| word.is(',')))?;
        let end = (comma + 1..clause.words.len())
            .find(|at| clause.word(*at).is_some_and(|word| word.sign))
            .unwrap_or(clause.words.len());
        return set(clause.phrase_until(end).filter(|span| span.start > comma)?);
    }
    if let Some(kind) = kind
        && let Some(new) = typed_before(clause, mark.at, kind)
    {
        return set(new);
    }
    // "put lilies in the wreath instead of roses": not the wreath.
    let until = clause.phrase_until(mark.at)?;
    let within = (until.start.saturating_sub(2)..until.start).any(|at| {
        clause.word(at).is_some_and(|word| {
            matches!(word.plain.as_str(), "in" | "on" | "into" | "no" | "na" | "nos" | "nas" | "em" | "en")
        })
    });
    let object = clause.each(Sign::Direct).find_map(|direct| clause.phrase_from(direct.end));
    set(object.filter(|object| within && object.end <= until.start).unwrap_or(until))
}

/// "X, not Y"; "not Y but X"; "it is not Y, it is X".
pub(super) fn not_but(clause: &Clause) -> Option<Change> {
    for mark in clause.each(Sign::Not) {
        let before = mark.at.checked_sub(1).and_then(|at| clause.word(at));
        let after = clause.word(mark.end);
        if after.is_none_or(|word| word.sign) {
            continue;
        }
        let joined =
            before.is_some_and(|word| word.is(',') || word.is('(') || matches!(word.plain.as_str(), "and" | "e" | "y"));
        let Some(old) = clause.phrase_from(mark.end) else {
            continue;
        };
        let closes = clause.word(old.end).is_none_or(|word| word.sign);
        let kind = clause.kind(old.start);
        if joined && closes && mark.at > 1 && !clause.starts(mark.end, Sign::Move) {
            let until = mark.at - 1;
            let new = kind.and_then(|kind| typed_before(clause, until, kind)).or_else(|| clause.phrase_until(until));
            return Some(Change::set("not_but", new, Some(old)));
        }
        // "não é X, é Y"; "not X but Y"; "no es X sino Y".
        let turns = (old.end..clause.words.len().min(old.end + 2)).find(|at| {
            clause
                .word(*at)
                .is_some_and(|word| word.is(',') || matches!(word.plain.as_str(), "but" | "sino" | "mas" | "e"))
        });
        if let Some(turn) = turns {
            let new = clause.phrase_from(turn + 1)?;
            let says = clause.starts(turn + 1, Sign::Is)
                || clause.word(turn).is_some_and(|word| matches!(word.plain.as_str(), "but" | "sino"))
                || (kind.is_some() && clause.kind(new.start) == kind);
            let negates = clause.starts(mark.end, Sign::Is) || mark.at == 0 || before.is_some_and(|word| !word.sign);
            if says && negates {
                return Some(Change::set("not_but", Some(new), Some(old)));
            }
        }
    }
    None
}

/// "your $200K is now $140K".
pub(super) fn now_is(clause: &Clause) -> Option<Change> {
    let is = clause
        .each(Sign::Is)
        .chain(clause.each(Sign::Move))
        .find(|mark| mark.at > 0 && clause.kind(mark.at - 1).is_some() && clause.has(&[Sign::Now, Sign::Move]))?;
    let old = is.at - 1;
    let kind = clause.kind(old)?;
    let bare = (0..old).all(|at| clause.small(at) || clause.word(at).is_some_and(|word| word.sign));
    let new = (is.end..clause.words.len()).find(|at| clause.kind(*at) == Some(kind))?;
    bare.then(|| Change::set("now", Some(new..clause.measured(new)), Some(old..old + 1)))
}

pub(super) fn no_longer(clause: &Clause) -> Option<Change> {
    let mark = clause.first(Sign::NoLonger)?;
    let after = clause.phrase_from(mark.end);
    let old = after.or_else(|| clause.phrase_until(mark.at));
    let new = clause
        .each(Sign::Now)
        .chain(clause.each(Sign::Is))
        .chain(clause.each(Sign::To))
        .filter(|other| {
            !(mark.at..mark.end).contains(&other.at) && old.as_ref().is_none_or(|old| !old.contains(&other.end))
        })
        .filter_map(|other| clause.phrase_from(other.end))
        .find(|span| {
            old.as_ref().is_none_or(|old| span.start != old.start && !old.contains(&span.start))
                && span.start != mark.at
                && (span.end <= mark.at || span.start >= mark.end)
        });
    let typed = old.as_ref().and_then(|old| clause.kind(old.start)).and_then(|kind| {
        let at = (0..clause.words.len())
            .find(|at| clause.kind(*at) == Some(kind) && old.as_ref().is_none_or(|old| !old.contains(at)))?;
        Some(at..clause.measured(at))
    });
    let new = typed.or(new);
    let ended = clause.first(Sign::End).is_some_and(|end| end.at < mark.at);
    if clause.has(&[Sign::End]) && new.as_ref().is_none_or(|new| ended && new.start < mark.at) {
        return None;
    }
    let act = if new.is_some() { Act::Set } else { Act::Cancel };
    Some(Change { act, cue: "no_longer", new, old, head: None })
}

/// Prepositions between what is given and what is got.
const FOR: &[&str] = &["for", "with", "by", "por", "pelo", "pela", "pelos", "pelas", "com", "con"];

/// "swap Y for X"; "troca Y por X".
pub(super) fn swap(clause: &Clause) -> Option<Change> {
    let mark = clause.first(Sign::Swap)?;
    let aux = |at: usize| {
        at > 0
            && clause.word(at - 1).is_some_and(|word| {
                matches!(
                    word.plain.as_str(),
                    "been" | "was" | "being" | "were" | "foi" | "fue" | "sido" | "sera" | "is" | "got"
                )
            })
    };
    if aux(mark.at) {
        // "Y has been replaced by X"
        let by = (mark.end..clause.words.len().min(mark.end + 4))
            .find(|at| clause.word(*at).is_some_and(|word| FOR.contains(&word.plain.as_str())))?;
        let subject = (0..mark.at).rev().find(|at| !clause.small(*at) && !clause.starts(*at, Sign::Is))? + 1;
        return Some(Change::set("swap", clause.phrase_from(by + 1), clause.phrase_until(subject)));
    }
    let joint = (mark.end..clause.words.len())
        .find(|at| clause.word(*at).is_some_and(|word| FOR.contains(&word.plain.as_str())))?;
    let with = clause.word(joint).is_some_and(|word| matches!(word.plain.as_str(), "with" | "com" | "con" | "by"));
    let exchanged = clause.word(mark.at).is_some_and(|word| {
        word.plain.starts_with("repl")
            || word.plain.starts_with("subst")
            || word.plain.starts_with("sust")
            || word.plain.starts_with("reempl")
    });
    if with && !exchanged {
        return None;
    }
    let old = clause.phrase_from(mark.end).filter(|span| span.end <= joint)?;
    Some(Change::set("swap", clause.phrase_from(joint + 1), Some(old.start..joint)))
}
