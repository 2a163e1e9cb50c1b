//! A space is erased in steps: whoever finds one half erased, after a crash or beside another server, goes on with it, and
//! at every point it is answered as deleted, the log verifies, and the rows are what the log says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cscp::committer::{Busy, Limits, SpaceSubmission};
use cscp::domain::id::{FactUid, HoldId, Ids, SpaceId};
use cscp::domain::operation::CredentialKind;
use cscp::domain::query::EvidenceQuery;
use cscp::domain::scope::Scope;
use cscp::domain::speaking::{SpeaksFor, Voice};
use cscp::domain::time::{Clock as _, Timestamp};
use cscp::service::privacy::NewHold;
use cscp::service::{Caller, Service, ServiceError, verify_tenant};
use cscp::state_layer::assembly::{ContextPack, Segment, TokenSummary};
use cscp::state_layer::authority::Viewer;
use cscp::state_layer::decide::MAX_WRITE_FACTS;
use cscp::state_layer::operation::{NewFact, SpaceAction, SpaceAnswer, SpaceOperation, Writer};
use cscp::state_layer::reading::{Reading, Utterance, read};
use cscp::state_layer::refusal::SpaceRefusal;
use cscp::state_layer::request::Refused;
use cscp::state_layer::space::{Access, Identity, Partition, Signal, WorkingItem};
use cscp::storage::{Held, Store};
use cscp::system::SystemEntropy;
use serde_json::json;

use crate::doubt::{Cut, Fate};
use crate::harness::{House, SeededEntropy};
use crate::meddled::Meddled;
use crate::passing::Passing;
use crate::replay::{expect_replayed, replayed};
use crate::space_races::new_fact;

/// What marks everything in the space.
const MARK: &str = "CANARY7f3a";
const COMPLETED: &str = "fact_space.erasure_completed";

fn space(name: &str) -> SpaceId {
    SpaceId::new(name).unwrap()
}

fn submission(house: &House, name: &str, action: SpaceAction) -> SpaceSubmission {
    let writer = Writer { credential: CredentialKind::Handler, principal_id: None, speaks_for: None };
    let operation = SpaceOperation { space_id: space(name), writer, action };
    SpaceSubmission { tenant: Arc::clone(&house.tenant), operation, claim: None }
}

async fn tell(house: &House, name: &str, action: SpaceAction) -> SpaceAnswer {
    house.clock.pass_seconds(1);
    house.committer.submit_space(submission(house, name, action)).await.unwrap().result.unwrap()
}

fn reading(house: &House) -> Reading {
    let text = format!("Actually the delivery address is Rua {MARK}, 12 now");
    let said = Utterance { speaker: "user".to_owned(), text, at: house.clock.now(), authority: None };
    let mut entropy = SeededEntropy(77);
    let mut ids = Ids::new(house.clock.now(), &mut entropy);
    let (id, salt) = (ids.reading(), ids.secret());
    read(&said, id, house.clock.now(), salt)
}

fn pack(shown: &[FactUid], as_of: Timestamp) -> Box<ContextPack> {
    let context = format!("- address: {MARK}");
    let segment = Segment { section: "facts".to_owned(), text: context.clone(), tokens: 5 };
    let mut pack = ContextPack {
        context,
        segments: vec![segment],
        facts_included: shown.to_vec(),
        omitted: Vec::new(),
        token_summary: TokenSummary { budget: 10, used: 5, remaining: 5, facts: 5 },
        pack_hash: String::new(),
        estimator_id: "bytes".to_owned(),
    };
    pack.pack_hash = pack.commitment(as_of);
    Box::new(pack)
}

/// A memory of ana's with something of every kind in it, and a pack elsewhere that shows some of it. Facts enough for
/// several steps.
async fn filled(facts: usize) -> House {
    let house = House::new().await;
    let owner = Partition::User { owner_id: Some("ana".to_owned()) };
    let described =
        SpaceAction::Describe { partition: Some(owner), wider: Vec::new(), access: Access::Open, if_revision: None };
    tell(&house, "s", described).await;
    let identity = Identity {
        user_id: "ana".to_owned(),
        user_name: Some(MARK.to_owned()),
        authority: None,
        department: None,
        organization: None,
        communication_style: None,
        permissions: Vec::new(),
    };
    tell(&house, "s", SpaceAction::SetIdentity(identity)).await;
    let address = |value: &str| NewFact { label: None, ..new_fact("delivery_address", value) };
    let SpaceAnswer::Facts { facts: written, .. } = tell(&house, "s", SpaceAction::Write(vec![address(MARK)])).await
    else {
        panic!("facts")
    };
    let many = |n: usize| NewFact { label: None, ..new_fact(&format!("key-{n}"), &format!("{MARK} {n}")) };
    for some in (0..facts).collect::<Vec<_>>().chunks(MAX_WRITE_FACTS) {
        tell(&house, "s", SpaceAction::Write(some.iter().copied().map(many).collect())).await;
    }
    tell(&house, "s", SpaceAction::Observe(reading(&house))).await;
    let SpaceAnswer::Facts { facts: gone, .. } = tell(&house, "s", SpaceAction::Write(vec![many(facts)])).await else {
        panic!("facts")
    };
    let delete = SpaceAction::Delete { uid: gone[0].uid.clone(), reason: "asked".to_owned() };
    tell(&house, "s", delete).await;
    let signal = Signal {
        key: "weather".to_owned(),
        value: json!(MARK),
        observed_at: house.clock.now(),
        stale_at: None,
        former: Vec::new(),
    };
    tell(&house, "s", SpaceAction::SetSignal(signal)).await;
    let item = WorkingItem {
        key: "step".to_owned(),
        item_type: "context".to_owned(),
        content: json!(MARK),
        priority: 0,
        task_id: None,
        promote_as: None,
        created_at: house.clock.now(),
        expires_at: None,
    };
    tell(&house, "s", SpaceAction::SetItem(item)).await;
    let uids = [written[0].uid.clone()];
    let save = |wider: Vec<SpaceId>| SpaceAction::SavePack {
        viewer: Viewer::default(),
        as_of: house.clock.now(),
        wider,
        pack: pack(&uids, house.clock.now()),
    };
    tell(&house, "s", save(Vec::new())).await;
    tell(&house, "elsewhere", SpaceAction::Write(vec![NewFact { label: None, ..new_fact("colour", "blue") }])).await;
    tell(&house, "elsewhere", save(vec![space("s")])).await;
    house
}

fn service(house: &House, store: Arc<dyn Store>, seed: u64) -> (Service, Caller) {
    let committer = House::committer_over(Arc::clone(&store), Limits::default(), seed);
    let rules = crate::rules::shipped();
    let clock = Arc::<crate::harness::ManualClock>::clone(&house.clock);
    let service = Service::new(store, committer, rules, clock, Box::new(SystemEntropy));
    let caller = Caller {
        tenant: Arc::clone(&house.tenant),
        key_id: Ids::new(house.tenant.created_at, &mut SystemEntropy).key(),
        kind: CredentialKind::Admin,
        scopes: Scope::ALL.into_iter().collect(),
        principal_id: None,
        speaks_for: SpeaksFor { voice: Voice::Anyone, ..SpeaksFor::default() },
    };
    (service, caller)
}

async fn delete(house: &House, store: Arc<dyn Store>, seed: u64) -> Result<(), ServiceError> {
    let (service, caller) = service(house, store, seed);
    let done = service.decide_space(&caller, space("s"), SpaceAction::Erase, None).await?;
    done.result.map(drop).map_err(ServiceError::SpaceRefused)
}

/// The first act alone, as if the process had ended after it.
async fn begin(house: &House) {
    tell(house, "s", SpaceAction::Erase).await;
}

async fn marked(house: &House) -> Vec<String> {
    crate::rows::rows(&house.place).await.into_iter().filter(|row| row.contains(MARK)).collect()
}

async fn entries(house: &House, kind: &str) -> usize {
    let query = EvidenceQuery { kind: Some(kind.to_owned()), limit: 100, ..EvidenceQuery::default() };
    house.store.entries(&house.tenant.tenant_id, &query).await.unwrap().items.len()
}

/// The log verifies, and the rows are what it says.
async fn expect_whole(house: &House) {
    let report = verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
    expect_replayed(house).await;
}

async fn is_there(house: &House) -> bool {
    let (service, caller) = service(house, Arc::clone(&house.store), 6_000_000);
    let nobody = FactUid::parse(&format!("fct_{:032x}", 0)).unwrap();
    match service.reach_of(&caller, &space("s"), &nobody).await {
        Err(ServiceError::NotFound("fact")) => true,
        Err(ServiceError::NotFound("fact space")) => false,
        other => panic!("{other:?}"),
    }
}

/// Everything is gone, the log says so once, and another space can have the name.
async fn expect_gone(house: &House, completed: usize) {
    assert_eq!(marked(house).await, [""; 0]);
    assert_eq!(entries(house, COMPLETED).await, completed);
    assert!(house.store.going_spaces(&house.tenant.tenant_id).await.unwrap().is_empty());
    expect_whole(house).await;
    let refused = delete(house, Arc::clone(&house.store), 7_000_000).await;
    let gone = matches!(&refused, Err(ServiceError::SpaceRefused(Refused::Space(SpaceRefusal::SpaceNotFound))));
    assert!(gone, "{refused:?}");
    tell(house, "s", SpaceAction::Write(vec![NewFact { label: None, ..new_fact("colour", "red") }])).await;
    assert!(is_there(house).await);
    expect_whole(house).await;
}

/// A store that ends at its so-and-so-manieth transaction and answers nothing from then on.
fn ending(house: &House, at: u64, fate: Fate) -> Arc<dyn Store> {
    let begun = AtomicU64::new(0);
    Meddled::store(&house.store, move |_, inner| {
        let number = begun.fetch_add(1, Ordering::SeqCst) + 1;
        let fate = match number.cmp(&at) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => Some(fate),
            std::cmp::Ordering::Greater => Some(Fate::NeverArrived),
        };
        Passing::boxed(inner, Cut(fate))
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_that_ends_anywhere_is_finished_by_whoever_finds_it() {
    for fate in [Fate::NeverArrived, Fate::AnswerLost] {
        let mut ends = 0;
        for at in 1..30 {
            let house = filled(230).await;
            if delete(&house, ending(&house, at, fate), 5_000_000).await.is_ok() {
                expect_gone(&house, 1).await;
                break;
            }
            ends += 1;
            expect_whole(&house).await;
            let begun = entries(&house, "fact_space.erased").await == 1;
            assert_eq!(is_there(&house).await, !begun, "{fate:?} at {at}");
            if begun {
                house.retention().finish_spaces().await.unwrap();
                expect_gone(&house, 1).await;
            } else {
                delete(&house, Arc::clone(&house.store), 5_500_000).await.unwrap();
                expect_gone(&house, 1).await;
            }
        }
        assert!(ends > 6, "there are several steps: {ends}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_writes_to_it_waits_until_it_is_gone() {
    let house = filled(3).await;
    begin(&house).await;
    // The committer alone says that it is not the time yet; the service erases what is left and asks again.
    let write = || SpaceAction::Write(vec![NewFact { label: None, ..new_fact("colour", "green") }]);
    assert_eq!(house.committer.submit_space(submission(&house, "s", write())).await, Err(Busy::Going));
    let (service, caller) = service(&house, Arc::clone(&house.store), 5_000_000);
    service.decide_space(&caller, space("s"), write(), None).await.unwrap().result.unwrap();
    assert_eq!(marked(&house).await, [""; 0]);
    expect_whole(&house).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn two_servers_at_once_erase_it_once() {
    let house = filled(450).await;
    begin(&house).await;
    let (one, two) = (house.retention(), house.retention());
    let third = delete(&house, Arc::clone(&house.store), 5_000_000);
    let (one, two, third) = tokio::join!(one.finish_spaces(), two.finish_spaces(), third);
    one.unwrap();
    two.unwrap();
    let gone = matches!(third, Err(ServiceError::SpaceRefused(Refused::Space(SpaceRefusal::SpaceNotFound))));
    assert!(gone, "who asks for it a second time is told that there is none");
    expect_gone(&house, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_placed_in_between_keeps_what_is_left() {
    let house = filled(3).await;
    begin(&house).await;
    let (service, caller) = service(&house, Arc::clone(&house.store), 5_000_000);
    let held = NewHold { kind: Held::Principal, subject: "ana".to_owned(), reason: Some("case 12".to_owned()) };
    let hold_id: HoldId = service.place_hold(&caller, held).await.unwrap().hold_id;
    let before = marked(&house).await;
    house.retention().finish_spaces().await.unwrap();
    assert!(matches!(delete(&house, Arc::clone(&house.store), 5_500_000).await, Err(ServiceError::LegalHold)));
    assert_eq!(marked(&house).await, before);
    assert!(!is_there(&house).await, "it stays deleted to whoever asks");
    expect_whole(&house).await;
    service.lift_hold(&caller, &hold_id).await.unwrap();
    house.retention().finish_spaces().await.unwrap();
    expect_gone(&house, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_left_is_compared_with_the_log_until_it_is_gone() {
    let changes = [
        // A fact, the mark itself, whose memory it is, and a record that was never there.
        "UPDATE space_records SET body = replace(body, 'CANARY7f3a 1', 'CANARY7f3a 9') WHERE kind = 'fact'",
        "UPDATE space_records SET ended_at = ended_at + 1 WHERE kind = 'space' AND space_id = 's'",
        "UPDATE space_records SET body = replace(body, '\"owner_id\":\"ana\"', '\"owner_id\":\"bob\"') WHERE kind = 'space'",
        "DELETE FROM space_records WHERE kind = 'space' AND space_id = 's'",
        "INSERT INTO space_records (tenant_id, space_id, kind, record_id, at, live, body)
            SELECT tenant_id, space_id, 'signal', 'planted', at, live, body FROM space_records WHERE kind = 'signal'",
    ];
    for change in changes {
        let house = filled(3).await;
        begin(&house).await;
        expect_whole(&house).await;
        assert!(house.changed(change).await > 0, "{change}");
        assert!(!replayed(&house).await.is_equal(), "{change}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mark_that_no_entry_explains_erases_nothing() {
    let house = filled(3).await;
    let mark = "UPDATE space_records SET ended_at = 1, body = replace(body, '\"revision\"',
        '\"erased_at\":\"2026-01-01T00:00:00.000000Z\",\"revision\"') WHERE kind = 'space' AND space_id = 's'";
    assert_eq!(house.changed(mark).await, 1);
    let before = marked(&house).await.len();
    house.retention().finish_spaces().await.unwrap();
    assert_eq!(marked(&house).await.len(), before);
    assert!(!replayed(&house).await.is_equal());
    assert!(matches!(delete(&house, Arc::clone(&house.store), 5_000_000).await, Err(ServiceError::Internal)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_erased_stays_erased_when_it_comes_back_from_elsewhere() {
    let house = filled(3).await;
    delete(&house, Arc::clone(&house.store), 5_000_000).await.unwrap();
    expect_whole(&house).await;
    let planted = "INSERT INTO space_records (tenant_id, space_id, kind, record_id, at, live, body)
        SELECT tenant_id, 's', kind, record_id, at, live, body FROM space_records
        WHERE kind = 'fact' AND space_id = 'elsewhere'";
    assert_eq!(house.changed(planted).await, 1);
    assert!(!replayed(&house).await.is_equal(), "a row of an erased space that nobody wrote");
}
