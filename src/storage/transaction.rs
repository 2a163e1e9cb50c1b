//! One transaction of the write path: lock, load, read the clock, write, commit.

use async_trait::async_trait;

use super::{Counts, Disposal, HoldSet, Kept, SpaceRow, SpaceRowKind, StorageError, StoredClaim, Tenant};
use crate::domain::canonical::Digest;
use crate::domain::command::{CommandRecord, names};
use crate::domain::context::ContextRecord;
use crate::domain::event::StreamKey;
use crate::domain::id::{
    ArtifactId, AttemptId, CommandId, ConversationId, ItemId, MessageId, PrincipalId, SpaceId, StreamId, TenantId,
};
use crate::domain::item::PendingItem;
use crate::domain::message::{MessageRecord, message_key};
use crate::domain::operation::{Needs, Operation};
use crate::domain::principal::{PersonKey, Principal};
use crate::domain::time::Timestamp;
use crate::domain::world::{Conversation, StoredFrame};
use crate::evidence::entry::{Appended, StreamHead};
use crate::state_layer::operation::SpaceNeeds;

/// How a load treats streams that another process has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    /// Skips operations that need them: their entry in [`Loaded::streams`] is `None`.
    Skip,
    /// Waits for them up to the adapter's time limit, then fails with [`StorageError::Contended`].
    Wait,
}

/// The locks and rows that one operation needs.
#[derive(Debug, Clone)]
pub struct Want {
    pub tenant_id: TenantId,
    pub needs: Needs,
    /// The idempotency row to search for.
    pub claim: Option<Digest>,
    /// The fact space to load, with its stream.
    pub space: Option<(SpaceId, SpaceNeeds)>,
}

impl Want {
    /// The needs of a tenant's operation.
    #[must_use]
    pub fn of(tenant: &Tenant, operation: &Operation) -> Self {
        let mut needs = operation.needs(|channel, message_id| message_key(&tenant.key, channel, message_id));
        if let (Some(command_id), Some(idempotency_key)) = (&needs.command, &needs.idempotency_key) {
            needs.names = names(&tenant.key, command_id, idempotency_key).to_vec();
        }
        Self { tenant_id: tenant.tenant_id.clone(), needs, claim: None, space: None }
    }
}

/// The rows of one fact space to load.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpaceWant {
    pub tenant_id: TenantId,
    pub space_id: SpaceId,
    /// The space's record, and everything in force: valid facts, signals, working items.
    pub live: bool,
    pub whole: bool,
    /// Facts named by uid, label or key, in force or not.
    pub named: Vec<String>,
}

/// A row with the domain's types.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "rows are moved into the world one by one and never kept in bulk")]
pub enum Row {
    Conversation(ConversationId, Conversation),
    Context(ContextRecord),
    Item(PendingItem),
    Command(CommandRecord),
    Message(MessageRecord),
    ErasedMessage(Digest),
    Principal(Principal),
    Frame(StoredFrame),
    /// The command for which an attempt was made.
    Attempt(AttemptId, CommandId),
    /// The item that a quoted message asked.
    Prompt(MessageId, ItemId),
}

/// The result of a load, under the locks.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The streams of each operation, in order. `None`: another process has locked one of them, so the operation was
    /// skipped and has to be queued again.
    pub streams: Vec<Option<Vec<StreamKey>>>,
    /// Heads of existing streams. A stream that is not listed has no entries yet.
    pub heads: Vec<(TenantId, StreamKey, StreamHead)>,
    /// Open contexts and items of each locked conversation, the item asked last there, and all rows that were named; an
    /// item comes with its context, a context with its actor. A row may occur twice.
    pub rows: Vec<(TenantId, Row)>,
    pub claims: Vec<(TenantId, Digest, StoredClaim)>,
    /// Names of commands that were bound and later erased.
    pub spent_names: Vec<(TenantId, Digest)>,
    /// Tenants with more possible principals of one person than can be searched.
    pub people_unknown: Vec<TenantId>,
}

/// The rows of a batch, written in one transaction.
#[derive(Debug, Clone, Default)]
pub struct Writes {
    /// New streams with their ids.
    pub new_streams: Vec<(TenantId, StreamKey, StreamId)>,
    /// Log entries, in order, with the stream's key.
    pub entries: Vec<Appended>,
    /// Locked streams without entries, whose names must be removed. If this is all, there is nothing to commit: a
    /// rollback removes the names too.
    pub unnamed: Vec<(TenantId, StreamKey)>,
    /// The heads after the entries.
    pub heads: Vec<(TenantId, StreamKey, StreamHead)>,
    /// Rows that must not exist yet. If one exists, another process was faster: nothing is written, and
    /// [`StorageError::Conflict`] tells the caller to decide again.
    pub new_rows: Vec<(TenantId, Row)>,
    /// Changed rows. Items and commands among them exist: they were loaded under the locks.
    pub rows: Vec<(TenantId, Row)>,
    /// Rows that this transaction deleted and writes again without a name. One is left out if the replaced name is
    /// taken.
    pub rewritten: Vec<(TenantId, Row)>,
    pub claims: Vec<(TenantId, Digest, StoredClaim)>,
    /// Rows of fact spaces in their new form.
    pub space_rows: Vec<(TenantId, SpaceId, SpaceRow)>,
    /// Rows of fact spaces to delete: their kind and id.
    pub gone_space_rows: Vec<(TenantId, SpaceId, SpaceRowKind, String)>,
    /// Deleted facts, and the readings about them: log payloads, saved packs and stored answers that mention them are
    /// deleted too. Hashes in the log stay.
    pub forgotten: Vec<(TenantId, SpaceId, String)>,
}

impl Writes {
    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
            && self.new_rows.is_empty()
            && self.rows.is_empty()
            && self.rewritten.is_empty()
            && self.claims.is_empty()
            && self.space_rows.is_empty()
    }
}

/// A transaction. Dropping it rolls it back.
#[async_trait]
pub trait Transaction: Send {
    /// Locks every stream that the wants need and loads what they name. Streams are locked in one order everywhere.
    async fn load(&mut self, wants: &[Want], locking: Locking) -> Result<Loaded, StorageError>;

    /// Loads approvers and items that only the rows of the first load name.
    async fn load_more(
        &mut self,
        principals: &[(TenantId, PrincipalId)],
        items: &[(TenantId, ItemId)],
    ) -> Result<Vec<(TenantId, Row)>, StorageError>;

    /// Loads principals with one of these keys, at most one more than [`super::MAX_KIN`], and locks them, so that
    /// identities cannot change between decision and commit.
    async fn kin(&mut self, tenant_id: &TenantId, keys: &[PersonKey]) -> Result<Vec<Principal>, StorageError>;

    /// Loads rows of fact spaces. A row that is wanted twice is returned twice.
    async fn load_spaces(&mut self, wants: &[SpaceWant]) -> Result<Vec<(TenantId, SpaceId, SpaceRow)>, StorageError>;

    /// Whether this log entry was committed. Under the locks that its writer held, the answer is final.
    async fn has_entry(&mut self, tenant_id: &TenantId, id: &ArtifactId) -> Result<bool, StorageError>;

    /// The present, read after the locks are held.
    async fn now(&mut self) -> Result<Timestamp, StorageError>;

    /// The head of a stream that has this name, locked or not; none before its first entry.
    async fn stream_head(
        &mut self,
        tenant_id: &TenantId,
        stream: &StreamKey,
    ) -> Result<Option<StreamHead>, StorageError>;

    /// Writes everything, set by set.
    async fn write(&mut self, writes: &Writes) -> Result<(), StorageError>;

    /// Erases rows and payloads of locked streams, before anything is written; returns how many of each kind existed.
    /// Digests of commands' names stay, see [`crate::domain::command::names`].
    async fn dispose(&mut self, tenant: &Tenant, disposal: &Disposal) -> Result<Counts, StorageError>;

    /// Writes a row of an erasure or a hold, which belongs to no stream.
    async fn keep(&mut self, tenant_id: &TenantId, kept: &Kept) -> Result<(), StorageError>;

    /// Removes the names of locked streams without entries.
    async fn forget_names(&mut self, tenant_id: &TenantId, streams: &[StreamKey]) -> Result<(), StorageError>;

    /// The holds in force. While the disposal stream is locked, none is placed or lifted.
    async fn held(&mut self, tenant_id: &TenantId) -> Result<HoldSet, StorageError>;

    /// The entries about these facts or readings: their payloads are erased when the facts are deleted.
    async fn told_of(&mut self, tenant_id: &TenantId, ids: &[String]) -> Result<Vec<(StreamId, u64)>, StorageError>;

    /// Withdraws kept answers about a space: repetitions are told that there is none. Returns how many.
    async fn withdraw(
        &mut self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        keys: &[Digest],
    ) -> Result<u64, StorageError>;

    /// Commits. After an error the outcome is unknown.
    async fn commit(self: Box<Self>) -> Result<(), StorageError>;
}
