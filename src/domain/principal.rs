//! Principals: whoever acts, with roles, aliases and an identity epoch.

use serde::{Deserialize, Serialize};

use super::id::{PersonId, PrincipalId, RoleName};
use super::time::Timestamp;

/// The most aliases and roles of one principal.
pub const MAX_ALIASES: usize = 32;
/// The most roles of one principal.
pub const MAX_ROLES: usize = 32;

/// What kind of principal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    /// A human.
    Person,
    /// A language model or another program that proposes.
    Agent,
    /// A service.
    System,
}

/// How far a writer of capability memory has come: what it may write follows from it (paper 3.2, learning tiers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Maturity {
    /// Writes events.
    #[default]
    Junior,
    /// Writes heuristics too.
    Senior,
    /// Writes strategies too.
    Master,
}

/// What an alias is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AliasKind {
    /// A phone number, spelled as the channel spells it.
    Phone,
    /// A business-scoped user id.
    Bsuid,
    /// The id that spans linked portfolios.
    ParentBsuid,
    /// The channel's identity key hash.
    IdentityKey,
}

/// One external name of a principal. Two spellings are two aliases; nothing is normalised.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Alias {
    /// What it is.
    pub kind: AliasKind,
    /// As the channel gave it.
    pub value: String,
}

/// An alias that no longer holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastAlias {
    /// What it was.
    #[serde(flatten)]
    pub alias: Alias,
    /// Until when.
    pub until: Timestamp,
}

/// A registered principal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    /// The caller's id.
    pub principal_id: PrincipalId,
    /// Its kind.
    pub kind: PrincipalKind,
    /// What it may be asked for.
    pub roles: Vec<RoleName>,
    /// The natural person, where known; one person may be several principals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_id: Option<PersonId>,
    /// External names in force.
    pub aliases: Vec<Alias>,
    /// External names of the past, newest last.
    pub past_aliases: Vec<PastAlias>,
    /// How far it has come as a writer of capability memory; none for whoever writes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maturity: Option<Maturity>,
    /// The language for texts sent back to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// Whether it stands as it was registered. News about its identity ends that until it is registered again; till
    /// then it holds no role.
    pub registered: bool,
    /// Counts identity changes. What was asked of an earlier epoch is void.
    pub identity_epoch: u64,
    /// Counts changes; the `ETag`.
    pub revision: u64,
    /// When it was first recorded.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Principal {
    /// Whether it holds a role. An unregistered principal holds none.
    #[must_use]
    pub fn has_role(&self, role: &str) -> bool {
        self.registered && self.roles.iter().any(|held| held.as_str() == role)
    }
}

/// Whether two principals are one person: by person id where both have one, by principal id otherwise.
#[must_use]
pub fn same_person(a: (&PrincipalId, Option<&PersonId>), b: (&PrincipalId, Option<&PersonId>)) -> bool {
    a.0 == b.0 || matches!((a.1, b.1), (Some(x), Some(y)) if x == y)
}
