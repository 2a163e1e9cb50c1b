//! `cscp serve`: the server, from the first line to the last commit.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{Failure, first_run, log, open};
use crate::config::{MetricsListen, ServeSettings, Settings};
use crate::domain::time::Clock as _;
use crate::http::{HttpConfig, ListenLimits, listen, router};
use crate::storage::Store;
use crate::storage::committer::{Committer, WriteHealth};
use crate::system::SystemClock;

/// The open connections of the metrics listener: whoever collects needs one.
const METRICS_CONNECTIONS: usize = 64;
/// How often histograms fold what they have collected.
const UPKEEP: Duration = Duration::from_secs(5);

/// How often it is looked whether the writer is still there.
const WATCH: Duration = Duration::from_secs(1);

/// Runs until SIGINT or SIGTERM, then finishes what was accepted.
pub(super) async fn serve(settings: &Settings, serve: &ServeSettings) -> Result<ExitCode, Failure> {
    let folder = open::folder(settings)?;
    let store = open::store(settings).await?;
    let listener = bind(serve.listen).await?;
    let address = listener.local_addr().map_err(Failure::new)?;
    let (policies, rules) = match folder {
        Some(folder) => {
            say_what_is_passed_over(store.as_ref()).await?;
            folder
        }
        None => open::published(&store).await?,
    };
    let log = Arc::new(log::open(settings, serve, Arc::clone(&store))?);
    let mut house = open::house(store, rules);
    house.service = house.service.told_by(policies.status()).logging_to(Arc::clone(&log));
    if !serve.no_demo_tenant {
        first_run::welcome(&house, address).await?;
    }
    let (stop, stopped) = watch::channel(false);
    let committer = house.committer.clone();
    let asked = asked_to_stop().map_err(Failure::new)?;
    tokio::spawn(async move {
        tokio::select! {
            () = asked => tracing::info!("stopping: finishing what was accepted"),
            () = writer_gone(committer) => tracing::error!("the writer ended; stopping"),
        }
        // Nobody left to tell is as good as told.
        stop.send_replace(true);
    });
    let metrics = metrics_server(serve.metrics_listen, house.committer.clone(), stopped.clone()).await?;
    let sweeper = tokio::spawn(house.service.clone().sweep_until(until(stopped.clone())));
    let holder = house.service.fresh_secret().to_hex();
    let sequencing = until(stopped.clone());
    let sequencer = tokio::spawn(async move { log.sequence_until(&holder, sequencing).await });
    let retention = house.retention();
    let (holder, erasing) = (house.service.fresh_secret().to_hex(), until(stopped.clone()));
    let eraser = tokio::spawn(async move { retention.sweep_until(&holder, erasing).await });
    let following = tokio::spawn(policies.follow_until(until(stopped.clone())));
    let config = HttpConfig { rate_limits: !serve.no_rate_limits, ..HttpConfig::default() };
    let app = router(house.service.clone(), config);
    tracing::info!(http.address = %address, "listening");
    println!("cscp listens on http://{address}");
    if !listen(listener, app, ListenLimits::default(), until(stopped)).await {
        tracing::warn!("some requests did not end in time");
    }
    sweeper.await.map_err(|error| Failure::new(format!("the sweeper ended badly: {error}")))?;
    sequencer.await.map_err(|error| Failure::new(format!("the sequencer ended badly: {error}")))?;
    eraser.await.map_err(|error| Failure::new(format!("retention ended badly: {error}")))?;
    following.await.map_err(|error| Failure::new(format!("following the policies ended badly: {error}")))?;
    house.close().await?;
    if let Some(metrics) = metrics {
        metrics.abort();
    }
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Whoever published policies may wonder why this server does not live by them.
async fn say_what_is_passed_over(store: &dyn Store) -> Result<(), Failure> {
    let version = store.policies_version().await?;
    if version > 0 {
        let what = "policies were published, and this server lives by the folder that it was started with instead";
        tracing::warn!(policy.version = version, "{what}");
    }
    Ok(())
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| Failure::new(format!("cannot listen on {address}: {error}; choose another with --listen")))
}

async fn until(mut stopped: watch::Receiver<bool>) {
    // The sender lives in the task that waits for the signal; if that is gone, so is the process.
    drop(stopped.wait_for(|stopped| *stopped).await);
}

/// SIGINT or SIGTERM. Listened for from the moment this is called, not from when the answer is first waited for:
/// whoever has read that the server listens may ask it to stop.
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

/// A server that cannot write has nothing to say: better it ends and is started again.
async fn writer_gone(committer: Committer) {
    let mut ticks = tokio::time::interval(WATCH);
    while committer.health() != WriteHealth::Stopped {
        ticks.tick().await;
    }
}

/// Metrics have a listener of their own, so that nobody exposes them together with the API by mistake.
async fn metrics_server(
    wanted: MetricsListen,
    committer: Committer,
    stopped: watch::Receiver<bool>,
) -> Result<Option<tokio::task::JoinHandle<()>>, Failure> {
    let MetricsListen::At(address) = wanted else { return Ok(None) };
    let handle = crate::telemetry::start_metrics(SystemClock.now()).map_err(Failure::new)?;
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|error| {
        Failure::new(format!(
            "cannot offer metrics on {address}: {error}; choose another with --metrics-listen, or off"
        ))
    })?;
    let address = listener.local_addr().map_err(Failure::new)?;
    tracing::info!(metrics.address = %address, "offering metrics");
    tokio::spawn(upkeep(handle.clone()));
    let render = move || {
        // What has a state rather than a history is looked at when somebody asks.
        metrics::gauge!("cscp_queued_operations").set(f64::from(u32::try_from(committer.queued()).unwrap_or(u32::MAX)));
        metrics::gauge!("cscp_writable").set(f64::from(u8::from(committer.health() == WriteHealth::Ok)));
        crate::telemetry::look_at_process();
        std::future::ready(handle.render())
    };
    let app = Router::new().route("/metrics", get(render));
    let limits = ListenLimits { connections: METRICS_CONNECTIONS, ..ListenLimits::default() };
    Ok(Some(tokio::spawn(async move {
        // Whoever collects metrics comes again; nothing is lost with an answer.
        listen(listener, app, limits, until(stopped)).await;
    })))
}

async fn upkeep(handle: PrometheusHandle) {
    let mut ticks = tokio::time::interval(UPKEEP);
    loop {
        ticks.tick().await;
        handle.run_upkeep();
    }
}
