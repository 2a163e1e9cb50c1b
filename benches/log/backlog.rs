//! A log that was written while nobody sequenced: how fast it catches up, what that takes of memory, and how long a proof
//! and a verification take in the whole.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cscp::domain::time::Clock;
use cscp::evidence::tree::{inclusion_proof, inclusion_tiles};
use cscp::service::transparency::{NoGuard, Signer, Transparency};
use cscp::service::verify_tenant;
use cscp::storage::postgres::{PostgresSettings, PostgresStore};
use cscp::storage::sqlite::SqliteStore;
use cscp::storage::{Store, Tenant};
use cscp::system::SystemClock;

use crate::postgres;
use crate::turns::written;

/// Proofs that are timed.
const PROOFS: u64 = 1_000;
/// Bytes to a page of memory.
const PAGE: u64 = 4_096;

pub(crate) async fn measure(turns: u64) {
    println!("\n| database | entries | sequencing, leaves/s | of it MiB | proof, µs | verify, entries/s | of it MiB |");
    println!("|---|---|---|---|---|---|---|");
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("bench.db"), Arc::new(SystemClock)).await.unwrap();
    on("SQLite", Arc::new(store), turns).await;
    let Some(url) = postgres::database().await else { return };
    let store = PostgresStore::open(PostgresSettings::new(&url)).await.unwrap();
    on("PostgreSQL", Arc::new(store), turns).await;
}

async fn on(name: &str, store: Arc<dyn Store>, turns: u64) {
    let tenant = written(Arc::clone(&store), turns).await;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let signer = Signer::new("bench.example".to_owned(), vec![[4; 32]]);
    let log = Transparency::new(Arc::clone(&store), clock, Some(signer), Arc::new(NoGuard));
    let (before, began) = (resident(), Instant::now());
    let mut leaves = 0;
    loop {
        match log.sequence_once().await.unwrap() {
            0 => break,
            appended => leaves += u64::try_from(appended).unwrap(),
        }
    }
    let (sequencing, sequenced) = (began.elapsed(), resident());
    let proof = proof(store.as_ref(), &tenant, leaves).await;
    let (verifying_from, began) = (resident(), Instant::now());
    let report = verify_tenant(store.as_ref(), &tenant.tenant_id).await.unwrap();
    let verifying = began.elapsed();
    assert!(report.is_sound() && report.entries == leaves, "{report:?}");
    let rate = |time: Duration| f64::from(u32::try_from(leaves).unwrap()) / time.as_secs_f64();
    println!(
        "| {name} | {leaves} | {:.0} | {} | {:.0} | {:.0} | {} |",
        rate(sequencing),
        sequenced.saturating_sub(before),
        proof.as_secs_f64() * 1e6,
        rate(verifying),
        resident().saturating_sub(verifying_from)
    );
    store.close().await;
}

/// Of an entry chosen evenly over the log: its tiles loaded, its proof made.
async fn proof(store: &dyn Store, tenant: &Tenant, size: u64) -> Duration {
    let began = Instant::now();
    for nth in 0..PROOFS {
        let leaf = nth * size / PROOFS;
        let wanted = inclusion_tiles(leaf, size).unwrap();
        let tiles = store.tiles(&tenant.tenant_id, &wanted).await.unwrap().into_iter().collect();
        inclusion_proof(leaf, size, &tiles).unwrap();
    }
    began.elapsed() / u32::try_from(PROOFS).unwrap()
}

/// The memory of this process that is in use, in MiB.
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * PAGE / (1 << 20)
}
