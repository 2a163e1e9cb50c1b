//! Where a test keeps its data: a file in a folder of its own, or a database of its own on PostgreSQL.

use std::path::PathBuf;
use std::sync::Arc;

use ::cscp::domain::time::Clock;
use ::cscp::storage::Store;
use ::cscp::storage::postgres::{PostgresSettings, PostgresStore};
use ::cscp::storage::sqlite::SqliteStore;
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::leg;
use crate::postgres::{copy_of, database};

const NEEDED: &str = "there is no PostgreSQL, and this leg was asked for";

/// A database of a test's own. There is nothing in it but, on PostgreSQL, the schema.
pub(crate) enum Place {
    /// A file in this folder.
    File(TempDir),
    /// The database at this address.
    Server(String),
}

impl Place {
    /// One on the leg of this process.
    pub(crate) async fn new() -> Self {
        if leg::on_postgres() {
            let Some(url) = copy_of(MIGRATED.get_or_init(migrated).await).await else { panic!("{NEEDED}") };
            return Self::Server(url);
        }
        Self::File(tempfile::tempdir().unwrap())
    }

    /// Opens it, as often as it is called, for so many writers at once where the database lets them.
    pub(crate) async fn open(&self, clock: Arc<dyn Clock>, writers: u32) -> Arc<dyn Store> {
        match self {
            Self::File(folder) => Arc::new(SqliteStore::open(&file(folder), clock).await.unwrap()),
            Self::Server(url) => {
                let mut settings = settings(url);
                (settings.writers, settings.readers) = (writers, 4);
                settings.clock = Some(clock);
                Arc::new(PostgresStore::open(settings).await.unwrap())
            }
        }
    }
}

pub(crate) fn settings(url: &str) -> PostgresSettings {
    // What survives a loss of power is not tested here, and the server is as quick as it can be.
    PostgresSettings { unsafe_durability: true, ..PostgresSettings::new(url) }
}

/// The name of a database with the schema in it: to copy one is quicker than to make one.
static MIGRATED: OnceCell<String> = OnceCell::const_new();

async fn migrated() -> String {
    let Some(url) = database().await else { panic!("{NEEDED}") };
    PostgresStore::open(settings(&url)).await.unwrap().close().await;
    url.rsplit('/').next().and_then(|name| name.split('?').next()).unwrap().to_owned()
}

/// The database's file in its folder.
pub(crate) fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("test.db")
}
