//! The result of a replay.

use std::collections::BTreeMap;

use crate::domain::id::{ArtifactId, StreamId};
use crate::storage::LiveTable;

/// The most differences that are listed; further ones are only counted.
pub(super) const MOST: usize = 100;

/// How a stored row differs from the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    Missing,
    /// It exists, and no entry made it.
    Unfounded,
    /// Its body or its search columns differ.
    Changed {
        /// Places in the body, as JSON pointers: the first few.
        members: Vec<String>,
        /// Columns other than the body.
        columns: Vec<String>,
    },
    /// An entry changes a row that no earlier entry made, so the log contradicts itself.
    Unmade,
    /// An entry's payload is not an event of its stream.
    Unreadable,
}

/// A row that differs from the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its table; none if the fault is in an entry.
    pub table: Option<LiveTable>,
    /// Its key without the tenant. Personal unless [`LiveTable::mints_ids`] says otherwise.
    pub row_id: String,
    /// The stream that the row follows from, if any.
    pub stream_id: Option<StreamId>,
    /// The entry that changed it last, or the faulty entry.
    pub artifact_id: Option<ArtifactId>,
    pub how: How,
}

/// The result for one tenant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayReport {
    pub streams: u64,
    pub entries: u64,
    /// Entries whose payload is erased: they cannot be folded.
    pub erased: u64,
    /// Rows that agree with the log, by table.
    pub equal: BTreeMap<LiveTable, u64>,
    /// Rows that cannot be fully derived because evidence for them was erased, by table.
    pub underivable: BTreeMap<LiveTable, u64>,
    /// Messages that were deleted because they were past their time.
    pub forgotten: u64,
    /// Saved packs that were deleted together with a fact or a space that they contained.
    pub withdrawn: u64,
    /// Missing rows that the disposal stream lists as erased, by table.
    pub disposed: BTreeMap<LiveTable, u64>,
    /// Missing rows that are accounted for by number only, by table: entries of an earlier version record how many rows
    /// were erased and not which.
    pub counted: BTreeMap<LiveTable, u64>,
    /// Streams that grew during every attempt; their rows were not compared.
    pub restless: Vec<StreamId>,
    /// The first rows that differ.
    pub differences: Vec<Difference>,
    /// How many rows differ in all.
    pub different: u64,
    /// Missing rows, until the number of erased rows is known: how many, and the first ones.
    pub(super) absent: BTreeMap<LiveTable, (u64, Vec<Difference>)>,
}

impl ReplayReport {
    /// Whether every row that can be derived agrees with the log, and every stream was compared.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.different == 0 && self.restless.is_empty()
    }

    pub(super) fn add_equal(&mut self, table: LiveTable) {
        *self.equal.entry(table).or_default() += 1;
    }

    pub(super) fn add_underivable(&mut self, table: LiveTable) {
        *self.underivable.entry(table).or_default() += 1;
    }

    pub(super) fn add(&mut self, difference: Difference) {
        if let (Some(table), How::Missing) = (difference.table, &difference.how) {
            let (count, first) = self.absent.entry(table).or_default();
            *count += 1;
            if first.len() < MOST {
                first.push(difference);
            }
            return;
        }
        self.differs(difference);
    }

    fn differs(&mut self, difference: Difference) {
        self.different += 1;
        if self.differences.len() < MOST {
            self.differences.push(difference);
        }
    }

    /// Whether nothing needs to be checked again.
    pub(super) fn is_clean(&self) -> bool {
        self.different == 0 && self.absent.is_empty()
    }

    pub(super) fn add_disposed(&mut self, table: LiveTable) {
        *self.disposed.entry(table).or_default() += 1;
    }

    /// Decides on missing rows that no entry lists. If entries that only count account for all of them, they were
    /// erased; otherwise it is unknown which were, and all of them are reported as different.
    pub(super) fn settle(&mut self, counted: &BTreeMap<LiveTable, u64>) {
        for (table, (count, first)) in std::mem::take(&mut self.absent) {
            if count <= counted.get(&table).copied().unwrap_or(0) {
                self.counted.insert(table, count);
                continue;
            }
            let told = u64::try_from(first.len()).unwrap_or(u64::MAX);
            for difference in first {
                self.differs(difference);
            }
            self.different += count - told;
        }
    }

    /// Adds the report of a part.
    pub(super) fn join(&mut self, part: Self) {
        self.streams += part.streams;
        self.entries += part.entries;
        self.erased += part.erased;
        self.forgotten += part.forgotten;
        self.withdrawn += part.withdrawn;
        self.different += part.different;
        let (equal, underivable) = ((&mut self.equal, part.equal), (&mut self.underivable, part.underivable));
        for (into, from) in [equal, underivable, (&mut self.disposed, part.disposed)] {
            for (table, rows) in from {
                *into.entry(table).or_default() += rows;
            }
        }
        for (table, (count, first)) in part.absent {
            let (sum, kept) = self.absent.entry(table).or_default();
            *sum += count;
            let room = MOST.saturating_sub(kept.len());
            kept.extend(first.into_iter().take(room));
        }
        self.restless.extend(part.restless);
        let room = MOST.saturating_sub(self.differences.len());
        self.differences.extend(part.differences.into_iter().take(room));
    }
}
