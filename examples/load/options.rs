//! What can be chosen. README.md explains each at length.

use std::path::PathBuf;

use clap::{Args, Parser};

/// Drives one or several running servers with conversations, checks every answer, and measures.
#[derive(Debug, Clone, Parser)]
#[command(name = "load")]
pub(crate) struct Options {
    /// A server, plain HTTP; several take the requests of each conversation in turn
    #[arg(long = "url", default_value = "http://127.0.0.1:8080")]
    pub(crate) urls: Vec<String>,

    /// An API key of the kind handler
    #[arg(long, env = "CSCP_API_KEY", hide_env_values = true)]
    pub(crate) key: String,

    /// Closed loop: so many turns are under way at once, each followed by the next
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) clients: u32,

    /// Open loop: so many turns begin each second, at random moments, whether the server keeps up or not
    #[arg(long, conflicts_with = "clients", value_parser = rate)]
    pub(crate) rate: Option<f64>,

    /// Open loop: at most so many turns are under way at once; further ones wait, and their waiting is measured
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) max_inflight: u32,

    /// How long to measure; what was begun is finished
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,

    /// How long to go on before that, not counted
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(0..=3_600))]
    pub(crate) warmup: u64,

    /// Over how many conversations the turns spread
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) conversations: u32,

    /// How many turns of a hundred go to one further conversation, which a crowd shares
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) hot_share: u32,

    /// Before measuring, open so many conversations with one message each
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000_000))]
    pub(crate) preload: u32,

    /// The same seed draws the same sequence of choices
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// How often a request is sent again that was answered 503, 429 or not at all
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(0..=20))]
    pub(crate) retries: u32,

    /// Threads of this program; it shares the machine with the server
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) threads: u32,

    /// What is said
    #[command(flatten)]
    pub(crate) mix: Mix,

    /// What is looked at beside the answers
    #[command(flatten)]
    pub(crate) watch: Watch,

    /// Afterwards, look a sample of the acknowledged bindings up in the evidence, with an API key of the kind auditor
    #[arg(long)]
    pub(crate) verify_key: Option<String>,

    /// Write the result as JSON, too
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,

    /// A line a second on standard error, also where that is no terminal
    #[arg(long)]
    pub(crate) progress: bool,
}

/// What is said, in percent.
#[derive(Debug, Clone, Args)]
pub(crate) struct Mix {
    /// How many new messages of a hundred lead to a question
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) questions: u32,

    /// How many answers of a hundred are a no
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) declines: u32,

    /// How many answers of a hundred are a bare word, where it can count
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) bare: u32,

    /// How many of the other answers of a hundred are a text that quotes; the rest tap a button
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) quotes: u32,

    /// No request for any status: a handler that relies on what its send call returned
    #[arg(long)]
    pub(crate) drop_statuses: bool,

    /// No request for a reply: a handler that does not register what asks nothing
    #[arg(long)]
    pub(crate) drop_replies: bool,
}

/// What is looked at beside the answers.
#[derive(Debug, Clone, Args)]
pub(crate) struct Watch {
    /// A server's process: memory and processor time; can be repeated
    #[arg(long = "pid")]
    pub(crate) pids: Vec<u32>,

    /// A process with all its descendants, such as PostgreSQL's first one; can be repeated
    #[arg(long = "pid-tree")]
    pub(crate) trees: Vec<u32>,

    /// The server's SQLite file: how much it and its log grow
    #[arg(long)]
    pub(crate) database: Option<PathBuf>,

    /// The server's PostgreSQL database: how much it and the server's log grow
    #[arg(long, env = "CSCP_LOAD_POSTGRES", hide_env_values = true)]
    pub(crate) postgres: Option<String>,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "give a number".to_owned())?;
    if (0.01..=1_000_000.0).contains(&rate) { Ok(rate) } else { Err("give 0.01 to 1000000".to_owned()) }
}

impl Options {
    /// How many turns may be under way at once.
    pub(crate) fn at_once(&self) -> u32 {
        if self.rate.is_some() { self.max_inflight } else { self.clients }
    }

    /// The servers as `host:port`.
    pub(crate) fn addresses(&self) -> Result<Vec<String>, String> {
        let address = |url: &String| {
            let rest = url.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
            let rest = rest.filter(|rest| !rest.is_empty() && !rest.contains('/'));
            let rest = rest.ok_or("an address has to be http://host:port")?;
            Ok(if rest.contains(':') { rest.to_owned() } else { format!("{rest}:80") })
        };
        self.urls.iter().map(address).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Options, clap::Error> {
        Options::try_parse_from([&["load", "--key", "k"], words].concat())
    }

    #[test]
    fn a_loop_is_open_or_closed() {
        assert_eq!(parsed(&[]).unwrap().at_once(), 16);
        assert_eq!(parsed(&["--clients", "3"]).unwrap().at_once(), 3);
        assert_eq!(parsed(&["--rate", "9.5", "--max-inflight", "7"]).unwrap().at_once(), 7);
        assert!(parsed(&["--rate", "9", "--clients", "3"]).is_err());
        assert!(parsed(&["--rate", "nan"]).is_err() && parsed(&["--rate", "0"]).is_err());
    }

    #[test]
    fn addresses_are_plain_http() {
        let addresses = |url: &str| parsed(&["--url", url, "--url", "http://b/"]).unwrap().addresses();
        assert_eq!(addresses("http://a:1"), Ok(vec!["a:1".to_owned(), "b:80".to_owned()]));
        assert!(addresses("https://a").is_err() && addresses("http://a/v1").is_err());
    }
}
