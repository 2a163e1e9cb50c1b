//! Through pgbouncer in transaction mode: nothing may outlive a transaction on a connection.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use cscp::committer::Limits;
use cscp::service::verify_tenant;
use cscp::storage::Store;
use cscp::storage::postgres::{PostgresSettings, PostgresStore};
use sqlx::{Connection as _, PgConnection};
use tempfile::TempDir;

use crate::harness::{House, ManualClock};
use crate::place::Place;
use crate::postgres::cluster::as_somebody_else;
use crate::postgres::{missing, setting};
use crate::run;
use crate::server::settings;
use crate::waiting::until;

/// It ends with this process however that ends: its words are then at their end.
const KEEPER: &str = "pgbouncer \"$1\" 2>/dev/null & read word; kill $!";

/// It is up by then, or never will be.
const SOON: Duration = Duration::from_secs(20);

/// A pgbouncer with three connections to the server, whoever comes.
struct Pooler {
    keeper: Child,
    port: u16,
    _folder: TempDir,
}

impl Pooler {
    fn start(url: &str) -> Result<Self, String> {
        let paths = setting("PATH").unwrap_or_default() + ":/usr/sbin:/usr/local/sbin";
        if !std::env::split_paths(&paths).any(|folder| folder.join("pgbouncer").is_file()) {
            return Err("pgbouncer is nowhere to be found".to_owned());
        }
        let (user, rest) = url.trim_start_matches("postgres://").split_once('@').ok_or("no user in the address")?;
        let (host, rest) = rest.split_once(':').ok_or("no port in the address")?;
        let server = rest.split('/').next().unwrap_or_default();
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let port = port.map_err(|error| error.to_string())?.port();
        let text = format!(
            "[databases]\n* = host={host} port={server} user={user}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 3\n\
             max_client_conn = 200\nunix_socket_dir =\n"
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, text).map_err(|error| error.to_string())?;
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "keep"]).arg(&file).env("PATH", paths);
        if let Some((user, group)) = as_somebody_else(&mut command)? {
            std::os::unix::fs::chown(folder.path(), Some(user), Some(group)).map_err(|error| error.to_string())?;
        }
        let keeper = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().map_err(|error| error.to_string())?;
        Ok(Self { keeper, port, _folder: folder })
    }

    /// The same database, by way of the pooler.
    async fn url(&self, url: &str) -> String {
        let name = url.rsplit('/').next().unwrap();
        let url = format!("postgres://anybody@127.0.0.1:{}/{name}", self.port);
        let up = async || {
            let options = url.parse::<sqlx::postgres::PgConnectOptions>().unwrap().extra_float_digits(None);
            PgConnection::connect_with(&options).await.ok()
        };
        until("pgbouncer is up", SOON, up).await;
        url
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        drop(self.keeper.wait());
    }
}

#[tokio::test]
async fn everything_works_through_a_pooler_in_transaction_mode() {
    let Some(direct) = settings().await else { return };
    let Ok(pooler) = Pooler::start(&direct.url).map_err(|why| missing(&why)) else { return };
    let clock = ManualClock::new();
    let mut settings = PostgresSettings::new(pooler.url(&direct.url).await);
    settings.unsafe_durability = true;
    let unsaid = PostgresStore::open(settings.clone()).await.unwrap_err().to_string();
    assert!(unsaid.contains("--postgres-pooler"), "it does not start where it would meet others' statements: {unsaid}");
    settings.pooler = true;
    settings.clock = Some(Arc::<ManualClock>::clone(&clock) as _);
    let mut houses = Vec::new();
    for seed in [1, 1_000_000] {
        let store: Arc<dyn Store> = Arc::new(PostgresStore::open(settings.clone()).await.unwrap());
        let place = Place::Server(direct.url.clone());
        houses.push(Arc::new(House::over(place, store, Arc::clone(&clock), Limits::default(), seed)));
    }
    houses[0].create_tenants().await;
    // Far more at once than there are connections, so that statements of one client meet those of others.
    let rounds = (0..40).map(|n| {
        let house = Arc::clone(&houses[n % 2]);
        tokio::spawn(async move { run(&house, n).await })
    });
    for round in rounds.collect::<Vec<_>>() {
        round.await.unwrap();
    }
    let house = &houses[0];
    assert!(house.store.take_lease("sweeper", "one", 10).await.unwrap());
    assert!(!houses[1].store.take_lease("sweeper", "two", 10).await.unwrap());
    let report = verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap();
    assert!(report.broken.is_empty() && report.streams == 40, "{report:?}");
}
