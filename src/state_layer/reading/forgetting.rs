//! What a reading forgets when a fact is deleted: the claims that tell of its value.

use std::collections::HashSet;

use super::words::terms;
use super::{Act, Claim, Reading};
use crate::domain::id::FactUid;
use crate::state_layer::language::value::{TypedValue, values};

/// Shorter words than this are in every text.
const TELLING: usize = 3;

/// A value that is to be forgotten, as claims would tell of it.
pub(in crate::state_layer) struct Forgotten {
    words: HashSet<String>,
    typed: Vec<TypedValue>,
}

impl Forgotten {
    pub(in crate::state_layer) fn of(text: &str) -> Self {
        Self { words: telling(text).collect(), typed: values(text) }
    }

    fn is_told_by(&self, claim: &Claim) -> bool {
        let told = claim.about.iter().chain(&claim.head).chain(&claim.names).chain(&claim.others);
        let given = claim.new.iter().map(String::as_str);
        let typed: Vec<_> = claim.new_value.iter().chain(&claim.old_value).collect();
        let forms = typed.iter().map(|(_, form)| form.as_str());
        told.map(String::as_str).chain(given).chain(forms).flat_map(telling).any(|word| self.words.contains(&word))
            || typed
                .iter()
                .any(|(kind, form)| self.typed.iter().any(|value| value.kind == *kind && value.canonical == *form))
    }
}

/// The stems of the words that tell a text from others.
fn telling(text: &str) -> impl Iterator<Item = String> {
    let tells = |stem: &String| stem.len() >= TELLING || stem.bytes().any(|byte| byte.is_ascii_digit());
    terms(text).into_iter().map(|(stem, _)| stem).filter(tells)
}

impl Claim {
    /// What is left of a claim that was forgotten.
    fn forgotten() -> Self {
        Self {
            act: Act::Set,
            cue: None,
            about: Vec::new(),
            head: Vec::new(),
            names: Vec::new(),
            others: Vec::new(),
            new: None,
            new_value: None,
            old_value: None,
        }
    }
}

impl Reading {
    /// Forgets the claims of which these facts were made and those that tell of a value, and the digest of the whole.
    /// Claims keep their places: facts are named by them. Says whether there was anything to forget.
    pub(in crate::state_layer) fn forget(&mut self, value: &Forgotten, is_made: impl Fn(&FactUid) -> bool) -> bool {
        let mut any = false;
        for (place, claim) in self.claims.iter_mut().enumerate() {
            if value.is_told_by(claim) || is_made(&FactUid::of_reading(&self.reading_id, place)) {
                *claim = Claim::forgotten();
                any = true;
            }
        }
        self.echo = self.echo.filter(|_| !any);
        self.salt = self.salt.filter(|_| !any);
        any
    }

    /// Whether the claim of which a fact was made is forgotten: from then on the fact stands for itself.
    pub(in crate::state_layer) fn has_forgotten(&self, uid: &FactUid) -> bool {
        let forgotten = Claim::forgotten();
        let mut places = self.claims.iter().enumerate().filter(|(_, claim)| **claim == forgotten);
        places.any(|(place, _)| FactUid::of_reading(&self.reading_id, place) == *uid)
    }
}
