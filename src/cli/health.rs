//! `cscp health`: asks a server whether it is ready, for containers without other programs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::{Failure, why};

/// The time limit of the answer: shorter than that of container health checks.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);

#[derive(Debug, Args)]
pub(crate) struct HealthArguments {
    /// Which server to ask, over plain HTTP; by default the one that these settings would start
    #[arg(long)]
    url: Option<String>,
}

/// `cscp health`. Ends with 0 when the answer is 200, with 1 otherwise.
pub(super) async fn run(listen: SocketAddr, arguments: &HealthArguments) -> Result<ExitCode, Failure> {
    let url = arguments.url.clone().unwrap_or_else(|| format!("http://{}", reachable(listen)));
    let url = readiness(&url);
    let client = reqwest::Client::builder().no_proxy().timeout(ANSWERS_WITHIN).build().map_err(Failure::new)?;
    let shown = why::shown(&url);
    let failed = |error| Failure::new(format!("no answer from {shown}: {}", why::of_request(error)));
    let response = client.get(url).send().await.map_err(failed)?;
    let status = response.status();
    let body: Value = response.json().await.unwrap_or_default();
    let storage = body["storage"].as_str().map(|storage| format!(", storage {storage}")).unwrap_or_default();
    if status != reqwest::StatusCode::OK {
        return Err(Failure::new(format!("not ready: {}{storage}; asked {shown}", status.as_u16())));
    }
    println!("ready{storage}");
    Ok(ExitCode::SUCCESS)
}

/// The readiness URL, unless the given URL has a path.
fn readiness(url: &str) -> String {
    let server = url.trim_end_matches('/');
    let names_a_path = server.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    if names_a_path { url.to_owned() } else { format!("{server}/readyz") }
}

/// A reachable address of a server that listens on all addresses.
pub(super) fn reachable(listen: SocketAddr) -> SocketAddr {
    let here = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        named => named,
    };
    SocketAddr::new(here, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_asked_whether_it_is_ready_and_a_path_is_kept() {
        for server in ["http://10.0.0.7:80", "http://10.0.0.7:80/"] {
            assert_eq!(readiness(server), "http://10.0.0.7:80/readyz");
        }
        assert_eq!(readiness("http://10.0.0.7/livez"), "http://10.0.0.7/livez");
    }

    #[test]
    fn a_server_that_listens_everywhere_is_asked_on_this_machine() {
        let asked = |listen: &str| reachable(listen.parse().unwrap()).to_string();
        assert_eq!(asked("0.0.0.0:8080"), "127.0.0.1:8080");
        assert_eq!(asked("[::]:8080"), "[::1]:8080");
        assert_eq!(asked("10.0.0.7:80"), "10.0.0.7:80");
    }
}
