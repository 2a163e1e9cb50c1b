//! Instructions under sibling keys (`instruction_a`, `instruction_b`) whose speakers are marked: rank decides, unless it
//! was delegated; equals are surfaced; the same person's later word revokes the earlier.

use super::index::Facet;
use super::keys::{same_reach, sibling_stem};
use super::ordering::later;
use super::standing::Why;
use super::{Ledger, LedgerRules, Weight, weight};
use crate::domain::id::FactUid;
use crate::state_layer::fact::{Cause, Fact};
use crate::state_layer::language::tags::tagged;
use crate::state_layer::language::terms::{folded, language, stems};
use crate::state_layer::language::value::{TypedValue, ValueKind, values};

/// Words that hand authority on.
const DELEGATING: &[&str] = &[
    "can approve",
    "may approve",
    "can authorize",
    "may authorize",
    "can sign",
    "may sign",
    "can decide",
    "may decide",
    "has my approval",
    "have my approval",
    "has authority",
    "has the authority",
    "is authorized to",
    "are authorized to",
    "authorized to",
    "delegate",
    "on my behalf",
    "is empowered to",
    "pode aprovar",
    "podem aprovar",
    "pode autorizar",
    "pode decidir",
    "tem minha aprovacao",
    "tem a minha aprovacao",
    "tem autoridade",
    "autorizado a",
    "autorizada a",
    "delego",
    "delegad",
    "em meu nome",
    "puede aprobar",
    "pueden aprobar",
    "puede autorizar",
    "puede decidir",
    "tiene mi aprobacion",
    "tiene autoridad",
    "autorizado para",
    "autorizada para",
    "en mi nombre",
];

/// Words by which somebody takes back or changes what they said.
const REVOKING: &[&str] = &[
    "revoke",
    "revoking",
    "rescind",
    "withdraw",
    "cancel",
    "no longer",
    "now require",
    "not any more",
    "anymore",
    "instead",
    "from now on",
    "effective",
    "suspend",
    "frozen",
    "freeze",
    "on hold",
    "stop ",
    "changed my mind",
    "scratch that",
    "replaces",
    "supersede",
    "overrid",
    "is now",
    "are now",
    "reverse",
    "revog",
    "cancelad",
    "retir",
    "nao mais",
    "agora exig",
    "agora requer",
    "em vez",
    "a partir de agora",
    "suspens",
    "congelad",
    "desist",
    "anulad",
    "ya no",
    "ahora requier",
    "ahora exig",
    "en lugar",
    "a partir de ahora",
    "a partir de hoje",
    "a partir de hoy",
    "suspend",
    "substitui",
    "sustituye",
    "reemplaza",
];

/// What an instruction says, as far as conflicts go.
struct Instruction {
    uid: FactUid,
    weight: Weight,
    folded: String,
    stems: Vec<String>,
    values: Vec<TypedValue>,
}

impl Instruction {
    /// None for a fact whose speaker is not marked.
    fn of(fact: &Fact, rules: &LedgerRules) -> Option<Self> {
        let text = fact.text();
        let marks = tagged(&text);
        let marked = marks.title.is_some() || (fact.source.authority.is_some() && fact.source.identity.is_some());
        let weight = weight(fact, &rules.order);
        if !marked || !weight.declared {
            return None;
        }
        let mut stems = stems(marks.body, language(marks.body));
        stems.sort_unstable();
        stems.dedup();
        Some(Self { uid: fact.uid.clone(), weight, folded: folded(marks.body), stems, values: values(marks.body) })
    }

    fn says(&self, words: &[&str]) -> bool {
        words.iter().any(|words| self.folded.contains(words))
    }

    /// Whether two are about one thing: a word of meaning in common, or amounts of one kind.
    fn concerns(&self, other: &Self) -> bool {
        self.stems.iter().any(|stem| other.stems.binary_search(stem).is_ok())
    }

    fn differs_in_value(&self, other: &Self) -> bool {
        self.values.iter().any(|own| {
            other.values.iter().any(|theirs| theirs.kind == own.kind)
                && !other.values.iter().any(|theirs| theirs.kind == own.kind && theirs.canonical == own.canonical)
        })
    }

    /// Whether this one lets the other's speaker do it: it delegates, to them, and not beyond its limit.
    fn permits(&self, other: &Self) -> bool {
        if !self.says(DELEGATING) {
            return false;
        }
        let told = |words: Option<&str>| {
            words.map(folded).is_some_and(|words| {
                words.split(|sign: char| !sign.is_alphanumeric()).any(|word| word.len() > 1 && self.has_word(word))
            })
        };
        let weight = &other.weight;
        (told(weight.person.as_deref()) || told(weight.title.as_deref())) && !other.exceeds(self)
    }

    fn has_word(&self, wanted: &str) -> bool {
        self.folded.split(|sign: char| !sign.is_alphanumeric()).any(|word| word == wanted)
    }

    /// Whether an amount of this one is above every amount of that kind that the other sets.
    fn exceeds(&self, limit: &Self) -> bool {
        self.values.iter().any(|own| {
            let Some(amount) = amount(own) else { return false };
            let limits: Vec<f64> =
                limit.values.iter().filter(|value| value.kind == own.kind).filter_map(self::amount).collect();
            !limits.is_empty() && limits.iter().all(|limit| amount > *limit)
        })
    }
}

/// The amount of a value that can be more or less than another of its kind.
fn amount(value: &TypedValue) -> Option<f64> {
    let digits = value.canonical.trim_start_matches(|sign: char| !sign.is_ascii_digit());
    match value.kind {
        ValueKind::Money | ValueKind::Percent => digits.parse().ok(),
        ValueKind::Duration => digits.trim_end_matches(|sign: char| sign.is_ascii_alphabetic()).parse().ok(),
        _ => None,
    }
}

impl Ledger {
    /// Settles a new instruction with those of sibling keys.
    pub(super) fn settle_instructions(&mut self, uid: &FactUid, rules: &LedgerRules) {
        let Some(fact) = self.facts.get(uid) else { return };
        let Some(stem) = sibling_stem(&fact.key) else { return };
        let mut siblings: Vec<&Fact> = self
            .index
            .of_text(Facet::Stem, stem)
            .filter_map(|sibling| self.facts.get(sibling))
            .filter(|sibling| {
                sibling.is_valid()
                    && sibling.key != fact.key
                    && sibling_stem(&sibling.key) == Some(stem)
                    && same_reach(fact, sibling)
            })
            .collect();
        if siblings.is_empty() {
            return;
        }
        let Some(own) = Instruction::of(fact, rules) else { return };
        siblings.sort_by(|one, other| later(one, other));
        let siblings: Vec<Instruction> = siblings.into_iter().filter_map(|fact| Instruction::of(fact, rules)).collect();
        let since = fact.at;
        for theirs in siblings.iter().filter(|theirs| theirs.concerns(&own)) {
            if !self.stands(uid) {
                return;
            }
            if theirs.weight.of_same(&own.weight) {
                if own.says(REVOKING) || own.differs_in_value(theirs) {
                    let reason = format!("{} said otherwise later", own.weight.words());
                    self.supersede(&theirs.uid, uid, Why { cause: Cause::Authority, reason, since });
                }
            } else if theirs.permits(&own) || own.permits(theirs) {
                // Delegated: both hold.
            } else if own.weight.rank > theirs.weight.rank {
                self.overrule(&theirs.uid, uid, &theirs.weight, &own.weight, since);
            } else if own.weight.rank < theirs.weight.rank {
                self.overrule(uid, &theirs.uid, &own.weight, &theirs.weight, since);
            } else if theirs.weight.of_others(&own.weight) {
                self.dispute(uid, &theirs.uid, &own.weight, since);
            }
        }
    }
}
