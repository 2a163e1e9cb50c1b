//! How to connect to a PostgreSQL database, and what to require of it.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr as _;
use std::sync::Arc;

use sqlx::postgres::PgConnectOptions;

use crate::domain::time::Clock;
use crate::storage::{StorageError, Timelines};

/// The parameters allowed in an address. Others are refused: the driver would log them with their values, and start-up
/// options do not survive a pooler.
const PARAMETERS: [&str; 11] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
];

/// The most hosts in one address, because all of them are asked at once.
const MAX_HOSTS: usize = 8;

/// Settings of the connection to a database.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub struct PostgresSettings {
    /// The address, `postgres://user:password@host:port/database?sslmode=…`. Never shown. Several hosts, separated by
    /// commas, are servers of one system with one primary.
    pub url: String,
    /// The number of batches written in parallel.
    pub writers: u32,
    /// The number of reads in parallel.
    pub readers: u32,
    /// Whether a pooler in transaction mode is in between: then nothing may outlive a transaction on a connection.
    pub pooler: bool,
    /// Whether a database is accepted that may lose acknowledged commits. For tests.
    pub unsafe_durability: bool,
    /// Whether only servers are accepted whose commits wait for a standby.
    pub require_standby: bool,
    /// Where the timelines seen of servers are stored; if none, they are forgotten when the process ends.
    pub timelines: Option<Arc<dyn Timelines>>,
    /// Whether row security is used, see [`super::PostgresStore::set_row_security`].
    pub row_security: bool,
    /// Whether an outdated schema is migrated when the database is opened.
    pub migrate: bool,
    /// A clock instead of the database's, for tests.
    pub clock: Option<Arc<dyn Clock>>,
}

impl PostgresSettings {
    /// Default settings: two writers, eight readers, no pooler.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            writers: 2,
            readers: 8,
            pooler: false,
            unsafe_durability: false,
            require_standby: false,
            timelines: None,
            row_security: false,
            migrate: true,
            clock: None,
        }
    }

    /// The driver's options for each host. An error contains nothing of the address, which may have a password.
    pub(super) fn connect_options(&self) -> Result<Vec<PgConnectOptions>, StorageError> {
        let refused = |what: &str| StorageError::Unavailable(format!("the address of the database {what}"));
        let (_, parameters) = self.url.split_once('?').unwrap_or((&self.url, ""));
        let names: BTreeSet<&str> =
            parameters.split('&').filter(|part| !part.is_empty()).filter_map(|part| part.split('=').next()).collect();
        if names.iter().any(|name| !PARAMETERS.contains(name)) {
            return Err(refused(&format!("has a parameter that is none of {}", PARAMETERS.join(", "))));
        }
        let addresses = one_for_each_host(&self.url);
        if addresses.len() > MAX_HOSTS {
            return Err(refused(&format!("names more than {MAX_HOSTS} hosts")));
        }
        let read = addresses.iter().map(|address| {
            let options = PgConnectOptions::from_str(address).map_err(|_| refused("cannot be read"))?;
            // A pooler refuses start-up parameters that it does not know; no column here is a float.
            let options = options.extra_float_digits(None);
            let has_name = options.get_application_name().is_some();
            Ok(if has_name { options } else { options.application_name("cscp") })
        });
        read.collect()
    }
}

/// One address for each host, because the driver takes one host only.
fn one_for_each_host(url: &str) -> Vec<String> {
    let Some((scheme, rest)) = url.split_once("://") else { return vec![url.to_owned()] };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (user, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
    let at = if user.is_empty() { "" } else { "@" };
    hosts.split(',').map(|host| format!("{scheme}://{user}{at}{host}{path}")).collect()
}

impl fmt::Debug for PostgresSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresSettings")
            .field("writers", &self.writers)
            .field("readers", &self.readers)
            .field("pooler", &self.pooler)
            .field("unsafe_durability", &self.unsafe_durability)
            .field("require_standby", &self.require_standby)
            .field("row_security", &self.row_security)
            .field("migrate", &self.migrate)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(url: &str) -> String {
        PostgresSettings::new(url).connect_options().unwrap_err().to_string()
    }

    #[test]
    fn an_address_is_read_or_refused_without_repeating_it() {
        let settings = PostgresSettings::new("postgres://ana:secret@db.example:5433/cscp?sslmode=verify-full");
        let options = settings.connect_options().unwrap();
        assert_eq!((options.len(), options[0].get_host(), options[0].get_port()), (1, "db.example", 5433));
        assert!(!format!("{settings:?}").contains("secret"));
        for url in
            ["postgres://ana:secret@db:port/x", "postgres://ana@db/x?pasword=secret", "postgres://db/x?options=secret"]
        {
            assert!(!error(url).contains("secret") && !error(url).contains("ana"), "{url}");
        }
    }

    #[test]
    fn an_address_of_several_hosts_is_one_of_each() {
        let hosts = |url: &str| -> Vec<(String, u16)> {
            let options = PostgresSettings::new(url).connect_options().unwrap();
            assert!(
                options.iter().all(|one| one.get_username() == "ana" && one.get_database() == Some("cscp")),
                "{url}"
            );
            options.iter().map(|one| (one.get_host().to_owned(), one.get_port())).collect()
        };
        let (a, b) = (("a".to_owned(), 5433), ("b".to_owned(), 5432));
        assert_eq!(hosts("postgres://ana:se%2Ccret@a:5433,b/cscp?sslmode=require"), [a.clone(), b]);
        assert_eq!(hosts("postgres://ana@a:5433,[::1]:7/cscp"), [a, ("[::1]".to_owned(), 7)]);
        assert!(error(&format!("postgres://ana@{}/cscp", ["a"; 9].join(","))).contains("more than 8 hosts"));
        assert!(!error("postgres://ana:secret@a,b:port/cscp").contains("secret"));
    }
}
