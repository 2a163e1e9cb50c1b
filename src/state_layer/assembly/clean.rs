//! Taking dead values out of a text: asides first, then clauses that name what was replaced, then sentences.

use std::ops::Range;

use super::cues::{ASIDE, REPLACED, begins};
use super::dead::DeadValues;
use super::said::{Said, Word, spaced, words};
use crate::state_layer::language::terms::sentences;

/// A text without its asides: what it says now.
pub(super) fn core_text(text: &str) -> String {
    without(text, |_| true)
}

/// A fact's text without what it says of the past. A fact that stands is never emptied: where nothing else remains,
/// it is left as it is.
pub(super) fn clean_fact(text: &str, dead: &DeadValues<'_>) -> String {
    if !dead.may_touch(text) {
        return if text.contains('(') { without(text, is_past) } else { text.to_owned() };
    }
    let text = without(text, |aside| is_past(aside) || !dead.spans(&Said::new(aside, dead.stems), true).is_empty());
    let parts = sentences(&text);
    let kept: Vec<String> = parts.iter().filter_map(|part| clean_sentence(part, dead, true)).collect();
    let cleaned = tidy(&kept.concat());
    if !cleaned.is_empty() {
        return cleaned;
    }
    let clauses: Vec<&str> = text.split_inclusive([',', ';', '—']).collect();
    let kept: Vec<String> = clauses.iter().filter_map(|clause| clean_sentence(clause, dead, true)).collect();
    let cleaned = tidy(&kept.concat());
    if cleaned.is_empty() { tidy(&text) } else { cleaned }
}

/// Whether an aside speaks of what was so before.
fn is_past(aside: &str) -> bool {
    begins(&spaced(&words(aside)), &ASIDE).is_some()
}

/// A sentence of a conversation without what is dead in it; none where that is what it says.
pub(super) fn clean_said(sentence: &str, dead: &DeadValues<'_>) -> Option<String> {
    if !dead.may_touch(sentence) {
        return Some(tidy(sentence));
    }
    let text = without(sentence, |aside| !dead.spans(&Said::new(aside, dead.stems), false).is_empty());
    clean_sentence(&text, dead, false).map(|text| tidy(&text)).filter(|text| !text.is_empty())
}

/// A sentence from which every dead value could be cut together with the words that say it was replaced.
fn clean_sentence(sentence: &str, dead: &DeadValues<'_>, is_fact: bool) -> Option<String> {
    let said = Said::new(sentence, dead.stems);
    let mut spans = dead.spans(&said, is_fact);
    if spans.is_empty() {
        return Some(sentence.to_owned());
    }
    spans.sort_unstable_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut out = String::new();
    let mut from = 0;
    for span in spans {
        if span.end <= from {
            continue;
        }
        let start = cue_before(&said.words, &span)?;
        out.push_str(sentence.get(from..start.max(from)).unwrap_or_default());
        from = span.end;
    }
    out.push_str(sentence.get(from..).unwrap_or_default());
    // What is left must still say something; of a fact, whose key says what it is about, one word does.
    (words(&out).len() >= if is_fact { 1 } else { 2 }).then_some(out)
}

/// Where the words begin that say of the value after them that it was replaced.
pub(super) fn cue_before(words: &[Word], span: &Range<usize>) -> Option<usize> {
    const ARTICLES: &[&str] =
        &["the", "a", "an", "our", "my", "o", "os", "as", "um", "uma", "el", "la", "los", "las", "un", "una"];
    let row = words.get(..words.partition_point(|word| word.span.end <= span.start))?;
    let row = match row.split_last() {
        Some((last, rest)) if ARTICLES.contains(&last.form.as_str()) => rest,
        _ => row,
    };
    (1..=3)
        .rev()
        .filter_map(|length| row.get(row.len().checked_sub(length)?..))
        .find(|cue| REPLACED.contains(spaced(cue).trim()))
        .and_then(|cue| cue.first())
        .map(|word| word.span.start)
}

/// A text without those of its asides in brackets of which `is_dead` says so. Brackets inside others go with them.
fn without(text: &str, is_dead: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('(') {
        let (before, from) = rest.split_at(open);
        let Some(end) = closing(from) else { break };
        let aside = from.get(1..end).unwrap_or_default();
        rest = from.get(end + 1..).unwrap_or_default();
        if is_dead(aside) {
            out.push_str(before.trim_end());
        } else {
            out.push_str(before);
            out.push_str(from.get(..=end).unwrap_or_default());
        }
    }
    out.push_str(rest);
    out
}

fn closing(from: &str) -> Option<usize> {
    let mut depth = 0_u32;
    from.char_indices().find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// Without the spaces and marks that cutting left behind.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() && !word.chars().all(|c| matches!(c, ',' | '.' | ';')) {
            out.push(' ');
        }
        out.push_str(word);
    }
    let end = out.trim_end_matches([',', ';', ' ', '—', '-', ':']).len();
    out.truncate(end);
    out.trim_start_matches([',', ';', ' ']).to_owned()
}
