//! Conclusions whose ground has gone: what to recompute, from what, without saying again what was concluded.

use std::collections::HashMap;

use super::gate::Shown;
use super::said::words;
use crate::domain::id::FactUid;
use crate::state_layer::language::terms::folded;

/// What a mark in front of a value says of a conclusion that no longer holds.
const INVALIDATED: &[&str] = &[
    "invalidated",
    "invalid",
    "no longer valid",
    "void",
    "needs review",
    "needs recalculation",
    "must recalculate",
    "stale",
    "obsolete",
    "invalidado",
    "invalidada",
    "invalido",
    "invalida",
    "anulado",
    "anulada",
    "sem efeito",
    "sin efecto",
    "obsoleto",
    "obsoleta",
    "a recalcular",
];

/// What a marked value says: what it was based on, and what was concluded. Neither holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Void<'a> {
    /// What it was based on.
    pub ground: Option<&'a str>,
    pub conclusion: &'a str,
}

/// Reads `[INVALIDATED - was based on: X] Original conclusion: Y` and its like.
pub(super) fn void(text: &str) -> Option<Void<'_>> {
    let (mark, rest) = text.trim_start().strip_prefix('[')?.split_once(']')?;
    let plain = folded(mark);
    let marked = INVALIDATED
        .iter()
        .any(|word| plain.trim_start().strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)));
    let ground = mark.split_once(':').map(|(_, ground)| ground.trim()).filter(|ground| !ground.is_empty());
    let rest = rest.trim_start_matches([':', ' ', '-']);
    let conclusion = match rest.split_once(':') {
        Some((label, conclusion)) if label.split_whitespace().count() <= 3 => conclusion.trim(),
        _ => rest,
    };
    marked.then_some(Void { ground, conclusion })
}

/// Which fact stands now in the place of one that was replaced.
#[derive(Debug, Default)]
pub(super) struct Successors<'s> {
    by_uid: HashMap<&'s FactUid, usize>,
    by_words: HashMap<Vec<String>, usize>,
}

impl<'s> Successors<'s> {
    /// From the facts that stand, in this order: of two that claim the place of one, the first has it.
    pub(super) fn new(facts: &'s [Shown<'_>], order: &[usize]) -> Self {
        let mut found = Self::default();
        for place in order {
            let Some(Shown { fact, .. }) = facts.get(*place) else { continue };
            let gone = fact.superseded.iter().chain(fact.former.iter().map(|former| &former.uid));
            for uid in std::iter::once(&fact.uid).chain(gone) {
                found.by_uid.entry(uid).or_insert(*place);
            }
            for former in &fact.former {
                found.by_words.entry(forms(&former.text)).or_insert(*place);
            }
        }
        found
    }

    /// The places of the facts to recompute from.
    pub(super) fn of(&self, shown: &Shown<'_>) -> Vec<usize> {
        let review = shown.fact.review.iter().flat_map(|review| &review.bases);
        let mut places: Vec<usize> = review.filter_map(|uid| self.by_uid.get(uid).copied()).collect();
        let ground = void(&shown.text).and_then(|void| void.ground);
        places.extend(ground.and_then(|ground| self.by_words.get(&forms(ground)).copied()));
        places
    }
}

fn forms(text: &str) -> Vec<String> {
    words(text).into_iter().map(|word| word.form).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_conclusion_is_void() {
        let void_of = |text| void(text).map(|void| (void.ground, void.conclusion));
        assert_eq!(
            void_of("[INVALIDATED - was based on wrong data: $5] Original conclusion: buy"),
            Some((Some("$5"), "buy"))
        );
        assert_eq!(void_of("[Inválido] comprar 3"), Some((None, "comprar 3")));
        assert_eq!(void_of("[VP] Ana (VP): buy"), None);
        assert_eq!(void_of("invalid"), None);
    }
}
