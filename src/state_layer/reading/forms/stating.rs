//! Forms that give a value: a choice, a correction, "now it is X", "send it to X", "the S is X".

use super::{Change, TOWARDS, typed_from};
use crate::state_layer::language::value::ValueKind;
use crate::state_layer::reading::clause::{Clause, Span};
use crate::state_layer::reading::lexicon::{Mark, Sign};
use crate::state_layer::reading::words::Tongue;

/// "we are going with X"; "X it is".
pub(super) fn chosen(clause: &Clause) -> Option<Change> {
    let mark = clause.each(Sign::Choose).last()?;
    if clause.word(mark.at).is_some_and(|word| word.plain == "it") {
        let closes = clause.word(mark.end).is_none_or(|word| word.sign);
        return closes.then(|| Change::set("choice", clause.phrase_until(mark.at), None));
    }
    let is = clause.each(Sign::Is).filter(|is| is.at >= mark.at).last();
    let new = is.and_then(|is| clause.phrase_from(is.end)).or_else(|| {
        // "card in 3 instalments" is one value.
        let phrase = clause.phrase_from(mark.end);
        let typed = typed_from(clause, mark.end, None);
        match (phrase, typed) {
            (Some(phrase), Some(typed)) if phrase.contains(&typed.start) => Some(phrase),
            (phrase, typed) => typed.or(phrase),
        }
    })?;
    Some(Change::set("choice", Some(new), None))
}

pub(super) fn made(clause: &Clause) -> Option<Change> {
    let mark = clause.first(Sign::Make)?;
    let new = typed_from(clause, mark.end, None).or_else(|| clause.phrase_from(mark.end))?;
    let strong = mark.end - mark.at > 1 || clause.has(&[Sign::Correct]);
    strong.then(|| Change::set("correction", Some(new), None))
}

/// The value that a sentence gives with "is": typed if there is one, and never the subject itself.
fn predicate(clause: &Clause) -> Option<(Mark, Span)> {
    let mut worded = None;
    for is in clause.each(Sign::Is) {
        let Some(span) = clause.phrase_from(is.end) else {
            continue;
        };
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
pub(super) fn stated_now(clause: &Clause) -> Option<Change> {
    let is_fresh = |now: &Mark| {
        ["new", "nov", "nuev", "latest"]
            .iter()
            .any(|stem| clause.word(now.at).is_some_and(|word| word.plain.starts_with(stem)))
    };
    let now = clause.each(Sign::Now).find(|now| !is_fresh(now)).or(clause.first(Sign::Now))?;
    if let Some((is, span)) = predicate(clause) {
        return Some(Change::set("now", Some(span), None).about(Some(0..is.at)));
    }
    // "the new X has …" tells of something else than "the new X is …".
    let fresh = is_fresh(&now);
    let colon = (now.end..clause.words.len()).any(|at| clause.word(at).is_some_and(|word| word.is(':')));
    if fresh && !colon {
        return None;
    }
    let new = typed_from(clause, 0, None)
        .or_else(|| clause.each(Sign::To).filter(|to| to.at > 0).filter_map(|to| clause.phrase_from(to.end)).last())
        .or_else(|| clause.phrase_from(now.end))
        .or_else(|| clause.phrase_until(now.at))?;
    Some(Change::set("now", Some(new), None))
}

/// "actually X"; "no, it is X".
pub(super) fn corrected(clause: &Clause) -> Option<Change> {
    let said_no = clause.starts(0, Sign::Not) && clause.word(1).is_some_and(|word| word.is(','));
    let mark = clause
        .each(Sign::Correct)
        .filter(|mark| opens_correction(clause, *mark))
        .last()
        .map_or(if said_no { Some(1) } else { None }, |mark| Some(mark.end))?;
    if let Some((is, span)) = predicate(clause) {
        return Some(Change::set("correction", Some(span), None).about(Some(0..is.at)));
    }
    let new = typed_from(clause, 0, None)
        .or_else(|| clause.each(Sign::To).filter(|to| to.at >= 1).filter_map(|to| clause.phrase_from(to.end)).last())
        .or_else(|| clause.phrase_from(mark + usize::from(clause.word(mark).is_some_and(|word| word.is(',')))))?;
    Some(Change::set("correction", Some(new), None))
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
pub(super) fn directed(clause: &Clause) -> Option<Change> {
    let mark = clause.first(Sign::Direct)?;
    let to = clause.each(Sign::To).filter(|to| to.at >= mark.end).find_map(|to| clause.phrase_from(to.end));
    let new = to.or_else(|| clause.phrase_from(mark.end))?;
    Some(Change::set("direct", Some(new), None))
}

/// "the deadline is X".
pub(super) fn stated(clause: &Clause) -> Option<Change> {
    let (is, span) = predicate(clause)?;
    // "seremos 9": a verb without a subject.
    let verb = clause.word(is.at).is_some_and(|word| word.plain.starts_with("sere") || word.plain == "somos");
    let subject = subject_after(clause, &span).unwrap_or(0..is.at);
    (is.at > 0 || verb).then(|| Change::set("statement", Some(span), None).about(Some(subject)))
}

/// The subject where it comes last: "ya son 27 los niños".
fn subject_after(clause: &Clause, new: &Span) -> Option<Span> {
    let determined = clause.word(new.end).is_some_and(|word| {
        matches!(word.plain.as_str(), "los" | "las" | "el" | "la" | "os" | "as" | "o" | "a" | "nuestros" | "nuestras")
    });
    let noun =
        clause.word(new.end + 1).is_some_and(|word| !word.sign && word.value.is_none()) && !clause.small(new.end + 1);
    let typed = clause.kind(new.start).is_some() && clause.tongue != Tongue::English;
    (determined && noun && typed).then_some(new.end..clause.words.len())
}

/// "overtime pays 2x", "the bill comes to $40": a typed value with no verb that the lists have. What somebody did or
/// what happened is no slot's value.
pub(in crate::state_layer::reading) fn valued(clause: &Clause) -> Option<Change> {
    let at = (0..clause.words.len()).find(|at| clause.kind(*at).is_some())?;
    let end = clause.measured(at);
    let others = (end..clause.words.len()).any(|other| clause.kind(other) == clause.kind(at));
    let until = at.checked_sub(1).is_some_and(|before| {
        (before.saturating_sub(1)..=before).any(|at| {
            clause.word(at).is_some_and(|word| {
                matches!(word.plain.as_str(), "until" | "till" | "before" | "hasta" | "ate" | "antes")
            })
        })
    });
    let blocked = clause.has(&[Sign::Hearsay, Sign::Part, Sign::Add, Sign::Past, Sign::NoLonger])
        || (clause.has(&[Sign::Not]) && !until);
    let subject = |kind: ValueKind| !matches!(kind, ValueKind::Money | ValueKind::Percent);
    let opens = at < 2 && clause.kind(at).is_some_and(subject) && !clause.starts(0, Sign::Is);
    let of_boss = clause.each(Sign::Ruler).any(|mark| {
        mark.at > 0
            && clause.word(mark.at - 1).is_some_and(|word| matches!(word.plain.as_str(), "my" | "mi" | "meu" | "minha"))
    });
    let towards = at.checked_sub(1).is_some_and(|before| {
        clause.word(before).is_some_and(|word| TOWARDS.contains(&word.plain.as_str()) && word.plain != "hasta")
    }) && clause.kind(at) != Some(ValueKind::Place);
    if others || blocked || opens || of_boss || (happened(clause) && !towards) {
        return None;
    }
    Some(Change::set("slot", Some(at..end), None).about(Some(0..clause.words.len())))
}

/// Whether a part tells of a deed or an event: its verb is in the past, or it is what somebody will do.
fn happened(clause: &Clause) -> bool {
    const DEEDS: &[&str] = &[
        "took", "had", "has", "tem", "tiene", "tienen", "did", "went", "ate", "met", "ran", "drove", "flew", "slept",
        "wrote", "made", "bought", "saw", "i'll", "finish", "came", "sat", "spent", "paid", "gave", "sent", "called",
        "fui", "fez", "fiz", "vi", "veio", "hizo", "hice", "vino", "fue", "foi", "was", "were", "estive", "estuve",
        "vou", "voy", "was", "got",
    ];
    clause.words.iter().any(|word| {
        let written = word.written.to_lowercase();
        let past = match clause.tongue {
            Tongue::English => word.plain.len() > 4 && word.plain.ends_with("ed"),
            Tongue::Portuguese => {
                word.plain.len() > 3
                    && ["ei", "ou", "aram", "eram", "iram", "eu", "iu", "amos"].iter().any(|end| written.ends_with(end))
            }
            Tongue::Spanish => {
                word.plain.len() > 3
                    && !["aré", "eré", "dré"].iter().any(|end| written.ends_with(end))
                    && ["é", "ó", "aron", "ieron", "amos", "imos"].iter().any(|end| written.ends_with(end))
            }
            Tongue::Unknown => false,
        };
        word.value.is_none() && !word.sign && !word.name && (past || DEEDS.contains(&word.plain.as_str()))
    })
}

/// "I took the evening shift", "we use the blue one": what somebody begins with, takes or wants.
pub(super) fn begun(clause: &Clause) -> Option<Change> {
    let mark = clause.each(Sign::Begin).last()?;
    let new = clause.phrase_from(mark.end).map(|span| clause.with_what_it_is_of(span))?;
    Some(Change::set("begin", Some(new), None))
}
