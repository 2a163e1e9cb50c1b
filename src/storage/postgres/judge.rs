//! Judging servers: whether this is one that may be written to, asked at every connection and before every decision.
//!
//! A promotion raises the timeline of a system. A server of a lower timeline than one that was seen before is a former
//! primary that came back: what it acknowledges, nobody else has.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::preflight::{Demands, Facts, Refusal, Standing, timeline};
use super::rows::failed;
use super::settings::PostgresSettings;
use crate::storage::{StorageError, Timelines};

/// Which system this is, and what it writes.
const LINEAGE: &str = concat!(
    "-- postgres: judge.lineage
    SELECT (SELECT system_identifier::text FROM pg_control_system()) AS system, ",
    timeline!()
);

/// What is demanded, and what was seen.
pub(super) struct Judge {
    demands: Demands,
    memory: Option<Arc<dyn Timelines>>,
    seen: Mutex<Seen>,
}

/// What was seen of the servers so far.
#[derive(Default)]
struct Seen {
    /// The system that answered last, if servers tell.
    system: Option<String>,
    /// The highest timeline of that system.
    highest: i64,
    /// Whether commits waited for a standby when that was last asked.
    synchronous: Option<bool>,
    /// What was advised last.
    advice: Option<String>,
    /// Why a server was last refused.
    refusal: Option<String>,
}

impl Judge {
    pub(super) fn new(settings: &PostgresSettings) -> Self {
        let demands = Demands { unsafe_durability: settings.unsafe_durability, standby: settings.require_standby };
        Self { demands, memory: settings.timelines.clone(), seen: Mutex::default() }
    }

    /// Judges the server at the other end of a fresh connection; says which timeline it writes, if it tells.
    pub(super) async fn check(&self, connection: &mut PgConnection) -> Result<Option<i64>, StorageError> {
        let facts = Facts::of(connection).await?;
        if let Some(refusal) = facts.refusal(self.demands) {
            return Err(self.refused(refusal));
        }
        self.pass_on(facts.advice());
        // Some services keep their timelines to themselves: then a former primary cannot be told from the present one.
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

    /// Whether servers tell their timelines.
    pub(super) fn ranks(&self) -> bool {
        self.seen().system.is_some()
    }

    /// Judges a server by a row with the columns of `standing`, and of `timeline` where servers are ranked.
    pub(super) fn weigh(&self, row: &PgRow, ranked: bool) -> Result<(), StorageError> {
        let standing = Standing::of(row)?;
        self.tell_of(standing.is_synchronous());
        if let Some(refusal) = standing.refusal(self.demands) {
            return Err(self.refused(refusal));
        }
        if ranked { self.rank(row.try_get("timeline").map_err(failed)?) } else { Ok(()) }
    }

    /// What to say of a connection that was not made: if a server was refused, that it was.
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

    /// Takes up what is remembered of a system that was not the last one to answer.
    async fn recognise(&self, system: String) {
        if self.seen().system.as_ref() == Some(&system) {
            return;
        }
        let highest = match self.memory.clone() {
            Some(memory) => {
                let name = system.clone();
                let read = tokio::task::spawn_blocking(move || memory.highest(&name)).await;
                read.unwrap_or_else(|error| Err(error.to_string())).unwrap_or_else(|error| {
                    tracing::warn!(postgres.error = %error, "what was seen of this database before cannot be read");
                    0
                })
            }
            None => 0,
        };
        let mut seen = self.seen();
        seen.highest = highest;
        seen.system = Some(system);
    }

    /// Refuses a timeline below the highest, and remembers one above it.
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
        // Nobody waits for the disk: until it is written, this process knows.
        tokio::task::spawn_blocking(move || {
            if let Err(error) = memory.raise(&system, timeline) {
                tracing::warn!(postgres.error = %error, "the database's timeline cannot be remembered");
            }
        });
    }

    /// Gives advice once, and not at every connection.
    fn pass_on(&self, advice: Option<String>) {
        let news = advice.filter(|advice| self.seen().advice.replace(advice.clone()).as_ref() != Some(advice));
        if let Some(advice) = news {
            tracing::warn!(postgres.advice = %advice, "the database server should be updated");
        }
    }

    /// Says aloud when commits stop waiting for a standby, or begin to.
    fn tell_of(&self, synchronous: bool) {
        let before = self.seen().synchronous.replace(synchronous);
        if before == Some(synchronous) {
            return;
        }
        metrics::gauge!("cscp_postgres_synchronous").set(f64::from(u8::from(synchronous)));
        if before == Some(true) {
            tracing::warn!("commits wait for no standby any more: what is acknowledged now is on one server alone");
        } else if synchronous {
            tracing::info!("commits wait for a standby");
        }
    }
}
