//! `cscp serve`: the server, from the first line to the last commit.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{Failure, first_run, open};
use crate::config::{MetricsListen, ServeSettings, Settings};
use crate::http::{HttpConfig, router};

/// How long requests that were accepted may take after a stop was asked for: less than the ten seconds after which
/// containers are killed.
const DRAIN: Duration = Duration::from_secs(8);
/// How often histograms fold what they have collected.
const UPKEEP: Duration = Duration::from_secs(5);

/// Runs until SIGINT or SIGTERM, then finishes what was accepted.
pub(super) async fn serve(settings: &Settings, serve: &ServeSettings) -> Result<ExitCode, Failure> {
    let rules = open::rules(settings)?;
    let store = open::store(settings).await?;
    let listener = bind(serve.listen).await?;
    let address = listener.local_addr().map_err(Failure::new)?;
    let house = open::house(store, rules);
    if !serve.no_demo_tenant {
        first_run::welcome(&house, address).await?;
    }
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        asked_to_stop().await;
        tracing::info!("stopping: finishing what was accepted");
        // Nobody left to tell is as good as told.
        stop.send_replace(true);
    });
    let metrics = metrics_server(serve.metrics_listen, stopped.clone()).await?;
    let sweeper = tokio::spawn(house.service.clone().sweep_forever());
    let app = router(house.service.clone(), HttpConfig::default());
    tracing::info!(http.address = %address, "listening");
    println!("cscp listens on http://{address}");
    let server = axum::serve(listener, app).with_graceful_shutdown(until(stopped.clone()));
    let drained = drain(server.into_future(), stopped).await;
    sweeper.abort();
    house.close().await?;
    if let Some(metrics) = metrics {
        metrics.abort();
    }
    drained?;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Serves until it is told to stop and every request has ended, or the time for that is over.
async fn drain(
    server: impl Future<Output = std::io::Result<()>>,
    stopped: watch::Receiver<bool>,
) -> Result<(), Failure> {
    let mut server = std::pin::pin!(server);
    tokio::select! {
        ended = &mut server => return ended.map_err(Failure::new),
        () = until(stopped) => {}
    }
    if let Ok(ended) = tokio::time::timeout(DRAIN, server).await {
        return ended.map_err(Failure::new);
    }
    tracing::warn!("some requests did not end in time");
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

async fn asked_to_stop() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        _ = interrupt => {}
        () = terminate => {}
    }
}

/// Metrics have a listener of their own, so that nobody exposes them together with the API by mistake.
async fn metrics_server(
    listen: MetricsListen,
    stopped: watch::Receiver<bool>,
) -> Result<Option<tokio::task::JoinHandle<()>>, Failure> {
    let MetricsListen::At(address) = listen else { return Ok(None) };
    let handle = crate::telemetry::start_metrics().map_err(Failure::new)?;
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|error| {
        Failure::new(format!(
            "cannot offer metrics on {address}: {error}; choose another with --metrics-listen, or off"
        ))
    })?;
    let address = listener.local_addr().map_err(Failure::new)?;
    tracing::info!(metrics.address = %address, "offering metrics");
    tokio::spawn(upkeep(handle.clone()));
    let app = Router::new().route("/metrics", get(move || std::future::ready(handle.render())));
    let served = async move {
        let server = axum::serve(listener, app).with_graceful_shutdown(until(stopped));
        if let Err(error) = server.await {
            tracing::warn!(metrics.error = %error, "the metrics listener ended");
        }
    };
    Ok(Some(tokio::spawn(served)))
}

async fn upkeep(handle: PrometheusHandle) {
    let mut ticks = tokio::time::interval(UPKEEP);
    loop {
        ticks.tick().await;
        handle.run_upkeep();
    }
}
