//! Thirty-two clients race for the same confirmations and the same bindings, through one process and through two: none
//! counts twice (S1, S4). Then the rule is switched off, and the same race finds doubles: the test can fail.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use cscp::committer::{Busy, Committer, Limits, Submission};
use cscp::domain::canonical::Digest;
use cscp::domain::event::StreamKey;
use cscp::domain::id::{ArtifactId, ContextId, ItemId, PrincipalId, SpaceId, StreamId, TenantId};
use cscp::domain::operation::{Answer, ChangeSlots, CredentialKind, Operation};
use cscp::domain::principal::{PersonKey, Principal};
use cscp::domain::refusal::Refusal;
use cscp::domain::time::Timestamp;
use cscp::evidence::entry::StreamHead;
use cscp::service::verify_tenant;
use cscp::storage::{
    Counts, Disposal, HoldSet, Kept, Loaded, Locking, Row, SpaceRow, SpaceWant, StorageError, Store, Tenant,
    Transaction, Want, Writes,
};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::harness::{House, code};
use crate::meddled::Meddled;
use crate::postgres::setting;
use crate::processes::houses;
use crate::replay::expect_replayed;

const CLIENTS: usize = 32;
/// How many of the clients go for each confirmation, each with a message of its own, and for each binding.
const RIVALS: usize = 4;

/// How many confirmations and bindings are raced for. An ordinary run has fewer: see `.ci/README.md`.
fn prizes() -> usize {
    setting("CSCP_TEST_RACES").and_then(|number| number.parse().ok()).unwrap_or(320)
}

/// One confirmation and the binding of its command.
struct Prize {
    context_id: ContextId,
    conversation: String,
    command: String,
    button: String,
    confirmed: AtomicUsize,
    bound: AtomicUsize,
}

async fn prize(house: &House, number: usize) -> Prize {
    let (conversation, command) = (format!("talk-{number}"), format!("command-{number}"));
    let hello = json!({"text": "hello there", "conversation_id": conversation});
    let Answer::Turn { context: Some(context), .. } = house.post(&format!("wamid.hello.{number}"), hello).await else {
        panic!("no context")
    };
    let (_, buttons) = house.ask(&context.context_id, &command).await;
    let (confirmed, bound) = (AtomicUsize::new(0), AtomicUsize::new(0));
    Prize { context_id: context.context_id, conversation, command, button: buttons[0].clone(), confirmed, bound }
}

/// Somebody who repeats what the server asks to have repeated.
struct Racer {
    committer: Committer,
    tenant: Arc<Tenant>,
}

impl Racer {
    async fn submit(&self, operation: &Operation) -> Result<Answer, Refusal> {
        loop {
            let tenant = Arc::clone(&self.tenant);
            let submission = Submission { tenant, operation: operation.clone(), claim: None };
            match self.committer.submit(submission).await {
                Ok(committed) => return committed.result,
                Err(Busy::Contended | Busy::Full { .. }) => tokio::task::yield_now().await,
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    async fn race(&self, prize: &Prize, tap: Operation, attempt: &str) {
        match self.submit(&tap).await {
            Ok(turn) if code(&turn) == "confirmed" => drop(prize.confirmed.fetch_add(1, Ordering::SeqCst)),
            Ok(_) => {}
            Err(other) => panic!("{other:?}"),
        }
        match self.submit(&House::bind(&prize.context_id, &prize.command, attempt)).await {
            Ok(Answer::Bound { replayed: false, .. }) => drop(prize.bound.fetch_add(1, Ordering::SeqCst)),
            Err(Refusal::AlreadyBound { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Runs the race; says how many prizes were confirmed, and bound, more than once, and not at all.
async fn race(houses: &[House], committers: &[Committer], prizes: Range<usize>) -> BTreeMap<&'static str, usize> {
    let mut course = Vec::new();
    for number in prizes.clone() {
        course.push(prize(&houses[0], number).await);
    }
    let course = Arc::new(course);
    let start = Arc::new(Barrier::new(CLIENTS));
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let racer =
            Racer { committer: committers[client % committers.len()].clone(), tenant: Arc::clone(&houses[0].tenant) };
        let (course, start) = (Arc::clone(&course), Arc::clone(&start));
        // Neighbours go for the same prize at the same time.
        let mine: Vec<(usize, Operation)> = prizes
            .clone()
            .enumerate()
            .filter(|(place, _)| client / RIVALS == place % (CLIENTS / RIVALS))
            .map(|(place, number)| {
                let prize = &course[place];
                let members = json!({"button_id": prize.button, "conversation_id": prize.conversation});
                let tap = houses[0].message(&format!("wamid.tap.{number}.{client}"), &members);
                (place, Operation::Ingest(Box::new(tap)))
            })
            .collect();
        clients.spawn(async move {
            start.wait().await;
            for (place, tap) in mine {
                racer.race(&course[place], tap, &format!("attempt-{client}")).await;
            }
        });
    }
    clients.join_all().await;
    let count = |of: fn(&Prize) -> &AtomicUsize, wanted: fn(usize) -> bool| {
        course.iter().filter(|prize| wanted(of(prize).load(Ordering::SeqCst))).count()
    };
    BTreeMap::from([
        ("confirmed twice", count(|prize| &prize.confirmed, |times| times > 1)),
        ("bound twice", count(|prize| &prize.bound, |times| times > 1)),
        ("never confirmed", count(|prize| &prize.confirmed, |times| times == 0)),
        ("never bound", count(|prize| &prize.bound, |times| times == 0)),
    ])
}

async fn expect_one_winner_each(houses: &[House]) {
    let committers: Vec<Committer> = houses.iter().map(|house| house.committer.clone()).collect();
    let outcome = race(houses, &committers, 0..prizes()).await;
    assert!(outcome.values().all(|number| *number == 0), "{outcome:?}");
    let report = verify_tenant(houses[0].store.as_ref(), &houses[0].tenant.tenant_id).await.unwrap();
    assert!(report.broken.is_empty(), "{report:?}");
    expect_replayed(&houses[0]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_confirmation_and_every_binding_has_one_winner() {
    expect_one_winner_each(&[House::new().await]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_confirmation_and_every_binding_has_one_winner_at_two_processes() {
    let Some(houses) = houses::<2>().await else { return };
    expect_one_winner_each(&houses).await;
}

/// A transaction that lets go of its locks when it has loaded, as most programs do that check and then act. Between the
/// two it waits for a moment, so that another one loads too: what is left to chance elsewhere happens here.
struct Unlocked {
    store: Arc<dyn Store>,
    inner: Option<Box<dyn Transaction>>,
    both: Arc<Barrier>,
}

/// Longer than it takes to load, and short enough for a test.
const MOMENT: Duration = Duration::from_millis(50);

impl Unlocked {
    fn inner(&mut self) -> Result<&mut Box<dyn Transaction>, StorageError> {
        self.inner.as_mut().ok_or_else(|| StorageError::Unavailable("not begun".to_owned()))
    }
}

#[async_trait]
impl Transaction for Unlocked {
    async fn load(&mut self, wants: &[Want], locking: Locking) -> Result<Loaded, StorageError> {
        let loaded = self.inner()?.load(wants, locking).await?;
        // Committed, so that nothing is held any more when this returns.
        if let Some(inner) = self.inner.take() {
            inner.commit().await?;
        }
        // Between checking and acting such a program asks for this and that.
        for _ in 0..5 {
            self.store.ping().await?;
        }
        self.inner = Some(self.store.begin().await?);
        // Nobody else may have anything to do at the moment.
        drop(timeout(MOMENT, self.both.wait()).await);
        Ok(loaded)
    }

    async fn load_more(
        &mut self,
        principals: &[(TenantId, PrincipalId)],
        items: &[(TenantId, ItemId)],
    ) -> Result<Vec<(TenantId, Row)>, StorageError> {
        self.inner()?.load_more(principals, items).await
    }

    async fn kin(&mut self, tenant_id: &TenantId, keys: &[PersonKey]) -> Result<Vec<Principal>, StorageError> {
        self.inner()?.kin(tenant_id, keys).await
    }

    async fn load_spaces(&mut self, wants: &[SpaceWant]) -> Result<Vec<(TenantId, SpaceId, SpaceRow)>, StorageError> {
        self.inner()?.load_spaces(wants).await
    }

    async fn has_entry(&mut self, tenant_id: &TenantId, id: &ArtifactId) -> Result<bool, StorageError> {
        self.inner()?.has_entry(tenant_id, id).await
    }

    async fn now(&mut self) -> Result<Timestamp, StorageError> {
        self.inner()?.now().await
    }

    async fn stream_head(
        &mut self,
        tenant_id: &TenantId,
        stream: &StreamKey,
    ) -> Result<Option<StreamHead>, StorageError> {
        self.inner()?.stream_head(tenant_id, stream).await
    }

    async fn write(&mut self, writes: &Writes) -> Result<(), StorageError> {
        self.inner()?.write(writes).await
    }

    async fn dispose(&mut self, tenant: &Tenant, disposal: &Disposal) -> Result<Counts, StorageError> {
        self.inner()?.dispose(tenant, disposal).await
    }

    async fn keep(&mut self, tenant_id: &TenantId, kept: &Kept) -> Result<(), StorageError> {
        self.inner()?.keep(tenant_id, kept).await
    }

    async fn forget_names(&mut self, tenant_id: &TenantId, streams: &[StreamKey]) -> Result<(), StorageError> {
        self.inner()?.forget_names(tenant_id, streams).await
    }

    async fn held(&mut self, tenant_id: &TenantId) -> Result<HoldSet, StorageError> {
        self.inner()?.held(tenant_id).await
    }

    async fn told_of(&mut self, tenant_id: &TenantId, ids: &[String]) -> Result<Vec<(StreamId, u64)>, StorageError> {
        self.inner()?.told_of(tenant_id, ids).await
    }

    async fn withdraw(
        &mut self,
        tenant_id: &TenantId,
        space_id: &SpaceId,
        keys: &[Digest],
    ) -> Result<u64, StorageError> {
        self.inner()?.withdraw(tenant_id, space_id, keys).await
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StorageError> {
        match self.inner.take() {
            Some(inner) => inner.commit().await,
            None => Ok(()),
        }
    }
}

fn unlocked(house: &House, both: &Arc<Barrier>, seed: u64) -> Committer {
    let both = Arc::clone(both);
    let store = Meddled::store(&house.store, move |store, inner| {
        Box::new(Unlocked { store, inner: Some(inner), both: Arc::clone(&both) })
    });
    House::committer_over(store, Limits { batch: 4, ..Limits::default() }, seed)
}

/// Without the rule, the keys of the log still keep two from writing the same place in a chain, and the claim on a
/// command's names keeps two from binding it: these are further fences. When they are gone too, nothing keeps a binding
/// from happening twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_rule_the_same_race_finds_doubles() {
    let Some(houses) = houses::<2>().await else { return };
    for keys in [
        "ALTER TABLE log_entries DROP CONSTRAINT log_entries_pkey",
        "ALTER TABLE log_payloads DROP CONSTRAINT log_payloads_pkey",
        "ALTER TABLE log_outbox DROP CONSTRAINT log_outbox_pkey",
        "ALTER TABLE commands DROP CONSTRAINT commands_pkey",
        "DROP INDEX commands_by_key",
    ] {
        houses[0].changed(keys).await;
    }
    let both = Arc::new(Barrier::new(2));
    let committers = [unlocked(&houses[0], &both, 7_000_000), unlocked(&houses[1], &both, 8_000_000)];
    let (mut confirmed, mut bound) = (0, 0);
    // The first race finds dozens, as a rule. On a machine that is busy with other things two may hardly ever meet.
    for heat in 0..10 {
        let outcome = race(&houses, &committers, heat * 64..(heat + 1) * 64).await;
        confirmed += outcome["confirmed twice"];
        bound += outcome["bound twice"];
        if confirmed > 0 && bound > 0 {
            break;
        }
    }
    assert!(confirmed > 0 && bound > 0, "{confirmed} confirmed twice, {bound} bound twice");
    let report = verify_tenant(houses[0].store.as_ref(), &houses[0].tenant.tenant_id).await.unwrap();
    assert!(!report.broken.is_empty(), "and whoever verifies sees it");
}

const WRITERS: usize = 8;
const INCREMENTS: u64 = 25;

/// Reads, adds one, and writes if nobody else has meanwhile; again until it is done.
async fn increment(house: &House, context_id: &ContextId) {
    loop {
        let context = house.store.context(&house.tenant.tenant_id, context_id).await.unwrap().unwrap();
        let count = context.slots.get("x_count").and_then(Value::as_u64).unwrap_or(0);
        let change = ChangeSlots {
            context_id: context_id.clone(),
            patch: json!({"x_count": count + 1}).as_object().cloned().unwrap(),
            if_revision: context.revision,
            credential: CredentialKind::Handler,
        };
        match house.submit(Operation::ChangeSlots(change), None).await {
            Ok(committed) if committed.result.is_ok() => return,
            Ok(committed) => {
                assert!(matches!(committed.result, Err(Refusal::RevisionMismatch { .. })), "{committed:?}");
            }
            Err(busy) => assert_eq!(busy, Busy::Contended),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_increment_is_lost_between_writers_at_two_processes() {
    let Some(houses) = houses::<2>().await else { return };
    let houses = houses.map(Arc::new);
    let context_id = houses[0].context().await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (house, context_id) = (Arc::clone(&houses[writer % 2]), context_id.clone());
        writers.spawn(async move {
            for _ in 0..INCREMENTS {
                increment(&house, &context_id).await;
            }
        });
    }
    writers.join_all().await;
    let context = houses[0].store.context(&houses[0].tenant.tenant_id, &context_id).await.unwrap().unwrap();
    let wanted = u64::try_from(WRITERS).unwrap() * INCREMENTS;
    assert_eq!(context.slots.get("x_count").and_then(Value::as_u64), Some(wanted));
}
