//! Settings: what a person may choose when starting the program, with defaults that work unasked.

mod database;

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::LazyLock;

use clap::{Args, ValueEnum, value_parser};

use crate::packs::PackSource;
use database::Unrepeated;
pub use database::{DatabaseUrl, PostgresUrl};

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines: one JSON object a line.
    Json,
}

/// Where the data is if nobody says so.
static DEFAULT_DATABASE: LazyLock<DatabaseUrl> = LazyLock::new(|| DatabaseUrl::Sqlite("./data/cscp.db".into()));

/// Settings that every command shares. Each can be given as an option or in the environment.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Settings of every command")]
pub struct Settings {
    /// Where the data is: a file name, or the address of a PostgreSQL database, postgres:… [default: ./data/cscp.db]
    #[arg(long, env = "CSCP_DATABASE", global = true, hide_env_values = true, value_parser = Unrepeated)]
    database: Option<DatabaseUrl>,

    /// A folder with policy packs; without it the packs that the program brings along are in force
    #[arg(long, env = "CSCP_POLICIES", global = true)]
    pub policies: Option<PathBuf>,

    /// How log lines look
    #[arg(long, env = "CSCP_LOG_FORMAT", value_enum, default_value = "text", global = true)]
    pub log_format: LogFormat,

    /// What is logged, for instance info or cscp=debug; by default info for the server, errors for the rest
    #[arg(long, env = "CSCP_LOG", global = true)]
    pub log: Option<String>,

    /// How a PostgreSQL database is used
    #[command(flatten)]
    pub postgres: PostgresOptions,
}

impl Settings {
    /// Where the data is.
    #[must_use]
    pub fn database(&self) -> &DatabaseUrl {
        self.database.as_ref().unwrap_or(&DEFAULT_DATABASE)
    }

    /// Whether somebody said where the data is.
    #[must_use]
    pub fn names_database(&self) -> bool {
        self.database.is_some()
    }

    /// Where policy packs come from.
    #[must_use]
    pub fn pack_source(&self) -> PackSource {
        self.policies.clone().map_or(PackSource::Shipped, PackSource::Folder)
    }
}

/// How a PostgreSQL database is used; of no effect on SQLite.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "If the database is a PostgreSQL")]
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
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub struct ServeSettings {
    /// Where to listen, such as 127.0.0.1:8080, localhost:8080 or :8080 (every address); port 0 picks a free one and prints it
    #[arg(long, env = "CSCP_LISTEN", default_value = "127.0.0.1:8080", value_parser = listen_address)]
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

    /// Make the database file if it is missing. Without this only ./data/cscp.db is made, when no --database is given: a
    /// mistyped name is an error
    #[arg(long, env = "CSCP_CREATE_DATABASE")]
    pub create_database: bool,

    /// Do not create the tenant `demo` and its first keys in a database without tenants
    #[arg(long, env = "CSCP_NO_DEMO_TENANT")]
    pub no_demo_tenant: bool,

    /// Create that tenant and print its keys also where the server listens beyond this machine
    #[arg(long, env = "CSCP_SHOW_KEYS")]
    pub show_keys: bool,

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

/// Reads where to listen: an address, a name of this machine, or a port alone, which means every address. A name may stand
/// for several addresses; callers expect the one of IPv4 first.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let whole = if text.starts_with(':') { format!("0.0.0.0{text}") } else { text.to_owned() };
    if let Ok(address) = whole.parse() {
        return Ok(address);
    }
    let advice = "give an address with a port, such as 127.0.0.1:8080, localhost:8080 or :8080";
    let port = whole.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    port.ok_or_else(|| advice.to_owned())?;
    let found =
        whole.to_socket_addrs().map_err(|error| format!("this name has no address here ({error}); {advice}"))?;
    let found: Vec<SocketAddr> = found.collect();
    let chosen = found.iter().find(|address| address.is_ipv4()).or_else(|| found.first());
    chosen.copied().ok_or_else(|| format!("this name has no address here; {advice}"))
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
        listen_address(text).map(Self::At).map_err(|error| format!("{error}, or off"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_and_a_name_are_places_to_listen() {
        let read = |text: &str| listen_address(text).map(|address| address.to_string());
        assert_eq!(read(":8080").as_deref(), Ok("0.0.0.0:8080"));
        assert_eq!(read("localhost:8080").as_deref(), Ok("127.0.0.1:8080"));
        assert_eq!(read("[::1]:8080").as_deref(), Ok("[::1]:8080"));
        for wrong in ["", "8080", "localhost", "localhost:", "localhost:http", "127.0.0.1:70000"] {
            assert!(read(wrong).unwrap_err().contains("such as 127.0.0.1:8080"), "{wrong}");
        }
    }
}
