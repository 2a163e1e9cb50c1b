//! A connection at work: every statement has an end, and a connection in an unknown state is not used again.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgRow};
use sqlx::query::Query as SqlxQuery;
use sqlx::{AssertSqlSafe, PgPool, Postgres};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::heartbeat::Silence;
use super::hosts::Hosts;
use super::judge::Judge;
use super::rows::failed;
use crate::storage::StorageError;

/// A statement with its values.
pub(super) type Query<'q> = SqlxQuery<'q, Postgres, PgArguments>;

/// How long an answer is waited for: longer than the server itself allows a statement. That the whole database has gone
/// silent shows earlier, see [`super::heartbeat`].
const ANSWER: Duration = Duration::from_secs(15);
/// How long a rollback may take before the connection is closed instead.
const ROLLBACK: Duration = Duration::from_secs(2);

/// What holds for every transaction that writes. A lock that is not free soon is not waited for; what a dead process
/// holds comes free by itself. The rest keeps plans the same for small and large tables: look-ups by key, planned once.
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
/// Statements that a connection keeps prepared.
const STATEMENTS: usize = 256;
/// Begins a transaction that writes, on a connection that has the rules from its start.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// A connection of the write path: it has the rules from its start, so that no transaction pays for them. A pooler lends
/// its connections to others, so there each transaction brings its own rules along.
pub(super) fn with_rules(options: PgConnectOptions) -> PgConnectOptions {
    // Statements differ by what a batch has rows for: all that occur stay prepared.
    options.options(RULES).statement_cache_capacity(STATEMENTS)
}

/// Begins a transaction behind a pooler: all of it is one round trip, and all of it ends with the transaction.
fn begin_with_rules() -> String {
    let rules = RULES.map(|(name, value)| format!("; SET LOCAL {name} = '{value}'"));
    format!("{BEGIN}{}", rules.concat())
}

/// Lets a lone operation wait longer for its locks.
pub(super) const WAIT: &str = "SET LOCAL lock_timeout = '1s'";
/// Begins a transaction that changes a row or two of the house's own.
const BEGIN_SMALL: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
    SET LOCAL lock_timeout = '2s';
    SET LOCAL statement_timeout = '10s';
    SET LOCAL idle_in_transaction_session_timeout = '5s'";
/// Begins a transaction that reads.
const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY;
    SET LOCAL statement_timeout = '10s'";

/// The name of whoever may see every tenant, where rows are fenced.
pub(super) const EVERYBODY: &str = "*";

/// A connection out of a pool.
pub(super) struct Session {
    connection: Option<PoolConnection<Postgres>>,
    /// Ends every wait when the database is lost.
    silence: Silence,
    /// Whether statements keep their names on the connection, to be planned once.
    named: bool,
    /// Whether a transaction is open.
    open: bool,
    /// Whether an answer is outstanding.
    cut: bool,
}

impl Session {
    /// Has the connection closed when this is over: what it leads to is not to be used.
    pub(super) fn give_up(&mut self) {
        self.cut = true;
    }

    /// The rows that a statement returns.
    pub(super) async fn rows(&mut self, query: Query<'_>) -> Result<Vec<PgRow>, StorageError> {
        let query = query.persistent(self.named);
        let silence = self.silence.clone();
        let answer = silence.or(timeout(ANSWER, query.fetch_all(&mut **self.ask()?))).await?;
        self.settle(answer)
    }

    /// The one row that a statement returns.
    pub(super) async fn one(&mut self, query: Query<'_>) -> Result<PgRow, StorageError> {
        let query = query.persistent(self.named);
        let silence = self.silence.clone();
        let answer = silence.or(timeout(ANSWER, query.fetch_one(&mut **self.ask()?))).await?;
        self.settle(answer)
    }

    /// How many rows a statement changed.
    pub(super) async fn count(&mut self, query: Query<'_>) -> Result<u64, StorageError> {
        let query = query.persistent(self.named);
        let silence = self.silence.clone();
        let answer = silence.or(timeout(ANSWER, query.execute(&mut **self.ask()?))).await?;
        self.settle(answer).map(|done| done.rows_affected())
    }

    /// Statements without values, in one round trip.
    async fn simple(&mut self, sql: impl Into<Cow<'static, str>>) -> Result<(), StorageError> {
        let sql = AssertSqlSafe(sql.into().into_owned());
        let silence = self.silence.clone();
        let answer = silence.or(timeout(ANSWER, sqlx::raw_sql(sql).execute(&mut **self.ask()?))).await?;
        self.settle(answer).map(drop)
    }

    /// A setting for the rest of the transaction.
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

    /// Shows the rows of one tenant, or of everybody, for the rest of the transaction, where rows are fenced.
    pub(super) async fn enter(&mut self, tenant: &str) -> Result<(), StorageError> {
        let sql = "-- postgres: session.enter\nSELECT set_config('cscp.tenant', $1, true)";
        self.rows(sqlx::query(sql).bind(tenant)).await.map(drop)
    }

    /// The connection, from now on with an answer outstanding.
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

/// After a complaint of the database the connection is as good as before, unless it was the server's last word on it:
/// it shuts down (57P…), or a transaction was idle for too long (25P03).
fn ends_the_connection(error: &sqlx::Error) -> bool {
    let Some(complaint) = error.as_database_error() else { return true };
    complaint.code().is_some_and(|code| code.starts_with("57P") || code == "25P03")
}

/// What was begun and not committed is rolled back; where that is not certain, the connection is closed, and the
/// database rolls back.
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

/// Why no transaction was begun.
pub(super) struct NotBegun {
    pub(super) error: StorageError,
    /// Whether it was for a connection that no longer works, so that the next one may do.
    pub(super) stale: bool,
}

/// Connections for statements that stand alone.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) pool: PgPool,
    /// Where the pool's connections lead.
    pub(super) hosts: Arc<Hosts>,
    pub(super) judge: Arc<Judge>,
    pub(super) named: bool,
    /// Whether the database keeps tenants apart by itself and has to be told for whom it is asked.
    pub(super) fenced: bool,
    /// Tells when the database is lost.
    pub(super) silence: Silence,
}

impl Desk {
    /// Whether a statement needs a transaction around it: without names, the driver sends it in two parts, which a
    /// pooler may give to two connections; and a tenant is named for a transaction only.
    fn wrapped(&self) -> bool {
        self.fenced || !self.named
    }

    async fn open(&self) -> Result<Session, StorageError> {
        let silence = self.silence.clone();
        // A large future, which each of the waits around it would hold twice.
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

    /// The rows that a reading statement returns, asked in the name of a tenant or of [`EVERYBODY`].
    pub(super) async fn rows(&self, tenant: &str, query: Query<'_>) -> Result<Vec<PgRow>, StorageError> {
        let mut session = self.start(tenant, BEGIN_READ).await?;
        let rows = session.rows(query).await?;
        self.end(session).await?;
        Ok(rows)
    }

    /// How many rows a statement changed.
    pub(super) async fn change(&self, tenant: &str, query: Query<'_>) -> Result<u64, StorageError> {
        let mut session = self.start(tenant, BEGIN_SMALL).await?;
        let count = session.count(query).await?;
        self.end(session).await?;
        Ok(count)
    }

    /// A transaction for a few statements of the house's own.
    pub(super) async fn small_transaction(&self) -> Result<Session, StorageError> {
        let mut session = self.open().await?;
        session.begin(BEGIN_SMALL).await?;
        if self.fenced {
            session.enter(EVERYBODY).await?;
        }
        Ok(session)
    }
}
