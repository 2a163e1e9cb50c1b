//! Which facts a reading bears on. Never "the newest fact": what a claim names must be found in the fact.

use super::prepared::{KeyWord, Prepared};
use super::words::terms;
use super::{Act, Bearing, Claim, Reading};
use super::{classes, slots};
use crate::state_layer::authority::AuthorityOrder;
use crate::state_layer::fact::Fact;
use crate::state_layer::language::folding::plain_text;
use crate::state_layer::language::value::{TypedValue, ValueKind, values};

/// The most words of a value that is not a sentence.
const SHORT: usize = 3;
/// The most words of a value that is told by its class.
const LONG: usize = 4;
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
        match found.iter_mut().find(|other| other.target == bearing.target) {
            None => found.push(bearing),
            // A part may be certain of what the whole sentence leaves open.
            Some(other) if bearing.certain && !other.certain => *other = bearing,
            Some(_) => {}
        }
    }
    found
}

/// How a claim fits a fact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent findings, not states")]
struct Fit {
    /// The old value is the fact's.
    old: bool,
    /// Words of the key that the claim names.
    key: usize,
    /// The same without words that name only a type.
    telling: usize,
    /// Words of the key that it does not name, without those that name only a type.
    missing: usize,
    /// Words of the key that it names by their own stem.
    exact: usize,
    /// Words of the value that it names.
    text: usize,
    /// Its subject or object is the key's.
    head: bool,
    /// The new value could stand in the fact.
    kind: bool,
    /// The new value is of the very kind and measure of the fact's.
    alike: bool,
    /// All words of the key are named or are what any value of this kind has; one at least is named.
    covered: bool,
    /// The fact says so already.
    same: bool,
    /// It speaks of a name that the fact does not know.
    foreign: bool,
    /// It speaks of some name that the fact does not know.
    strange: bool,
    /// The new value and the fact's are words of one closed class.
    peer: bool,
    /// It names a former value of the fact.
    former: bool,
}

impl Fit {
    fn score(&self) -> usize {
        let own = 60 * usize::from(self.old) + 10 * self.telling + 5 * (self.key - self.telling) + 8 * self.text.min(3);
        let shape = 12 * usize::from(self.kind)
            + 20 * usize::from(self.peer)
            + 9 * usize::from(self.head)
            + 50 * usize::from(self.former);
        let whole = if self.key > 0 && self.missing == 0 { 4 } else { 0 };
        (own + shape + whole + 2 * self.exact).saturating_sub(if self.foreign { 8 } else { 0 })
    }

    fn linked(&self) -> bool {
        self.old || self.former || self.peer || self.key + self.text > 0
    }
}

/// Whether one of these terms names a word of a key.
fn is_named(word: &KeyWord, terms: &[String]) -> bool {
    terms.iter().any(|term| {
        *term == word.stem
            || term.strip_prefix('#').is_some_and(|slot| word.slots.contains(&slot))
            || super::words::kin(term, &word.stem)
    })
}

fn in_key(prepared: &Prepared, terms: &[String]) -> (usize, usize, usize) {
    let mut named = (0, 0, 0);
    for word in &prepared.key {
        let hit = is_named(word, terms);
        match (hit, word.generic) {
            (true, true) => named.0 += 1,
            (true, false) => {
                named.0 += 1;
                named.1 += 1;
            }
            (false, false) => named.2 += 1,
            (false, true) => {}
        }
    }
    named
}

fn knows(prepared: &Prepared, stem: &str) -> bool {
    prepared.text.iter().any(|word| word == stem)
        || prepared.key.iter().any(|word| word.stem == stem)
        || prepared.values().iter().any(|value| value.canonical == stem)
}

/// A claim with what is derived from it once.
struct Asked<'a> {
    claim: &'a Claim,
    typed: Vec<TypedValue>,
    words: Vec<String>,
    /// The stems it is about, without slots and words that name only a type.
    stems: Vec<&'a str>,
    /// The closed class of the new value's words, if they have one.
    class: Option<&'static str>,
}

impl<'a> Asked<'a> {
    fn of(claim: &'a Claim) -> Self {
        let new = claim.new.as_deref().unwrap_or_default();
        let stems = claim
            .about
            .iter()
            .map(String::as_str)
            .filter(|term| !term.starts_with('#') && !super::slots::is_generic(term))
            .collect();
        let words: Vec<String> = terms(new).into_iter().map(|(stem, _)| stem).collect();
        let class = if words.len() <= LONG { classes::of_words(words.iter()) } else { None };
        Self { claim, typed: values(new), words, stems, class }
    }

    /// Whether a fact says this already: all its typed values, or else all its words.
    fn is_said_by(&self, prepared: &Prepared) -> bool {
        if !self.typed.is_empty() {
            return self.typed.iter().all(|value| {
                prepared.values().iter().any(|own| own.kind == value.kind && own.canonical == value.canonical)
            });
        }
        !self.words.is_empty() && self.words.iter().all(|stem| prepared.text.contains(stem))
    }
}

fn fit(asked: &Asked<'_>, prepared: &Prepared) -> Option<Fit> {
    let claim = asked.claim;
    if claim.others.iter().any(|other| !knows(prepared, other)) {
        return None;
    }
    if is_another_number(claim, prepared) {
        return None;
    }
    let (key, telling, missing) = in_key(prepared, &claim.about);
    let plainly = claim.cue.as_deref().is_none_or(|cue| cue == "slot");
    let noun = !plainly
        && prepared.key.iter().any(|word| !word.generic && asked.words.len() > 1 && asked.words.contains(&word.stem));
    let (key, telling) = if telling == 0 && noun { (key + 1, 1) } else { (key, telling) };
    let text = asked.stems.iter().filter(|term| prepared.text.iter().any(|own| own == *term)).count();
    let old = claim.old_value.as_ref().is_some_and(|(kind, form)| match kind {
        ValueKind::Word => {
            let mut words = form.split(' ').filter(|word| word.len() > 1).peekable();
            words.peek().is_some() && words.all(|word| prepared.text.iter().any(|own| own == word))
        }
        _ => {
            prepared.values().iter().any(|value| value.kind == *kind && value.canonical == *form)
                || (*kind == ValueKind::Number
                    && prepared.text.len() == 1
                    && prepared.text.first().is_some_and(|own| own == form))
        }
    });
    let head = noun || !claim.head.is_empty() && in_key(prepared, &claim.head).0 > 0;
    let codes = claim.names.iter().filter(|name| knows(prepared, name)).count();
    // What is not linked is not compared any further: reading a fact's values takes the longest.
    let peer = asked.class.is_some() && asked.class == prepared.class;
    if !old && !peer && key + text + codes == 0 && claim.act != Act::Revert {
        return None;
    }
    let kind = claim.new_value.as_ref().is_some_and(|(kind, _)| prepared.takes(*kind));
    let same = claim.act != Act::Cancel && asked.is_said_by(prepared);
    let former = claim.act == Act::Revert
        && claim.new_value.as_ref().is_some_and(|(_, form)| {
            prepared.former.iter().any(|former| form.split(' ').all(|word| former.iter().any(|own| own == word)))
        });
    Some(Fit {
        old,
        key,
        telling,
        missing,
        exact: prepared.key.iter().filter(|word| claim.about.contains(&word.stem)).count(),
        text: text + codes,
        head,
        kind,
        alike: claim.new_value.as_ref().is_some_and(|(kind, form)| prepared.is_like(*kind, form)),
        covered: telling > 0
            && claim.new_value.as_ref().is_some_and(|(kind, form)| {
                prepared.key.iter().all(|word| {
                    word.generic || is_named(word, &claim.about) || slots::is_implied(word.slots, *kind, form)
                })
            }),
        same,
        foreign: !claim.names.is_empty() && codes == 0,
        strange: codes < claim.names.len(),
        peer,
        former,
    })
}

/// Whether the fact's key has a number of its own, and the claim speaks of another: order 883 is not order 882.
fn is_another_number(claim: &Claim, prepared: &Prepared) -> bool {
    let numbered = |term: &str| term.len() > 1 && term.bytes().all(|byte| byte.is_ascii_digit());
    let mut own = prepared.key.iter().map(|word| word.stem.as_str()).filter(|stem| numbered(stem)).peekable();
    own.peek().is_some()
        && own.all(|number| claim.about.iter().chain(&claim.names).all(|term| !term.ends_with(number)))
        && claim.about.iter().any(|term| numbered(term))
}

/// What a claim and a fact have in common, for callers that only compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Common {
    /// A word of the key that tells facts apart is named.
    pub shares_slot: bool,
    /// The old value that the claim names is the fact's.
    pub holds_old: bool,
    /// The new value is of the fact's kind, and another one.
    pub conflicts: bool,
}

/// What a claim and a fact have in common.
pub(super) fn fits(claim: &Claim, prepared: &Prepared) -> Common {
    fit(&Asked::of(claim), prepared).map_or(Common { shares_slot: false, holds_old: false, conflicts: false }, |fit| {
        Common {
            shares_slot: fit.telling > 0 && fit.missing == 0,
            holds_old: fit.old,
            conflicts: fit.kind && !fit.same,
        }
    })
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

/// The new value as it should be kept: without the slot's own name before it, unless the old value has it too.
fn kept(new: &str, fact: &Fact) -> String {
    let prepared = Prepared::of(fact);
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

/// What the best fit amounts to: certain or not, how sure, and by which rule.
fn judge(claim: &Claim, fit: &Fit, prepared: &Prepared) -> Option<(bool, u8, &'static str)> {
    if fit.same && !(claim.act == Act::Revert && fit.former) {
        return None;
    }
    // What has to be worked out anew is not ended by saying so.
    if prepared.reviewed && claim.act == Act::Cancel {
        return None;
    }
    let replaced = claim.cue.as_deref() == Some("replaced") && fit.text * 2 >= prepared.text.len();
    let own_slot = fit.old || fit.former || replaced || (fit.telling > 0 && fit.missing == 0);
    if would_lose(claim, prepared) && !own_slot {
        return None;
    }
    let cue = claim.cue.as_deref().unwrap_or("statement");
    let worded = claim.new_value.as_ref().is_some_and(|(kind, _)| *kind == ValueKind::Word);
    if fit.former {
        return Some((true, 92, "goes back to a former value of the fact"));
    }
    if fit.old && cue != "end" {
        return Some((
            !fit.foreign || matches!(cue, "instead_of" | "not_but" | "swap" | "departure" | "take_over"),
            95,
            "the old value it names is the fact's",
        ));
    }
    match claim.act {
        Act::Cancel => {
            let named = fit.head || fit.old || fit.telling > 0 || fit.text > 0;
            (named && !fit.foreign && cue == "end").then_some((true, 88, "what it ends is the fact's"))
        }
        Act::Set | Act::Revert if cue == "status" => {
            let named = fit.telling > 0 && (fit.head || (prepared.tells_status() && fit.missing == 0)) || fit.text > 0;
            if !named || fit.foreign {
                return None;
            }
            prepared.is_worded().then_some((true, 86, "a new status of what the fact is about"))
        }
        Act::Set | Act::Revert => {
            if cue == "take_over" {
                return (fit.kind && fit.telling > 0).then_some((
                    true,
                    85,
                    "somebody takes over what the fact is about",
                ));
            }
            if cue == "departure" {
                return None;
            }
            let ruling =
                cue == "choice" && claim.about.iter().any(|term| term == "#policy") && fit.telling + fit.key > 0;
            let whole = cue == "replaced" && worded && fit.text * 2 >= prepared.text.len();
            if !fit.kind && !ruling && !whole {
                return None;
            }
            let link = fit.key > 0 || fit.text > 0;
            if fit.peer && worded && !fit.foreign && !opined(claim) && cue != "statement" {
                return Some((true, 82, "another value of the closed class that the fact's is of"));
            }
            match cue {
                "begin" => None,
                "replaced" => {
                    let named = fit.text > 0 || (fit.telling > 0 && fit.missing == 0);
                    (named && !fit.foreign).then_some((true, 86, "something else is in the fact's place"))
                }
                "slot" => (fit.covered && fit.alike && !fit.strange).then_some((
                    true,
                    78,
                    "a value of the fact's kind for its own slot",
                )),
                "statement" if worded && (opined(claim) || !speaks_of(claim, prepared)) => None,
                "statement" => ((fit.head || (fit.covered && fit.alike && claim.head.is_empty()))
                    && fit.telling > 0
                    && !fit.foreign)
                    .then_some((!worded || fit.missing == 0, 80, "a value for the fact's own slot")),
                "direct" => (fit.telling > 0 || (fit.text > 0 && !worded)).then_some((
                    !fit.foreign,
                    80,
                    "tells to use another value for the fact's slot",
                )),
                _ => link.then_some((!fit.foreign, 90, "a change of the fact's slot with a value of its kind")),
            }
        }
    }
}

/// Whether what is said of the subject is only how somebody likes it.
fn opined(claim: &Claim) -> bool {
    let new = claim.new.as_deref().unwrap_or_default();
    terms(new).iter().any(|(stem, _)| classes::of(stem) == Some(classes::OPINION))
}

/// Whether every word of the claim's subject is one of the key's: a walnut cake is not the cake.
fn speaks_of(claim: &Claim, prepared: &Prepared) -> bool {
    claim.head.iter().filter(|term| !term.starts_with('#') && !slots::is_generic(term)).all(|term| {
        let shared = |word: &KeyWord| slots::of(term).iter().any(|slot| word.slots.contains(slot));
        prepared.text.contains(term)
            || prepared.key.iter().any(|word| word.stem == *term || super::words::kin(term, &word.stem) || shared(word))
    })
}

/// Whether a few words would take the place of a whole sentence: then they must be about it for sure.
fn would_lose(claim: &Claim, prepared: &Prepared) -> bool {
    let worded = claim.new_value.as_ref().is_some_and(|(kind, _)| matches!(kind, ValueKind::Word | ValueKind::Code));
    worded && claim.act != Act::Cancel && prepared.text.len() > SHORT
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

/// Titles and levels that policy yields to.
const POLICY_YIELDS_TO: &[&str] = &[
    "policy",
    "executive",
    "c_level",
    "ceo",
    "cfo",
    "coo",
    "cto",
    "board",
    "president",
    "presidente",
    "presidenta",
    "presidencia",
    "diretoria",
    "conselho",
    "consejo",
    "compliance",
    "legal",
    "system",
];

/// Whether the speaker's word may put the fact out of force.
fn may_overrule(reading: &Reading, fact: &Fact, order: &AuthorityOrder) -> bool {
    let own = fact.source.authority.as_deref().or((fact.source.kind == "policy").then_some("policy"));
    let said = reading.authority.as_deref();
    if own.is_some_and(|own| plain_text(own) == "policy") {
        return said.is_some_and(|said| {
            plain_text(said)
                .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                .any(|word| POLICY_YIELDS_TO.contains(&word))
        });
    }
    let rank = |title: Option<&str>| title.and_then(|title| order.rank(title));
    match (rank(said), rank(own)) {
        (Some(said), Some(own)) => said.level >= own.level,
        _ => true,
    }
}
