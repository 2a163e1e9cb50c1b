//! Whoever may be the same person as somebody: found step by step, by what they have in common.
//!
//! A person may be several principals that have nothing in common but a third one of theirs. So what those who were found
//! are known by is asked for as well, until nobody new is found.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::id::PrincipalId;
use crate::domain::principal::{PersonKey, Principal};

/// The most principals that are looked at to tell people apart. One external name of so many tells nobody apart.
pub const MAX_KIN: u32 = 256;

/// A search in progress.
#[derive(Debug, Default)]
pub struct Kin {
    asked: BTreeSet<PersonKey>,
    next: BTreeSet<PersonKey>,
    found: BTreeMap<PrincipalId, Principal>,
    too_many: bool,
}

impl Kin {
    /// Begins with somebody, registered or not.
    pub fn begin(&mut self, id: &PrincipalId) {
        self.next.insert(PersonKey::of(id.as_str()));
    }

    /// What is to be asked for next; nothing when everybody was found.
    pub fn next_keys(&mut self) -> Vec<PersonKey> {
        let next: Vec<PersonKey> = std::mem::take(&mut self.next).difference(&self.asked).cloned().collect();
        self.asked.extend(next.iter().cloned());
        if self.too_many { Vec::new() } else { next }
    }

    /// Takes in who was found, at most one more than [`MAX_KIN`] at a time.
    pub fn take(&mut self, found: Vec<Principal>) {
        for principal in found {
            if !self.found.contains_key(&principal.principal_id) {
                self.next.extend(principal.person_keys());
                self.found.insert(principal.principal_id.clone(), principal);
            }
        }
        self.too_many |= u32::try_from(self.found.len()).is_ok_and(|count| count > MAX_KIN);
    }

    /// Everybody, and whether there are too many to be sure.
    #[must_use]
    pub fn end(self) -> (Vec<Principal>, bool) {
        (self.found.into_values().collect(), self.too_many)
    }
}
