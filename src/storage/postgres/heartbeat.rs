//! Detects a silent database. A statement may take long, and its caller waits; but if not even the smallest query is
//! answered, callers get an error at once.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::sync::watch;
use tokio::time::timeout;

use super::PostgresStore;
use super::clock::NOW;
use super::errors::failed;
use super::hosts::Hosts;
use crate::domain::time::Timestamp;
use crate::storage::AliveStore;
use crate::storage::StorageError;
use crate::storage::sql::number;

/// The time limit of one query.
const BEAT: Duration = Duration::from_secs(1);
/// How long the database may be silent before callers stop waiting.
const SILENCE: Duration = Duration::from_secs(3);

/// Queries the database on its own connection, so that an exhausted pool does not look like a silent database.
pub(super) struct Heartbeat {
    hosts: Arc<Hosts>,
    connection: tokio::sync::Mutex<Option<Connection>>,
    heard: Mutex<Heard>,
    lost: watch::Sender<bool>,
}

/// A connection, and when it was made.
struct Connection {
    connected: PgConnection,
    since: Instant,
}

/// When the database last answered, and the number of unanswered queries since.
struct Heard {
    at: Instant,
    unanswered: u32,
}

impl Heartbeat {
    pub(super) fn new(hosts: Arc<Hosts>) -> Self {
        let heard = Mutex::new(Heard { at: Instant::now(), unanswered: 0 });
        Self { hosts, connection: tokio::sync::Mutex::default(), heard, lost: watch::Sender::new(false) }
    }

    /// A receiver that learns when the database is lost.
    pub(super) fn listen(&self) -> Silence {
        Silence(self.lost.subscribe())
    }

    async fn ask(&self) -> Result<PgRow, sqlx::Error> {
        let mut held = self.connection.lock().await;
        // A connection whose query was not answered is dropped at the end of this function.
        let current = held.take().filter(|held| self.hosts.is_current(held.since.elapsed()));
        let mut connection = if let Some(connection) = current {
            connection
        } else {
            let since = Instant::now();
            Connection { connected: PgConnection::connect_with(&self.hosts.options()).await?, since }
        };
        // An unnamed statement, because a pooler may be in between.
        let row = connection.connected.fetch_one(sqlx::raw_sql(NOW)).await?;
        *held = Some(connection);
        Ok(row)
    }

    async fn beat(&self) -> Result<PgRow, StorageError> {
        let asked = timeout(BEAT, self.ask()).await;
        // An error from the database is an answer as well.
        let answered = matches!(&asked, Ok(Ok(_) | Err(sqlx::Error::Database(_))));
        let lost = {
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            *heard = if answered {
                Heard { at: Instant::now(), unanswered: 0 }
            } else {
                Heard { at: heard.at, unanswered: heard.unanswered.saturating_add(1) }
            };
            // One unanswered query is ignored: this process itself may have been suspended.
            heard.unanswered > 1 && heard.at.elapsed() >= SILENCE
        };
        if self.lost.send_replace(lost) != lost {
            if lost {
                tracing::error!("the database does not answer; requests fail at once until it does");
            } else {
                tracing::info!("the database answers again");
            }
        }
        match asked {
            Ok(answer) => answer.map_err(failed),
            Err(_) => Err(silent()),
        }
    }
}

fn silent() -> StorageError {
    StorageError::Unavailable("the database does not answer".to_owned())
}

/// Notifies waiting callers that the database is lost.
#[derive(Clone)]
pub(super) struct Silence(watch::Receiver<bool>);

impl Silence {
    /// Waits until the database is lost; forever, if the heartbeat has ended.
    pub(super) async fn lost(mut self) {
        if self.0.wait_for(|lost| *lost).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The database's answer, or an error as soon as the database is lost.
    pub(super) async fn or<T>(self, answer: impl Future<Output = T>) -> Result<T, StorageError> {
        tokio::select! {
            biased;
            () = self.lost() => Err(silent()),
            answer = answer => Ok(answer),
        }
    }
}

#[async_trait]
impl AliveStore for PostgresStore {
    async fn probe(&self) -> Result<Option<Timestamp>, StorageError> {
        let row = self.heartbeat.beat().await?;
        match &self.clock {
            Some(clock) => Ok(Some(clock.now())),
            None => number(&row, "micros").map(Timestamp::from_micros).map(Some),
        }
    }

    async fn lost(&self) {
        self.heartbeat.listen().lost().await;
    }
}
