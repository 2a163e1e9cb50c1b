//! How much weight a fact has, and whose word it is.

use crate::state_layer::authority::{AuthorityOrder, Rank};
use crate::state_layer::fact::Fact;
use crate::state_layer::language::tags::tagged;
use crate::state_layer::language::terms::folded;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::state_layer) struct Weight {
    /// Its rank; an employee's where nothing is said.
    pub(in crate::state_layer) rank: Rank,
    /// Whether something is said: by its source or by the marks in its text.
    pub(in crate::state_layer) declared: bool,
    /// Whose word it is, folded.
    pub(in crate::state_layer) person: Option<String>,
    /// The words that gave the rank.
    pub(in crate::state_layer) title: Option<String>,
}

/// What weight a fact has: by the authority its source names; else by a source that is policy, or a system that states
/// a constraint; else by the marks in its text; else that of an employee. Where source and marks are of one level, the
/// marks say more: "executive" may be the board.
pub(in crate::state_layer) fn weight(fact: &Fact, order: &AuthorityOrder) -> Weight {
    let text = fact.text();
    let marks = tagged(&text);
    let by_source = fact.source.authority.as_deref().and_then(|title| Some((order.rank(title)?, title.to_owned())));
    let by_kind = || {
        let kind = folded(&fact.source.kind);
        let rules = kind == "policy" || (kind == "system" && fact.constraint.is_some());
        rules.then(|| order.rank("policy")).flatten().map(|rank| (rank, kind))
    };
    let by_mark = [marks.title.as_deref(), marks.name.as_deref()]
        .into_iter()
        .flatten()
        .find_map(|title| Some((order.rank(title)?, title.to_owned())));
    let found = match (by_source, by_mark) {
        (Some(source), Some(mark)) if source.0.level == mark.0.level => Some(mark),
        (Some(source), _) => Some(source),
        (None, mark) => by_kind().or(mark),
    };
    let person = fact.source.identity.as_deref().or(marks.name.as_deref()).map(|name| folded(name).trim().to_owned());
    Weight {
        declared: found.is_some(),
        rank: found.as_ref().map_or_else(|| order.unnamed(), |(rank, _)| *rank),
        title: found.map(|(_, title)| title),
        person: person.filter(|name| !name.is_empty()),
    }
}

impl Weight {
    /// Whether two facts are known to be the word of two people.
    pub(super) fn of_others(&self, other: &Self) -> bool {
        matches!((&self.person, &other.person), (Some(one), Some(other)) if one != other)
    }

    /// Whether two facts are known to be the word of one person.
    pub(super) fn of_same(&self, other: &Self) -> bool {
        matches!((&self.person, &other.person), (Some(one), Some(other)) if one == other)
    }

    /// Who it is, for a reason.
    pub(super) fn words(&self) -> &str {
        self.title.as_deref().unwrap_or("a source that names no authority")
    }
}
