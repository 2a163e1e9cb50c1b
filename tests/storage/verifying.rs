//! Verifying while others work: what they do between two reads is no fault, and what is a fault stays one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cscp::service::retention::Mode;
use cscp::service::transparency::{NoGuard, Signer, Transparency};
use cscp::service::{TenantReport, verify_tenant};
use cscp::storage::{Store, Tenant};
use serde_json::json;

use crate::harness::{House, ManualClock};
use crate::meddled::Meddled;

/// What a verification reads, in its order.
const READS: [&str; 13] = [
    "disposal_head",
    "checkpoints",
    "misplaced",
    "filed",
    "names",
    "tree",
    "tiles",
    "logged",
    "frame",
    "heads",
    "stream",
    "placed",
    "never",
];

/// Some of it has its place in the log and some of it waits.
async fn house_with_history() -> Arc<House> {
    let house = House::new().await;
    for n in 0..3 {
        let context_id = house.context().await;
        let (_, buttons) = house.ask(&context_id, &format!("k{n}")).await;
        house.post(&format!("wamid.{n}"), json!({"button_id": buttons[0]})).await;
        house.answer(House::bind(&context_id, &format!("k{n}"), "one")).await.unwrap();
    }
    sign(&house).await;
    house.post("wamid.waits", json!({"text": "hello"})).await;
    Arc::new(house)
}

async fn sign(house: &House) {
    let clock = Arc::<ManualClock>::clone(&house.clock);
    let signer = Signer::new("example.org".to_owned(), vec![[6; 32]]);
    let log = Transparency::new(Arc::clone(&house.store), clock, Some(signer), Arc::new(NoGuard));
    while log.sequence_once().await.unwrap() > 0 {}
}

/// More is written, all of it finds its place, and the tree is signed.
async fn grow(house: &House, round: u64) {
    for n in 0..3 {
        let members = json!({"text": "hello", "conversation_id": format!("c{round}-{n}")});
        house.post(&format!("wamid.more.{round}.{n}"), members).await;
        house.post(&format!("wamid.again.{round}.{n}"), json!({"text": "hello"})).await;
    }
    sign(house).await;
}

async fn verified(house: &Arc<House>, store: &Arc<dyn Store>) -> TenantReport {
    verify_tenant(store.as_ref(), &house.tenant.tenant_id).await.unwrap()
}

#[tokio::test]
async fn a_log_that_grows_before_every_read_is_sound() {
    for read in READS {
        let house = house_with_history().await;
        let (own, rounds) = (Arc::clone(&house), Arc::new(AtomicU64::new(0)));
        let counted = Arc::clone(&rounds);
        let live = Meddled::live(&house.store, move |name| {
            let (own, rounds) = (Arc::clone(&own), Arc::clone(&rounds));
            Box::pin(async move {
                if name == read && rounds.load(Ordering::SeqCst) < 3 {
                    grow(&own, rounds.fetch_add(1, Ordering::SeqCst)).await;
                }
            })
        });
        let report = verified(&house, &live).await;
        assert!(report.is_sound(), "grown before {read}: {report:?}");
        assert_eq!(counted.load(Ordering::SeqCst) > 0, read != "never", "{read} is read");
    }
}

#[tokio::test]
async fn records_that_go_before_every_read_are_no_fault() {
    for read in READS {
        let house = house_with_history().await;
        house.clock.pass_seconds(4_000 * 86_400);
        let (own, done) = (Arc::clone(&house), Arc::new(AtomicBool::new(false)));
        let live = Meddled::live(&house.store, move |name| {
            let (own, done) = (Arc::clone(&own), Arc::clone(&done));
            Box::pin(async move {
                if name == read && !done.swap(true, Ordering::SeqCst) {
                    let gone = own.retention().finish(Tenant::clone(&own.tenant), Mode::Live).await.unwrap();
                    assert!(!gone.is_empty());
                }
            })
        });
        let report = verified(&house, &live).await;
        assert!(report.is_sound(), "gone before {read}: {report:?}");
        assert!(verified(&house, &house.store).await.is_sound());
    }
}

#[tokio::test]
async fn a_fault_is_told_however_much_goes_on() {
    let house = house_with_history().await;
    assert!(house.changed("UPDATE log_payloads SET payload = replace(payload, 'ana', 'eve') WHERE seq = 7").await > 0);
    let (own, rounds) = (Arc::clone(&house), Arc::new(AtomicU64::new(0)));
    let live = Meddled::live(&house.store, move |name| {
        let (own, rounds) = (Arc::clone(&own), Arc::clone(&rounds));
        Box::pin(async move {
            if name == "heads" && rounds.load(Ordering::SeqCst) < 20 {
                grow(&own, rounds.fetch_add(1, Ordering::SeqCst)).await;
            }
        })
    });
    let report = verified(&house, &live).await;
    assert_eq!(report.broken.iter().map(|(_, broken)| broken.seq).collect::<Vec<_>>(), [7], "{report:?}");
}

#[tokio::test]
async fn entries_that_nobody_placed_and_chains_that_nobody_knows_are_told() {
    let house = house_with_history().await;
    let before = verified(&house, &house.store).await;
    assert!(before.is_sound() && before.tree.waiting > 0, "{before:?}");
    assert!(house.changed("DELETE FROM log_outbox").await > 0);
    let report = verified(&house, &house.store).await;
    let told: Vec<String> = report.tree.faults.iter().map(ToString::to_string).collect();
    assert_eq!(told, [format!("{} entries are neither in the tree nor wait for their place", before.tree.waiting)]);
    let house = house_with_history().await;
    house.sequenced().await;
    assert!(house.changed("DELETE FROM streams").await > 0);
    let report = verified(&house, &house.store).await;
    assert!(!report.broken.is_empty() && report.broken.iter().all(|(_, broken)| broken.to_string().contains("head")));
}
