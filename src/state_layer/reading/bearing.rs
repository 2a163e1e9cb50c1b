//! Which facts a reading bears on. Never "the newest fact": what a claim names must be found in the fact.

use super::fitting::{Asked, Fit, fit};
use super::judging::{judge, would_lose};
use super::prepared::Prepared;
use super::{Act, Bearing, Claim, Reading};
use crate::domain::id::FactUid;
use crate::state_layer::authority::AuthorityOrder;
use crate::state_layer::fact::Fact;
use crate::state_layer::language::folding::plain_text;
use crate::state_layer::language::value::{ValueKind, values};

/// From how many words on a value is a sentence.
const SENTENCE: usize = 5;
/// How long the same breath is, in seconds.
const BREATH: u64 = 300;

/// Which of the valid facts a reading bears on: at most one fact a claim. The order of `facts` does not matter.
#[must_use]
pub fn bearings(reading: &Reading, facts: &[&Fact], order: &AuthorityOrder) -> Vec<Bearing> {
    if reading.claims.is_empty() {
        return Vec::new();
    }
    let prepared: Vec<(&Fact, Prepared)> = facts.iter().map(|fact| (*fact, Prepared::of(fact))).collect();
    let pairs: Vec<(&Fact, &Prepared)> = prepared.iter().map(|(fact, prepared)| (*fact, prepared)).collect();
    bearings_among(reading, &pairs, order)
}

/// The same for facts that were prepared before.
#[must_use]
pub fn bearings_among(reading: &Reading, facts: &[(&Fact, &Prepared)], order: &AuthorityOrder) -> Vec<Bearing> {
    let mut found: Vec<Bearing> = Vec::new();
    let candidates: Vec<(&Fact, &Prepared)> = facts
        .iter()
        .filter(|(fact, _)| fact.is_valid() && fact.at <= reading.at && !fact.value.is_null())
        .copied()
        .collect();
    // Said again is not said anew: how often something is repeated must not matter (specification, test vector 2).
    if reading.echo.is_some_and(|echo| candidates.iter().any(|(_, prepared)| prepared.echoes.contains(&echo))) {
        return found;
    }
    for (at, claim) in reading.claims.iter().enumerate() {
        let Some(bearing) = bearing(at, claim, reading, &candidates, order) else {
            continue;
        };
        if let Some(other) = found.iter_mut().find(|other| other.target == bearing.target) {
            // A part may be certain of what the whole sentence leaves open.
            if bearing.certain && !other.certain {
                *other = bearing;
            }
        } else if !is_said_twice(claim, &found, &bearing, reading, &candidates) {
            found.push(bearing);
        }
    }
    found
}

fn bearing(
    at: usize,
    claim: &Claim,
    reading: &Reading,
    facts: &[(&Fact, &Prepared)],
    order: &AuthorityOrder,
) -> Option<Bearing> {
    let asked = Asked::of(claim);
    let mut fits: Vec<(usize, Fit, &Fact, &Prepared)> = facts
        .iter()
        .filter_map(|(fact, prepared)| fit(&asked, prepared).map(|fit| (fit.score(), fit, *fact, *prepared)))
        .filter(|(_, fit, ..)| fit.linked())
        .collect();
    fits.sort_by(|left, right| right.0.cmp(&left.0).then_with(|| left.2.uid.cmp(&right.2.uid)));
    let best = fits.first().copied();
    let tied = fits.get(1).is_some_and(|second| best.is_some_and(|best| best.0 == second.0));
    let judged = match best {
        Some((_, fit, fact, prepared)) if !tied => {
            judge(claim, &fit, prepared).map(|(certain, confidence, reason)| (fact, certain, confidence, reason))
        }
        _ => None,
    };
    let same = best.is_some_and(|(_, fit, ..)| fit.same && !tied);
    let (fact, certain, confidence, reason) = match judged {
        Some(judged) => judged,
        None if same || tied => return None,
        None => alone(&asked, reading, facts)?,
    };
    if !may_overrule(reading, fact, order) {
        return None;
    }
    Some(Bearing {
        claim: at,
        target: fact.uid.clone(),
        certain,
        confidence,
        cue: claim.cue.clone().unwrap_or_else(|| "statement".to_owned()),
        reason: reason.to_owned(),
        new_value: if claim.act == Act::Cancel { None } else { claim.new.as_deref().map(|new| kept(new, fact)) },
    })
}

/// Whether a sentence and a part of it say one thing, or two things of one key: only the first counts.
fn is_said_twice(
    claim: &Claim,
    found: &[Bearing],
    bearing: &Bearing,
    reading: &Reading,
    facts: &[(&Fact, &Prepared)],
) -> bool {
    let key = |uid: &FactUid| facts.iter().find(|(fact, _)| fact.uid == *uid).map(|(fact, _)| fact.key.as_str());
    found.iter().any(|other| {
        let said = reading
            .claims
            .get(other.claim)
            .is_some_and(|before| before.new_value.is_some() && before.new_value == claim.new_value);
        said || key(&other.target) == key(&bearing.target)
    })
}

/// The new value as it should be kept: in its place in the sentence that the fact is, if it is one; else without the
/// slot's own name before it, unless the old value has it too.
fn kept(new: &str, fact: &Fact) -> String {
    let prepared = Prepared::of(fact);
    if let Some(sentence) = put_in_place(new, &fact.text(), &prepared) {
        return sentence;
    }
    let mut rest = new;
    while let Some((first, after)) = rest.split_once(' ') {
        let stem = super::words::stem(&plain_text(first));
        let own = prepared.key.iter().any(|word| word.stem == stem) && !prepared.text.contains(&stem);
        let joins = rest.len() < new.len() && matches!(plain_text(first).as_str(), "de" | "do" | "da" | "del" | "of");
        if (!own && !joins) || !first.chars().any(char::is_alphabetic) {
            break;
        }
        rest = after;
    }
    rest.to_owned()
}

/// The fact's sentence with the new values in place of its own, if it has exactly one of each kind.
fn put_in_place(new: &str, text: &str, prepared: &Prepared) -> Option<String> {
    if text.split_whitespace().take(SENTENCE).count() < SENTENCE {
        return None;
    }
    let mut changes: Vec<(std::ops::Range<usize>, String)> = Vec::new();
    for value in values(new) {
        let mut own = prepared.values().iter().filter(|own| own.kind == value.kind);
        let only = own.next().filter(|_| own.next().is_none())?;
        changes.push((only.span.clone(), value.text));
    }
    changes.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let mut sentence = text.to_owned();
    for (span, value) in &changes {
        sentence = format!("{}{value}{}", sentence.get(..span.start)?, sentence.get(span.end..)?);
    }
    (!changes.is_empty()).then_some(sentence)
}

/// A claim that names nothing: the one fact that it can mean.
fn alone<'a>(
    asked: &Asked<'_>,
    reading: &Reading,
    facts: &[(&'a Fact, &Prepared)],
) -> Option<(&'a Fact, bool, u8, &'static str)> {
    let claim = asked.claim;
    let cue = claim.cue.as_deref()?;
    let strong = matches!(cue, "correction" | "move" | "now" | "not_but" | "instead_of" | "choice" | "revert");
    let (kind, _) = claim.new_value.as_ref()?;
    if !strong || !claim.others.is_empty() || claim.act == Act::Cancel {
        return None;
    }
    // "Moving on to other items": words that follow a verb of moving are a new value only of something that is named.
    if matches!(kind, ValueKind::Word | ValueKind::Code) && matches!(cue, "move" | "now" | "revert") {
        return None;
    }
    // What it is about in words that no fact has: with several of them it speaks of something else.
    let loose = claim.about.iter().filter(|term| !term.starts_with('#')).count();
    if loose > if matches!(cue, "correction" | "choice" | "instead_of" | "not_but") { 2 } else { 1 } {
        return None;
    }
    let fitting: Vec<&(&Fact, &Prepared)> = facts.iter().filter(|(_, prepared)| prepared.takes(*kind)).collect();
    let recent: Vec<&(&Fact, &Prepared)> =
        fitting.iter().filter(|(fact, _)| fact.at.seconds_until(reading.at) <= BREATH).copied().collect();
    let one = match (fitting.as_slice(), recent.as_slice()) {
        ([one], _) | (_, [one]) => *one,
        _ => return None,
    };
    if asked.is_said_by(one.1) || !claim.names.is_empty() || would_lose(claim, one.1) {
        return None;
    }
    Some((one.0, true, 75, "the only fact with a value of this kind"))
}

/// Whether the speaker's word may put the fact out of force: policy yields to policy and to executives alone, and
/// anything else to nobody who ranks below it.
fn may_overrule(reading: &Reading, fact: &Fact, order: &AuthorityOrder) -> bool {
    let own = fact.source.authority.as_deref().or((fact.source.kind == "policy").then_some("policy"));
    let rank = |title: &str| order.rank(title);
    let said = reading.authority.as_deref().and_then(rank);
    if own.is_some_and(|own| plain_text(own) == "policy") {
        // An order without executives has none that policy yields to.
        let lowest = if order.same_level("executive", "manager") { "policy" } else { "executive" };
        return said.zip(rank(lowest)).is_some_and(|(said, lowest)| said.level >= lowest.level);
    }
    said.zip(own.and_then(rank)).is_none_or(|(said, own)| said.level >= own.level)
}
