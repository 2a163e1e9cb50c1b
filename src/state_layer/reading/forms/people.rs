//! Forms about who does something: somebody leaves, somebody takes over.

use super::Change;
use crate::state_layer::language::titles::is_title_word;
use crate::state_layer::reading::Act;
use crate::state_layer::reading::clause::{Clause, Span};
use crate::state_layer::reading::lexicon::Sign;

/// "Y has left": what follows may say who comes.
pub(super) fn leave(clause: &Clause) -> Option<Change> {
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
    Some(Change { act, cue: "departure", new, old: Some(old), head: None })
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
pub(super) fn over(clause: &Clause) -> Option<Change> {
    let mark = clause.first(Sign::Over)?;
    if clause.word(mark.at).is_some_and(|word| matches!(word.plain.as_str(), "lo" | "la")) {
        // "a Pavel lo reemplaza Inés"
        return Some(Change::set("take_over", clause.phrase_from(mark.end), clause.phrase_until(mark.at)));
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
    Some(Change::set("take_over", Some(new), old).about(Some(mark.end..clause.words.len())))
}
