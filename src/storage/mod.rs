//! The storage port: what the rest of the program needs from a database, independent of which one it is.
//!
//! Writing goes through `committer::Committer`: it opens a [`Transaction`], which locks and loads, reads the clock and
//! writes once. Reading goes through [`Store`], without locks, so no decision may rest on it.

mod alive;
mod control;
mod disposal;
mod entries;
mod error;
mod file_timelines;
mod going;
mod kin;
mod live;
mod live_row;
mod load_parts;
mod loading;
mod logged;
mod mending;
mod policies;
pub mod postgres;
mod record;
mod records;
mod retention;
pub(crate) mod rows;
mod space;
mod sql;
pub mod sqlite;
mod subject;
mod subject_search;
mod timelines;
mod transaction;
mod tree;
mod upkeep;
mod witness;
mod write_parts;
mod written;

use async_trait::async_trait;

pub use alive::AliveStore;
pub use control::ControlStore;
pub use disposal::{Counts, Disposal, DisposalStore, Disposing, HoldSet, count_kinds};
pub use entries::EntryStore;
pub use error::StorageError;
pub use file_timelines::FileTimelines;
pub use going::{GoingStore, ShowingPacks};
pub use kin::{Kin, MAX_KIN};
pub use live::{LiveStore, Maker};
pub use live_row::{LiveRow, LiveTable};
pub use logged::{Filed, LoggedStore, StreamEnd, StreamName};
pub use mending::{Mending, MendingStore, Misplaced};
pub use policies::PolicyStore;
pub use record::{ApiKey, PolicySet, PolicyVersion, StoredClaim, Tenant};
pub use records::RecordStore;
pub use retention::{Aged, AgedQuery, AgedRecords, CapturedFrame, WholeContext};
pub(crate) use space::ChangedSpace;
pub use space::{SpaceRow, SpaceRowKind};
pub use subject::{ErasureRow, Held, HoldRow, HoldTerms, Kept, SubjectStore};
pub use subject_search::{Found, Place, Searched, Table};
pub use timelines::Timelines;
pub use transaction::{Loaded, Locking, Row, SpaceWant, Transaction, Want, Writes};
pub use tree::{Growth, Placed, StoredCheckpoint, TreeHead, TreeStore, Waiting};
pub use upkeep::UpkeepStore;
pub use witness::{StoredCosignature, WitnessStore};

use crate::domain::id::SpaceId;

/// A database. Object-safe, so that the program is compiled once for all of them.
#[async_trait]
pub trait Store:
    ControlStore
    + PolicyStore
    + RecordStore
    + EntryStore
    + TreeStore
    + WitnessStore
    + LoggedStore
    + MendingStore
    + LiveStore
    + DisposalStore
    + GoingStore
    + AgedRecords
    + SubjectStore
    + UpkeepStore
    + AliveStore
{
    /// Opens a transaction that will lock, load and write.
    async fn begin(&self) -> Result<Box<dyn Transaction>, StorageError>;

    /// How many writers may work in parallel.
    fn writers(&self) -> usize {
        1
    }

    /// Whether one transaction may touch the rows of several tenants.
    fn spans_tenants(&self) -> bool {
        true
    }

    /// Whether the database answers.
    async fn ping(&self) -> Result<(), StorageError>;

    /// Stops taking work and closes connections; everything committed is durable.
    async fn close(&self);

    /// The wanted rows of fact spaces, as they are now. Without locks: no decision may rest on it.
    async fn spaces(&self, wants: &[SpaceWant]) -> Result<Vec<(SpaceId, SpaceRow)>, StorageError>;
}
