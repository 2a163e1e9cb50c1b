//! SQLite: the embedded default. WAL, `synchronous=FULL`, one writer, `BEGIN IMMEDIATE` as the lock.

mod alive;
pub mod backup;
mod control;
mod disposal;
mod going;
mod live;
mod load;
mod logged;
mod mending;
mod opening;
mod policies;
mod read;
mod retention;
mod rows;
mod schema;
mod spaces;
mod subject;
mod transaction;
mod tree;
mod upkeep;
mod witness;
mod write;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{Connection as _, SqlitePool};

use self::opening::{BUSY_TIMEOUT, options};
use self::rows::{nameless_head, unavailable};
use self::transaction::SqliteTransaction;
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
use crate::domain::time::{Clock, Timestamp};
use crate::domain::world::StoredFrame;
use crate::evidence::entry::{LogEntry, StreamHead};
use crate::state_layer::assembly::SavedPack;
use crate::state_layer::fact::Fact;
use crate::state_layer::query::FactQuery;
use crate::storage::{
    ApiKey, PolicySet, PolicyVersion, SpaceRow, SpaceWant, StorageError, Store, StoredClaim, Tenant, Transaction,
};

/// Connections for reads. In WAL mode they never wait for the writer.
const READERS: u32 = 4;
/// Rows that a reader thread buffers before it waits for the consumer: waking the other thread for each row costs more
/// than the row.
const ROWS_AT_ONCE: usize = 512;
/// The page cache of a reader, in KiB (SQLite marks KiB by a minus). It has room for the keys of a log that is read out
/// of order.
const READER_CACHE: &str = "-16384";
/// A SQLite database file.
pub struct SqliteStore {
    writer: SqlitePool,
    readers: SqlitePool,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens a database file, creates it if it is missing, and brings its schema up to date.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, StorageError> {
        let options = options(path).create_if_missing(true);
        // Connections to a file need no maximum age. Without these limits the driver starts no maintenance task, which
        // can loop forever when a connection is returned while it counts (sqlx issue 3645).
        let pool = SqlitePoolOptions::new().max_lifetime(None).idle_timeout(None).acquire_timeout(BUSY_TIMEOUT * 2);
        let pool = pool.before_acquire(|connection, _| {
            // When the disk is full, SQLite rolls back by itself. The driver's ROLLBACK then fails, it still assumes an
            // open transaction and refuses every BEGIN: such a connection is replaced.
            let fit = !connection.is_in_transaction();
            Box::pin(async move { Ok(fit) })
        });
        let writer = pool.clone().max_connections(1).connect_with(options.clone()).await.map_err(unavailable)?;
        schema::bring_up_to_date(&writer).await?;
        let readers = options.read_only(true).row_buffer_size(ROWS_AT_ONCE).pragma("cache_size", READER_CACHE);
        let readers = pool.max_connections(READERS).connect_with(readers).await.map_err(unavailable)?;
        Ok(Self { writer, readers, clock })
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn begin(&self) -> Result<Box<dyn Transaction>, StorageError> {
        let inner = self.writer.begin_with("BEGIN IMMEDIATE").await.map_err(unavailable)?;
        Ok(Box::new(SqliteTransaction { inner, clock: Arc::clone(&self.clock) }))
    }

    async fn ping(&self) -> Result<(), StorageError> {
        let sql = "-- sqlite: ping\nSELECT count(*) FROM tenants";
        sqlx::query(sql).execute(&self.readers).await.map(drop).map_err(unavailable)
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    async fn create_tenant(&self, tenant: &Tenant) -> Result<(), StorageError> {
        control::create_tenant(&self.writer, tenant).await
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StorageError> {
        control::tenants(&self.readers, None).await
    }

    async fn tenant(&self, tenant_id: &TenantId) -> Result<Option<Tenant>, StorageError> {
        Ok(control::tenants(&self.readers, Some(tenant_id)).await?.pop())
    }

    async fn set_tenant_enabled(&self, tenant_id: &TenantId, enabled: bool) -> Result<bool, StorageError> {
        control::set_tenant_enabled(&self.writer, tenant_id, enabled).await
    }

    async fn set_tenant_policy(&self, tenant_id: &TenantId, pack: Option<&str>) -> Result<bool, StorageError> {
        control::set_tenant_policy(&self.writer, tenant_id, pack).await
    }

    async fn create_key(&self, key: &ApiKey) -> Result<(), StorageError> {
        control::create_key(&self.writer, key).await
    }

    async fn keys(&self, tenant_id: &TenantId) -> Result<Vec<ApiKey>, StorageError> {
        control::keys(&self.readers, tenant_id).await
    }

    async fn revoke_key(&self, tenant_id: &TenantId, key_id: &KeyId, at: Timestamp) -> Result<bool, StorageError> {
        control::revoke_key(&self.writer, tenant_id, key_id, at).await
    }

    async fn set_key_voice(&self, tenant: &TenantId, key: &KeyId, voice: &SpeaksFor) -> Result<bool, StorageError> {
        control::set_key_voice(&self.writer, tenant, key, voice).await
    }

    async fn find_key(&self, digest: &Digest) -> Result<Option<(ApiKey, Tenant)>, StorageError> {
        control::find_key(&self.readers, digest).await
    }

    async fn publish_policies(
        &self,
        set: Option<&PolicySet>,
        note: Option<&str>,
        at: Timestamp,
    ) -> Result<u64, StorageError> {
        policies::publish(&self.writer, set, note, at).await
    }

    async fn policies_version(&self) -> Result<u64, StorageError> {
        policies::newest(&self.readers).await
    }

    async fn policy_versions(&self, before: Option<u64>, limit: u32) -> Result<Vec<PolicyVersion>, StorageError> {
        policies::versions(&self.readers, before, limit).await
    }

    async fn policy_set(&self, version: u64) -> Result<Option<PolicySet>, StorageError> {
        policies::set(&self.readers, version).await
    }

    async fn context(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Option<ContextRecord>, StorageError> {
        let sql = "-- sqlite: context\nSELECT body FROM contexts WHERE tenant_id = ? AND context_id = ?";
        read::one(&self.readers, sql, "contexts", tenant_id, id.as_str()).await
    }

    async fn contexts(&self, tenant_id: &TenantId, query: &ContextQuery) -> Result<Page<ContextRecord>, StorageError> {
        read::contexts(&self.readers, tenant_id, query).await
    }

    async fn item(&self, tenant_id: &TenantId, id: &ItemId) -> Result<Option<PendingItem>, StorageError> {
        let sql = "-- sqlite: item\nSELECT body FROM items WHERE tenant_id = ? AND item_id = ?";
        read::one(&self.readers, sql, "items", tenant_id, id.as_str()).await
    }

    async fn items_of(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Vec<PendingItem>, StorageError> {
        let sql = "-- sqlite: items_of
            SELECT body FROM items WHERE tenant_id = ? AND context_id = ? ORDER BY asked_at, item_id LIMIT 1000";
        let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(id.as_str());
        let rows = query.fetch_all(&self.readers).await.map_err(unavailable)?;
        rows.iter().map(|row| rows::body(row, "items")).collect()
    }

    async fn approvals(&self, tenant_id: &TenantId, query: &ApprovalQuery) -> Result<Page<PendingItem>, StorageError> {
        read::approvals(&self.readers, tenant_id, query).await
    }

    async fn command(&self, tenant_id: &TenantId, id: &CommandId) -> Result<Option<CommandRecord>, StorageError> {
        let sql = "-- sqlite: command\nSELECT body FROM commands WHERE tenant_id = ? AND command_id = ?";
        read::one(&self.readers, sql, "commands", tenant_id, id.as_str()).await
    }

    async fn unreported(
        &self,
        tenant_id: &TenantId,
        query: &UnreportedQuery,
    ) -> Result<Page<CommandRecord>, StorageError> {
        read::unreported(&self.readers, tenant_id, query).await
    }

    async fn last_command(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Option<CommandRecord>, StorageError> {
        let sql = "-- sqlite: last_command
            SELECT body FROM commands WHERE tenant_id = ? AND context_id = ? ORDER BY updated_at DESC LIMIT 1";
        read::one(&self.readers, sql, "commands", tenant_id, id.as_str()).await
    }

    async fn messages(&self, tenant_id: &TenantId, keys: &[Digest]) -> Result<Vec<MessageRecord>, StorageError> {
        read::messages(&self.readers, tenant_id, keys).await
    }

    async fn principal(&self, tenant_id: &TenantId, id: &str) -> Result<Option<Principal>, StorageError> {
        let sql = "-- sqlite: principal\nSELECT body FROM principals WHERE tenant_id = ? AND principal_id = ?";
        read::one(&self.readers, sql, "principals", tenant_id, id).await
    }

    async fn principals(&self, tenant_id: &TenantId, query: &PrincipalQuery) -> Result<Page<Principal>, StorageError> {
        read::principals(&self.readers, tenant_id, query).await
    }

    async fn kin(&self, tenant_id: &TenantId, keys: &[PersonKey]) -> Result<Vec<Principal>, StorageError> {
        load::kin(&self.readers, tenant_id, keys).await
    }

    async fn frame(&self, tenant_id: &TenantId, id: &ContextFrameId) -> Result<Option<StoredFrame>, StorageError> {
        let sql = "-- sqlite: frame\nSELECT body FROM frames WHERE tenant_id = ? AND context_frame_id = ?";
        read::one(&self.readers, sql, "frames", tenant_id, id.as_str()).await
    }

    async fn spaces(&self, wants: &[SpaceWant]) -> Result<Vec<(SpaceId, SpaceRow)>, StorageError> {
        let mut connection = self.readers.acquire().await.map_err(unavailable)?;
        let rows = spaces::load(&mut connection, wants).await?;
        Ok(rows.into_iter().map(|(_, space_id, row)| (space_id, row)).collect())
    }

    async fn facts(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        query: &FactQuery,
    ) -> Result<Page<Fact>, StorageError> {
        read::facts(&self.readers, tenant_id, space_id, query).await
    }

    async fn saved_pack(&self, tenant_id: &TenantId, id: &PackId) -> Result<Option<SavedPack>, StorageError> {
        let sql = "-- sqlite: saved_pack
            SELECT body FROM space_records WHERE tenant_id = ? AND kind = 'pack' AND record_id = ?";
        read::one(&self.readers, sql, "space_records", tenant_id, id.as_str()).await
    }

    async fn claim(&self, tenant_id: &TenantId, key: &Digest) -> Result<Option<StoredClaim>, StorageError> {
        let sql = "-- sqlite: claim
            SELECT body FROM claims WHERE tenant_id = ? AND claim_key = unhex(?)";
        read::one(&self.readers, sql, "claims", tenant_id, &key.to_hex()).await
    }

    async fn entries(&self, tenant_id: &TenantId, query: &EvidenceQuery) -> Result<Page<LogEntry>, StorageError> {
        read::entries(&self.readers, tenant_id, query).await
    }

    async fn entry(&self, tenant_id: &TenantId, id: &ArtifactId) -> Result<Option<LogEntry>, StorageError> {
        read::entry_by_id(&self.readers, tenant_id, id.as_str()).await
    }

    async fn heads(
        &self,
        tenant_id: &TenantId,
        after: Option<&StreamId>,
        limit: u32,
    ) -> Result<Vec<StreamHead>, StorageError> {
        let sql = "-- sqlite: heads
            SELECT stream_id AS c, seq, last_at, head_hash AS h FROM streams
            WHERE tenant_id = ? AND stream_id > ? ORDER BY stream_id LIMIT ?";
        let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(after.map_or("", |id| id.as_str()));
        let rows = query.bind(i64::from(limit)).fetch_all(&self.readers).await.map_err(unavailable)?;
        rows.iter().map(nameless_head).collect()
    }

    async fn stream(
        &self,
        tenant_id: &TenantId,
        id: &StreamId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogEntry>, StorageError> {
        read::stream(&self.readers, tenant_id, id.as_str(), after, limit).await
    }

    async fn due(&self, now: Timestamp, limit: u32) -> Result<Vec<(TenantId, ConversationId)>, StorageError> {
        upkeep::due(&self.readers, now, limit).await
    }

    async fn postpone(&self, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
        upkeep::postpone(&self.writer, now, limit).await
    }

    async fn forget_erasure_keys(&self, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
        upkeep::forget_erasure_keys(&self.writer, now, limit).await
    }

    async fn take_lease(&self, name: &str, holder: &str, seconds: u32) -> Result<bool, StorageError> {
        upkeep::take_lease(&self.writer, name, holder, self.clock.now(), seconds).await
    }

    async fn release_lease(&self, name: &str, holder: &str) -> Result<(), StorageError> {
        upkeep::release_lease(&self.writer, name, holder).await
    }
}
