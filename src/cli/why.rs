//! Why something cannot be opened or reached, in plain words: the layers below tell the kind of failure only.

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use reqwest::Url;
use tokio::net::TcpStream;

use crate::config::PostgresUrl;
use crate::storage::StorageError;

/// How every SQLite database begins.
const SQLITE: &[u8; 16] = b"SQLite format 3\0";
/// PostgreSQL's port where an address names none.
const POSTGRES_PORT: u16 = 5432;
/// How long one host may take to accept a connection.
const REACHED_WITHIN: Duration = Duration::from_secs(2);

/// Why a database file cannot be opened: what is wrong with the file itself, or else what SQLite said.
pub(super) fn of_file(path: &Path, error: &StorageError) -> String {
    if path.is_dir() {
        return "it is a folder; give the name of a file in it".to_owned();
    }
    let mut begin = Vec::new();
    match File::open(path).and_then(|file| file.take(SQLITE.len() as u64).read_to_end(&mut begin)) {
        Err(error) => return format!("it cannot be read: {}", plain(&error)),
        Ok(0) => {}
        Ok(_) if begin != SQLITE => return "it is something else than a SQLite database; check the name".to_owned(),
        Ok(_) => {}
    }
    match OpenOptions::new().append(true).open(path) {
        Err(error) => format!("it cannot be written: {}", plain(&error)),
        Ok(_) => error.to_string(),
    }
}

/// Why a PostgreSQL database cannot be opened: which host does not take connections, or else what it said.
pub(super) async fn of_hosts(url: &PostgresUrl, error: &StorageError) -> String {
    if !matches!(error, StorageError::Unavailable(_)) {
        return error.to_string();
    }
    let mut silent = Vec::new();
    for host in url.hosts() {
        let port = if host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']')) { 0 } else { POSTGRES_PORT };
        let address = if port == 0 { host } else { format!("{host}:{port}") };
        match tokio::time::timeout(REACHED_WITHIN, TcpStream::connect(&address)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => silent.push(format!("{address} does not take connections: {}", plain(&error))),
            Err(_) => silent.push(format!("{address} does not answer")),
        }
    }
    if silent.is_empty() { error.to_string() } else { silent.join("; ") }
}

/// Why a request got no answer: the innermost cause, which says more than those around it.
pub(super) fn of_request(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "it does not answer in time".to_owned();
    }
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    without_number(&cause.to_string())
}

/// A URL without user, password and query, which may be secret.
pub(super) fn shown(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return "the given URL".to_owned() };
    if url.set_username("").is_err() || url.set_password(None).is_err() {
        return "the given URL".to_owned();
    }
    url.set_query(None);
    url.to_string()
}

/// The system's sentence.
fn plain(error: &std::io::Error) -> String {
    without_number(&error.to_string())
}

fn without_number(text: &str) -> String {
    text.split(" (os error ").next().unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_what_may_be_secret() {
        assert_eq!(shown("http://ana:secret@10.0.0.7:80/readyz?token=secret"), "http://10.0.0.7/readyz");
        assert_eq!(shown("no url: secret"), "the given URL");
    }

    #[test]
    fn what_is_no_database_is_told_by_looking_at_it() {
        let folder = tempfile::tempdir().unwrap();
        let error = StorageError::Unavailable("SQLite error 26".to_owned());
        assert!(of_file(folder.path(), &error).contains("folder"));
        let file = folder.path().join("notes.txt");
        std::fs::write(&file, "milk, bread and a dozen eggs").unwrap();
        assert!(of_file(&file, &error).contains("something else than a SQLite database"));
        assert!(of_file(&folder.path().join("missing"), &error).contains("cannot be read"));
        std::fs::write(&file, SQLITE).unwrap();
        assert!(of_file(&file, &error).contains("SQLite error 26"));
    }

    #[tokio::test]
    async fn a_host_that_takes_no_connection_is_named() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        drop(taken);
        let url = format!("postgres://ana:secret@{address}/cscp").parse().unwrap();
        let crate::config::DatabaseUrl::Postgres(url) = url else { panic!("it is PostgreSQL's") };
        let told = of_hosts(&url, &StorageError::Unavailable("input or output failed".to_owned())).await;
        assert!(told.contains(&address.to_string()) && told.contains("refused") && !told.contains("secret"), "{told}");
    }
}
