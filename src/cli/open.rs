//! Opening what the settings name: the database, the rules, and the house over both.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::task::JoinHandle;

use super::Failure;
use crate::config::{DatabaseUrl, Settings};
use crate::domain::rulebook::Rulebook;
use crate::domain::time::Clock;
use crate::service::Service;
use crate::storage::Store;
use crate::storage::committer::{Committer, Limits};
use crate::storage::sqlite::SqliteStore;
use crate::system::{SystemClock, SystemEntropy};

/// Opens the database, creating the folder and the file where they are missing.
pub(super) async fn store(settings: &Settings) -> Result<Arc<dyn Store>, Failure> {
    let DatabaseUrl::Sqlite(path) = &settings.database;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format!("the folder {} cannot be created: {error}", folder.display())))?;
    }
    keep_private(path)?;
    let opened = SqliteStore::open(path, Arc::new(SystemClock)).await;
    let store = opened.map_err(|error| Failure::new(format!("{} cannot be opened: {error}", path.display())))?;
    Ok(Arc::new(store))
}

/// Creates a missing database file so that only its owner reads it: it will hold personal data. SQLite gives the files
/// beside it the same permissions. A file that exists keeps what its owner chose.
#[cfg(unix)]
fn keep_private(path: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let created = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match created {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Failure::new(format!("{} cannot be created: {error}", path.display()))),
    }
}

#[cfg(not(unix))]
fn keep_private(_path: &Path) -> Result<(), Failure> {
    Ok(())
}

/// Reads the policy packs, or says everything that is wrong with them.
pub(super) fn rules(settings: &Settings) -> Result<Arc<Rulebook>, Failure> {
    let loaded = settings.pack_source().load();
    let complaints = loaded.map(Arc::new);
    complaints.map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(|error| format!("  {error}")).collect();
        Failure::new(format!("the policy packs do not load:\n{}", lines.join("\n")))
    })
}

/// The house over a database: its use cases, its way in, and the writer at work.
pub(super) struct House {
    pub(super) service: Service,
    pub(super) committer: Committer,
    pub(super) writer: JoinHandle<()>,
    pub(super) store: Arc<dyn Store>,
}

/// Builds the house and sets its writer to work.
pub(super) fn house(store: Arc<dyn Store>, rules: Arc<Rulebook>) -> House {
    let entropy = Box::new(SystemEntropy);
    let (committer, writer) = Committer::new(Arc::clone(&store), Arc::clone(&rules), entropy, Limits::default());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let service = Service::new(Arc::clone(&store), committer.clone(), rules, clock, Box::new(SystemEntropy));
    House { service, committer, writer: tokio::spawn(writer.run()), store }
}

impl House {
    /// Takes no more work, finishes what was accepted, and closes the database.
    pub(super) async fn close(self) -> Result<(), Failure> {
        self.committer.stop();
        self.writer.await.map_err(|error| Failure::new(format!("the writer ended badly: {error}")))?;
        self.store.close().await;
        Ok(())
    }
}

/// `cscp migrate`.
pub(super) async fn migrate(settings: &Settings) -> Result<ExitCode, Failure> {
    store(settings).await?.close().await;
    println!("The schema is up to date.");
    Ok(ExitCode::SUCCESS)
}
