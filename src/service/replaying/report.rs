//! What a replay found.

use std::collections::BTreeMap;

use crate::domain::id::{ArtifactId, StreamId};
use crate::storage::LiveTable;

/// So many differences are kept with their places; more of them are only counted.
pub(super) const MOST: usize = 100;

/// How a live row differs from what the log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// It is not there.
    Missing,
    /// It is there, and no entry made it.
    Unfounded,
    /// Its body or its searched columns say something else.
    Changed {
        /// Places in the body, as JSON pointers: the first few.
        members: Vec<String>,
        /// Columns beside the body.
        columns: Vec<String>,
    },
    /// An entry changes a row that no entry before it made, so the log itself does not hold together.
    Unmade,
    /// An entry's payload is no event of its stream.
    Unreadable,
}

/// One row that is not as the log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its table; none where an entry is at fault and no row.
    pub table: Option<LiveTable>,
    /// Its key after the tenant. Personal unless [`LiveTable::mints_ids`] says otherwise.
    pub row_id: String,
    /// The stream that it follows from, where there is one.
    pub stream_id: Option<StreamId>,
    /// The entry that touched it last, or that is at fault.
    pub artifact_id: Option<ArtifactId>,
    pub how: How,
}

/// What was found in one tenant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayReport {
    pub streams: u64,
    pub entries: u64,
    /// Entries whose payload is gone: what they said cannot be folded.
    pub erased: u64,
    /// Rows that are as the log says, by table.
    pub equal: BTreeMap<LiveTable, u64>,
    /// Rows about which the log can no longer say everything, because evidence that they need was erased, by table.
    pub underivable: BTreeMap<LiveTable, u64>,
    /// Messages whose time is over and that were deleted as they should be.
    pub forgotten: u64,
    /// Saved packs that were deleted with a fact or a space that they showed.
    pub withdrawn: u64,
    /// Rows that are gone and that the disposal stream names as erased, by table.
    pub disposed: BTreeMap<LiveTable, u64>,
    /// Rows that are gone and of which only a number is known: entries of an earlier version say that so many of their table
    /// were erased, and not which. By table.
    pub counted: BTreeMap<LiveTable, u64>,
    /// Streams that were written to so often that they were never seen standing still; nothing is said about their rows.
    pub restless: Vec<StreamId>,
    /// Rows that differ: the first ones.
    pub differences: Vec<Difference>,
    /// How many differ in all.
    pub different: u64,
    /// Rows that are missing, until it is known how many were erased: their number, and the first ones.
    pub(super) absent: BTreeMap<LiveTable, (u64, Vec<Difference>)>,
}

impl ReplayReport {
    /// Whether every row that can be derived is as the log says, and every stream was looked at.
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

    /// Whether nothing was found that would be looked at again.
    pub(super) fn is_clean(&self) -> bool {
        self.different == 0 && self.absent.is_empty()
    }

    pub(super) fn add_disposed(&mut self, table: LiveTable) {
        *self.disposed.entry(table).or_default() += 1;
    }

    /// Rows that are missing and not named were erased, if entries that only counted say that so many were; otherwise nobody says which of them were
    /// taken away by other hands, and all of them differ.
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

    /// Takes in what was found of a part.
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
