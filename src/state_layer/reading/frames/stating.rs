//! Forms that give a value: a choice, a correction, "now it is X", "send it to X", "the S is X".

use super::{Frame, typed_from};
use crate::state_layer::reading::clause::{Clause, Span};
use crate::state_layer::reading::lexicon::{Mark, Sign};

/// "we are going with X"; "X it is".
pub(super) fn chosen(clause: &Clause) -> Option<Frame> {
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
pub(super) fn made(clause: &Clause) -> Option<Frame> {
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
        let own = clause.word(is.at).is_some_and(|word| {
            matches!(word.plain.as_str(), "i'm" | "we're" | "he's" | "she's" | "estoy" | "estou" | "to")
        });
        let busy = own && !clause.starts(0, Sign::Is) && clause.has(&[Sign::Direct]);
        if !busy {
            worded = worded.or(Some((is, span)));
        }
    }
    worded
}

/// "it is X now"; "from now on X".
pub(super) fn stated_now(clause: &Clause) -> Option<Frame> {
    let now = clause.first(Sign::Now)?;
    if let Some((is, span)) = predicate(clause) {
        return Some(Frame::set("now", Some(span), None).about(Some(0..is.at)));
    }
    // "the new X has …" tells of something else than "the new X is …".
    let fresh = ["new", "nov", "nuev", "latest"]
        .iter()
        .any(|stem| clause.word(now.at).is_some_and(|word| word.plain.starts_with(stem)));
    let colon = (now.end..clause.words.len()).any(|at| clause.word(at).is_some_and(|word| word.is(':')));
    if fresh && !colon {
        return None;
    }
    let new = typed_from(clause, 0, None)
        .or_else(|| clause.each(Sign::To).filter(|to| to.at > 0).filter_map(|to| clause.phrase_from(to.end)).last())
        .or_else(|| clause.phrase_from(now.end))
        .or_else(|| clause.phrase_until(now.at))?;
    Some(Frame::set("now", Some(new), None))
}

/// "actually X"; "no, it is X".
pub(super) fn corrected(clause: &Clause) -> Option<Frame> {
    let said_no = clause.starts(0, Sign::Not) && clause.word(1).is_some_and(|word| word.is(','));
    let mark = clause
        .each(Sign::Correct)
        .filter(|mark| opens_correction(clause, *mark))
        .last()
        .map_or(if said_no { Some(1) } else { None }, |mark| Some(mark.end))?;
    if let Some((is, span)) = predicate(clause) {
        return Some(Frame::set("correction", Some(span), None).about(Some(0..is.at)));
    }
    let new = typed_from(clause, 0, None)
        .or_else(|| clause.each(Sign::To).filter(|to| to.at >= 1).filter_map(|to| clause.phrase_from(to.end)).last())
        .or_else(|| clause.phrase_from(mark + usize::from(clause.word(mark).is_some_and(|word| word.is(',')))))?;
    Some(Frame::set("correction", Some(new), None))
}

/// "better" corrects only where it opens: "better make it 5", not "has a better projector".
fn opens_correction(clause: &Clause, mark: Mark) -> bool {
    let plain = clause.word(mark.at).is_some_and(|word| {
        matches!(word.plain.as_str(), "better" | "melhor" | "mejor" | "rather" | "wrong" | "mistake")
    });
    let before = mark.at.checked_sub(1).and_then(|at| clause.word(at));
    !plain || mark.end - mark.at > 1 || before.is_none_or(|word| word.sign) || mark.at <= 1 && clause.small(0)
}

/// "send it to X"; "use X".
pub(super) fn directed(clause: &Clause) -> Option<Frame> {
    let mark = clause.first(Sign::Direct)?;
    let to = clause.each(Sign::To).filter(|to| to.at >= mark.end).find_map(|to| clause.phrase_from(to.end));
    let new = to.or_else(|| clause.phrase_from(mark.end))?;
    Some(Frame::set("direct", Some(new), None))
}

/// "the deadline is X".
pub(super) fn stated(clause: &Clause) -> Option<Frame> {
    let (is, span) = predicate(clause)?;
    (is.at > 0).then(|| Frame::set("statement", Some(span), None).about(Some(0..is.at)))
}
