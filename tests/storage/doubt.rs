//! A commit that nobody answered: whether it happened is found out, and what is acknowledged is what happened (S6).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use cscp::committer::{Busy, Committed, Committer, Limits, Submission};
use cscp::domain::operation::{Answer, Operation};
use cscp::domain::refusal::Refusal;
use cscp::service::verify_tenant;
use cscp::storage::{StorageError, Store, Transaction};
use serde_json::json;

use crate::harness::{House, SeededEntropy, code};
use crate::meddled::Meddled;
use crate::passing::{Interference, Passing};

/// What becomes of the first commits; later ones are left alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fate {
    /// Committed, and the answer lost.
    AnswerLost,
    /// The connection went before the commit arrived.
    NeverArrived,
}

/// Ends a transaction as its fate says; one without a fate is left alone.
pub(crate) struct Cut(pub(crate) Option<Fate>);

fn cut() -> StorageError {
    StorageError::Unavailable("the connection was cut".to_owned())
}

#[async_trait]
impl Interference for Cut {
    async fn commit(&self, transaction: Box<dyn Transaction>) -> Result<(), StorageError> {
        match self.0 {
            None => transaction.commit().await,
            Some(Fate::NeverArrived) => Err(cut()),
            Some(Fate::AnswerLost) => {
                transaction.commit().await?;
                Err(cut())
            }
        }
    }
}

/// A committer over the house's database whose next `times` commits have this fate.
fn fated(house: &House, fate: Fate, times: usize) -> Committer {
    let left = AtomicUsize::new(times);
    let store = Meddled::store(&house.store, move |_, inner| {
        // Transactions that only ask are begun after a commit has failed; they end without one.
        let hit = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        Passing::boxed(inner, Cut(hit.then_some(fate)))
    });
    committer(store)
}

fn committer(store: Arc<dyn Store>) -> Committer {
    let rules = crate::rules::shipped();
    let (committer, writer) = Committer::new(store, rules, Box::new(SeededEntropy(7_000_000)), Limits::default());
    tokio::spawn(writer.run());
    committer
}

async fn submit(committer: &Committer, house: &House, operation: Operation) -> Result<Committed, Busy> {
    committer.submit(Submission { tenant: Arc::clone(&house.tenant), operation, claim: None }).await
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_acknowledged_as_it_happened() {
    let house = House::new().await;
    let context_id = house.context().await;
    let (_, buttons) = house.ask(&context_id, "k").await;
    house.post("wamid.yes", json!({"button_id": buttons[0]})).await;
    let committer = fated(&house, Fate::AnswerLost, 1);
    let bound = submit(&committer, &house, House::bind(&context_id, "k", "one")).await.unwrap().result.unwrap();
    assert!(matches!(bound, Answer::Bound { replayed: false, .. }), "{bound:?}");
    let again = submit(&committer, &house, House::bind(&context_id, "k", "two")).await.unwrap().result;
    assert!(matches!(again, Err(Refusal::AlreadyBound { .. })), "{again:?}");
    assert!(verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap().broken.is_empty());
}

/// What is found there counts once the transaction that found it is committed as well: before that, the server may be the
/// only one that has it.
#[tokio::test]
async fn what_is_found_and_cannot_be_committed_again_is_not_acknowledged() {
    let house = House::new().await;
    let context_id = house.context().await;
    let (_, buttons) = house.ask(&context_id, "k").await;
    let yes = Operation::Ingest(Box::new(house.message("wamid.yes", &json!({"button_id": buttons[0]}))));
    let committer = fated(&house, Fate::AnswerLost, usize::MAX);
    assert_eq!(submit(&committer, &house, yes.clone()).await, Err(Busy::Storage(cut())));
    let again = house.answer(yes).await.unwrap();
    assert_eq!(code(&again), "confirmed");
    assert!(matches!(again, Answer::Turn { duplicate: true, .. }), "it had happened");
}

#[tokio::test]
async fn a_commit_that_never_arrived_is_not_acknowledged_and_can_be_repeated() {
    let house = House::new().await;
    let context_id = house.context().await;
    let (_, buttons) = house.ask(&context_id, "k").await;
    let committer = fated(&house, Fate::NeverArrived, 1);
    let yes = Operation::Ingest(Box::new(house.message("wamid.yes", &json!({"button_id": buttons[0]}))));
    assert_eq!(submit(&committer, &house, yes.clone()).await, Err(Busy::Storage(cut())));
    let again = submit(&committer, &house, yes).await.unwrap().result.unwrap();
    assert_eq!(code(&again), "confirmed");
    assert!(matches!(again, Answer::Turn { duplicate: false, .. }), "nothing of the first one was kept");
    assert!(verify_tenant(house.store.as_ref(), &house.tenant.tenant_id).await.unwrap().broken.is_empty());
}
