//! Retention's part of the port: finds records past their time by tenant and age.

use async_trait::async_trait;

use super::StorageError;
use crate::domain::context::ContextRecord;
use crate::domain::id::{CommandId, ContextFrameId, ContextId, ConversationId, StreamId, TenantId};
use crate::domain::item::PendingItem;
use crate::domain::policy::RecordKind;
use crate::domain::time::Timestamp;

/// A record whose time is at or before a cut-off. Found without a lock; whether it may be erased is decided under the
/// lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aged {
    pub at: Timestamp,
    /// Its id within kind and place: the sequence number of a payload, kind and id of a row of a fact space.
    pub id: String,
    /// Where it belongs: a conversation; for a payload the stream's id; for rows of a fact space and answers about one,
    /// the space. Empty for other answers.
    pub place: String,
    /// The person that it is about, if the row has one.
    pub actor_id: Option<String>,
}

/// A query for old records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgedQuery {
    pub kind: RecordKind,
    /// Finds records whose time is at or before this.
    pub cutoff: Timestamp,
    /// The present, for rows of an earlier version that store their end instead of their time.
    pub now: Timestamp,
    /// How many of the oldest to skip: records past their time that have to stay.
    pub skip: u64,
    /// The most records to return.
    pub limit: u32,
}

/// A context with the rows that are erased with it.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeContext {
    pub context: ContextRecord,
    pub items: Vec<PendingItem>,
    pub commands: Vec<CommandId>,
}

/// A frame, and the entry that captured it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFrame {
    pub frame_id: ContextFrameId,
    /// Whether its context is open.
    pub is_open: bool,
    /// Stream and sequence number of the entry whose payload contains the frame, unless that payload is erased.
    pub captured: Option<(StreamId, u64)>,
}

/// Finds records by age. No decision may rest on these reads, unless the streams concerned are locked.
#[async_trait]
pub trait AgedRecords: Send + Sync {
    /// Records past their time, oldest first. The search starts at the oldest record and stops at the limit, so its
    /// cost does not depend on younger records.
    async fn aged(&self, tenant_id: &TenantId, asked: &AgedQuery) -> Result<Vec<Aged>, StorageError>;

    /// Contexts with the rows that are erased with them.
    async fn whole_contexts(&self, tenant_id: &TenantId, ids: &[ContextId]) -> Result<Vec<WholeContext>, StorageError>;

    /// Frames with the entries that captured them.
    async fn captured(&self, tenant_id: &TenantId, ids: &[ContextFrameId]) -> Result<Vec<CapturedFrame>, StorageError>;

    /// The contexts of conversations.
    async fn contexts_in(
        &self,
        tenant_id: &TenantId,
        ids: &[ConversationId],
    ) -> Result<Vec<(ConversationId, ContextId)>, StorageError>;
}

/// Groups rows of contexts, items and commands by context.
pub(super) fn put_together(
    contexts: Vec<ContextRecord>,
    items: &[PendingItem],
    commands: &[(String, CommandId)],
) -> Vec<WholeContext> {
    let whole = |context: ContextRecord| {
        let own = |item: &&PendingItem| item.context_id == context.context_id;
        let named = |(of, id): &(String, CommandId)| (of == context.context_id.as_str()).then(|| id.clone());
        let items = items.iter().filter(own).cloned().collect();
        let commands = commands.iter().filter_map(named).collect();
        WholeContext { context, items, commands }
    };
    contexts.into_iter().map(whole).collect()
}
