//! What shows that a database lives, and that its time is right: commits that do not come back, and clocks that jump.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cscp::committer::{Committer, Limits, Submission, WriteHealth};
use cscp::domain::operation::Operation;
use cscp::domain::time::{Clock, Timestamp};
use cscp::service::retention::Unproven;
use cscp::service::vigil::{ClockState, Clocks, Vigil};
use cscp::storage::{StorageError, Transaction};
use serde_json::json;
use tokio::sync::Notify;

use crate::harness::{House, ManualClock, SeededEntropy};
use crate::meddled::Meddled;
use crate::passing::{Interference, Passing};

const DAY: i64 = 86_400_000_000;

/// A disk that does not come back before it is told to.
struct Stuck {
    began: Arc<Notify>,
    go_on: Arc<Notify>,
}

#[async_trait]
impl Interference for Stuck {
    async fn commit(&self, transaction: Box<dyn Transaction>) -> Result<(), StorageError> {
        self.began.notify_one();
        self.go_on.notified().await;
        transaction.commit().await
    }
}

#[tokio::test]
async fn a_commit_that_does_not_come_back_is_seen() {
    let house = House::new().await;
    let (began, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (seen, told) = (Arc::clone(&began), Arc::clone(&go_on));
    let store = Meddled::store(&house.store, move |_, inner| {
        Passing::boxed(inner, Stuck { began: Arc::clone(&seen), go_on: Arc::clone(&told) })
    });
    let rules = crate::rules::shipped();
    let at_once = Limits { stalled_after: Duration::ZERO, ..Limits::default() };
    let (committer, writer) = Committer::new(store, rules, Box::new(SeededEntropy(8_000_000)), at_once);
    tokio::spawn(writer.run());
    assert_eq!((committer.health(), committer.oldest_commit()), (WriteHealth::Ok, None));
    let operation = Operation::Ingest(Box::new(house.message("wamid.1", &json!({"text": "hello"}))));
    let submission = Submission { tenant: Arc::clone(&house.tenant), operation, claim: None };
    let waiting = tokio::spawn({
        let committer = committer.clone();
        async move { committer.submit(submission).await }
    });
    began.notified().await;
    assert_eq!(committer.health(), WriteHealth::Stalled);
    assert!(committer.oldest_commit().is_some());
    go_on.notify_one();
    waiting.await.unwrap().unwrap();
    assert_eq!((committer.health(), committer.oldest_commit()), (WriteHealth::Ok, None));
}

fn days_on(house: &House, days: i64) -> Timestamp {
    house.clock.pass(days * DAY);
    house.clock.now()
}

#[tokio::test]
async fn nothing_is_erased_by_a_clock_that_is_far_from_what_is_known() {
    let house = House::new().await;
    let retention = house.retention();
    assert_eq!(house.store.vouched().await.unwrap(), None);
    assert_eq!(retention.proven().await.unwrap(), Ok(()), "a new database has nothing that could go");
    house.post("wamid.1", json!({"text": "hello"})).await;
    let entered = house.clock.now();
    assert_eq!(
        house.store.vouched().await.unwrap(),
        Some(entered),
        "of a database without a record the newest entry counts"
    );
    days_on(&house, 7);
    assert_eq!(retention.proven().await.unwrap(), Ok(()));
    let now = days_on(&house, 1);
    assert_eq!(retention.proven().await.unwrap(), Err(Unproven::Silence { now, vouched: entered }));
    // What is written by the wrong clock does not prove it once there is a record.
    house.store.vouch(entered).await.unwrap();
    house.post("wamid.2", json!({"text": "hello"})).await;
    assert!(retention.proven().await.unwrap().is_err());
    retention.vouch().await.unwrap();
    assert_eq!(retention.proven().await.unwrap(), Ok(()));
    days_on(&house, -400);
    assert_eq!(retention.proven().await.unwrap(), Ok(()), "a clock that is behind erases nothing too early");
}

#[tokio::test]
async fn a_server_vouches_for_its_time_until_its_clock_jumps() {
    let house = House::new().await;
    let server = |clocks: &Clocks| {
        let clock: Arc<dyn Clock> = Arc::<ManualClock>::clone(&house.clock);
        Vigil::new(Arc::clone(&house.store), clock, clocks.clone())
    };
    let clocks = Clocks::default();
    let mut watching = server(&clocks);
    watching.look().await.unwrap();
    let known = house.clock.now();
    assert_eq!(house.store.vouched().await.unwrap(), Some(known));
    let retention = house.retention().watched(clocks.clone());
    assert_eq!(retention.proven().await.unwrap(), Ok(()));
    days_on(&house, 3);
    watching.look().await.unwrap();
    assert!(matches!(clocks.state(), ClockState::Jumped(_)), "{:?}", clocks.state());
    assert_eq!(retention.proven().await.unwrap(), Err(Unproven::Ahead), "three days are no proof while it runs");
    days_on(&house, -3);
    watching.look().await.unwrap();
    assert_eq!((clocks.state(), retention.proven().await.unwrap()), (ClockState::Ok, Ok(())));
    // A server that starts with a clock that is wrong does not vouch for it.
    let clocks = Clocks::default();
    let retention = house.retention().watched(clocks.clone());
    days_on(&house, 400);
    server(&clocks).look().await.unwrap();
    assert!(matches!(clocks.state(), ClockState::Unproven(_)), "{:?}", clocks.state());
    assert_eq!(house.store.vouched().await.unwrap(), Some(known));
    assert!(matches!(retention.proven().await.unwrap(), Err(Unproven::Silence { .. })));
    // One that was away over a weekend does.
    let clocks = Clocks::default();
    days_on(&house, -397);
    server(&clocks).look().await.unwrap();
    assert_eq!((clocks.state(), house.store.vouched().await.unwrap()), (ClockState::Ok, Some(house.clock.now())));
}
