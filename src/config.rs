//! Settings: what a person may choose when starting the program, with defaults that work unasked.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use crate::packs::PackSource;

/// Where the data is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A SQLite file.
    Sqlite(PathBuf),
}

impl FromStr for DatabaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("sqlite", path)) => Ok(Self::Sqlite(path.trim_start_matches("//").into())),
            // The text may hold a password, so it is not repeated.
            Some((scheme, rest)) if rest.starts_with("//") => {
                Err(format!("this build stores in SQLite only, not in {scheme}; give a file name"))
            }
            _ if text.is_empty() => Err("give a file name".to_owned()),
            _ => Ok(Self::Sqlite(text.into())),
        }
    }
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines: one JSON object a line.
    Json,
}

/// Settings that every command shares. Each can be given as an option or in the environment.
#[derive(Debug, Clone, Args)]
pub struct Settings {
    /// Where the data is: a file name, or sqlite: and a file name
    #[arg(long, env = "CSCP_DATABASE", default_value = "./data/cscp.db", global = true)]
    pub database: DatabaseUrl,

    /// A folder with policy packs; without it the packs that the program brings along are in force
    #[arg(long, env = "CSCP_POLICIES", global = true)]
    pub policies: Option<PathBuf>,

    /// How log lines look
    #[arg(long, env = "CSCP_LOG_FORMAT", value_enum, default_value = "text", global = true)]
    pub log_format: LogFormat,

    /// What is logged, for instance info or cscp=debug; by default info for the server, errors for the rest
    #[arg(long, env = "CSCP_LOG", global = true)]
    pub log: Option<String>,
}

impl Settings {
    /// Where policy packs come from.
    #[must_use]
    pub fn pack_source(&self) -> PackSource {
        self.policies.clone().map_or(PackSource::Shipped, PackSource::Folder)
    }
}

/// Settings of the server.
#[derive(Debug, Clone, Args)]
pub struct ServeSettings {
    /// Where to listen; port 0 picks a free one and prints it
    #[arg(long, env = "CSCP_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// Where to offer Prometheus metrics; `off` for nowhere
    #[arg(long, env = "CSCP_METRICS_LISTEN", default_value = "127.0.0.1:9464")]
    pub metrics_listen: MetricsListen,

    /// Do not create the tenant `demo` and its first keys in a database without tenants
    #[arg(long, env = "CSCP_NO_DEMO_TENANT")]
    pub no_demo_tenant: bool,
}

/// Where metrics are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsListen {
    /// Nowhere.
    Off,
    /// Here.
    At(SocketAddr),
}

impl FromStr for MetricsListen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        text.parse().map(Self::At).map_err(|_| "give an address with a port, such as 127.0.0.1:9464, or off".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_a_file_and_a_password_is_not_repeated() {
        let file = |name: &str| Ok(DatabaseUrl::Sqlite(name.into()));
        assert_eq!("./data/cscp.db".parse(), file("./data/cscp.db"));
        assert_eq!("sqlite:x.db".parse(), file("x.db"));
        assert_eq!("sqlite:///var/lib/x.db".parse(), file("/var/lib/x.db"));
        let error = "postgres://user:secret@host/db".parse::<DatabaseUrl>().unwrap_err();
        assert!(error.contains("SQLite") && !error.contains("secret"));
        assert!("".parse::<DatabaseUrl>().is_err());
    }
}
