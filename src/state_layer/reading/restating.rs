//! Whether a written fact replaces an older one that has another key.
//!
//! Two keys are of one lineage when the newer is the older with a word for "newer" at its end: `rate_v2`,
//! `rate_corrected`. Siblings (`fact_1` and `fact_2`, `note_a` and `note_b`) are not.

use super::fitting::fits;
use super::prepared::Prepared;
use super::words::stem;
use super::{Bearing, claims};
use crate::state_layer::fact::Fact;
use crate::state_layer::language::folding::plain_text;

/// Endings of a key that say that it is newer, in plain letters.
const NEWER: &[&str] = &[
    "actual",
    "actualizada",
    "actualizado",
    "amended",
    "atual",
    "atualizada",
    "atualizado",
    "changed",
    "corrected",
    "correction",
    "corregida",
    "corregido",
    "corrigida",
    "corrigido",
    "current",
    "fixed",
    "final",
    "latest",
    "new",
    "nova",
    "novo",
    "nueva",
    "nuevo",
    "now",
    "override",
    "revised",
    "revisada",
    "revisado",
    "updated",
    "update",
];

/// Endings of a key that say that it is older.
const OLDER: &[&str] = &[
    "anterior",
    "antiga",
    "antigo",
    "antigua",
    "antiguo",
    "before",
    "draft",
    "initial",
    "inicial",
    "old",
    "original",
    "previous",
    "tentative",
    "wrong",
];

/// A key without its words for newer and older, and how far along its lineage it is.
fn lineage(key: &str) -> (Vec<String>, u32) {
    let plain = plain_text(key);
    let mut words: Vec<&str> =
        plain.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut version = 100;
    while let Some(last) = words.last().filter(|_| words.len() > 1).copied() {
        let numbered =
            last.strip_prefix('v').or_else(|| last.strip_prefix("rev")).and_then(|figure| figure.parse::<u16>().ok());
        if let Some(number) = numbered {
            // The first version is what a key without one is.
            version += u32::from(number).saturating_sub(1);
        } else if NEWER.contains(&last) {
            version += 1;
        } else if OLDER.contains(&last) {
            version = version.saturating_sub(1);
        } else {
            break;
        }
        words.pop();
    }
    (words.into_iter().map(stem).collect(), version)
}

/// Whether a written fact says that an older one under another key is no longer so. Certain if its key is the older
/// one's in a newer version, or if its text corrects a value of the older one in the same slot.
#[must_use]
pub fn restates(old: &Fact, new: &Fact) -> Option<Bearing> {
    if old.key == new.key || old.uid == new.uid || new.at < old.at || old.text() == new.text() {
        return None;
    }
    let bearing = |cue: &str, confidence: u8, reason: &str| Bearing {
        claim: 0,
        target: old.uid.clone(),
        certain: true,
        confidence,
        cue: cue.to_owned(),
        reason: reason.to_owned(),
        new_value: Some(new.text()),
    };
    let (old_stem, old_version) = lineage(&old.key);
    let (new_stem, new_version) = lineage(&new.key);
    if old_stem == new_stem {
        return (new_version > old_version).then(|| bearing("lineage", 95, "a newer version of the same key"));
    }
    let text = new.text();
    let prepared = Prepared::of(old);
    let corrects = claims::of_text(&text).into_iter().filter(|claim| {
        matches!(claim.cue.as_deref(), Some("correction" | "not_but" | "no_longer" | "swap" | "instead_of" | "move"))
    });
    for mut claim in corrects {
        let named = claim.old_value.is_some();
        claim.about = claims::terms_of_key(&new.key);
        let fit = fits(&claim, &prepared);
        if fit.conflicts && fit.shares_slot && (fit.holds_old || !named) {
            return Some(bearing(
                claim.cue.as_deref().unwrap_or("correction"),
                85,
                "its text corrects the value of the same slot",
            ));
        }
    }
    None
}

#[cfg(test)]
#[path = "restating_tests.rs"]
mod tests;
