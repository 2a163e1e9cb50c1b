//! The forms in which people say that something changes: what is new, what is old, and which words gave it away.

use super::Act;
use super::clause::{Clause, Span};
use super::lexicon::{Mark, Sign};
use super::words::Tongue;
use crate::state_layer::language::titles::is_title_word;
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
    corrected, passive, directed, stated,
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
    let mut old = clause.phrase_from(mark.end)?;
    let direct = clause.each(Sign::Direct).find(|direct| direct.at > old.start && direct.at <= old.end && mark.at < 2);
    if let Some(direct) = direct {
        old.end = direct.at;
        return Some(Frame::set("instead_of", clause.phrase_from(direct.end), Some(old)));
    }
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
    let mut at = mark.end;
    let mut new = None;
    while new.is_none() && at < clause.words.len() {
        let word = clause.word(at)?;
        let title = is_title_word(&word.plain);
        if word.name && word.value.is_none() && !title && !clause.small(at) {
            let acts = clause
                .word(at.saturating_sub(1))
                .is_some_and(|before| matches!(before.plain.as_str(), "from" | "do" | "da" | "del"));
            let closes = clause.each(Sign::Over).chain(clause.each(Sign::Is)).any(|is| is.at > at);
            new = (!acts || !closes).then(|| name_at(clause, at));
        }
        at += 1;
    }
    let act = if new.is_some() { Act::Set } else { Act::Cancel };
    Some(Frame { act, cue: "departure", new, old: Some(old), head: None })
}

/// The name that starts here: words in capitals, with what joins them.
fn name_at(clause: &Clause, start: usize) -> Span {
    let mut end = start + 1;
    while clause.word(end).is_some_and(|word| word.name && word.value.is_none() && !word.sign) {
        end += 1;
    }
    start..end
}

/// "X takes over from Y"; "X substitui Y".
fn over(clause: &Clause) -> Option<Frame> {
    let mark = clause.first(Sign::Over)?;
    if clause.word(mark.at).is_some_and(|word| matches!(word.plain.as_str(), "lo" | "la")) {
        // "a Pavel lo reemplaza Inés"
        return Some(Frame::set("take_over", clause.phrase_from(mark.end), clause.phrase_until(mark.at)));
    }
    if (mark.end..mark.end + 3).any(|at| clause.kind(at).is_some()) {
        return None;
    }
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
    if new.is_none() && clause.has(&[Sign::End]) {
        return None;
    }
    let act = if new.is_some() { Act::Set } else { Act::Cancel };
    Some(Frame { act, cue: "no_longer", new, old, head: None })
}

/// Prepositions between what is given and what is got.
const FOR: &[&str] = &["for", "with", "by", "por", "pelo", "pela", "pelos", "pelas", "com", "con"];

/// "swap Y for X"; "troca Y por X".
fn swap(clause: &Clause) -> Option<Frame> {
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
        return Some(Frame::set("swap", clause.phrase_from(by + 1), clause.phrase_until(subject)));
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
            let passing = word.plain == "por"
                || (matches!(word.plain.as_str(), "em" | "en" | "de")
                    && clause.word(mark.at).is_some_and(|word| word.plain.starts_with("pas")));
            (to && !passing)
                || (word.value.is_some() && !word.plain.starts_with(|sign: char| sign.is_alphabetic()))
                || clause.kind(at) == Some(ValueKind::Time)
        })
    };
    weak && !(mark.end..(mark.end + 7).min(clause.words.len())).any(leads)
}

/// "moved to X"; "changed from Y to X"; "was delayed, it is now X".
fn moved(clause: &Clause) -> Option<Frame> {
    let mark = clause.each(Sign::Move).find(|mark| !passes_by(clause, *mark))?;
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
    Some(Frame::set("move", Some(new), from).about(Some(0..clause.words.len())))
}

/// "was approved"; "the bank rejected the loan".
fn status(clause: &Clause) -> Option<Frame> {
    let mark = clause.each(Sign::Status).last()?;
    let subject = subject_before(clause, mark);
    Some(Frame { act: Act::Set, cue: "status", new: Some(mark.at..mark.end), old: None, head: Some(subject) })
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
fn passive(clause: &Clause) -> Option<Frame> {
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
    closes.then(|| Frame { act: Act::Set, cue: "status", new: Some(at..at + 1), old: None, head: Some(0..at - 1) })
}

/// "cancel X".
fn end(clause: &Clause) -> Option<Frame> {
    let mark = clause.first(Sign::End)?;
    // "I quit X, so now it is Y": what counts is Y.
    if clause.each(Sign::Now).any(|now| now.at > mark.end)
        && let Some(frame) =
            stated_now(clause).filter(|frame| frame.new.as_ref().is_some_and(|new| new.start > mark.end))
    {
        return Some(frame);
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
fn stated_now(clause: &Clause) -> Option<Frame> {
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
fn corrected(clause: &Clause) -> Option<Frame> {
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
