//! From the words of an utterance to its claims.

use super::clause::{Clause, Span};
use super::forms::{self, Change};
use super::lexicon::Sign;
use super::whose::{names_of, narrowed, others_of, relations_of};
use super::words::{Tongue, Word, is_abbreviated, stem, tongue, words};
use super::{Act, Claim, RULES_VERSION, Reading, Stance, Utterance, replaced, slots, stance};
use crate::domain::canonical::{Digest, Purpose, hash, keyed};
use crate::domain::id::ReadingId;
use crate::domain::time::Timestamp;
use crate::state_layer::fact::FactScope;
use crate::state_layer::language::folding::plain_text;
use crate::state_layer::language::tags::tagged;
use crate::state_layer::language::terms::{self, Language};
use crate::state_layer::language::titles::passed_on;
use crate::state_layer::language::value::ValueKind;

/// The most stems of what a claim is about.
const MAX_ABOUT: usize = 24;
/// The most stems of one of its other lists.
const MAX_LIST: usize = 8;
/// The most claims of one utterance.
const MAX_CLAIMS: usize = 8;
/// Up to so many words are no sentence that can be said again: they may well be news.
const ECHO_WORDS: usize = 3;
/// The most words of an utterance that are read.
const MAX_WORDS: usize = 400;

/// Speakers whose words are not a person's.
const NOT_PERSONS: &[&str] = &["assistant", "assistente", "asistente", "bot", "ai", "model", "tool", "agent", "agente"];

/// Titles of people outside: what they state are their own terms.
const OUTSIDERS: &[&str] = &[
    "vendor",
    "supplier",
    "contractor",
    "external",
    "fornecedor",
    "proveedor",
    "competitor",
    "concorrente",
    "competidor",
    "externo",
    "externa",
];

/// The classes of words that give a change away.
const CUES: &[Sign] = &[
    Sign::Move,
    Sign::Correct,
    Sign::Choose,
    Sign::Now,
    Sign::Instead,
    Sign::NoLonger,
    Sign::Swap,
    Sign::Back,
    Sign::Make,
    Sign::Direct,
    Sign::Is,
    Sign::Request,
    Sign::Over,
    Sign::Gone,
    Sign::Begin,
];

/// Reads an utterance: what it says that is so, whoever's word it is, and no more of its words than that. The salt is a
/// random one of this reading's own.
#[must_use]
pub fn read(utterance: &Utterance, reading_id: ReadingId, recorded_at: Timestamp, salt: Digest) -> Reading {
    let marks = tagged(&utterance.text);
    let mut all = words(marks.body);
    all.truncate(MAX_WORDS);
    let tongue = tongue(&all);
    let language = match tongue {
        Tongue::Portuguese => Language::Portuguese,
        Tongue::Spanish => Language::Spanish,
        Tongue::English => Language::English,
        Tongue::Unknown => terms::language(marks.body),
    };
    let speaker = plain_text(utterance.speaker.trim());
    let outside = marks.title.as_deref().is_some_and(|title| {
        plain_text(title).split(|letter: char| !letter.is_alphanumeric()).any(|word| OUTSIDERS.contains(&word))
    });
    let ruled = passed_on(marks.body).is_some();
    let (stance, claims) = if NOT_PERSONS.contains(&speaker.as_str()) || outside {
        (Stance::NotCounted, Vec::new())
    } else {
        match marks.scope {
            Some((FactScope::Draft, _)) => (Stance::Draft, Vec::new()),
            Some((FactScope::Hypothetical, _)) => (Stance::Hypothetical, Vec::new()),
            _ => claims_of(&Clause::all(all, tongue), ruled),
        }
    };
    // What the caller knows of the speaker is not raised by what the speaker writes.
    let authority = utterance.authority.clone().or(marks.title);
    let echo = echo_of(&utterance.text, Some(&salt));
    let salt = echo.map(|_| salt);
    let at = utterance.at;
    Reading { reading_id, at, recorded_at, language, stance, authority, claims, echo, salt, rules: RULES_VERSION }
}

/// A digest of a text of more than a few words, whoever says it and however it is spelled. Without its salt nobody can find out
/// by guessing what was said; readings of earlier versions have none.
pub(super) fn echo_of(text: &str, salt: Option<&Digest>) -> Option<Digest> {
    let plain = plain_text(tagged(text).body);
    let words: Vec<&str> = plain.split(|letter: char| !letter.is_alphanumeric()).filter(|it| !it.is_empty()).collect();
    let spoken = words.join(" ");
    (words.len() > ECHO_WORDS).then(|| match salt {
        Some(salt) => keyed(salt, Purpose::Statement, spoken.as_bytes()),
        None => hash(Purpose::Statement, &[spoken.as_bytes()]),
    })
}

/// The claims of all sentences, and how the utterance as a whole is meant.
fn claims_of(clauses: &[Clause], ruled: bool) -> (Stance, Vec<Claim>) {
    let stances: Vec<Stance> = clauses.iter().map(stance::of).collect();
    let drafted = stances.contains(&Stance::Draft) && clauses.iter().any(|clause| clause.has(&[Sign::Draft]));
    let mut claims: Vec<Claim> = Vec::new();
    let mut before: Vec<String> = Vec::new();
    if !drafted {
        for (clause, stance) in clauses.iter().zip(&stances) {
            if *stance != Stance::Assertion || claims.len() >= MAX_CLAIMS {
                continue;
            }
            match forms::of(clause) {
                Some(change) => {
                    let claim = claim_of(clause, &change, &before, ruled);
                    push(&mut claims, claim);
                }
                None => before.extend(stems_of(clause, &(0..0), &(0..0))),
            }
        }
        add_parts(clauses, &stances, ruled, &mut claims);
    }
    let stance = if claims.is_empty() {
        stances.iter().copied().find(|stance| *stance != Stance::Assertion).unwrap_or(if drafted {
            Stance::Draft
        } else {
            Stance::Assertion
        })
    } else {
        Stance::Assertion
    };
    (stance, claims)
}

/// Adds what the parts of the sentences claim, each for itself: after what a whole sentence claims, for the whole of
/// it tells more. But what takes the place of something that is no more comes first.
fn add_parts(clauses: &[Clause], stances: &[Stance], ruled: bool, claims: &mut Vec<Claim>) {
    let mut parts: Vec<(usize, Clause)> = Vec::new();
    for (sentence, (clause, stance)) in clauses.iter().zip(stances).enumerate() {
        // A part may tell of the past, and another of what is so.
        let told = *stance == Stance::Narrative && !clause.has(&[Sign::Hearsay]);
        if *stance != Stance::Assertion && !told {
            continue;
        }
        let own = clause.segments();
        if told && own.is_empty() {
            continue;
        }
        let own = if own.is_empty() { vec![clause.clone()] } else { own };
        let mut before: Vec<String> = Vec::new();
        for part in &own {
            let standing = stance::of(part) == Stance::Assertion;
            let whole = own.len() == 1;
            let change = if standing { forms::of(part) } else { None };
            let bare = if standing { forms::valued(part) } else { None };
            let bare = bare.filter(|_| !told);
            let change = change.filter(|change| !told || matches!(change.cue, "move" | "now" | "correction"));
            for change in change.into_iter().filter(|change| !whole && change.new.is_some()).chain(bare) {
                let claim = claim_of(part, &change, &before, ruled);
                if !claims.contains(&claim) {
                    claims.push(claim);
                }
            }
            before = stems_of(part, &(0..0), &(0..0));
        }
        let kept = own.into_iter().filter(|part| !told || stance::of(part) == Stance::Assertion);
        parts.extend(kept.map(|part| (sentence, part)));
    }
    if let Some((gone, part, new)) = replaced::pair(&parts) {
        let mut claim = claim_of(part, &Change::replacing(new), &[], ruled);
        claim.about = limited(stems_of(gone, &(0..0), &(0..0)), MAX_ABOUT);
        claim.head = limited(claim.about.clone(), MAX_LIST);
        claim.names = Vec::new();
        claim.others = limited(relations_of(gone), MAX_LIST);
        claim.old_value = claim
            .new_value
            .as_ref()
            .and_then(|(kind, _)| {
                gone.words.iter().filter_map(|word| word.value.as_ref()).find(|value| value.kind == *kind)
            })
            .map(|value| (value.kind, value.canonical.clone()));
        claims.insert(0, claim);
    }
    claims.truncate(MAX_CLAIMS);
}

/// The claims of a text that somebody wrote down as a fact.
pub(super) fn of_text(text: &str) -> Vec<Claim> {
    let marks = tagged(text);
    let mut all = words(marks.body);
    all.truncate(MAX_WORDS);
    let tongue = tongue(&all);
    claims_of(&Clause::all(all, tongue), false).1
}

/// The stems and slots of a key.
pub(super) fn terms_of_key(key: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (stem, slots) in super::words::terms(key) {
        found.extend(slots.iter().map(|slot| format!("#{slot}")));
        found.push(stem);
    }
    limited(found, MAX_ABOUT)
}

/// Adds a claim. Who comes may be said in the sentence after the one that says who goes.
fn push(claims: &mut Vec<Claim>, claim: Claim) {
    if let Some(last) = claims.last_mut()
        && last.cue.as_deref() == Some("departure")
        && last.new.is_none()
        && claim.new_value.as_ref().is_some_and(|(kind, _)| *kind == ValueKind::Word)
        && matches!(claim.cue.as_deref(), Some("direct" | "now" | "take_over"))
    {
        last.act = Act::Set;
        last.new = claim.new;
        last.new_value = claim.new_value;
        return;
    }
    claims.push(claim);
}

fn claim_of(clause: &Clause, change: &Change, before: &[String], ruled: bool) -> Claim {
    let new = change.new.clone().unwrap_or(0..0);
    let old = change.old.clone().unwrap_or(0..0);
    let mut about = stems_of(clause, &new, &(0..0));
    if about.len() < 2 {
        about.extend(before.iter().cloned());
    }
    let head = change.head.clone().map(|span| head_stems(clause, &span, &new)).unwrap_or_default();
    let apart = |at: &usize| !new.contains(at) && !old.contains(at);
    let mut names = names_of(clause, apart);
    if change.cue == "direct" {
        names.extend(narrowed(clause));
    }
    add_value_terms(clause, &new, &mut about);
    if ruled && change.cue == "choice" {
        about.push("#policy".to_owned());
    }
    let others = others_of(clause, &new, &old);
    Claim {
        act: change.act,
        cue: (change.cue != "statement").then(|| change.cue.to_owned()),
        about: limited(about, MAX_ABOUT),
        head: limited(head, MAX_LIST),
        names: limited(names, MAX_LIST),
        others: limited(others, MAX_LIST),
        new: change.new.as_ref().and_then(|_| written(clause, &new)),
        new_value: change.new.as_ref().and_then(|_| typed(clause, &new)),
        old_value: change.old.as_ref().and_then(|_| typed(clause, &old)),
    }
}

fn limited(mut stems: Vec<String>, most: usize) -> Vec<String> {
    stems.sort();
    stems.dedup();
    stems.truncate(most);
    stems
}

/// The stems of a sentence outside of some spans, with the slots that they name.
fn stems_of(clause: &Clause, new: &Span, old: &Span) -> Vec<String> {
    let mut found = Vec::new();
    for (at, word) in clause.words.iter().enumerate() {
        if word.sign || new.contains(&at) || old.contains(&at) {
            continue;
        }
        // Words that only give a change away are not what it is about.
        let cue = CUES.iter().any(|sign| clause.covers(at, *sign)) && slots::of(&word.stem).is_empty();
        add_terms(word, cue || clause.small(at), &mut found);
    }
    found
}

/// What the new value itself tells of its slot: the unit of an amount, the noun of a place, words that name a slot.
fn add_value_terms(clause: &Clause, new: &Span, found: &mut Vec<String>) {
    let typed = new.clone().any(|at| clause.kind(at).is_some());
    for at in new.clone() {
        let Some(word) = clause.word(at).filter(|word| !word.sign) else {
            continue;
        };
        let mut own = Vec::new();
        match &word.value {
            Some(value) if value.kind == ValueKind::Place => {
                own.extend(value.canonical.split(' ').take(1).map(str::to_owned));
                own.extend(
                    slots::of(&stem(value.canonical.split(' ').next().unwrap_or_default()))
                        .iter()
                        .map(|slot| format!("#{slot}")),
                );
            }
            Some(_) => {}
            None => add_terms(word, clause.small(at), &mut own),
        }
        found.extend(own.into_iter().filter(|term| typed || term.starts_with('#')));
    }
}

/// A word's stems, unless it is small, and its slots.
fn add_terms(word: &Word, small: bool, found: &mut Vec<String>) {
    for part in word.plain.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty()) {
        let stem = stem(part);
        found.extend(slots::of(&stem).iter().map(|slot| format!("#{slot}")));
        if !small && !found.contains(&stem) {
            found.push(stem);
        }
    }
}

/// The stems of a subject: up to the word that opens a part which only describes it.
fn head_stems(clause: &Clause, span: &Span, new: &Span) -> Vec<String> {
    let mut found = Vec::new();
    let mut before = Vec::new();
    let mut content = false;
    for at in span.clone() {
        let Some(word) = clause.word(at) else { break };
        if word.sign || new.contains(&at) {
            if content && word.is(',') {
                before = std::mem::take(&mut found);
                content = false;
            }
            continue;
        }
        content |= !clause.small(at);
        // "the value of the deposit" is about the deposit.
        let of =
            clause.word(at + 1).is_some_and(|next| matches!(next.plain.as_str(), "de" | "do" | "da" | "del" | "of"));
        if of && slots::is_generic(&word.stem) && at + 2 < span.end {
            continue;
        }
        add_terms(word, clause.small(at), &mut found);
    }
    // "the grant came, it was awarded": a part without words of its own is about the part before it.
    if content { found } else { before.into_iter().chain(found).collect() }
}

/// A span as it should be kept: without what only led to the value.
fn written(clause: &Clause, span: &Span) -> Option<String> {
    let words: Vec<&Word> = span.clone().filter_map(|at| clause.word(at)).collect();
    let mut text = String::new();
    let mut end = words.first()?.start;
    for word in words {
        if word.start > end {
            // A full stop that ends no sentence belongs to the word before it: "Dr. Lee".
            let short = text.rsplit(' ').next().is_some_and(|last| is_abbreviated(&plain_text(last)));
            if short && word.start > end + 1 {
                text.push('.');
            }
            text.push(' ');
        }
        text.push_str(&word.text());
        end = word.end;
    }
    let kind = clause.kind(span.start);
    let bare = match kind {
        Some(ValueKind::Time) => without_preposition(&text),
        _ => text.as_str(),
    };
    Some(bare.to_owned())
}

/// A time without the word before it: `a las 3` → `3`, `às 16h` → `16h`.
fn without_preposition(text: &str) -> &str {
    let digit = text.find(|letter: char| letter.is_ascii_digit()).unwrap_or(0);
    let before = plain_text(text.get(..digit).unwrap_or_default());
    if matches!(before.trim(), "a las" | "las" | "as" | "at") { text.get(digit..).unwrap_or(text) } else { text }
}

/// A span's kind and canonical form: of its first typed value, or else its stems.
fn typed(clause: &Clause, span: &Span) -> Option<(ValueKind, String)> {
    let value = span.clone().filter_map(|at| clause.word(at)).find_map(|word| word.value.as_ref());
    if let Some(value) = value {
        return Some((value.kind, value.canonical.clone()));
    }
    let stems = clause.stems(span.clone());
    (!stems.is_empty()).then(|| (ValueKind::Word, stems.join(" ")))
}
