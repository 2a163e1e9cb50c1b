//! `cscp serve`: runs the server from start to shutdown.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

use super::ops::Ops;
use super::{Failure, first_run, log, open, sole};
use crate::committer::{Committer, WriteHealth};
use crate::config::{ServeSettings, Settings};
use crate::http::{HttpConfig, ListenLimits, listen, router};
use crate::storage::Store;

/// File descriptors reserved for everything but callers' connections: the database, the operators' listener, files.
const OTHER_DESCRIPTORS: u64 = 256;

/// How often the server checks that the committer's writer task is alive.
const WATCH: Duration = Duration::from_secs(1);

/// Runs until SIGINT or SIGTERM, then finishes what was accepted.
pub(super) async fn serve(settings: &Settings, serve: &ServeSettings) -> Result<ExitCode, Failure> {
    let folder = open::folder(settings)?;
    open::expect_database(settings, serve)?;
    let sole = open::sole(settings)?;
    let store = open::store_remembered_in(settings, serve.log_guard.as_deref()).await?;
    let listener = bind(serve.listen).await?;
    let address = listener.local_addr().map_err(Failure::new)?;
    let ops = Ops::bind(serve.ops()).await?;
    let (policies, rules) = match folder {
        Some(folder) => {
            say_what_is_passed_over(store.as_ref()).await?;
            folder
        }
        None => open::published(&store).await?,
    };
    let (log, places) = log::open(settings, serve, Arc::clone(&store))?;
    sole::warn_of_database(settings);
    log::compare(&log).await?;
    let (log, mut house) = (Arc::new(log), open::house(store, rules));
    house.service = house.service.with_policies(policies.status()).with_log(Arc::clone(&log));
    first_run::welcome(&house, address, settings, serve, &places).await?;
    let (stop, stopped) = watch::channel(false);
    let committer = house.committer.clone();
    let asked = asked_to_stop().map_err(Failure::new)?;
    tokio::spawn(async move {
        tokio::select! {
            () = asked => tracing::info!("stopping; requests that were accepted are finished"),
            () = writer_gone(committer) => tracing::error!("a writer task ended; the server stops"),
        }
        // If no receiver is left, everything has stopped already.
        stop.send_replace(true);
    });
    let ops = ops.map(|ops| ops.serve(house.service.clone(), until(stopped.clone())));
    let mut vigil = house.service.vigil();
    // The clocks are checked once before anything can be erased.
    if let Err(error) = vigil.look().await {
        tracing::warn!(storage.reason = %error, "the database did not answer at the start; the vigil asks again");
    }
    let watching = tokio::spawn(vigil.keep_until(until(stopped.clone())));
    let sweeper = tokio::spawn(house.service.clone().sweep_until(until(stopped.clone())));
    let holder = house.service.fresh_secret().to_hex();
    let (sequencing, comparing) = (until(stopped.clone()), until(stopped.clone()));
    let sequencer = tokio::spawn(async move {
        tokio::join!(log.sequence_until(&holder, sequencing), log.watch_until(comparing));
    });
    let retention = house.retention();
    let (holder, erasing) = (house.service.fresh_secret().to_hex(), until(stopped.clone()));
    let eraser = tokio::spawn(async move { retention.sweep_until(&holder, erasing).await });
    let following = tokio::spawn(policies.follow_until(until(stopped.clone())));
    let app = router(house.service.clone(), wire(serve));
    tracing::info!(http.address = %address, "listening");
    println!("cscp listens on http://{address}");
    if !listen(listener, app, limits(serve), until(stopped)).await {
        tracing::warn!("some requests did not finish in time and were cut off");
    }
    sweeper.await.map_err(|error| Failure::new(format!("the sweeper task failed; expiries were late: {error}")))?;
    sequencer.await.map_err(|error| Failure::new(format!("the sequencer task failed; log entries wait: {error}")))?;
    eraser.await.map_err(|error| Failure::new(format!("the retention task failed; old records stay: {error}")))?;
    watching.await.map_err(|error| Failure::new(format!("the vigil over the clocks failed: {error}")))?;
    following.await.map_err(|error| Failure::new(format!("the policy watcher failed: {error}")))?;
    house.close().await?;
    if let Some(ops) = ops {
        ops.abort();
    }
    drop(sole);
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Warns about published policies, which a server with its own folder ignores.
async fn say_what_is_passed_over(store: &dyn Store) -> Result<(), Failure> {
    let version = store.policies_version().await?;
    if version > 0 {
        let what = "policies were published, and this server uses the folder that it was started with instead";
        tracing::warn!(policy.version = version, "{what}");
    }
    Ok(())
}

/// The limits of the HTTP interface, from the settings.
fn wire(serve: &ServeSettings) -> HttpConfig {
    let mebibytes = usize::try_from(serve.body_memory).unwrap_or(usize::MAX);
    let body_memory = mebibytes.saturating_mul(1 << 20);
    HttpConfig { body_memory, rate_limits: !serve.no_rate_limits, ..HttpConfig::default() }
}

/// The configured number of connections, or what the process's file descriptors allow.
fn limits(serve: &ServeSettings) -> ListenLimits {
    let allowed = crate::telemetry::most_open_files().map_or(u64::MAX, |most| {
        // With very few descriptors, connections get half of them.
        most.saturating_sub(OTHER_DESCRIPTORS).max(most / 2)
    });
    let chosen = u64::from(serve.max_connections);
    if allowed < chosen {
        tracing::warn!(
            http.connections = allowed,
            "this process may open few files, so it takes fewer connections: raise its limit of open files"
        );
    }
    let connections = usize::try_from(chosen.min(allowed)).unwrap_or(usize::MAX);
    let of_one_address =
        serve.max_connections_per_address.map_or(connections / 4, |most| usize::try_from(most).unwrap_or(usize::MAX));
    ListenLimits { connections, of_one_address: of_one_address.clamp(1, connections.max(1)), ..ListenLimits::default() }
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| Failure::new(format!("cannot listen on {address}: {error}; choose another with --listen")))
}

async fn until(mut stopped: watch::Receiver<bool>) {
    // The sender is in the task that waits for the signal; it is dropped only when the process ends.
    drop(stopped.wait_for(|stopped| *stopped).await);
}

/// Waits for SIGINT or SIGTERM. The handlers are installed by this call and not when the future is first polled, so
/// that a signal right after the start is not lost.
#[cfg(unix)]
fn asked_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn asked_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}

/// Waits until the writer ends. A server that cannot write should stop and be restarted.
async fn writer_gone(committer: Committer) {
    let mut ticks = tokio::time::interval(WATCH);
    while committer.health() != WriteHealth::Stopped {
        ticks.tick().await;
    }
}
