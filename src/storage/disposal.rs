//! Erasing: rows and payloads are deleted, and the entry about it is written, in one transaction under the locks of all
//! streams concerned.
//!
//! A caller begins a [`Disposing`] with the streams to change, asks for holds, erases, records what was erased and
//! commits. Verification reports a payload that is missing without such an entry.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use serde::Deserialize;

use super::{Locking, Row, SpaceRowKind, StorageError, Store, Tenant, Transaction, Want, Writes, rows};
use crate::domain::canonical::Digest;
use crate::domain::command::names;
use crate::domain::disposal::{DisposalEvent, ErasedRange};
use crate::domain::event::{About, Evidence, Recorded, StreamKey};
use crate::domain::id::{
    ArtifactId, CommandId, ContextFrameId, ContextId, ConversationId, Entropy, IdempotencyKey, Ids, ItemId,
    PrincipalId, SpaceId, StreamId, TenantId,
};
use crate::domain::message::MessageRecord;
use crate::domain::operation::Needs;
use crate::domain::policy::PolicyRef;
use crate::domain::time::Timestamp;
use crate::evidence::entry::{StreamHead, append};

/// Numbers of erased rows by kind: `payloads`, `contexts`, `items`, `prompts`, `commands`, `attempts`, `frames`,
/// `conversations`, `messages`, `claims`, `principals`, `aliases`, `roles`, `space_records`, `tombstones`, `streams`.
pub type Counts = BTreeMap<&'static str, u64>;

/// Counts in the form of evidence and receipts, without zeros.
#[must_use]
pub fn count_kinds(counts: &Counts) -> BTreeMap<String, u64> {
    counts.iter().filter(|(_, count)| **count > 0).map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
}

/// What to erase, by id. Ids that no longer exist are ignored.
#[derive(Debug, Clone, Default)]
pub struct Disposal {
    /// Entries whose payloads are erased, with their salts and index columns. Headers and hashes stay.
    pub payloads: Vec<ErasedRange>,
    pub contexts: Vec<ContextId>,
    /// Pending items, with their prompts and nonces.
    pub items: Vec<ItemId>,
    /// Commands, with their attempts. Keyed digests of their names stay.
    pub commands: Vec<CommandId>,
    /// Frames. The payload of the entry that captured a frame has to be erased with it: an entry without its frame does
    /// not verify.
    pub frames: Vec<ContextFrameId>,
    /// The state of conversations besides their contexts and items.
    pub conversations: Vec<ConversationId>,
    /// Messages that are deleted completely.
    pub messages: Vec<Digest>,
    /// Messages whose dedupe key is kept, until this time.
    pub tombstones: Vec<(Digest, Timestamp)>,
    pub claims: Vec<Digest>,
    /// Principals, with their aliases and roles.
    pub principals: Vec<PrincipalId>,
    pub space_records: Vec<(SpaceId, SpaceRowKind, String)>,
    /// Streams whose name is erased. The chain stays and cannot be continued: if the same name is used again, a new
    /// chain begins.
    pub streams: Vec<StreamId>,
}

impl Disposal {
    /// Rows that are addressed by one text or digest, with the name under which their deletion is counted.
    pub(in crate::storage) fn named(&self) -> [(&'static str, Vec<&str>); 8] {
        [
            // Prompts are found by their items and attempts by their commands, so they are deleted first.
            ("prompts", self.items.iter().map(ItemId::as_str).collect()),
            ("attempts", self.commands.iter().map(CommandId::as_str).collect()),
            ("contexts", self.contexts.iter().map(ContextId::as_str).collect()),
            ("items", self.items.iter().map(ItemId::as_str).collect()),
            ("frames", self.frames.iter().map(ContextFrameId::as_str).collect()),
            ("conversations", self.conversations.iter().map(ConversationId::as_str).collect()),
            ("streams", self.streams.iter().map(StreamId::as_str).collect()),
            ("principals", self.principals.iter().map(PrincipalId::as_str).collect()),
        ]
    }
}

/// The digests that stay of a deleted command's names.
pub(in crate::storage) fn spent_names(
    tenant_key: &Digest,
    command_id: String,
    idempotency_key: String,
) -> Result<[Digest; 2], StorageError> {
    let foreign =
        |error: &dyn std::fmt::Display| StorageError::Inconsistent { table: "commands", what: error.to_string() };
    let command_id = CommandId::new(command_id).map_err(|error| foreign(&error))?;
    let idempotency_key = IdempotencyKey::new(idempotency_key).map_err(|error| foreign(&error))?;
    Ok(names(tenant_key, &command_id, &idempotency_key))
}

/// A stored message: complete, or the tombstone of an erased one.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(in crate::storage) enum StoredMessage {
    Erased { erased: Digest },
    Kept(Box<MessageRecord>),
}

/// The holds of a tenant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HoldSet {
    pub(in crate::storage) principals: BTreeSet<String>,
    pub(in crate::storage) conversations: BTreeSet<String>,
}

impl HoldSet {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.principals.is_empty() && self.conversations.is_empty()
    }

    /// Whether this principal is under a hold.
    #[must_use]
    pub fn holds_principal(&self, id: &PrincipalId) -> bool {
        self.principals.contains(id.as_str())
    }

    /// Whether this conversation is under a hold: itself, or because a principal under a hold has acted in it or is its
    /// name.
    #[must_use]
    pub fn holds_conversation(&self, id: &ConversationId) -> bool {
        self.conversations.contains(id.as_str()) || self.principals.contains(id.as_str())
    }

    /// Whether this stream is under a hold. A fact space is held with its owner, which the stream does not name; the
    /// disposal stream is never erased.
    #[must_use]
    pub fn holds_stream(&self, stream: &StreamKey) -> bool {
        match stream {
            StreamKey::Conversation(id) => self.holds_conversation(id),
            StreamKey::Principal(id) => self.holds_principal(id),
            StreamKey::Access(reader) => self.principals.contains(reader),
            StreamKey::FactSpace(_) => false,
            StreamKey::Disposal => true,
        }
    }
}

/// Reads for erasing and for verifying erasures. They are made without locks, so no decision may rest on them.
#[async_trait]
pub trait DisposalStore: Send + Sync {
    /// The head of the tenant's disposal stream; none before its first entry.
    async fn disposal_head(&self, tenant_id: &TenantId) -> Result<Option<StreamHead>, StorageError>;

    /// The head of a stream that has this name; none before its first entry.
    async fn stream_head(&self, tenant_id: &TenantId, stream: &StreamKey) -> Result<Option<StreamHead>, StorageError>;

    /// What must not be erased.
    async fn held(&self, tenant_id: &TenantId) -> Result<HoldSet, StorageError>;

    /// The streams that have a name, with their heads.
    async fn named_streams(
        &self,
        tenant_id: &TenantId,
        ids: &[StreamId],
    ) -> Result<Vec<(StreamKey, StreamHead)>, StorageError>;

    /// Removes erased data from the database's own files, as far as this program can: on SQLite the write-ahead log is
    /// folded in and truncated. PostgreSQL needs its owner's maintenance, see docs/PRIVACY.md.
    async fn scour(&self) -> Result<(), StorageError>;
}

/// A transaction that erases, with the locks of the streams concerned and of the tenant's disposal stream. Dropping it
/// rolls it back.
pub struct Disposing {
    transaction: Box<dyn Transaction>,
    tenant: Tenant,
    locked: BTreeSet<StreamKey>,
    heads: BTreeMap<StreamKey, StreamHead>,
    rows: Vec<Row>,
    now: Timestamp,
    writes: Writes,
    /// Streams that were appended to.
    moved: BTreeSet<StreamKey>,
}

impl std::fmt::Debug for Disposing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disposing").field("streams", &self.locked.len()).finish_non_exhaustive()
    }
}

impl Disposing {
    /// Locks the streams and the tenant's disposal stream, waiting for them, and reads the clock.
    /// Fails with [`StorageError::Contended`] where another process holds one of them for too long.
    pub async fn begin(
        store: &dyn Store,
        tenant: &Tenant,
        streams: impl IntoIterator<Item = StreamKey> + Send,
    ) -> Result<Self, StorageError> {
        Self::begin_with(store, tenant, streams, Vec::new()).await
    }

    /// The same, loading rows under the locks: see [`Self::rows`].
    pub async fn begin_with(
        store: &dyn Store,
        tenant: &Tenant,
        streams: impl IntoIterator<Item = StreamKey> + Send,
        named: Vec<Needs>,
    ) -> Result<Self, StorageError> {
        let mut locked: BTreeSet<StreamKey> = streams.into_iter().collect();
        locked.insert(StreamKey::Disposal);
        let mut transaction = store.begin().await?;
        let needs = Needs { streams: locked.iter().cloned().collect(), ..Needs::default() };
        let want = |needs| Want { tenant_id: tenant.tenant_id.clone(), needs, claim: None, space: None };
        let wants: Vec<Want> = std::iter::once(needs).chain(named).map(want).collect();
        let loaded = transaction.load(&wants, Locking::Wait).await?;
        if loaded.streams.iter().any(Option::is_none) {
            return Err(StorageError::Contended);
        }
        let heads: BTreeMap<_, _> = loaded.heads.into_iter().map(|(_, key, head)| (key, head)).collect();
        let rows = loaded.rows.into_iter().map(|(_, row)| row).collect();
        // The time never goes back in a stream, and an entry does not explain payloads written after it.
        let last = heads.values().filter_map(|head| head.at).max();
        let now = transaction.now().await?;
        let now = last.map_or(now, |last| last.max(now));
        Ok(Self {
            transaction,
            tenant: tenant.clone(),
            locked,
            heads,
            rows,
            now,
            writes: Writes::default(),
            moved: BTreeSet::new(),
        })
    }

    /// The present, read under the locks.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    pub fn locked(&self) -> impl Iterator<Item = &StreamKey> {
        self.locked.iter()
    }

    /// The head of a locked stream; none if it has no entries or no longer has this name.
    #[must_use]
    pub fn head(&self, stream: &StreamKey) -> Option<&StreamHead> {
        self.heads.get(stream)
    }

    /// The rows loaded with the locked conversations: open contexts and items, and the last question.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The holds in force. None is placed or lifted before this transaction ends.
    pub async fn held(&mut self) -> Result<HoldSet, StorageError> {
        self.transaction.held(&self.tenant.tenant_id).await
    }

    /// The transaction, for other reads and writes under the locks.
    pub fn transaction(&mut self) -> &mut dyn Transaction {
        self.transaction.as_mut()
    }

    /// Erases and returns how many rows of each kind existed. The caller records it.
    pub async fn erase(&mut self, disposal: &Disposal) -> Result<Counts, StorageError> {
        self.transaction.dispose(&self.tenant, disposal).await
    }

    /// Writes a row that is erased here again at the commit, without the name, together with the rows that lead to it.
    /// It is left out if another row already has the replaced name.
    pub fn rewrite(&mut self, row: Row) {
        let leading = rows::leading_to(&row);
        let rows = std::iter::once(row).chain(leading).map(|row| (self.tenant.tenant_id.clone(), row));
        self.writes.rewritten.extend(rows);
    }

    /// The rows to write at the commit.
    pub fn writes(&mut self) -> &mut Writes {
        &mut self.writes
    }

    /// Appends to the tenant's disposal stream; returns the entry's id and hash.
    pub fn record(
        &mut self,
        event: DisposalEvent,
        policy: &PolicyRef,
        entropy: &mut dyn Entropy,
    ) -> (ArtifactId, Digest) {
        let recorded = Recorded { stream: StreamKey::Disposal, about: About::default(), event };
        self.append(&recorded, policy, entropy)
    }

    /// Appends to a stream that is locked here; returns the entry's id and hash.
    pub fn append<E: Evidence>(
        &mut self,
        recorded: &Recorded<E>,
        policy: &PolicyRef,
        entropy: &mut dyn Entropy,
    ) -> (ArtifactId, Digest) {
        let (mut ids, stream) = (Ids::new(self.now, entropy), &recorded.stream);
        let head = self.heads.entry(stream.clone()).or_insert_with(|| {
            let stream_id = ids.stream();
            self.writes.new_streams.push((self.tenant.tenant_id.clone(), stream.clone(), stream_id.clone()));
            StreamHead::new(stream_id)
        });
        let appended = append(head, &self.tenant.tenant_id, recorded, policy, self.now, &mut ids);
        self.moved.insert(stream.clone());
        let written = (appended.entry.header.artifact_id.clone(), appended.entry.entry_hash);
        self.writes.entries.push(appended);
        written
    }

    /// Writes and commits. After an error the outcome is unknown: erasing again does no harm.
    pub async fn commit(mut self) -> Result<(), StorageError> {
        for stream in std::mem::take(&mut self.moved) {
            let head = self.heads.get(&stream).cloned();
            self.writes.heads.extend(head.map(|head| (self.tenant.tenant_id.clone(), stream, head)));
        }
        // Removes stream names that were created only to be locked.
        let unused: Vec<StreamKey> = self.locked.iter().filter(|key| !self.heads.contains_key(*key)).cloned().collect();
        self.transaction.forget_names(&self.tenant.tenant_id, &unused).await?;
        self.transaction.write(&self.writes).await?;
        self.transaction.commit().await
    }
}
