//! Retention under other hands: several at once, processes that end between two steps, chains and trees afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use cscp::domain::command::Outcome;
use cscp::domain::disposal::DisposalEvent;
use cscp::domain::id::CommandId;
use cscp::domain::operation::{Operation, RecordResult};
use cscp::domain::policy::RecordKind;
use cscp::domain::query::EvidenceQuery;
use cscp::domain::refusal::Refusal;
use cscp::domain::time::Timestamp;
use cscp::evidence::entry::{Logged, Payload};
use cscp::evidence::tree::{TileSet, inclusion_proof, inclusion_tiles, verify_inclusion};
use cscp::service::retention::{Disposed, Mode, Retention};
use cscp::service::verify_tenant;
use cscp::storage::{StorageError, Tenant, Transaction};

use crate::harness::{House, ManualClock, SeededEntropy};
use crate::meddled::Meddled;
use crate::passing::{Interference, Passing, Step};
use crate::retention_things::{Things, fact, rules};

const DAY: i64 = 86_400_000_000;
const PERIODS: [(&str, u32); 6] = [
    ("closed_context_days", 1),
    ("expired_context_days", 1),
    ("frame_days", 1),
    ("evidence_payload_days", 1),
    ("message_days", 8),
    ("fact_history_days", 1),
];

async fn everything(retention: &Retention, house: &House) -> Result<Disposed, StorageError> {
    retention.finish(Tenant::clone(&house.tenant), Mode::Live).await
}

/// What the disposal stream tells of each kind of row.
async fn told(house: &House) -> (usize, BTreeMap<String, u64>) {
    let query = EvidenceQuery { kind: Some("records.erased".to_owned()), limit: 200, ..EvidenceQuery::default() };
    let entries = house.store.entries(&house.tenant.tenant_id, &query).await.unwrap().items;
    let mut rows: BTreeMap<String, u64> = BTreeMap::new();
    for entry in &entries {
        let payload: Payload = serde_json::from_str(&entry.body.as_ref().unwrap().payload).unwrap();
        let Logged::Disposal(DisposalEvent::RecordsErased { counts, .. }) = payload.event else { panic!("another") };
        for (kind, count) in counts {
            *rows.entry(kind).or_default() += count;
        }
    }
    (entries.len(), rows)
}

async fn is_sound(house: &House) {
    let report = verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
}

async fn crowd(conversations: usize) -> House {
    let house = House::new().await;
    for n in 0..conversations {
        crate::run(&house, n).await;
    }
    Things::in_house(&house).await;
    house
}

#[tokio::test]
async fn several_at_once_erase_nothing_twice_and_tell_of_it_once() {
    let house = crowd(20).await;
    house.clock.pass(30 * DAY);
    let expected = house.retention_by(rules(&PERIODS));
    let expected = expected.finish(Tenant::clone(&house.tenant), Mode::Dry).await.unwrap();
    let sweepers: Vec<Retention> = (0..4).map(|_| house.retention_by(rules(&PERIODS))).collect();
    let [one, two, three, four] = &sweepers[..] else { panic!("four") };
    let run = async |retention: &Retention| loop {
        match everything(retention, &house).await {
            Ok(disposed) => return disposed,
            Err(StorageError::Contended | StorageError::Conflict) => {}
            Err(error) => panic!("{error}"),
        }
    };
    let all = tokio::join!(run(one), run(two), run(three), run(four));
    let mut records: BTreeMap<RecordKind, u64> = BTreeMap::new();
    let mut batches = 0;
    for disposed in [all.0, all.1, all.2, all.3] {
        for (kind, count) in disposed.records {
            *records.entry(kind).or_default() += count;
        }
        batches += disposed.batches;
    }
    let (entries, rows) = told(&house).await;
    for (table, count) in &expected.rows {
        assert_eq!(rows.get(*table), Some(count), "{table}: {rows:?}");
    }
    assert!(u64::try_from(entries).unwrap() <= batches, "{entries} entries of {batches} batches");
    is_sound(&house).await;
    assert!(everything(one, &house).await.unwrap().is_empty());
}

/// Fails at a step, counted over all transactions, and at every later one, as if its process had ended.
struct Ending {
    left: Arc<AtomicI64>,
    /// Whether a commit that fails has happened all the same.
    answer_lost: bool,
}

impl Ending {
    fn step(&self) -> Result<(), StorageError> {
        let ended = || StorageError::Unavailable("the process has ended".to_owned());
        if self.left.fetch_sub(1, Ordering::SeqCst) > 0 { Ok(()) } else { Err(ended()) }
    }
}

#[async_trait]
impl Interference for Ending {
    fn before(&self, _step: Step) -> Result<(), StorageError> {
        self.step()
    }

    async fn commit(&self, transaction: Box<dyn Transaction>) -> Result<(), StorageError> {
        let stepped = self.step();
        if stepped.is_ok() || self.answer_lost {
            transaction.commit().await?;
        }
        stepped
    }
}

#[tokio::test]
async fn whatever_ends_in_between_nothing_is_half_gone() {
    for answer_lost in [false, true] {
        // Five steps a batch: it is locked, erased, rid of names, written and committed.
        let mut ended_early = 0;
        for steps in (if answer_lost { 4 } else { 0 }..60).step_by(if answer_lost { 5 } else { 1 }) {
            let house = crowd(1).await;
            house.clock.pass(30 * DAY);
            let dry = house.retention_by(rules(&PERIODS));
            let dry = dry.finish(Tenant::clone(&house.tenant), Mode::Dry).await.unwrap();
            let left = Arc::new(AtomicI64::new(steps));
            let store = Meddled::store(&house.store, move |_, inner| {
                Passing::boxed(inner, Ending { left: Arc::clone(&left), answer_lost })
            });
            let clock = Arc::<ManualClock>::clone(&house.clock);
            let dying = Retention::new(store, rules(&PERIODS), clock, Box::new(SeededEntropy(7_000_000)));
            let ended = everything(&dying, &house).await;
            ended_early += u64::from(ended.is_err());
            is_sound(&house).await;
            everything(&house.retention_by(rules(&PERIODS)), &house).await.unwrap();
            is_sound(&house).await;
            let (_, rows) = told(&house).await;
            for (table, count) in &dry.rows {
                assert_eq!(rows.get(*table), Some(count), "after {steps} steps, {table}: {rows:?}");
            }
            if ended.is_ok() {
                break;
            }
        }
        assert!(ended_early > 4, "{ended_early} steps at which it ended");
    }
}

#[tokio::test]
async fn what_was_proven_before_is_proven_afterwards() {
    let house = crowd(5).await;
    let tenant = &house.tenant.tenant_id;
    house.sequenced().await;
    let head = house.store.tree(tenant).await.unwrap().unwrap();
    let entries = EvidenceQuery { limit: 200, ..EvidenceQuery::default() };
    let entries = house.store.entries(tenant, &entries).await.unwrap().items;
    let mut proofs = Vec::new();
    for entry in &entries {
        let leaf = house.store.leaf(tenant, &entry.header.stream_id, entry.header.seq).await.unwrap().unwrap();
        let wanted = inclusion_tiles(leaf, head.size).unwrap();
        let tiles = house.store.tiles(tenant, &wanted).await.unwrap().into_iter().collect::<TileSet>();
        proofs.push((leaf, inclusion_proof(leaf, head.size, &tiles).unwrap()));
    }
    house.clock.pass(400 * DAY);
    let gone = everything(&house.retention_by(rules(&PERIODS)), &house).await.unwrap();
    assert!(gone.rows["payloads"] > 20 && gone.rows["contexts"] > 0, "{gone:?}");
    house.sequenced().await;
    is_sound(&house).await;
    for (entry, (leaf, proof)) in entries.iter().zip(&proofs) {
        let id = &entry.header.artifact_id;
        let now = house.store.entry(tenant, id).await.unwrap().unwrap();
        assert!(now.body.is_none() && now.header == entry.header, "{id}");
        verify_inclusion(&now.entry_hash, *leaf, head.size, proof, &head.root).unwrap();
    }
}

#[tokio::test]
async fn a_late_statement_makes_nothing_of_what_went_undone() {
    let house = House::new().await;
    let things = Things::in_house(&house).await;
    house.clock.pass(2 * DAY);
    everything(&house.retention_by(rules(&PERIODS)), &house).await.unwrap();
    assert!(!things.has(&house, RecordKind::FactHistory).await);
    // Before everything that is known: all of the space is folded anew.
    let late = Timestamp::from_micros(things.at.as_micros() - 1_000_000);
    fact(&house, "colour", "blue", Some(late)).await;
    fact(&house, "price", "oldest price 3", Some(late)).await;
    assert!(!things.has(&house, RecordKind::FactHistory).await, "the newer price stands, and the old one is not back");
    is_sound(&house).await;
}

#[tokio::test]
async fn a_report_at_the_same_moment_brings_nothing_back() {
    for pause in 0..6 {
        let house = crowd(1).await;
        house.clock.pass(30 * DAY);
        let command_id = CommandId::new("k").unwrap();
        let report = Operation::RecordResult(RecordResult {
            attempt_id: None,
            command_id: command_id.clone(),
            status: "shipped".to_owned(),
            outcome: Outcome::Succeeded,
            summary: None,
            waiting_on: None,
            close_context: false,
        });
        let reports = async {
            for _ in 0..pause {
                tokio::task::yield_now().await;
            }
            let mut last = None;
            for _ in 0..20 {
                last = house.submit(report.clone(), None).await.ok().map(|committed| committed.result);
            }
            last
        };
        let erased = async {
            let retention = house.retention_by(rules(&PERIODS));
            while everything(&retention, &house).await.is_err() {}
        };
        let (last, ()) = tokio::join!(reports, erased);
        assert!(last.is_some(), "writers are let in");
        let tenant = &house.tenant.tenant_id;
        assert!(house.store.command(tenant, &command_id).await.unwrap().is_none(), "after {pause} turns");
        assert_eq!(house.answer(report).await, Err(Refusal::CommandNotFound));
        is_sound(&house).await;
    }
}
