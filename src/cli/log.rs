//! The transparency log by the settings: its signer and its guard.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Failure;
use super::sole::warn_of_guard;
use crate::config::{DatabaseUrl, ServeSettings, Settings, SigningSeed, state_folder};
use crate::evidence::cosignature::WitnessKey;
use crate::service::transparency::{
    FileGuard, Guard, GuardError, NoGuard, Opening, Protection, Signer, Transparency, Witnesses, seeds_from, seeds_of,
};
use crate::storage::Store;
use crate::system::{SystemClock, SystemEntropy};

/// Where the files of the log lie that must outlive the program.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The key that signs; none if it is not in a file.
    pub(super) key: Option<PathBuf>,
    /// What was signed last; none if nothing remembers it.
    pub(super) guard: Option<PathBuf>,
    /// Whether the key was made by this start, which is the first one then.
    pub(super) new: bool,
}

/// Opens the log. A missing key is made; an unusable key or guard stops the start.
pub(super) fn open(
    settings: &Settings,
    serve: &ServeSettings,
    store: Arc<dyn Store>,
) -> Result<(Transparency, Places), Failure> {
    let key = serve.signing_key.clone().or_else(|| beside(settings, "signing-key"));
    let mut places = Places { new: key.as_ref().is_some_and(|key| !key.exists()), ..Places::default() };
    let signer = seeds(serve, key.as_deref())?.map(|seeds| Signer::new(serve.log_name.clone(), seeds));
    let guard = if let Some(signer) = &signer {
        places.key = key.filter(|_| given_seed(serve).is_none());
        let (guard, folder) = guard(settings, serve, signer)?;
        places.guard = folder;
        guard
    } else {
        tracing::warn!("no checkpoints of the evidence log are signed: set --signing-key to a file");
        Arc::new(NoGuard)
    };
    let witnesses = witnesses(serve, signer.as_ref())?;
    let log = Transparency::new(store, Arc::new(SystemClock), signer, guard);
    Ok((log.published(serve.publish_log).witnessed_by(witnesses), places))
}

/// The configured witnesses, if they differ from one another and from the log itself.
fn witnesses(serve: &ServeSettings, signer: Option<&Signer>) -> Result<Witnesses, Failure> {
    // An empty variable counts as unset. An option without a key is a mistake: nobody would notice that nobody witnesses.
    if serve.has_witness_without_key() {
        return Err(Failure::new("--witness: the key is empty; give NAME+KEYID+BASE64, or leave the option out"));
    }
    let named = serve.witnesses.iter().filter(|vkey| !vkey.is_empty());
    let read = named.map(|vkey| {
        let why = "not the key of a witness: give NAME+KEYID+BASE64, as it writes its key for cosignature/v1 (the key of a \
                   log is another)";
        WitnessKey::parse(vkey).map_err(|_| Failure::new(format!("--witness {vkey}: {why}")))
    });
    let witnesses = Witnesses::new(read.collect::<Result<_, _>>()?, serve.witness_quorum);
    let witnesses = witnesses.and_then(|named| match signer {
        Some(signer) => named.others_than(signer),
        None => Ok(named),
    });
    witnesses.map_err(|error| Failure::new(format!("--witness: {error}")))
}

/// A path next to the database file, if there is one.
fn beside(settings: &Settings, ending: &str) -> Option<PathBuf> {
    match settings.database() {
        DatabaseUrl::Sqlite(path) => Some(path.with_extension(ending)),
        DatabaseUrl::Postgres(_) => None,
    }
}

/// The key itself, if it was given. An empty variable counts as unset.
fn given_seed(serve: &ServeSettings) -> Option<&SigningSeed> {
    serve.signing_seed.as_ref().filter(|seed| !seed.expose().trim().is_empty())
}

fn seeds(serve: &ServeSettings, file: Option<&Path>) -> Result<Option<Vec<[u8; 32]>>, Failure> {
    if let Some(seed) = given_seed(serve) {
        return seeds_from(seed.expose()).map(Some).map_err(Failure::new);
    }
    file.map(|path| seeds_of(path, &mut SystemEntropy)).transpose().map_err(Failure::new)
}

/// A guard, and its folder if it has one.
type Guarded = (Arc<dyn Guard>, Option<PathBuf>);

/// The guard: in the configured folder; otherwise in this user's state folder; otherwise next to the database file,
/// with a warning.
fn guard(settings: &Settings, serve: &ServeSettings, signer: &Signer) -> Result<Guarded, Failure> {
    let keys = signer.fingerprints().map_err(Failure::new)?;
    let former = beside(settings, "guard");
    let open = |folder: PathBuf| -> Result<Guarded, GuardError> {
        let protection = if lies_beside(&folder, settings) { Protection::BesideDatabase } else { Protection::File };
        let former = former.iter().filter(|former| **former != folder).cloned().collect();
        let opening = Opening {
            folder: folder.clone(),
            protection,
            prefix: signer.prefix().to_owned(),
            keys: keys.clone(),
            former,
        };
        let guard = FileGuard::open(opening)?;
        say_where(&folder, protection);
        warn_of_guard(&folder);
        Ok((Arc::new(guard), Some(folder)))
    };
    if let Some(folder) = &serve.log_guard {
        let failed = |error| Failure::new(format!("--log-guard {} cannot be used: {error}", folder.display()));
        return open(folder.clone()).map_err(failed);
    }
    if let Some(folder) = state_folder() {
        match open(folder.join("cscp/guard")) {
            Ok(guard) => return Ok(guard),
            Err(error) => tracing::warn!(log.error = %error, "the user's state folder cannot be used for the guard"),
        }
    }
    if let Some(folder) = former.clone() {
        return open(folder).map_err(Failure::new);
    }
    let what = "nothing outside the database remembers what was signed, so a restored backup would go unnoticed: \
                name a folder with --log-guard";
    tracing::warn!("{what}");
    Ok((Arc::new(NoGuard), None))
}

/// Whether a folder is in or below the folder of the database file, so that one backup copies both.
fn lies_beside(folder: &Path, settings: &Settings) -> bool {
    let DatabaseUrl::Sqlite(path) = settings.database() else { return false };
    let whole = |path: &Path| std::path::absolute(path).ok();
    let of_database = whole(path).and_then(|path| path.parent().map(Path::to_owned));
    of_database.zip(whole(folder)).is_some_and(|(of_database, folder)| folder.starts_with(of_database))
}

fn say_where(folder: &Path, protection: Protection) {
    let folder = folder.display();
    if protection == Protection::BesideDatabase {
        let what = "the last signed checkpoints are stored next to the database: a restored copy of both goes \
                    unnoticed; name a folder elsewhere with --log-guard";
        tracing::warn!(log.guard = %folder, "{what}");
    } else {
        tracing::info!(log.guard = %folder, "the last signed checkpoints are remembered outside the database");
    }
}

/// Compares the log with the guard before the first request, and logs every difference.
pub(super) async fn compare(log: &Transparency) -> Result<(), Failure> {
    for tenant_id in log.adopt().await.map_err(Failure::new)? {
        if log.protection() != Protection::None {
            let what = "a checkpoint was signed before, and the guard remembered none: it was lost or is new, and notices from \
                        now on whether a backup is put back";
            tracing::warn!(tenant = %tenant_id, "{what}");
        }
    }
    log.compare_with_guard().await.map_err(Failure::new)?;
    Ok(())
}
