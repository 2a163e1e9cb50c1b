//! What was found out about an operation before the lock is used under it only if the space is the one it was found out about.

use std::collections::BTreeSet;
use std::sync::Arc;

use cscp::committer::{Committer, Limits, SpaceSubmission};
use cscp::domain::disposal::{DisposalEvent, ErasedRows, ErasureCause, named};
use cscp::domain::event::StreamKey;
use cscp::domain::id::{FactUid, SpaceId};
use cscp::domain::operation::CredentialKind;
use cscp::domain::policy::PolicyRef;
use cscp::domain::time::Timestamp;
use cscp::service::verify_tenant;
use cscp::state_layer::fact::Fact;
use cscp::state_layer::operation::{NewFact, SpaceAction, SpaceAnswer, SpaceOperation, Writer};
use cscp::storage::{Disposal, Disposing, SpaceRow, SpaceRowKind, SpaceWant, count_kinds};
use tokio::task::JoinHandle;

use crate::harness::{House, ManualClock, SeededEntropy};
use crate::replay::expect_replayed;
use crate::space_races::new_fact;

fn space() -> SpaceId {
    SpaceId::new("s").unwrap()
}

fn submission(house: &House, action: SpaceAction) -> SpaceSubmission {
    let writer = Writer { credential: CredentialKind::Handler, principal_id: None, speaks_for: None };
    let operation = SpaceOperation { space_id: space(), writer, action };
    SpaceSubmission { tenant: Arc::clone(&house.tenant), operation, claim: None }
}

/// A fact that was true some minutes after the beginning.
fn said(value: &str, minute: i64) -> SpaceAction {
    let at = Some(Timestamp::from_micros(1_700_000_000_000_000 + minute * 60_000_000));
    SpaceAction::Write(vec![NewFact { at, label: None, ..new_fact("colour", value) }])
}

async fn done(committer: &Committer, submission: SpaceSubmission) -> Vec<Fact> {
    match committer.submit_space(submission).await.unwrap().result.unwrap() {
        SpaceAnswer::Facts { facts, .. } => facts,
        other => panic!("another answer: {other:?}"),
    }
}

async fn tell(house: &House, action: SpaceAction) -> Fact {
    house.clock.pass_seconds(1);
    done(&house.committer, submission(house, action)).await.remove(0)
}

/// Another process prepares and queues this, and goes on only when it is told to.
async fn queued_elsewhere(house: &House, action: SpaceAction) -> (impl FnOnce() + use<>, JoinHandle<Vec<Fact>>) {
    let rules = crate::rules::shipped();
    let entropy = Box::new(SeededEntropy(9_000_000));
    let (committer, writer) = Committer::new(Arc::clone(&house.store), rules, entropy, Limits::default());
    let committer = committer.preparing(ManualClock::new());
    let (queue, submission) = (committer.clone(), submission(house, action));
    let answer = tokio::spawn(async move { done(&committer, submission).await });
    while queue.queued() == 0 {
        tokio::task::yield_now().await;
    }
    (move || drop(tokio::spawn(writer.run())), answer)
}

async fn facts(house: &House) -> Vec<Fact> {
    let tenant_id = house.tenant.tenant_id.clone();
    let want = SpaceWant { tenant_id, space_id: space(), live: false, whole: true, named: Vec::new() };
    let rows = house.store.spaces(&[want]).await.unwrap();
    rows.into_iter().filter_map(|(_, row)| if let SpaceRow::Fact(fact) = row { Some(fact) } else { None }).collect()
}

async fn standing(house: &House) -> BTreeSet<String> {
    facts(house).await.into_iter().filter(Fact::is_valid).map(|fact| fact.text()).collect()
}

async fn expect_whole(house: &House) {
    let report = verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap();
    assert!(report.broken.is_empty(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_meanwhile_counts() {
    let house = House::new().await;
    tell(&house, said("blue", 0)).await;
    tell(&house, said("green", 9)).await;
    let (go_on, answer) = queued_elsewhere(&house, said("red", 5)).await;
    // Between blue and red, and red knows nothing of it.
    tell(&house, said("white", 3)).await;
    let white = facts(&house).await.into_iter().find(|fact| fact.text() == "white").unwrap();
    go_on();
    let red = answer.await.unwrap().remove(0);
    assert_eq!(red.superseded, [white.uid], "what it replaced");
    assert_eq!(standing(&house).await, BTreeSet::from(["green".to_owned()]));
    expect_replayed(&house).await;
    expect_whole(&house).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_erased_meanwhile_stays_away() {
    let house = House::new().await;
    let blue = tell(&house, said("blue", 0)).await;
    tell(&house, said("green", 9)).await;
    // It would come between them, and change how blue stands.
    let (go_on, answer) = queued_elsewhere(&house, said("red", 5)).await;
    erase(&house, &blue.uid).await;
    go_on();
    let red = answer.await.unwrap().remove(0);
    let left: BTreeSet<FactUid> = facts(&house).await.into_iter().map(|fact| fact.uid).collect();
    assert!(left.contains(&red.uid) && !left.contains(&blue.uid), "{left:?}");
    expect_whole(&house).await;
}

/// As retention erases what no longer stands: no entry of the space's own stream says so.
async fn erase(house: &House, uid: &FactUid) {
    let stream = StreamKey::FactSpace(space());
    let mut disposing = Disposing::begin(house.store.as_ref(), &house.tenant, [stream.clone()]).await.unwrap();
    let records = vec![(space(), SpaceRowKind::Fact, uid.to_string())];
    let counts = disposing.erase(&Disposal { space_records: records, ..Disposal::default() }).await.unwrap();
    assert_eq!(counts["space_records"], 1);
    let mut rows = ErasedRows::default();
    let id = format!("{}/fact/{uid}", disposing.head(&stream).unwrap().stream_id);
    rows.add(&house.tenant.key, named::SPACE_RECORDS, &id);
    let event = DisposalEvent::RecordsErased {
        cause: ErasureCause::Retention { before: std::collections::BTreeMap::new() },
        payloads: Vec::new(),
        counts: count_kinds(&counts),
        rows: Some(rows),
    };
    let policy = PolicyRef { pack_id: "p".to_owned(), version: "1.0.0".to_owned(), hash: "sha256:0".to_owned() };
    disposing.record(event, &policy, &mut SeededEntropy(9_500_000));
    disposing.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nothing_came_between_is_decided_as_it_was_found() {
    let house = House::new().await;
    tell(&house, said("blue", 0)).await;
    tell(&house, said("green", 9)).await;
    let (go_on, answer) = queued_elsewhere(&house, said("red", 5)).await;
    // Time goes on for the lock.
    house.clock.pass_seconds(30);
    go_on();
    let red = answer.await.unwrap().remove(0);
    assert_eq!(red.recorded_at, cscp::domain::time::Clock::now(house.clock.as_ref()), "the time of the lock");
    let many = (0..80).map(|n| new_fact(&format!("other {}", n % 40), &format!("value {n}")));
    let (go_on, answer) = queued_elsewhere(&house, SpaceAction::Write(many.collect())).await;
    house.clock.pass_seconds(30);
    go_on();
    let others = answer.await.unwrap();
    let now = cscp::domain::time::Clock::now(house.clock.as_ref());
    assert!(others.iter().all(|fact| fact.recorded_at == now && fact.at >= now), "{others:?}");
    expect_replayed(&house).await;
    expect_whole(&house).await;
}
