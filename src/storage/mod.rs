//! The storage port: what the rest of the program needs from a database, independent of which one it is.
//!
//! Writing goes through `committer::Committer`: it opens a [`Transaction`], which locks and loads, reads the clock and
//! writes once. Reading goes through [`Store`], without locks, so no decision may rest on it.

mod alive;
mod disposal;
mod error;
mod file_timelines;
mod going;
mod kin;
mod live;
mod logged;
mod mending;
pub mod postgres;
mod record;
mod retention;
pub(crate) mod rows;
mod space;
pub mod sqlite;
mod subject;
mod timelines;
mod transaction;
mod tree;
mod witness;

use async_trait::async_trait;

pub use alive::AliveStore;
pub use disposal::{Counts, Disposal, DisposalStore, Disposing, HoldSet, count_kinds};
pub use error::StorageError;
pub use file_timelines::FileTimelines;
pub use going::{GoingStore, ShowingPacks};
pub use kin::{Kin, MAX_KIN};
pub use live::{LiveRow, LiveStore, LiveTable, Maker};
pub use logged::{Filed, LoggedStore, StreamEnd, StreamName};
pub use mending::{Mending, MendingStore, Misplaced};
pub use record::{ApiKey, PolicySet, PolicyVersion, StoredClaim, Tenant};
pub use retention::{Aged, AgedQuery, AgedRecords, CapturedFrame, WholeContext};
pub(crate) use space::ChangedSpace;
pub use space::{SpaceRow, SpaceRowKind};
pub use subject::{ErasureRow, Found, Held, HoldRow, HoldTerms, Kept, Place, Searched, SubjectStore, Table};
pub use timelines::Timelines;
pub use transaction::{Loaded, Locking, Row, SpaceWant, Transaction, Want, Writes};
pub use tree::{Growth, Placed, StoredCheckpoint, TreeHead, TreeStore, Waiting};
pub use witness::{StoredCosignature, WitnessStore};

use crate::domain::canonical::Digest;
use crate::domain::command::CommandRecord;
use crate::domain::context::ContextRecord;
use crate::domain::id::{
    ArtifactId, CommandId, ContextFrameId, ContextId, ConversationId, ItemId, KeyId, PackId, SpaceId, StreamId,
    TenantId,
};
use crate::domain::item::PendingItem;
use crate::domain::message::MessageRecord;
use crate::domain::principal::{PersonKey, Principal};
use crate::domain::query::{ApprovalQuery, ContextQuery, EvidenceQuery, Page, PrincipalQuery, UnreportedQuery};
use crate::domain::speaking::SpeaksFor;
use crate::domain::time::Timestamp;
use crate::domain::world::StoredFrame;
use crate::evidence::entry::{LogEntry, StreamHead};
use crate::state_layer::assembly::SavedPack;
use crate::state_layer::fact::Fact;
use crate::state_layer::query::FactQuery;

/// A lease that ends later than this many times its length from now was taken by a clock that was ahead.
const LEASES_AHEAD: u32 = 2;

/// A database. Object-safe, so that the program is compiled once for all of them.
#[async_trait]
pub trait Store:
    TreeStore
    + WitnessStore
    + LoggedStore
    + MendingStore
    + LiveStore
    + DisposalStore
    + GoingStore
    + AgedRecords
    + SubjectStore
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

    // Tenants and credentials.

    /// Creates a tenant; an error of kind [`StorageError::Exists`] if the id is taken.
    async fn create_tenant(&self, tenant: &Tenant) -> Result<(), StorageError>;
    /// Every tenant, by id.
    async fn tenants(&self) -> Result<Vec<Tenant>, StorageError>;
    async fn tenant(&self, tenant_id: &TenantId) -> Result<Option<Tenant>, StorageError>;
    /// Enables or disables a tenant; `false` if there is none.
    async fn set_tenant_enabled(&self, tenant_id: &TenantId, enabled: bool) -> Result<bool, StorageError>;
    /// Attaches a tenant to a pack by name, or to none; `false` if there is no such tenant.
    async fn set_tenant_policy(&self, tenant_id: &TenantId, pack: Option<&str>) -> Result<bool, StorageError>;
    async fn create_key(&self, key: &ApiKey) -> Result<(), StorageError>;
    /// The keys of a tenant, oldest first.
    async fn keys(&self, tenant_id: &TenantId) -> Result<Vec<ApiKey>, StorageError>;
    /// Revokes a key; `false` if there is none.
    async fn revoke_key(&self, tenant_id: &TenantId, key_id: &KeyId, at: Timestamp) -> Result<bool, StorageError>;
    /// Replaces whom a key may speak for; `false` if there is no such key.
    async fn set_key_voice(
        &self,
        tenant_id: &TenantId,
        key_id: &KeyId,
        speaks_for: &SpeaksFor,
    ) -> Result<bool, StorageError>;
    /// The key with this digest and its tenant, revoked or not.
    async fn find_key(&self, digest: &Digest) -> Result<Option<(ApiKey, Tenant)>, StorageError>;

    // Policies for every server on this database.

    /// Publishes a set as the next version; without a set, the version returns to the built-in packs. Returns the
    /// version; concurrent calls get different ones.
    async fn publish_policies(
        &self,
        set: Option<&PolicySet>,
        note: Option<&str>,
        at: Timestamp,
    ) -> Result<u64, StorageError>;
    /// The newest version; 0 if nothing was ever published. Servers ask every second.
    async fn policies_version(&self) -> Result<u64, StorageError>;
    /// Up to `limit` versions before `before`, newest first.
    async fn policy_versions(&self, before: Option<u64>, limit: u32) -> Result<Vec<PolicyVersion>, StorageError>;
    /// The set of an existing version; none if that version returned to the built-in packs.
    async fn policy_set(&self, version: u64) -> Result<Option<PolicySet>, StorageError>;

    // Reads, without locks: no decision may rest on them. The caller judges expiry by its clock.

    async fn context(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Option<ContextRecord>, StorageError>;
    /// Context records, newest first.
    async fn contexts(&self, tenant_id: &TenantId, query: &ContextQuery) -> Result<Page<ContextRecord>, StorageError>;
    async fn item(&self, tenant_id: &TenantId, id: &ItemId) -> Result<Option<PendingItem>, StorageError>;
    /// The items of a context, oldest first.
    async fn items_of(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Vec<PendingItem>, StorageError>;
    async fn approvals(&self, tenant_id: &TenantId, query: &ApprovalQuery) -> Result<Page<PendingItem>, StorageError>;
    async fn command(&self, tenant_id: &TenantId, id: &CommandId) -> Result<Option<CommandRecord>, StorageError>;
    /// Bound commands without a report, longest waiting first.
    async fn unreported(
        &self,
        tenant_id: &TenantId,
        query: &UnreportedQuery,
    ) -> Result<Page<CommandRecord>, StorageError>;
    /// The command of a context with the latest report or binding.
    async fn last_command(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Option<CommandRecord>, StorageError>;
    /// Messages by their dedupe keys, in no particular order.
    async fn messages(&self, tenant_id: &TenantId, keys: &[Digest]) -> Result<Vec<MessageRecord>, StorageError>;
    async fn principal(&self, tenant_id: &TenantId, id: &str) -> Result<Option<Principal>, StorageError>;
    async fn principals(&self, tenant_id: &TenantId, query: &PrincipalQuery) -> Result<Page<Principal>, StorageError>;
    /// Principals with one of these keys, at most one more than [`MAX_KIN`].
    async fn kin(&self, tenant_id: &TenantId, keys: &[PersonKey]) -> Result<Vec<Principal>, StorageError>;
    async fn frame(&self, tenant_id: &TenantId, id: &ContextFrameId) -> Result<Option<StoredFrame>, StorageError>;
    /// Log entries, oldest first.
    async fn entries(&self, tenant_id: &TenantId, query: &EvidenceQuery) -> Result<Page<LogEntry>, StorageError>;
    async fn entry(&self, tenant_id: &TenantId, id: &ArtifactId) -> Result<Option<LogEntry>, StorageError>;

    // Fact spaces.

    /// The wanted rows of fact spaces, as they are now.
    async fn spaces(&self, wants: &[SpaceWant]) -> Result<Vec<(SpaceId, SpaceRow)>, StorageError>;
    /// Facts of a space, newest first.
    async fn facts(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        query: &FactQuery,
    ) -> Result<Page<Fact>, StorageError>;
    /// A saved context pack.
    async fn saved_pack(&self, tenant_id: &TenantId, id: &PackId) -> Result<Option<SavedPack>, StorageError>;
    /// The stored answer for this keyed digest of an `Idempotency-Key`, even if it has expired.
    async fn claim(&self, tenant_id: &TenantId, key: &Digest) -> Result<Option<StoredClaim>, StorageError>;

    // Verification and upkeep.

    /// The heads of a tenant's streams after `after`, by stream id.
    async fn heads(
        &self,
        tenant_id: &TenantId,
        after: Option<&StreamId>,
        limit: u32,
    ) -> Result<Vec<StreamHead>, StorageError>;
    /// The entries of a stream after sequence number `after`, in order.
    async fn stream(
        &self,
        tenant_id: &TenantId,
        id: &StreamId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogEntry>, StorageError>;
    /// Conversations with something due at `now`: a deadline, or a question to a principal whose identity changed.
    async fn due(&self, now: Timestamp, limit: u32) -> Result<Vec<(TenantId, ConversationId)>, StorageError>;
    /// Corrects the sweeper's index for up to `limit` contexts whose time was extended; returns how many.
    async fn postpone(&self, now: Timestamp, limit: u32) -> Result<u64, StorageError>;
    /// Deletes the `Idempotency-Key` digests of up to `limit` erasures that ended at least a day ago; returns how many.
    async fn forget_erasure_keys(&self, now: Timestamp, limit: u32) -> Result<u64, StorageError>;
    /// Takes or renews a lease for so many seconds of the database's clock; `false` if another holder has it.
    async fn take_lease(&self, name: &str, holder: &str, seconds: u32) -> Result<bool, StorageError>;
    /// Releases a lease, if this holder has it.
    async fn release_lease(&self, name: &str, holder: &str) -> Result<(), StorageError>;
}
