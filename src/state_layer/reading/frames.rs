//! The forms in which people say that something changes: what is new, what is old, and which words gave it away.

use super::Act;
use super::clause::{Clause, Span};
use super::lexicon::{Mark, Sign};
use crate::state_layer::language::value::ValueKind;

/// One change as a sentence puts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    /// What it does.
    pub act: Act,
    /// The class of the words that gave it away.
    pub cue: &'static str,
    /// The new value.
    pub new: Option<Span>,
    /// The value that is no longer so.
    pub old: Option<Span>,
    /// The words that say what it is about, where they are told apart: the subject or the object.
    pub head: Option<Span>,
}

impl Frame {
    fn set(cue: &'static str, new: Option<Span>, old: Option<Span>) -> Self {
        Self { act: Act::Set, cue, new, old, head: None }
    }

    fn about(mut self, head: Option<Span>) -> Self {
        self.head = head;
        self
    }
}

/// The forms, the more telling first.
const FORMS: &[fn(&Clause) -> Option<Frame>] = &[
    instead, not_but, now_is, leave, over, no_longer, swap, back, moved, status, end, chosen, made, stated_now,
    corrected, directed, stated,
];

/// The change that a sentence tells of, if it does.
pub(super) fn of(clause: &Clause) -> Option<Frame> {
    FORMS.iter().find_map(|form| form(clause)).filter(|frame| frame.new.is_some() || frame.act == Act::Cancel)
}

/// The last typed value of a kind before a word.
fn typed_before(clause: &Clause, end: usize, kind: ValueKind) -> Option<Span> {
    let at = (0..end).rev().find(|at| clause.kind(*at) == Some(kind))?;
    Some(at..clause.measured(at).min(end))
}

/// The first typed value from a word on that is none of an old one.
fn typed_from(clause: &Clause, start: usize, old: Option<&Span>) -> Option<Span> {
    let at =
        (start..clause.words.len()).find(|at| clause.kind(*at).is_some() && old.is_none_or(|old| !old.contains(at)))?;
    Some(at..clause.measured(at))
}

/// "X instead of Y"; "instead of Y, X".
fn instead(clause: &Clause) -> Option<Frame> {
    let mark = clause.first(Sign::Instead)?;
    let old = clause.phrase_from(mark.end)?;
    let kind = clause.kind(old.start);
    let set = |new| Some(Frame::set("instead_of", Some(new), Some(old.clone())));
    if let Some(over) = clause.first(Sign::Over).filter(|over| over.at < mark.at) {
        return Some(Frame::set("take_over", clause.phrase_until(over.at), Some(old.clone())));
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
    set(clause.phrase_until(mark.at)?)
}

/// "X, not Y"; "not Y but X"; "it is not Y, it is X".
fn not_but(clause: &Clause) -> Option<Frame> {
    for mark in clause.each(Sign::Not) {
        let before = mark.at.checked_sub(1).and_then(|at| clause.word(at));
        let after = clause.word(mark.end);
        if after.is_none_or(|word| word.sign) {
            continue;
        }
        let joined =
            before.is_some_and(|word| word.is(',') || word.is('(') || matches!(word.plain.as_str(), "and" | "e" | "y"));
        let Some(old) = clause.phrase_from(mark.end) else { continue };
        let closes = clause.word(old.end).is_none_or(|word| word.sign);
        let kind = clause.kind(old.start);
        if joined && closes && mark.at > 1 && !clause.starts(mark.end, Sign::Move) {
            let until = mark.at - 1;
            let new = kind.and_then(|kind| typed_before(clause, until, kind)).or_else(|| clause.phrase_until(until));
            return Some(Frame::set("not_but", new, Some(old)));
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
                return Some(Frame::set("not_but", Some(new), Some(old)));
            }
        }
    }
    None
}

/// "your $200K is now $140K".
fn now_is(clause: &Clause) -> Option<Frame> {
    let is = clause
        .each(Sign::Is)
        .chain(clause.each(Sign::Move))
        .find(|mark| mark.at > 0 && clause.kind(mark.at - 1).is_some() && clause.has(&[Sign::Now, Sign::Move]))?;
    let old = is.at - 1;
    let kind = clause.kind(old)?;
    let bare = (0..old).all(|at| clause.small(at) || clause.word(at).is_some_and(|word| word.sign));
    let new = (is.end..clause.words.len()).find(|at| clause.kind(*at) == Some(kind))?;
    bare.then(|| Frame::set("now", Some(new..clause.measured(new)), Some(old..old + 1)))
}

/// "Y has left": what follows may say who comes.
fn leave(clause: &Clause) -> Option<Frame> {
    let mark = clause.first(Sign::Leave)?;
    let old = clause.phrase_until(mark.at)?;
    let named = clause.word(old.start)?.name || old.start <= 1;
    if !named {
        return None;
    }
    let mut new = None;
    for direct in clause.each(Sign::Direct).chain(clause.each(Sign::Over)).filter(|direct| direct.at >= mark.end) {
        let span = if clause.starts(direct.at, Sign::Over) {
            clause.phrase_until(direct.at)
        } else {
            clause.phrase_from(direct.end)
        };
        new = new.or(span.filter(|span| clause.word(span.start).is_some_and(|word| word.name)));
    }
    let is = clause.each(Sign::Is).find(|is| is.at >= mark.end);
    new = new.or_else(|| {
        is.and_then(|is| {
            clause
                .phrase_until(is.at)
                .filter(|span| span.start >= mark.end && clause.word(span.start).is_some_and(|word| word.name))
        })
        .or_else(|| {
            is.and_then(|is| {
                clause.phrase_from(is.end).filter(|span| clause.word(span.start).is_some_and(|word| word.name))
            })
        })
    });
    let act = if new.is_some() { Act::Set } else { Act::Cancel };
    Some(Frame { act, cue: "departure", new, old: Some(old), head: None })
}

/// "X takes over from Y"; "X substitui Y".
fn over(clause: &Clause) -> Option<Frame> {
    let mark = clause.first(Sign::Over)?;
    let new = clause
        .phrase_until(mark.at)
        .filter(|span| clause.word(span.start).is_some_and(|word| word.name || span.start == 0))
        .or_else(|| {
            clause.phrase_from(mark.end).filter(|span| clause.word(span.start).is_some_and(|word| word.name))
        })?;
    let old = clause
        .each(Sign::From)
        .filter(|from| from.at >= mark.end)
        .find_map(|from| clause.phrase_from(from.end))
        .or_else(|| clause.phrase_from(mark.end))
        .filter(|span| span.start >= mark.end && clause.word(span.start).is_some_and(|word| word.name));
    Some(Frame::set("take_over", Some(new), old).about(Some(mark.end..clause.words.len())))
}

/// "no longer Y".
fn no_longer(clause: &Clause) -> Option<Frame> {
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
    let act = if new.is_some() { Act::Set } else { Act::Cancel };
    Some(Frame { act, cue: "no_longer", new, old, head: None })
}

/// Prepositions between what is given and what is got.
const FOR: &[&str] = &["for", "with", "by", "por", "pelo", "pela", "pelos", "pelas", "com", "con"];

/// "swap Y for X"; "troca Y por X".
fn swap(clause: &Clause) -> Option<Frame> {
    let mark = clause.first(Sign::Swap)?;
    let joint = (mark.end..clause.words.len())
        .find(|at| clause.word(*at).is_some_and(|word| FOR.contains(&word.plain.as_str())))?;
    let old = clause.phrase_from(mark.end).filter(|span| span.end <= joint)?;
    Some(Frame::set("swap", clause.phrase_from(joint + 1), Some(old.start..joint)))
}

/// "go back to X".
fn back(clause: &Clause) -> Option<Frame> {
    let mark = clause.first(Sign::Back)?;
    let new = clause.phrase_from(mark.end)?;
    Some(Frame { act: Act::Revert, cue: "revert", new: Some(new), old: None, head: None })
}

/// Prepositions that only lead to where something goes.
const TOWARDS: &[&str] =
    &["to", "onto", "into", "para", "pra", "pro", "pras", "pros", "p", "al", "ao", "hasta", "ate", "until", "till"];

/// Whether the word before these says by how much, not to what.
fn by_how_much(clause: &Clause, at: usize) -> bool {
    at > 0 && clause.starts(at - 1, Sign::By) && clause.word(at - 1).is_some_and(|word| word.plain == "by")
}

/// "moved to X"; "changed from Y to X"; "was delayed, it is now X".
fn moved(clause: &Clause) -> Option<Frame> {
    let mark = clause.first(Sign::Move)?;
    let from = clause
        .each(Sign::From)
        .filter(|from| from.at >= mark.end && clause.word(from.at).is_some_and(|word| word.plain != "was"))
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
                    || (clause.word(*at).is_some_and(|word| word.plain == "a")
                        && clause.starts(*at, Sign::To)
                        && !clause.starts(*at, Sign::Is))
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
    Some(Frame::set("move", Some(new), from).about(Some(0..clause.words.len())))
}

/// "was approved"; "the bank rejected the loan".
fn status(clause: &Clause) -> Option<Frame> {
    let mark = clause.each(Sign::Status).last()?;
    let subject = subject_before(clause, mark);
    Some(Frame { act: Act::Set, cue: "status", new: Some(mark.at..mark.end), old: None, head: Some(subject) })
}

/// What a sentence says a status of: the words before it, or after an active verb.
fn subject_before(clause: &Clause, mark: Mark) -> Span {
    let content = (0..mark.at).any(|at| !clause.small(at) && clause.word(at).is_some_and(|word| !word.sign));
    if content { 0..mark.at.max(1) } else { mark.end..clause.words.len() }
}

/// "cancel X".
fn end(clause: &Clause) -> Option<Frame> {
    let mark = clause.first(Sign::End)?;
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
    Some(Frame { act, cue, new, old: object.clone(), head: object })
}

/// "we are going with X"; "X it is".
fn chosen(clause: &Clause) -> Option<Frame> {
    let mark = clause.each(Sign::Choose).last()?;
    if clause.word(mark.at).is_some_and(|word| word.plain == "it") {
        let closes = clause.word(mark.end).is_none_or(|word| word.sign);
        return closes.then(|| Frame::set("choice", clause.phrase_until(mark.at), None));
    }
    let is = clause.each(Sign::Is).filter(|is| is.at >= mark.at).last();
    let new = is
        .and_then(|is| clause.phrase_from(is.end))
        .or_else(|| typed_from(clause, mark.end, None))
        .or_else(|| clause.phrase_from(mark.end))?;
    Some(Frame::set("choice", Some(new), None))
}

/// "make that X".
fn made(clause: &Clause) -> Option<Frame> {
    let mark = clause.first(Sign::Make)?;
    let new = typed_from(clause, mark.end, None).or_else(|| clause.phrase_from(mark.end))?;
    let strong = mark.end - mark.at > 1 || clause.has(&[Sign::Correct]);
    strong.then(|| Frame::set("correction", Some(new), None))
}

/// The value that a sentence gives with "is": typed if there is one, and never the subject itself.
fn predicate(clause: &Clause) -> Option<(Mark, Span)> {
    let mut worded = None;
    for is in clause.each(Sign::Is) {
        let Some(span) = clause.phrase_from(is.end) else { continue };
        if clause.kind(span.start).is_some() {
            return Some((is, span));
        }
        worded = worded.or(Some((is, span)));
    }
    worded
}

/// "it is X now"; "from now on X".
fn stated_now(clause: &Clause) -> Option<Frame> {
    let now = clause.first(Sign::Now)?;
    if let Some((is, span)) = predicate(clause) {
        return Some(Frame::set("now", Some(span), None).about(Some(0..is.at)));
    }
    let new = typed_from(clause, 0, None)
        .or_else(|| clause.each(Sign::To).filter(|to| to.at > 0).filter_map(|to| clause.phrase_from(to.end)).last())
        .or_else(|| clause.phrase_from(now.end))
        .or_else(|| clause.phrase_until(now.at))?;
    Some(Frame::set("now", Some(new), None))
}

/// "actually X"; "no, it is X".
fn corrected(clause: &Clause) -> Option<Frame> {
    let said_no = clause.starts(0, Sign::Not) && clause.word(1).is_some_and(|word| word.is(','));
    let mark = clause.each(Sign::Correct).last().map_or(if said_no { Some(1) } else { None }, |mark| Some(mark.end))?;
    if let Some((is, span)) = predicate(clause) {
        return Some(Frame::set("correction", Some(span), None).about(Some(0..is.at)));
    }
    let new = typed_from(clause, 0, None)
        .or_else(|| clause.each(Sign::To).filter(|to| to.at >= 1).filter_map(|to| clause.phrase_from(to.end)).last())
        .or_else(|| clause.phrase_from(mark + usize::from(clause.word(mark).is_some_and(|word| word.is(',')))))?;
    Some(Frame::set("correction", Some(new), None))
}

/// "send it to X"; "use X".
fn directed(clause: &Clause) -> Option<Frame> {
    let mark = clause.first(Sign::Direct)?;
    let to = clause.each(Sign::To).filter(|to| to.at >= mark.end).find_map(|to| clause.phrase_from(to.end));
    let new = to.or_else(|| clause.phrase_from(mark.end))?;
    Some(Frame::set("direct", Some(new), None))
}

/// "the deadline is X".
fn stated(clause: &Clause) -> Option<Frame> {
    let (is, span) = predicate(clause)?;
    (is.at > 0).then(|| Frame::set("statement", Some(span), None).about(Some(0..is.at)))
}
