//! A folder of its own for each test, and the program run in it by hand.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use tempfile::TempDir;

use crate::leg;
use crate::postgres::{database, say};

/// The tenant of all tests.
pub(crate) const TENANT: &str = "shop";

/// What the person who runs the tests may have set for a server of their own.
const SETTINGS: &[&str] = &[
    "CSCP_DATABASE",
    "CSCP_POLICIES",
    "CSCP_LOG_FORMAT",
    "CSCP_LOG",
    "CSCP_LISTEN",
    "CSCP_OPS_LISTEN",
    "CSCP_METRICS_LISTEN",
    "CSCP_NO_DEMO_TENANT",
    "CSCP_CREATE_DATABASE",
    "CSCP_SHOW_KEYS",
    "CSCP_API_KEY",
    "CSCP_SIGNING_KEY",
    "CSCP_SIGNING_SEED",
    "CSCP_LOG_GUARD",
    "CSCP_WITNESSES",
    "CSCP_WITNESS_QUORUM",
];

/// Says where programs keep what they remember from one run to the next.
pub(crate) const STATE: &str = "XDG_STATE_HOME";

/// A program without the settings of whoever runs the tests.
pub(crate) fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    for name in SETTINGS {
        command.env_remove(name);
    }
    // A folder that cannot be made: what a test starts leaves nothing in the home of whoever runs it.
    command.env(STATE, "/dev/null").stdin(Stdio::null());
    command
}

/// The program under test.
pub(crate) fn cscp() -> Command {
    program(BINARY)
}

/// Where the program under test is.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_cscp");

/// A folder that goes away with the test, and the address of a database if it has none in it.
pub(crate) struct Folder {
    data: TempDir,
    state: TempDir,
    url: Option<String>,
}

impl Folder {
    /// An empty one.
    pub(crate) fn empty() -> Self {
        let url = leg::on_postgres().then(|| {
            // Called from within a runtime, too, where this thread must not wait for another one's.
            let made = std::thread::spawn(|| tokio::runtime::Runtime::new().unwrap().block_on(database()));
            made.join().unwrap().expect("a PostgreSQL, because this leg was asked for")
        });
        Self { data: tempfile::tempdir().unwrap(), state: tempfile::tempdir().unwrap(), url }
    }

    /// One with a database and the tenant of all tests in it.
    pub(crate) fn with_tenant() -> Self {
        let folder = Self::with_database();
        folder.done(&["tenant", "create", TENANT]);
        folder
    }

    /// One with a database that has no tenant.
    pub(crate) fn with_database() -> Self {
        let folder = Self::empty();
        folder.done(&["migrate"]);
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.data.path()
    }

    /// Where programs keep what they remember from one run to the next.
    pub(crate) fn state(&self) -> &Path {
        self.state.path()
    }

    /// Where the database is, as the program is told.
    pub(crate) fn database(&self) -> OsString {
        self.url.as_ref().map_or_else(|| self.file().into(), OsString::from)
    }

    fn file(&self) -> PathBuf {
        self.path().join("test.db")
    }

    /// Whether the program has put anything into the database.
    pub(crate) async fn is_untouched(&self) -> bool {
        let Some(url) = &self.url else { return !self.file().exists() };
        let mut sql = PgConnection::connect(url).await.unwrap();
        let tables = "SELECT count(*) FROM pg_tables WHERE schemaname <> ALL ('{pg_catalog,information_schema}')";
        sqlx::query_scalar::<_, i64>(tables).fetch_one(&mut sql).await.unwrap() == 0
    }

    /// A command on the folder's database.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = cscp();
        command.current_dir(self.path()).env(STATE, self.state());
        command.args(arguments).arg("--database").arg(self.database());
        command
    }

    /// Runs a command on the folder's database.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that has to succeed; returns what it printed.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "cscp {}: {output:?}", arguments.join(" "));
        printed(&output)
    }

    /// A fresh key as `cscp key create --json` prints it.
    pub(crate) fn new_key(&self, kind: &str) -> Value {
        let text = self.done(&["key", "create", "--tenant", TENANT, "--kind", kind, "--json"]);
        serde_json::from_str(&text).unwrap()
    }

    /// The secret of a fresh key.
    pub(crate) fn key(&self, kind: &str) -> String {
        self.new_key(kind)["key"].as_str().unwrap().to_owned()
    }

    async fn sqlite(&self) -> SqliteConnection {
        SqliteConnection::connect(&format!("sqlite:{}", self.file().display())).await.unwrap()
    }

    /// Changes the database itself, past the program, with a statement that returns one text.
    pub(crate) async fn changed(&self, sql: &'static str) -> String {
        if let Some(url) = &self.url {
            let mut connection = PgConnection::connect(url).await.unwrap();
            sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
        } else {
            sqlx::query_scalar(sql).fetch_one(&mut self.sqlite().await).await.unwrap()
        }
    }

    /// Has the program follow every chain and compare every row with the log, and SQLite look at every page.
    pub(crate) async fn expect_sound(&self) {
        assert!(self.done(&["verify"]).contains("Every chain holds."));
        assert!(self.done(&["replay", "--verify"]).contains("is as the log says."));
        if self.url.is_none() {
            assert_eq!(self.changed("PRAGMA integrity_check").await, "ok");
        }
    }
}

/// What a command wrote to standard output.
pub(crate) fn printed(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What a command wrote to standard error.
pub(crate) fn complained(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The repository's folder: test runners start in it, and the program under test does not.
pub(crate) fn repository() -> PathBuf {
    std::env::current_dir().unwrap()
}

/// Whether a tool is there. Says loudly what is not tested without it.
pub(crate) fn has_tool(name: &str, untested: &str) -> bool {
    let found = program(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        say(&format!("##### NOT TESTED, because there is no {name}: {untested}"));
    }
    found
}
