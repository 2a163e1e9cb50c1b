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

/// What a load does about streams that another process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    /// Leaves them out: [`Loaded::streams`] is `None` for what needs them.
    Skip,
    /// Waits for them for as long as the adapter waits for a lock; then [`StorageError::Contended`].
    Wait,
}

/// What one operation wants locked and loaded.
#[derive(Debug, Clone)]
pub struct Want {
    pub tenant_id: TenantId,
    pub needs: Needs,
    /// The idempotency row to look for.
    pub claim: Option<Digest>,
    /// The fact space to load, with its stream.
    pub space: Option<(SpaceId, SpaceNeeds)>,
}

impl Want {
    /// What an operation of a tenant wants.
    #[must_use]
    pub fn of(tenant: &Tenant, operation: &Operation) -> Self {
        let mut needs = operation.needs(|channel, message_id| message_key(&tenant.key, channel, message_id));
        if let (Some(command_id), Some(idempotency_key)) = (&needs.command, &needs.idempotency_key) {
            needs.names = names(&tenant.key, command_id, idempotency_key).to_vec();
        }
        Self { tenant_id: tenant.tenant_id.clone(), needs, claim: None, space: None }
    }
}

/// What of one fact space is loaded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpaceWant {
    pub tenant_id: TenantId,
    pub space_id: SpaceId,
    /// Its record, and all that is in force: valid facts, signals, working items.
    pub live: bool,
    pub whole: bool,
    /// Facts named by uid, label or key, in force or not.
    pub named: Vec<String>,
}

/// A row as the domain knows it.
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
    /// Which command an attempt was made for.
    Attempt(AttemptId, CommandId),
    /// Which item a quoted message asked.
    Prompt(MessageId, ItemId),
}

/// What a batch of wants found, under the locks.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The streams that each want needs, in the order of the wants. `None`: another process holds one of them, so
    /// this want was skipped and has to be queued again.
    pub streams: Vec<Option<Vec<StreamKey>>>,
    /// Heads of streams that exist. A stream that is missing here has no entries yet.
    pub heads: Vec<(TenantId, StreamKey, StreamHead)>,
    /// Rows: open contexts and open items of each locked conversation, the item asked last there, and all that was
    /// named; with an item its context, with a context its actor. A row may come twice.
    pub rows: Vec<(TenantId, Row)>,
    pub claims: Vec<(TenantId, Digest, StoredClaim)>,
    /// Names of commands that were bound and erased since.
    pub spent_names: Vec<(TenantId, Digest)>,
    /// Tenants of which too many principals may be one person to look at them all.
    pub people_unknown: Vec<TenantId>,
}

/// What a batch writes, all in one transaction.
#[derive(Debug, Clone, Default)]
pub struct Writes {
    /// Streams seen for the first time, with the ids they get.
    pub new_streams: Vec<(TenantId, StreamKey, StreamId)>,
    /// Log entries, in order, with the stream's key.
    pub entries: Vec<Appended>,
    /// Streams that were locked and have no entries: nothing may stay of their names. By themselves they are nothing to
    /// write, because a transaction that is not committed leaves none of them.
    pub unnamed: Vec<(TenantId, StreamKey)>,
    /// The heads after them.
    pub heads: Vec<(TenantId, StreamKey, StreamHead)>,
    /// Rows that must not be there yet. Whoever finds one of them there was slower than another: nothing is written, and
    /// [`StorageError::Conflict`] says that it has to be decided anew.
    pub new_rows: Vec<(TenantId, Row)>,
    /// Rows in their new form. Items and commands among them are there already: they were loaded under the locks.
    pub rows: Vec<(TenantId, Row)>,
    /// Rows that this transaction took away and that come back without a name. One stays away if what stands in the
    /// place of the name is taken.
    pub rewritten: Vec<(TenantId, Row)>,
    pub claims: Vec<(TenantId, Digest, StoredClaim)>,
    /// Fact spaces to erase, before anything is written to them.
    pub erased_spaces: Vec<(TenantId, SpaceId)>,
    /// Rows of fact spaces in their new form.
    pub space_rows: Vec<(TenantId, SpaceId, SpaceRow)>,
    /// Rows of fact spaces that go: their kind and id.
    pub gone_space_rows: Vec<(TenantId, SpaceId, SpaceRowKind, String)>,
    /// Facts whose values are deleted, and the readings that told of them: what the log says of them goes too, its hashes
    /// stay; and so do saved packs and kept answers that name them.
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

    /// Loads the principals that approved and the items that messages refer to: what only the first load could name.
    async fn load_more(
        &mut self,
        principals: &[(TenantId, PrincipalId)],
        items: &[(TenantId, ItemId)],
    ) -> Result<Vec<(TenantId, Row)>, StorageError>;

    /// Loads principals with one of these keys, at most one more than [`super::MAX_KIN`], and holds them: who they are cannot
    /// change between decision and commit.
    async fn kin(&mut self, tenant_id: &TenantId, keys: &[PersonKey]) -> Result<Vec<Principal>, StorageError>;

    /// Loads fact spaces. What a want names twice comes twice.
    async fn load_spaces(&mut self, wants: &[SpaceWant]) -> Result<Vec<(TenantId, SpaceId, SpaceRow)>, StorageError>;

    /// Whether this log entry was committed. Asked under the locks that its writer held, the answer is final.
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

    /// Erases rows and payloads; says how many of each kind were there. Before anything is written, and only of streams
    /// that are held. Of commands their names stay, see [`crate::domain::command::names`].
    async fn dispose(&mut self, tenant: &Tenant, disposal: &Disposal) -> Result<Counts, StorageError>;

    /// Writes what an erasure or a hold leaves behind, beside the streams.
    async fn keep(&mut self, tenant_id: &TenantId, kept: &Kept) -> Result<(), StorageError>;

    /// Lets go of the names of locked streams that have no entries.
    async fn forget_names(&mut self, tenant_id: &TenantId, streams: &[StreamKey]) -> Result<(), StorageError>;

    /// What must not be erased. Whoever holds the disposal stream finds no other holds than there will be at the commit.
    async fn held(&mut self, tenant_id: &TenantId) -> Result<HoldSet, StorageError>;

    /// Which entries tell of facts or readings, by their ids: those whose payloads go when what they tell of is forgotten.
    async fn told_of(&mut self, tenant_id: &TenantId, ids: &[String]) -> Result<Vec<(StreamId, u64)>, StorageError>;

    /// Commits. After an error nobody knows whether it did.
    async fn commit(self: Box<Self>) -> Result<(), StorageError>;
}
