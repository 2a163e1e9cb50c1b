//! Authority: who outranks whom, and who may see what is restricted.

use serde::{Deserialize, Serialize};

/// Policy's order of levels, the most authoritative first, with what titles mean in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorityOrder {
    /// The levels.
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
    /// The department.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub department: Option<String>,
    /// Roles of the registered principal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// Explicit grants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<String>,
}

impl AuthorityOrder {
    /// The order of a policy: its levels, the most authoritative first.
    #[must_use]
    pub fn new(levels: &[String]) -> Self {
        Self { levels: levels.to_vec() }
    }

    /// The rank of a level's name or of a title; none for words that name neither.
    #[must_use]
    pub fn rank(&self, _title: &str) -> Option<Rank> {
        None
    }
}

impl Viewer {
    /// Whether this viewer belongs to an audience such as `HR`, `VP+`, `C-suite`, `Security team`, `role:auditor`.
    /// What cannot be told is a no.
    #[must_use]
    pub fn belongs_to(&self, _audience: &str, _order: &AuthorityOrder) -> bool {
        false
    }
}
