//! What has fallen under facts that stand on one another: each fact and each of its bases is looked at once, or a few times
//! where they go in circles.

use std::collections::{BTreeMap, HashMap};

use super::index::bases;
use crate::domain::id::FactUid;
use crate::state_layer::fact::{Fact, MAX_FALLEN};

/// What a fact stands on.
enum Ground<'a> {
    /// A fact that no longer stands, or that is not there.
    Fallen(&'a FactUid),
    /// A fact that stands, and is looked at too.
    Below(usize),
    /// A fact that stands beside those that are looked at, with what has fallen under it.
    Beside(&'a [FactUid]),
}

/// Facts that are looked at, by their places, with what they stand on.
pub(super) struct Below<'a> {
    uids: &'a [FactUid],
    ground: Vec<Vec<Ground<'a>>>,
    /// An order in which a fact comes after those it stands on, as far as there is one.
    order: Vec<usize>,
    circular: bool,
}

impl<'a> Below<'a> {
    /// These facts: with each of them all that stand on it.
    pub(super) fn of(uids: &'a [FactUid], facts: &'a BTreeMap<FactUid, Fact>) -> Self {
        let places: HashMap<&FactUid, usize> = uids.iter().enumerate().map(|(place, uid)| (uid, place)).collect();
        let ground_of = |base: &'a FactUid| match (facts.get(base).filter(|base| base.is_valid()), places.get(base)) {
            (None, _) => Ground::Fallen(base),
            (Some(_), Some(place)) => Ground::Below(*place),
            (Some(base), None) => Ground::Beside(base.review.as_ref().map_or(&[], |review| &review.bases)),
        };
        let ground: Vec<Vec<Ground<'a>>> =
            uids.iter().map(|uid| facts.get(uid).into_iter().flat_map(bases).map(ground_of).collect()).collect();
        let mut below = Self { uids, ground, order: Vec::with_capacity(uids.len()), circular: false };
        below.put_in_order();
        below
    }

    /// How many facts and bases were looked at.
    pub(super) fn links(&self) -> usize {
        self.ground.iter().map(|ground| ground.len() + 1).sum()
    }

    /// Those whose bases are all in order come next; what goes in circles comes last.
    fn put_in_order(&mut self) {
        let within = |ground: &[Ground<'_>]| ground.iter().filter(|base| matches!(base, Ground::Below(_))).count();
        let mut waits: Vec<usize> = self.ground.iter().map(|ground| within(ground)).collect();
        let mut upon: Vec<Vec<usize>> = vec![Vec::new(); self.uids.len()];
        for (place, ground) in self.ground.iter().enumerate() {
            for base in ground {
                if let Ground::Below(base) = base
                    && let Some(upon) = upon.get_mut(*base)
                {
                    upon.push(place);
                }
            }
        }
        self.order.extend((0..self.uids.len()).filter(|place| waits.get(*place) == Some(&0)));
        let mut at = 0;
        while let Some(next) = self.order.get(at).copied() {
            at += 1;
            for place in upon.get(next).into_iter().flatten() {
                if let Some(waits) = waits.get_mut(*place) {
                    *waits -= 1;
                    if *waits == 0 {
                        self.order.push(*place);
                    }
                }
            }
        }
        if self.order.len() < self.uids.len() {
            self.circular = true;
            self.order.extend((0..self.uids.len()).filter(|place| waits.get(*place).is_some_and(|waits| *waits > 0)));
        }
    }

    /// What has fallen under each of them. Facts that wait for one another do not keep each other waiting: all begin with
    /// nothing.
    pub(super) fn fallen(&self) -> Vec<Vec<FactUid>> {
        let mut fallen: Vec<Vec<FactUid>> = vec![Vec::new(); self.uids.len()];
        loop {
            let mut grown = false;
            for place in &self.order {
                let found = self.under(*place, &fallen);
                if let Some(known) = fallen.get_mut(*place)
                    && known.len() != found.len()
                {
                    *known = found;
                    grown = true;
                }
            }
            if !(grown && self.circular) {
                return fallen;
            }
        }
    }

    fn under(&self, place: usize, fallen: &[Vec<FactUid>]) -> Vec<FactUid> {
        let mut found: Vec<FactUid> = Vec::new();
        for ground in self.ground.get(place).into_iter().flatten() {
            let under: &[FactUid] = match ground {
                Ground::Fallen(base) => std::slice::from_ref(*base),
                Ground::Below(base) => fallen.get(*base).map_or(&[], Vec::as_slice),
                Ground::Beside(known) => known,
            };
            for base in under {
                if found.len() < MAX_FALLEN && self.uids.get(place) != Some(base) && !found.contains(base) {
                    found.push(base.clone());
                }
            }
        }
        found
    }
}
