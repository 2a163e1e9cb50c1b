//! Which facts a reading bears on. Never "the newest fact": what a claim names must be found in the fact.

use std::cmp::Ordering;

use super::candidates::Wanted;
use super::fitting::{Asked, Fit, meeting};
use super::judging::{judge, would_lose};
use super::prepared::{self, Prepared};
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
    let heard = Heard::new(reading, facts, order);
    let wanted = Wanted::by(&heard.asked);
    let mut stem = String::with_capacity(32);
    let candidates: Vec<&Fact> = heard.facts.iter().filter(|fact| wanted.may_mean(fact, &mut stem)).copied().collect();
    heard.bearings(&candidates)
}

/// A reading before the facts that it can speak of.
pub(super) struct Heard<'a> {
    reading: &'a Reading,
    order: &'a AuthorityOrder,
    pub asked: Vec<Asked<'a>>,
    /// The facts that stood when it was said.
    pub facts: Vec<&'a Fact>,
}

impl<'a> Heard<'a> {
    pub(super) fn new(reading: &'a Reading, facts: &[&'a Fact], order: &'a AuthorityOrder) -> Self {
        let stood = |fact: &&&Fact| fact.is_valid() && fact.at <= reading.at && !fact.value.is_null();
        let facts = facts.iter().filter(stood).copied().collect();
        Self { reading, order, asked: reading.claims.iter().map(Asked::of).collect(), facts }
    }

    /// What the claims bear on. Candidates are all facts that have anything in common with them.
    pub(super) fn bearings(&self, candidates: &[&'a Fact]) -> Vec<Bearing> {
        let mut found: Vec<Bearing> = Vec::new();
        let candidates: Vec<(&Fact, Prepared)> = candidates.iter().map(|fact| (*fact, Prepared::of(fact))).collect();
        // Said again is not said anew: how often something is repeated must not matter (specification, test vector 2).
        let words = self.asked.first().map(|asked| asked.words.as_slice()).unwrap_or_default();
        if candidates.iter().any(|(fact, prepared)| prepared.repeats(self.reading, words, fact)) {
            return found;
        }
        for (at, asked) in self.asked.iter().enumerate() {
            let Some(bearing) = self.bearing(at, asked, &candidates) else {
                continue;
            };
            if let Some(other) = found.iter_mut().find(|other| other.target == bearing.target) {
                // A part may be certain of what the whole sentence leaves open.
                if bearing.certain && !other.certain {
                    *other = bearing;
                }
            } else if !self.is_said_twice(asked.claim, &found, &bearing) {
                found.push(bearing);
            }
        }
        found
    }

    fn bearing(&self, at: usize, asked: &Asked<'_>, candidates: &[(&'a Fact, Prepared)]) -> Option<Bearing> {
        let claim = asked.claim;
        let best = match best(asked, candidates) {
            // Of two that fit equally well it is neither.
            Best::Tied => return None,
            Best::One(fit, fact, prepared) => Some((fit.finished(asked, prepared), fact, prepared)),
            Best::None => None,
        };
        let judged = best.and_then(|(fit, fact, prepared)| {
            judge(claim, &fit, prepared).map(|(certain, confidence, reason)| (fact, certain, confidence, reason))
        });
        let (fact, certain, confidence, reason) = match judged {
            Some(judged) => judged,
            None if best.is_some_and(|(fit, ..)| fit.same) => return None,
            None => self.alone(asked)?,
        };
        if !may_overrule(self.reading, fact, self.order) {
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
    fn is_said_twice(&self, claim: &Claim, found: &[Bearing], bearing: &Bearing) -> bool {
        let key = |uid: &FactUid| self.facts.iter().find(|fact| fact.uid == *uid).map(|fact| fact.key.as_str());
        found.iter().any(|other| {
            let said = self
                .reading
                .claims
                .get(other.claim)
                .is_some_and(|before| before.new_value.is_some() && before.new_value == claim.new_value);
            said || key(&other.target) == key(&bearing.target)
        })
    }

    /// A claim that names nothing: the one fact that it can mean.
    fn alone(&self, asked: &Asked<'_>) -> Option<(&'a Fact, bool, u8, &'static str)> {
        let claim = asked.claim;
        let (kind, _) = claim.new_value.as_ref()?;
        if !can_stand_alone(claim, *kind) || !claim.names.is_empty() {
            return None;
        }
        let (fact, prepared) = self.only_taker(*kind)?;
        if asked.is_said_by(&prepared) || would_lose(claim, &prepared) {
            return None;
        }
        Some((fact, true, 75, "the only fact with a value of this kind"))
    }

    /// The only fact in whose place a value of this kind could stand: of those just written, or else of all.
    fn only_taker(&self, kind: ValueKind) -> Option<Taker<'a>> {
        let just_now = |fact: &&Fact| fact.at.seconds_until(self.reading.at) <= BREATH;
        let (recent, older): (Vec<&Fact>, Vec<&Fact>) = self.facts.iter().partition(|fact| just_now(fact));
        match takers(&recent, kind) {
            (None, _) => match takers(&older, kind) {
                (one, None) => one,
                _ => None,
            },
            (one, None) => one,
            _ => None,
        }
    }
}

/// Which of the candidates fits a claim best.
enum Best<'c, 'a> {
    /// None has anything in common with it.
    None,
    /// This one, not yet [finished](Fit::finished).
    One(Fit, &'a Fact, &'c Prepared),
    Tied,
}

/// The best fit. Only facts that could still be it have their values read.
fn best<'c, 'a>(asked: &Asked<'_>, candidates: &'c [(&'a Fact, Prepared)]) -> Best<'c, 'a> {
    let met = candidates.iter().filter_map(|(fact, prepared)| Some((meeting(asked, prepared)?, *fact, prepared)));
    let mut open: Vec<_> = met
        .filter(|(fit, ..)| fit.linked())
        .map(|(fit, fact, prepared)| (fit.most(asked), fit, fact, prepared))
        .collect();
    open.sort_by_key(|(most, ..)| std::cmp::Reverse(*most));
    let (mut highest, mut best) = (0, Best::None);
    for (most, fit, fact, prepared) in open {
        let settled = match best {
            Best::None => false,
            Best::One(..) => most < highest,
            Best::Tied => most <= highest,
        };
        if settled {
            break;
        }
        let fit = fit.weighed(asked, prepared);
        match (fit.score().cmp(&highest), &best) {
            (_, Best::None) | (Ordering::Greater, _) => (highest, best) = (fit.score(), Best::One(fit, fact, prepared)),
            (Ordering::Equal, _) => best = Best::Tied,
            (Ordering::Less, _) => {}
        }
    }
    best
}

/// A fact in whose place a value could stand.
type Taker<'a> = (&'a Fact, Prepared);

/// The first two facts in whose place a value of this kind could stand.
fn takers<'a>(facts: &[&'a Fact], kind: ValueKind) -> (Option<Taker<'a>>, Option<Taker<'a>>) {
    let mut takers = facts.iter().filter(|fact| prepared::takes(fact, kind)).map(|fact| (*fact, Prepared::of(fact)));
    (takers.next(), takers.next())
}

/// Whether a claim says so plainly that something changed that it need not name what.
fn can_stand_alone(claim: &Claim, kind: ValueKind) -> bool {
    let Some(cue) = claim.cue.as_deref() else { return false };
    let strong = matches!(cue, "correction" | "move" | "now" | "not_but" | "instead_of" | "choice" | "revert");
    if !strong || !claim.others.is_empty() || claim.act == Act::Cancel {
        return false;
    }
    // "Moving on to other items": words that follow a verb of moving are a new value only of something that is named.
    if matches!(kind, ValueKind::Word | ValueKind::Code) && matches!(cue, "move" | "now" | "revert") {
        return false;
    }
    // What it is about in words that no fact has: with several of them it speaks of something else.
    let loose = claim.about.iter().filter(|term| !term.starts_with('#')).count();
    loose <= if matches!(cue, "correction" | "choice" | "instead_of" | "not_but") { 2 } else { 1 }
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
