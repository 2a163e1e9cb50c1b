//! The listener for operators: metrics and health, apart from the API, so that nobody exposes them together by mistake and
//! whatever callers do to the API does not keep anybody from asking how the server is.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::Failure;
use crate::config::OpsListen;
use crate::domain::time::Clock as _;
use crate::http::{ListenLimits, listen, ops_router};
use crate::service::Service;
use crate::service::WriteHealth;
use crate::system::SystemClock;

/// Its open connections: whoever collects metrics needs one, and so does whoever asks for health.
const CONNECTIONS: usize = 64;
/// How often histograms fold what they have collected.
const UPKEEP: Duration = Duration::from_secs(5);

/// The listener, bound and not yet served: a port that is taken is told before anything is made or shown.
pub(super) struct Ops {
    listener: TcpListener,
    metrics: PrometheusHandle,
}

impl Ops {
    /// Takes the port and begins to count.
    pub(super) async fn bind(wanted: OpsListen) -> Result<Option<Self>, Failure> {
        let OpsListen::At(address) = wanted else { return Ok(None) };
        let listener = TcpListener::bind(address).await.map_err(|error| {
            Failure::new(format!(
                "cannot offer metrics and health on {address}: {error}; choose another with --ops-listen, or off"
            ))
        })?;
        let address = listener.local_addr().map_err(Failure::new)?;
        let metrics = crate::telemetry::start_metrics(SystemClock.now()).map_err(Failure::new)?;
        tracing::info!(metrics.address = %address, "offering metrics and health");
        Ok(Some(Self { listener, metrics }))
    }

    /// Serves until it is stopped.
    pub(super) fn serve(self, service: Service, stop: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        let Self { listener, metrics } = self;
        tokio::spawn(upkeep(metrics.clone()));
        let shown = service.clone();
        let render = move || {
            look(&shown);
            std::future::ready(metrics.render())
        };
        let app = ops_router(service).merge(Router::new().route("/metrics", get(render)));
        let limits = ListenLimits { connections: CONNECTIONS, of_one_address: CONNECTIONS, ..ListenLimits::default() };
        tokio::spawn(async move {
            // Whoever collects metrics comes again; nothing is lost with an answer.
            listen(listener, app, limits, stop).await;
        })
    }
}

/// What has a state rather than a history is looked at when somebody asks.
fn look(service: &Service) {
    let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    metrics::gauge!("cscp_queued_operations").set(count(service.queued()));
    metrics::gauge!("cscp_writable").set(f64::from(u8::from(service.write_health() == WriteHealth::Ok)));
    let oldest = service.oldest_commit().unwrap_or_default();
    metrics::gauge!("cscp_oldest_commit_seconds").set(oldest.as_secs_f64());
    crate::telemetry::look_at_process();
}

async fn upkeep(handle: PrometheusHandle) {
    let mut ticks = tokio::time::interval(UPKEEP);
    loop {
        ticks.tick().await;
        handle.run_upkeep();
    }
}
