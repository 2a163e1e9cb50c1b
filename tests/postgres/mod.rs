//! A PostgreSQL for tests: the one that `CSCP_TEST_POSTGRES_URL` names, or a throw-away one that this process starts.
//!
//! A binary that includes this says at its root, in `SERVER`, what the throw-away one is set to. Where there is no
//! PostgreSQL, the run says loudly what is not tested; with `CSCP_REQUIRE_POSTGRES=1` it fails.

pub(crate) mod cluster;

use std::io::Write as _;
use std::sync::OnceLock;

use ::cscp::domain::id::Entropy as _;
use ::cscp::system::SystemEntropy;
pub(crate) use cluster::Cluster;
use sqlx::{Connection as _, PgConnection};

/// A setting of whoever runs the tests.
#[expect(clippy::disallowed_methods, reason = "tests have no configuration of their own; this is where it is read")]
pub(crate) fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Says something in the run's output whether the test passes or not; what is printed is kept back when it does.
/// On a line of its own, whatever has been written to the last one.
pub(crate) fn say(text: &str) {
    std::io::stderr().write_all(format!("\n{text}\n").as_bytes()).unwrap();
}

/// There is no PostgreSQL.
pub(crate) fn missing(why: &str) {
    assert!(setting("CSCP_REQUIRE_POSTGRES").is_none_or(|value| value != "1"), "PostgreSQL is required: {why}");
    say(&format!("##### NOT TESTED, because there is no PostgreSQL ({why}): what concerns it in {}", crate_name()));
}

pub(crate) fn crate_name() -> &'static str {
    env!("CARGO_CRATE_NAME")
}

/// The address of the server that all tests of this process share; its user may create databases.
pub(crate) fn server() -> Option<&'static str> {
    static SERVER: OnceLock<Option<(String, Option<Cluster>)>> = OnceLock::new();
    let server = SERVER.get_or_init(|| match setting("CSCP_TEST_POSTGRES_URL") {
        Some(url) => Some((url, None)),
        None => match Cluster::start(crate::SERVER) {
            Ok(cluster) => Some((cluster.url(), Some(cluster))),
            Err(why) => {
                missing(&why);
                None
            }
        },
    });
    server.as_ref().map(|(url, _)| url.as_str())
}

/// The address of a database of a test's own, new and empty, on the shared server. It goes with the server.
pub(crate) async fn database() -> Option<String> {
    copy_of("template0").await
}

/// The same with everything in it that is in this database, to which nobody may be connected meanwhile.
pub(crate) async fn copy_of(original: &str) -> Option<String> {
    let server = server()?;
    let name = format!("cscp_test_{}", hex::encode(&SystemEntropy.bytes()[..8]));
    let mut connection = PgConnection::connect(server).await.unwrap();
    let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name} TEMPLATE {original}"));
    sqlx::raw_sql(create).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    Some(on_database(server, &name))
}

/// The same server's address with another database.
fn on_database(server: &str, name: &str) -> String {
    let (address, options) =
        server.split_once('?').map_or((server, None), |(address, options)| (address, Some(options)));
    let (scheme, rest) = address.split_once("://").unwrap();
    let host = rest.split('/').next().unwrap();
    let options = options.map(|options| format!("?{options}")).unwrap_or_default();
    format!("{scheme}://{host}/{name}{options}")
}
