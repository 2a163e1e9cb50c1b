//! Settings: what a person may choose when starting the program, with defaults that work unasked.

use std::ffi::OsStr;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Args, Command, ValueEnum, value_parser};

use crate::packs::PackSource;

/// Where the data is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A SQLite file.
    Sqlite(PathBuf),
    /// A PostgreSQL database.
    Postgres(PostgresUrl),
}

/// The address of a PostgreSQL database. It may hold a password, so it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl(String);

impl PostgresUrl {
    /// The address itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the PostgreSQL database")
    }
}

impl FromStr for DatabaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("sqlite", path)) => Ok(Self::Sqlite(path.trim_start_matches("//").into())),
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                Ok(Self::Postgres(PostgresUrl(text.to_owned())))
            }
            // The text may hold a password, so it is not repeated.
            Some((_, rest)) if rest.starts_with("//") => {
                Err("give a file name, or an address that begins with postgres://".to_owned())
            }
            _ if text.is_empty() => Err("give a file name".to_owned()),
            _ => Ok(Self::Sqlite(text.into())),
        }
    }
}

/// Reads where the data is. What cannot be read is not repeated, as it would be otherwise: it may hold a password.
#[derive(Clone)]
struct Unrepeated;

impl TypedValueParser for Unrepeated {
    type Value = DatabaseUrl;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &OsStr) -> Result<DatabaseUrl, clap::Error> {
        let read = value.to_str().ok_or_else(|| "it is not UTF-8".to_owned()).and_then(str::parse);
        read.map_err(|what| {
            let what = format!("the database (--database or CSCP_DATABASE) cannot be read: {what}\n");
            clap::Error::raw(ErrorKind::ValueValidation, what).with_cmd(command)
        })
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
    /// Where the data is: a file name, or the address of a PostgreSQL database, postgres:…
    #[arg(long, env = "CSCP_DATABASE", default_value = "./data/cscp.db", global = true, hide_env_values = true, value_parser = Unrepeated)]
    pub database: DatabaseUrl,

    /// How a PostgreSQL database is used
    #[command(flatten)]
    pub postgres: PostgresOptions,

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

/// How a PostgreSQL database is used; of no effect on SQLite.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub struct PostgresOptions {
    /// How many batches are written at once
    #[arg(long, env = "CSCP_POSTGRES_WRITERS", default_value = "2", global = true, value_parser = value_parser!(u32).range(1..=64))]
    pub postgres_writers: u32,

    /// How many reads go on at once
    #[arg(long, env = "CSCP_POSTGRES_READERS", default_value = "8", global = true, value_parser = value_parser!(u32).range(1..=256))]
    pub postgres_readers: u32,

    /// A pooler in transaction mode, such as pgbouncer, stands between
    #[arg(long, env = "CSCP_POSTGRES_POOLER", global = true)]
    pub postgres_pooler: bool,

    /// Start on a server that may forget what it acknowledged (with fsync off, for instance)
    #[arg(long, env = "CSCP_POSTGRES_UNSAFE_DURABILITY", global = true)]
    pub postgres_unsafe_durability: bool,

    /// Refuse a server whose commits wait for no standby, also when that changes while this one runs
    #[arg(long, env = "CSCP_POSTGRES_REQUIRE_STANDBY", global = true)]
    pub postgres_require_standby: bool,

    /// Let the database keep tenants apart as well (see migrate --row-security)
    #[arg(long, env = "CSCP_POSTGRES_ROW_SECURITY", global = true)]
    pub postgres_row_security: bool,

    /// Do not change the schema when opening the database; refuse to start if it is behind
    #[arg(long, env = "CSCP_NO_MIGRATE", global = true)]
    pub no_migrate: bool,
}

/// Settings of the server.
#[derive(Debug, Clone, Args)]
pub struct ServeSettings {
    /// Where to listen; port 0 picks a free one and prints it
    #[arg(long, env = "CSCP_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// Where to offer /metrics, /healthz and /readyz apart from the API; `off` for nowhere [default: 127.0.0.1:9464]
    #[arg(long, env = "CSCP_OPS_LISTEN")]
    pub ops_listen: Option<OpsListen>,

    /// The former name of --ops-listen
    #[arg(long, env = "CSCP_METRICS_LISTEN", hide = true)]
    pub metrics_listen: Option<OpsListen>,

    /// How many connections of callers are open at once
    #[arg(long, env = "CSCP_MAX_CONNECTIONS", default_value = "4096", value_parser = value_parser!(u32).range(16..=1_000_000))]
    pub max_connections: u32,

    /// How many of them one address may have open; raise it to --max-connections where all callers come through one proxy
    /// [default: a quarter of --max-connections]
    #[arg(long, env = "CSCP_MAX_CONNECTIONS_PER_ADDRESS", value_parser = value_parser!(u32).range(4..=1_000_000))]
    pub max_connections_per_address: Option<u32>,

    /// How many MiB of request bodies are held at once while they arrive; one key gets a quarter of it
    #[arg(long, env = "CSCP_BODY_MEMORY", default_value = "64", value_parser = value_parser!(u32).range(16..=65_536))]
    pub body_memory: u32,

    /// The file with the key that signs checkpoints of the evidence log; made if it is missing. By default it lies beside
    /// a database file; on PostgreSQL nothing is signed unless a file is named
    #[arg(long, env = "CSCP_SIGNING_KEY")]
    pub signing_key: Option<PathBuf>,

    /// The key itself, in place of a file: 64 hexadecimal digits
    #[arg(long = "signing-seed", env = "CSCP_SIGNING_SEED", hide = true, hide_env_values = true)]
    pub signing_seed: Option<SigningSeed>,

    /// The folder that remembers what was signed last. It must not be restored with the database. By default it is
    /// cscp/guard in the folder for programs' state: `$XDG_STATE_HOME`, or ~/.local/state
    #[arg(long, env = "CSCP_LOG_GUARD")]
    pub log_guard: Option<PathBuf>,

    /// Let anybody read the checkpoints and tiles of every tenant's log below /log/TENANT, as monitors and witnesses do: how
    /// many entries there are, and when they are written, is no secret then
    #[arg(long, env = "CSCP_PUBLISH_LOG")]
    pub publish_log: bool,

    /// A witness whose cosignatures under checkpoints are taken in: its key, NAME+KEYID+BASE64 (C2SP vkey of
    /// cosignature/v1); may be given several times, in the environment with spaces between
    #[arg(long = "witness", env = "CSCP_WITNESSES", value_name = "VKEY", value_delimiter = ' ')]
    pub witnesses: Vec<String>,

    /// How many witnesses have to cosign a checkpoint before it is the one below /log/TENANT; with 0 it is the newest, with
    /// the cosignatures that it has
    #[arg(long, env = "CSCP_WITNESS_QUORUM", value_name = "N", default_value = "0")]
    pub witness_quorum: usize,

    /// How the names of this deployment's logs begin: a domain that is yours, for instance
    #[arg(long, env = "CSCP_LOG_NAME", default_value = "cscp", value_parser = log_name)]
    pub log_name: String,

    /// Do not create the tenant `demo` and its first keys in a database without tenants
    #[arg(long, env = "CSCP_NO_DEMO_TENANT")]
    pub no_demo_tenant: bool,

    /// Let everybody call as fast as they like, whatever the policies say of rate limits: to measure
    #[arg(long, env = "CSCP_NO_RATE_LIMITS")]
    pub no_rate_limits: bool,
}

impl ServeSettings {
    /// Where to offer what operators ask for.
    #[must_use]
    pub fn ops(&self) -> OpsListen {
        let unasked = OpsListen::At(SocketAddr::from(([127, 0, 0, 1], 9_464)));
        self.ops_listen.or(self.metrics_listen).unwrap_or(unasked)
    }

    /// Whether `--witness` was given without a key. An empty variable is none.
    #[expect(clippy::disallowed_methods, reason = "settings are read here, and clap does not tell one from the other")]
    #[must_use]
    pub fn has_witness_without_key(&self) -> bool {
        std::env::var_os("CSCP_WITNESSES").is_none() && self.witnesses.iter().any(String::is_empty)
    }
}

/// The folder for what programs of this user remember from one run to the next; none if nothing says where that is.
#[expect(clippy::disallowed_methods, reason = "settings are read here")]
#[must_use]
pub fn state_folder() -> Option<PathBuf> {
    let chosen = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let home = || std::env::home_dir().filter(|home| home.is_absolute());
    chosen.or_else(|| home().map(|home| home.join(".local/state")))
}

/// A signing key out of the environment. Never shown.
#[derive(Clone)]
pub struct SigningSeed(String);

impl SigningSeed {
    /// The text itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SigningSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a signing key")
    }
}

impl FromStr for SigningSeed {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

/// What a log's name may begin with: it stands in signed notes, whose names have no blanks and no plus signs.
fn log_name(text: &str) -> Result<String, String> {
    let fit = |letter: char| letter.is_ascii_graphic() && letter != '+';
    let named = !text.is_empty() && text.len() <= 128 && text.chars().all(fit);
    named.then(|| text.to_owned()).ok_or_else(|| "give up to 128 letters and digits without blanks and +".to_owned())
}

/// Where metrics and health are offered apart from the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpsListen {
    /// Nowhere.
    Off,
    /// Here.
    At(SocketAddr),
}

impl FromStr for OpsListen {
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
        let error = "mysql://user:secret@host/db".parse::<DatabaseUrl>().unwrap_err();
        assert!(error.contains("postgres://") && !error.contains("secret"));
        for url in ["postgres://user:secret@host/db", "postgresql:///db?host=secret"] {
            let DatabaseUrl::Postgres(address) = url.parse().unwrap() else { panic!("{url} is no file") };
            assert_eq!(address.expose(), url);
            assert!(!format!("{address} {address:?}").contains("secret"));
        }
        assert!("".parse::<DatabaseUrl>().is_err());
    }
}
