//! Several servers under one address: one at a time takes writes, and connections follow it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection as _, PgConnection, PgPool};
use tokio::time::{MissedTickBehavior, timeout};

use super::judge::Judge;
use super::rows::failed;
use crate::storage::StorageError;

/// How long one server is asked whether it takes writes.
const PROBE: Duration = Duration::from_secs(1);
/// How long a connection is waited for before the others are asked.
const PATIENCE: Duration = Duration::from_millis(300);
/// How often the others are asked while all is well: one of them may have been promoted while the old one still answers.
const WATCH: Duration = Duration::from_secs(2);

/// A pool whose connections follow the primary, and what it needs of them.
type Follower = (PgPool, fn(PgConnectOptions) -> PgConnectOptions);

/// The servers of an address, and the one that was the primary when that was last asked.
pub(super) struct Hosts {
    options: Vec<PgConnectOptions>,
    judge: Arc<Judge>,
    current: AtomicUsize,
    /// When connections began to lead elsewhere. Older ones are let go of.
    moved: Arc<Mutex<Option<Instant>>>,
    followers: OnceLock<Vec<Follower>>,
    /// Held by whoever asks, so that one at a time does.
    asking: tokio::sync::Mutex<()>,
}

impl Hosts {
    pub(super) fn new(options: Vec<PgConnectOptions>, judge: Arc<Judge>) -> Self {
        let (followers, asking) = (OnceLock::new(), tokio::sync::Mutex::default());
        Self { options, judge, current: AtomicUsize::new(0), moved: Arc::default(), followers, asking }
    }

    /// A connection to the server that takes writes.
    pub(super) async fn primary(&self) -> Result<PgConnection, StorageError> {
        let (number, _, connection) = self.best().await?;
        self.current.store(number, Ordering::Release);
        Ok(connection)
    }

    /// Where connections lead now.
    pub(super) fn options(&self) -> PgConnectOptions {
        let current = self.current.load(Ordering::Acquire);
        self.options.get(current).or_else(|| self.options.first()).cloned().unwrap_or_default()
    }

    /// Connections that lead to the server that takes writes, each judged before it is used.
    pub(super) fn pool(&self, most: u32) -> PgPoolOptions {
        // Without limits of age the driver starts no task that looks for old connections: that task can spin for ever when
        // a connection is returned while it counts (sqlx issue 3645). A connection that broke is found when it is used.
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

    /// Names the pools whose connections follow, and has them watch the primary if there is a choice.
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

    /// Whether a connection of this age leads where connections lead now.
    pub(super) fn is_current(&self, age: Duration) -> bool {
        was_made_since(&self.moved, age)
    }

    /// Waits for a connection, and looks for the primary while there is none.
    pub(super) async fn reaching<T>(&self, connecting: impl Future<Output = T>) -> T {
        tokio::pin!(connecting);
        if self.options.len() == 1 {
            return connecting.await;
        }
        loop {
            match timeout(PATIENCE, &mut connecting).await {
                Ok(connected) => return connected,
                // Rare, and large: it is not part of every statement.
                Err(_) => Box::pin(self.seek()).await,
            }
        }
    }

    /// Looks for the primary, and has new connections lead there if it is another one.
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

    /// Asks all of them at once. Of several that would take writes the one of the highest timeline was promoted last.
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

/// Whether a connection of this age was made since connections began to lead elsewhere.
fn was_made_since(moved: &Mutex<Option<Instant>>, age: Duration) -> bool {
    let moved = *moved.lock().unwrap_or_else(PoisonError::into_inner);
    moved.is_none_or(|moved| age < moved.elapsed())
}
