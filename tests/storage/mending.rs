//! The log's own tables: whatever is taken from them or put into them is found, nothing is signed for what is no entry, and
//! what follows from the leaves can be rebuilt.

use std::sync::Arc;

use cscp::evidence::auditing::{Flaw, Trusted};
use cscp::service::{RebuildRefusal, TenantReport, check_checkpoint, rebuild_tree, verify_tenant};

use crate::harness::House;
use crate::log::{Memory, keys, log, talk};

async fn report(house: &House) -> TenantReport {
    verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap()
}

/// A log with three checkpoints, and something that waits.
async fn logged(messages: usize) -> (House, Arc<Memory>) {
    let house = House::new().await;
    let guard = Arc::new(Memory::default());
    let signing = log(&house, &house.store, &guard);
    for round in 0..3 {
        talk(&house, round * messages, messages).await;
        while signing.sequence_once().await.unwrap() > 0 {}
    }
    talk(&house, 400, 2).await;
    let found = report(&house).await;
    assert!(found.is_sound() && found.tree.waiting > 0, "{found:?}");
    assert_eq!(found.tree.checkpoints, 3);
    (house, guard)
}

/// Each way of losing or changing what follows from the leaves, and the word for it.
const DERIVED: [(&str, &str); 9] = [
    ("DELETE FROM log_tiles WHERE level = 0 AND tile = 0", "tile 0/0"),
    ("DELETE FROM log_tiles WHERE level = 0 AND tile = 1", "tile 0/1"),
    ("DELETE FROM log_tiles WHERE level = 1", "tile 1/0"),
    ("UPDATE log_tiles SET hashes = substr(hashes, 1, 320) WHERE level = 0 AND tile = 0", "tile 0/0"),
    ("UPDATE log_tiles SET hashes = zeroblob(32) WHERE level = 1", "tile 1/0"),
    ("INSERT INTO log_tiles SELECT tenant_id, level, tile + 1000, hashes FROM log_tiles WHERE tile = 0", "tile 0/1000"),
    (
        "INSERT INTO log_outbox SELECT tenant_id, stream_id, seq + 100000, entry_hash FROM log_entries WHERE seq = 1",
        "waits for its place as entry 100001",
    ),
    ("INSERT INTO log_outbox SELECT tenant_id, stream_id, seq, entry_hash FROM log_entries WHERE seq = 1", "has one"),
    ("UPDATE log_outbox SET entry_hash = zeroblob(32)", "no entry has it"),
];

#[tokio::test]
async fn what_follows_from_the_leaves_is_missed_and_rebuilt() {
    let (house, _guard) = logged(90).await;
    let (store, tenant) = (house.store.as_ref(), &house.tenant.tenant_id);
    assert!(report(&house).await.tree.size > 256, "more than one tile");
    let nothing = rebuild_tree(store, tenant, true).await.unwrap().unwrap();
    assert!(nothing.is_nothing(), "{nothing:?}");
    for (sql, word) in DERIVED {
        assert!(house.changed(sql).await > 0, "{sql}");
        let found = report(&house).await;
        let told: Vec<String> = found.tree.faults.iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|fault| fault.contains(word)), "{sql}: {told:?}");
        let dry = rebuild_tree(store, tenant, false).await.unwrap().unwrap();
        assert!(!dry.is_nothing() && !report(&house).await.is_sound(), "{sql}: a dry run writes nothing");
        assert_eq!(rebuild_tree(store, tenant, true).await.unwrap().unwrap(), dry, "{sql}");
        let after = report(&house).await;
        assert!(after.is_sound(), "{sql}: {after:?}");
    }
}

/// What does not follow from anything is found, and never made up.
#[tokio::test]
async fn a_leaf_a_root_or_a_checkpoint_is_never_made_up() {
    let cases = [
        ("DELETE FROM log_leaves WHERE leaf = 3", RebuildRefusal::Leaves),
        ("DELETE FROM log_leaves WHERE leaf = (SELECT max(leaf) FROM log_leaves)", RebuildRefusal::Leaves),
        ("UPDATE log_trees SET root = zeroblob(32)", RebuildRefusal::Leaves),
        ("DELETE FROM log_trees", RebuildRefusal::Leaves),
        ("UPDATE log_checkpoints SET note = (SELECT max(note) FROM log_checkpoints)", RebuildRefusal::Checkpoints),
        (
            "UPDATE log_checkpoints SET size = size + 1 WHERE size = (SELECT min(size) FROM log_checkpoints)",
            RebuildRefusal::Checkpoints,
        ),
        ("UPDATE streams SET head_hash = zeroblob(32) WHERE seq > 1", RebuildRefusal::Chains),
    ];
    for (sql, refusal) in cases {
        let (house, _guard) = logged(5).await;
        assert!(house.changed(sql).await > 0, "{sql}");
        assert!(!report(&house).await.is_sound(), "{sql}");
        let refused = rebuild_tree(house.store.as_ref(), &house.tenant.tenant_id, true).await.unwrap();
        assert_eq!(refused, Err(refusal), "{sql}");
    }
}

/// Somebody who cannot sign writes into the line of what is to be signed.
#[tokio::test]
async fn nothing_is_signed_for_what_is_no_entry_and_the_rest_goes_on() {
    let (house, guard) = logged(5).await;
    let signing = log(&house, &house.store, &guard);
    let before = house.store.tree(&house.tenant.tenant_id).await.unwrap().unwrap().size;
    let planted = [
        "INSERT INTO log_outbox SELECT tenant_id, stream_id, seq + 100000, entry_hash FROM log_entries WHERE seq = 1",
        "INSERT INTO log_outbox SELECT tenant_id, stream_id, seq, entry_hash FROM log_entries WHERE seq = 2",
    ];
    let mut rows = 0;
    for sql in planted {
        rows += house.changed(sql).await;
    }
    assert!(rows >= 2);
    let waiting = house.store.waiting(&house.tenant.tenant_id, 1_000).await.unwrap().len();
    assert!(waiting > 0);
    while signing.sequence_once().await.unwrap() > 0 {}
    let after = house.store.tree(&house.tenant.tenant_id).await.unwrap().unwrap();
    assert_eq!((after.size, after.signed), (before + waiting as u64, after.size), "the entries have their places");
    assert_eq!(signing.set_aside().get(&house.tenant.tenant_id), Some(&rows));
    assert!(house.changed("DELETE FROM log_outbox").await > 0);
    signing.sequence_once().await.unwrap();
    assert!(signing.set_aside().is_empty(), "what is gone is not told any more");
    assert!(report(&house).await.is_sound());
}

#[tokio::test]
async fn every_checkpoint_that_is_kept_was_signed_by_a_known_key() {
    let (house, _guard) = logged(5).await;
    let trusted = Trusted { keys: keys(&house), ..Trusted::default() };
    let check = async || check_checkpoint(house.store.as_ref(), &house.tenant.tenant_id, &trusted).await.unwrap();
    assert_eq!(check().await, None);
    let oldest = "UPDATE log_checkpoints SET note = substr(note, 1, length(note) - 12) || 'AAAAAAAAAAA='
        || substr(note, length(note)) WHERE size = (SELECT min(size) FROM log_checkpoints)";
    assert!(house.changed(oldest).await > 0);
    assert_eq!(check().await, Some(Flaw::Checkpoint));
}
