//! The log folded anew while others write, and what races leave behind.

use std::sync::Arc;

use cscp::committer::{SpaceSubmission, Submission};
use cscp::domain::canonical::Digest;
use cscp::domain::id::{FactUid, ReadingId, SpaceId};
use cscp::domain::operation::{CredentialKind, Operation};
use cscp::domain::query::EvidenceQuery;
use cscp::domain::time::{Clock as _, Timestamp};
use cscp::service::{ReplayReport, replay_tenant, verify_tenant};
use cscp::state_layer::fact::{FactScope, Pointer};
use cscp::state_layer::operation::{NewFact, SpaceAction, SpaceAnswer, SpaceOperation, Writer};
use cscp::state_layer::reading::{Utterance, read};
use cscp::state_layer::space::{Signal, WorkingItem};
use serde_json::json;

use crate::harness::House;

/// What a replay of everything that was written finds.
pub(crate) async fn replayed(house: &House) -> ReplayReport {
    replay_tenant(house.store.as_ref(), &house.tenant, house.clock.now(), &mut |_| {}).await.unwrap()
}

/// Fails if a row is not what the log says.
pub(crate) async fn expect_replayed(house: &House) {
    let report = replayed(house).await;
    assert!(report.is_equal(), "{:#?}", report.differences);
    assert!(report.entries > 0 && report.equal.values().sum::<u64>() > 0, "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn whoever_writes_meanwhile_makes_no_difference() {
    let house = Arc::new(House::new().await);
    let context_id = house.context().await;
    let writing = {
        let house = Arc::clone(&house);
        tokio::spawn(async move {
            for n in 0..150 {
                let members = json!({"text": "hello there", "conversation_id": format!("c{}", n % 7)});
                house.post(&format!("wamid.{n}"), members).await;
                if n % 20 == 0 {
                    let command = format!("k{n}");
                    let (_, buttons) = house.ask(&context_id, &command).await;
                    house.post(&format!("wamid.yes.{n}"), json!({"button_id": buttons[0]})).await;
                    house.answer(House::bind(&context_id, &command, "one")).await.unwrap();
                }
            }
        })
    };
    let (mut replays, mut entries) = (0, 0);
    while !writing.is_finished() {
        let report = replayed(&house).await;
        assert_eq!(report.different, 0, "{:#?}", report.differences);
        assert!(report.entries >= entries);
        (replays, entries) = (replays + 1, report.entries);
    }
    writing.await.unwrap();
    assert!(replays > 2, "{replays}");
    expect_replayed(&house).await;
}

/// A small source of choices that repeats from run to run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// Something that may be asked of a space, sensible or not.
fn action(dice: &mut Dice, known: &[FactUid], now: Timestamp) -> SpaceAction {
    let place = dice.below(known.len().max(1));
    let some = known.get(place).cloned();
    let word = |n: usize| format!("value {n}");
    match (dice.below(12), some) {
        (0, Some(uid)) => SpaceAction::Delete { uid, reason: "asked to".to_owned() },
        (1 | 2, Some(uid)) => SpaceAction::Restore { uid, reason: "a mistake".to_owned() },
        (3, _) => SpaceAction::CloseTask { task_id: "t".to_owned(), promote: vec!["i1".to_owned()] },
        (4, _) => SpaceAction::SetItem(WorkingItem {
            key: format!("i{}", dice.below(3)),
            item_type: "context".to_owned(),
            content: json!(word(dice.below(9))),
            priority: 0,
            task_id: Some("t".to_owned()),
            promote_as: None,
            created_at: now,
            expires_at: None,
        }),
        (5, _) => SpaceAction::SetSignal(Signal {
            key: format!("s{}", dice.below(2)),
            value: json!(dice.below(5)),
            observed_at: now,
            stale_at: None,
            former: Vec::new(),
        }),
        (_, some) => {
            let named = match dice.below(4) {
                0 => some.map(|uid| uid.as_str().to_owned()),
                1 => Some(format!("k{}", dice.below(5))),
                _ => None,
            };
            let late = i64::try_from(dice.below(5_000)).unwrap();
            let at = (dice.below(3) == 0).then(|| Timestamp::from_micros(now.as_micros() - late * 1_000_000));
            let task = dice.below(6) == 0;
            SpaceAction::Write(vec![NewFact {
                at,
                supersedes: named.map(Pointer),
                scope: task.then_some(FactScope::Task),
                scope_id: task.then(|| "t".to_owned()),
                ..crate::space_races::new_fact(&format!("k{}", dice.below(5)), &word(dice.below(12)))
            }])
        }
    }
}

#[tokio::test]
async fn random_histories_of_spaces_are_what_their_rows_say() {
    let house = House::new().await;
    for seed in 0..10 {
        let mut dice = Dice(seed);
        let mut known: Vec<FactUid> = Vec::new();
        for _ in 0..60 {
            house.clock.pass_seconds(60);
            let operation = SpaceOperation {
                space_id: SpaceId::new(format!("s{seed}")).unwrap(),
                writer: Writer { credential: CredentialKind::Handler, principal_id: None, speaks_for: None },
                action: action(&mut dice, &known, house.clock.now()),
            };
            let submission = SpaceSubmission { tenant: Arc::clone(&house.tenant), operation, claim: None };
            if let Ok(SpaceAnswer::Facts { facts, effects }) =
                house.committer.submit_space(submission).await.unwrap().result
            {
                known.extend(facts.into_iter().map(|fact| fact.uid).chain(effects.created));
                known.sort_unstable();
                known.dedup();
            }
        }
        expect_replayed(&house).await;
    }
    let report = replayed(&house).await;
    assert!(report.erased > 20 && report.underivable.values().sum::<u64>() > 10, "{report:?}");
    let verified = verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap();
    assert_eq!((verified.broken.len(), verified.missing), (0, 0), "every deletion says what it erased");
}

/// Two requests that reach the writer together are one batch: what the first says of a fact that the second deletes goes
/// with it all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn found_what_one_batch_says_and_deletes_is_gone() {
    let house = Arc::new(House::new().await);
    let space_id = SpaceId::new("s").unwrap();
    let submission = |action| SpaceSubmission {
        tenant: Arc::clone(&house.tenant),
        operation: SpaceOperation {
            space_id: space_id.clone(),
            writer: Writer { credential: CredentialKind::Handler, principal_id: None, speaks_for: None },
            action,
        },
        claim: None,
    };
    let address = crate::space_races::new_fact("delivery_address", "Canary street 12");
    let written = house.committer.submit_space(submission(SpaceAction::Write(vec![address]))).await.unwrap();
    let Ok(SpaceAnswer::Facts { facts, .. }) = written.result else { panic!("nothing was written") };
    let uid = facts[0].uid.clone();
    house.clock.pass_seconds(1);
    let utterance = Utterance {
        speaker: "user".to_owned(),
        text: "The delivery address is no longer Canary street 12, it is Hill road 3.".to_owned(),
        at: house.clock.now(),
        authority: None,
    };
    let reading_id = ReadingId::parse("rdg_00000000000000000000000000000abc").unwrap();
    let heard = read(&utterance, reading_id, house.clock.now(), Digest::from_bytes([7; 32]));
    assert!(!heard.claims.is_empty());
    // The lock is held until both wait behind a first one.
    let message = house.message("wamid.holds", &json!({"text": "hello there"}));
    let held = house.hold(&Operation::Ingest(Box::new(message.clone()))).await;
    let (tenant, committer) = (Arc::clone(&house.tenant), house.committer.clone());
    let operation = Operation::Ingest(Box::new(message));
    let first = tokio::spawn(async move { committer.submit(Submission { tenant, operation, claim: None }).await });
    house.until_somebody_waits().await;
    let observe = submission(SpaceAction::Observe(heard));
    let delete = submission(SpaceAction::Delete { uid, reason: "asked to".to_owned() });
    let committer = house.committer.clone();
    // Polled in this order, so that they stand in line in this order.
    let both =
        tokio::spawn(
            async move { tokio::join!(biased; committer.submit_space(observe), committer.submit_space(delete)) },
        );
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    drop(held);
    first.await.unwrap().unwrap();
    let (observed, deleted) = both.await.unwrap();
    assert!(observed.unwrap().result.is_ok() && deleted.unwrap().result.is_ok());
    let everything = EvidenceQuery { space_id: Some(space_id.clone()), limit: 100, ..EvidenceQuery::default() };
    let entries = house.store.entries(&house.tenant.tenant_id, &everything).await.unwrap().items;
    let told = entries.iter().filter_map(|entry| entry.body.as_ref());
    assert!(told.clone().count() > 1 && told.clone().all(|body| !body.payload.to_lowercase().contains("canari")));
    assert!(told.clone().all(|body| !body.payload.to_lowercase().contains("canary")));
    expect_replayed(&house).await;
}
