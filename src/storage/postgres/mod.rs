//! PostgreSQL, for many processes on one database. The heads of streams are the locks, and the clock is the database's.

mod clock;
mod columns;
mod database;
mod disposal;
mod errors;
mod fence;
mod heartbeat;
mod hosts;
mod judge;
mod load;
mod lock;
mod preflight;
mod retention;
mod schema;
mod session;
mod settings;
mod spaces;
mod transaction;
mod write;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::{Connection as _, PgConnection, PgPool};

use self::errors::failed;
use self::hosts::Hosts;
use self::judge::Judge;
use self::session::{Desk, EVERYBODY};
use self::transaction::PostgresTransaction;
use crate::domain::id::SpaceId;
use crate::domain::time::Clock;
use crate::storage::{SpaceRow, SpaceWant, StorageError, Store, Transaction};

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

    async fn spaces(&self, wants: &[SpaceWant]) -> Result<Vec<(SpaceId, SpaceRow)>, StorageError> {
        let Some(tenant_id) = wants.first().map(|want| &want.tenant_id) else { return Ok(Vec::new()) };
        let rows = self.rest.rows(tenant_id.as_str(), spaces::query(wants)).await?;
        rows.iter().map(|row| spaces::row(row).map(|(_, space_id, row)| (space_id, row))).collect()
    }
}
