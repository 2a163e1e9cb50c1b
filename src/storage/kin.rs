//! Finds all principals that may be the same person, step by step, by what they have in common.
//!
//! Two principals of one person may have nothing in common except a third principal. So the keys of everybody found are
//! searched as well, until nobody new is found.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::id::PrincipalId;
use crate::domain::principal::{PersonKey, Principal};

/// The most principals that are searched. A name that so many share tells no persons apart.
pub const MAX_KIN: u32 = 256;

#[derive(Debug, Default)]
pub struct Kin {
    asked: BTreeSet<PersonKey>,
    next: BTreeSet<PersonKey>,
    found: BTreeMap<PrincipalId, Principal>,
    too_many: bool,
}

impl Kin {
    /// Starts with a principal, registered or not.
    pub fn begin(&mut self, id: &PrincipalId) {
        self.next.insert(PersonKey::of(id.as_str()));
    }

    /// The next keys to search for; empty when everybody is found.
    pub fn next_keys(&mut self) -> Vec<PersonKey> {
        let next: Vec<PersonKey> = std::mem::take(&mut self.next).difference(&self.asked).cloned().collect();
        self.asked.extend(next.iter().cloned());
        if self.too_many { Vec::new() } else { next }
    }

    /// Adds the principals found, at most one more than [`MAX_KIN`] at a time.
    pub fn take(&mut self, found: Vec<Principal>) {
        for principal in found {
            if !self.found.contains_key(&principal.principal_id) {
                self.next.extend(principal.person_keys());
                self.found.insert(principal.principal_id.clone(), principal);
            }
        }
        self.too_many |= u32::try_from(self.found.len()).is_ok_and(|count| count > MAX_KIN);
    }

    /// Everybody found, and whether there are too many to be sure.
    #[must_use]
    pub fn end(self) -> (Vec<Principal>, bool) {
        (self.found.into_values().collect(), self.too_many)
    }
}
