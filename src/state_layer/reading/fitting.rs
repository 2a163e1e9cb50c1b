//! How a claim fits a fact: what they have in common, and what tells them apart.

use super::prepared::{KeyWord, Prepared};
use super::words::terms;
use super::{Act, Claim, classes, slots};
use crate::state_layer::language::value::{TypedValue, ValueKind, values};

/// The most words of a value that is told by its class.
const LONG: usize = 4;

/// How a claim fits a fact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent findings, not states")]
pub(super) struct Fit {
    /// The old value is the fact's.
    pub old: bool,
    /// Words of the key that the claim names.
    pub key: usize,
    /// The same without words that name only a type.
    pub telling: usize,
    /// Words of the key that it does not name, without those that name only a type.
    pub missing: usize,
    /// Words of the key that it names by their own stem.
    pub exact: usize,
    /// Words of the value that it names.
    pub text: usize,
    /// Its subject or object is the key's.
    pub head: bool,
    /// The new value could stand in the fact.
    pub kind: bool,
    /// The new value is of the very kind and measure of the fact's.
    pub alike: bool,
    /// All words of the key are named or are what any value of this kind has; one at least is named.
    pub covered: bool,
    /// The fact says so already.
    pub same: bool,
    /// It speaks of a name that the fact does not know.
    pub foreign: bool,
    /// It speaks of some name that the fact does not know.
    pub strange: bool,
    /// The new value and the fact's are words of one closed class.
    pub peer: bool,
    /// It names a former value of the fact.
    pub former: bool,
}

impl Fit {
    /// How well it fits, for comparison alone.
    pub(super) fn score(&self) -> usize {
        let own = 60 * usize::from(self.old) + 10 * self.telling + 5 * (self.key - self.telling) + 8 * self.text.min(3);
        let shape = 12 * usize::from(self.kind)
            + 20 * usize::from(self.peer)
            + 9 * usize::from(self.head)
            + 50 * usize::from(self.former);
        let whole = if self.key > 0 && self.missing == 0 { 4 } else { 0 };
        (own + shape + whole + 2 * self.exact).saturating_sub(if self.foreign { 8 } else { 0 })
    }

    /// The most that [`score`](Self::score) can become when the values are read.
    pub(super) fn most(self, asked: &Asked<'_>) -> usize {
        Self { kind: asked.claim.new_value.is_some(), ..self }.score()
    }

    /// With whether the new value could stand in the fact: all that the score still needs.
    pub(super) fn weighed(self, asked: &Asked<'_>, prepared: &Prepared) -> Self {
        Self { kind: asked.claim.new_value.as_ref().is_some_and(|(kind, _)| prepared.takes(*kind)), ..self }
    }

    /// With what only the best fit is asked for.
    pub(super) fn finished(self, asked: &Asked<'_>, prepared: &Prepared) -> Self {
        let claim = asked.claim;
        let implied = |word: &KeyWord, (kind, form): &(ValueKind, String)| {
            word.generic || is_named(word, &claim.about) || slots::is_implied(word.slots, *kind, form)
        };
        let covers = |value: &(ValueKind, String)| prepared.key.iter().all(|word| implied(word, value));
        Self {
            alike: claim.new_value.as_ref().is_some_and(|(kind, form)| prepared.is_like(*kind, form)),
            covered: self.telling > 0 && claim.new_value.as_ref().is_some_and(covers),
            same: claim.act != Act::Cancel && asked.is_said_by(prepared),
            ..self
        }
    }

    /// Whether they have anything in common.
    pub(super) fn linked(&self) -> bool {
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
pub(super) struct Asked<'a> {
    pub claim: &'a Claim,
    /// The typed values of what it gives.
    typed: Vec<TypedValue>,
    /// The stems of what it gives.
    pub words: Vec<String>,
    /// The stems it is about, without slots and words that name only a type.
    stems: Vec<&'a str>,
    /// The closed class of the new value's words, if they have one.
    pub class: Option<&'static str>,
}

impl<'a> Asked<'a> {
    pub(super) fn of(claim: &'a Claim) -> Self {
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
    pub(super) fn is_said_by(&self, prepared: &Prepared) -> bool {
        if !self.typed.is_empty() {
            return self.typed.iter().all(|value| {
                prepared.values().iter().any(|own| own.kind == value.kind && own.canonical == value.canonical)
            });
        }
        !self.words.is_empty() && self.words.iter().all(|stem| prepared.text.contains(stem))
    }
}

/// What a claim and a fact have in common in words; none if nothing. Whether the values fit each other is left open: see
/// [`Fit::weighed`] and [`Fit::finished`]. Reading a fact's values takes the longest.
pub(super) fn meeting(asked: &Asked<'_>, prepared: &Prepared) -> Option<Fit> {
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
    let peer = asked.class.is_some() && asked.class == prepared.class;
    if !old && !peer && key + text + codes == 0 && claim.act != Act::Revert {
        return None;
    }
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
        foreign: !claim.names.is_empty() && codes == 0,
        strange: codes < claim.names.len(),
        peer,
        former,
        ..Fit::default()
    })
}

/// How a claim fits a fact; none if they have nothing in common.
pub(super) fn fit(asked: &Asked<'_>, prepared: &Prepared) -> Option<Fit> {
    meeting(asked, prepared).map(|fit| fit.weighed(asked, prepared).finished(asked, prepared))
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
