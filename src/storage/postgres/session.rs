//! A connection in use: every statement has a time limit, and a connection in an unknown state is closed.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgRow};
use sqlx::query::Query as SqlxQuery;
use sqlx::{AssertSqlSafe, PgPool, Postgres};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::errors::failed;
use super::heartbeat::Silence;
use super::hosts::Hosts;
use super::judge::Judge;
use crate::storage::StorageError;

/// A statement with its values.
pub(super) type Query<'q> = SqlxQuery<'q, Postgres, PgArguments>;

/// The time limit for an answer: longer than the server allows a statement. A silent database is detected earlier, see
/// [`super::heartbeat`].
const ANSWER: Duration = Duration::from_secs(15);
/// How long a rollback may take before the connection is closed instead.
const ROLLBACK: Duration = Duration::from_secs(2);

/// Settings of every writing transaction. It waits only briefly for a lock; locks of a failed process are released by
/// the server. The others make plans independent of table size: lookups by key, planned once.
const RULES: [(&str, &str); 8] = [
    ("lock_timeout", "300ms"),
    ("statement_timeout", "10s"),
    ("idle_in_transaction_session_timeout", "5s"),
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("jit", "off"),
];
/// The number of statements that a connection keeps prepared.
const STATEMENTS: usize = 256;
/// Begins a writing transaction on a connection that has the settings from its start.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// Sets the settings when a connection starts, so that no transaction pays for them. A pooler shares its connections,
/// so there each transaction sets them itself.
pub(super) fn with_rules(options: PgConnectOptions) -> PgConnectOptions {
    // Statements differ by the tables that a batch has rows for; the cache holds all that occur.
    options.options(RULES).statement_cache_capacity(STATEMENTS)
}

/// Begins a transaction behind a pooler: one round trip, with settings that end with the transaction.
fn begin_with_rules() -> String {
    let rules = RULES.map(|(name, value)| format!("; SET LOCAL {name} = '{value}'"));
    format!("{BEGIN}{}", rules.concat())
}

/// Lets an operation that is committed alone wait longer for its locks.
pub(super) const WAIT: &str = "SET LOCAL lock_timeout = '1s'";
/// Begins a transaction that changes a few rows outside the write path.
const BEGIN_SMALL: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
    SET LOCAL lock_timeout = '2s';
    SET LOCAL statement_timeout = '10s';
    SET LOCAL idle_in_transaction_session_timeout = '5s'";
/// Begins a transaction that reads.
const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY;
    SET LOCAL statement_timeout = '10s'";

/// The tenant name that shows all tenants' rows under row security.
pub(super) const EVERYBODY: &str = "*";

/// A connection out of a pool.
pub(super) struct Session {
    connection: Option<PoolConnection<Postgres>>,
    /// Ends every wait when the database is lost.
    silence: Silence,
    /// Whether statements are named on the connection, so that they are planned once.
    named: bool,
    /// Whether a transaction is open.
    open: bool,
    /// Whether an answer is outstanding.
    cut: bool,
}

impl Session {
    /// Closes the connection after use, because its server must not be used.
    pub(super) fn give_up(&mut self) {
        self.cut = true;
    }

    /// The rows of a statement.
    pub(super) async fn rows(&mut self, query: Query<'_>) -> Result<Vec<PgRow>, StorageError> {
        let query = query.persistent(self.named);
        let silence = self.silence.clone();
        let answer = silence.or(timeout(ANSWER, query.fetch_all(&mut **self.ask()?))).await?;
        self.settle(answer)
    }

    /// The single row of a statement.
    pub(super) async fn one(&mut self, query: Query<'_>) -> Result<PgRow, StorageError> {
        let query = query.persistent(self.named);
        let silence = self.silence.clone();
        let answer = silence.or(timeout(ANSWER, query.fetch_one(&mut **self.ask()?))).await?;
        self.settle(answer)
    }

    /// The number of rows that a statement changed.
    pub(super) async fn count(&mut self, query: Query<'_>) -> Result<u64, StorageError> {
        let query = query.persistent(self.named);
        let silence = self.silence.clone();
        let answer = silence.or(timeout(ANSWER, query.execute(&mut **self.ask()?))).await?;
        self.settle(answer).map(|done| done.rows_affected())
    }

    /// Runs statements without parameters, in one round trip.
    async fn simple(&mut self, sql: impl Into<Cow<'static, str>>) -> Result<(), StorageError> {
        let sql = AssertSqlSafe(sql.into().into_owned());
        let silence = self.silence.clone();
        let answer = silence.or(timeout(ANSWER, sqlx::raw_sql(sql).execute(&mut **self.ask()?))).await?;
        self.settle(answer).map(drop)
    }

    /// Changes a setting for the rest of the transaction.
    pub(super) async fn set(&mut self, sql: &'static str) -> Result<(), StorageError> {
        self.simple(sql).await
    }

    pub(super) async fn begin(&mut self, sql: impl Into<Cow<'static, str>>) -> Result<(), StorageError> {
        self.open = true;
        self.simple(sql).await
    }

    pub(super) async fn commit(&mut self) -> Result<(), StorageError> {
        self.simple("COMMIT").await?;
        self.open = false;
        Ok(())
    }

    /// Under row security, shows the rows of one tenant, or of all, for the rest of the transaction.
    pub(super) async fn enter(&mut self, tenant: &str) -> Result<(), StorageError> {
        let sql = "-- postgres: session.enter\nSELECT set_config('cscp.tenant', $1, true)";
        self.rows(sqlx::query(sql).bind(tenant)).await.map(drop)
    }

    /// The connection, marked as having an answer outstanding.
    fn ask(&mut self) -> Result<&mut PoolConnection<Postgres>, StorageError> {
        self.cut = true;
        self.connection.as_mut().ok_or_else(|| StorageError::Unavailable("the connection was given back".to_owned()))
    }

    fn settle<T>(&mut self, answer: Result<Result<T, sqlx::Error>, Elapsed>) -> Result<T, StorageError> {
        let Ok(result) = answer else {
            return Err(StorageError::Unavailable("no answer came in time".to_owned()));
        };
        self.cut = matches!(&result, Err(error) if ends_the_connection(error));
        result.map_err(failed)
    }
}

/// Whether the connection is unusable after an error. After most database errors it can be used again, except when the
/// server shuts down (57P…) or a transaction was idle for too long (25P03).
fn ends_the_connection(error: &sqlx::Error) -> bool {
    let Some(complaint) = error.as_database_error() else { return true };
    complaint.code().is_some_and(|code| code.starts_with("57P") || code == "25P03")
}

/// Rolls back an open transaction. If the connection's state is uncertain, it is closed, and the database rolls back.
impl Drop for Session {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        if self.cut {
            connection.close_on_drop();
        } else if self.open {
            tokio::spawn(async move {
                let rolled_back = timeout(ROLLBACK, sqlx::raw_sql("ROLLBACK").execute(&mut *connection)).await;
                if !matches!(rolled_back, Ok(Ok(_))) {
                    connection.close_on_drop();
                }
            });
        }
    }
}

/// Why no transaction could be begun.
pub(super) struct NotBegun {
    pub(super) error: StorageError,
    /// Whether the connection was broken, so that another one may work.
    pub(super) stale: bool,
}

/// Connections for single statements.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) pool: PgPool,
    /// The servers that the pool connects to.
    pub(super) hosts: Arc<Hosts>,
    pub(super) judge: Arc<Judge>,
    pub(super) named: bool,
    /// Whether row security is on, so that each transaction has to name its tenant.
    pub(super) fenced: bool,
    /// Notifies when the database is lost.
    pub(super) silence: Silence,
}

impl Desk {
    /// Whether a statement needs an explicit transaction: without a name, the driver sends it in two parts, which a
    /// pooler may give to two connections; and row security sets the tenant per transaction.
    fn wrapped(&self) -> bool {
        self.fenced || !self.named
    }

    async fn open(&self) -> Result<Session, StorageError> {
        let silence = self.silence.clone();
        // A large future, boxed because each of the waits around it would store it.
        let acquiring = Box::pin(self.pool.acquire());
        let reached = silence.clone().or(self.hosts.reaching(acquiring)).await?;
        let connection = reached.map_err(|error| self.judge.explain(error))?;
        Ok(Session { connection: Some(connection), silence, named: self.named, open: false, cut: false })
    }

    async fn start(&self, tenant: &str, begin: &'static str) -> Result<Session, StorageError> {
        let mut session = self.open().await?;
        if self.wrapped() {
            session.begin(begin).await?;
        }
        if self.fenced {
            session.enter(tenant).await?;
        }
        Ok(session)
    }

    async fn end(&self, mut session: Session) -> Result<(), StorageError> {
        if self.wrapped() { session.commit().await } else { Ok(()) }
    }

    /// Begins a transaction of the write path.
    pub(super) async fn begin(&self) -> Result<Session, NotBegun> {
        let mut session = self.open().await.map_err(|error| NotBegun { error, stale: false })?;
        let begun = if self.named { session.begin(BEGIN).await } else { session.begin(begin_with_rules()).await };
        match begun {
            Ok(()) => Ok(session),
            Err(error) => Err(NotBegun { error, stale: session.cut }),
        }
    }

    /// The rows of a reading statement, on behalf of a tenant or of [`EVERYBODY`].
    pub(super) async fn rows(&self, tenant: &str, query: Query<'_>) -> Result<Vec<PgRow>, StorageError> {
        let mut session = self.start(tenant, BEGIN_READ).await?;
        let rows = session.rows(query).await?;
        self.end(session).await?;
        Ok(rows)
    }

    /// The number of rows that a statement changed.
    pub(super) async fn change(&self, tenant: &str, query: Query<'_>) -> Result<u64, StorageError> {
        let mut session = self.start(tenant, BEGIN_SMALL).await?;
        let count = session.count(query).await?;
        self.end(session).await?;
        Ok(count)
    }

    /// A transaction for a few statements outside the write path.
    pub(super) async fn small_transaction(&self) -> Result<Session, StorageError> {
        let mut session = self.open().await?;
        session.begin(BEGIN_SMALL).await?;
        if self.fenced {
            session.enter(EVERYBODY).await?;
        }
        Ok(session)
    }
}
