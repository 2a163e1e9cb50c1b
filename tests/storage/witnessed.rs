//! What witnesses signed: kept once, apart for each tenant; and what is published only grows.

use std::sync::Arc;

use cscp::storage::StoredCosignature;

use crate::harness::House;
use crate::log::{Memory, log, talk};

fn signed(size: u64, witness: &str, line: &str) -> StoredCosignature {
    StoredCosignature { size, witness: witness.to_owned(), line: line.to_owned() }
}

#[tokio::test]
async fn the_first_cosignature_of_a_witness_stays() {
    let house = House::new().await;
    let (store, tenant, other) = (&house.store, &house.tenant.tenant_id, &house.other.tenant_id);
    let all = async |tenant, after, until| store.cosignatures(tenant, after, until).await.unwrap();
    let (a, b, c) = (signed(3, "a", "— a first"), signed(3, "b", "— b first"), signed(9, "a", "— a ninth"));
    assert_eq!(store.keep_cosignatures(tenant, &[b.clone(), c.clone()]).await.unwrap(), 2);
    let again = [a.clone(), signed(3, "b", "— b second"), a.clone()];
    assert_eq!(store.keep_cosignatures(tenant, &again).await.unwrap(), 1);
    assert_eq!(store.keep_cosignatures(tenant, &[]).await.unwrap(), 0);
    assert_eq!(all(tenant, 0, u64::MAX).await, [a.clone(), b.clone(), c.clone()]);
    assert_eq!(all(tenant, 2, 3).await, [a, b]);
    assert_eq!(all(tenant, 3, 9).await, [c]);
    assert_eq!(all(tenant, 3, 8).await, []);
    assert_eq!(all(other, 0, u64::MAX).await, [], "another tenant has a log of its own");
    // All or none: a size of no tree is not kept, and what stands beside it neither.
    assert!(store.keep_cosignatures(other, &[signed(1, "a", "x"), signed(0, "a", "x")]).await.is_err());
    assert_eq!(all(other, 0, u64::MAX).await, []);
}

#[tokio::test]
async fn what_is_published_only_grows_and_was_signed() {
    let house = House::new().await;
    let (store, tenant) = (&house.store, &house.tenant.tenant_id);
    let log = log(&house, store, &Arc::new(Memory::default()));
    let published = async || store.published_checkpoint(tenant).await.unwrap().map(|published| published.size);
    store.publish_checkpoint(tenant, 1).await.unwrap();
    assert_eq!(published().await, None, "there is no tree yet");
    talk(&house, 0, 3).await;
    log.sequence_once().await.unwrap();
    let first = store.checkpoint(tenant).await.unwrap().unwrap();
    assert_eq!(published().await, None, "whoever publishes nothing says so");
    store.publish_checkpoint(tenant, first.size).await.unwrap();
    assert_eq!(store.published_checkpoint(tenant).await.unwrap(), Some(first.clone()));
    talk(&house, 10, 3).await;
    log.sequence_once().await.unwrap();
    let second = store.checkpoint(tenant).await.unwrap().unwrap();
    assert_eq!(published().await, Some(first.size));
    assert!(store.publish_checkpoint(tenant, second.size + 1).await.is_err(), "nothing of that size was signed");
    for size in [second.size, first.size, 1] {
        store.publish_checkpoint(tenant, size).await.unwrap();
        assert_eq!(published().await, Some(second.size));
    }
    // Where the log is open to anybody and no witness is waited for, what is signed is published.
    let open = crate::log::log(&house, store, &Arc::new(Memory::default())).published(true);
    open.adopt().await.unwrap();
    talk(&house, 20, 3).await;
    open.sequence_once().await.unwrap();
    assert!(published().await.unwrap() > second.size);
}
