//! A store whose transactions a test can meddle with; everything else is passed on.

use std::sync::Arc;

use async_trait::async_trait;
use cscp::domain::canonical::Digest;
use cscp::domain::command::CommandRecord;
use cscp::domain::context::ContextRecord;
use cscp::domain::id::{
    ArtifactId, CommandId, ContextFrameId, ContextId, ConversationId, ItemId, KeyId, PackId, SpaceId, StreamId,
    TenantId,
};
use cscp::domain::item::PendingItem;
use cscp::domain::message::MessageRecord;
use cscp::domain::principal::Principal;
use cscp::domain::time::Timestamp;
use cscp::domain::world::StoredFrame;
use cscp::evidence::entry::{LogEntry, StreamHead};
use cscp::state_layer::assembly::SavedPack;
use cscp::state_layer::fact::Fact;
use cscp::storage::{
    ApiKey, ApprovalQuery, ContextQuery, EvidenceQuery, FactQuery, Page, PolicySet, PolicyVersion, PrincipalQuery,
    SpaceRow, SpaceWant, StorageError, Store, StoredClaim, Tenant, Transaction,
};

/// Turns a transaction into another one.
pub(crate) type Meddle = dyn Fn(Arc<dyn Store>, Box<dyn Transaction>) -> Box<dyn Transaction> + Send + Sync;

pub(crate) struct Meddled {
    inner: Arc<dyn Store>,
    meddle: Box<Meddle>,
}

impl Meddled {
    pub(crate) fn store(
        inner: &Arc<dyn Store>,
        meddle: impl Fn(Arc<dyn Store>, Box<dyn Transaction>) -> Box<dyn Transaction> + Send + Sync + 'static,
    ) -> Arc<dyn Store> {
        Arc::new(Self { inner: Arc::clone(inner), meddle: Box::new(meddle) })
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
    fn find_key(digest: &Digest) -> Option<(ApiKey, Tenant)>;
    fn context(tenant_id: &TenantId, id: &ContextId) -> Option<ContextRecord>;
    fn contexts(tenant_id: &TenantId, query: &ContextQuery) -> Page<ContextRecord>;
    fn item(tenant_id: &TenantId, id: &ItemId) -> Option<PendingItem>;
    fn items_of(tenant_id: &TenantId, id: &ContextId) -> Vec<PendingItem>;
    fn approvals(tenant_id: &TenantId, query: &ApprovalQuery) -> Page<PendingItem>;
    fn command(tenant_id: &TenantId, id: &CommandId) -> Option<CommandRecord>;
    fn last_command(tenant_id: &TenantId, id: &ContextId) -> Option<CommandRecord>;
    fn messages(tenant_id: &TenantId, keys: &[Digest]) -> Vec<MessageRecord>;
    fn principal(tenant_id: &TenantId, id: &str) -> Option<Principal>;
    fn principals(tenant_id: &TenantId, query: &PrincipalQuery) -> Page<Principal>;
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
    fn take_lease(name: &str, holder: &str, seconds: u32) -> bool;
    fn release_lease(name: &str, holder: &str) -> ();
    fn forget_requests(now: Timestamp, limit: u32) -> u64;
}
