//! Rows of fact spaces, and their conversion to a [`Space`].
//!
//! One table has all kinds. Rows in force are marked `live`, so that the cost of loading a space depends on its current
//! content, not on its history.

use crate::domain::time::Timestamp;
use crate::state_layer::Ruling;
use crate::state_layer::assembly::SavedPack;
use crate::state_layer::fact::{Fact, Standing};
use crate::state_layer::reading::Reading;
use crate::state_layer::space::{Signal, Space, SpaceRecord, WorkingItem};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpaceRowKind {
    /// The space's own record.
    Space,
    Fact,
    /// The reading of an utterance.
    Reading,
    /// A ruling about facts.
    Ruling,
    /// A signal of the environment.
    Signal,
    /// An item of the working set.
    Item,
    Pack,
}

impl SpaceRowKind {
    pub const ALL: [Self; 7] =
        [Self::Space, Self::Fact, Self::Reading, Self::Ruling, Self::Signal, Self::Item, Self::Pack];

    /// The kind as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Space => "space",
            Self::Fact => "fact",
            Self::Reading => "reading",
            Self::Ruling => "ruling",
            Self::Signal => "signal",
            Self::Item => "item",
            Self::Pack => "pack",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// A row of a fact space.
#[derive(Debug, Clone, PartialEq)]
pub enum SpaceRow {
    Space(SpaceRecord),
    Fact(Fact),
    Reading(Reading),
    Ruling(Ruling),
    Signal(Signal),
    Item(WorkingItem),
    Pack(SavedPack),
}

impl SpaceRow {
    #[must_use]
    pub fn kind(&self) -> SpaceRowKind {
        match self {
            Self::Space(_) => SpaceRowKind::Space,
            Self::Fact(_) => SpaceRowKind::Fact,
            Self::Reading(_) => SpaceRowKind::Reading,
            Self::Ruling(_) => SpaceRowKind::Ruling,
            Self::Signal(_) => SpaceRowKind::Signal,
            Self::Item(_) => SpaceRowKind::Item,
            Self::Pack(_) => SpaceRowKind::Pack,
        }
    }

    /// Its id within its kind and space.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Space(_) => "",
            Self::Fact(fact) => fact.uid.as_str(),
            Self::Reading(reading) => reading.reading_id.as_str(),
            Self::Ruling(ruling) => ruling.ruling_id.as_str(),
            Self::Signal(signal) => &signal.key,
            Self::Item(item) => &item.key,
            Self::Pack(pack) => pack.pack_id.as_str(),
        }
    }

    #[must_use]
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Space(record) => record.created_at,
            Self::Fact(fact) => fact.at,
            Self::Reading(reading) => reading.at,
            Self::Ruling(ruling) => ruling.at,
            Self::Signal(signal) => signal.observed_at,
            Self::Item(item) => item.created_at,
            Self::Pack(pack) => pack.created_at,
        }
    }

    #[must_use]
    pub fn is_live(&self) -> bool {
        match self {
            Self::Fact(fact) => fact.is_valid(),
            Self::Space(_) | Self::Signal(_) | Self::Item(_) => true,
            Self::Reading(_) | Self::Ruling(_) | Self::Pack(_) => false,
        }
    }

    /// When it ended, if it has: retention counts from then. A fact ends when it becomes invalid, a working item at its
    /// own end, a signal when it goes stale; a reading and a saved pack when they are written. A record with a time of
    /// its own does not end before it was written.
    #[must_use]
    pub fn ended_at(&self) -> Option<Timestamp> {
        match self {
            Self::Fact(Fact { standing: Standing::Superseded { since, .. }, recorded_at, .. }) => {
                Some(*since.max(recorded_at))
            }
            Self::Reading(reading) => Some(reading.at.max(reading.recorded_at)),
            Self::Item(item) => item.expires_at,
            Self::Signal(signal) => signal.stale_at,
            Self::Pack(pack) => Some(pack.created_at),
            // The erasures under way are found by it.
            Self::Space(record) => record.erased_at,
            Self::Fact(_) | Self::Ruling(_) => None,
        }
    }

    /// Its other names: a fact's label and key.
    #[must_use]
    pub fn names(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Fact(fact) => (fact.label.as_ref().map(crate::domain::id::FactLabel::as_str), Some(&fact.key)),
            _ => (None, None),
        }
    }

    /// The fact that replaced this one.
    #[must_use]
    pub fn successor(&self) -> Option<&str> {
        match self {
            Self::Fact(Fact { standing: Standing::Superseded { by: Some(by), .. }, .. }) => Some(by.as_str()),
            _ => None,
        }
    }

    /// Its body as stored.
    #[must_use]
    pub fn body(&self) -> String {
        let written = match self {
            Self::Space(record) => serde_json::to_string(record),
            Self::Fact(fact) => serde_json::to_string(fact),
            Self::Reading(reading) => serde_json::to_string(reading),
            Self::Ruling(ruling) => serde_json::to_string(ruling),
            Self::Signal(signal) => serde_json::to_string(signal),
            Self::Item(item) => serde_json::to_string(item),
            Self::Pack(pack) => serde_json::to_string(pack),
        };
        // Serialization cannot fail; an empty body would be refused when it is read.
        written.unwrap_or_default()
    }

    /// Reads a body of a kind.
    pub fn read(kind: SpaceRowKind, body: &str) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            SpaceRowKind::Space => Self::Space(serde_json::from_str(body)?),
            SpaceRowKind::Fact => Self::Fact(serde_json::from_str(body)?),
            SpaceRowKind::Reading => Self::Reading(serde_json::from_str(body)?),
            SpaceRowKind::Ruling => Self::Ruling(serde_json::from_str(body)?),
            SpaceRowKind::Signal => Self::Signal(serde_json::from_str(body)?),
            SpaceRowKind::Item => Self::Item(serde_json::from_str(body)?),
            SpaceRowKind::Pack => Self::Pack(serde_json::from_str(body)?),
        })
    }

    /// Adds it to a space.
    pub fn put(self, space: &mut Space) {
        match self {
            Self::Space(record) => space.record = Some(record),
            Self::Fact(fact) => drop(space.facts.insert(fact.uid.clone(), fact)),
            Self::Reading(reading) => drop(space.readings.insert(reading.reading_id.clone(), reading)),
            Self::Ruling(ruling) => drop(space.rulings.insert(ruling.ruling_id.clone(), ruling)),
            Self::Signal(signal) => drop(space.signals.insert(signal.key.clone(), signal)),
            Self::Item(item) => drop(space.items.insert(item.key.clone(), item)),
            Self::Pack(pack) => drop(space.packs.insert(pack.pack_id.clone(), pack)),
        }
    }
}

/// The changes that events made in a space: rows to write and rows to delete.
#[derive(Debug, Default)]
pub(crate) struct ChangedSpace {
    pub(crate) rows: Vec<SpaceRow>,
    pub(crate) gone: Vec<(SpaceRowKind, String)>,
}

impl ChangedSpace {
    pub(crate) fn of(mut space: Space) -> Self {
        let touched = std::mem::take(&mut space.touched);
        let mut changed = Self::default();
        changed.rows.extend(space.record.filter(|_| touched.space).map(SpaceRow::Space));
        for uid in touched.facts {
            match space.facts.remove(&uid) {
                Some(fact) => changed.rows.push(SpaceRow::Fact(fact)),
                None => changed.gone.push((SpaceRowKind::Fact, uid.as_str().to_owned())),
            }
        }
        let readings = touched.readings.iter().filter_map(|id| space.readings.remove(id));
        changed.rows.extend(readings.map(SpaceRow::Reading));
        let rulings = touched.rulings.iter().filter_map(|id| space.rulings.remove(id));
        changed.rows.extend(rulings.map(SpaceRow::Ruling));
        for key in touched.signals {
            match space.signals.remove(&key) {
                Some(signal) => changed.rows.push(SpaceRow::Signal(signal)),
                None => changed.gone.push((SpaceRowKind::Signal, key)),
            }
        }
        for key in touched.items {
            match space.items.remove(&key) {
                Some(item) => changed.rows.push(SpaceRow::Item(item)),
                None => changed.gone.push((SpaceRowKind::Item, key)),
            }
        }
        let packs = touched.packs.iter().filter_map(|id| space.packs.remove(id));
        changed.rows.extend(packs.map(SpaceRow::Pack));
        changed
    }
}
