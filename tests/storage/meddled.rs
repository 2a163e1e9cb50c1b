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
    Aged, AgedQuery, AgedRecords, AliveStore, ApiKey, CapturedFrame, ControlStore, DisposalStore, EntryStore,
    ErasureRow, Filed, GoingStore, Growth, HoldRow, HoldSet, LiveRow, LiveStore, LiveTable, LoggedStore, Maker,
    Mending, MendingStore, Misplaced, Place as SearchPlace, Placed, PolicySet, PolicyStore, PolicyVersion, RecordStore,
    Searched, ShowingPacks, SpaceRow, SpaceWant, StorageError, Store, StoredCheckpoint, StoredClaim, StoredCosignature,
    StreamEnd, StreamName, SubjectStore, Table, Tenant, Transaction, TreeHead, TreeStore, UpkeepStore, Waiting,
    WholeContext, WitnessStore,
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

/// Implements a trait of the port: what is listed is passed on, what stands in braces is done here.
macro_rules! pass_on {
    ($port:ident $(fn $name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)* { $($own:tt)* }) => {
        #[async_trait]
        impl $port for Meddled {
            $(async fn $name(&self, $($argument: $kind),*) -> Result<$result, StorageError> {
                self.before(stringify!($name)).await;
                self.inner.$name($($argument),*).await
            })*

            $($own)*
        }
    };
}

pass_on! { ControlStore
    fn create_tenant(tenant: &Tenant) -> ();
    fn tenants() -> Vec<Tenant>;
    fn tenant(tenant_id: &TenantId) -> Option<Tenant>;
    fn set_tenant_enabled(tenant_id: &TenantId, enabled: bool) -> bool;
    fn set_tenant_policy(tenant_id: &TenantId, pack: Option<&str>) -> bool;
    fn create_key(key: &ApiKey) -> ();
    fn keys(tenant_id: &TenantId) -> Vec<ApiKey>;
    fn revoke_key(tenant_id: &TenantId, key_id: &KeyId, at: Timestamp) -> bool;
    fn set_key_voice(tenant_id: &TenantId, key_id: &KeyId, speaks_for: &SpeaksFor) -> bool;
    fn find_key(digest: &Digest) -> Option<(ApiKey, Tenant)>;
    {}
}

pass_on! { PolicyStore
    fn publish_policies(set: Option<&PolicySet>, note: Option<&str>, at: Timestamp) -> u64;
    fn policies_version() -> u64;
    fn policy_versions(before: Option<u64>, limit: u32) -> Vec<PolicyVersion>;
    fn policy_set(version: u64) -> Option<PolicySet>;
    {}
}

pass_on! { RecordStore
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
    fn facts(tenant_id: &TenantId, space_id: &SpaceId, query: &FactQuery) -> Page<Fact>;
    fn saved_pack(tenant_id: &TenantId, id: &PackId) -> Option<SavedPack>;
    fn claim(tenant_id: &TenantId, key: &Digest) -> Option<StoredClaim>;
    {}
}

pass_on! { EntryStore
    fn entries(tenant_id: &TenantId, query: &EvidenceQuery) -> Page<LogEntry>;
    fn entry(tenant_id: &TenantId, id: &ArtifactId) -> Option<LogEntry>;
    fn heads(tenant_id: &TenantId, after: Option<&StreamId>, limit: u32) -> Vec<StreamHead>;
    fn stream(tenant_id: &TenantId, id: &StreamId, after: u64, limit: u32) -> Vec<LogEntry>;
    {}
}

pass_on! { TreeStore
    fn behind(after: Option<&TenantId>, unsigned: bool, limit: u32) -> Vec<TenantId>;
    fn tree(tenant_id: &TenantId) -> Option<TreeHead>;
    fn waiting(tenant_id: &TenantId, limit: u32) -> Vec<Waiting>;
    fn tiles(tenant_id: &TenantId, ids: &[TileId]) -> Vec<Tile>;
    fn leaf(tenant_id: &TenantId, stream_id: &StreamId, seq: u64) -> Option<u64>;
    fn placed(tenant_id: &TenantId) -> Placed;
    fn checkpoint(tenant_id: &TenantId) -> Option<StoredCheckpoint>;
    {
        async fn grow(&self, tenant_id: &TenantId, growth: &Growth) -> Result<bool, StorageError> {
            let (done, told) = self.next_write();
            let grown = if done { self.inner.grow(tenant_id, growth).await? } else { false };
            if told { Ok(grown) } else { Err(ended()) }
        }

        async fn keep_checkpoint(
            &self,
            tenant_id: &TenantId,
            checkpoint: &StoredCheckpoint,
        ) -> Result<(), StorageError> {
            let (done, told) = self.next_write();
            if done {
                self.inner.keep_checkpoint(tenant_id, checkpoint).await?;
            }
            if told { Ok(()) } else { Err(ended()) }
        }
    }
}

pass_on! { LoggedStore
    fn stream_of(tenant_id: &TenantId, key: &StreamKey) -> Option<StreamId>;
    fn logged(tenant_id: &TenantId, from: u64, limit: u32) -> Vec<(u64, LogEntry)>;
    fn places(tenant_id: &TenantId, entries: &[(StreamId, u64)]) -> Vec<Option<u64>>;
    fn end_in_tree(tenant_id: &TenantId, stream_id: &StreamId, size: u64) -> Option<StreamEnd>;
    fn filed(tenant_id: &TenantId, entries: &[(StreamId, u64)]) -> Vec<Option<Filed<String>>>;
    fn names(tenant_id: &TenantId, ids: &[StreamId]) -> Vec<StreamName>;
    {}
}

pass_on! { MendingStore
    fn misplaced(tenant_id: &TenantId, limit: u32) -> Vec<Misplaced>;
    fn checkpoints(tenant_id: &TenantId, after: u64, until: u64) -> Vec<StoredCheckpoint>;
    fn set_aside(tenant_id: &TenantId) -> u64;
    fn mend(tenant_id: &TenantId, mending: &Mending) -> bool;
    {}
}

pass_on! { WitnessStore
    fn keep_cosignatures(tenant_id: &TenantId, cosignatures: &[StoredCosignature]) -> u64;
    fn cosignatures(tenant_id: &TenantId, after: u64, until: u64) -> Vec<StoredCosignature>;
    fn publish_checkpoint(tenant_id: &TenantId, size: u64) -> ();
    fn published_checkpoint(tenant_id: &TenantId) -> Option<StoredCheckpoint>;
    {}
}

pass_on! { LiveStore
    fn streams(tenant_id: &TenantId, after: Option<&StreamId>, limit: u32) -> Vec<(StreamKey, StreamHead)>;
    fn entry_count(tenant_id: &TenantId) -> u64;
    fn live_rows(tenant_id: &TenantId, table: LiveTable, ids: &[String]) -> Vec<LiveRow>;
    fn live_page(tenant_id: &TenantId, table: LiveTable, after: &str, limit: u32) -> Vec<LiveRow>;
    fn live_records(tenant_id: &TenantId, space_id: &SpaceId, after: (&str, &str), limit: u32) -> Vec<LiveRow>;
    fn strays(tenant_id: &TenantId, limit: u32) -> Vec<(LiveTable, String)>;
    fn makers(tenant_id: &TenantId, places: &[(ConversationId, Timestamp)], kinds: &[&str]) -> Vec<Maker>;
    {}
}

pass_on! { GoingStore
    fn going_spaces(tenant_id: &TenantId) -> Vec<SpaceRecord>;
    fn packs_showing(tenant_id: &TenantId, space_id: &SpaceId, after: Option<&PackId>, limit: u32) -> ShowingPacks;
    fn answers_about(tenant_id: &TenantId, space_id: &SpaceId, after: Option<&Digest>, limit: u32) -> Vec<(Digest, StoredClaim, u64)>;
    {}
}

pass_on! { DisposalStore
    fn disposal_head(tenant_id: &TenantId) -> Option<StreamHead>;
    fn stream_head(tenant_id: &TenantId, stream: &StreamKey) -> Option<StreamHead>;
    fn held(tenant_id: &TenantId) -> HoldSet;
    fn named_streams(tenant_id: &TenantId, ids: &[StreamId]) -> Vec<(StreamKey, StreamHead)>;
    fn scour() -> ();
    {}
}

pass_on! { AgedRecords
    fn aged(tenant_id: &TenantId, asked: &AgedQuery) -> Vec<Aged>;
    fn whole_contexts(tenant_id: &TenantId, ids: &[ContextId]) -> Vec<WholeContext>;
    fn captured(tenant_id: &TenantId, ids: &[ContextFrameId]) -> Vec<CapturedFrame>;
    fn contexts_in(tenant_id: &TenantId, ids: &[ConversationId]) -> Vec<(ConversationId, ContextId)>;
    {}
}

pass_on! { SubjectStore
    fn search(tenant_id: &TenantId, table: Table, needles: &[String], after: Option<&SearchPlace>, limit: u32) -> Searched;
    fn conversations_of(tenant_id: &TenantId, actors: &[PrincipalId]) -> Vec<ConversationId>;
    fn actors_in(tenant_id: &TenantId, id: &ConversationId) -> Vec<String>;
    fn erasure(tenant_id: &TenantId, id: &ErasureId) -> Option<ErasureRow>;
    fn erasure_by_request(tenant_id: &TenantId, request: &Digest) -> Option<ErasureRow>;
    fn erasures(tenant_id: &TenantId, after: Option<&ErasureId>, limit: u32) -> Vec<ErasureRow>;
    fn holds(tenant_id: &TenantId, after: Option<&HoldId>, limit: u32) -> Vec<HoldRow>;
    fn hold(tenant_id: &TenantId, id: &HoldId) -> Option<HoldRow>;
    {}
}

pass_on! { UpkeepStore
    fn due(now: Timestamp, limit: u32) -> Vec<(TenantId, ConversationId)>;
    fn postpone(now: Timestamp, limit: u32) -> u64;
    fn forget_erasure_keys(now: Timestamp, limit: u32) -> u64;
    fn take_lease(name: &str, holder: &str, seconds: u32) -> bool;
    fn release_lease(name: &str, holder: &str) -> ();
    fn vouched() -> Option<Timestamp>;
    fn vouch(at: Timestamp) -> ();
    {}
}

pass_on! { AliveStore
    fn probe() -> Option<Timestamp>;
    {
        async fn lost(&self) {
            self.inner.lost().await;
        }
    }
}

pass_on! { Store
    fn ping() -> ();
    fn spaces(wants: &[SpaceWant]) -> Vec<(SpaceId, SpaceRow)>;
    {
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
    }
}
