//! PostgreSQL, for many processes on one database. The heads of streams are the locks, and the clock is the database's.

mod assembly;
mod clock;
mod columns;
mod control;
mod disposal;
mod fence;
mod going;
mod heartbeat;
mod hosts;
mod identity;
mod json;
mod judge;
mod live;
mod load;
mod lock;
mod logged;
mod mending;
mod policies;
mod preflight;
mod read;
mod retention;
mod rows;
mod schema;
mod session;
mod settings;
mod spaces;
mod subject;
mod tables;
mod transaction;
mod tree;
mod upkeep;
mod witness;
mod write;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::{Connection as _, PgConnection, PgPool};

use self::hosts::Hosts;
use self::judge::Judge;
use self::rows::failed;
use self::session::{Desk, EVERYBODY};
use self::transaction::PostgresTransaction;
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

pub use self::settings::PostgresSettings;

/// How long to wait for a connection of the pool.
const ACQUIRE: Duration = Duration::from_secs(5);
/// Connections in addition to one per writer: a connection that is being rolled back returns to the pool a little
/// later.
const SPARE: u32 = 2;

pub struct PostgresStore {
    writers: Desk,
    /// For everything else: reads, upkeep, and small changes of tenants and keys. A connection is tested before it is
    /// used.
    rest: Desk,
    at_once: u32,
    clock: Option<Arc<dyn Clock>>,
    heartbeat: heartbeat::Heartbeat,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("at_once", &self.at_once).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Opens a database: checks the server, migrates the schema if requested, and connects.
    pub async fn open(settings: PostgresSettings) -> Result<Self, StorageError> {
        let judge = Arc::new(Judge::new(&settings));
        let hosts = Arc::new(Hosts::new(settings.connect_options()?, Arc::clone(&judge)));
        let mut connection = hosts.primary().await?;
        schema::bring_up_to_date(&mut connection, settings.migrate).await?;
        fence::check(&mut connection, settings.row_security).await?;
        connection.close().await.map_err(failed)?;
        let heartbeat = heartbeat::Heartbeat::new(Arc::clone(&hosts));
        let silence = heartbeat.listen();
        let at_once = settings.writers.max(1);
        // A broken connection is detected when the transaction begins; testing it before would cost a round trip.
        let of_writers = if settings.pooler { |options| options } else { session::with_rules };
        let writers = hosts.pool(at_once + SPARE).test_before_acquire(false);
        let writers = writers.connect_lazy_with(of_writers(hosts.options()));
        // Fails now if the database cannot be written to, instead of at the first message.
        drop(writers.acquire().await.map_err(|error| judge.explain(error))?);
        let readers = hosts.pool(settings.readers).connect_lazy_with(hosts.options());
        hosts.lead(vec![(writers.clone(), of_writers), (readers.clone(), |options| options)]);
        let desk = |pool: PgPool| Desk {
            pool,
            hosts: Arc::clone(&hosts),
            judge: Arc::clone(&judge),
            named: !settings.pooler,
            fenced: settings.row_security,
            silence: silence.clone(),
        };
        Ok(Self { writers: desk(writers), rest: desk(readers), at_once, clock: settings.clock.clone(), heartbeat })
    }

    /// Migrates the schema and does nothing else.
    pub async fn bring_up_to_date(settings: &PostgresSettings) -> Result<(), StorageError> {
        let mut connection = primary(settings).await?;
        schema::bring_up_to_date(&mut connection, true).await?;
        connection.close().await.map_err(failed)
    }

    /// Enables or disables row security, by which the database itself separates tenants. Needs the owner of the tables
    /// and the newest schema.
    pub async fn set_row_security(settings: &PostgresSettings, on: bool) -> Result<(), StorageError> {
        let mut connection = primary(settings).await?;
        fence::set(&mut connection, on).await?;
        connection.close().await.map_err(failed)
    }
}

/// A connection to the primary among the servers of the address.
async fn primary(settings: &PostgresSettings) -> Result<PgConnection, StorageError> {
    Hosts::new(settings.connect_options()?, Arc::new(Judge::new(settings))).primary().await
}

#[async_trait]
impl Store for PostgresStore {
    async fn begin(&self) -> Result<Box<dyn Transaction>, StorageError> {
        // When a server fails, all its connections break: as many as the pool has may have to be discarded.
        let mut begun = self.writers.begin().await;
        for _ in 0..self.at_once + SPARE {
            if !matches!(&begun, Err(session::NotBegun { stale: true, .. })) {
                break;
            }
            begun = self.writers.begin().await;
        }
        let session = begun.map_err(|not_begun| not_begun.error)?;
        Ok(Box::new(PostgresTransaction::new(session, &self.writers, self.clock.clone())))
    }

    fn writers(&self) -> usize {
        usize::try_from(self.at_once).unwrap_or(1)
    }

    fn spans_tenants(&self) -> bool {
        !self.writers.fenced
    }

    async fn ping(&self) -> Result<(), StorageError> {
        let sql = "-- postgres: ping\nSELECT 1 FROM tenants LIMIT 1";
        self.rest.rows(EVERYBODY, sqlx::query(sql)).await.map(drop)
    }

    async fn close(&self) {
        self.rest.pool.close().await;
        self.writers.pool.close().await;
    }

    async fn create_tenant(&self, tenant: &Tenant) -> Result<(), StorageError> {
        control::create_tenant(&self.rest, tenant).await
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StorageError> {
        control::tenants(&self.rest, None).await
    }

    async fn tenant(&self, tenant_id: &TenantId) -> Result<Option<Tenant>, StorageError> {
        Ok(control::tenants(&self.rest, Some(tenant_id)).await?.pop())
    }

    async fn set_tenant_enabled(&self, tenant_id: &TenantId, enabled: bool) -> Result<bool, StorageError> {
        control::set_tenant_enabled(&self.rest, tenant_id, enabled).await
    }

    async fn set_tenant_policy(&self, tenant_id: &TenantId, pack: Option<&str>) -> Result<bool, StorageError> {
        control::set_tenant_policy(&self.rest, tenant_id, pack).await
    }

    async fn create_key(&self, key: &ApiKey) -> Result<(), StorageError> {
        control::create_key(&self.rest, key).await
    }

    async fn keys(&self, tenant_id: &TenantId) -> Result<Vec<ApiKey>, StorageError> {
        control::keys(&self.rest, tenant_id).await
    }

    async fn revoke_key(&self, tenant_id: &TenantId, key_id: &KeyId, at: Timestamp) -> Result<bool, StorageError> {
        control::revoke_key(&self.rest, tenant_id, key_id, at).await
    }

    async fn set_key_voice(&self, tenant: &TenantId, key: &KeyId, voice: &SpeaksFor) -> Result<bool, StorageError> {
        control::set_key_voice(&self.rest, tenant, key, voice).await
    }

    async fn find_key(&self, digest: &Digest) -> Result<Option<(ApiKey, Tenant)>, StorageError> {
        control::find_key(&self.rest, digest).await
    }

    async fn publish_policies(
        &self,
        set: Option<&PolicySet>,
        note: Option<&str>,
        at: Timestamp,
    ) -> Result<u64, StorageError> {
        policies::publish(&self.rest, set, note, at).await
    }

    async fn policies_version(&self) -> Result<u64, StorageError> {
        policies::newest(&self.rest).await
    }

    async fn policy_versions(&self, before: Option<u64>, limit: u32) -> Result<Vec<PolicyVersion>, StorageError> {
        policies::versions(&self.rest, before, limit).await
    }

    async fn policy_set(&self, version: u64) -> Result<Option<PolicySet>, StorageError> {
        policies::set(&self.rest, version).await
    }

    async fn context(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Option<ContextRecord>, StorageError> {
        let sql = "-- postgres: context\nSELECT body FROM contexts WHERE tenant_id = $1 AND context_id = $2";
        read::one(&self.rest, sql, "contexts", tenant_id, id.as_str()).await
    }

    async fn contexts(&self, tenant_id: &TenantId, query: &ContextQuery) -> Result<Page<ContextRecord>, StorageError> {
        read::contexts(&self.rest, tenant_id, query).await
    }

    async fn item(&self, tenant_id: &TenantId, id: &ItemId) -> Result<Option<PendingItem>, StorageError> {
        let sql = "-- postgres: item\nSELECT body FROM items WHERE tenant_id = $1 AND item_id = $2";
        read::one(&self.rest, sql, "items", tenant_id, id.as_str()).await
    }

    async fn items_of(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Vec<PendingItem>, StorageError> {
        let sql = "-- postgres: items_of
            SELECT body FROM items WHERE tenant_id = $1 AND context_id = $2 ORDER BY asked_at, item_id LIMIT 1000";
        let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(id.as_str());
        let rows = self.rest.rows(tenant_id.as_str(), query).await?;
        rows.iter().map(|row| rows::body(row, "items")).collect()
    }

    async fn approvals(&self, tenant_id: &TenantId, query: &ApprovalQuery) -> Result<Page<PendingItem>, StorageError> {
        read::approvals(&self.rest, tenant_id, query).await
    }

    async fn command(&self, tenant_id: &TenantId, id: &CommandId) -> Result<Option<CommandRecord>, StorageError> {
        let sql = "-- postgres: command\nSELECT body FROM commands WHERE tenant_id = $1 AND command_id = $2";
        read::one(&self.rest, sql, "commands", tenant_id, id.as_str()).await
    }

    async fn unreported(
        &self,
        tenant_id: &TenantId,
        query: &UnreportedQuery,
    ) -> Result<Page<CommandRecord>, StorageError> {
        read::unreported(&self.rest, tenant_id, query).await
    }

    async fn last_command(&self, tenant_id: &TenantId, id: &ContextId) -> Result<Option<CommandRecord>, StorageError> {
        let sql = "-- postgres: last_command
            SELECT body FROM commands WHERE tenant_id = $1 AND context_id = $2 ORDER BY updated_at DESC LIMIT 1";
        read::one(&self.rest, sql, "commands", tenant_id, id.as_str()).await
    }

    async fn messages(&self, tenant_id: &TenantId, keys: &[Digest]) -> Result<Vec<MessageRecord>, StorageError> {
        read::messages(&self.rest, tenant_id, keys).await
    }

    async fn principal(&self, tenant_id: &TenantId, id: &str) -> Result<Option<Principal>, StorageError> {
        let sql = "-- postgres: principal\nSELECT body FROM principals WHERE tenant_id = $1 AND principal_id = $2";
        read::one(&self.rest, sql, "principals", tenant_id, id).await
    }

    async fn principals(&self, tenant_id: &TenantId, query: &PrincipalQuery) -> Result<Page<Principal>, StorageError> {
        read::principals(&self.rest, tenant_id, query).await
    }

    async fn kin(&self, tenant_id: &TenantId, keys: &[PersonKey]) -> Result<Vec<Principal>, StorageError> {
        load::kin(&self.rest.rows(tenant_id.as_str(), load::kin_query(tenant_id, keys, false)).await?)
    }

    async fn frame(&self, tenant_id: &TenantId, id: &ContextFrameId) -> Result<Option<StoredFrame>, StorageError> {
        let sql = "-- postgres: frame\nSELECT body FROM frames WHERE tenant_id = $1 AND context_frame_id = $2";
        read::one(&self.rest, sql, "frames", tenant_id, id.as_str()).await
    }

    async fn spaces(&self, wants: &[SpaceWant]) -> Result<Vec<(SpaceId, SpaceRow)>, StorageError> {
        let Some(tenant_id) = wants.first().map(|want| &want.tenant_id) else { return Ok(Vec::new()) };
        let rows = self.rest.rows(tenant_id.as_str(), spaces::query(wants)).await?;
        rows.iter().map(|row| spaces::row(row).map(|(_, space_id, row)| (space_id, row))).collect()
    }

    async fn facts(
        &self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        query: &FactQuery,
    ) -> Result<Page<Fact>, StorageError> {
        read::facts(&self.rest, tenant_id, space_id, query).await
    }

    async fn saved_pack(&self, tenant_id: &TenantId, id: &PackId) -> Result<Option<SavedPack>, StorageError> {
        let sql = "-- postgres: saved_pack
            SELECT body FROM space_records WHERE tenant_id = $1 AND kind = 'pack' AND record_id = $2";
        read::one(&self.rest, sql, "space_records", tenant_id, id.as_str()).await
    }

    async fn claim(&self, tenant_id: &TenantId, key: &Digest) -> Result<Option<StoredClaim>, StorageError> {
        let sql = "-- postgres: claim
            SELECT body FROM claims WHERE tenant_id = $1 AND claim_key = decode($2, 'hex')";
        read::one(&self.rest, sql, "claims", tenant_id, &key.to_hex()).await
    }

    async fn entries(&self, tenant_id: &TenantId, query: &EvidenceQuery) -> Result<Page<LogEntry>, StorageError> {
        read::entries(&self.rest, tenant_id, query).await
    }

    async fn entry(&self, tenant_id: &TenantId, id: &ArtifactId) -> Result<Option<LogEntry>, StorageError> {
        read::entry_by_id(&self.rest, tenant_id, id.as_str()).await
    }

    async fn heads(
        &self,
        tenant_id: &TenantId,
        after: Option<&StreamId>,
        limit: u32,
    ) -> Result<Vec<StreamHead>, StorageError> {
        let sql = "-- postgres: heads
            SELECT stream_id AS c, seq, last_at, head_hash AS h FROM streams
            WHERE tenant_id = $1 AND stream_id > $2 ORDER BY stream_id LIMIT $3";
        let query = sqlx::query(sql).bind(tenant_id.as_str()).bind(after.map_or("", |id| id.as_str()));
        let rows = self.rest.rows(tenant_id.as_str(), query.bind(i64::from(limit))).await?;
        rows.iter().map(rows::head).collect()
    }

    async fn stream(
        &self,
        tenant_id: &TenantId,
        id: &StreamId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogEntry>, StorageError> {
        read::stream(&self.rest, tenant_id, id.as_str(), after, limit).await
    }

    async fn due(&self, now: Timestamp, limit: u32) -> Result<Vec<(TenantId, ConversationId)>, StorageError> {
        upkeep::due(&self.rest, now, limit).await
    }

    async fn postpone(&self, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
        upkeep::postpone(&self.rest, now, limit).await
    }

    async fn forget_erasure_keys(&self, now: Timestamp, limit: u32) -> Result<u64, StorageError> {
        upkeep::forget_erasure_keys(&self.rest, now, limit).await
    }

    async fn take_lease(&self, name: &str, holder: &str, seconds: u32) -> Result<bool, StorageError> {
        upkeep::take_lease(&self.rest, self.clock.as_ref(), name, holder, seconds).await
    }

    async fn release_lease(&self, name: &str, holder: &str) -> Result<(), StorageError> {
        upkeep::release_lease(&self.rest, name, holder).await
    }
}
