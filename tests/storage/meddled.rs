//! A store whose transactions a test can meddle with; everything else is passed on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use cscp::domain::canonical::Digest;
use cscp::domain::command::CommandRecord;
use cscp::domain::context::ContextRecord;
use cscp::domain::event::StreamKey;
use cscp::domain::id::{
    ArtifactId, CommandId, ContextFrameId, ContextId, ConversationId, ErasureId, HoldId, ItemId, KeyId, PackId,
    PrincipalId, SpaceId, StreamId, TenantId,
};
use cscp::domain::item::PendingItem;
use cscp::domain::message::MessageRecord;
use cscp::domain::principal::{PersonKey, Principal};
use cscp::domain::query::{ApprovalQuery, ContextQuery, EvidenceQuery, Page, PrincipalQuery, UnreportedQuery};
use cscp::domain::speaking::SpeaksFor;
use cscp::domain::time::Timestamp;
use cscp::domain::world::StoredFrame;
use cscp::evidence::entry::{LogEntry, StreamHead};
use cscp::evidence::tree::{Tile, TileId};
use cscp::state_layer::assembly::SavedPack;
use cscp::state_layer::fact::Fact;
use cscp::state_layer::query::FactQuery;
use cscp::state_layer::space::SpaceRecord;
use cscp::storage::{
    Aged, AgedQuery, AgedRecords, AliveStore, ApiKey, CapturedFrame, DisposalStore, ErasureRow, Filed, GoingStore,
    Growth, HoldRow, HoldSet, LiveRow, LiveStore, LiveTable, LoggedStore, Maker, Mending, MendingStore, Misplaced,
    Place as SearchPlace, Placed, PolicySet, PolicyVersion, Searched, ShowingPacks, SpaceRow, SpaceWant, StorageError,
    Store, StoredCheckpoint, StoredClaim, StoredCosignature, StreamEnd, StreamName, SubjectStore, Table, Tenant,
    Transaction, TreeHead, TreeStore, Waiting, WholeContext, WitnessStore,
};
use futures_util::future::BoxFuture;

/// Turns a transaction into another one.
pub(crate) type Meddle = dyn Fn(Arc<dyn Store>, Box<dyn Transaction>) -> Box<dyn Transaction> + Send + Sync;

pub(crate) struct Meddled {
    inner: Arc<dyn Store>,
    meddle: Box<Meddle>,
    cut: Cut,
    writes: AtomicU64,
    before: Option<Box<Before>>,
}

/// What happens before a read of this name.
pub(crate) type Before = dyn Fn(&'static str) -> BoxFuture<'static, ()> + Send + Sync;

/// Which write of the tree fails, counted from 1, and whether it is done nevertheless: then only the answer is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Never,
    Before(u64),
    After(u64),
}

impl Meddled {
    pub(crate) fn store(
        inner: &Arc<dyn Store>,
        meddle: impl Fn(Arc<dyn Store>, Box<dyn Transaction>) -> Box<dyn Transaction> + Send + Sync + 'static,
    ) -> Arc<dyn Store> {
        let meddle = Box::new(meddle);
        Arc::new(Self { inner: Arc::clone(inner), meddle, cut: Cut::Never, writes: AtomicU64::new(0), before: None })
    }

    /// A store that fails at a write of the tree, and at every later one, as if its process had ended.
    pub(crate) fn cut(inner: &Arc<dyn Store>, cut: Cut) -> Arc<dyn Store> {
        let meddle = Box::new(|_, transaction| transaction);
        Arc::new(Self { inner: Arc::clone(inner), meddle, cut, writes: AtomicU64::new(0), before: None })
    }

    /// A store on which others work while it is read.
    pub(crate) fn live(
        inner: &Arc<dyn Store>,
        before: impl Fn(&'static str) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Arc<dyn Store> {
        let meddle = Box::new(|_, transaction| transaction);
        let (inner, before) = (Arc::clone(inner), Some(Box::new(before) as Box<Before>));
        Arc::new(Self { inner, meddle, cut: Cut::Never, writes: AtomicU64::new(0), before })
    }

    async fn before(&self, read: &'static str) {
        if let Some(before) = &self.before {
            before(read).await;
        }
    }

    /// Whether the next write of the tree is done, and whether its answer arrives.
    fn next_write(&self) -> (bool, bool) {
        let write = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        match self.cut {
            Cut::Never => (true, true),
            Cut::Before(cut) => (write < cut, write < cut),
            Cut::After(cut) => (write <= cut, write < cut),
        }
    }
}

fn ended() -> StorageError {
    StorageError::Unavailable("the process has ended".to_owned())
}

#[async_trait]
impl TreeStore for Meddled {
    async fn behind(
        &self,
        after: Option<&TenantId>,
        unsigned: bool,
        limit: u32,
    ) -> Result<Vec<TenantId>, StorageError> {
        self.inner.behind(after, unsigned, limit).await
    }

    async fn tree(&self, tenant_id: &TenantId) -> Result<Option<TreeHead>, StorageError> {
        self.before("tree").await;
        self.inner.tree(tenant_id).await
    }

    async fn waiting(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<Waiting>, StorageError> {
        self.inner.waiting(tenant_id, limit).await
    }

    async fn tiles(&self, tenant_id: &TenantId, ids: &[TileId]) -> Result<Vec<Tile>, StorageError> {
        self.before("tiles").await;
        self.inner.tiles(tenant_id, ids).await
    }

    async fn grow(&self, tenant_id: &TenantId, growth: &Growth) -> Result<bool, StorageError> {
        let (done, told) = self.next_write();
        let grown = if done { self.inner.grow(tenant_id, growth).await? } else { false };
        if told { Ok(grown) } else { Err(ended()) }
    }

    async fn leaf(&self, tenant_id: &TenantId, stream_id: &StreamId, seq: u64) -> Result<Option<u64>, StorageError> {
        self.inner.leaf(tenant_id, stream_id, seq).await
    }

    async fn placed(&self, tenant_id: &TenantId) -> Result<Placed, StorageError> {
        self.before("placed").await;
        self.inner.placed(tenant_id).await
    }

    async fn keep_checkpoint(&self, tenant_id: &TenantId, checkpoint: &StoredCheckpoint) -> Result<(), StorageError> {
        let (done, told) = self.next_write();
        if done {
            self.inner.keep_checkpoint(tenant_id, checkpoint).await?;
        }
        if told { Ok(()) } else { Err(ended()) }
    }

    async fn checkpoint(&self, tenant_id: &TenantId) -> Result<Option<StoredCheckpoint>, StorageError> {
        self.before("checkpoint").await;
        self.inner.checkpoint(tenant_id).await
    }
}

#[async_trait]
impl LoggedStore for Meddled {
    async fn stream_of(&self, tenant_id: &TenantId, key: &StreamKey) -> Result<Option<StreamId>, StorageError> {
        self.inner.stream_of(tenant_id, key).await
    }

    async fn logged(&self, tenant_id: &TenantId, from: u64, limit: u32) -> Result<Vec<(u64, LogEntry)>, StorageError> {
        self.before("logged").await;
        self.inner.logged(tenant_id, from, limit).await
    }

    async fn places(
        &self,
        tenant_id: &TenantId,
        entries: &[(StreamId, u64)],
    ) -> Result<Vec<Option<u64>>, StorageError> {
        self.inner.places(tenant_id, entries).await
    }

    async fn end_in_tree(
        &self,
        tenant_id: &TenantId,
        stream_id: &StreamId,
        size: u64,
    ) -> Result<Option<StreamEnd>, StorageError> {
        self.inner.end_in_tree(tenant_id, stream_id, size).await
    }

    async fn filed(
        &self,
        tenant_id: &TenantId,
        entries: &[(StreamId, u64)],
    ) -> Result<Vec<Option<Filed<String>>>, StorageError> {
        self.before("filed").await;
        self.inner.filed(tenant_id, entries).await
    }

    async fn names(&self, tenant_id: &TenantId, ids: &[StreamId]) -> Result<Vec<StreamName>, StorageError> {
        self.before("names").await;
        self.inner.names(tenant_id, ids).await
    }
}

#[async_trait]
impl MendingStore for Meddled {
    async fn misplaced(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<Misplaced>, StorageError> {
        self.before("misplaced").await;
        self.inner.misplaced(tenant_id, limit).await
    }

    async fn checkpoints(
        &self,
        tenant_id: &TenantId,
        after: u64,
        until: u64,
    ) -> Result<Vec<StoredCheckpoint>, StorageError> {
        self.before("checkpoints").await;
        self.inner.checkpoints(tenant_id, after, until).await
    }

    async fn set_aside(&self, tenant_id: &TenantId) -> Result<u64, StorageError> {
        self.inner.set_aside(tenant_id).await
    }

    async fn mend(&self, tenant_id: &TenantId, mending: &Mending) -> Result<bool, StorageError> {
        self.inner.mend(tenant_id, mending).await
    }
}

#[async_trait]
impl WitnessStore for Meddled {
    async fn keep_cosignatures(
        &self,
        tenant_id: &TenantId,
        cosignatures: &[StoredCosignature],
    ) -> Result<u64, StorageError> {
        self.inner.keep_cosignatures(tenant_id, cosignatures).await
    }

    async fn cosignatures(
        &self,
        tenant_id: &TenantId,
        after: u64,
        until: u64,
    ) -> Result<Vec<StoredCosignature>, StorageError> {
        self.inner.cosignatures(tenant_id, after, until).await
    }

    async fn publish_checkpoint(&self, tenant_id: &TenantId, size: u64) -> Result<(), StorageError> {
        self.inner.publish_checkpoint(tenant_id, size).await
    }

    async fn published_checkpoint(&self, tenant_id: &TenantId) -> Result<Option<StoredCheckpoint>, StorageError> {
        self.inner.published_checkpoint(tenant_id).await
    }
}

#[async_trait]
impl LiveStore for Meddled {
    async fn streams(
        &self,
        tenant_id: &TenantId,
        after: Option<&StreamId>,
        limit: u32,
    ) -> Result<Vec<(StreamKey, StreamHead)>, StorageError> {
        self.inner.streams(tenant_id, after, limit).await
    }

    async fn entry_count(&self, tenant_id: &TenantId) -> Result<u64, StorageError> {
        self.inner.entry_count(tenant_id).await
    }

    async fn live_rows(
        &self,
        tenant_id: &TenantId,
        table: LiveTable,
        ids: &[String],
    ) -> Result<Vec<LiveRow>, StorageError> {
        self.inner.live_rows(tenant_id, table, ids).await
    }

    async fn live_page(
        &self,
        tenant_id: &TenantId,
        table: LiveTable,
        after: &str,
        limit: u32,
    ) -> Result<Vec<LiveRow>, StorageError> {
        self.inner.live_page(tenant_id, table, after, limit).await
    }

    async fn live_records(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        after: (&str, &str),
        limit: u32,
    ) -> Result<Vec<LiveRow>, StorageError> {
        self.inner.live_records(tenant_id, space_id, after, limit).await
    }

    async fn strays(&self, tenant_id: &TenantId, limit: u32) -> Result<Vec<(LiveTable, String)>, StorageError> {
        self.inner.strays(tenant_id, limit).await
    }

    async fn makers(
        &self,
        tenant_id: &TenantId,
        places: &[(ConversationId, Timestamp)],
        kinds: &[&str],
    ) -> Result<Vec<Maker>, StorageError> {
        self.inner.makers(tenant_id, places, kinds).await
    }
}

#[async_trait]
impl GoingStore for Meddled {
    async fn going_spaces(&self, tenant_id: &TenantId) -> Result<Vec<SpaceRecord>, StorageError> {
        self.inner.going_spaces(tenant_id).await
    }

    async fn packs_showing(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        after: Option<&PackId>,
        limit: u32,
    ) -> Result<ShowingPacks, StorageError> {
        self.inner.packs_showing(tenant_id, space_id, after, limit).await
    }

    async fn answers_about(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        after: Option<&Digest>,
        limit: u32,
    ) -> Result<Vec<(Digest, StoredClaim, u64)>, StorageError> {
        self.inner.answers_about(tenant_id, space_id, after, limit).await
    }
}

#[async_trait]
impl DisposalStore for Meddled {
    async fn disposal_head(&self, tenant_id: &TenantId) -> Result<Option<StreamHead>, StorageError> {
        self.before("disposal_head").await;
        self.inner.disposal_head(tenant_id).await
    }

    async fn stream_head(&self, tenant_id: &TenantId, stream: &StreamKey) -> Result<Option<StreamHead>, StorageError> {
        self.before("stream_head").await;
        self.inner.stream_head(tenant_id, stream).await
    }

    async fn held(&self, tenant_id: &TenantId) -> Result<HoldSet, StorageError> {
        self.inner.held(tenant_id).await
    }

    async fn named_streams(
        &self,
        tenant_id: &TenantId,
        ids: &[StreamId],
    ) -> Result<Vec<(StreamKey, StreamHead)>, StorageError> {
        self.inner.named_streams(tenant_id, ids).await
    }

    async fn scour(&self) -> Result<(), StorageError> {
        self.inner.scour().await
    }
}

#[async_trait]
impl AgedRecords for Meddled {
    async fn aged(&self, tenant_id: &TenantId, asked: &AgedQuery) -> Result<Vec<Aged>, StorageError> {
        self.inner.aged(tenant_id, asked).await
    }

    async fn whole_contexts(&self, tenant_id: &TenantId, ids: &[ContextId]) -> Result<Vec<WholeContext>, StorageError> {
        self.inner.whole_contexts(tenant_id, ids).await
    }

    async fn captured(&self, tenant_id: &TenantId, ids: &[ContextFrameId]) -> Result<Vec<CapturedFrame>, StorageError> {
        self.inner.captured(tenant_id, ids).await
    }

    async fn contexts_in(
        &self,
        tenant_id: &TenantId,
        ids: &[ConversationId],
    ) -> Result<Vec<(ConversationId, ContextId)>, StorageError> {
        self.inner.contexts_in(tenant_id, ids).await
    }
}

#[async_trait]
impl SubjectStore for Meddled {
    async fn search(
        &self,
        tenant_id: &TenantId,
        table: Table,
        needles: &[String],
        after: Option<&SearchPlace>,
        limit: u32,
    ) -> Result<Searched, StorageError> {
        self.inner.search(tenant_id, table, needles, after, limit).await
    }

    async fn conversations_of(
        &self,
        tenant_id: &TenantId,
        actors: &[PrincipalId],
    ) -> Result<Vec<ConversationId>, StorageError> {
        self.inner.conversations_of(tenant_id, actors).await
    }

    async fn actors_in(&self, tenant_id: &TenantId, id: &ConversationId) -> Result<Vec<String>, StorageError> {
        self.inner.actors_in(tenant_id, id).await
    }

    async fn erasure(&self, tenant_id: &TenantId, id: &ErasureId) -> Result<Option<ErasureRow>, StorageError> {
        self.inner.erasure(tenant_id, id).await
    }

    async fn erasure_by_request(
        &self,
        tenant_id: &TenantId,
        request: &Digest,
    ) -> Result<Option<ErasureRow>, StorageError> {
        self.inner.erasure_by_request(tenant_id, request).await
    }

    async fn erasures(
        &self,
        tenant_id: &TenantId,
        after: Option<&ErasureId>,
        limit: u32,
    ) -> Result<Vec<ErasureRow>, StorageError> {
        self.before("erasures").await;
        self.inner.erasures(tenant_id, after, limit).await
    }

    async fn holds(
        &self,
        tenant_id: &TenantId,
        after: Option<&HoldId>,
        limit: u32,
    ) -> Result<Vec<HoldRow>, StorageError> {
        self.inner.holds(tenant_id, after, limit).await
    }

    async fn hold(&self, tenant_id: &TenantId, id: &HoldId) -> Result<Option<HoldRow>, StorageError> {
        self.inner.hold(tenant_id, id).await
    }
}

#[async_trait]
impl AliveStore for Meddled {
    async fn probe(&self) -> Result<Option<Timestamp>, StorageError> {
        self.inner.probe().await
    }

    async fn lost(&self) {
        self.inner.lost().await;
    }

    async fn vouched(&self) -> Result<Option<Timestamp>, StorageError> {
        self.inner.vouched().await
    }

    async fn vouch(&self, at: Timestamp) -> Result<(), StorageError> {
        self.inner.vouch(at).await
    }
}

macro_rules! pass_on {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        #[async_trait]
        impl Store for Meddled {
            fn writers(&self) -> usize {
                self.inner.writers()
            }

            fn spans_tenants(&self) -> bool {
                self.inner.spans_tenants()
            }

            async fn begin(&self) -> Result<Box<dyn Transaction>, StorageError> {
                Ok((self.meddle)(Arc::clone(&self.inner), self.inner.begin().await?))
            }

            async fn close(&self) {
                self.inner.close().await;
            }

            $(async fn $name(&self, $($argument: $kind),*) -> Result<$result, StorageError> {
                self.before(stringify!($name)).await;
                self.inner.$name($($argument),*).await
            })*
        }
    };
}

pass_on! {
    fn ping() -> ();
    fn create_tenant(tenant: &Tenant) -> ();
    fn tenants() -> Vec<Tenant>;
    fn tenant(tenant_id: &TenantId) -> Option<Tenant>;
    fn set_tenant_enabled(tenant_id: &TenantId, enabled: bool) -> bool;
    fn set_tenant_policy(tenant_id: &TenantId, pack: Option<&str>) -> bool;
    fn publish_policies(set: Option<&PolicySet>, note: Option<&str>, at: Timestamp) -> u64;
    fn policies_version() -> u64;
    fn policy_versions(before: Option<u64>, limit: u32) -> Vec<PolicyVersion>;
    fn policy_set(version: u64) -> Option<PolicySet>;
    fn create_key(key: &ApiKey) -> ();
    fn keys(tenant_id: &TenantId) -> Vec<ApiKey>;
    fn revoke_key(tenant_id: &TenantId, key_id: &KeyId, at: Timestamp) -> bool;
    fn set_key_voice(tenant_id: &TenantId, key_id: &KeyId, speaks_for: &SpeaksFor) -> bool;
    fn find_key(digest: &Digest) -> Option<(ApiKey, Tenant)>;
    fn context(tenant_id: &TenantId, id: &ContextId) -> Option<ContextRecord>;
    fn contexts(tenant_id: &TenantId, query: &ContextQuery) -> Page<ContextRecord>;
    fn item(tenant_id: &TenantId, id: &ItemId) -> Option<PendingItem>;
    fn items_of(tenant_id: &TenantId, id: &ContextId) -> Vec<PendingItem>;
    fn approvals(tenant_id: &TenantId, query: &ApprovalQuery) -> Page<PendingItem>;
    fn command(tenant_id: &TenantId, id: &CommandId) -> Option<CommandRecord>;
    fn unreported(tenant_id: &TenantId, query: &UnreportedQuery) -> Page<CommandRecord>;
    fn last_command(tenant_id: &TenantId, id: &ContextId) -> Option<CommandRecord>;
    fn messages(tenant_id: &TenantId, keys: &[Digest]) -> Vec<MessageRecord>;
    fn principal(tenant_id: &TenantId, id: &str) -> Option<Principal>;
    fn principals(tenant_id: &TenantId, query: &PrincipalQuery) -> Page<Principal>;
    fn kin(tenant_id: &TenantId, keys: &[PersonKey]) -> Vec<Principal>;
    fn frame(tenant_id: &TenantId, id: &ContextFrameId) -> Option<StoredFrame>;
    fn spaces(wants: &[SpaceWant]) -> Vec<(SpaceId, SpaceRow)>;
    fn facts(tenant_id: &TenantId, space_id: &SpaceId, query: &FactQuery) -> Page<Fact>;
    fn saved_pack(tenant_id: &TenantId, id: &PackId) -> Option<SavedPack>;
    fn claim(tenant_id: &TenantId, key: &Digest) -> Option<StoredClaim>;
    fn entries(tenant_id: &TenantId, query: &EvidenceQuery) -> Page<LogEntry>;
    fn entry(tenant_id: &TenantId, id: &ArtifactId) -> Option<LogEntry>;
    fn heads(tenant_id: &TenantId, after: Option<&StreamId>, limit: u32) -> Vec<StreamHead>;
    fn stream(tenant_id: &TenantId, id: &StreamId, after: u64, limit: u32) -> Vec<LogEntry>;
    fn due(now: Timestamp, limit: u32) -> Vec<(TenantId, ConversationId)>;
    fn postpone(now: Timestamp, limit: u32) -> u64;
    fn forget_erasure_keys(now: Timestamp, limit: u32) -> u64;
    fn take_lease(name: &str, holder: &str, seconds: u32) -> bool;
    fn release_lease(name: &str, holder: &str) -> ();
}
