//! The transparency log on real databases: every entry becomes a leaf once, whatever ends in between, and nobody signs
//! two histories.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use cscp::domain::canonical::Digest;
use cscp::domain::id::TenantId;
use cscp::evidence::checkpoint::Checkpoint;
use cscp::evidence::note::VerifierKey;
use cscp::evidence::tree::{
    Tile, TileSet, consistency_proof, consistency_tiles, inclusion_proof, inclusion_tiles, verify_consistency,
    verify_inclusion,
};
use cscp::service::transparency::{Guard, GuardError, NoGuard, Protection, Refusal, Signed, Signer, Transparency};
use cscp::service::verify_tenant;
use cscp::storage::{Growth, Store};

use crate::harness::{House, ManualClock};
use crate::meddled::{Cut, Meddled};

const SEED: [u8; 32] = [5; 32];

/// A guard in memory: it outlives every database of a test.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<BTreeMap<TenantId, Signed>>);

impl Guard for Memory {
    fn protection(&self) -> Protection {
        Protection::File
    }

    fn latest(&self, tenant_id: &TenantId) -> Result<Option<Signed>, GuardError> {
        Ok(self.0.lock().unwrap().get(tenant_id).cloned())
    }

    fn remembered(&self) -> Result<Vec<(TenantId, Signed)>, GuardError> {
        Ok(self.0.lock().unwrap().clone().into_iter().collect())
    }

    fn advance(&self, tenant_id: &TenantId, from: Option<&Signed>, to: &Signed) -> Result<bool, GuardError> {
        let mut signed = self.0.lock().unwrap();
        if signed.get(tenant_id) != from {
            return Ok(false);
        }
        signed.insert(tenant_id.clone(), to.clone());
        Ok(true)
    }
}

fn signer() -> Signer {
    Signer::new("example.org/log".to_owned(), vec![SEED])
}

pub(crate) fn log(house: &House, store: &Arc<dyn Store>, guard: &Arc<Memory>) -> Transparency {
    let guard = Arc::<Memory>::clone(guard);
    Transparency::new(Arc::clone(store), Arc::<ManualClock>::clone(&house.clock), Some(signer()), guard)
}

pub(crate) fn keys(house: &House) -> Vec<VerifierKey> {
    signer().verifiers(&signer().origin(&house.tenant)).unwrap()
}

/// Some messages of two people.
pub(crate) async fn talk(house: &House, from: usize, messages: usize) {
    for n in from..from + messages {
        let actor = if n % 3 == 0 { "bia" } else { "ana" };
        let members = serde_json::json!({"text": "hello", "actor_id": actor, "conversation_id": format!("c{}", n % 4)});
        house.post(&format!("wamid.{n}"), members).await;
    }
}

async fn tiles(house: &House, wanted: &[cscp::evidence::tree::TileId]) -> TileSet {
    house.store.tiles(&house.tenant.tenant_id, wanted).await.unwrap().into_iter().collect::<TileSet>()
}

/// The newest checkpoint, opened with its key, after every entry was found in it.
async fn every_entry_is_proven(house: &House) -> Checkpoint {
    let tenant = &house.tenant.tenant_id;
    let stored = house.store.checkpoint(tenant).await.unwrap().unwrap();
    let checkpoint = Checkpoint::open(&stored.note, &keys(house)).unwrap();
    assert_eq!(checkpoint.size(), stored.size);
    let mut places = BTreeSet::new();
    for head in house.store.heads(tenant, None, 100).await.unwrap() {
        for entry in house.store.stream(tenant, &head.stream_id, 0, 1000).await.unwrap() {
            let leaf = house.store.leaf(tenant, &head.stream_id, entry.header.seq).await.unwrap().unwrap();
            assert!(places.insert(leaf), "a leaf is one entry");
            let set = tiles(house, &inclusion_tiles(leaf, stored.size).unwrap()).await;
            let proof = inclusion_proof(leaf, stored.size, &set).unwrap();
            verify_inclusion(&entry.entry_hash, leaf, stored.size, &proof, &checkpoint.root()).unwrap();
        }
    }
    assert_eq!(u64::try_from(places.len()).unwrap(), stored.size, "no leaf without an entry");
    let report = verify_tenant(house.store.as_ref(), tenant).await.unwrap();
    assert!(report.broken.is_empty() && report.tree.faults.is_empty(), "{report:?}");
    assert_eq!((report.tree.size, report.tree.waiting), (stored.size, 0));
    checkpoint
}

#[tokio::test]
async fn every_entry_becomes_a_leaf_and_older_checkpoints_are_the_beginning_of_newer_ones() {
    let house = House::new().await;
    let guard = Arc::new(Memory::default());
    let log = log(&house, &house.store, &guard);
    assert_eq!(log.sequence_once().await.unwrap(), 0);
    let mut older: Vec<Checkpoint> = Vec::new();
    for round in 0..4 {
        talk(&house, round * 10, 3 + round * 5).await;
        assert!(log.sequence_once().await.unwrap() > 0);
        let newest = every_entry_is_proven(&house).await;
        for old in &older {
            let set = tiles(&house, &consistency_tiles(old.size(), newest.size()).unwrap()).await;
            let proof = consistency_proof(old.size(), newest.size(), &set).unwrap();
            verify_consistency(old.size(), &old.root(), newest.size(), &newest.root(), &proof).unwrap();
        }
        older.push(newest);
    }
    assert_eq!(log.sequence_once().await.unwrap(), 0, "nothing waits, and nothing is signed twice");
    assert!(log.refused().is_empty());
}

#[tokio::test]
async fn many_batches_and_tenants_catch_up() {
    let house = House::new().await;
    talk(&house, 0, 330).await;
    let guard = Arc::new(Memory::default());
    let log = log(&house, &house.store, &guard);
    while log.sequence_once().await.unwrap() > 0 {}
    assert!(every_entry_is_proven(&house).await.size() > 300, "more than one tile");
    assert!(house.store.tree(&house.other.tenant_id).await.unwrap().is_none(), "another tenant has a log of its own");
}

#[tokio::test]
async fn who_is_behind_waits_or_is_not_signed() {
    let house = House::new().await;
    let (store, tenant) = (&house.store, &house.tenant.tenant_id);
    let behind = async |after: Option<&TenantId>, unsigned| store.behind(after, unsigned, 10).await.unwrap();
    assert!(behind(None, true).await.is_empty());
    talk(&house, 0, 2).await;
    assert_eq!(behind(None, false).await, std::slice::from_ref(tenant));
    let unsigned =
        Transparency::new(Arc::clone(store), Arc::<ManualClock>::clone(&house.clock), None, Arc::new(NoGuard));
    assert!(unsigned.sequence_once().await.unwrap() > 0);
    assert!(behind(None, false).await.is_empty(), "a server that signs nothing is done");
    assert_eq!(behind(None, true).await, std::slice::from_ref(tenant));
    assert!(behind(Some(tenant), true).await.is_empty());
    log(&house, store, &Arc::new(Memory::default())).sequence_once().await.unwrap();
    assert!(behind(None, true).await.is_empty());
    every_entry_is_proven(&house).await;
}

/// Wherever the process ends, the next one goes on: no gap, no leaf twice.
#[tokio::test]
async fn a_sequencer_that_ends_at_any_step_is_caught_up_with() {
    for cut in (1..=4).flat_map(|write| [Cut::Before(write), Cut::After(write)]) {
        let house = House::new().await;
        let guard = Arc::new(Memory::default());
        talk(&house, 0, 5).await;
        let ending = log(&house, &Meddled::cut(&house.store, cut), &guard);
        for round in 0..3 {
            drop(ending.sequence_once().await);
            talk(&house, 10 + round * 10, 2).await;
        }
        let next = log(&house, &house.store, &guard);
        while next.sequence_once().await.unwrap() > 0 {}
        every_entry_is_proven(&house).await;
        assert!(next.refused().is_empty(), "{cut:?}");
    }
}

#[tokio::test]
async fn two_sequencers_at_once_write_one_tree() {
    let house = House::new().await;
    let guard = Arc::new(Memory::default());
    let logs: Vec<Transparency> = (0..4).map(|_| log(&house, &house.store, &guard)).collect();
    for round in 0..5 {
        talk(&house, round * 10, 8).await;
        let [one, two, three, four] = logs.as_slice() else { panic!("four") };
        drop(tokio::join!(one.sequence_once(), two.sequence_once(), three.sequence_once(), four.sequence_once()));
    }
    while logs[0].sequence_once().await.unwrap() > 0 {}
    every_entry_is_proven(&house).await;
    assert!(logs.iter().all(|log| log.refused().is_empty()));
}

#[tokio::test]
async fn a_step_that_comes_after_another_size_writes_nothing() {
    let house = House::new().await;
    let tenant = &house.tenant.tenant_id;
    talk(&house, 0, 2).await;
    let waiting = house.store.waiting(tenant, 100).await.unwrap();
    let step = |from: u64, leaves: &[cscp::storage::Waiting]| {
        let mut growing = cscp::evidence::tree::Growing::new(0, Vec::new()).unwrap();
        for entry in leaves {
            growing.push(&entry.entry_hash);
        }
        let grown = growing.finish();
        Growth { from, size: from + grown.size, root: grown.root, tiles: grown.tiles, leaves: leaves.to_vec() }
    };
    assert!(!house.store.grow(tenant, &step(7, &waiting)).await.unwrap(), "there is no tree of that size");
    assert!(house.store.grow(tenant, &step(0, &waiting[..1])).await.unwrap());
    assert!(!house.store.grow(tenant, &step(0, &waiting[1..])).await.unwrap(), "it has grown meanwhile");
    assert!(!house.store.grow(tenant, &step(2, &waiting[1..])).await.unwrap(), "it has not grown so far");
    assert!(!house.store.grow(tenant, &step(1, &waiting[..1])).await.unwrap(), "that one waits no longer");
    let head = house.store.tree(tenant).await.unwrap().unwrap();
    assert_eq!((head.size, head.signed), (1, 0));
    assert_eq!(house.store.waiting(tenant, 100).await.unwrap(), waiting[1..]);
}

/// What a guard can remember that the database does not bear out, and what is said of it.
fn contradictions(signed: &Signed) -> [(Signed, Refusal); 4] {
    let other = |size, root| Signed { origin: signed.origin.clone(), size, root };
    [
        (other(signed.size + 100, signed.root), Refusal::Behind),
        (other(signed.size - 1, signed.root), Refusal::Forked),
        (other(signed.size, Digest::from_bytes([1; 32])), Refusal::Forked),
        (Signed { origin: "example.org/log/elsewhere/shop".to_owned(), ..signed.clone() }, Refusal::Renamed),
    ]
}

/// The guard has seen more than the database, or something else: then nothing is signed, and it says so.
#[tokio::test]
async fn a_backup_that_was_put_back_and_a_second_signer_are_refused() {
    let house = House::new().await;
    talk(&house, 0, 6).await;
    let guard = Arc::new(Memory::default());
    log(&house, &house.store, &guard).sequence_once().await.unwrap();
    let tenant_id = &house.tenant.tenant_id;
    let signed = guard.latest(tenant_id).unwrap().unwrap();
    let checkpoint = house.store.checkpoint(tenant_id).await.unwrap();
    for (n, (elsewhere, why)) in (0..).zip(contradictions(&signed)) {
        guard.0.lock().unwrap().insert(tenant_id.clone(), elsewhere.clone());
        talk(&house, 10 + n * 10, 1).await;
        let log = log(&house, &house.store, &guard);
        log.sequence_once().await.unwrap();
        assert_eq!(log.refused().values().copied().collect::<Vec<_>>(), [why]);
        assert_eq!(guard.latest(tenant_id).unwrap(), Some(elsewhere), "it did not move");
        assert_eq!(house.store.checkpoint(tenant_id).await.unwrap(), checkpoint, "nothing was signed");
    }
    // What was wrong has been put right.
    guard.0.lock().unwrap().insert(tenant_id.clone(), signed);
    let log = log(&house, &house.store, &guard);
    log.sequence_once().await.unwrap();
    assert!(log.refused().is_empty());
    every_entry_is_proven(&house).await;
}

/// The same shows before anything is written to the database that was put back.
#[tokio::test]
async fn a_backup_that_was_put_back_shows_before_it_grows() {
    let house = House::new().await;
    talk(&house, 0, 6).await;
    let guard = Arc::new(Memory::default());
    let log = log(&house, &house.store, &guard);
    assert!(log.adopt().await.unwrap().is_empty(), "nothing was signed yet");
    log.sequence_once().await.unwrap();
    let tenant_id = &house.tenant.tenant_id;
    let signed = guard.latest(tenant_id).unwrap().unwrap();
    for (elsewhere, why) in contradictions(&signed) {
        guard.0.lock().unwrap().insert(tenant_id.clone(), elsewhere);
        log.compare_with_guard().await.unwrap();
        assert_eq!(log.refused(), BTreeMap::from([(tenant_id.clone(), why)]));
    }
    guard.0.lock().unwrap().insert(tenant_id.clone(), signed.clone());
    log.compare_with_guard().await.unwrap();
    assert!(log.refused().is_empty(), "what was wrong has been put right");

    // The backup is older than the tenant.
    let gone = TenantId::new("gone".to_owned()).unwrap();
    guard.0.lock().unwrap().insert(gone.clone(), signed.clone());
    log.compare_with_guard().await.unwrap();
    assert_eq!(log.refused(), BTreeMap::from([(gone, Refusal::Behind)]));

    // A guard that was lost takes up what is there, for each log by itself.
    guard.0.lock().unwrap().clear();
    assert_eq!(log.adopt().await.unwrap(), std::slice::from_ref(tenant_id));
    assert_eq!(guard.latest(tenant_id).unwrap(), Some(signed));
    assert!(log.adopt().await.unwrap().is_empty());
}

/// A tenant whose environment was changed is renamed also for a server whose guard knows nothing of its log: what the
/// database says was signed stands in. Under another name of the deployment a new history may begin.
#[tokio::test]
async fn a_renamed_log_is_refused_without_a_guard_too() {
    let house = House::new().await;
    talk(&house, 0, 6).await;
    log(&house, &house.store, &Arc::new(Memory::default())).sequence_once().await.unwrap();
    let tenant_id = &house.tenant.tenant_id;
    let signed = house.store.checkpoint(tenant_id).await.unwrap().unwrap();
    assert!(house.changed("UPDATE tenants SET environment = 'renamed'").await > 0);
    talk(&house, 6, 8).await;

    let renamed = BTreeMap::from([(tenant_id.clone(), Refusal::Renamed)]);
    let unaware = log(&house, &house.store, &Arc::new(Memory::default()));
    unaware.sequence_once().await.unwrap();
    assert_eq!(
        (unaware.refused(), house.store.checkpoint(tenant_id).await.unwrap()),
        (renamed.clone(), Some(signed.clone()))
    );

    let started = log(&house, &house.store, &Arc::new(Memory::default()));
    assert_eq!(started.adopt().await.unwrap(), std::slice::from_ref(tenant_id));
    started.compare_with_guard().await.unwrap();
    assert_eq!(started.refused(), renamed, "it shows before anything is written");
}

/// Every way of changing the tree behind the program's back is found by verification, and none is built upon.
#[tokio::test]
async fn a_tree_that_was_changed_is_found_and_not_continued() {
    let cases = [
        "UPDATE log_tiles SET hashes = zeroblob(32) WHERE level = 0",
        "DELETE FROM log_tiles WHERE level = 0",
        "UPDATE log_trees SET root = zeroblob(32)",
        "UPDATE log_trees SET size = size + 1",
        "UPDATE log_entries SET entry_hash = zeroblob(32) WHERE seq = 2",
        "DELETE FROM log_leaves WHERE leaf = 3",
        "UPDATE log_leaves SET leaf = leaf + 1000 WHERE leaf = 3",
        "UPDATE log_leaves SET seq = seq + 1000 WHERE leaf = 3",
        "DELETE FROM log_outbox",
    ];
    for sql in cases {
        let house = House::new().await;
        let guard = Arc::new(Memory::default());
        let log = log(&house, &house.store, &guard);
        talk(&house, 0, 6).await;
        log.sequence_once().await.unwrap();
        talk(&house, 10, 2).await;
        let before = house.store.tree(&house.tenant.tenant_id).await.unwrap().unwrap().size;
        assert!(house.changed(sql).await > 0, "{sql}");
        let report = verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap();
        assert!(!report.tree.faults.is_empty(), "{sql}: {report:?}");
        if sql.contains("log_tiles") || sql.contains("log_trees") {
            drop(log.sequence_once().await);
            let after = house.store.tree(&house.tenant.tenant_id).await.unwrap().unwrap().size;
            assert!(after <= before + 1, "{sql}: it was built upon");
        }
    }
}

#[test]
fn tiles_of_another_length_are_no_tiles() {
    let id = cscp::evidence::tree::TileId { level: 0, index: 0 };
    assert!(Tile::from_bytes(id, &[0; 31]).is_err());
}
