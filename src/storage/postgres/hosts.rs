//! Several servers in one address: one at a time is the primary, and connections follow it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection as _, PgConnection, PgPool};
use tokio::time::{MissedTickBehavior, timeout};

use super::errors::failed;
use super::judge::Judge;
use crate::storage::StorageError;

/// The time limit for asking one server whether it is the primary.
const PROBE: Duration = Duration::from_secs(1);
/// How long to wait for a connection before the other servers are asked.
const PATIENCE: Duration = Duration::from_millis(300);
/// How often the others are asked in normal operation: one may have been promoted while the old primary still answers.
const WATCH: Duration = Duration::from_secs(2);

/// A pool whose connections follow the primary, and its connection options.
type Follower = (PgPool, fn(PgConnectOptions) -> PgConnectOptions);

/// The servers of an address, and the last known primary.
pub(super) struct Hosts {
    options: Vec<PgConnectOptions>,
    judge: Arc<Judge>,
    current: AtomicUsize,
    /// When connections last moved to another server. Older ones are closed.
    moved: Arc<Mutex<Option<Instant>>>,
    followers: OnceLock<Vec<Follower>>,
    /// Held during a search, so that only one runs.
    asking: tokio::sync::Mutex<()>,
}

impl Hosts {
    pub(super) fn new(options: Vec<PgConnectOptions>, judge: Arc<Judge>) -> Self {
        let (followers, asking) = (OnceLock::new(), tokio::sync::Mutex::default());
        Self { options, judge, current: AtomicUsize::new(0), moved: Arc::default(), followers, asking }
    }

    pub(super) async fn primary(&self) -> Result<PgConnection, StorageError> {
        let (number, _, connection) = self.best().await?;
        self.current.store(number, Ordering::Release);
        Ok(connection)
    }

    /// The options of the current primary.
    pub(super) fn options(&self) -> PgConnectOptions {
        let current = self.current.load(Ordering::Acquire);
        self.options.get(current).or_else(|| self.options.first()).cloned().unwrap_or_default()
    }

    /// Connections to the primary, each checked before it is used.
    pub(super) fn pool(&self, most: u32) -> PgPoolOptions {
        // Without age limits the driver starts no maintenance task, which can loop forever when a connection is
        // returned while it counts (sqlx issue 3645). A broken connection is detected when it is used.
        let ageless = PgPoolOptions::new().max_lifetime(None).idle_timeout(None);
        let (moved, judge) = (Arc::clone(&self.moved), Arc::clone(&self.judge));
        ageless
            .acquire_timeout(super::ACQUIRE)
            .max_connections(most.max(1))
            .before_acquire(move |_, connection| {
                let current = was_made_since(&moved, connection.age);
                Box::pin(async move { Ok(current) })
            })
            .after_connect(move |connection, _| {
                let judge = Arc::clone(&judge);
                Box::pin(async move {
                    let judged = judge.check(connection).await;
                    judged.map(drop).map_err(|error| sqlx::Error::Configuration(error.into()))
                })
            })
    }

    /// Sets the pools that follow the primary and, if there are several servers, starts watching it.
    pub(super) fn lead(self: &Arc<Self>, followers: Vec<Follower>) {
        if self.followers.set(followers).is_ok() && self.options.len() > 1 {
            let watched = Arc::downgrade(self);
            tokio::spawn(async move {
                let mut ticks = tokio::time::interval(WATCH);
                ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                loop {
                    ticks.tick().await;
                    let Some(hosts) = watched.upgrade() else { return };
                    hosts.seek().await;
                }
            });
        }
    }

    /// Whether a connection of this age leads to the current server.
    pub(super) fn is_current(&self, age: Duration) -> bool {
        was_made_since(&self.moved, age)
    }

    /// Waits for a connection, and searches for the primary meanwhile.
    pub(super) async fn reaching<T>(&self, connecting: impl Future<Output = T>) -> T {
        tokio::pin!(connecting);
        if self.options.len() == 1 {
            return connecting.await;
        }
        loop {
            match timeout(PATIENCE, &mut connecting).await {
                Ok(connected) => return connected,
                // Rare and large, so it is boxed to keep the future of every statement small.
                Err(_) => Box::pin(self.seek()).await,
            }
        }
    }

    /// Searches for the primary and redirects new connections if it has changed.
    async fn seek(&self) {
        let Ok(_alone) = self.asking.try_lock() else { return };
        let Ok((number, timeline, connection)) = self.best().await else { return };
        drop(connection.close().await);
        let former = self.current.swap(number, Ordering::AcqRel);
        if former == number {
            return;
        }
        tracing::warn!(postgres.host = number + 1, postgres.timeline = timeline, "another host takes writes now");
        for (pool, prepared) in self.followers.get().into_iter().flatten() {
            pool.set_connect_options(prepared(self.options()));
        }
        *self.moved.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Asks all servers at once. If several claim to be the primary, the highest timeline was promoted last.
    async fn best(&self) -> Result<(usize, Option<i64>, PgConnection), StorageError> {
        let asked = join_all(self.options.iter().map(|options| self.probe(options))).await;
        let mut best = Err(StorageError::Unavailable("the address names no host".to_owned()));
        for (number, answer) in asked.into_iter().enumerate() {
            match (&best, answer) {
                (Ok((_, highest, _)), Ok((timeline, connection))) if timeline > *highest => {
                    best = Ok((number, timeline, connection));
                }
                (Err(_), Ok((timeline, connection))) => best = Ok((number, timeline, connection)),
                (Err(_), Err(error)) => best = Err(error),
                (Ok(_), _) => {}
            }
        }
        best
    }

    async fn probe(&self, options: &PgConnectOptions) -> Result<(Option<i64>, PgConnection), StorageError> {
        let connecting = async {
            let mut connection = PgConnection::connect_with(options).await.map_err(failed)?;
            let timeline = self.judge.check(&mut connection).await?;
            Ok((timeline, connection))
        };
        let patience = if self.options.len() == 1 { super::ACQUIRE } else { PROBE };
        let answered = timeout(patience, connecting).await;
        answered.unwrap_or_else(|_| Err(StorageError::Unavailable("no connection was made in time".to_owned())))
    }
}

/// Whether a connection of this age was made after connections last moved.
fn was_made_since(moved: &Mutex<Option<Instant>>, age: Duration) -> bool {
    let moved = *moved.lock().unwrap_or_else(PoisonError::into_inner);
    moved.is_none_or(|moved| age < moved.elapsed())
}
