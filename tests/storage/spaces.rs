//! Rows of fact spaces: what is loaded, by what name, and what goes.

use std::collections::BTreeSet;

use cscp::domain::id::{FactLabel, FactUid, PackId, ReadingId, SpaceId, TenantId};
use cscp::domain::policy::PolicyRef;
use cscp::domain::time::Timestamp;
use cscp::state_layer::assembly::{ContextPack, SavedPack, TokenSummary};
use cscp::state_layer::authority::Viewer;
use cscp::state_layer::fact::{Cause, Fact, FactScope, MemoryType, Source, Standing};
use cscp::state_layer::query::FactQuery;
use cscp::state_layer::space::{Access, Partition, Signal, SpaceRecord, WorkingItem};
use cscp::storage::{SpaceRow, SpaceRowKind, SpaceWant, Writes};
use serde_json::json;

use crate::harness::House;

fn space(name: &str) -> SpaceId {
    SpaceId::new(name).unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000 + seconds * 1_000_000)
}

fn uid(n: u32) -> FactUid {
    FactUid::of_reading(&ReadingId::parse(&format!("rdg_{n:032x}")).unwrap(), 0)
}

/// A fact with the key `key`, labelled alike as many others, replaced by another if so.
fn fact(n: u32, key: &str, by: Option<u32>) -> Fact {
    let replaced = |by| Standing::Superseded {
        by: Some(uid(by)),
        cause: Cause::SameKey,
        reason: "a newer value".to_owned(),
        since: at(i64::from(n) + 1),
    };
    Fact {
        uid: uid(n),
        label: Some(FactLabel::new("W-AUTO").unwrap()),
        key: key.to_owned(),
        value: json!(format!("value {n}")),
        source: Source::default(),
        writer_id: None,
        at: at(i64::from(n)),
        recorded_at: at(100),
        scope: FactScope::Global,
        scope_id: None,
        memory_type: MemoryType::User,
        abstraction: None,
        constraint: None,
        restricted_to: Vec::new(),
        supersedes: None,
        reason: None,
        superseded: Vec::new(),
        depends_on: Vec::new(),
        reading_id: None,
        standing: by.map_or(Standing::Valid, replaced),
        contested: Vec::new(),
        review: None,
        former: Vec::new(),
        history: Vec::new(),
    }
}

fn record(name: &str) -> SpaceRow {
    SpaceRow::Space(SpaceRecord {
        space_id: space(name),
        partition: Partition::User { owner_id: None },
        wider: Vec::new(),
        access: Access::Open,
        identity: None,
        newest: Some(at(9)),
        revision: 1,
        created_at: at(0),
        updated_at: at(9),
        erased_at: None,
        erasure_id: None,
    })
}

fn pack(name: &str) -> SavedPack {
    SavedPack {
        pack_id: PackId::parse("pck_0000000000000000000000000000000a").unwrap(),
        space_id: space(name),
        wider: None,
        viewer: Viewer::default(),
        as_of: at(3),
        created_at: at(4),
        pack: ContextPack {
            context: "## Facts\n- price: 5\n".to_owned(),
            segments: Vec::new(),
            facts_included: vec![uid(3)],
            omitted: Vec::new(),
            token_summary: TokenSummary { budget: 500, used: 9, remaining: 491, facts: 9 },
            pack_hash: "sha256:00".to_owned(),
            estimator_id: "bytes".to_owned(),
        },
        policy: PolicyRef { pack_id: "basic".into(), version: "1.0.0".into(), hash: "sha256:00".into() },
    }
}

/// Three versions of a price, of which the last stands, a colour, a signal and an item.
fn rows(name: &str) -> Vec<SpaceRow> {
    vec![
        record(name),
        SpaceRow::Fact(fact(1, "price", Some(2))),
        SpaceRow::Fact(fact(2, "price_v2", Some(3))),
        SpaceRow::Fact(fact(3, "price_v3", None)),
        SpaceRow::Fact(fact(4, "colour", None)),
        SpaceRow::Signal(Signal {
            key: "weather".to_owned(),
            value: json!("rain"),
            observed_at: at(5),
            stale_at: None,
            former: Vec::new(),
        }),
        SpaceRow::Item(WorkingItem {
            key: "draft".to_owned(),
            item_type: "artifact".to_owned(),
            content: json!({"n": 1}),
            priority: 0,
            task_id: None,
            promote_as: None,
            created_at: at(6),
            expires_at: None,
        }),
    ]
}

async fn write(house: &House, fill: impl FnOnce(&mut Writes)) {
    let mut writes = Writes::default();
    fill(&mut writes);
    let mut transaction = house.store.begin().await.unwrap();
    transaction.write(&writes).await.unwrap();
    transaction.commit().await.unwrap();
}

async fn fill(house: &House, tenant: &TenantId, name: &str) {
    let rows = rows(name).into_iter().map(|row| (tenant.clone(), space(name), row)).collect();
    write(house, |writes| writes.space_rows = rows).await;
}

fn want(tenant: &TenantId, name: &str) -> SpaceWant {
    SpaceWant { tenant_id: tenant.clone(), space_id: space(name), live: false, whole: false, named: Vec::new() }
}

/// What a want finds, as kinds and ids, in a read and under the lock alike.
async fn found(house: &House, want: SpaceWant) -> BTreeSet<(SpaceRowKind, String)> {
    let read = house.store.spaces(std::slice::from_ref(&want)).await.unwrap();
    let read: BTreeSet<_> = read.into_iter().map(|(_, row)| (row.kind(), row.id().to_owned())).collect();
    let mut transaction = house.store.begin().await.unwrap();
    let held = transaction.load_spaces(&[want]).await.unwrap();
    let held: BTreeSet<_> = held.into_iter().map(|(_, _, row)| (row.kind(), row.id().to_owned())).collect();
    assert_eq!(read, held);
    read
}

fn facts(rows: &BTreeSet<(SpaceRowKind, String)>) -> Vec<u32> {
    let is = |n: &u32| rows.contains(&(SpaceRowKind::Fact, uid(*n).as_str().to_owned()));
    (1..=9).filter(is).collect()
}

#[tokio::test]
async fn what_stands_is_loaded_and_what_once_stood_only_as_a_whole_or_by_name() {
    let house = House::new().await;
    let tenant = house.tenant.tenant_id.clone();
    fill(&house, &tenant, "s").await;
    let live = found(&house, SpaceWant { live: true, ..want(&tenant, "s") }).await;
    assert_eq!((facts(&live), live.len()), (vec![3, 4], 5), "record, two facts, signal and item");
    let whole = found(&house, SpaceWant { whole: true, ..want(&tenant, "s") }).await;
    assert_eq!((facts(&whole), whole.len()), (vec![1, 2, 3, 4], 7));
    let named = |name: &str| SpaceWant { named: vec![name.to_owned()], ..want(&tenant, "s") };
    assert_eq!(facts(&found(&house, named("price")).await), [1, 2, 3], "an old key leads to what stands in its place");
    assert_eq!(facts(&found(&house, named(uid(2).as_str())).await), [2, 3]);
    assert_eq!(facts(&found(&house, named("W-AUTO")).await), [4], "of many with one label the newest");
    assert_eq!(facts(&found(&house, named("nothing")).await), [0_u32; 0]);
    assert!(found(&house, named("nothing")).await.contains(&(SpaceRowKind::Space, String::new())));
}

#[tokio::test]
async fn spaces_and_tenants_do_not_see_each_other() {
    let house = House::new().await;
    let (one, other) = (house.tenant.tenant_id.clone(), house.other.tenant_id.clone());
    fill(&house, &one, "s").await;
    assert!(
        found(&house, SpaceWant { live: true, whole: true, named: vec!["price".into()], ..want(&other, "s") })
            .await
            .is_empty()
    );
    assert!(found(&house, SpaceWant { live: true, ..want(&one, "t") }).await.is_empty());
    assert_eq!(
        house.store.facts(&other, &space("s"), &FactQuery { limit: 9, ..FactQuery::default() }).await.unwrap().items,
        []
    );
    let id = pack("s").pack_id;
    let saved = pack("s");
    write(&house, |writes| writes.space_rows = vec![(one.clone(), space("s"), SpaceRow::Pack(saved.clone()))]).await;
    assert_eq!(house.store.saved_pack(&one, &id).await.unwrap(), Some(saved));
    assert_eq!(house.store.saved_pack(&other, &id).await.unwrap(), None);
}

#[tokio::test]
async fn rows_come_back_as_they_were_written_change_and_go() {
    let house = House::new().await;
    let tenant = house.tenant.tenant_id.clone();
    fill(&house, &tenant, "s").await;
    let want = || SpaceWant { whole: true, ..want(&tenant, "s") };
    let mut back: Vec<SpaceRow> =
        house.store.spaces(&[want()]).await.unwrap().into_iter().map(|(_, row)| row).collect();
    back.sort_by_key(|row| (row.kind(), row.at()));
    assert_eq!(back, rows("s"));

    let mut colour = fact(4, "colour", Some(9));
    colour.value = json!("green");
    write(&house, |writes| {
        writes.space_rows = vec![(tenant.clone(), space("s"), SpaceRow::Fact(colour))];
        writes.gone_space_rows = vec![(tenant.clone(), space("s"), SpaceRowKind::Signal, "weather".to_owned())];
    })
    .await;
    let live = found(&house, SpaceWant { live: true, whole: false, ..want() }).await;
    assert_eq!((facts(&live), live.len()), (vec![3], 3));
}

#[tokio::test]
async fn many_rows_of_several_lines_come_back_to_their_own_space() {
    let house = House::new().await;
    let tenant = house.tenant.tenant_id.clone();
    let many = |name: &str| {
        let text = |n: u32| json!(format!("{name}:\n line {n}\r\n\u{2028}fact {{}}"));
        (1..=200_u32).map(|n| Fact { value: text(n), ..fact(n, "price", None) }).collect::<Vec<_>>()
    };
    let written = many("a").into_iter().zip(many("b"));
    let written = written.flat_map(|(a, b)| [("a", a), ("b", b)]);
    let rows = written.map(|(name, fact)| (tenant.clone(), space(name), SpaceRow::Fact(fact))).collect();
    write(&house, |writes| writes.space_rows = rows).await;
    for whole in [false, true] {
        let wants = ["a", "b"].map(|name| SpaceWant { live: true, whole, ..want(&tenant, name) });
        let mut back = house.store.spaces(&wants).await.unwrap();
        back.sort_by(|one, other| (&one.0, one.1.at()).cmp(&(&other.0, other.1.at())));
        let expected =
            ["a", "b"].into_iter().flat_map(|name| many(name).into_iter().map(move |fact| (space(name), fact)));
        assert_eq!(back, expected.map(|(name, fact)| (name, SpaceRow::Fact(fact))).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn facts_are_listed_in_pages_and_by_key() {
    let house = House::new().await;
    let tenant = house.tenant.tenant_id.clone();
    fill(&house, &tenant, "s").await;
    let mut listed = Vec::new();
    let mut query = FactQuery { include_invalid: true, limit: 3, ..FactQuery::default() };
    loop {
        let page = house.store.facts(&tenant, &space("s"), &query).await.unwrap();
        listed.extend(page.items.into_iter().map(|fact| fact.uid));
        let Some(next) = page.next else { break };
        query.after = Some(next);
    }
    assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), 4);
    assert_eq!(listed.len(), 4, "none twice");
    let keys =
        |include_invalid, key: &str| FactQuery { include_invalid, key: Some(key.to_owned()), limit: 9, after: None };
    let of = async |query| house.store.facts(&tenant, &space("s"), &query).await.unwrap().items.len();
    assert_eq!(of(keys(false, "price")).await, 0);
    assert_eq!(of(keys(true, "price")).await, 1);
    assert_eq!(of(keys(false, "colour")).await, 1);
}
