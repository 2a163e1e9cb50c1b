//! Authority: who outranks whom, and who may see what is restricted.

mod audience;
mod functions;
mod title_words;
mod titles;

use serde::{Deserialize, Serialize};

use super::language::terms::folded;
use titles::{Class, Place};

/// Policy's order of levels, the most authoritative first, with what titles mean in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorityOrder {
    pub levels: Vec<String>,
}

/// How much weight a source has. Greater outranks less; equal ranks in conflict are surfaced, not settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank {
    /// The level, counted from the lowest.
    pub level: u8,
    /// The seniority inside the level.
    pub seniority: u8,
}

/// Who a pack is for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Viewer {
    /// The caller's id of the person.
    pub user_id: String,
    /// A level or a title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub department: Option<String>,
    /// Roles of the registered principal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<String>,
}

impl Default for AuthorityOrder {
    /// `policy > executive > manager > employee > guest` (specification, rule 3, with the paper's executive level).
    fn default() -> Self {
        Self { levels: ["policy", "executive", "manager", "employee", "guest"].map(str::to_owned).to_vec() }
    }
}

impl AuthorityOrder {
    /// The order of a policy: its levels, the most authoritative first.
    #[must_use]
    pub fn new(levels: &[String]) -> Self {
        Self { levels: levels.to_vec() }
    }

    /// The rank of a level's name or of a title; none for words that name neither.
    #[must_use]
    pub fn rank(&self, title: &str) -> Option<Rank> {
        let wanted = folded(title);
        let wanted = wanted.trim();
        let place = titles::place(wanted);
        if let Some(index) = self.levels.iter().position(|level| folded(level).trim() == wanted) {
            let seniority = place.map_or(Place::UNKNOWN_SENIORITY, Place::seniority);
            return Some(Rank { level: self.height(index), seniority });
        }
        let place = place?;
        Some(Rank { level: self.height(self.level_of(place.class)?), seniority: place.seniority() })
    }

    /// The rank of a source that names none: that of an employee, or the lowest level of an order without employees.
    #[must_use]
    pub fn unnamed(&self) -> Rank {
        self.rank("employee").unwrap_or(Rank { level: 0, seniority: Place::UNKNOWN_SENIORITY })
    }

    /// Whether two titles stand on the same level.
    #[must_use]
    pub fn same_level(&self, one: &str, other: &str) -> bool {
        matches!((self.rank(one), self.rank(other)), (Some(one), Some(other)) if one.level == other.level)
    }

    /// The level's height, counted from the lowest. More than 255 levels are not told apart at the top.
    fn height(&self, index: usize) -> u8 {
        let from_below = self.levels.len().saturating_sub(index + 1);
        u8::try_from(from_below).unwrap_or(u8::MAX)
    }

    /// The level that a class of titles belongs to: its own; else the next lower one that this order has; else the
    /// next higher one. None where no level's name says anything.
    fn level_of(&self, class: Class) -> Option<usize> {
        let classes = || {
            self.levels
                .iter()
                .enumerate()
                .filter_map(|(index, level)| titles::place(folded(level).trim()).map(|place| (place.class, index)))
        };
        let own = classes().find(|(known, _)| *known == class);
        let lower =
            || classes().filter(|(known, _)| *known < class).max_by_key(|(known, index)| (*known, usize::MAX - index));
        let higher = || classes().filter(|(known, _)| *known > class).min_by_key(|(known, index)| (*known, *index));
        own.or_else(lower).or_else(higher).map(|(_, index)| index)
    }
}

impl Viewer {
    /// Whether this viewer belongs to an audience such as `HR`, `VP+`, `C-suite`, `Security team`, `role:auditor`.
    /// What cannot be told is a no.
    #[must_use]
    pub fn belongs_to(&self, audience: &str, order: &AuthorityOrder) -> bool {
        audience::admits(audience, self, order)
    }
}

#[cfg(test)]
#[path = "authority/authority_tests.rs"]
mod authority_tests;
