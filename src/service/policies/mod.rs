//! Where the rules come from, and how they are replaced while the server runs.
//!
//! The source is a folder, or else the set published for every server on the database, or else the built-in packs. It
//! is polled. A set that does not load changes nothing: the former rules stay in force, and the status reports it as
//! stale.

mod database;
mod folder;
mod publishing;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use self::database::DatabaseWatch;
use self::folder::FolderWatch;
pub use self::publishing::{PublishError, Published, publish_policies, withdraw_policies};
use crate::committer::RulesInForce;
use crate::domain::policy::{LoadedPack, PolicyError, PolicyRef};
use crate::domain::rulebook::Rulebook;
use crate::storage::{StorageError, Store};

/// How often a folder is polled.
const LOOK_AT_FOLDER: Duration = Duration::from_secs(2);
/// How often the database is polled for a newer version.
const ASK_DATABASE: Duration = Duration::from_secs(1);

/// The source of the rules in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyOrigin {
    /// Built into the program.
    Shipped,
    /// They were published for every server on the database.
    Published,
    /// A folder that this server was started with.
    Folder,
}

impl PolicyOrigin {
    /// Its name on the wire and in logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::Published => "published",
            Self::Folder => "folder",
        }
    }
}

/// The rules in force, and whether they are the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyStatus {
    pub origin: PolicyOrigin,
    /// The published version that put them in force, if any.
    pub version: Option<u64>,
    /// Newer rules failed to load, or it is unknown whether there are any; the former ones stay in force.
    pub stale: bool,
}

impl PolicyStatus {
    /// The status of rules that are never replaced.
    pub(super) fn fixed() -> watch::Receiver<Self> {
        watch::channel(Self { origin: PolicyOrigin::Shipped, version: None, stale: false }).1
    }
}

/// Why rules could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyFailure {
    #[error("{what} do not load: {}", joined(.errors))]
    Broken {
        what: String,
        /// Everything that is wrong with them.
        errors: Vec<PolicyError>,
    },
    #[error("the published policies cannot be read: {0}")]
    Storage(#[from] StorageError),
    #[error("the policies could not be read")]
    Lost,
}

fn joined(errors: &[PolicyError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
}

enum Found {
    Same,
    /// A change in progress: the next poll decides.
    Unsettled,
    /// The same failure as before.
    Failing,
    /// New rules, and their published version.
    New(Arc<Rulebook>, PolicyOrigin, Option<u64>),
    /// New rules that cannot be loaded.
    Failed(PolicyFailure),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// The rules are as they were.
    Unchanged,
    /// New rules are in force.
    Replaced,
    /// New rules failed to load; the former ones stay in force.
    Failed,
}

enum Source {
    Folder(Arc<Mutex<FolderWatch>>),
    Database(DatabaseWatch),
}

/// Polls the source of the rules and replaces those in force.
pub struct PolicyWatch {
    source: Source,
    rules: watch::Sender<Arc<Rulebook>>,
    status: watch::Sender<PolicyStatus>,
    complaint: Option<String>,
}

impl std::fmt::Debug for PolicyWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PolicyWatch").field("status", &*self.status.borrow()).finish_non_exhaustive()
    }
}

impl PolicyWatch {
    /// Reads a folder and prepares to poll it. Blocks on the disk.
    pub fn of_folder(folder: PathBuf) -> Result<(Self, RulesInForce), PolicyFailure> {
        let (watch, rules) = FolderWatch::new(folder)?;
        Ok(Self::new(Source::Folder(Arc::new(Mutex::new(watch))), rules, PolicyOrigin::Folder, None))
    }

    /// Reads the newest published set, or the built-in packs if there is none, and prepares to poll for newer ones. If
    /// the newest set does not load, that is an error: nobody has chosen to be ruled by an older one.
    pub async fn of_database(store: Arc<dyn Store>) -> Result<(Self, RulesInForce), PolicyFailure> {
        let (watch, rules, origin, version) = DatabaseWatch::new(store).await?;
        Ok(Self::new(Source::Database(watch), rules, origin, version))
    }

    fn new(source: Source, first: Arc<Rulebook>, origin: PolicyOrigin, version: Option<u64>) -> (Self, RulesInForce) {
        announce("policies in force", &first, origin, version);
        let (rules, in_force) = RulesInForce::replaceable(first);
        let status = watch::Sender::new(PolicyStatus { origin, version, stale: false });
        (Self { source, rules, status, complaint: None }, in_force)
    }

    /// The status now, and a way to follow it.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<PolicyStatus> {
        self.status.subscribe()
    }

    /// Polls once, and replaces the rules if there are new ones that load.
    pub async fn poll(&mut self) -> Polled {
        let found = match &mut self.source {
            Source::Folder(folder) => {
                let folder = Arc::clone(folder);
                // Reading files blocks. A poll that panicked leaves no state that the next one relies on.
                let look = move || folder.lock().unwrap_or_else(PoisonError::into_inner).look();
                tokio::task::spawn_blocking(look).await.unwrap_or(Found::Failed(PolicyFailure::Lost))
            }
            Source::Database(database) => database.look().await,
        };
        let polled = match found {
            Found::Same => self.settled(),
            Found::Unsettled | Found::Failing => Polled::Unchanged,
            Found::New(rules, origin, version) => self.replace(rules, origin, version),
            Found::Failed(failure) => self.failed(&failure),
        };
        let status = *self.status.borrow();
        metrics::gauge!("cscp_policy_stale").set(f64::from(u8::from(status.stale)));
        polled
    }

    fn replace(&mut self, rules: Arc<Rulebook>, origin: PolicyOrigin, version: Option<u64>) -> Polled {
        announce("new policies in force", &rules, origin, version);
        metrics::counter!("cscp_policy_reloads_total").increment(1);
        self.rules.send_replace(rules);
        self.status.send_replace(PolicyStatus { origin, version, stale: false });
        self.complaint = None;
        Polled::Replaced
    }

    fn settled(&mut self) -> Polled {
        if self.complaint.take().is_some() {
            tracing::info!("the newest policies are in force again");
            self.status.send_modify(|status| status.stale = false);
        }
        Polled::Unchanged
    }

    fn failed(&mut self, failure: &PolicyFailure) -> Polled {
        metrics::counter!("cscp_policy_reload_failures_total").increment(1);
        let complaint = failure.to_string();
        if self.complaint.as_ref() != Some(&complaint) {
            tracing::error!(policy.error = %complaint, "new policies failed to load; the former ones stay in force");
            self.complaint = Some(complaint);
        }
        self.status.send_modify(|status| status.stale = true);
        Polled::Failed
    }

    /// Polls until the server stops.
    pub async fn follow_until(mut self, stopped: impl Future<Output = ()>) {
        let pause = match self.source {
            Source::Folder(_) => LOOK_AT_FOLDER,
            Source::Database(_) => ASK_DATABASE,
        };
        let mut ticks = tokio::time::interval(pause);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let follow = async {
            loop {
                ticks.tick().await;
                self.poll().await;
            }
        };
        tokio::select! {
            () = follow => {}
            () = stopped => {}
        }
    }
}

fn announce(what: &str, rules: &Rulebook, origin: PolicyOrigin, version: Option<u64>) {
    let packs = packs_of(rules).map(|pack| format!("{} {} {}", pack.pack_id, pack.version, pack.hash));
    let packs = packs.collect::<Vec<_>>().join(", ");
    tracing::info!(policy.origin = origin.as_str(), policy.version = version, policy.packs = %packs, "{what}");
}

/// References to the packs of a rulebook.
pub(super) fn packs_of(rules: &Rulebook) -> impl Iterator<Item = &PolicyRef> {
    rules.book().packs().filter_map(|pack| rules.book().pack(&pack.pack_id)).map(LoadedPack::reference)
}
