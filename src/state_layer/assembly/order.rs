//! The order of facts. Total, and made of what facts say and when: by relevance, then authority, then recency, then key
//! and text. No uid and no time of arrival has a say in it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::gate::Shown;
use super::rank::Query;
use super::repair::void;
use crate::state_layer::authority::{AuthorityOrder, Rank};

/// The cue of a conflict that nobody may settle.
const EQUALS: &str = "equal_authority";

/// In which section a fact belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placed {
    Review,
    Constraint,
    Fact,
}

/// Facts in order. A place is an index into the facts that passed the gate.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// All places, most relevant first.
    pub by_relevance: Vec<usize>,
    /// Groups of facts in a conflict between equals, each in the order of relevance.
    pub conflicts: Vec<Vec<usize>>,
    /// Facts that a newer one contests, with that one.
    pub contested: BTreeMap<usize, usize>,
    classes: Vec<Placed>,
    positions: Vec<usize>,
    relevant: usize,
}

impl Order {
    /// Puts facts in order.
    pub(super) fn new(facts: &[Shown<'_>], query: &Query, order: &AuthorityOrder) -> Self {
        let scores = query.relevance(facts.iter().map(|shown| [shown.fact.key.as_str(), &shown.text]));
        let mut ranks: HashMap<Option<&str>, Option<Rank>> = HashMap::new();
        let mut keyed: Vec<(Reverse<u64>, Reverse<Option<Rank>>, usize)> = Vec::with_capacity(facts.len());
        for (place, shown) in facts.iter().enumerate() {
            let title = shown.fact.source.authority.as_deref();
            let rank = *ranks.entry(title).or_insert_with(|| title.and_then(|title| order.rank(title)));
            keyed.push((Reverse(scores.get(place).copied().unwrap_or(0)), Reverse(rank), place));
        }
        let shown = |place: usize| facts.get(place);
        keyed.sort_unstable_by(|a, b| {
            (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| match (shown(a.2), shown(b.2)) {
                (Some(a), Some(b)) => (b.fact.at, &a.fact.key, &a.text).cmp(&(a.fact.at, &b.fact.key, &b.text)),
                _ => a.2.cmp(&b.2),
            })
        });
        let mut found = Self {
            relevant: keyed.iter().take_while(|(score, ..)| score.0 > 0).count(),
            by_relevance: keyed.into_iter().map(|(.., place)| place).collect(),
            classes: facts.iter().map(class).collect(),
            ..Self::default()
        };
        found.positions = vec![0; facts.len()];
        for (position, place) in found.by_relevance.iter().enumerate() {
            if let Some(slot) = found.positions.get_mut(*place) {
                *slot = position;
            }
        }
        found.contests(facts);
        found
    }

    /// Which facts contest which.
    fn contests(&mut self, facts: &[Shown<'_>]) {
        let contested = || facts.iter().enumerate().filter(|(_, shown)| !shown.fact.contested.is_empty());
        if contested().next().is_none() {
            return;
        }
        let places: HashMap<_, usize> =
            facts.iter().enumerate().map(|(place, shown)| (&shown.fact.uid, place)).collect();
        let mut groups: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (place, shown) in contested() {
            for contest in &shown.fact.contested {
                let Some(by) = places.get(&contest.by).copied().filter(|by| *by != place) else { continue };
                if contest.cue == EQUALS {
                    // A conclusion that fell is nobody's position any more.
                    if self.class(place) == Placed::Review || self.class(by) == Placed::Review {
                        continue;
                    }
                    groups.entry(place).or_default().insert(by);
                    groups.entry(by).or_default().insert(place);
                } else if facts.get(by).is_some_and(|by| (by.fact.at, &by.text) > (shown.fact.at, &shown.text)) {
                    let newest = self.contested.get(&place).copied().and_then(|other| facts.get(other));
                    let newer = |other: &Shown<'_>| {
                        facts.get(by).is_some_and(|by| (by.fact.at, &by.text) > (other.fact.at, &other.text))
                    };
                    if newest.is_none_or(newer) {
                        self.contested.insert(place, by);
                    }
                }
            }
        }
        self.conflicts = connected(groups);
        self.conflicts.iter_mut().for_each(|group| group.sort_by_key(|place| self.positions.get(*place)));
        self.conflicts.sort_by_key(|group| group.first().and_then(|place| self.positions.get(*place)).copied());
    }

    /// In which section a fact belongs.
    pub(super) fn class(&self, place: usize) -> Placed {
        self.classes.get(place).copied().unwrap_or(Placed::Fact)
    }

    /// Where a fact stands in the order.
    pub(super) fn position(&self, place: usize) -> usize {
        self.positions.get(place).copied().unwrap_or(usize::MAX)
    }

    /// The most relevant facts, and none that shares nothing with the question.
    pub(super) fn best(&self, most: usize) -> impl Iterator<Item = usize> {
        self.by_relevance.iter().copied().take(self.relevant.min(most))
    }

    /// Facts in the order in which they are printed: a contested one right behind the newer one that contests it.
    pub(super) fn printed(&self) -> impl Iterator<Item = usize> {
        let mut behind: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (older, newer) in &self.contested {
            behind.entry(*newer).or_default().push(*older);
        }
        let mut printed = Vec::with_capacity(self.by_relevance.len());
        for place in self.by_relevance.iter().filter(|place| !self.contested.contains_key(place)) {
            let mut waiting = vec![*place];
            while let Some(place) = waiting.pop() {
                printed.push(place);
                let mut older = behind.remove(&place).unwrap_or_default();
                older.sort_by_key(|older| Reverse(self.position(*older)));
                waiting.extend(older);
            }
        }
        printed.into_iter()
    }
}

fn class(shown: &Shown<'_>) -> Placed {
    if shown.fact.review.is_some() || void(&shown.text).is_some() {
        Placed::Review
    } else if shown.fact.constraint.is_some() {
        Placed::Constraint
    } else {
        Placed::Fact
    }
}

/// The connected groups of a graph.
fn connected(mut edges: BTreeMap<usize, BTreeSet<usize>>) -> Vec<Vec<usize>> {
    let mut groups = Vec::new();
    while let Some((start, next)) = edges.pop_first() {
        let mut group = BTreeSet::from([start]);
        let mut waiting: Vec<usize> = next.into_iter().collect();
        while let Some(place) = waiting.pop() {
            if group.insert(place) {
                waiting.extend(edges.remove(&place).unwrap_or_default());
            }
        }
        groups.push(group.into_iter().collect());
    }
    groups
}
