//! What can be chosen. README.md explains each at length.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Parser;

use crate::checker::{Patience, Plan};

/// Plays random clients against one or several running servers and checks every answer against the promises.
#[derive(Debug, Clone, Parser)]
#[command(name = "history")]
pub(crate) struct Options {
    /// A server, plain HTTP; can be repeated for several servers on one database
    #[arg(long = "url", default_value = "http://127.0.0.1:8080")]
    urls: Vec<String>,

    /// An API key of the kind handler; one that also has the scope approval:decide is used for decisions
    #[arg(long, env = "CSCP_API_KEY", hide_env_values = true, default_value = "")]
    key: String,

    /// About so many requests, and those that read everything back
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    operations: u64,

    /// The same seed draws the same choices; what falls to whom still depends on how fast answers come
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// After so many requests everything is read back and judged, and a new round begins
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(100..=200_000))]
    round: u64,

    /// How many clients play at once
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    clients: u16,

    /// How many conversations they share; fewer means more collisions
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    conversations: u16,

    /// How many seconds an answer may take before the request is sent again
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=60))]
    answer_within: u64,

    /// How many seconds all servers may be away before the run is given up
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    give_up_after: u64,

    /// Fail if the servers do not make every promise that this program has a rule for
    #[arg(long)]
    pub(crate) require_all: bool,

    /// A line on standard error after each round, also where that is no terminal
    #[arg(long)]
    pub(crate) progress: bool,

    /// Print the rules and do nothing else
    #[arg(long)]
    pub(crate) rules: bool,
}

impl Options {
    /// What they ask for.
    pub(crate) fn plan(&self) -> Result<Plan, String> {
        if self.key.is_empty() {
            return Err("give --key, or set CSCP_API_KEY".to_owned());
        }
        Ok(Plan {
            addresses: self.urls.iter().map(|url| address(url)).collect::<Result<_, _>>()?,
            key: self.key.clone(),
            seed: self.seed,
            operations: self.operations,
            round: self.round,
            clients: self.clients.into(),
            conversations: self.conversations.into(),
            patience: Patience {
                answer: Duration::from_secs(self.answer_within),
                servers: Duration::from_secs(self.give_up_after),
            },
            stop: Arc::new(AtomicBool::new(false)),
        })
    }
}

/// A server as `host:port`.
fn address(url: &str) -> Result<String, String> {
    let rest = url.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
    let rest = rest.filter(|rest| !rest.is_empty() && !rest.contains('/'));
    let rest = rest.ok_or("an address has to be http://host:port")?;
    Ok(if rest.contains(':') { rest.to_owned() } else { format!("{rest}:80") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_plain_http_and_a_key_is_needed() {
        let plan = |words: &[&str]| Options::try_parse_from([&["history"], words].concat()).unwrap().plan();
        let two = plan(&["--key", "k", "--url", "http://a:1", "--url", "http://b/"]).unwrap();
        assert_eq!(two.addresses, ["a:1", "b:80"]);
        assert!(plan(&["--key", "k", "--url", "https://a"]).is_err());
        assert!(plan(&["--url", "http://a:1"]).is_err());
    }
}
