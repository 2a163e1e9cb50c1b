//! Whether a written fact replaces an older one that has another key.
//!
//! Two keys are of one lineage when the newer is the older with a word for "newer" at its end: `rate_v2`,
//! `rate_corrected`. Siblings (`fact_1` and `fact_2`, `note_a` and `note_b`) are not.

use super::fitting::fits;
use super::prepared::Prepared;
use super::words::stem;
use super::{Bearing, Claim, claims};
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

/// The words of a key in plain letters without those for newer and older at its end, and how far along its lineage it
/// is.
fn versioned(plain: &str) -> (Vec<&str>, u32) {
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
    (words, version)
}

/// The words that keys of one lineage have in common, as they are written in the key in plain letters.
pub(in crate::state_layer) fn lineage_words(plain_key: &str) -> Vec<&str> {
    versioned(plain_key).0
}

/// A key without its words for newer and older, and how far along its lineage it is.
fn lineage(key: &str) -> (Vec<String>, u32) {
    let plain = plain_text(key);
    let (words, version) = versioned(&plain);
    (words.into_iter().map(stem).collect(), version)
}

/// A written fact, read once for comparing it with others.
pub(in crate::state_layer) struct Rewording<'a> {
    new: &'a Fact,
    text: String,
    stem: Vec<String>,
    version: u32,
    corrections: Vec<Claim>,
}

impl<'a> Rewording<'a> {
    pub(in crate::state_layer) fn of(new: &'a Fact) -> Self {
        let text = new.text();
        let (stem, version) = lineage(&new.key);
        let corrections = claims::of_text(&text)
            .into_iter()
            .filter(|claim| {
                let cue = claim.cue.as_deref();
                matches!(cue, Some("correction" | "not_but" | "no_longer" | "swap" | "instead_of" | "move"))
            })
            .map(|claim| Claim { about: claims::terms_of_key(&new.key), ..claim })
            .collect();
        Self { new, text, stem, version, corrections }
    }

    /// Whether it says that an older fact under another key is no longer so.
    pub(in crate::state_layer) fn restates(&self, old: &Fact) -> Option<Bearing> {
        let new = self.new;
        if old.key == new.key || old.uid == new.uid || new.at < old.at {
            return None;
        }
        let bearing = |cue: &str, confidence: u8, reason: &str| Bearing {
            claim: 0,
            target: old.uid.clone(),
            certain: true,
            confidence,
            cue: cue.to_owned(),
            reason: reason.to_owned(),
            new_value: Some(self.text.clone()),
        };
        let (old_stem, old_version) = lineage(&old.key);
        if old_stem == self.stem {
            return (self.version > old_version).then(|| bearing("lineage", 95, "a newer version of the same key"));
        }
        if self.corrections.is_empty() || old.text() == self.text {
            return None;
        }
        let prepared = Prepared::of(old);
        self.corrections.iter().find_map(|claim| {
            let fit = fits(claim, &prepared);
            let corrects = fit.conflicts && fit.shares_slot && (fit.holds_old || claim.old_value.is_none());
            let cue = claim.cue.as_deref().unwrap_or("correction");
            corrects.then(|| bearing(cue, 85, "its text corrects the value of the same slot"))
        })
    }
}

/// Whether a written fact says that an older one under another key is no longer so. Certain if its key is the older
/// one's in a newer version, or if its text corrects a value of the older one in the same slot.
#[must_use]
pub fn restates(old: &Fact, new: &Fact) -> Option<Bearing> {
    Rewording::of(new).restates(old)
}

#[cfg(test)]
#[path = "restating_tests.rs"]
mod tests;
