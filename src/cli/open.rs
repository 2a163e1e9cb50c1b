//! Opens what the settings name: the database, the rules, and the service over both.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use tokio::task::JoinHandle;

use super::sole::Sole;
use super::{Failure, why};
use crate::committer::{Committer, Limits, RulesInForce};
use crate::config::{DatabaseUrl, PostgresUrl, ServeSettings, Settings, state_folder};
use crate::domain::id::TenantId;
use crate::domain::policy::PolicyError;
use crate::domain::rulebook::Rulebook;
use crate::domain::time::Clock;
use crate::service::retention::Retention;
use crate::service::{PolicyFailure, PolicyWatch, Service};
use crate::storage::FileTimelines;
use crate::storage::postgres::{PostgresSettings, PostgresStore};
use crate::storage::sqlite::SqliteStore;
use crate::storage::{StorageError, Store, Timelines};
use crate::system::{SystemClock, SystemEntropy};

/// Opens the database of a server, with the folder of the state that must not be restored with the database. A missing
/// database file is created with its folder: see [`expect_database`].
pub(super) async fn store_remembered_in(settings: &Settings, memory: Option<&Path>) -> Result<Arc<dyn Store>, Failure> {
    match settings.database() {
        DatabaseUrl::Sqlite(path) => file(path).await,
        DatabaseUrl::Postgres(url) => {
            let mut chosen = postgres(url, settings);
            chosen.timelines = timelines(memory);
            match PostgresStore::open(chosen).await {
                Ok(store) => Ok(Arc::new(store)),
                Err(error) => Err(unopened(url, &error).await),
            }
        }
    }
}

/// Opens an existing database. Only `cscp migrate` and the server make one: with every other command a missing file is a
/// mistyped name.
pub(super) async fn existing(settings: &Settings) -> Result<Arc<dyn Store>, Failure> {
    there(settings)?;
    store_remembered_in(settings, None).await
}

/// Refuses a server on a file that was named and is missing: it would serve an empty database, and nobody would see why.
pub(super) fn expect_database(settings: &Settings, serve: &ServeSettings) -> Result<(), Failure> {
    if serve.create_database || !settings.names_database() { Ok(()) } else { there(settings) }
}

/// Refuses where the database file is missing, and says how to make one.
pub(super) fn there(settings: &Settings) -> Result<(), Failure> {
    let DatabaseUrl::Sqlite(path) = settings.database() else { return Ok(()) };
    match path.try_exists() {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::new(format!(
            "there is no database {0}; if the name is right, make it: cscp migrate --database {0}",
            path.display()
        ))),
        Err(error) => Err(Failure::new(format!("{} cannot be looked at: {error}", path.display()))),
    }
}

/// Why a command that examines tenants found none. An examination of nothing must not look like one that passed.
pub(super) fn no_tenant(wanted: Option<&TenantId>) -> Failure {
    Failure::new(match wanted {
        Some(tenant_id) => format!("no tenant {tenant_id}"),
        None => "the database has no tenant, so there is nothing to examine; is it the right one?".to_owned(),
    })
}

async fn unopened(url: &PostgresUrl, error: &StorageError) -> Failure {
    Failure::new(format!("{url} cannot be opened: {}", why::of_hosts(url, error).await))
}

fn postgres(url: &PostgresUrl, settings: &Settings) -> PostgresSettings {
    let options = &settings.postgres;
    let mut chosen = PostgresSettings::new(url.expose());
    chosen.writers = options.postgres_writers;
    chosen.readers = options.postgres_readers;
    chosen.pooler = options.postgres_pooler;
    chosen.unsafe_durability = options.postgres_unsafe_durability;
    chosen.require_standby = options.postgres_require_standby;
    chosen.row_security = options.postgres_row_security;
    chosen.migrate = !options.no_migrate;
    chosen
}

/// Where the timelines seen of database servers are stored: in the configured folder, or in this user's state folder.
fn timelines(memory: Option<&Path>) -> Option<Arc<dyn Timelines>> {
    let folder = memory.map(Path::to_owned).or_else(|| state_folder().map(|folder| folder.join("cscp")))?;
    let opened = FileTimelines::open(folder.join("timelines"));
    let opened = opened.inspect_err(|error| {
        let what = "the database's timelines cannot be stored; after a restart a former primary may go unnoticed";
        tracing::warn!(postgres.error = %error, "{what}");
    });
    opened.ok().map(|opened| Arc::new(opened) as Arc<dyn Timelines>)
}

/// The lock of the only server on a database file. The folder is created if it is missing.
pub(super) fn sole(settings: &Settings) -> Result<Sole, Failure> {
    if let DatabaseUrl::Sqlite(path) = settings.database() {
        make_folder(path)?;
        keep_private(path)?;
    }
    Sole::server(settings)
}

fn make_folder(path: &Path) -> Result<(), Failure> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::new(format!("the folder {} cannot be created: {error}", folder.display())))
}

async fn file(path: &Path) -> Result<Arc<dyn Store>, Failure> {
    make_folder(path)?;
    keep_private(path)?;
    let opened = SqliteStore::open(path, Arc::new(SystemClock)).await;
    let failed = |error| Failure::new(format!("{} cannot be opened: {}", path.display(), why::of_file(path, &error)));
    let store = opened.map_err(failed)?;
    Ok(Arc::new(store))
}

/// Creates a missing database file that only its owner can read: it will contain personal data. SQLite gives its other
/// files the same permissions. An existing file keeps its permissions.
#[cfg(unix)]
pub(super) fn keep_private(path: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let created = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match created {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Failure::new(format!("{} cannot be created: {error}", path.display()))),
    }
}

#[cfg(not(unix))]
pub(super) fn keep_private(_path: &Path) -> Result<(), Failure> {
    Ok(())
}

/// Reads the packs of the configured folder, or the built-in ones; reports everything that is wrong with them.
pub(super) fn packs(settings: &Settings) -> Result<Arc<Rulebook>, Failure> {
    let loaded = settings.pack_source().load();
    loaded.map(Arc::new).map_err(|errors| unloadable("the policy packs", &errors))
}

/// The rules of the configured folder, and the task that watches it. A folder that does not load is reported before a
/// database is opened.
pub(super) fn folder(settings: &Settings) -> Result<Option<(PolicyWatch, RulesInForce)>, Failure> {
    settings.policies.clone().map(PolicyWatch::of_folder).transpose().map_err(failed)
}

/// The same if no folder is configured.
pub(super) async fn published(store: &Arc<dyn Store>) -> Result<(PolicyWatch, RulesInForce), Failure> {
    PolicyWatch::of_database(Arc::clone(store)).await.map_err(failed)
}

fn failed(failure: PolicyFailure) -> Failure {
    match failure {
        PolicyFailure::Broken { what, errors } => unloadable(&what, &errors),
        failure => Failure::new(failure),
    }
}

fn unloadable(what: &str, errors: &[PolicyError]) -> Failure {
    let lines: Vec<String> = errors.iter().map(|error| format!("  {error}")).collect();
    Failure::new(format!("{what} do not load:\n{}", lines.join("\n")))
}

/// The program over a database: its use cases, its committer, and the running writer.
pub(super) struct House {
    pub(super) service: Service,
    pub(super) committer: Committer,
    pub(super) writer: JoinHandle<()>,
    pub(super) store: Arc<dyn Store>,
    rules: RulesInForce,
}

/// Assembles the program and starts its writer.
pub(super) fn house(store: Arc<dyn Store>, rules: RulesInForce) -> House {
    let entropy = Box::new(SystemEntropy);
    let (committer, writer) = Committer::new(Arc::clone(&store), rules.clone(), entropy, Limits::default());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let committer = committer.preparing(Arc::clone(&clock));
    let service = Service::new(Arc::clone(&store), committer.clone(), rules.clone(), clock, Box::new(SystemEntropy));
    House { service, committer, writer: tokio::spawn(writer.run()), store, rules }
}

impl House {
    /// The task that erases records past their time.
    pub(super) fn retention(&self) -> Retention {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let retention = Retention::new(Arc::clone(&self.store), self.rules.clone(), clock, Box::new(SystemEntropy));
        retention.watched(self.service.clocks().clone())
    }

    /// Takes no more work, finishes what was accepted, and closes the database.
    pub(super) async fn close(self) -> Result<(), Failure> {
        self.committer.stop();
        self.writer.await.map_err(|error| Failure::new(format!("the writer task failed: {error}")))?;
        self.store.close().await;
        Ok(())
    }
}

#[derive(Debug, Args)]
pub(crate) struct MigrateArguments {
    /// Let a PostgreSQL database keep tenants apart by itself as well, or stop it
    #[arg(long)]
    row_security: Option<Switch>,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

/// `cscp migrate`. Migrates the schema even if servers are configured not to.
pub(super) async fn migrate(settings: &Settings, arguments: &MigrateArguments) -> Result<ExitCode, Failure> {
    match (settings.database(), arguments.row_security) {
        (DatabaseUrl::Sqlite(path), None) => file(path).await?.close().await,
        (DatabaseUrl::Sqlite(_), Some(_)) => {
            return Err(Failure::new("a SQLite database has no row security; it is for PostgreSQL"));
        }
        (DatabaseUrl::Postgres(url), switch) => {
            let mut chosen = postgres(url, settings);
            chosen.migrate = true;
            if let Err(error) = PostgresStore::bring_up_to_date(&chosen).await {
                return Err(unopened(url, &error).await);
            }
            if let Some(switch) = switch {
                PostgresStore::set_row_security(&chosen, switch == Switch::On).await?;
            }
        }
    }
    println!("The schema is up to date.");
    match arguments.row_security {
        Some(Switch::On) => println!("Row security is on: start servers with --postgres-row-security."),
        Some(Switch::Off) => println!("Row security is off."),
        None => {}
    }
    Ok(ExitCode::SUCCESS)
}
