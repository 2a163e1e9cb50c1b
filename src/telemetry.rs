//! Logs and metrics. Log lines carry ids of records, codes and durations; never content, numbers or names.

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, Settings};

/// Seconds, from a tenth of a millisecond to ten seconds.
const DURATION_BUCKETS: [f64; 15] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// Operations in a batch.
const BATCH_BUCKETS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// Starts logging to standard error, at the level `unasked` if nobody chose one. A second start changes nothing.
pub fn start_logging(settings: &Settings, unasked: &str) -> Result<(), String> {
    let filter =
        EnvFilter::try_new(settings.log.as_deref().unwrap_or(unasked)).map_err(|error| format!("--log: {error}"))?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match settings.log_format {
        LogFormat::Text => logs.with_ansi(false).try_init(),
        LogFormat::Json => logs.json().flatten_event(true).try_init(),
    };
    if started.is_err() {
        tracing::debug!("logging was started before");
    }
    Ok(())
}

/// Starts collecting metrics; the handle writes them down for Prometheus.
pub fn start_metrics() -> Result<PrometheusHandle, String> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &DURATION_BUCKETS)
        .and_then(|builder| {
            builder.set_buckets_for_metric(Matcher::Full("cscp_batch_operations".to_owned()), &BATCH_BUCKETS)
        });
    builder.and_then(PrometheusBuilder::install_recorder).map_err(|error| error.to_string())
}
