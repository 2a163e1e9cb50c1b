//! Where a test keeps its data: a file in a folder of its own, or a database of its own on PostgreSQL.

use std::path::PathBuf;
use std::sync::Arc;

use ::cscp::domain::time::Clock;
use ::cscp::storage::Store;
use ::cscp::storage::postgres::{PostgresSettings, PostgresStore};
use ::cscp::storage::sqlite::SqliteStore;
use tempfile::TempDir;

use crate::{leg, postgres};

/// A database that was empty when it was made.
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
            let Some(url) = postgres::database().await else { panic!("this leg needs a PostgreSQL") };
            return Self::Server(url);
        }
        Self::File(tempfile::tempdir().unwrap())
    }

    /// Opens it, as often as it is called.
    pub(crate) async fn open(&self, clock: Arc<dyn Clock>) -> Arc<dyn Store> {
        match self {
            Self::File(folder) => Arc::new(SqliteStore::open(&file(folder), clock).await.unwrap()),
            Self::Server(url) => {
                let mut settings = PostgresSettings::new(url.clone());
                settings.clock = Some(clock);
                settings.readers = 4;
                // What survives a loss of power is not tested here, and the server is as quick as it can be.
                settings.unsafe_durability = true;
                Arc::new(PostgresStore::open(settings).await.unwrap())
            }
        }
    }
}

/// The database's file in its folder.
pub(crate) fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("test.db")
}
