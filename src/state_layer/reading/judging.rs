//! What the best fit of a claim amounts to.

use super::fitting::Fit;
use super::prepared::{KeyWord, Prepared};
use super::words::{kin, terms};
use super::{Act, Claim, classes, slots};
use crate::state_layer::language::value::ValueKind;

/// The most words of a value that is not a sentence.
const SHORT: usize = 3;

/// What the best fit amounts to: certain or not, how sure, and by which rule.
pub(super) fn judge(claim: &Claim, fit: &Fit, prepared: &Prepared) -> Option<(bool, u8, &'static str)> {
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
            (prepared.is_worded() && (!prepared.is_name() || prepared.tells_status())).then_some((
                true,
                86,
                "a new status of what the fact is about",
            ))
        }
        Act::Set | Act::Revert => judge_value(claim, fit, prepared),
    }
}

/// What it amounts to that another value is given.
fn judge_value(claim: &Claim, fit: &Fit, prepared: &Prepared) -> Option<(bool, u8, &'static str)> {
    let cue = claim.cue.as_deref().unwrap_or("statement");
    let worded = claim.new_value.as_ref().is_some_and(|(kind, _)| *kind == ValueKind::Word);
    if cue == "take_over" {
        return (fit.kind && fit.telling > 0).then_some((true, 85, "somebody takes over what the fact is about"));
    }
    if cue == "departure" {
        return None;
    }
    let ruling = cue == "choice" && claim.about.iter().any(|term| term == "#policy") && fit.telling + fit.key > 0;
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
        "statement" => {
            ((fit.head || (fit.covered && fit.alike && claim.head.is_empty())) && fit.telling > 0 && !fit.foreign)
                .then_some((!worded || fit.missing == 0, 80, "a value for the fact's own slot"))
        }
        "direct" => (fit.telling > 0 || (fit.text > 0 && !worded)).then_some((
            !fit.foreign,
            80,
            "tells to use another value for the fact's slot",
        )),
        _ => link.then_some((!fit.foreign, 90, "a change of the fact's slot with a value of its kind")),
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
            || prepared.key.iter().any(|word| word.stem == *term || kin(term, &word.stem) || shared(word))
    })
}

/// Whether a few words would take the place of a whole sentence: then they must be about it for sure.
pub(super) fn would_lose(claim: &Claim, prepared: &Prepared) -> bool {
    let worded = claim.new_value.as_ref().is_some_and(|(kind, _)| matches!(kind, ValueKind::Word | ValueKind::Code));
    worded && claim.act != Act::Cancel && prepared.text.len() > SHORT
}
