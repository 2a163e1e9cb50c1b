//! Where the data is, as a person says it.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};

/// Where the data is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A SQLite file.
    Sqlite(PathBuf),
    /// A PostgreSQL database.
    Postgres(PostgresUrl),
}

/// The address of a PostgreSQL database. It may hold a password, so only its hosts and the database's name are shown.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl(String);

impl PostgresUrl {
    /// The address itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Its hosts with their ports, as they are written; none if they cannot be told from a user or a password for certain.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        let (authority, rest) = self.parts();
        // An at sign further back belongs to a password that is not encoded.
        if rest.contains('@') {
            return Vec::new();
        }
        let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
        let hosts: Vec<String> = hosts.split(',').map(str::to_owned).collect();
        if hosts.iter().all(|host| is_host(host)) { hosts } else { Vec::new() }
    }

    /// What stands before the path, with user and password, and everything after it.
    fn parts(&self) -> (&str, &str) {
        let rest = self.0.split_once("://").map_or("", |(_, rest)| rest);
        rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()))
    }
}

fn is_host(text: &str) -> bool {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (text, ""),
    };
    let named = name.chars().all(|c| c.is_ascii_alphanumeric() || ".-_[]:%".contains(c));
    !name.is_empty() && named && port.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.hosts();
        if hosts.is_empty() {
            return f.write_str("the PostgreSQL database");
        }
        let name = self.parts().1.trim_start_matches('/').split(['?', '#']).next().unwrap_or_default();
        let name = if name.is_empty() { String::new() } else { format!(" {name}") };
        write!(f, "the PostgreSQL database{name} at {}", hosts.join(", "))
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
pub(super) struct Unrepeated;

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

    #[test]
    fn of_a_database_address_only_hosts_and_name_are_shown() {
        for (url, shown) in [
            ("postgres://ana:secret@db.example/cscp?sslmode=require", "the PostgreSQL database cscp at db.example"),
            ("postgres://ana:se@cret@one:5432,two:5433/cscp", "the PostgreSQL database cscp at one:5432, two:5433"),
            ("postgres://[::1]:5432", "the PostgreSQL database at [::1]:5432"),
            // What may be part of a password is not shown.
            ("postgres://ana:sec/ret@db.example/cscp", "the PostgreSQL database"),
            ("postgres://ana:sec?ret@db.example/cscp", "the PostgreSQL database"),
            ("postgres://ana:secret", "the PostgreSQL database"),
            ("postgres:///cscp?host=/run/secret", "the PostgreSQL database"),
        ] {
            let Ok(DatabaseUrl::Postgres(address)) = url.parse() else { panic!("{url} is no file") };
            assert_eq!(address.to_string(), shown, "{url}");
        }
    }
}
