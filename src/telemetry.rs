//! Logs and metrics. Log lines carry ids of records, codes and durations; never content, numbers or names.

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, Settings};
use crate::domain::time::Timestamp;

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

/// Starts collecting metrics; the handle writes them down for Prometheus. `now` is when the process began.
pub fn start_metrics(now: Timestamp) -> Result<PrometheusHandle, String> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &DURATION_BUCKETS)
        .and_then(|builder| {
            builder.set_buckets_for_metric(Matcher::Full("cscp_batch_operations".to_owned()), &BATCH_BUCKETS)
        });
    let handle = builder.and_then(PrometheusBuilder::install_recorder).map_err(|error| error.to_string())?;
    metrics::gauge!("cscp_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    #[expect(clippy::cast_precision_loss, reason = "microseconds of this century fit")]
    metrics::gauge!("process_start_time_seconds").set(now.as_micros() as f64 / 1e6);
    Ok(handle)
}

/// Clock ticks in a second, as the kernel counts them for programs.
const TICKS: f64 = 100.0;

/// What the process uses, by the names that every Prometheus knows; nothing where the system does not say.
pub fn look_at_process() {
    let number = |text: &str| text.parse::<u32>().ok().map(f64::from);
    let read = |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
    let status = read("status");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next());
    if let Some(kibibytes) = resident.and_then(number) {
        metrics::gauge!("process_resident_memory_bytes").set(kibibytes * 1_024.0);
    }
    let stat = read("stat");
    // The name stands in parentheses and may hold anything; user and system time are the 12th and 13th field after it.
    let ticks = stat.rsplit(')').next().into_iter().flat_map(str::split_whitespace).skip(11).take(2);
    let ticks: Option<Vec<f64>> = ticks.map(number).collect();
    if let Some([user, system]) = ticks.as_deref() {
        // A counter could not hold parts of a second.
        metrics::gauge!("process_cpu_seconds_total").set((user + system) / TICKS);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        metrics::gauge!("process_open_fds").set(f64::from(u32::try_from(open.count()).unwrap_or(u32::MAX)));
    }
    if let Some(most) = most_open_files() {
        metrics::gauge!("process_max_fds").set(f64::from(u32::try_from(most).unwrap_or(u32::MAX)));
    }
}

/// How many descriptors this process may have, where the system says so.
#[must_use]
pub fn most_open_files() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let most = limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next());
    most.and_then(|most| most.parse().ok())
}
