//! The clock is read under the lock: waiting for it never makes an answer count that came too late (S3).

use std::sync::Arc;

use cscp::committer::{Busy, Committed, Submission};
use cscp::domain::operation::{Answer, Operation};
use cscp::domain::refusal::Refusal;
use serde_json::json;

use crate::harness::{House, code};

/// Holds what an answer needs, lets the answer queue behind it, lets the deadline pass, and releases.
#[tokio::test]
async fn an_answer_that_waited_for_the_lock_past_its_deadline_is_too_late() {
    for round in 0..20 {
        let house = House::new().await;
        let context_id = house.context().await;
        let (_, buttons) = house.ask(&context_id, "k").await;
        house.clock.pass_seconds(299);
        let message = house.message(&format!("wamid.{round}"), &json!({"button_id": buttons[0]}));
        let answer = Operation::Ingest(Box::new(message));
        let held = house.hold(&answer).await;
        let waiting = house.answer(answer);
        let release = async {
            house.until_somebody_waits().await;
            house.clock.pass_seconds(1);
            drop(held);
        };
        let (answer, ()) = tokio::join!(waiting, release);
        assert_eq!(code(&answer.unwrap()), "expired", "exactly at the deadline it is over");
    }
}

#[tokio::test]
async fn a_binding_that_waited_for_the_lock_past_bind_by_is_refused() {
    let house = House::new().await;
    let context_id = house.context().await;
    let (_, buttons) = house.ask(&context_id, "k").await;
    assert_eq!(code(&house.post("wamid.yes", json!({"button_id": buttons[0]})).await), "confirmed");
    let bind = House::bind(&context_id, "k", "one");
    let held = house.hold(&bind).await;
    let waiting = house.answer(bind);
    let release = async {
        house.until_somebody_waits().await;
        house.clock.pass_seconds(60);
        drop(held);
    };
    let (answer, ()) = tokio::join!(waiting, release);
    assert!(matches!(answer, Err(Refusal::ConfirmationExpired { .. })), "{answer:?}");
}

#[tokio::test]
async fn one_microsecond_before_the_deadline_it_still_counts() {
    let house = House::new().await;
    let context_id = house.context().await;
    let (_, buttons) = house.ask(&context_id, "k").await;
    house.clock.pass(300_000_000 - 1);
    assert_eq!(code(&house.post("wamid.yes", json!({"button_id": buttons[0]})).await), "confirmed");
    house.clock.pass(60_000_000 - 1);
    let bound = house.answer(House::bind(&context_id, "k", "one")).await;
    assert!(matches!(bound, Ok(Answer::Bound { .. })), "{bound:?}");
}

#[tokio::test]
async fn the_sweeper_makes_due_deadlines_durable() {
    let house = House::new().await;
    let context_id = house.context().await;
    let (item_id, _) = house.ask(&context_id, "k").await;
    house.clock.pass_seconds(300);
    let now = cscp::domain::time::Clock::now(&*house.clock);
    let due = house.store.due(now, 10).await.unwrap();
    assert_eq!(due.len(), 1);
    let sweep = cscp::domain::operation::Sweep { conversation_id: due[0].1.clone() };
    house.answer(Operation::Sweep(sweep)).await.unwrap();
    let item = house.store.item(&house.tenant.tenant_id, &item_id).await.unwrap().unwrap();
    assert_eq!(item.state_word(), "expired");
    assert!(house.store.due(now, 10).await.unwrap().is_empty());
}

/// A conversation that was written to while the clock was ahead: nothing is asked, answered or bound there until the clock
/// has caught up, because whatever ended in between would end too late. What was answered before is answered again.
#[tokio::test]
async fn a_conversation_that_is_ahead_of_the_clock_waits_for_it() {
    for ahead in [6, 60, 86_400] {
        let house = House::new().await;
        let context_id = house.context().await;
        let (_, buttons) = house.ask(&context_id, "k").await;
        let early = house.message("wamid.early", &json!({"text": "hello", "conversation_id": "c"}));
        house.clock.pass_seconds(ahead);
        house.answer(Operation::Ingest(Box::new(early.clone()))).await.unwrap();
        house.clock.pass_seconds(-ahead);
        let refused = |busy: Result<Committed, Busy>| match busy {
            Err(Busy::ClockBehind { seconds }) => assert_eq!(i64::from(seconds), ahead),
            other => panic!("{other:?}"),
        };
        let tap = house.message("wamid.tap", &json!({"button_id": buttons[0]}));
        refused(submit(&house, Operation::Ingest(Box::new(tap))).await);
        refused(submit(&house, House::bind(&context_id, "k", "one")).await);
        assert_eq!(house.committer.clock_behind().map(i64::from), Some(ahead));
        // Other conversations go on.
        let other = json!({"text": "hello", "conversation_id": "other"});
        house.answer(Operation::Ingest(Box::new(house.message("wamid.other", &other)))).await.unwrap();
        // Up to a few seconds count as the present.
        house.clock.pass_seconds(ahead - 5);
        let tap = house.message("wamid.tap", &json!({"button_id": buttons[0]}));
        let turn = house.answer(Operation::Ingest(Box::new(tap))).await.unwrap();
        assert_eq!(code(&turn), if ahead > 300 { "expired" } else { "confirmed" });
    }
}

async fn submit(house: &House, operation: Operation) -> Result<Committed, Busy> {
    house.committer.submit(Submission { tenant: Arc::clone(&house.tenant), operation, claim: None }).await
}
