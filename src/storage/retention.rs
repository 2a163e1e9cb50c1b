//! Retention's part of the port: what is past its time, found by tenant and time.

use async_trait::async_trait;

use super::StorageError;
use crate::domain::context::ContextRecord;
use crate::domain::id::{CommandId, ContextFrameId, ContextId, ConversationId, StreamId, TenantId};
use crate::domain::item::PendingItem;
use crate::domain::policy::RecordKind;
use crate::domain::time::Timestamp;

/// A record whose time is at or before a cut-off. Found without a lock: whether it may go is decided under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aged {
    pub at: Timestamp,
    /// Its id within its kind and place: of a payload the sequence number, of a row of a fact space its kind and id.
    pub id: String,
    /// Where it belongs: a conversation; of a payload the stream's id; of rows of a fact space, and of an answer about
    /// one, the space. Empty for other answers.
    pub place: String,
    /// The person that it is about, where the row says so.
    pub actor_id: Option<String>,
}

/// What is asked for by its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgedQuery {
    pub kind: RecordKind,
    /// Those whose time is at or before this.
    pub cutoff: Timestamp,
    /// The present, for rows of an earlier version that carry their end instead of their time.
    pub now: Timestamp,
    /// How many of the oldest are passed over: those that stay although their time is over.
    pub skip: u64,
    /// At most so many.
    pub limit: u32,
}

/// A context with what goes with it.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeContext {
    pub context: ContextRecord,
    pub items: Vec<PendingItem>,
    pub commands: Vec<CommandId>,
}

/// A frame, and where it was captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFrame {
    pub frame_id: ContextFrameId,
    /// Whether its context is open.
    pub is_open: bool,
    /// The stream and the sequence number of the entry whose payload is the frame, while that payload is there.
    pub captured: Option<(StreamId, u64)>,
}

/// What a database finds by its age. Nothing that was read here decides anything, unless the streams concerned are held
/// while it is read.
#[async_trait]
pub trait AgedRecords: Send + Sync {
    /// Records past their time, oldest first. The search begins at the oldest record and ends with the limit: it costs
    /// nothing that younger records are there.
    async fn aged(&self, tenant_id: &TenantId, asked: &AgedQuery) -> Result<Vec<Aged>, StorageError>;

    /// Contexts with all that goes with them.
    async fn whole_contexts(&self, tenant_id: &TenantId, ids: &[ContextId]) -> Result<Vec<WholeContext>, StorageError>;

    /// Frames with the entries that captured them.
    async fn captured(&self, tenant_id: &TenantId, ids: &[ContextFrameId]) -> Result<Vec<CapturedFrame>, StorageError>;

    /// The contexts that conversations have.
    async fn contexts_in(
        &self,
        tenant_id: &TenantId,
        ids: &[ConversationId],
    ) -> Result<Vec<(ConversationId, ContextId)>, StorageError>;
}

/// Rows of contexts, items and commands, put together by context.
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
