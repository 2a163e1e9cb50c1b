//! Checks servers: whether one may be written to, for every connection and before every decision.
//!
//! A promotion raises the timeline of a system. A server with a lower timeline than one seen before is a former
//! primary: what it acknowledges is on no other server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::errors::failed;
use super::preflight::{Demands, Facts, Refusal, Standing, timeline};
use super::settings::PostgresSettings;
use crate::storage::{StorageError, Timelines};

/// The system's identifier and timeline.
const LINEAGE: &str = concat!(
    "-- postgres: judge.lineage
    SELECT (SELECT system_identifier::text FROM pg_control_system()) AS system, ",
    timeline!()
);

/// The requirements for a server, and what was observed so far.
pub(super) struct Judge {
    demands: Demands,
    memory: Option<Arc<dyn Timelines>>,
    seen: Mutex<Seen>,
}

/// Observations of the servers so far.
#[derive(Default)]
struct Seen {
    /// The system that answered last, if servers report it.
    system: Option<String>,
    /// The highest timeline of that system.
    highest: i64,
    /// Whether commits waited for a standby at the last check.
    synchronous: Option<bool>,
    /// The last advice that was logged.
    advice: Option<String>,
    /// Why a server was last refused.
    refusal: Option<String>,
}

impl Judge {
    pub(super) fn new(settings: &PostgresSettings) -> Self {
        let demands = Demands { unsafe_durability: settings.unsafe_durability, standby: settings.require_standby };
        Self { demands, memory: settings.timelines.clone(), seen: Mutex::default() }
    }

    /// Checks the server of a new connection; returns its timeline, if it reports one.
    pub(super) async fn check(&self, connection: &mut PgConnection) -> Result<Option<i64>, StorageError> {
        let facts = Facts::of(connection).await?;
        if let Some(refusal) = facts.refusal(self.demands) {
            return Err(self.refused(refusal));
        }
        self.pass_on(facts.advice());
        // Some hosted services hide their timelines: then a former primary cannot be recognised.
        let Ok(row) = sqlx::raw_sql(LINEAGE).fetch_one(connection).await else {
            self.seen().system = None;
            return Ok(None);
        };
        let system: String = row.try_get("system").map_err(failed)?;
        self.recognise(system).await;
        let timeline = row.try_get("timeline").map_err(failed)?;
        self.rank(timeline)?;
        Ok(Some(timeline))
    }

    /// Whether servers report their timelines.
    pub(super) fn ranks(&self) -> bool {
        self.seen().system.is_some()
    }

    /// Checks a server by a row with the columns of `standing`, and of `timeline` if servers report it.
    pub(super) fn weigh(&self, row: &PgRow, ranked: bool) -> Result<(), StorageError> {
        let standing = Standing::of(row)?;
        self.tell_of(standing.is_synchronous());
        if let Some(refusal) = standing.refusal(self.demands) {
            return Err(self.refused(refusal));
        }
        if ranked { self.rank(row.try_get("timeline").map_err(failed)?) } else { Ok(()) }
    }

    /// Explains a failed connection: if a server was refused, by that refusal.
    pub(super) fn explain(&self, error: sqlx::Error) -> StorageError {
        let refusal = self.seen().refusal.clone().filter(|_| matches!(error, sqlx::Error::PoolTimedOut));
        refusal.map_or_else(|| failed(error), StorageError::Unavailable)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refused(&self, refusal: Refusal) -> StorageError {
        metrics::counter!("cscp_postgres_refusals_total", "reason" => refusal.kind).increment(1);
        self.seen().refusal = Some(refusal.advice.clone());
        StorageError::Unavailable(refusal.advice)
    }

    /// Loads the stored timeline of a system, unless it is the one that answered last.
    async fn recognise(&self, system: String) {
        if self.seen().system.as_ref() == Some(&system) {
            return;
        }
        let highest = match self.memory.clone() {
            Some(memory) => {
                let name = system.clone();
                let read = tokio::task::spawn_blocking(move || memory.highest(&name)).await;
                read.unwrap_or_else(|error| Err(error.to_string())).unwrap_or_else(|error| {
                    tracing::warn!(
                        postgres.error = %error,
                        "the highest timeline seen before cannot be read; a former primary may go unnoticed"
                    );
                    0
                })
            }
            None => 0,
        };
        let mut seen = self.seen();
        seen.highest = highest;
        seen.system = Some(system);
    }

    /// Refuses a timeline below the highest, and stores one above it.
    fn rank(&self, timeline: i64) -> Result<(), StorageError> {
        let highest = self.seen().highest;
        if timeline < highest {
            let advice = format!(
                "this server writes timeline {timeline}, and {highest} was seen before: another server was promoted in its \
                 place, and what is written here would be lost. Give the address of the new primary and rewind this one; \
                 see \"A former primary\" in docs/OPERATIONS.md"
            );
            return Err(self.refused(Refusal::new("timeline", advice)));
        }
        self.seen().refusal = None;
        if timeline > highest {
            self.raise(timeline);
        }
        Ok(())
    }

    fn raise(&self, timeline: i64) {
        let system = {
            let mut seen = self.seen();
            seen.highest = timeline;
            seen.system.clone()
        };
        tracing::info!(postgres.timeline = timeline, "the database writes this timeline");
        let (Some(memory), Some(system)) = (self.memory.clone(), system) else { return };
        // Written in the background: this process already knows the timeline.
        tokio::task::spawn_blocking(move || {
            if let Err(error) = memory.raise(&system, timeline) {
                tracing::warn!(
                    postgres.error = %error,
                    "the database's timeline cannot be stored; after a restart a former primary may go unnoticed"
                );
            }
        });
    }

    /// Logs an advice once, not for every connection.
    fn pass_on(&self, advice: Option<String>) {
        let news = advice.filter(|advice| self.seen().advice.replace(advice.clone()).as_ref() != Some(advice));
        if let Some(advice) = news {
            tracing::warn!(postgres.advice = %advice, "the database server should be updated");
        }
    }

    /// Logs when commits start or stop waiting for a standby.
    fn tell_of(&self, synchronous: bool) {
        let before = self.seen().synchronous.replace(synchronous);
        if before == Some(synchronous) {
            return;
        }
        metrics::gauge!("cscp_postgres_synchronous").set(f64::from(u8::from(synchronous)));
        if before == Some(true) {
            tracing::warn!("commits no longer wait for a standby: new data is on one server only");
        } else if synchronous {
            tracing::info!("commits wait for a standby");
        }
    }
}
