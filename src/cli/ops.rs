//! The operators' listener for metrics and health. It is separate from the API, so that metrics are not exposed by
//! mistake and a loaded API does not block health checks.

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

/// The most open connections: a collector of metrics and a health check need one each.
const CONNECTIONS: usize = 64;
/// How often histograms aggregate what they have collected.
const UPKEEP: Duration = Duration::from_secs(5);

/// A bound listener that does not serve yet: a port in use is reported before anything else is done.
pub(super) struct Ops {
    listener: TcpListener,
    metrics: PrometheusHandle,
}

impl Ops {
    /// Binds the port and starts to collect metrics.
    pub(super) async fn bind(wanted: OpsListen) -> Result<Option<Self>, Failure> {
        let OpsListen::At(address) = wanted else { return Ok(None) };
        let listener = TcpListener::bind(address).await.map_err(|error| {
            Failure::new(format!(
                "cannot offer metrics and health on {address}: {error}; choose another with --ops-listen, or off"
            ))
        })?;
        let address = listener.local_addr().map_err(Failure::new)?;
        let metrics = crate::telemetry::start_metrics(SystemClock.now()).map_err(Failure::new)?;
        tracing::info!(metrics.address = %address, "serving metrics and health");
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
            // Collectors repeat their requests, so an aborted answer loses nothing.
            listen(listener, app, limits, stop).await;
        })
    }
}

/// Sets the gauges that show a current state.
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
