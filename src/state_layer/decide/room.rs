//! How much one write may hold, and how much one space: whatever is decided about a space loads what stands in it, and
//! nobody else's work goes on meanwhile.

use serde_json::Value;

use super::folding::counted;
use crate::state_layer::fact::Fact;
use crate::state_layer::operation::NewFact;
use crate::state_layer::refusal::SpaceRefusal;
use crate::state_layer::space::Space;

/// The most facts of one space that stand.
pub const MAX_VALID_FACTS: usize = 10_000;
/// The most dependencies that facts of one space have which stand, those that the server found included.
pub const MAX_LINKS: usize = 600;
/// The most that the values of one space hold which stand, in bytes of text.
pub const MAX_VALUES_BYTES: usize = 4 << 20;
/// The most that its facts carry along of values before them.
pub const MAX_FORMERS_BYTES: usize = 4 << 20;
/// The most that its working items hold, in bytes.
pub const MAX_ITEMS_BYTES: usize = 1 << 20;
/// The most that its signals hold, in bytes.
pub const MAX_SIGNALS_BYTES: usize = 1 << 20;
/// The most facts of one write.
pub const MAX_WRITE_FACTS: usize = 150;
/// The most that one write of several facts changes: each fact that is new or stands otherwise counts for one, and for one
/// more with every `DISAGREEMENTS` that speak against it. A fact alone may change more.
pub const MAX_WRITE_CHANGES: usize = 2 * MAX_WRITE_FACTS;
/// As many facts that speak against one make its row twice as large.
const DISAGREEMENTS: usize = 8;
/// The most dependencies of all facts of one write.
pub const MAX_WRITE_LINKS: usize = MAX_LINKS;
/// The most that all values of one write hold, in bytes of text.
pub const MAX_WRITE_BYTES: usize = 512 << 10;

/// What there is only so much room for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Room {
    Facts,
    Links,
    Values,
    Formers,
}

impl Room {
    pub(super) const ALL: [Self; 4] = [Self::Facts, Self::Links, Self::Values, Self::Formers];

    /// How much of it a fact takes that stands.
    pub(super) fn of(self, fact: &Fact) -> usize {
        match self {
            Self::Facts => 1,
            Self::Links => fact.depends_on.len(),
            Self::Values => bytes(&fact.value),
            Self::Formers => fact.former.iter().map(|former| former.text.len()).sum(),
        }
    }

    pub(super) fn most(self) -> i64 {
        counted(match self {
            Self::Facts => MAX_VALID_FACTS,
            Self::Links => MAX_LINKS,
            Self::Values => MAX_VALUES_BYTES,
            Self::Formers => MAX_FORMERS_BYTES,
        })
    }

    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Facts => "facts",
            Self::Links => "dependencies",
            Self::Values => "bytes in values",
            Self::Formers => "bytes in former values",
        }
    }

    /// How much of it is taken.
    pub(super) fn taken(self, space: &Space) -> i64 {
        space.facts.values().filter(|fact| fact.is_valid()).map(|fact| counted(self.of(fact))).sum()
    }
}

/// How long a value is as text. Nested ones are not written out for it: each member counts as if it were short.
pub(super) fn bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(bytes).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() + bytes(value)).sum(),
    }
}

pub(super) fn full(what: &str) -> SpaceRefusal {
    SpaceRefusal::SpaceFull { what: what.to_owned() }
}

fn too_large(what: &str, limit: usize) -> SpaceRefusal {
    SpaceRefusal::WriteTooLarge { what: what.to_owned(), limit }
}

/// Checks how much a write of several facts changes, by the facts as they stand after it.
pub(super) fn changes<'a>(changed: impl Iterator<Item = &'a Fact>) -> Result<(), SpaceRefusal> {
    let weight = changed.map(|fact| 1 + fact.contested.len() / DISAGREEMENTS).sum::<usize>();
    if weight > MAX_WRITE_CHANGES { Err(too_large("changed facts", MAX_WRITE_CHANGES)) } else { Ok(()) }
}

/// Checks how much one write holds.
pub(super) fn write(facts: &[NewFact]) -> Result<(), SpaceRefusal> {
    if facts.len() > MAX_WRITE_FACTS {
        return Err(too_large("facts", MAX_WRITE_FACTS));
    }
    if facts.iter().map(|fact| fact.depends_on.len()).sum::<usize>() > MAX_WRITE_LINKS {
        return Err(too_large("dependencies", MAX_WRITE_LINKS));
    }
    if facts.iter().map(|fact| bytes(&fact.value)).sum::<usize>() > MAX_WRITE_BYTES {
        return Err(too_large("bytes in values", MAX_WRITE_BYTES));
    }
    Ok(())
}
