//! Where the rules come from while the server runs, and how the next ones get there.
//!
//! A server lives by a folder, or, without one, by what was published for every server on its database, or by the packs
//! that the program brings along. It looks again and again. All or nothing: what does not load changes nothing, the
//! former rules stay in force, and that is visible.

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

/// Between two looks at a folder.
const LOOK_AT_FOLDER: Duration = Duration::from_secs(2);
/// Between two questions for the newest published version.
const ASK_DATABASE: Duration = Duration::from_secs(1);

/// What the rules in force were read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyOrigin {
    /// The program brings them along.
    Shipped,
    /// They were published for every server on the database.
    Published,
    /// A folder that this server was started with.
    Folder,
}

impl PolicyOrigin {
    /// Its word on the wire and in logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::Published => "published",
            Self::Folder => "folder",
        }
    }
}

/// Which rules are in force, and whether they are the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyStatus {
    /// What they were read from.
    pub origin: PolicyOrigin,
    /// The published version that put them in force, if one did.
    pub version: Option<u64>,
    /// Newer ones could not be taken up, or it is not known whether there are any: the former ones are in force.
    pub stale: bool,
}

impl PolicyStatus {
    /// Rules that nothing replaces.
    pub(super) fn fixed() -> watch::Receiver<Self> {
        watch::channel(Self { origin: PolicyOrigin::Shipped, version: None, stale: false }).1
    }
}

/// Why rules could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyFailure {
    /// They do not load.
    #[error("{what} do not load: {}", joined(.errors))]
    Broken {
        what: String,
        /// Everything that is wrong with them.
        errors: Vec<PolicyError>,
    },
    /// The database does not tell.
    #[error("the published policies cannot be read: {0}")]
    Storage(#[from] StorageError),
    #[error("the policies could not be read")]
    Lost,
}

fn joined(errors: &[PolicyError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
}

/// What a look found.
enum Found {
    /// What is in force.
    Same,
    /// Something on its way: the next look will tell.
    Unsettled,
    /// What failed before, unchanged.
    Failing,
    /// New rules, and the published version that they are.
    New(Arc<Rulebook>, PolicyOrigin, Option<u64>),
    /// Something that cannot be taken up.
    Failed(PolicyFailure),
}

/// What came of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// The rules are as they were.
    Unchanged,
    /// New rules are in force.
    Replaced,
    /// New rules could not be taken up; the former ones are in force.
    Failed,
}

enum Source {
    Folder(Arc<Mutex<FolderWatch>>),
    Database(DatabaseWatch),
}

/// Looks at where the rules come from, and replaces those in force.
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
    /// Reads a folder, and will look at it. Blocks on the disk.
    pub fn of_folder(folder: PathBuf) -> Result<(Self, RulesInForce), PolicyFailure> {
        let (watch, rules) = FolderWatch::new(folder)?;
        Ok(Self::new(Source::Folder(Arc::new(Mutex::new(watch))), rules, PolicyOrigin::Folder, None))
    }

    /// Reads the newest published set, or takes the packs that the program brings along, and will ask for newer ones.
    /// A newest set that does not load is an error: nobody chose what an older one would decide.
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

    /// What is in force now and from now on.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<PolicyStatus> {
        self.status.subscribe()
    }

    /// Looks once, and replaces the rules if there are new ones that load.
    pub async fn poll(&mut self) -> Polled {
        let found = match &mut self.source {
            Source::Folder(folder) => {
                let folder = Arc::clone(folder);
                // Reading files blocks. A look that panicked has left nothing half done that the next would trust.
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
            tracing::info!("the policies in force are the newest again");
            self.status.send_modify(|status| status.stale = false);
        }
        Polled::Unchanged
    }

    fn failed(&mut self, failure: &PolicyFailure) -> Polled {
        metrics::counter!("cscp_policy_reload_failures_total").increment(1);
        let complaint = failure.to_string();
        if self.complaint.as_ref() != Some(&complaint) {
            tracing::error!(policy.error = %complaint, "policies could not be taken up; the former ones stay in force");
            self.complaint = Some(complaint);
        }
        self.status.send_modify(|status| status.stale = true);
        Polled::Failed
    }

    /// Looks until it is told to stop.
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

/// The packs of a rulebook, by what names them.
pub(super) fn packs_of(rules: &Rulebook) -> impl Iterator<Item = &PolicyRef> {
    rules.book().packs().filter_map(|pack| rules.book().pack(&pack.pack_id)).map(LoadedPack::reference)
}
